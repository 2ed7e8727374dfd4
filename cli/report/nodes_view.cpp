#include "cli/report/nodes_view.hpp"

#include "actors/core/text.hpp"
#include "cli/report/clean_status.hpp"
#include "cli/report/text_table.hpp"
#include "messages/formatted.hpp"
#include "runtime/status_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace actorrun::cli {

namespace {

using node_json = nlohmann::ordered_json;

/// Of the JSON; grows when an earlier reader would misread it.
constexpr auto nodes_schema = 1;

/// What is shown of a node, or of a host without one.
struct shown_node {
  std::string host;
  std::string agent{};
  std::string state;
  std::string why{}; ///< It gets no place, or has this state.
  std::optional<uint64_t> since_ms{};
  std::optional<uint32_t> node_rank{};
  std::optional<std::pair<uint32_t, uint32_t>>
    ranks{}; ///< The first, the last.
  v1::CheckState checks = v1::CHECK_STATE_NONE;
  std::optional<uint64_t> checks_ms{}; ///< Since they run, or have failed.
  std::optional<uint32_t> failure_count{};
  std::optional<uint32_t> generation_count{};
};

/// An agent that answers in the place of a coordinator knows only itself, and not what
/// the job has seen of it.
bool is_of_coordinator(const v1::JobStatus& job) {
  return job.coordinator_pid() != 0;
}

shown_node node_of(const v1::JobStatus& job, const v1::AgentStatus& x) {
  auto out = shown_node{.host = x.host(),
                        .agent = x.agent_id(),
                        .state = state_of(job, x),
                        .why = x.reason().empty() ? x.unfit() : x.reason(),
                        .since_ms = x.since_ms(),
                        .checks = x.checks()};
  if (in_generation(job, x)) {
    out.node_rank = x.node_rank();
    out.ranks = {x.first_global_rank(),
                 x.first_global_rank() + std::max(x.slot_count(), 1U) - 1};
  }
  if (x.has_unfit_age_ms())
    out.checks_ms = x.unfit_age_ms();
  if (is_of_coordinator(job)) {
    out.failure_count = x.host_failure_count();
    out.generation_count = x.generation_count();
  }
  return out;
}

bool is_here(const v1::JobStatus& job, const std::string& host) {
  return std::ranges::any_of(job.agents(),
                             [&](const auto& x) { return x.host() == host; });
}

std::vector<shown_node> nodes_of(const v1::JobStatus& job) {
  auto out = std::vector<shown_node>{};
  for (const auto& x : job.agents())
    out.push_back(node_of(job, x));
  std::ranges::stable_sort(out, {}, [](const shown_node& x) {
    return std::pair{x.node_rank.value_or(UINT32_MAX), x.host};
  });
  for (const auto& x : job.excluded_hosts())
    if (!is_here(job, x.host()))
      out.push_back({.host = x.host(),
                     .state = "excluded",
                     .why = x.reason(),
                     .since_ms = x.age_ms()});
  for (const auto& x : job.departed_nodes())
    out.push_back({.host = x.host(),
                   .agent = x.agent_id(),
                   .state = "gone",
                   .why = x.reason(),
                   .since_ms = x.age_ms()});
  return out;
}

// -- as text --------------------------------------------------------------------

std::string span_cell(const std::optional<uint64_t>& ms) {
  constexpr auto most = uint64_t{1} << 50U;
  return ms
           ? core::duration_text(std::chrono::milliseconds{std::min(*ms, most)})
           : "-";
}

template <class Number>
std::string cell(const std::optional<Number>& x) {
  return x ? std::to_string(*x) : "-";
}

std::string checks_cell(const shown_node& x) {
  const auto since = x.checks_ms ? " for " + span_cell(x.checks_ms) : "";
  switch (x.checks) {
    case v1::CHECK_STATE_GOOD:
      return "good";
    case v1::CHECK_STATE_RUNNING:
      return "running" + since;
    case v1::CHECK_STATE_FAILED:
      return "failed" + since;
    default:
      return "-";
  }
}

std::string ranks_cell(const shown_node& x) {
  return x.ranks ? formatted("{}-{}", x.ranks->first, x.ranks->second) : "-";
}

text_row row_of_node(const shown_node& x) {
  return {cell(x.node_rank),
          x.host,
          x.state,
          span_cell(x.since_ms),
          ranks_cell(x),
          checks_cell(x),
          cell(x.failure_count),
          cell(x.generation_count),
          core::printable(x.why)};
}

std::string table_of(const v1::JobStatus& job) {
  auto rows
    = std::vector<text_row>{{"node", "host", "state", "for", "ranks", "checks",
                             "failures", "generations", "why"}};
  for (const auto& x : nodes_of(job))
    rows.push_back(row_of_node(x));
  auto text
    = formatted("job {}: {}, {}\n", job.job_id(), job.phase(),
                core::counted(size_t(job.agents_size()), "node")
                  + (job.agents_size() == 1 ? " is" : " are") + " here");
  if (!is_of_coordinator(job))
    text
      += "  the coordinator has not answered, but an agent: only its own node"
         " is known\n";
  text += aligned(rows);
  if (job.truncated())
    text += "  there are more nodes than one answer can hold\n";
  return text;
}

// -- as JSON ----------------------------------------------------------------------

template <class T>
node_json known_or_null(const std::optional<T>& x) {
  return x ? node_json(*x) : node_json(nullptr);
}

node_json text_or_null(const std::string& x) {
  return x.empty() ? node_json(nullptr) : node_json(core::printable(x));
}

node_json json_of(const shown_node& x) {
  auto ranks = node_json(nullptr);
  if (x.ranks)
    ranks = {x.ranks->first, x.ranks->second};
  return {{"host", x.host},
          {"agent", text_or_null(x.agent)},
          {"node_rank", known_or_null(x.node_rank)},
          {"state", x.state},
          {"since_ms", known_or_null(x.since_ms)},
          {"ranks", std::move(ranks)},
          {"checks", text_or_null(name_of(x.checks))},
          {"checks_ms", known_or_null(x.checks_ms)},
          {"failures", known_or_null(x.failure_count)},
          {"generations", known_or_null(x.generation_count)},
          {"why", text_or_null(x.why)}};
}

} // namespace

std::string nodes_to_text(const std::vector<v1::JobStatus>& jobs) {
  auto text = std::string{};
  for (const auto& job : jobs)
    text += (text.empty() ? "" : "\n") + table_of(cleaned(job));
  return text.empty() ? "no jobs on this host\n" : text;
}

std::string nodes_to_json(const std::vector<v1::JobStatus>& jobs) {
  auto list = node_json::array();
  for (const auto& x : jobs) {
    const auto job = cleaned(x);
    auto nodes = node_json::array();
    for (const auto& y : nodes_of(job))
      nodes.push_back(json_of(y));
    list.push_back({{"job", job.job_id()},
                    {"phase", job.phase()},
                    {"nodes", std::move(nodes)},
                    {"truncated", job.truncated()}});
  }
  return node_json{{"schema", nodes_schema}, {"jobs", std::move(list)}}.dump(2)
         + "\n";
}

} // namespace actorrun::cli
