#include "cli/report/status_view.hpp"

#include "actors/core/text.hpp"
#include "actors/translate.hpp"
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

/// At most so many epochs are shown, the newest.
constexpr int epochs_shown_max = 8;

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

std::string departures_text(const v1::JobStatus& job) {
  auto text = std::string{};
  for (const auto& x : job.departed_nodes())
    text += formatted("  gone: {}, {} ago: {}\n", core::printable(x.host()),
                      span_of(x.age_ms()), core::printable(x.reason()));
  return text;
}

std::vector<row> epoch_rows(const v1::JobStatus& job) {
  auto rows = std::vector<row>{
    {"EPOCH", "NODES", "WORKERS", "FORMED", "REGROUP", "RESTART", "ENDED"}};
  const auto count = job.epochs_size();
  for (auto i = std::max(count - epochs_shown_max, 0); i < count; ++i) {
    const auto& x = job.epochs(i);
    rows.push_back(
      {to_string(epoch_id{x.epoch()}), std::to_string(x.node_count()),
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
  if (job.epoch() != 0)
    text += formatted(", epoch {}, world size {}",
                      to_string(epoch_id{job.epoch()}), job.world_size());
  text
    += formatted(", nodes {}, restarts {} of {}\n", nodes_text(job.settings()),
                 job.restart_count(), job.settings().restart_count_max());
  if (!job.waiting_for().empty())
    text += formatted("  {}{}\n", job.waiting_for(), wait_times(job));
  text += degraded_text(job);
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
      row{in_epoch(job, x) ? std::to_string(x.node_rank()) : "-", x.host(),
          x.address(), known_or_dash(x.state())});
    if (is_wide)
      append(cells, {span_text(x.since_ms()),
                     x.has_lease_age_ms() ? formatted("{} ms", x.lease_age_ms())
                                          : "-"});
    append(cells, {ranks_text(job, x), x.agent_id()});
    append(cells, is_wide ? node_vitals_cells(x) : row{pids_text(x)});
    append(cells, has_reasons ? row{core::printable(x.reason())} : row{});
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
  if (const auto epochs = is_wide ? epoch_rows(job) : std::vector<row>{};
      !epochs.empty())
    text += "\n" + aligned(epochs);
  if (is_wide && job.vitals_truncated())
    text += "  there are more workers than one answer can describe\n";
  if (const auto gpus = gpu_rows(job); !gpus.empty())
    text += "\n" + aligned(gpus);
  if (job.gpus_truncated())
    text += "  there are more GPUs than one answer can hold\n";
  return text;
}

template <class T>
json or_null(bool is_known, T value) {
  return is_known ? json(value) : json(nullptr);
}

json to_json(const v1::WorkerFailure& x) {
  static constexpr const char* kinds[]
    = {"exited", "signalled", "not_started", "timer_expired", "unkillable"};
  const auto failure = from_wire(x);
  auto out
    = json{{"agent", x.agent_id()},   {"host", x.host()},
           {"rank", x.global_rank()}, {"local_rank", x.local_rank()},
           {"pid", x.pid()},          {"kind", kinds[size_t(failure.kind)]},
           {"code", x.code()},        {"text", core::to_string(failure)}};
  if (failure.kind == core::failure_kind::timer_expired) {
    out["scope"] = core::printable(failure.details.scope);
    out["lateness_ns"] = failure.details.lateness.count();
  }
  if (failure.kind == core::failure_kind::timer_expired
      || failure.kind == core::failure_kind::unkillable)
    out["where"] = core::printable(failure.details.where);
  return out;
}

json quarantined_nodes_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.quarantined_nodes())
    out.push_back({{"agent", x.agent_id()},
                   {"host", x.host()},
                   {"unkillable_workers", x.unkillable_count()}});
  return out;
}

json workers_of(const v1::JobStatus& job, const v1::AgentStatus& x) {
  auto workers = json::array();
  for (int i = 0; i < x.pids_size(); ++i) {
    auto& worker = workers.emplace_back(
      json{{"pid", x.pids(i)},
           {"local_rank", i},
           {"rank", in_epoch(job, x) ? json(x.first_global_rank() + uint32_t(i))
                                     : json(nullptr)}});
    worker.update(worker_vitals_to_json(x, uint32_t(i)));
  }
  return workers;
}

json to_json(const v1::JobStatus& job, const v1::AgentStatus& x) {
  const auto member = in_epoch(job, x);
  return {{"agent", x.agent_id()},
          {"host", x.host()},
          {"address", x.address()},
          {"role", x.role()},
          {"slots", x.slot_count()},
          {"state", x.state()},
          {"reason", x.reason()},
          {"since_ms", x.since_ms()},
          {"lease_age_ms", or_null(x.has_lease_age_ms(), x.lease_age_ms())},
          {"drain_left_ms", or_null(x.has_drain_left_ms(), x.drain_left_ms())},
          {"connected", x.connected()},
          {"node_rank", member ? json(x.node_rank()) : json(nullptr)},
          {"first_rank", member ? json(x.first_global_rank()) : json(nullptr)},
          {"workers", workers_of(job, x)},
          {"vitals", node_vitals_to_json(x)},
          {"gpus", gpus_to_json(x)},
          {"gpu_trouble", x.gpu_trouble().empty()
                            ? json(nullptr)
                            : json(core::printable(x.gpu_trouble()))}};
}

