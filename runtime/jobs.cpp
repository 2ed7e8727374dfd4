#include "runtime/jobs.hpp"

#include "actors/translate.hpp"
#include "messages/formatted.hpp"
#include "runtime/network/operator_reach.hpp"
#include "runtime/os/run_folder.hpp"
#include "runtime/os/temporary_folder.hpp"
#include "runtime/status.hpp"
#include "runtime/status_json.hpp"
#include "runtime/steer.hpp"

#include <algorithm>
#include <utility>

namespace actorrun {

using namespace detail;

result<std::vector<local_job>> find_local_jobs() {
  const auto folders = run_folder::find_all();
  if (!folders)
    return folders.error();
  auto jobs = std::vector<local_job>{};
  for (const auto& folder : *folders) {
    for (const auto& x : folder.list())
      jobs.push_back({x.name.job, x.name.pid,
                      x.name.role == socket_role::coordinator, x.path});
    folder.remove_if_empty();
  }
  temporary_folder::sweep();
  std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
    return a.is_coordinator > b.is_coordinator;
  });
  return jobs;
}

namespace {

/// Whether this is said by an agent that has lost the coordinator which is heard.
bool is_lost_part(const local_status& x,
                  const std::vector<local_status>& heard) {
  return x.status.coordinator_pid() == 0
         && std::ranges::any_of(heard, [&](const auto& y) {
              return y.status.coordinator_pid() != 0
                     && y.status.job_id() == x.status.job_id();
            });
}

failure several(const std::vector<local_status>& jobs) {
  auto list = std::string{};
  for (const auto& x : jobs)
    list += formatted("{}{} (process {})", list.empty() ? "" : ", ",
                      x.status.job_id(), x.from.pid);
  return {errc::bad_argument,
          formatted("several jobs run on this host: {}", list)};
}

} // namespace

result<local_job> find_local_job(const std::string& job,
                                 std::chrono::milliseconds limit) {
  auto found = ask_local_jobs(job, limit);
  if (!found)
    return found.error();
  auto& heard = found->heard;
  std::erase_if(heard,
                [all = heard](const auto& x) { return is_lost_part(x, all); });
  if (heard.size() > 1)
    return several(heard);
  if (!heard.empty())
    return std::move(heard.front().from);
  if (!found->silent.empty()) {
    const auto& x = found->silent.front();
    return failure{x.why.code,
                   formatted("process {} does not report the status of its"
                             " job: {}",
                             x.from.pid, x.why.text)};
  }
  return failure{
    errc::connection_refused,
    job.empty()
      ? "no job of this user runs on this host; a job elsewhere"
        " needs --rdzv-endpoint and --rdzv-id"
      : formatted("no job '{}' of this user runs on this host", shown(job))};
}

namespace {

job_node node_in(const v1::JobStatus& job, const v1::AgentStatus& x) {
  auto out = job_node{.agent = x.agent_id(),
                      .host = x.host(),
                      .address = x.address(),
                      .slot_count = x.slot_count(),
                      .state = state_of(job, x),
                      .reason = x.reason()};
  if (in_generation(job, x))
    out.node_rank = x.node_rank();
  out.pids.assign(x.pids().begin(), x.pids().end());
  return out;
}

job_status status_in(const v1::JobStatus& x) {
  auto out = job_status{.job = x.job_id(),
                        .phase = x.phase(),
                        .is_healthy = x.is_healthy(),
                        .generation = number_of({x.generation()}),
                        .world_size = x.world_size(),
                        .node_count_min = x.settings().agent_count_min(),
                        .node_count_max = x.settings().agent_count_max(),
                        .restart_count = x.restart_count(),
                        .restart_count_max = x.settings().restart_count_max(),
                        .waiting_for = x.waiting_for()};
  for (const auto& agent : x.agents())
    out.nodes.push_back(node_in(x, agent));
  if (x.has_last_failure())
    out.last_failure = from_wire(x.last_failure());
  if (x.has_outcome())
    out.outcome = from_wire(x.outcome());
  return out;
}

/// @param fill Says what is asked.
template <class Fill>
result<std::string> steered(const located_job& job,
                            std::chrono::milliseconds limit, Fill fill) {
  auto request = v1::OperatorRequest{};
  fill(request);
  auto x = steer(job, request, limit);
  if (!x)
    return x.error();
  if (!x->is_done)
    return bad_argument(std::move(x->text));
  return std::move(x->text);
}

/// For a deadline, whose 0 stands for the default.
uint64_t at_least_one(std::chrono::milliseconds x) {
  return static_cast<uint64_t>(std::max<int64_t>(x.count(), 1));
}

} // namespace

result<job_status> status_of(const located_job& job,
                             std::chrono::milliseconds limit) {
  const auto x = ask_status(job, limit);
  return x ? status_in(*x) : result<job_status>{x.error()};
}

result<std::vector<job_reason>> explain(const located_job& job,
                                        std::chrono::milliseconds limit) {
  auto x = ask_why(job, false, limit);
  if (!x)
    return x.error();
  auto out = std::vector<job_reason>{};
  for (auto& part : x->parts)
    out.push_back({std::move(part.sentence), std::move(part.evidence)});
  return out;
}

result<std::string> drain(const located_job& job, const std::string& node,
                          std::chrono::milliseconds time,
                          std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_drain()->set_node(node);
    request.mutable_drain()->set_deadline_ms(at_least_one(time));
  });
}

result<std::string> drain_when_replaced(const located_job& job,
                                        const std::string& node,
                                        std::chrono::milliseconds time,
                                        std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_drain()->set_node(node);
    request.mutable_drain()->set_deadline_ms(at_least_one(time));
    request.mutable_drain()->set_wait_for_replacement(true);
  });
}

result<std::string> cancel_drain(const located_job& job,
                                 const std::string& node,
                                 std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_cancel_drain()->set_node(node);
  });
}

result<std::string> resize(const located_job& job, uint32_t min, uint32_t max,
                           std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_resize()->set_agent_count_min(min);
    request.mutable_resize()->set_agent_count_max(max);
  });
}

result<std::string> restart(const located_job& job, const std::string& reason,
                            std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_restart()->set_reason(reason);
  });
}

result<std::string> stop(const located_job& job, const std::string& reason,
                         std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_stop()->set_reason(reason);
  });
}

result<std::string> exclude(const located_job& job, const std::string& host,
                            const std::string& reason,
                            std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_exclude()->set_host(host);
    request.mutable_exclude()->set_reason(reason);
  });
}

result<std::string> include(const located_job& job, const std::string& host,
                            std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_include()->set_host(host);
  });
}

result<std::string> set_log_level(const located_job& job,
                                  const std::string& level,
                                  const std::string& node,
                                  std::chrono::milliseconds limit) {
  return steered(job, limit, [&](auto& request) {
    request.mutable_log_level()->set_level(level);
    request.mutable_log_level()->set_node(node);
  });
}

} // namespace actorrun
