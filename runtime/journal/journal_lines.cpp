#include "runtime/journal/journal_lines.hpp"

#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <ranges>
#include <type_traits>
#include <utility>

namespace actorrun::detail {

namespace {

using json = nlohmann::json;
using namespace core;
using namespace core::journal;

/// What is wrong with a line. Thrown and caught in this file: the place is deep in
/// an object, and the line is given up.
struct bad_line {
  std::string why;
};

/// Of a node: missing where its time is.
constexpr auto counted_until_name = "counted_until_ns";
constexpr auto generation_count_name = "generation_count";
constexpr auto failures_name = "failures";

/// Of a snapshot: missing likewise.
constexpr auto time_name = "time";
constexpr auto stragglers_name = "stragglers";
constexpr auto straggler_count_name = "straggler_count";

constexpr auto leavers_name = "leavers";

constexpr auto given_up_name = "given_up";

/// Earlier programs did not write them.
constexpr auto later_names = std::array<std::string_view, 7>{
  counted_until_name,   generation_count_name, failures_name, stragglers_name,
  straggler_count_name, leavers_name,          given_up_name};

// -- the members of each object, for both directions ------------------------------

template <class X, class T>
concept is_a = std::same_as<std::remove_const_t<X>, T>;

template <is_a<moment> X>
void members(X& x, auto f) {
  f("ns", x.when);
  f("wall_ms", x.wall_ms);
}

template <is_a<job_settings> X>
void members(X& x, auto f) {
  f("nodes_min", x.agent_count_min);
  f("nodes_max", x.agent_count_max);
  f("restarts_max", x.restart_count_max);
  f("ranked", x.ranked);
  f("lease_ms", x.lease);
}

template <is_a<death_details> X>
void members(X& x, auto f) {
  f("wall_ms", x.wall_ms);
  f("out_of_memory", x.out_of_memory);
  f("subject", x.subject);
  f("error_file", x.error_file);
  f("message", x.message);
  f("traceback", x.traceback);
  f("is_from_stderr", x.is_from_stderr);
  f("scope", x.scope);
  f("lateness_ns", x.lateness);
  f("limit_ns", x.limit);
  f("where", x.where);
}

template <is_a<worker_failure> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("host", x.host);
  f("rank", x.global_rank);
  f("local_rank", x.local_rank);
  f("pid", x.pid);
  f("kind", x.kind);
  f("code", x.code);
  f("dumped", x.dumped);
  f("age_ns", x.age);
  f("while_stopped", x.while_stopped);
  f("details", x.details);
}

template <is_a<collateral> X>
void members(X& x, auto f) {
  f("listed", x.listed);
  f("unlisted_count", x.unlisted_count);
}

template <is_a<outcome> X>
void members(X& x, auto f) {
  f("verdict", x.kind);
  f("first_failure", x.first_failure);
  f("other_failures", x.other_failures);
  f("unlisted_failure_count", x.unlisted_failure_count);
  f("signal", x.signal);
  f("reason", x.reason);
  f("class", x.what);
  f(given_up_name, x.given_up);
  f("without_progress", x.is_without_progress);
}

template <is_a<trouble> X>
void members(X& x, auto f) {
  f("class", x.what);
  f("evidence", x.evidence);
  f("alike_count", x.alike_count);
  f("alike", x.alike);
}

template <is_a<quarantined_node> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("host", x.host);
  f("unkillable_count", x.unkillable_count);
}

template <is_a<waiting_drain> X>
void members(X& x, auto f) {
  f("by", x.by);
  f("asked_ns", x.asked);
}

