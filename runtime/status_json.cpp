#include "runtime/status_json.hpp"

#include "actors/core/text.hpp"
#include "actors/job_status.hpp"
#include "actors/translate.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace actorrun {

namespace {

using json = nlohmann::ordered_json;

template <class T>
json known(bool is_known, T value) {
  return is_known ? json(value) : json(nullptr);
}

json vitals_of_node(const v1::AgentStatus& agent) {
  if (!agent.has_vitals())
    return nullptr;
  const auto& x = agent.vitals();
  auto load = json(nullptr);
  if (x.has_load_1_percent() && x.has_load_5_percent()
      && x.has_load_15_percent())
    load = {x.load_1_percent() / 100.0, x.load_5_percent() / 100.0,
            x.load_15_percent() / 100.0};
  return {
    {"load", std::move(load)},
    {"cpus", known(x.has_cpu_count(), x.cpu_count())},
    {"memory_total", known(x.has_memory_total(), x.memory_total())},
    {"memory_available", known(x.has_memory_available(), x.memory_available())},
    {"age_ms", known(x.has_age_ms(), x.age_ms())}};
}

json vitals_of_worker(const v1::AgentStatus& agent, uint32_t local_rank) {
  const auto* found = vitals_of(agent, local_rank);
  const auto& x
    = found != nullptr ? *found : v1::WorkerVitals::default_instance();
  const auto letter = letter_of(x);
  return {{"state", known(letter != '\0', std::string(1, letter))},
          {"age_ms", known(x.has_age_ms(), x.age_ms())},
          {"cpu_percent", known(x.has_cpu_percent(), x.cpu_percent())},
          {"memory", known(x.has_memory(), x.memory())},
          {"threads", known(x.has_thread_count(), x.thread_count())},
          {"processes", known(x.process_count() > 0, x.process_count())},
          {"output_bytes", known(x.has_output_size(), x.output_size())},
          {"output_age_ms", known(x.has_output_age_ms(), x.output_age_ms())},
          {"timer_scope",
           known(!x.timer_scope().empty(), core::printable(x.timer_scope()))},
          {"timer_age_ms", known(x.has_timer_age_ms(), x.timer_age_ms())},
          {"steps", known(x.has_step_count(), x.step_count())},
          {"compute_us", known(x.has_compute_us(), x.compute_us())},
          {"step_us", known(x.has_step_us(), x.step_us())}};
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

json gpus_of(const v1::AgentStatus& agent) {
  auto out = json::array();
  for (const auto& x : agent.gpus())
    out.push_back(to_json(x));
  return out;
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
    const auto& limit = failure.details.limit;
    out["limit_ns"]
      = known(limit.has_value(), limit.value_or(core::duration{}).count());
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
           {"rank", in_generation(job, x) ? json(global_rank(x, uint32_t(i)))
                                          : json(nullptr)}});
    worker.update(vitals_of_worker(x, uint32_t(i)));
  }
  return workers;
}

json to_json(const v1::JobStatus& job, const v1::AgentStatus& x) {
  const auto member = in_generation(job, x);
  return {{"agent", x.agent_id()},
          {"host", x.host()},
          {"address", x.address()},
          {"role", x.role()},
          {"slots", x.slot_count()},
          {"state", state_of(job, x)},
          {"reason", x.reason()},
          {"since_ms", x.since_ms()},
          {"lease_age_ms", known(x.has_lease_age_ms(), x.lease_age_ms())},
          {"drain_left_ms", known(x.has_drain_left_ms(), x.drain_left_ms())},
          {"checks", known(!name_of(x.checks()).empty(), name_of(x.checks()))},
          {"unfit", known(!x.unfit().empty(), x.unfit())},
          {"unfit_age_ms", known(x.has_unfit_age_ms(), x.unfit_age_ms())},
          {"generation_count", x.generation_count()},
          {"host_failure_count", x.host_failure_count()},
          {"drain_asked_age_ms",
           known(x.has_drain_asked_age_ms(), x.drain_asked_age_ms())},
          {"connected", x.connected()},
          {"node_rank", member ? json(x.node_rank()) : json(nullptr)},
          {"first_rank", member ? json(x.first_global_rank()) : json(nullptr)},
          {"workers", workers_of(job, x)},
          {"vitals", vitals_of_node(x)},
          {"gpus", gpus_of(x)},
          {"gpu_trouble", x.gpu_trouble().empty()
                            ? json(nullptr)
                            : json(core::printable(x.gpu_trouble()))}};
}

json generations_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.generations())
    out.push_back(
      {{"generation", number_of(generation_id{x.generation()})},
       {"nodes", x.node_count()},
       {"world_size", x.world_size()},
       {"reason", x.reason()},
       {"age_ms", x.age_ms()},
       {"running_age_ms", known(x.has_running_age_ms(), x.running_age_ms())},
       {"revoked_age_ms", known(x.has_revoked_age_ms(), x.revoked_age_ms())},
       {"regroup_us", known(x.has_regroup_us(), x.regroup_us())},
       {"end_reason", known(!x.end_reason().empty(), x.end_reason())},
       {"cost_restart", x.cost_restart()},
       {"class", known(!x.end_class().empty(), x.end_class())},
       {"evidence", known(!x.end_evidence().empty(), x.end_evidence())}});
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

