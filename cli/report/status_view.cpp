#include "cli/report/status_view.hpp"

#include "actors/core/text.hpp"
#include "actors/translate.hpp"
#include "cli/report/clean_status.hpp"
#include "cli/report/journal_view.hpp"
#include "cli/report/log_places_view.hpp"
#include "cli/report/text_table.hpp"
#include "cli/report/vitals_view.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>

namespace actorrun::cli {

namespace {

using json = nlohmann::ordered_json;

/// At most this many generations are shown, the newest.
constexpr int generations_shown_max = 8;

std::string span_of(uint64_t ms) {
  return core::duration_text(
    std::chrono::milliseconds{std::min<uint64_t>(ms, uint64_t{1} << 50)});
}

std::string known_or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

/// `, for 12.0 s, at most 48.0 s more`
std::string wait_times(const v1::JobStatus& job) {
  auto text = std::string{};
  if (job.waiting_age_ms() > 0)
    text += ", for " + span_of(job.waiting_age_ms());
  if (job.has_waiting_left_ms())
    text += formatted(", at most {} more", span_of(job.waiting_left_ms()));
  return text;
}

bool is_well(const v1::AgentStatus& x) {
  return x.connected() && !x.leaving();
}

/// Why a job that runs is not healthy; empty: it is, or it does not run.
std::string degraded_text(const v1::JobStatus& job) {
  if (job.is_healthy() || job.phase() != "running")
    return {};
  auto text = std::string{};
  for (const auto& x : job.agents())
    if (!is_well(x))
      text += formatted("{}{} is {}", text.empty() ? "" : ", ",
                        core::printable(x.host()), x.state());
  return text.empty() ? text : formatted("  degraded: {}\n", text);
}

std::string ranks_text(const v1::JobStatus& job, const v1::AgentStatus& x) {
  if (!in_generation(job, x))
    return "-";
  const auto last = x.first_global_rank() + x.slot_count() - 1;
  return formatted("{}-{}", x.first_global_rank(), last);
}

std::string nodes_text(const v1::Settings& x) {
  const auto min = x.agent_count_min();
  const auto max = x.agent_count_max();
  return min == max ? std::to_string(min) : formatted("{}:{}", min, max);
}

/// `drain waits for a replacement, asked by alice, 12.0 s ago`
std::string reason_text(const v1::AgentStatus& x) {
  auto text = core::printable(x.reason());
  if (!text.empty() && x.has_drain_asked_age_ms())
    text += formatted(", {} ago", span_of(x.drain_asked_age_ms()));
  return text;
}

/// `4711-4718 4720`; of many the first ones, and how many there are.
std::string pids_text(const v1::AgentStatus& x) {
  constexpr auto runs_max = 8;
  auto text = std::string{};
  auto run_count = 0;
  for (int i = 0; i < x.pids_size();) {
    const auto first = x.pids(i);
    auto last = first;
    while (++i < x.pids_size() && x.pids(i) == last + 1)
      last = x.pids(i);
    if (++run_count > runs_max)
      return text + formatted(" … ({})", x.pids_size());
    text += (text.empty() ? "" : " ") + std::to_string(first);
    if (last != first)
      text += "-" + std::to_string(last);
  }
  return text;
}

/// `leader: n2-4711, term 3, elected by the voters 12.0 s ago: n1-4702 was …`
std::string leadership_text(const v1::Leadership& x, const v1::JobStatus& job) {
  const auto list = [](const auto& xs) {
    auto text = std::string{};
    for (const auto& who : xs)
      text += (text.empty() ? "" : ", ") + core::printable(who);
    return text;
  };
  auto text = formatted(
    "  leader: {}, term {}, elected by {} {} ago: {}\n",
    core::printable(x.leader().empty() ? job.coordinator_host() : x.leader()),
    x.term(), x.by() == "voters" ? "the agents" : core::printable(x.by()),
    span_of(x.age_ms()), core::printable(x.reason()));
  if (x.voters_size() == 1 && x.deputies().empty())
    text
      += "  voters: none but the leader, so no other one can be elected: that "
         "takes agents on three hosts or more, or on two and a witness on a "
         "third\n";
  else if (x.voters_size() == 1)
    text += formatted("  voters: none but the leader; {} follows if its "
                      "process ends, but not if its host is lost: that takes "
                      "agents on three hosts or more, or on two and a witness "
                      "on a third\n",
                      list(x.deputies()));
  else if (x.voters_size() > 1)
    text += formatted(
      "  voters: {}{}\n", list(x.voters()),
      x.deputies().empty() ? "" : "; can lead, too: " + list(x.deputies()));
  return text;
}

using row = text_row;

void append(row& out, row more) {
  out.insert(out.end(), std::move_iterator{more.begin()},
             std::move_iterator{more.end()});
}

std::string departures_text(const v1::JobStatus& job) {
  auto text = std::string{};
  for (const auto& x : job.departed_nodes())
    text += formatted("  gone: {}, {} ago: {}\n", core::printable(x.host()),
                      span_of(x.age_ms()), core::printable(x.reason()));
  return text;
}

std::vector<row> generation_rows(const v1::JobStatus& job) {
  auto rows = std::vector<row>{{"GENERATION", "NODES", "WORKERS", "FORMED",
                                "REGROUP", "RESTART", "ENDED"}};
  const auto count = job.generations_size();
  for (auto i = std::max(count - generations_shown_max, 0); i < count; ++i) {
    const auto& x = job.generations(i);
    rows.push_back(
      {to_string(generation_id{x.generation()}), std::to_string(x.node_count()),
       std::to_string(x.world_size()), span_text(x.age_ms()) + " ago",
       x.has_regroup_us() ? regroup_text(x.regroup_us()) : "-",
       x.cost_restart() ? "spent" : "-",
       known_or_dash(core::printable(x.end_reason()))});
  }
  if (rows.size() == 1)
    rows.clear();
  return rows;
}

std::string to_text(const v1::JobStatus& job, bool is_wide) {
  auto text = formatted("job {}: {}", job.job_id(), job.phase());
  if (job.generation() != 0)
    text += formatted(", generation {}, world size {}",
                      to_string(generation_id{job.generation()}),
                      job.world_size());
  text
    += formatted(", nodes {}, restarts {} of {}\n", nodes_text(job.settings()),
                 job.restart_count(), job.settings().restart_count_max());
  if (!job.waiting_for().empty())
    text += formatted("  {}{}\n", job.waiting_for(), wait_times(job));
  if (!job.hang().empty())
    text += formatted("  hangs: {}\n", job.hang());
  if (!job.loop().empty()
      && job.waiting_for().find(job.loop()) == std::string::npos)
    text += formatted("  goes round in a loop: {}\n", job.loop());
  if (!job.slow().empty())
    text += formatted("  slow: {}\n", job.slow());
  text += degraded_text(job);
  if (job.has_leadership())
    text += leadership_text(job.leadership(), job);
  if (job.has_last_failure())
    text += formatted("  last failure: {}\n",
                      core::to_string(from_wire(job.last_failure())));
  for (const auto& x : job.quarantined_nodes())
    text += formatted(
      "  quarantined: {}, no generation forms with it: SIGKILL has not "
      "ended {} {} there (agent {})\n",
      core::printable(x.host()), x.unkillable_count(),
      x.unkillable_count() == 1 ? "worker" : "workers",
      core::printable(x.agent_id()));
  for (const auto& x : job.excluded_hosts())
    text += formatted("  excluded: {}, for {}: {}\n", core::printable(x.host()),
                      span_of(x.age_ms()), core::printable(x.reason()));
  if (is_wide || !job.waiting_for().empty())
    text += departures_text(job);
  if (job.agents().empty())
    return text + "  no agents\n";
  const auto has_reasons
    = std::any_of(job.agents().begin(), job.agents().end(),
                  [](const auto& x) { return !x.reason().empty(); });
  auto rows = std::vector<row>{{"NODE", "HOST", "ADDRESS", "STATE"}};
  append(rows.front(), is_wide ? row{"SINCE", "LEASE"} : row{});
  append(rows.front(), {"RANKS", "AGENT"});
  append(rows.front(), is_wide ? node_vitals_heading() : row{"WORKER PIDS"});
  append(rows.front(), has_reasons ? row{"REASON"} : row{});
  for (const auto& x : job.agents()) {
    auto& cells = rows.emplace_back(
      row{in_generation(job, x) ? std::to_string(x.node_rank()) : "-", x.host(),
          x.address(), known_or_dash(x.state())});
    if (is_wide)
      append(cells, {span_text(x.since_ms()),
                     x.has_lease_age_ms() ? formatted("{} ms", x.lease_age_ms())
                                          : "-"});
    append(cells, {ranks_text(job, x), x.agent_id()});
    append(cells, is_wide ? node_vitals_cells(x) : row{pids_text(x)});
    append(cells, has_reasons ? row{reason_text(x)} : row{});
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
  if (const auto generations
      = is_wide ? generation_rows(job) : std::vector<row>{};
      !generations.empty())
    text += "\n" + aligned(generations);
  if (is_wide && job.vitals_truncated())
    text += "  there are more workers than one answer can describe\n";
  if (const auto gpus = gpu_rows(job); !gpus.empty())
    text += "\n" + aligned(gpus);
  if (job.gpus_truncated())
    text += "  there are more GPUs than one answer can hold\n";
  return text;
}

} // namespace

std::string to_text(const std::vector<v1::JobStatus>& jobs, bool is_wide,
                    const std::vector<log_place>& places) {
  if (jobs.empty())
    return "no jobs on this host\n";
  auto text = std::string{};
  for (const auto& job : jobs)
    text += (text.empty() ? "" : "\n") + to_text(cleaned(job), is_wide)
            + places_line(places_of(job, places));
  return text;
}

std::string to_json(const std::vector<v1::JobStatus>& jobs,
                    const std::vector<ended_job>& ended,
                    const std::vector<log_place>& places) {
  auto list = json::array();
  for (const auto& job : jobs) {
    list.push_back(actorrun::to_json(cleaned(job)));
    for (auto& agent : list.back()["agents"])
      agent["log_folder"]
        = folder_of(agent["agent"].get<std::string>(), places);
  }
  return json{{"schema", status_schema},
              {"jobs", std::move(list)},
              {"ended", ended_to_json(ended)}}
           .dump(2)
         + "\n";
}

std::string to_text(const std::vector<v1::JobStatus>& jobs,
                    const std::vector<ended_job>& ended, bool is_wide,
                    const std::vector<log_place>& places) {
  if (ended.empty())
    return to_text(jobs, is_wide, places);
  if (jobs.empty())
    return "no job runs on this host; in the last day:\n"
           + ended_to_text(ended);
  const auto& last = ended.front();
  return to_text(jobs, is_wide, places)
         + formatted("\nended in the last day: {}; the last: {} {} at {}\n",
                     ended.size(), last.job, last.how,
                     clock_text(last.ended_ms));
}

exit_code exit_code_of(const std::vector<v1::JobStatus>& jobs,
                       const std::vector<ended_job>& ended) {
  if (jobs.empty() && ended.empty())
    return exit_code::rendezvous_failed;
  const auto is_good
    = jobs.empty() ? ended.front().how
                       == core::to_string(core::outcome::verdict::succeeded)
                   : std::all_of(jobs.begin(), jobs.end(),
                                 [](const auto& x) { return x.is_healthy(); });
  return is_good ? exit_code::succeeded : exit_code::workers_failed;
}

std::string regroup_text(uint64_t us) {
  return core::duration_text(
    std::chrono::microseconds{std::min<uint64_t>(us, uint64_t{1} << 50)});
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