template <is_a<node> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("host", x.host);
  f("address", x.address);
  f("role", x.role);
  f("slots", x.slot_count);
  f("generation", x.generation);
  f("node_rank", x.node_rank);
  f("first_rank", x.first_rank);
  f("lead_slot", x.lead_slot);
  f("share", x.share);
  f("connected", x.connected);
  f("leaving", x.leaving);
  f("pids", x.pids);
  f("drained_at_ns", x.drained_at);
  f("drained_by", x.drained_by);
  f("excluded", x.excluded);
  f("waits_to_drain", x.waits_to_drain);
  f("stands_by", x.stands_by);
  f("unfit", x.unfit);
  f("has_checks", x.has_checks);
}

template <is_a<excluded_host> X>
void members(X& x, auto f) {
  f("host", x.host);
  f("reason", x.reason);
  f("by", x.by);
  f("since_ns", x.since);
}

template <is_a<coordinator_began> X>
void members(X& x, auto f) {
  f("job", x.job);
  f("host", x.host);
  f("pid", x.pid);
  f("is_successor", x.is_successor);
  f("settings", x.settings);
  f("lease_ms", x.lease);
}

template <is_a<phase_changed> X>
void members(X& x, auto f) {
  f("phase", x.phase);
}

template <is_a<wait_changed> X>
void members(X& x, auto f) {
  f("text", x.text);
  f("until_ns", x.until);
  f("gives_up", x.gives_up);
}

template <is_a<node_changed> X>
void members(X& x, auto f) {
  f("now", x.now);
}

template <is_a<quarantine_changed> X>
void members(X& x, auto f) {
  f("nodes", x.nodes);
}

template <is_a<exclusions_changed> X>
void members(X& x, auto f) {
  f("hosts", x.hosts);
}

template <is_a<settings_changed> X>
void members(X& x, auto f) {
  f("settings", x.settings);
}

template <is_a<node_joined> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("host", x.host);
  f("is_back", x.is_back);
}

template <is_a<node_refused> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("host", x.host);
  f("code", x.code);
  f("text", x.text);
}

template <is_a<node_out_of_touch> X>
void members(X& x, auto f) {
  f("agent", x.agent);
}

template <is_a<node_leaving> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("signal", x.signal);
}

template <is_a<node_gone> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("reason", x.reason);
}

template <is_a<journal::generation_formed> X>
void members(X& x, auto f) {
  f("generation", x.generation);
  f("node_count", x.node_count);
  f("world_size", x.world_size);
  f("master_addr", x.master_address);
  f("master_port", x.master_port);
  f("restarts", x.restart_count);
  f("reason", x.reason);
  f("adopted", x.adopted);
}

template <is_a<generation_running> X>
void members(X& x, auto f) {
  f("generation", x.generation);
}

template <is_a<worker_died> X>
void members(X& x, auto f) {
  f("generation", x.generation);
  f("failure", x.failure);
}

template <is_a<end_origin> X>
void members(X& x, auto f) {
  f("what", x.what);
  f("agent", x.agent);
  f("signal", x.signal);
  f("by", x.by);
  f("detail", x.detail);
}

template <is_a<journal::generation_revoked> X>
void members(X& x, auto f) {
  f("generation", x.generation);
  f("reason", x.reason);
  f("origin", x.origin);
  f("at_safe_point", x.at_safe_point);
}

template <is_a<journal::generation_stopped> X>
void members(X& x, auto f) {
  f("generation", x.generation);
  f("cause", x.cause);
  f("others", x.others);
  f("exemption", x.exemption);
  f("exemption_origin", x.exemption_origin);
  f("restarts", x.restart_count);
  f("trouble", x.why);
  f("has_survivors", x.has_survivors);
}

template <is_a<end_requested> X>
void members(X& x, auto f) {
  f("signal", x.signal);
  f("by", x.by);
  f("reason", x.reason);
}

template <is_a<operator_asked> X>
void members(X& x, auto f) {
  f("by", x.by);
  f("request", x.what);
  f("done", x.done);
  f("answer", x.answer);
}

template <is_a<journal::job_ended> X>
void members(X& x, auto f) {
  f("result", x.result);
}

template <is_a<coordinator_ended> X>
void members(X&, auto) {}