json stragglers_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.stragglers())
    out.push_back({{"rank", x.rank()},
                   {"host", core::printable(x.host())},
                   {"compute_us", x.compute_us()},
                   {"usual_us", x.usual_us()},
                   {"age_ms", x.age_ms()}});
  return out;
}

json time_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.time())
    out.push_back({{"cause", core::printable(x.cause())},
                   {"worker_us", x.worker_us()},
                   {"node_us", x.node_us()}});
  return out;
}

json ends_of(const v1::JobStatus& job) {
  auto out = json::array();
  for (const auto& x : job.ends())
    out.push_back({{"class", x.end_class()}, {"count", x.count()}});
  return out;
}

json leader_of(const v1::JobStatus& job) {
  if (!job.has_leadership())
    return nullptr;
  const auto& x = job.leadership();
  return {{"agent", x.leader()},
          {"term", x.term()},
          {"by", x.by()},
          {"age_ms", x.age_ms()},
          {"reason", x.reason()},
          {"voters", std::vector(x.voters().begin(), x.voters().end())},
          {"deputies", std::vector(x.deputies().begin(), x.deputies().end())}};
}

} // namespace

json to_json(const v1::JobStatus& job) {
  // An agent that answers in the coordinator's place knows since when it does.
  const auto is_whole = job.wall_ms() != 0;
  const auto has_ages = is_whole || job.has_waiting_left_ms();
  auto agents = json::array();
  for (const auto& x : job.agents())
    agents.push_back(to_json(job, x));
  return {{"job", job.job_id()},
          {"phase", job.phase()},
          {"generation", number_of(generation_id{job.generation()})},
          {"world_size", job.world_size()},
          {"nodes_min", job.settings().agent_count_min()},
          {"nodes_max", job.settings().agent_count_max()},
          {"restarts", job.restart_count()},
          {"restarts_max", job.settings().restart_count_max()},
          {"waiting_for", job.waiting_for()},
          {"hang", known(!job.hang().empty(), job.hang())},
          {"loop", known(!job.loop().empty(), job.loop())},
          {"alike_ends", known(!job.loop().empty(), job.alike_end_count())},
          {"ends", ends_of(job)},
          {"slow", known(!job.slow().empty(), job.slow())},
          {"stragglers", stragglers_of(job)},
          {"master_addr", job.master_address()},
          {"master_port", job.master_port()},
          {"last_failure", job.has_last_failure() ? to_json(job.last_failure())
                                                  : json(nullptr)},
          {"outcome", job.has_outcome()
                        ? json(core::to_string(from_wire(job.outcome()).kind))
                        : json(nullptr)},
          {"coordinator",
           {{"host", job.coordinator_host()}, {"pid", job.coordinator_pid()}}},
          {"leader", leader_of(job)},
          {"healthy", known(is_whole, job.is_healthy())},
          {"sequence", known(is_whole, job.sequence())},
          {"wall_ms", known(is_whole, job.wall_ms())},
          {"age_ms", known(is_whole, job.age_ms())},
          {"phase_age_ms", known(has_ages, job.phase_age_ms())},
          {"waiting_age_ms",
           known(has_ages && !job.waiting_for().empty(), job.waiting_age_ms())},
          {"waiting_left_ms",
           known(job.has_waiting_left_ms(), job.waiting_left_ms())},
          {"hang_age_ms", known(!job.hang().empty(), job.hang_age_ms())},
          {"departed_nodes", departed_nodes_of(job)},
          {"excluded_hosts", excluded_hosts_of(job)},
          {"generations", generations_of(job)},
          {"time", time_of(job)},
          {"truncated", job.truncated()},
          {"gpus_truncated", job.gpus_truncated()},
          {"vitals_truncated", job.vitals_truncated()},
          {"quarantined_nodes", quarantined_nodes_of(job)},
          {"agents", std::move(agents)}};
}

// Between two generations the last one is still the newest; it runs nowhere.
bool in_generation(const v1::JobStatus& job, const v1::AgentStatus& agent) {
  return agent.generation() != 0 && agent.generation() == job.generation()
         && agent.share() != v1::SHARE_IDLE;
}

std::string name_of(v1::CheckState x) {
  switch (x) {
    case v1::CHECK_STATE_GOOD:
      return "good";
    case v1::CHECK_STATE_RUNNING:
      return "running";
    case v1::CHECK_STATE_FAILED:
      return "failed";
    default:
      return {};
  }
}

std::string state_of(const v1::JobStatus& job, const v1::AgentStatus& x) {
  if (!x.state().empty())
    return core::printable(x.state());
  if (x.leaving())
    return "leaving";
  if (!x.connected())
    return "away";
  if (!in_generation(job, x))
    return job.phase() == "running" ? "standby" : "waiting";
  return core::to_string(from_wire(x.share()));
}

const v1::WorkerVitals* vitals_of(const v1::AgentStatus& agent,
                                  uint32_t local_rank) {
  if (local_rank >= static_cast<uint32_t>(agent.pids_size()))
    return nullptr;
  for (const auto& x : agent.vitals().workers())
    if (x.local_rank() == local_rank
        && x.pid() == agent.pids(static_cast<int>(local_rank)))
      return &x;
  return nullptr;
}

char letter_of(const v1::WorkerVitals& x) {
  return x.has_state() && x.state() >= 'A' && x.state() <= 'Z'
           ? static_cast<char>(x.state())
           : '\0';
}

} // namespace actorrun