json epochs_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.epochs())
    out.push_back(
      {{"epoch", x.epoch()},
       {"nodes", x.node_count()},
       {"world_size", x.world_size()},
       {"reason", x.reason()},
       {"age_ms", x.age_ms()},
       {"running_age_ms", or_null(x.has_running_age_ms(), x.running_age_ms())},
       {"revoked_age_ms", or_null(x.has_revoked_age_ms(), x.revoked_age_ms())},
       {"regroup_us", or_null(x.has_regroup_us(), x.regroup_us())},
       {"end_reason",
        x.end_reason().empty() ? json(nullptr) : json(x.end_reason())},
       {"cost_restart", x.cost_restart()}});
  return out;
}

json departed_nodes_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.departed_nodes())
    out.push_back({{"agent", x.agent_id()},
                   {"host", x.host()},
                   {"node_rank", x.node_rank()},
                   {"reason", x.reason()},
                   {"age_ms", x.age_ms()}});
  return out;
}

json excluded_hosts_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.excluded_hosts())
    out.push_back(
      {{"host", x.host()}, {"reason", x.reason()}, {"age_ms", x.age_ms()}});
  return out;
}

json to_json(const v1::JobStatus& job) {
  auto agents = json::array();
  for (const auto& x : job.agents())
    agents.push_back(to_json(job, x));
  return {{"job", job.job_id()},
          {"healthy", job.is_healthy()},
          {"sequence", job.sequence()},
          {"wall_ms", job.wall_ms()},
          {"age_ms", job.age_ms()},
          {"phase", job.phase()},
          {"phase_age_ms", job.phase_age_ms()},
          {"epoch", job.epoch()},
          {"world_size", job.world_size()},
          {"nodes_min", job.settings().agent_count_min()},
          {"nodes_max", job.settings().agent_count_max()},
          {"restarts", job.restart_count()},
          {"restarts_max", job.settings().restart_count_max()},
          {"waiting_for", job.waiting_for()},
          {"waiting_age_ms",
           or_null(!job.waiting_for().empty(), job.waiting_age_ms())},
          {"waiting_left_ms",
           or_null(job.has_waiting_left_ms(), job.waiting_left_ms())},
          {"master_addr", job.master_address()},
          {"master_port", job.master_port()},
          {"last_failure", job.has_last_failure() ? to_json(job.last_failure())
                                                  : json(nullptr)},
          {"outcome", job.has_outcome()
                        ? json(core::to_string(from_wire(job.outcome()).kind))
                        : json(nullptr)},
          {"coordinator",
           {{"host", job.coordinator_host()}, {"pid", job.coordinator_pid()}}},
          {"truncated", job.truncated()},
          {"gpus_truncated", job.gpus_truncated()},
          {"vitals_truncated", job.vitals_truncated()},
          {"quarantined_nodes", quarantined_nodes_of(job)},
          {"departed_nodes", departed_nodes_of(job)},
          {"excluded_hosts", excluded_hosts_of(job)},
          {"epochs", epochs_of(job)},
          {"agents", std::move(agents)}};
}

} // namespace

// Between two epochs the last one is still the newest; it runs nowhere.
bool in_epoch(const v1::JobStatus& job, const v1::AgentStatus& agent) {
  return agent.epoch() != 0 && agent.epoch() == job.epoch()
         && agent.share() != v1::SHARE_IDLE;
}

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

std::string to_json(const std::vector<v1::JobStatus>& jobs,
                    const std::vector<ended_job>& ended) {
  auto list = json::array();
  for (const auto& job : jobs)
    list.push_back(to_json(job));
  return json{{"schema", status_schema},
              {"jobs", std::move(list)},
              {"ended", ended_to_json(ended)}}
           .dump(2)
         + "\n";
}

std::string to_text(const std::vector<v1::JobStatus>& jobs,
                    const std::vector<ended_job>& ended, bool is_wide) {
  const auto below = ended_to_text(ended);
  if (below.empty())
    return to_text(jobs, is_wide);
  return (jobs.empty() ? "no job runs on this host; in the last day:\n"
                       : to_text(jobs, is_wide) + "\nended in the last day:\n")
         + below;
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

using json = nlohmann::ordered_json;
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

json to_json(const v1::GpuStatus& x) {
  return {{"index", x.index()},
          {"name", core::printable(x.name())},
          {"uuid", core::printable(x.uuid())},
          {"memory_used", x.memory_used()},
          {"memory_total", x.memory_total()},
          {"utilisation_percent",
           x.has_utilisation() ? json(x.utilisation()) : json(nullptr)},
          {"temperature_celsius",
           x.has_temperature() ? json(x.temperature()) : json(nullptr)},
          {"trouble", x.trouble().empty()
                        ? json(nullptr)
                        : json(core::printable(x.trouble()))}};
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

json gpus_to_json(const v1::AgentStatus& agent) {
  auto out = json::array();
  for (const auto& x : agent.gpus())
    out.push_back(to_json(x));
  return out;
}

} // namespace actorrun::cli