template <is_a<gpus_changed> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("trouble", x.trouble);
}

template <is_a<hang_changed> X>
void members(X& x, auto f) {
  f("generation", x.generation);
  f("silent_ns", x.silent_for);
  f("text", x.text);
  f("where", x.where);
}

template <is_a<failure_attributed> X>
void members(X& x, auto f) {
  f("generation", x.generation);
  f("agent", x.agent);
  f("to", x.to);
  f("text", x.text);
  f("restarts", x.restart_count);
}

template <is_a<attribution_entry> X>
void members(X& x, auto f) {
  f("to", x.to);
  f("text", x.text);
}

template <is_a<failing_host> X>
void members(X& x, auto f) {
  f("host", x.host);
  f("count", x.failure_count);
}

template <is_a<hang_entry> X>
void members(X& x, auto f) {
  f("text", x.text);
  f("where", x.where);
  f("since_ns", x.since);
}

template <is_a<straggler> X>
void members(X& x, auto f) {
  f("rank", x.global_rank);
  f("host", x.host);
  f("compute_ns", x.compute);
  f("usual_ns", x.usual);
}

template <is_a<stragglers_changed> X>
void members(X& x, auto f) {
  f("generation", x.generation);
  f("named", x.named);
  f("count", x.count);
}

template <is_a<node_saved> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("generation", x.generation);
  f("saving_ns", x.saving);
  f("saved_up_to_ns", x.saved_up_to);
  f("saving_since_ns", x.saving_since);
}

template <is_a<node_run> X>
void members(X& x, auto f) {
  f("trained_us", x.trained_us);
  f("trained_until_ns", x.trained_until);
  f("has_said_saves", x.has_said_saves);
  f("saving_ns", x.saving);
  f("saved_up_to_ns", x.saved_up_to);
  f("saving_since_ns", x.saving_since);
}

template <is_a<leaver> X>
void members(X& x, auto f) {
  f("host", x.host);
  f("slots", x.slot_count);
  f("run", x.run);
}

template <is_a<loss> X>
void members(X& x, auto f) {
  f("worker_us", x.worker_us);
  f("since_us", x.since_us);
}

template <is_a<slow_worker> X>
void members(X& x, auto f) {
  f("what", x.what);
  f("since", x.since);
}

template <is_a<leader_chosen> X>
void members(X& x, auto f) {
  f("agent", x.agent);
  f("leader_term", x.term);
  f("by", x.by);
  f("why", x.what);
  f("from", x.from);
  f("silent_ns", x.silent_for);
  f("reason", x.reason);
}

template <is_a<voters_changed> X>
void members(X& x, auto f) {
  f("leader_term", x.term);
  f("voters", x.voters);
  f("deputies", x.deputies);
}

template <is_a<leadership_given_up> X>
void members(X& x, auto f) {
  f("reason", x.reason);
}

template <is_a<leadership_entry> X>
void members(X& x, auto f) {
  f("chosen", x.chosen);
  f("at", x.at);
  f("leader_term", x.term);
  f("voters", x.voters);
  f("deputies", x.deputies);
}

template <is_a<leadership_end> X>
void members(X& x, auto f) {
  f("reason", x.reason);
  f("at", x.at);
}

template <is_a<gpu_trouble> X>
void members(X& x, auto f) {
  f("text", x.text);
  f("at", x.at);
}

template <is_a<generation_entry> X>
void members(X& x, auto f) {
  f("formed", x.formed);
  f("formed_at", x.formed_at);
  f("running_at", x.running_at);
  f("revoked_at", x.revoked_at);
  f("end_reason", x.end_reason);
  f("end_origin", x.end_origin);
  f("stopped_at", x.stopped_at);
  f("cause", x.cause);
  f("cause_at", x.cause_at);
  f("gpus", x.gpus);
  f("others", x.others);
  f("exemption", x.exemption);
  f("exemption_origin", x.exemption_origin);
  f("restarts", x.restart_count);
  f("trouble", x.why);
  f("time", x.time);
  f("attributed", x.attributed);
  f("at_safe_point", x.at_safe_point);
  f("lost", x.lost);
}

