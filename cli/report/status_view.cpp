#include "cli/report/status_view.hpp"

#include "actors/core/text.hpp"
#include "actors/translate.hpp"
#include "cli/report/text_table.hpp"
#include "cli/report/vitals_view.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace actorrun::cli {

namespace {

using json = nlohmann::ordered_json;

std::string ranks_text(const v1::JobStatus& job, const v1::AgentStatus& x) {
  if (!in_epoch(job, x))
    return "-";
  const auto last = x.first_global_rank() + x.slot_count() - 1;
  return formatted("{}-{}", x.first_global_rank(), last);
}

std::string nodes_text(const v1::Settings& x) {
  const auto min = x.agent_count_min();
  const auto max = x.agent_count_max();
  return min == max ? std::to_string(min) : formatted("{}:{}", min, max);
}

std::string pids_text(const v1::AgentStatus& x) {
  auto text = std::string{};
  for (auto pid : x.pids())
    text += (text.empty() ? "" : " ") + std::to_string(pid);
  return text;
}

using row = text_row;

void append(row& out, row more) {
  out.insert(out.end(), std::move_iterator{more.begin()},
             std::move_iterator{more.end()});
}

std::string to_text(const v1::JobStatus& job, bool is_wide) {
  auto text = formatted("job {}: {}", job.job_id(), job.phase());
  if (job.epoch() != 0)
    text += formatted(", epoch {}, world size {}",
                      to_string(epoch_id{job.epoch()}), job.world_size());
  text
    += formatted(", nodes {}, restarts {} of {}\n", nodes_text(job.settings()),
                 job.restart_count(), job.settings().restart_count_max());
  if (!job.waiting_for().empty())
    text += formatted("  {}\n", job.waiting_for());
  if (job.has_last_failure())
    text += formatted("  last failure: {}\n",
                      core::to_string(from_wire(job.last_failure())));
  for (const auto& x : job.quarantined_nodes())
    text
      += formatted("  quarantined: {}, no epoch forms with it: SIGKILL has not "
                   "ended {} {} there (agent {})\n",
                   core::printable(x.host()), x.unkillable_count(),
                   x.unkillable_count() == 1 ? "worker" : "workers",
                   core::printable(x.agent_id()));
  if (job.agents().empty())
    return text + "  no agents\n";
  auto rows
    = std::vector<row>{{"NODE", "HOST", "ADDRESS", "STATE", "RANKS", "AGENT"}};
  append(rows.front(), is_wide ? node_vitals_heading() : row{"WORKER PIDS"});
  for (const auto& x : job.agents()) {
    rows.push_back({in_epoch(job, x) ? std::to_string(x.node_rank()) : "-",
                    x.host(), x.address(), state_of(job, x), ranks_text(job, x),
                    x.agent_id()});
    append(rows.back(), is_wide ? node_vitals_cells(x) : row{pids_text(x)});
  }
  std::sort(rows.begin() + 1, rows.end(), [](const row& a, const row& b) {
    const auto key = [](const row& x) {
      return x[0] == "-" ? UINT64_MAX : std::stoull(x[0]);
    };
    return key(a) < key(b);
  });
  text += aligned(rows);
  if (const auto workers = is_wide ? worker_rows(job) : std::vector<row>{};
      !workers.empty())
    text += "\n" + aligned(workers);
  if (is_wide && job.vitals_truncated())
    text += "  there are more workers than one answer can describe\n";
  if (const auto gpus = gpu_rows(job); !gpus.empty())
    text += "\n" + aligned(gpus);
  if (job.gpus_truncated())
    text += "  there are more GPUs than one answer can hold\n";
  return text;
}

} // namespace

void add_job(std::vector<v1::JobStatus>& jobs, v1::JobStatus status) {
  for (auto& x : jobs) {
    if (x.job_id() != status.job_id())
      continue;
    // Two agents that have lost their coordinator know each of themselves.
    if (x.coordinator_pid() == status.coordinator_pid()
        && status.coordinator_pid() != 0)
      return;
    if (x.coordinator_pid() == 0 && status.coordinator_pid() == 0) {
      x.MergeFrom(status);
      return;
    }
  }
  jobs.push_back(std::move(status));
}

std::string to_text(const std::vector<v1::JobStatus>& jobs, bool is_wide) {
  if (jobs.empty())
    return "no jobs on this host\n";
  auto text = std::string{};
  for (const auto& job : jobs)
    text += (text.empty() ? "" : "\n") + to_text(job, is_wide);
  return text;
}

std::string to_json(const std::vector<v1::JobStatus>& jobs) {
  auto list = json::array();
  for (const auto& job : jobs)
    list.push_back(actorrun::to_json(job));
  return json{{"version", 1}, {"jobs", std::move(list)}}.dump(2) + "\n";
}

namespace {

using row = text_row;

std::string in_gib(uint64_t bytes) {
  constexpr auto gib = double(uint64_t{1} << 30);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", double(bytes) / gib);
  return text;
}

std::string memory_text(const v1::GpuStatus& x) {
  if (x.memory_total() == 0)
    return "-";
  return formatted("{} of {} GiB", in_gib(x.memory_used()),
                   in_gib(x.memory_total()));
}

row row_of(const v1::AgentStatus& agent, const v1::GpuStatus& x) {
  return {agent.host(),
          std::to_string(x.index()),
          core::printable(x.name()),
          memory_text(x),
          x.has_utilisation() ? formatted("{} %", x.utilisation()) : "-",
          x.has_temperature() ? formatted("{} C", x.temperature()) : "-",
          x.trouble().empty() ? "good" : core::printable(x.trouble())};
}

} // namespace

std::vector<row> gpu_rows(const v1::JobStatus& job) {
  auto rows = std::vector<row>{
    {"HOST", "GPU", "NAME", "MEMORY", "USED", "HEAT", "STATE"}};
  for (const auto& agent : job.agents()) {
    for (const auto& x : agent.gpus())
      rows.push_back(row_of(agent, x));
    if (!agent.gpu_trouble().empty())
      rows.push_back({agent.host(), "-", "-", "-", "-", "-",
                      core::printable(agent.gpu_trouble())});
  }
  if (rows.size() == 1)
    rows.clear();
  return rows;
}

} // namespace actorrun::cli
