#include "runtime/etcd/messages.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace actorrun::detail::etcd {

namespace {

using nlohmann::json;
using std::chrono::seconds;

/// At most this many bytes of an answer are shown.
constexpr size_t excerpt_size_max = 120;

/// Of a text in a document of ours: an agent's id is the longest.
constexpr size_t text_size_max = 320;

// What the job's key held before it was a document: that it has begun, or …
constexpr auto old_over_mark = "over";

// gRPC's error codes, as the gateway passes them on.
constexpr int64_t code_permission_denied = 7;
constexpr int64_t code_unauthenticated = 16;

constexpr long status_ok = 200;
constexpr long status_not_found = 404;
constexpr long status_bad_gateway = 502;
constexpr long status_gateway_timeout = 504;

std::string base64(const std::string& text) {
  auto out = std::string(4 * ((text.size() + 2) / 3) + 1, '\0');
  const auto size = ::EVP_EncodeBlock(
    reinterpret_cast<unsigned char*>(out.data()),
    reinterpret_cast<const unsigned char*>(text.data()), int(text.size()));
  out.resize(size_t(size));
  return out;
}

std::optional<std::string> from_base64(const std::string& text) {
  auto out = std::string(3 * text.size() / 4 + 3, '\0');
  const auto size = ::EVP_DecodeBlock(
    reinterpret_cast<unsigned char*>(out.data()),
    reinterpret_cast<const unsigned char*>(text.data()), int(text.size()));
  if (size < 0)
    return std::nullopt;
  const auto padding
    = std::count(text.end() - std::min<long>(2, text.size()), text.end(), '=');
  out.resize(size_t(size) - size_t(padding));
  return out;
}

/// The beginning of a foreign text, short enough for a log line.
std::string shown(const std::string& text) {
  return core::first_line_of(core::beginning_of(text, excerpt_size_max));
}

failure strange(const http_answer& x) {
  return {
    errc::etcd_unreachable,
    formatted("what answers is not etcd with its v3 API: HTTP status {}, {}",
              x.status, shown(x.body))};
}

/// Parsed without exceptions; `null` for what is not JSON.
json document_of(const http_answer& x) {
  auto out = json::parse(x.body, nullptr, false);
  return out.is_object() ? out : json{};
}

/// A member of an object; `null` if there is none.
const json& at(const json& x, const char* name) {
  static const auto nothing = json{};
  if (!x.is_object())
    return nothing;
  const auto i = x.find(name);
  return i == x.end() ? nothing : *i;
}

const json& first(const json& x) {
  static const auto nothing = json{};
  return x.is_array() && !x.empty() ? x.front() : nothing;
}

/// A number, or a text that is one; a missing one is 0.
std::optional<int64_t> number(const json& x) {
  if (x.is_null())
    return 0;
  if (x.is_number_integer())
    return x.is_number_unsigned()
               && x.get<uint64_t>() > std::numeric_limits<int64_t>::max()
             ? std::nullopt
             : std::optional{x.get<int64_t>()};
  if (!x.is_string())
    return std::nullopt;
  const auto& text = x.get_ref<const std::string&>();
  auto out = int64_t{0};
  const auto [end, error]
    = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return out;
}

int64_t revision_of(const json& document) {
  return number(at(at(document, "header"), "revision")).value_or(0);
}

/// The entry in the answer to a range, which is of one key at most.
result<std::optional<core::leader_entry>> entry_in(const json& range,
                                                   const http_answer& x) {
  const auto& kv = first(at(range, "kvs"));
  if (kv.is_null())
    return std::optional<core::leader_entry>{};
  const auto revision = number(at(kv, "mod_revision"));
  const auto& value = at(kv, "value");
  auto text = std::optional{std::string{}};
  if (value.is_string())
    text = from_base64(value.get_ref<const std::string&>());
  if (!revision || *revision <= 0 || !text)
    return strange(x);
  return std::optional{core::leader_entry{*revision, std::move(*text)}};
}

/// A member of a document of ours that is a number; anything else is 0.
template <class T>
T member(const json& x, const char* name) {
  const auto& y = at(x, name);
  const auto is_one = y.is_number_unsigned()
                      && y.get<uint64_t>() <= std::numeric_limits<T>::max();
  return is_one ? y.get<T>() : T{};
}

std::string text(const json& x, const char* name) {
  const auto& y = at(x, name);
  return y.is_string() ? core::one_line(y.get<std::string>(), text_size_max)
                       : std::string{};
}

/// What was written there may have been changed by any program that may write to
/// etcd: it is checked where it counts.
core::job_mark mark_of(int64_t revision, const std::string& value) {
  auto out = core::job_mark{revision, value == old_over_mark};
  const auto from = json::parse(value, nullptr, false);
  if (!from.is_object())
    return out;
  out.is_over = at(from, "over") == true;
  auto& job = out.job;
  job.newest = {member<uint64_t>(from, "newest_generation")};
  if (job.newest >= core::claimed_generation_end)
    job.newest = generation_of(term_of(core::claimed_generation_end) - 1, 0);
  job.lease
    = std::min(std::chrono::milliseconds{member<uint32_t>(from, "lease_ms")},
               core::lease_max);
  job.revision = member<uint32_t>(from, "revision");
  if (job.revision == 0)
    return out;
  job.settings = {.agent_count_min = member<uint32_t>(from, "nodes_min"),
                  .agent_count_max = member<uint32_t>(from, "nodes_max"),
                  .restart_count_max = member<uint32_t>(from, "restarts_max"),
                  .ranked = false,
                  .lease = std::chrono::milliseconds{
                    member<uint32_t>(from, "settings_lease_ms")}};
  job.is_resized = at(from, "resized") == true;
  job.restart_count = member<uint32_t>(from, "restarts");
  job.charged = {member<uint64_t>(from, "charged_generation")};
  if (const auto& hosts = at(from, "excluded"); hosts.is_array())
    for (const auto& x : hosts)
      if (job.excluded.size() < core::excluded_hosts_max)
        job.excluded.push_back(
          {text(x, "host"), text(x, "reason"), text(x, "by"), {}});
  if (const auto& hosts = at(from, "failing"); hosts.is_array())
    for (const auto& x : hosts)
      if (job.failing.size() < core::told_hosts_max)
        job.failing.push_back(
          {text(x, "host"), member<uint32_t>(x, "failures")});
  if (const auto& drains = at(from, "drains"); drains.is_array())
    for (const auto& x : drains)
      if (job.drains.size() < core::told_drains_max)
        job.drains.push_back(
          {{text(x, "agent")},
           text(x, "by"),
           std::chrono::milliseconds{member<uint32_t>(x, "time_ms")}});
  return out;
}

std::string text_of(const core::charter& job, bool is_over) {
  auto out = json{{"over", is_over}, {"newest_generation", job.newest.value}};
  if (!is_over) {
    out["revision"] = job.revision;
    out["nodes_min"] = job.settings.agent_count_min;
    out["nodes_max"] = job.settings.agent_count_max;
    out["restarts_max"] = job.settings.restart_count_max;
    out["settings_lease_ms"] = job.settings.lease.count();
    out["resized"] = job.is_resized;
    out["restarts"] = job.restart_count;
    out["charged_generation"] = job.charged.value;
    out["lease_ms"] = job.lease.count();
    out["excluded"] = json::array();
    for (const auto& x : job.excluded)
      out["excluded"].push_back(
        {{"host", x.host}, {"reason", x.reason}, {"by", x.by}});
    out["failing"] = json::array();
    for (const auto& x : job.failing)
      out["failing"].push_back(
        {{"host", x.host}, {"failures", x.failure_count}});
    out["drains"] = json::array();
    for (const auto& x : job.drains)
      out["drains"].push_back(
        {{"agent", x.agent.value}, {"by", x.by}, {"time_ms", x.time.count()}});
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The mark in the answer to a range over the job's key.
result<core::job_mark> mark_in(const json& range, const http_answer& x) {
  auto found = entry_in(range, x);
  if (!found)
    return found.error();
  if (!*found)
    return core::job_mark{};
  return mark_of((*found)->revision, (*found)->endpoint);
}

/// What answers to `ranges`.
result<core::entry_read> both_in(const json& responses, const http_answer& x) {
  if (!responses.is_array() || responses.size() != 2)
    return strange(x);
  auto entry = entry_in(at(responses[0], "response_range"), x);
  if (!entry)
    return entry.error();
  const auto mark = mark_in(at(responses[1], "response_range"), x);
  if (!mark)
    return mark.error();
  return core::entry_read{std::move(*entry), *mark};
}

/// Coordinators that the job whose key this range has found has had at most.
uint32_t terms_in(const json& range, const core::job_mark& before) {
  const auto& mark = first(at(range, "kvs"));
  if (mark.is_null() || before.is_over)
    return 0;
  const auto version = number(at(mark, "version")).value_or(1);
  return uint32_t(std::clamp<int64_t>(version, 1, UINT32_MAX));
}

bool is_plain(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

json compare(const std::string& key, int64_t revision) {
  return {{"key", base64(key)},
          {"target", "MOD"},
          {"result", "EQUAL"},
          {"mod_revision", std::to_string(revision)}};
}

json put(const std::string& key, const std::string& value, int64_t lease) {
  auto body = json{{"key", base64(key)}, {"value", base64(value)}};
  if (lease != 0)
    body["lease"] = std::to_string(lease);
  return {{"request_put", body}};
}

json range(const std::string& key) {
  return {{"request_range", {{"key", base64(key)}}}};
}

json ranges(const job_keys& keys) {
  return json::array({range(keys.coordinator), range(keys.job)});
}

json remove(const std::string& key) {
  return {{"request_delete_range", {{"key", base64(key)}}}};
}

json if_owned_by(const job_keys& keys, int64_t lease, json orders) {
  const auto is_ours = json{{"key", base64(keys.coordinator)},
                            {"target", "LEASE"},
                            {"result", "EQUAL"},
                            {"lease", std::to_string(lease)}};
  return {{"compare", json::array({is_ours})}, {"success", std::move(orders)}};
}

} // namespace

job_keys keys_of(const std::string& prefix, const job_id& job) {
  auto name = std::string{};
  for (const unsigned char c : job.value) {
    static constexpr auto digits = "0123456789abcdef";
    if (is_plain(c))
      name += char(c);
    else
      name += std::string{'%', digits[c >> 4], digits[c & 15]};
  }
  const auto base = prefix + (prefix.back() == '/' ? "" : "/") + name;
  return {base + "/coordinator", base + "/job"};
}

// -- requests -----------------------------------------------------------------

std::string authenticate_body(const std::string& user,
                              const std::string& password) {
  return json{{"name", user}, {"password", password}}.dump(
    -1, ' ', false, json::error_handler_t::replace);
}

std::string read_body(const job_keys& keys) {
  return json{{"success", ranges(keys)}}.dump();
}

std::string open_lease_body(seconds length) {
  return json{{"TTL", std::to_string(length.count())}}.dump();
}

std::string renew_body(int64_t lease) {
  return json{{"ID", std::to_string(lease)}}.dump();
}

std::string end_lease_body(int64_t lease) {
  return renew_body(lease);
}

std::string end_job_body(const job_keys& keys, const core::end_lease& order,
                         int64_t mark) {
  return if_owned_by(keys, order.lease,
                     json::array({put(keys.job, text_of(order.job, true), mark),
                                  remove(keys.coordinator)}))
    .dump();
}

std::string write_job_body(const job_keys& keys, const core::write_job& order,
                           int64_t mark) {
  return if_owned_by(keys, order.lease,
                     json::array({put(
                       keys.job, text_of(order.job, order.is_over), mark)}))
    .dump();
}

std::string forget_job_body(const job_keys& keys, int64_t lease) {
  return if_owned_by(keys, lease, json::array({remove(keys.job)})).dump();
}

// In one transaction: the entry becomes ours, and we learn whether the job has
// had a coordinator before.
std::string campaign_body(const job_keys& keys, const core::campaign& order) {
  return json{
    {"compare", json::array({compare(keys.coordinator, order.expected_revision),
                             compare(keys.job, order.expected_job_revision)})},
    {"success",
     json::array({put(keys.coordinator, "", order.lease), range(keys.job),
                  put(keys.job, text_of(order.job, false), 0)})},
    {"failure", ranges(keys)}}
    .dump();
}

std::string publish_body(const job_keys& keys, int64_t lease, int64_t revision,
                         const std::string& endpoint) {
  return json{
    {"compare", json::array({compare(keys.coordinator, revision)})},
    {"success", json::array({put(keys.coordinator, endpoint, lease)})}}
    .dump();
}

// -- answers ------------------------------------------------------------------

bool is_unavailable(const http_answer& x) {
  return x.status >= status_bad_gateway && x.status <= status_gateway_timeout;
}

std::optional<failure> refusal_of(const http_answer& x) {
  const auto document = document_of(x);
  const auto& error = at(document, "error");
  if (x.status == status_ok && !document.is_null() && error.is_null())
    return std::nullopt;
  // Debian 12's etcd 3.4 says it in both, Debian 13's 3.5 in "message" alone.
  const auto& said = error.is_null() ? at(document, "message") : error;
  if (!said.is_string())
    return strange(x);
  const auto text = said.get<std::string>();
  const auto code = number(at(document, "code")).value_or(0);
  if (code == code_unauthenticated)
    return failure{errc::secret_mismatch, "etcd: " + shown(text)};
  const auto is_denied = code == code_permission_denied
                         || text.find("user name is empty") != text.npos
                         || text.find("authentication") != text.npos;
  return failure{is_denied ? errc::etcd_denied : errc::etcd_unreachable,
                 "etcd: " + shown(text)};
}

result<std::string> read_token(const http_answer& x) {
  if (auto why = refusal_of(x))
    return *why;
  const auto document = document_of(x);
  const auto& token = at(document, "token");
  if (!token.is_string())
    return strange(x);
  return token.get<std::string>();
}

result<core::entry_read> read_entry(const http_answer& x) {
  if (auto why = refusal_of(x))
    return *why;
  return both_in(at(document_of(x), "responses"), x);
}

result<core::lease_opened> read_lease(const http_answer& x) {
  if (auto why = refusal_of(x))
    return *why;
  const auto document = document_of(x);
  const auto lease = number(at(document, "ID"));
  const auto length = number(at(document, "TTL"));
  if (!lease || *lease == 0 || !length || *length <= 0
      || *length > etcd_lease_max.count())
    return strange(x);
  return core::lease_opened{*lease, seconds{*length}, {}};
}

result<std::variant<core::campaign_won, core::campaign_lost>>
read_campaign(const http_answer& x) {
  using answer = std::variant<core::campaign_won, core::campaign_lost>;
  if (auto why = refusal_of(x))
    return *why;
  const auto document = document_of(x);
  const auto& responses = at(document, "responses");
  const auto revision = revision_of(document);
  if (!responses.is_array() || revision <= 0)
    return strange(x);
  if (at(document, "succeeded") == true) {
    if (responses.size() != 3)
      return strange(x);
    const auto& before = at(responses[1], "response_range");
    if (!before.is_object())
      return strange(x);
    const auto mark = mark_in(before, x);
    if (!mark)
      return mark.error();
    return answer{core::campaign_won{revision, terms_in(before, *mark)}};
  }
  auto found = both_in(responses, x);
  if (!found)
    return found.error();
  return answer{core::campaign_lost{std::move(found->entry), found->job}};
}

result<std::optional<int64_t>> read_published(const http_answer& x) {
  if (auto why = refusal_of(x))
    return *why;
  const auto document = document_of(x);
  const auto revision = revision_of(document);
  if (revision <= 0)
    return strange(x);
  return at(document, "succeeded") == true ? std::optional{revision}
                                           : std::nullopt;
}

result<bool> read_written(const http_answer& x) {
  if (auto why = refusal_of(x))
    return *why;
  const auto document = document_of(x);
  if (revision_of(document) <= 0)
    return strange(x);
  return at(document, "succeeded") == true;
}

result<std::optional<core::duration>> read_renewed(const http_answer& x) {
  if (x.status == status_not_found
      && x.body.find("lease not found") != x.body.npos)
    return std::optional<core::duration>{};
  if (auto why = refusal_of(x))
    return *why;
  const auto document = document_of(x);
  const auto& answer = at(document, "result");
  const auto length = number(at(answer, "TTL"));
  if (answer.is_null() || !length || *length > etcd_lease_max.count())
    return strange(x);
  if (*length <= 0)
    return std::optional<core::duration>{};
  return std::optional<core::duration>{seconds{*length}};
}

} // namespace actorrun::detail::etcd