template <is_a<departure> X>
void members(X& x, auto f) {
  f("last", x.last);
  f("at", x.at);
  f("reason", x.reason);
}

template <is_a<refusal> X>
void members(X& x, auto f) {
  f("what", x.what);
  f("at", x.at);
}

template <is_a<operator_request> X>
void members(X& x, auto f) {
  f("what", x.what);
  f("at", x.at);
}

template <is_a<node_entry> X>
void members(X& x, auto f) {
  f("now", x.now);
  f("joined_at", x.joined_at);
  f("since", x.since);
  f("gpus", x.gpus);
  f("time", x.time);
  f(counted_until_name, x.counted_until);
  f(generation_count_name, x.generation_count);
  f("unfit_since", x.unfit_since);
  f("run", x.run);
}

template <is_a<time_ledger> X>
void members(X& x, auto f) {
  f("since_ns", x.since);
  f("outside", x.outside);
  f("left", x.left);
  f("left_others", x.left_others);
}

template <is_a<snapshot> X>
void members(X& x, auto f) {
  f("coordinator", x.coordinator);
  f("began", x.began);
  f("phase", x.phase);
  f("phase_since", x.phase_since);
  f("waiting_for", x.waiting_for);
  f("waiting_since", x.waiting_since);
  f("waiting_until_ns", x.waiting_until);
  f("gives_up_then", x.gives_up_then);
  f("restarts", x.restart_count);
  f("resized", x.is_resized);
  f("nodes", x.nodes);
  f("quarantined", x.quarantined);
  f("excluded", x.excluded);
  f(failures_name, x.failures);
  f("requests", x.requests);
  f("generations", x.generations);
  f("forgotten_generation_count", x.forgotten_generation_count);
  f("departures", x.departures);
  f("refusals", x.refusals);
  f("end_request", x.end_request);
  f("result", x.result);
  f("ended_at", x.ended_at);
  f("complete", x.is_complete);
  f("leadership", x.leadership);
  f("left", x.left);
  f("hang", x.hang);
  f("ends", x.ends);
  f(stragglers_name, x.stragglers);
  f(straggler_count_name, x.straggler_count);
  f(time_name, x.time);
  f("has_saves", x.has_saves);
  f(leavers_name, x.leavers);
}

template <class T>
concept has_members = requires(T& x) {
  members(x, [](const char*, auto&) {});
};

// -- names ------------------------------------------------------------------------

constexpr auto failure_kinds = std::array{"exited", "signalled", "not_started",
                                          "timer_expired", "unkillable"};

std::string name_of(failure_kind x) {
  return failure_kinds[static_cast<size_t>(x)];
}

constexpr auto origin_kinds
  = std::array{"node_left", "node_lost", "node_cut_off", "operator_asked"};

std::string name_of(end_origin::kind x) {
  return origin_kinds[static_cast<size_t>(x)];
}

constexpr auto change_kinds = std::array{
  "began", "silent", "ended", "handed_over", "asked", "expired", "ordered"};

std::string name_of(leader_change::kind x) {
  return change_kinds[static_cast<size_t>(x)];
}

std::string name_of(attribution x) {
  return core::to_string(x);
}

std::string name_of(leader_source x) {
  return core::to_string(x);
}

std::string name_of(rendezvous_phase x) {
  return core::to_string(x);
}

std::string name_of(share_state x) {
  return core::to_string(x);
}

std::string name_of(end_class x) {
  return core::to_string(x);
}

std::string name_of(outcome::verdict x) {
  return core::to_string(x);
}

std::string name_of(errc x) {
  return std::string{actorrun::to_string(x)};
}

