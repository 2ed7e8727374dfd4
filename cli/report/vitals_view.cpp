#include "cli/report/vitals_view.hpp"

#include "actors/core/text.hpp"
#include "actors/job_status.hpp"
#include "messages/formatted.hpp"
#include "runtime/status_json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <utility>

namespace actorrun::cli {

namespace {

using row = std::vector<std::string>;

/// Older figures are marked with their age.
constexpr auto noted_age_ms = uint64_t{2'000};

std::string with_places(double x, int places) {
  auto text = std::array<char, 32>{};
  std::snprintf(text.data(), text.size(), "%.*f", places, x);
  return text.data();
}

std::string load_text(const v1::NodeVitals& x) {
  if (!x.has_load_1_percent() || !x.has_load_5_percent()
      || !x.has_load_15_percent())
    return "-";
  return formatted("{} {} {}", with_places(x.load_1_percent() / 100.0, 2),
                   with_places(x.load_5_percent() / 100.0, 2),
                   with_places(x.load_15_percent() / 100.0, 2));
}

std::string memory_text(const v1::NodeVitals& x) {
  if (!x.has_memory_total() || !x.has_memory_available())
    return "-";
  const auto free = std::min(x.memory_available(), x.memory_total());
  return formatted("{} of {}", size_text(x.memory_total() - free),
                   size_text(x.memory_total()));
}

std::string state_text(const v1::WorkerVitals& x) {
  static constexpr std::pair<char, const char*> names[]
    = {{'R', "runs"},
       {'S', "sleeps"},
       {'D', "waits for I/O"},
       {'T', "stopped"},
       {'Z', "ended"}};
  const auto letter = letter_of(x);
  if (letter == '\0')
    return "-";
  for (const auto& [known, name] : names)
    if (known == letter)
      return formatted("{} ({})", name, std::string(1, letter));
  return std::string(1, letter);
}

row worker_row(const v1::JobStatus& job, const v1::AgentStatus& agent,
               uint32_t local_rank) {
  const auto* known = vitals_of(agent, local_rank);
  const auto& x
    = known != nullptr ? *known : v1::WorkerVitals::default_instance();
  return {in_generation(job, agent)
            ? std::to_string(global_rank(agent, local_rank))
            : "-",
          std::to_string(local_rank),
          core::printable(agent.host()),
          std::to_string(agent.pids(static_cast<int>(local_rank))),
          state_text(x),
          x.has_age_ms() ? span_text(x.age_ms()) : "-",
          x.has_cpu_percent() ? formatted("{} %", x.cpu_percent()) : "-",
          x.has_memory() ? size_text(x.memory()) : "-",
          x.has_thread_count() ? std::to_string(x.thread_count()) : "-",
          x.has_output_size() ? size_text(x.output_size()) : "-",
          x.has_output_age_ms() ? span_text(x.output_age_ms()) : "-"};
}

} // namespace

std::string size_text(uint64_t bytes) {
  static constexpr auto units
    = std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto x = double(bytes);
  auto unit = size_t{0};
  // As it is shown: 1023.96 is 1024.0.
  while (x >= 1'023.95 && unit + 1 < units.size()) {
    x /= 1'024;
    ++unit;
  }
  return formatted("{} {}", with_places(x, unit == 0 ? 0 : 1), units[unit]);
}

std::string span_text(uint64_t ms) {
  const auto s = ms / 1'000;
  if (s < 60)
    return formatted("{}s", s);
  if (s < 3'600)
    return formatted("{}m {}s", s / 60, s % 60);
  if (s < 86'400)
    return formatted("{}h {}m", s / 3'600, s / 60 % 60);
  return formatted("{}d {}h", s / 86'400, s / 3'600 % 24);
}

row node_vitals_heading() {
  return {"LOAD", "CPUS", "MEMORY", "SEEN"};
}

row node_vitals_cells(const v1::AgentStatus& agent) {
  if (!agent.has_vitals())
    return {"-", "-", "-", "-"};
  const auto& x = agent.vitals();
  return {load_text(x), x.has_cpu_count() ? std::to_string(x.cpu_count()) : "-",
          memory_text(x),
          x.age_ms() < noted_age_ms ? "now" : span_text(x.age_ms()) + " ago"};
}

std::vector<row> worker_rows(const v1::JobStatus& job) {
  // By rank; those without one behind, as the agents are.
  auto found = std::vector<std::tuple<uint64_t, const v1::AgentStatus*, int>>{};
  for (const auto& agent : job.agents())
    for (int i = 0; i < agent.pids_size(); ++i)
      found.emplace_back(in_generation(job, agent)
                           ? uint64_t{global_rank(agent, uint32_t(i))}
                           : UINT64_MAX,
                         &agent, i);
  if (found.empty())
    return {};
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) {
                     return std::get<0>(a) < std::get<0>(b);
                   });
  auto rows
    = std::vector<row>{{"RANK", "LOCAL", "HOST", "PID", "STATE", "SINCE", "CPU",
                        "MEMORY", "THREADS", "OUTPUT", "LAST LINE"}};
  for (const auto& [rank, agent, local_rank] : found)
    rows.push_back(worker_row(job, *agent, static_cast<uint32_t>(local_rank)));
  return rows;
}

} // namespace actorrun::cli
