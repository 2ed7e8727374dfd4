#include "cli/options/rendezvous_conf.hpp"

#include "cli/options/spelling.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace actorrun::cli {

namespace {

using std::chrono::milliseconds;
using pairs = std::map<std::string, std::string, std::less<>>;
using key_reader
  = std::function<result<void>(rendezvous_conf&, const std::string&)>;

key_reader span(milliseconds core::timeouts::*field) {
  return
    [field](rendezvous_conf& out, const std::string& text) -> result<void> {
      auto x = parse_span(text);
      if (!x)
        return x.error();
      out.timeouts.*field = *x;
      return {};
    };
}

result<void> read_attempts(rendezvous_conf& out, const std::string& text) {
  auto x = parse_count(text, 1, keep_alive_attempts_max);
  if (!x)
    return x.error();
  out.timeouts.keep_alive_attempts = *x;
  out.timeouts.keep_alive_is_given = true;
  return {};
}

result<void> read_interval(rendezvous_conf& out, const std::string& text) {
  out.timeouts.keep_alive_is_given = true;
  return span(&core::timeouts::keep_alive_interval)(out, text);
}

result<void> read_seek(rendezvous_conf& out, const std::string& text) {
  out.timeouts.seek_is_given = true;
  return span(&core::timeouts::seek)(out, text);
}

result<void> read_is_host(rendezvous_conf& out, const std::string& text) {
  auto x = parse_bool_word(text);
  if (!x)
    return x.error();
  out.place = *x ? coordinator_place::here : coordinator_place::elsewhere;
  return {};
}

result<void> read_succession(rendezvous_conf& out, const std::string& text) {
  if (text != "on" && text != "off")
    return bad_argument(in_quotes(text) + " is neither on nor off");
  out.succession = text == "on";
  return {};
}

result<void> read_store_type(rendezvous_conf&, const std::string& text) {
  if (text == "tcp")
    return {};
  if (text == "file")
    return bad_argument("a file cannot hold the rendezvous; only tcp can");
  return bad_argument(in_quotes(text) + " is not a store type; tcp is");
}

// -- etcd's -------------------------------------------------------------------

key_reader text_of(std::string etcd_options::*field) {
  return
    [field](rendezvous_conf& out, const std::string& text) -> result<void> {
      out.etcd.*field = text;
      return {};
    };
}

/// A file that TLS needs.
key_reader file_of(std::string etcd_options::*field) {
  return
    [field](rendezvous_conf& out, const std::string& text) -> result<void> {
      out.etcd.*field = text;
      out.etcd.secure = true;
      return {};
    };
}

result<void> read_protocol(rendezvous_conf& out, const std::string& text) {
  if (text != "http" && text != "https")
    return bad_argument(in_quotes(text) + " is neither http nor https");
  out.etcd.secure = text == "https";
  return {};
}

result<void> read_lease(rendezvous_conf& out, const std::string& text) {
  auto x = parse_span(text);
  if (!x)
    return x.error();
  out.etcd.lease = *x;
  return {};
}

struct known_key {
  std::string name;
  key_reader read;
  bool is_of_etcd = false;
};

/// In the order in which they are listed to people.
const std::vector<known_key>& known_keys() {
  using t = core::timeouts;
  static const auto keys = std::vector<known_key>{
    {"join_timeout", span(&t::join)},
    {"last_call_timeout", span(&t::last_call)},
    {"close_timeout", span(&t::close)},
    {"heartbeat_timeout", span(&t::connect)},
    {"keep_alive_interval", read_interval},
    {"keep_alive_max_attempt", read_attempts},
    {"read_timeout", read_seek},
    {"is_host", read_is_host},
    {"store_type", read_store_type},
    {"quiet_period", span(&t::quiet)},
    {"join_settle", span(&t::join_settle)},
    {"rejoin_backoff", span(&t::rejoin_backoff)},
    {"fence_guard", span(&t::fence_guard)},
    {"succession", read_succession},
    {"cacert", file_of(&etcd_options::authority_file), true},
    {"ca_cert", file_of(&etcd_options::authority_file), true},
    {"cert", file_of(&etcd_options::certificate_file), true},
    {"ssl_cert", file_of(&etcd_options::certificate_file), true},
    {"key", file_of(&etcd_options::key_file), true},
    {"ssl_cert_key", file_of(&etcd_options::key_file), true},
    // After the files, which ask for TLS themselves.
    {"protocol", read_protocol, true},
    {"user", text_of(&etcd_options::user), true},
    {"password_file", text_of(&etcd_options::password_file), true},
    {"etcd_prefix", text_of(&etcd_options::prefix), true},
    {"lease_ttl", read_lease, true},
  };
  return keys;
}

/// The option that says what these keys would say.
const pairs& keys_of_options() {
  static const auto keys = pairs{
    {"backend", "--rdzv-backend"}, {"endpoint", "--rdzv-endpoint"},
    {"run_id", "--rdzv-id"},       {"min_nodes", "--nnodes"},
    {"max_nodes", "--nnodes"},     {"local_addr", "--local-addr"},
  };
  return keys;
}

/// Without the quotes that are left of a text which was quoted twice.
std::string_view without_quotes(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\''))
    return text;
  const auto is_one_pair = text.find(text.front(), 1) == text.size() - 1;
  return is_one_pair ? trimmed(text.substr(1, text.size() - 2)) : text;
}