template <class T>
constexpr bool is_text
  = std::same_as<T, std::string> || std::same_as<T, shared_text>;

template <class T>
constexpr auto last_of = T{};
template <>
constexpr auto last_of<failure_kind> = failure_kind::unkillable;
template <>
constexpr auto last_of<end_origin::kind> = end_origin::kind::operator_asked;
template <>
constexpr auto last_of<leader_change::kind> = leader_change::kind::expired;
template <>
constexpr auto last_of<attribution> = attribution::program;
template <>
constexpr auto last_of<leader_source> = leader_source::registry;
template <>
constexpr auto last_of<rendezvous_phase> = rendezvous_phase::ended;
template <>
constexpr auto last_of<share_state> = share_state::stopping;
template <>
constexpr auto last_of<outcome::verdict> = outcome::verdict::unmet;
template <>
constexpr auto last_of<end_class> = end_class::unknown;
template <>
constexpr auto last_of<errc> = errc::certificate_mismatch;

/// What each kind of record is called.
template <class T>
constexpr const char* what_of = nullptr;
template <>
constexpr const char* what_of<coordinator_began> = "coordinator_began";
template <>
constexpr const char* what_of<phase_changed> = "phase_changed";
template <>
constexpr const char* what_of<wait_changed> = "wait_changed";
template <>
constexpr const char* what_of<node_changed> = "node_changed";
template <>
constexpr const char* what_of<quarantine_changed> = "quarantine_changed";
template <>
constexpr const char* what_of<exclusions_changed> = "exclusions_changed";
template <>
constexpr const char* what_of<settings_changed> = "settings_changed";
template <>
constexpr const char* what_of<operator_asked> = "operator_asked";
template <>
constexpr const char* what_of<node_joined> = "node_joined";
template <>
constexpr const char* what_of<node_refused> = "node_refused";
template <>
constexpr const char* what_of<node_out_of_touch> = "node_out_of_touch";
template <>
constexpr const char* what_of<node_leaving> = "node_leaving";
template <>
constexpr const char* what_of<node_gone> = "node_gone";
template <>
constexpr const char* what_of<journal::generation_formed> = "generation_formed";
template <>
constexpr const char* what_of<generation_running> = "generation_running";
template <>
constexpr const char* what_of<worker_died> = "worker_died";
template <>
constexpr const char*
  what_of<journal::generation_revoked> = "generation_revoked";
template <>
constexpr const char*
  what_of<journal::generation_stopped> = "generation_stopped";
template <>
constexpr const char* what_of<end_requested> = "end_requested";
template <>
constexpr const char* what_of<journal::job_ended> = "job_ended";
template <>
constexpr const char* what_of<coordinator_ended> = "coordinator_ended";
template <>
constexpr const char* what_of<gpus_changed> = "gpus_changed";
template <>
constexpr const char* what_of<leader_chosen> = "leader_chosen";
template <>
constexpr const char* what_of<voters_changed> = "voters_changed";
template <>
constexpr const char* what_of<leadership_given_up> = "leadership_given_up";
template <>
constexpr const char* what_of<hang_changed> = "hang_changed";
template <>
constexpr const char* what_of<stragglers_changed> = "stragglers_changed";
template <>
constexpr const char* what_of<failure_attributed> = "failure_attributed";
template <>
constexpr const char* what_of<node_saved> = "node_saved";
constexpr auto what_of_snapshot = "snapshot";

// -- writing ----------------------------------------------------------------------

// A change of a large group is tens of thousands of lines: they are written as
// text at once, without a tree of values in between.

template <class T>
void write(const T& x, std::string& out);

