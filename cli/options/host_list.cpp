#include "cli/options/host_list.hpp"

#include "actors/core/generation.hpp"
#include "actors/core/text.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace actorrun::cli {

namespace {

/// It goes to the command line of a remote shell, so it must not look like an
/// option.
bool is_user(std::string_view text) {
  return !text.empty() && text.size() <= label_length_max && text.front() != '-'
         && std::all_of(text.begin(), text.end(), [](unsigned char c) {
              return std::isalnum(c) || c == '.' || c == '-' || c == '_'
                     || c == '+' || c == '$';
            });
}

result<uint32_t> parse_number(std::string_view text) {
  return parse_count(text, 1, core::slots_per_agent_max);
}

/// `host`, `host:number` or `[v6]:number` in two parts.
struct host_parts {
  std::string_view host;
  std::optional<std::string_view> number;
};

host_parts parts_of(std::string_view text) {
  if (text.starts_with('[') && text.find(']') != text.npos) {
    const auto end = text.find(']');
    const auto rest = text.substr(end + 1);
    if (rest.empty())
      return {text.substr(1, end - 1), {}};
    if (rest.front() == ':')
      return {text.substr(1, end - 1), rest.substr(1)};
    return {text, {}}; // Which is no host.
  }
  const auto colon = text.find(':');
  if (colon == text.npos || text.rfind(':') != colon)
    return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

/// `[user@]host[:number]`
result<host_share> parse_host(std::string_view text) {
  const auto quoted = in_quotes(text);
  auto user = std::string_view{};
  if (const auto at = text.find('@'); at != text.npos) {
    user = text.substr(0, at);
    text.remove_prefix(at + 1);
    if (!is_user(user))
      return bad_argument(
        formatted("in {}, {} is no name of a user", quoted, in_quotes(user)));
  }
  const auto [host, number] = parts_of(text);
  if (!text.starts_with('[') && host.find(':') != host.npos)
    return bad_argument(
      formatted("{} has several colons; an IPv6 address stands"
                " in brackets: [fd00::1]:4",
                quoted));
  if (!is_host(host) || host.front() == '-')
    return bad_argument(formatted(
      "{} is no host; a name or an address is wanted, maybe with a number of"
      " workers: node1:4",
      quoted));
  auto out = host_share{.name = user.empty() ? std::string{host}
                                             : formatted("{}@{}", user, host),
                        .slots = 0,
                        .mentions = number ? 0u : 1u};
  if (!number)
    return out;
  auto slots = parse_number(*number);
  if (!slots)
    return bad_argument(formatted("in {}, the number of workers is wrong: {}",
                                  quoted, slots.error().text));
  out.slots = *slots;
  return out;
}

result<void> add(host_share x, std::vector<host_share>& out) {
  const auto known = std::find_if(
    out.begin(), out.end(), [&](const auto& y) { return y.name == x.name; });
  if (known == out.end()) {
    if (out.size() == host_count_max)
      return bad_argument(
        formatted("there are more than {} hosts; for more, let"
                  " a batch system start one actorrun on each",
                  host_count_max));
    out.push_back(std::move(x));
    return {};
  }
  known->slots += x.slots;
  known->mentions += x.mentions;
  if (known->slots + known->mentions > core::slots_per_agent_max)
    return bad_argument(formatted("{} has more than {} workers", x.name,
                                  core::slots_per_agent_max));
  return {};
}

constexpr auto white = " \t\r\f\v";

/// Open MPI reads `slots = 2`, too.
std::string without_blanks_at_signs(std::string_view line) {
  auto out = std::string{};
  for (;;) {
    const auto sign = line.find('=');
    out += line.substr(0, sign);
    if (sign == line.npos)
      return out;
    out.erase(out.find_last_not_of(white) + 1);
    out += '=';
    line.remove_prefix(sign + 1);
    line.remove_prefix(std::min(line.find_first_not_of(white), line.size()));
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  auto out = std::vector<std::string_view>{};
  for (;;) {
    const auto begin = line.find_first_not_of(white);
    if (begin == line.npos)
      return out;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(white), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

/// What Open MPI's form says behind a host.
struct line_keys {
  std::optional<uint32_t> slots;
  std::optional<uint32_t> slots_max;
  std::string_view user;
};

result<void> read_key(std::string_view word, line_keys& out) {
  const auto sign = word.find('=');
  const auto key = word.substr(0, sign);
  const auto value = sign == word.npos ? "" : word.substr(sign + 1);
  if (key == "slots" || key == "max_slots" || key == "max-slots") {
    const auto number = parse_number(value);
    if (!number)
      return bad_argument(formatted("{}: {}", key, number.error().text));
    (key == "slots" ? out.slots : out.slots_max) = *number;
    return {};
  }
  if ((key == "user" || key == "username") && is_user(value)) {
    out.user = value;
    return {};
  }
  return bad_argument(
    formatted("{} is not understood; behind a host there may be slots=N,"
              " max_slots=N and user=NAME",
              in_quotes(word)));
}

result<host_share> parse_line(const std::vector<std::string_view>& words) {
  auto out = parse_host(words.front());
  if (!out)
    return out;
  auto keys = line_keys{};
  for (size_t i = 1; i < words.size(); ++i)
    if (auto ok = read_key(words[i], keys); !ok)
      return ok.error();
  if (keys.slots && out->slots != 0)
    return bad_argument("there are two numbers of workers");
  if (keys.slots)
    *out = {.name = std::move(out->name), .slots = *keys.slots};
  if (keys.slots_max && out->slots == 0)
    *out = {.name = std::move(out->name), .slots = *keys.slots_max};
  if (keys.slots_max && out->slots > *keys.slots_max)
    return bad_argument(formatted("{} workers are more than max_slots={}",
                                  out->slots, *keys.slots_max));
  if (!keys.user.empty() && out->name.find('@') != std::string::npos)
    return bad_argument("there are two names of users");
  if (!keys.user.empty())
    out->name = formatted("{}@{}", keys.user, out->name);
  return out;
}

} // namespace

result<std::vector<host_share>> parse_hosts(std::string_view text) {
  auto out = std::vector<host_share>{};
  for (const auto part : split(text, ',')) {
    const auto word = trimmed(part);
    if (word.empty())
      return bad_argument(
        formatted("in {}, a host is missing", in_quotes(text)));
    auto host = parse_host(word);
    if (!host)
      return host.error();
    if (auto ok = add(std::move(*host), out); !ok)
      return ok.error();
  }
  return out;
}

result<std::vector<host_share>> parse_host_file(std::string_view text) {
  // Editors of other systems mark a text so, and no editor shows the mark.
  constexpr auto utf8_mark = std::string_view{"\xef\xbb\xbf"};
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return bad_argument("it is UTF-16 text; save it as UTF-8");
  if (text.starts_with(utf8_mark))
    text.remove_prefix(utf8_mark.size());
  auto out = std::vector<host_share>{};
  size_t number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto plain = without_blanks_at_signs(line.substr(0, line.find('#')));
    const auto words = words_of(plain);
    if (words.empty())
      continue;
    auto host = parse_line(words);
    auto ok = host ? add(std::move(*host), out) : host.error();
    if (!ok)
      return bad_argument(formatted("line {}: {}", number, ok.error().text));
  }
  if (out.empty())
    return bad_argument("there is no host in it");
  return out;
}

std::string_view host_of(std::string_view name) {
  const auto at = name.find('@');
  return at == name.npos ? name : name.substr(at + 1);
}

bool is_this_host(std::string_view name, std::string_view own) {
  const auto host = core::lowered(name);
  const auto me = core::lowered(own);
  return host == "localhost" || host == "::1" || host.starts_with("127.")
         || (!me.empty() && host == me)
         || (!me.empty() && host == me.substr(0, me.find('.')));
}

} // namespace actorrun::cli