result<pairs> split_pairs(std::string_view text) {
  pairs out;
  text = without_quotes(text);
  while (!text.empty()) {
    const auto end = text.find(',');
    const auto pair = text.substr(0, end);
    const auto sign = pair.find('=');
    const auto key = trimmed(pair.substr(0, sign));
    if (key.empty() || end == text.size() - 1)
      return bad_argument(in_quotes(text) + " is not of the form key=value,…");
    const auto value = sign == pair.npos ? "" : trimmed(pair.substr(sign + 1));
    if (value.empty())
      return bad_argument(formatted(
        "the key {} has no value; give it as {}=VALUE", in_quotes(key), key));
    out[std::string{key}] = value;
    text = end == text.npos ? "" : text.substr(end + 1);
  }
  return out;
}

/// Keys that torchrun ignores, and what everybody means by them: the second
/// stands so in its manual.
constexpr std::pair<const char*, const char*> misnomers[]
  = {{"timeout", "join_timeout"}, {"heartbeat", "heartbeat_timeout"}};

void adopt_misnomers(pairs& settings, rendezvous_conf& out) {
  for (const auto& [name, meant] : misnomers) {
    const auto i = settings.find(name);
    if (i == settings.end())
      continue;
    const auto key = std::string{meant};
    const auto is_taken = settings.emplace(key, i->second).second;
    auto text = formatted(
      "--rdzv-conf: {}{}", i->first,
      is_taken ? formatted(" is taken as {}={}; write {}", key, i->second, key)
               : formatted(" is ignored, because {} is given", key));
    if (is_taken && i->first == "timeout")
      out.remark_on_timeout = std::move(text);
    else
      out.warnings.push_back(std::move(text));
    settings.erase(i);
  }
}

result<std::vector<std::string>> find_unknown(const pairs& settings) {
  auto out = std::vector<std::string>{};
  const auto names = rendezvous_conf_keys();
  for (const auto& [key, value] : settings) {
    const auto option = keys_of_options().find(key);
    if (option != keys_of_options().end())
      return bad_argument(formatted("{} is not a key; use the option {}",
                                    in_quotes(key), option->second));
    if (std::find(names.begin(), names.end(), key) == names.end())
      out.push_back(key);
  }
  return out;
}

/// What is wrong with keys that do not fit the back end.
std::vector<std::string> misfits(const rendezvous_conf& conf,
                                 rendezvous_backend backend) {
  auto out = std::vector<std::string>{};
  if (backend != rendezvous_backend::etcd)
    for (const auto& key : conf.etcd_keys)
      out.push_back(
        formatted("the key {} is for --rdzv-backend=etcd", in_quotes(key)));
  if (backend == rendezvous_backend::fixed
      && conf.place != coordinator_place::automatic)
    out.emplace_back("with the backend static the node of rank 0 hosts the"
                     " coordinator; leave out is_host");
  return out;
}

} // namespace

result<rendezvous_conf> parse_rendezvous_conf(std::string_view text) {
  auto settings = split_pairs(text);
  if (!settings)
    return settings.error();
  auto out = rendezvous_conf{};
  adopt_misnomers(*settings, out);
  auto unknown = find_unknown(*settings);
  if (!unknown)
    return unknown.error();
  out.unknown_keys = std::move(*unknown);
  for (const auto& key : known_keys()) {
    const auto i = settings->find(key.name);
    if (i == settings->end())
      continue;
    if (auto ok = key.read(out, i->second); !ok)
      return bad_argument(key.name + ": " + ok.error().text);
    if (key.is_of_etcd)
      out.etcd_keys.push_back(key.name);
  }
  return out;
}

result<void> check_conf(const rendezvous_conf& conf,
                        rendezvous_backend backend) {
  if (!conf.unknown_keys.empty()) {
    const auto& key = conf.unknown_keys.front();
    const auto names = rendezvous_conf_keys();
    const auto meant = guess(key, names);
    return bad_argument(formatted(
      "--rdzv-conf: the key {} is unknown{}", in_quotes(key),
      meant.empty() ? "; known are " + joined_with(names, ", ") : meant));
  }
  if (const auto wrong = misfits(conf, backend); !wrong.empty())
    return bad_argument("--rdzv-conf: " + wrong.front());
  return {};
}

std::vector<std::string> remarks_on(const rendezvous_conf& conf,
                                    rendezvous_backend backend) {
  auto out = conf.warnings;
  // With static, torchrun waits so long for the store of node rank 0; with etcd,
  // for the other nodes.
  if (backend == rendezvous_backend::native && !conf.remark_on_timeout.empty())
    out.push_back(conf.remark_on_timeout);
  for (const auto& key : conf.unknown_keys)
    out.push_back(
      formatted("--rdzv-conf: the key {} is unknown and has no effect{}",
                in_quotes(key), guess(key, rendezvous_conf_keys())));
  for (const auto& text : misfits(conf, backend))
    out.push_back(formatted("--rdzv-conf: {}; it has no effect", text));
  return out;
}

std::vector<std::string> rendezvous_conf_keys() {
  auto out = std::vector<std::string>{};
  for (const auto& key : known_keys())
    out.push_back(key.name);
  return out;
}

} // namespace actorrun::cli