/// The text of other programs need not be UTF-8.
void write_text(std::string_view x, std::string& out) {
  const auto is_plain
    = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(x, is_plain)) {
    out += '"';
    out += x;
    out += '"';
  } else {
    out += json(x).dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_optional<rare_value<T>> = true;

template <class T>
requires is_optional<T>
void write(const T& x, std::string& out) {
  if (x)
    write(*x, out);
  else
    out += "null";
}

template <class T>
void write(const shared_value<T>& x, std::string& out) {
  write(*x, out);
}

template <class Range>
void write_list(const Range& xs, std::string& out) {
  auto separator = '[';
  for (const auto& x : xs) {
    out += std::exchange(separator, ',');
    write(x, out);
  }
  out += separator == '[' ? "[]" : "]";
}

template <class T>
void write(const std::vector<T>& xs, std::string& out) {
  write_list(xs, out);
}

template <class T>
void write(const std::deque<T>& xs, std::string& out) {
  write_list(xs, out);
}

void write(const std::map<agent_id, node_entry>& xs, std::string& out) {
  write_list(std::views::values(xs), out);
}

/// Of each place by cause, then of each node.
void write(const spent_time& x, std::string& out) {
  auto all = std::vector<uint64_t>{x.worker_us.begin(), x.worker_us.end()};
  all.insert(all.end(), x.node_us.begin(), x.node_us.end());
  write_list(all, out);
}

/// By class.
void write(const end_counts& x, std::string& out) {
  write_list(std::vector<uint64_t>{x.of.begin(), x.of.end()}, out);
}

void write(const std::map<std::string, spent_time>& xs, std::string& out) {
  auto separator = '[';
  for (const auto& [host, spent] : xs) {
    out += std::exchange(separator, ',');
    out += R"({"host":)";
    write_text(host, out);
    out += R"(,"time":)";
    write(spent, out);
    out += '}';
  }
  out += separator == '[' ? "[]" : "]";
}

/// Beside the number of a generation. No object has two generations.
constexpr auto term_name = "term";

/// @param separator In front of the first one.
void write_members(const auto& x, char separator, std::string& out) {
  const auto put = [&](const char* name, const auto& y) {
    out += std::exchange(separator, ',');
    out += '"';
    out += name;
    out += "\":";
    write(y, out);
  };
  members(x, [&](const char* name, const auto& y) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(y)>,
                               generation_id>) {
      put(name, number_of(y));
      if (term_of(y) != 0)
        put(term_name, term_of(y));
    } else {
      put(name, y);
    }
  });
}

template <class T>
void write(const T& x, std::string& out) {
  if constexpr (has_members<const T>) {
    write_members(x, '{', out);
    out += '}';
  } else if constexpr (std::is_enum_v<T>) {
    write_text(name_of(x), out);
  } else if constexpr (std::same_as<T, time_point>) {
    write(x.time_since_epoch().count(), out);
  } else if constexpr (requires { x.count(); }) {
    write(x.count(), out);
  } else if constexpr (requires { x.value; }) {
    write(x.value, out);
  } else if constexpr (std::same_as<T, bool>) {
    out += x ? "true" : "false";
  } else if constexpr (is_text<T>) {
    write_text(x, out);
  } else {
    out += std::to_string(x);
  }
}

std::string line_of(uint64_t number, const moment& at, const char* what,
                    const auto& x) {
  auto out = formatted(R"({{"v":{},"n":{})", journal_version, number);
  write_members(at, ',', out);
  out += R"(,"what":)";
  write_text(what, out);
  write_members(x, ',', out);
  return out += "}\n";
}

// -- reading ----------------------------------------------------------------------

template <class T>
void decode(const json& from, T& x);

template <class T>
requires is_optional<T>
void decode(const json& from, T& x) {
  if (from.is_null())
    x.reset();
  else
    decode(from, x.emplace());
}

template <class T>
void decode(const json& from, shared_value<T>& x) {
  auto value = T{};
  decode(from, value);
  x = std::move(value);
}

template <class Range>
void decode_all(const json& from, Range& xs) {
  if (!from.is_array())
    throw bad_line{"a list is missing"};
  for (const auto& y : from)
    decode(y, xs.emplace_back());
}

