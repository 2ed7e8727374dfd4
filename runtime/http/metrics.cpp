#include "runtime/http/metrics.hpp"

#include "actors/job_status.hpp"
#include "messages/formatted.hpp"
#include "runtime/status_json.hpp"

#include <map>

namespace actorrun::detail {

namespace {

// -- the families --------------------------------------------------------------

constexpr metric_family answers
  = {"actorrun_actor_answers", "gauge", "actor",
     "Whether the agent and the coordinator of this process answer in time"};

constexpr metric_family job_phase
  = {"actorrun_job_phase", "gauge", "phase",
     "Phase of the job: 1 for the present one, 0 for the others"};
constexpr metric_family job_healthy
  = {"actorrun_job_healthy", "gauge", "",
     "Whether everything in the job is as it should be"};
constexpr metric_family job_generation
  = {"actorrun_job_generation", "gauge", "",
     "Number of the newest generation; 0 for none"};
constexpr metric_family job_world_size = {
  "actorrun_job_world_size", "gauge", "", "Workers in the newest generation"};
constexpr metric_family job_nodes
  = {"actorrun_job_nodes", "gauge", "state", "Nodes that have joined the job"};
constexpr metric_family job_nodes_min
  = {"actorrun_job_nodes_min", "gauge", "",
     "Fewest nodes with which a generation forms"};
constexpr metric_family job_nodes_max
  = {"actorrun_job_nodes_max", "gauge", "", "Most nodes of a generation"};
constexpr metric_family job_restarts
  = {"actorrun_job_restarts_total", "counter", "",
     "Failures that have cost a restart"};
constexpr metric_family job_restarts_max
  = {"actorrun_job_restarts_max", "gauge", "", "Restarts that the job may use"};
constexpr metric_family job_phase_age
  = {"actorrun_job_phase_age_seconds", "gauge", "",
     "Time since the present phase began"};
constexpr metric_family job_waiting
  = {"actorrun_job_waiting_seconds", "gauge", "",
     "Time for which the job has been waiting; absent while it waits for "
     "nothing"};
constexpr metric_family job_hang = {
  "actorrun_job_hang_seconds", "gauge", "",
  "Time since the last sign of life of a worker; absent unless the job hangs"};
constexpr metric_family job_alike_ends
  = {"actorrun_job_alike_ends", "gauge", "",
     "Failures in a row that were alike; absent unless the job goes round in a "
     "loop"};
constexpr metric_family job_ends
  = {"actorrun_job_ends_total", "counter", "class",
     "Generations that trouble has ended, by its class"};
constexpr metric_family job_stragglers
  = {"actorrun_job_straggler_compute_seconds", "gauge", "rank,host",
     "Time that a worker which is slower than the others computes per step; "
     "absent where none is"};
constexpr metric_family job_quarantined
  = {"actorrun_job_quarantined_nodes", "gauge", "",
     "Nodes that get no place because workers there have outlived SIGKILL"};
constexpr metric_family job_excluded
  = {"actorrun_job_excluded_hosts", "gauge", "", "Hosts that get no place"};
constexpr metric_family leader
  = {"actorrun_leader", "gauge", "",
     "Whether the coordinator that was elected is in this process"};
constexpr metric_family term
  = {"actorrun_term", "gauge", "",
     "Number of the election that the coordinator leads by"};
constexpr metric_family job_regroups
  = {"actorrun_job_regroup_seconds", "histogram", "le",
     "Time from the end of a generation until all workers of the next one ran"};
constexpr metric_family job_time
  = {"actorrun_job_worker_seconds_total", "counter", "cause",
     "Time of the places of workers, by what it went to"};
constexpr metric_family job_saving
  = {"actorrun_job_saving_worker_seconds_total", "counter", "",
     "Time of training that workers have spent on saving"};
constexpr metric_family job_lost
  = {"actorrun_job_lost_worker_seconds_total", "counter", "",
     "Time of training after the last save of a generation that then failed"};
constexpr metric_family job_node_connected
  = {"actorrun_job_node_connected", "gauge", "host,agent",
     "Whether a node of the job has a link to the coordinator"};
constexpr metric_family job_node_lease_age
  = {"actorrun_job_node_lease_age_seconds", "gauge", "host,agent",
     "Time since the latest keep-alive of a node"};

constexpr metric_family node_state
  = {"actorrun_node_state", "gauge", "state",
     "What the workers of this node do: 1 for the present state, 0 for the "
     "others"};
constexpr metric_family node_generation
  = {"actorrun_node_generation", "gauge", "",
     "Number of the generation that this node has its workers in; 0 for none"};
constexpr metric_family node_workers = {"actorrun_node_workers", "gauge", "",
                                        "Workers that this node has started"};
constexpr metric_family node_slots
  = {"actorrun_node_slots", "gauge", "", "Workers that this node can have"};
constexpr metric_family node_load
  = {"actorrun_node_load", "gauge", "minutes",
     "Load average of this node over 1, 5 and 15 minutes"};
constexpr metric_family node_cpus
  = {"actorrun_node_cpus", "gauge", "", "CPUs of this node"};
constexpr metric_family node_memory
  = {"actorrun_node_memory_bytes", "gauge", "", "Memory of this node"};
constexpr metric_family node_memory_available
  = {"actorrun_node_memory_available_bytes", "gauge", "",
     "Memory of this node that programs can still get"};

constexpr metric_family gpu_healthy
  = {"actorrun_gpu_healthy", "gauge", "gpu,uuid",
     "Whether nothing is known against a GPU"};
constexpr metric_family gpu_memory
  = {"actorrun_gpu_memory_bytes", "gauge", "gpu,uuid", "Memory of a GPU"};
constexpr metric_family gpu_memory_used
  = {"actorrun_gpu_memory_used_bytes", "gauge", "gpu,uuid",
     "Memory of a GPU that is in use"};
constexpr metric_family gpu_utilisation
  = {"actorrun_gpu_utilization_ratio", "gauge", "gpu,uuid",
     "Part of the time in which a GPU is busy"};
constexpr metric_family gpu_temperature
  = {"actorrun_gpu_temperature_celsius", "gauge", "gpu,uuid",
     "Temperature of a GPU"};

constexpr metric_family worker_info
  = {"actorrun_worker_info", "gauge", "rank,local_rank,pid",
     "A worker of this node, and the number of its process; always 1"};
constexpr metric_family worker_age
  = {"actorrun_worker_age_seconds", "gauge", "rank,local_rank",
     "Time since a worker was started"};
constexpr metric_family worker_cpu
  = {"actorrun_worker_cpu_cores", "gauge", "rank,local_rank",
     "CPUs that a worker and its child processes use"};
constexpr metric_family worker_memory
  = {"actorrun_worker_memory_bytes", "gauge", "rank,local_rank",
     "Resident memory of a worker and its child processes"};
constexpr metric_family worker_threads
  = {"actorrun_worker_threads", "gauge", "rank,local_rank",
     "Threads of a worker, without its child processes"};
constexpr metric_family worker_processes
  = {"actorrun_worker_processes", "gauge", "rank,local_rank",
     "A worker and its child processes"};
constexpr metric_family worker_log
  = {"actorrun_worker_log_bytes", "gauge", "rank,local_rank",
     "Size of a worker's log files"};
constexpr metric_family worker_log_age
  = {"actorrun_worker_log_age_seconds", "gauge", "rank,local_rank",
     "Time since a worker has written to its log files"};
constexpr metric_family worker_timer_age
  = {"actorrun_worker_timer_age_seconds", "gauge", "rank,local_rank",
     "Time since a worker's last message to the timer server or the watchdog"};

constexpr metric_family worker_steps
  = {"actorrun_worker_steps_total", "counter", "rank,local_rank",
     "Steps of a worker that says how long it computes"};
constexpr metric_family worker_compute
  = {"actorrun_worker_compute_seconds", "gauge", "rank,local_rank",
     "Time that such a worker computes per step"};
constexpr metric_family worker_step
  = {"actorrun_worker_step_seconds", "gauge", "rank,local_rank",
     "Time that it takes per step, with what it waits for others"};

constexpr const metric_family* families[] = {&answers,
                                             &leader,
                                             &job_phase,
                                             &job_healthy,
                                             &job_generation,
                                             &job_world_size,
                                             &job_nodes,
                                             &job_nodes_min,
                                             &job_nodes_max,
                                             &job_restarts,
                                             &job_restarts_max,
                                             &job_phase_age,
                                             &job_alike_ends,
                                             &job_ends,
                                             &job_hang,
                                             &job_stragglers,
                                             &job_waiting,
                                             &job_quarantined,
                                             &job_excluded,
                                             &job_regroups,
                                             &job_time,
                                             &job_saving,
                                             &job_lost,
                                             &job_node_connected,
                                             &job_node_lease_age,
                                             &term,
                                             &node_state,
                                             &node_generation,
                                             &node_workers,
                                             &node_slots,
                                             &node_load,
                                             &node_cpus,
                                             &node_memory,
                                             &node_memory_available,
                                             &gpu_healthy,
                                             &gpu_memory,
                                             &gpu_memory_used,
                                             &gpu_utilisation,
                                             &gpu_temperature,
                                             &worker_info,
                                             &worker_age,
                                             &worker_cpu,
                                             &worker_memory,
                                             &worker_threads,
                                             &worker_processes,
                                             &worker_log,
                                             &worker_log_age,
                                             &worker_timer_age,
                                             &worker_steps,
                                             &worker_compute,
                                             &worker_step};

double seconds(uint64_t ms) {
  return static_cast<double>(ms) / 1e3;
}

constexpr auto us_per_second = 1e6;

uint64_t flag(bool x) {
  return x ? 1 : 0;
}

// -- the job -------------------------------------------------------------------

void add_phase(exposition& out, const v1::JobStatus& job) {
  out.begin(job_phase);
  auto is_known = false;
  for (const auto* name :
       {"gathering", "last_call", "starting", "running", "stopping", "ended"}) {
    out.add(flag(job.phase() == name), {{"phase", name}});
    is_known = is_known || job.phase() == name;
  }
  if (!is_known)
    out.add(uint64_t{1}, {{"phase", job.phase()}});
}

void add_nodes(exposition& out, const v1::JobStatus& job) {
  auto counts = std::map<std::string, uint64_t>{
    {"running", 0}, {"standby", 0}, {"waiting", 0}, {"away", 0}};
  for (const auto& x : job.agents())
    ++counts[state_of(job, x)];
  out.begin(job_nodes);
  for (const auto& [state, count] : counts)
    out.add(count, {{"state", state}});
}

void add_regroups(exposition& out, const regroup_times& x) {
  out.begin(job_regroups);
  for (size_t i = 0; i < regroup_times::limits.size(); ++i)
    out.add_part("_bucket", static_cast<double>(x.count_up_to(i)),
                 {{"le", formatted("{}", regroup_times::limits[i])}});
  out.add_part("_bucket", static_cast<double>(x.count()), {{"le", "+Inf"}});
  out.add_part("_sum", x.sum());
  out.add_part("_count", static_cast<double>(x.count()));
}

// That training was something else is known afterwards, and a counter does not fall: there
// it stays training, and what it was has counters of its own.
void add_time(exposition& out, const v1::JobStatus& job) {
  auto training = 0.0;
  auto saving = 0.0;
  auto lost = 0.0;
  out.begin(job_time);
  for (const auto& x : job.time()) {
    const auto time = static_cast<double>(x.worker_us()) / us_per_second;
    if (x.cause() == "training")
      training = time;
    else if (x.cause() == "saving")
      saving = time;
    else if (x.cause() == "lost")
      lost = time;
    else
      out.add(time, {{"cause", x.cause()}});
  }
  if (const auto all = training + saving + lost; all > 0)
    out.add(all, {{"cause", "training"}});
  out.begin(job_saving);
  out.add(saving);
  out.begin(job_lost);
  out.add(lost);
}

void add_stragglers(exposition& out, const v1::JobStatus& job) {
  out.begin(job_stragglers);
  for (const auto& x : job.stragglers())
    out.add(static_cast<double>(x.compute_us()) / us_per_second,
            {{"rank", std::to_string(x.rank())}, {"host", x.host()}});
}

void add_links(exposition& out, const v1::JobStatus& job) {
  const auto labels = [](const v1::AgentStatus& x) {
    return metric_labels{{"host", x.host()}, {"agent", x.agent_id()}};
  };
  out.begin(job_node_connected);
  for (const auto& x : job.agents())
    out.add(flag(x.connected()), labels(x));
  out.begin(job_node_lease_age);
  for (const auto& x : job.agents())
    if (x.has_lease_age_ms())
      out.add(seconds(x.lease_age_ms()), labels(x));
}

void add_job(exposition& out, const v1::JobStatus& job,
             const regroup_times* regroups) {
  const auto one = [&out](const metric_family& family, auto value) {
    out.begin(family);
    out.add(value);
  };
  add_phase(out, job);
  if (job.wall_ms() != 0) // Otherwise it says nothing about that.
    one(job_healthy, flag(job.is_healthy()));
  one(job_generation, number_of(generation_id{job.generation()}));
  one(job_world_size, uint64_t{job.world_size()});
  add_nodes(out, job);
  one(job_nodes_min, uint64_t{job.settings().agent_count_min()});
  one(job_nodes_max, uint64_t{job.settings().agent_count_max()});
  one(job_restarts, uint64_t{job.restart_count()});
  one(job_restarts_max, uint64_t{job.settings().restart_count_max()});
  if (job.wall_ms() != 0)
    one(job_phase_age, seconds(job.phase_age_ms()));
  if (job.wall_ms() != 0 && !job.waiting_for().empty())
    one(job_waiting, seconds(job.waiting_age_ms()));
  if (!job.hang().empty())
    one(job_hang, seconds(job.hang_age_ms()));
  if (!job.loop().empty())
    one(job_alike_ends, uint64_t{job.alike_end_count()});
  out.begin(job_ends);
  for (const auto& x : job.ends())
    out.add(x.count(), {{"class", x.end_class()}});
  add_stragglers(out, job);
  one(job_quarantined, static_cast<uint64_t>(job.quarantined_nodes_size()));
  one(job_excluded, static_cast<uint64_t>(job.excluded_hosts_size()));
  if (regroups != nullptr && !job.generations().empty())
    add_regroups(out, *regroups);
  add_time(out, job);
  if (job.has_leadership())
    one(term, uint64_t{job.leadership().term()});
  add_links(out, job);
}

// -- the node ------------------------------------------------------------------

void add_share(exposition& out, const v1::AgentStatus& node) {
  static constexpr std::pair<v1::ShareState, const char*> names[]
    = {{v1::SHARE_IDLE, "idle"},       {v1::SHARE_STARTING, "starting"},
       {v1::SHARE_RUNNING, "running"}, {v1::SHARE_SUCCEEDED, "succeeded"},
       {v1::SHARE_FAILED, "failed"},   {v1::SHARE_STOPPING, "stopping"}};
  out.begin(node_state);
  for (const auto& [share, name] : names)
    out.add(flag(node.share() == share), {{"state", name}});
}

void add_node(exposition& out, const v1::AgentStatus& node) {
  add_share(out, node);
  out.begin(node_generation);
  out.add(number_of(generation_id{node.generation()}));
  out.begin(node_workers);
  out.add(static_cast<uint64_t>(node.pids_size()));
  out.begin(node_slots);
  out.add(uint64_t{node.slot_count()});
  const auto& x = node.vitals();
  out.begin(node_load);
  if (x.has_load_1_percent())
    out.add(x.load_1_percent() / 100.0, {{"minutes", "1"}});
  if (x.has_load_5_percent())
    out.add(x.load_5_percent() / 100.0, {{"minutes", "5"}});
  if (x.has_load_15_percent())
    out.add(x.load_15_percent() / 100.0, {{"minutes", "15"}});
  out.begin(node_cpus);
  if (x.has_cpu_count())
    out.add(uint64_t{x.cpu_count()});
  out.begin(node_memory);
  if (x.has_memory_total())
    out.add(uint64_t{x.memory_total()});
  out.begin(node_memory_available);
  if (x.has_memory_available())
    out.add(uint64_t{x.memory_available()});
}

void add_gpus(exposition& out, const v1::AgentStatus& node) {
  const auto each = [&](const metric_family& family, auto add) {
    out.begin(family);
    for (const auto& x : node.gpus())
      add(x, metric_labels{{"gpu", std::to_string(x.index())},
                           {"uuid", x.uuid()}});
  };
  each(gpu_healthy, [&](const v1::GpuStatus& x, const metric_labels& of) {
    out.add(flag(x.trouble().empty()), of);
  });
  each(gpu_memory, [&](const v1::GpuStatus& x, const metric_labels& of) {
    if (x.memory_total() != 0)
      out.add(uint64_t{x.memory_total()}, of);
  });
  each(gpu_memory_used, [&](const v1::GpuStatus& x, const metric_labels& of) {
    if (x.memory_total() != 0)
      out.add(uint64_t{x.memory_used()}, of);
  });
  each(gpu_utilisation, [&](const v1::GpuStatus& x, const metric_labels& of) {
    if (x.has_utilisation())
      out.add(x.utilisation() / 100.0, of);
  });
  each(gpu_temperature, [&](const v1::GpuStatus& x, const metric_labels& of) {
    if (x.has_temperature())
      out.add(uint64_t{x.temperature()}, of);
  });
}

void add_workers(exposition& out, const v1::AgentStatus& node) {
  const auto labels = [&node](int i) {
    const auto local = static_cast<uint32_t>(i);
    return metric_labels{{"rank", std::to_string(global_rank(node, local))},
                         {"local_rank", std::to_string(local)}};
  };
  out.begin(worker_info);
  for (int i = 0; i < node.pids_size(); ++i) {
    auto of = labels(i);
    of.emplace_back("pid", std::to_string(node.pids(i)));
    out.add(uint64_t{1}, of);
  }
  const auto each = [&](const metric_family& family, auto add) {
    out.begin(family);
    for (int i = 0; i < node.pids_size(); ++i)
      if (const auto* x = vitals_of(node, static_cast<uint32_t>(i)))
        add(*x, labels(i));
  };
  each(worker_age, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_age_ms())
      out.add(seconds(x.age_ms()), of);
  });
  each(worker_cpu, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_cpu_percent())
      out.add(x.cpu_percent() / 100.0, of);
  });
  each(worker_memory, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_memory())
      out.add(uint64_t{x.memory()}, of);
  });
  each(worker_threads, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_thread_count())
      out.add(uint64_t{x.thread_count()}, of);
  });
  each(worker_processes,
       [&](const v1::WorkerVitals& x, const metric_labels& of) {
         if (x.process_count() > 0)
           out.add(uint64_t{x.process_count()}, of);
       });
  each(worker_log, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_output_size())
      out.add(uint64_t{x.output_size()}, of);
  });
  each(worker_log_age, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_output_age_ms())
      out.add(seconds(x.output_age_ms()), of);
  });
  each(worker_timer_age,
       [&](const v1::WorkerVitals& x, const metric_labels& of) {
         if (x.has_timer_age_ms())
           out.add(seconds(x.timer_age_ms()), of);
       });
  each(worker_steps, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_step_count())
      out.add(uint64_t{x.step_count()}, of);
  });
  each(worker_compute, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_compute_us())
      out.add(static_cast<double>(x.compute_us()) / us_per_second, of);
  });
  each(worker_step, [&](const v1::WorkerVitals& x, const metric_labels& of) {
    if (x.has_step_us())
      out.add(static_cast<double>(x.step_us()) / us_per_second, of);
  });
}

} // namespace

std::vector<const metric_family*> metric_families() {
  return {std::begin(families), std::end(families)};
}

std::string metrics_text(const metrics_input& x, const std::string& job_id,
                         const std::string& host) {
  const auto common = metric_labels{{"job_id", job_id}};
  const auto of_node = metric_labels{{"job_id", job_id}, {"host", host}};
  auto node = exposition{of_node};
  node.begin(answers);
  if (x.has_agent)
    node.add(flag(x.node != nullptr), {{"actor", "agent"}});
  if (x.has_coordinator)
    node.add(flag(x.job != nullptr), {{"actor", "coordinator"}});
  if (x.is_elected) {
    node.begin(leader);
    node.add(flag(x.has_coordinator));
  }
  auto job = exposition{common};
  if (x.job != nullptr)
    add_job(job, *x.job, x.regroups);
  auto out = node.take() + job.take();
  if (x.node != nullptr && !x.node->agents().empty()) {
    const auto& agent = x.node->agents(0);
    auto more = exposition{of_node};
    add_node(more, agent);
    add_gpus(more, agent);
    add_workers(more, agent);
    out += more.take();
  }
  return out;
}

} // namespace actorrun::detail
