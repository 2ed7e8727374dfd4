#include "runtime/status.hpp"

#include "actors/status_pages.hpp"
#include "actors/translate.hpp"
#include "messages/formatted.hpp"
#include "runtime/etcd/client.hpp"
#include "runtime/etcd/locator.hpp"
#include "runtime/network/operator_reach.hpp"
#include "runtime/os/run_folder.hpp"
#include "runtime/os/socket_address.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace actorrun {

using namespace detail;

namespace {

v1::JobStatus cleaned(v1::JobStatus x) {
  for (auto* text :
       {x.mutable_job_id(), x.mutable_phase(), x.mutable_waiting_for(),
        x.mutable_hang(), x.mutable_loop(), x.mutable_slow(),
        x.mutable_master_address(), x.mutable_coordinator_host()})
    clean(*text);
  for (auto& agent : *x.mutable_agents())
    for (auto* text : {agent.mutable_agent_id(), agent.mutable_host(),
                       agent.mutable_address(), agent.mutable_role(),
                       agent.mutable_gpu_trouble(), agent.mutable_state(),
                       agent.mutable_reason(), agent.mutable_unfit()})
      clean(*text);
  for (auto& generation : *x.mutable_generations())
    for (auto* text :
         {generation.mutable_reason(), generation.mutable_end_reason(),
          generation.mutable_end_class(), generation.mutable_end_evidence()})
      clean(*text);
  for (auto& ends : *x.mutable_ends())
    clean(*ends.mutable_end_class());
  for (auto& node : *x.mutable_departed_nodes())
    for (auto* text :
         {node.mutable_agent_id(), node.mutable_host(), node.mutable_reason()})
      clean(*text);
  for (auto& host : *x.mutable_excluded_hosts())
    for (auto* text : {host.mutable_host(), host.mutable_reason()})
      clean(*text);
  for (auto& node : *x.mutable_quarantined_nodes())
    for (auto* text : {node.mutable_agent_id(), node.mutable_host()})
      clean(*text);
  return x;
}

/// Adds what a reply says.
/// @returns whether the status is whole
result<bool> add_status(status_assembly& to, v1::OperatorReply x) {
  if (!x.has_status())
    return refusal_in(x, "its status");
  const auto is_whole = to.add(std::move(*x.mutable_status()));
  if (!is_whole)
    return failure{is_whole.error().code, "the job " + is_whole.error().text};
  return *is_whole;
}

result<job_explanation> explanations_in(const v1::OperatorReply& x) {
  if (x.has_status())
    return failure{errc::not_actorrun, "the job does not explain itself"};
  if (!x.has_explanations())
    return refusal_in(x, "its status");
  auto out = job_explanation{.state = shown(x.explanations().state()),
                             .is_healthy = x.explanations().is_healthy()};
  for (const auto& part : x.explanations().parts()) {
    auto& added = out.parts.emplace_back(from_wire(part));
    clean(added.sentence);
    for (auto& line : added.evidence)
      clean(line);
  }
  return out;
}

using status_callback = std::function<bool(const v1::JobStatus&)>;
using time_point = operator_client::time_point;

/// While a status is watched: the other side gives up on the rest of one that takes
/// longer, and begins with a newer one.
constexpr auto page_limit = std::chrono::seconds{30};

/// Waits for all pages of a status.
/// @param due   Of the first page; each further one has the time `limit` again.
/// @returns none: `stop` has become readable
result<std::optional<v1::JobStatus>>
receive_status(operator_client& from, time_point due,
               std::chrono::milliseconds limit, int stop = -1) {
  auto pages = status_assembly{};
  for (;;) {
    auto x = from.receive(due, stop);
    if (!x)
      return x.error();
    if (!*x)
      return std::optional<v1::JobStatus>{};
    const auto is_whole = add_status(pages, std::move(**x));
    if (!is_whole)
      return is_whole.error();
    if (*is_whole)
      return std::optional{cleaned(pages.take())};
    due = time_point::clock::now() + limit;
  }
}

result<v1::JobStatus> ask_for_status(result<reached> there,
                                     std::chrono::milliseconds limit) {
  if (!there)
    return there.error();
  auto request = v1::OperatorRequest{};
  request.set_number(1);
  request.mutable_status();
  if (auto ok = there->whom.send(request); !ok)
    return ok.error();
  auto x = receive_status(there->whom, there->due, limit);
  if (!x)
    return x.error();
  return std::move(**x);
}

result<job_explanation> ask_why(result<reached> there, bool all) {
  auto request = v1::OperatorRequest{};
  request.mutable_explain()->set_all(all);
  const auto x = ask(std::move(there), std::move(request));
  return x ? explanations_in(*x) : x.error();
}

result<void> watch(result<reached> there, const watch_options& how,
                   const status_callback& on_status) {
  if (!there)
    return there.error();
  auto& [whom, due] = *there;
  auto request = v1::OperatorRequest{};
  request.set_number(1);
  request.mutable_watch()->set_interval_ms(static_cast<uint32_t>(
    std::clamp<int64_t>(how.interval.count(), 1, UINT32_MAX)));
  if (auto ok = whom.send(request); !ok)
    return ok;
  for (;;) {
    const auto x = receive_status(whom, due, page_limit, how.stop);
    if (!x)
      return x.error();
    if (!*x || !on_status(**x))
      return {};
    due = operator_client::never; // From now on, silence says: no change.
  }
}

} // namespace