template <class T>
void decode(const json& from, std::vector<T>& xs) {
  decode_all(from, xs);
}

template <class T>
void decode(const json& from, std::deque<T>& xs) {
  decode_all(from, xs);
}

void decode(const json& from, std::map<agent_id, node_entry>& xs) {
  auto list = std::vector<node_entry>{};
  decode(from, list);
  for (auto& x : list)
    xs.insert_or_assign(x.now->agent, std::move(x));
}

// An earlier program knew fewer causes.
void decode(const json& from, spent_time& x) {
  auto all = std::vector<uint64_t>{};
  decode_all(from, all);
  const auto count = all.size() / 2;
  if (all.size() % 2 != 0 || count > time_cause_count)
    throw bad_line{"a list of times has another length"};
  std::copy_n(all.begin(), count, x.worker_us.begin());
  std::copy_n(all.begin() + ptrdiff_t(count), count, x.node_us.begin());
}

void decode(const json& from, end_counts& x) {
  auto all = std::vector<uint64_t>{};
  decode_all(from, all);
  if (all.size() > end_class_count)
    throw bad_line{"a list of ends has another length"};
  std::ranges::copy(all, x.of.begin());
}

void decode(const json& from, std::map<std::string, spent_time>& xs) {
  if (!from.is_array())
    throw bad_line{"a list is missing"};
  for (const auto& y : from) {
    auto host = std::string{};
    auto spent = spent_time{};
    if (!y.is_object() || !y.contains("host") || !y.contains("time"))
      throw bad_line{"an object is missing"};
    decode(y["host"], host);
    decode(y["time"], spent);
    xs.insert_or_assign(std::move(host), spent);
  }
}

template <class T>
void decode_number(const json& from, T& x) {
  if (!from.is_number_integer())
    throw bad_line{"a number is missing"};
  const auto is_in_range = from.is_number_unsigned()
                             ? std::in_range<T>(from.get<uint64_t>())
                             : std::in_range<T>(from.get<int64_t>());
  if (!is_in_range)
    throw bad_line{"a number is out of range"};
  x = from.get<T>();
}

template <class T>
void decode_name(const json& from, T& x) {
  if (from.is_string())
    for (int i = 0; i <= static_cast<int>(last_of<T>); ++i)
      if (name_of(static_cast<T>(i)) == from.get_ref<const std::string&>()) {
        x = static_cast<T>(i);
        return;
      }
  throw bad_line{"a name is unknown"};
}

generation_id decode_generation(const json& number, const json& beside) {
  auto x = uint64_t{0};
  decode_number(number, x);
  auto term = uint64_t{0};
  if (const auto i = beside.find(term_name); i != beside.end())
    decode_number(*i, term);
  if (x > generation_number_max || term > term_of(generation_max))
    throw bad_line{"a generation is out of range"};
  return generation_of(term, x);
}

/// Earlier programs counted no time, and knew no classes of ends.
template <class T>
constexpr bool is_newer
  = std::same_as<
      T,
      spent_time> || std::same_as<T, time_ledger> || std::same_as<T, node_run> || std::same_as<T, end_class> || std::same_as<T, end_counts>;

/// What may be none or false may be missing: earlier programs did not write it.
void decode_members(const json& from, auto& x) {
  if (!from.is_object())
    throw bad_line{"an object is missing"};
  members(x, [&](const char* name, auto& y) {
    const auto i = from.find(name);
    using type = std::remove_cvref_t<decltype(y)>;
    if (
      i == from.end()
      && (is_optional<
            type> || std::same_as<type, bool> || is_newer<type> || std::ranges::count(later_names, name) > 0))
      return;
    if (i == from.end())
      throw bad_line{formatted("\"{}\" is missing", name)};
    if constexpr (std::same_as<type, generation_id>)
      y = decode_generation(*i, from);
    else
      decode(*i, y);
  });
}

template <class T>
void decode(const json& from, T& x) {
  if constexpr (has_members<T>) {
    decode_members(from, x);
  } else if constexpr (std::is_enum_v<T>) {
    decode_name(from, x);
  } else if constexpr (std::same_as<T, time_point>) {
    auto count = int64_t{0};
    decode_number(from, count);
    x = time_point{duration{count}};
  } else if constexpr (requires { x.count(); }) {
    auto count = int64_t{0};
    decode_number(from, count);
    x = T{count};
  } else if constexpr (requires { x.value; }) {
    decode(from, x.value);
  } else if constexpr (std::same_as<T, bool>) {
    if (!from.is_boolean())
      throw bad_line{"true or false is missing"};
    x = from.get<bool>();
  } else if constexpr (is_text<T>) {
    if (!from.is_string())
      throw bad_line{"a text is missing"};
    x = from.get<std::string>();
  } else {
    decode_number(from, x);
  }
}

/// Tries the kinds of records one after the other.
template <size_t index = 0>
bool decode_fact(const std::string& what, const json& from, fact& out) {
  if constexpr (index < std::variant_size_v<fact>) {
    using kind = std::variant_alternative_t<index, fact>;
    static_assert(what_of<kind> != nullptr);
    if (what != what_of<kind>)
      return decode_fact<index + 1>(what, from, out);
    decode_members(from, out.emplace<index>());
    return true;
  } else {
    return false;
  }
}

/// Whether reading a line takes no more memory than some times its size. Lists and
/// objects are what is expensive: ours have few, and none deep in others.
bool is_of_our_shape(std::string_view line) {
  constexpr auto depth_max = 16;
  constexpr size_t bytes_per_opening = 8;
  auto depth = 0;
  auto openings_left = 64 + line.size() / bytes_per_opening;
  auto is_text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const auto c = line[i];
    if (is_text && c == '\\')
      ++i;
    else if (c == '"')
      is_text = !is_text;
    else if (!is_text && (c == '[' || c == '{')
             && (++depth > depth_max || openings_left-- == 0))
      return false;
    else if (!is_text && (c == ']' || c == '}'))
      --depth;
  }
  return true;
}

journal_line decode_line(const json& from) {
  auto version = 0;
  auto what = std::string{};
  auto out = record{};
  const auto member = [&](const char* name, auto& x) {
    if (!from.is_object() || !from.contains(name))
      throw bad_line{"it is no record"};
    decode(from[name], x);
  };
  member("v", version);
  if (version != journal_version)
    throw bad_line{formatted("written by another version ({}; this program"
                             " reads version {})",
                             version, journal_version)};
  member("n", out.number);
  member("what", what);
  decode_members(from, out.at);
  if (what == what_of_snapshot) {
    auto all = snapshot{};
    decode_members(from, all);
    all.number = out.number;
    all.latest = out.at;
    if (!from.contains(time_name))
      all.begin_to_count();
    return all;
  }
  auto told = fact{};
  if (!decode_fact(what, from, told))
    return unknown_record{what};
  out.what = std::move(told);
  return out;
}

} // namespace

std::string to_line(const record& x) {
  return std::visit(
    [&](const auto& y) {
      return line_of(x.number, x.at, what_of<std::remove_cvref_t<decltype(y)>>,
                     y);
    },
    *x.what);
}

std::string to_line(const snapshot& x) {
  return line_of(x.number, x.latest, what_of_snapshot, x);
}

result<journal_line> parse_journal_line(std::string_view text) {
  if (!is_of_our_shape(text))
    return failure{errc::bad_argument, "it is not a line of ours"};
  const auto from = json::parse(text, nullptr, false);
  if (from.is_discarded())
    return failure{errc::bad_argument, "it is not JSON"};
  try {
    return decode_line(from);
  } catch (const bad_line& x) {
    return failure{errc::bad_argument, x.why};
  }
}

} // namespace actorrun::detail