bool is_of_job(const local_job& x, const std::string& job) {
  return x.label == detail::job_label(job_id{job})
         || std::to_string(x.pid) == job;
}

namespace {

/// Whether a coordinator has reported this agent: one that hangs need not be waited
/// for then. An agent's id begins with its host and its process (`make_agent_id`).
bool is_reported(const std::vector<local_status>& heard, const local_job& x) {
  const auto mark = formatted("{}-{}-", local_host_name(), x.pid);
  return !x.is_coordinator && std::ranges::any_of(heard, [&](const auto& y) {
    return y.status.coordinator_pid() != 0 && y.from.label == x.label
           && std::ranges::any_of(y.status.agents(), [&](const auto& agent) {
                return agent.agent_id().starts_with(mark);
              });
  });
}

/// A coordinator's answer covers all agents of its job.
void add(std::vector<local_status>& heard, local_status x) {
  for (auto& y : heard) {
    if (y.status.job_id() != x.status.job_id()
        || y.status.coordinator_pid() != x.status.coordinator_pid())
      continue;
    // Two agents that have lost their coordinator know each of themselves.
    if (x.status.coordinator_pid() == 0)
      y.status.MergeFrom(x.status);
    return;
  }
  heard.push_back(std::move(x));
}

} // namespace

// A socket whose process has been killed stays behind, so each is asked.
result<local_statuses> ask_local_jobs(const std::string& job,
                                      std::chrono::milliseconds limit) {
  const auto all = find_local_jobs();
  if (!all)
    return all.error();
  auto out = local_statuses{};
  for (const auto& x : *all) {
    if ((!job.empty() && !is_of_job(x, job)) || is_reported(out.heard, x))
      continue;
    auto status = ask_status(x, limit);
    if (!status) {
      if (status.error().code == errc::connection_timed_out)
        status = failure{errc::connection_timed_out, "it is stopped, or hangs"};
      if (status.error().code != errc::connection_refused)
        out.silent.push_back({x, status.error()});
    } else if (job.empty() || status->job_id() == job
               || std::to_string(x.pid) == job) {
      add(out.heard, {x, std::move(*status)});
    }
  }
  return out;
}

result<v1::JobStatus> ask_status(const located_job& job,
                                 std::chrono::milliseconds limit) {
  return ask_for_status(reach(job, limit), limit);
}

result<job_explanation> ask_why(const located_job& job, bool all,
                                std::chrono::milliseconds limit) {
  return ask_why(reach(job, limit), all);
}

result<void> watch_status(const located_job& job, const watch_options& how,
                          const status_callback& on_status) {
  return watch(reach(job, how.limit), how, on_status);
}

result<endpoint> find_coordinator(const job_options& job,
                                  std::chrono::milliseconds limit) {
  auto registry = etcd_client::open(*job.rendezvous, job.etcd, job.job);
  if (!registry)
    return registry.error();
  const auto found = (*registry)->read(etcd_client::clock::now() + limit);
  if (!found)
    return found.error();
  if (!found->entry)
    return failure{errc::connection_refused,
                   found->job.is_over
                     ? formatted("job {} has ended", job.job.value)
                     : "etcd knows no coordinator of job " + job.job.value};
  if (found->entry->endpoint.empty())
    return failure{errc::connection_failed,
                   formatted("a coordinator of job {} has just been elected",
                             job.job.value)};
  return endpoint_of(found->entry->endpoint);
}

} // namespace actorrun
