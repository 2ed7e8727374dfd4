#include "runtime/status.hpp"

#include "actors/core/failure.hpp"
#include "actors/interfaces.hpp"
#include "messages/formatted.hpp"
#include "runtime/etcd/client.hpp"
#include "runtime/etcd/locator.hpp"
#include "runtime/network/caf_links.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/first_answer.hpp"
#include "runtime/network/guarded_link.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/os/run_folder.hpp"
#include "runtime/os/temporary_folder.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <future>

#include <unistd.h>

namespace actorrun {

using namespace detail;

namespace {

using actor_result = result<caf::strong_actor_ptr>;

/// In bytes; longer than any of ours.
constexpr size_t shown_text_max = 1'024;

std::string operator_name() {
  return "actorctl-" + std::to_string(::getpid());
}

/// What comes from another process goes to terminals and into JSON.
void clean(std::string& text) {
  text = core::one_line(text, shown_text_max);
}

v1::JobStatus cleaned(v1::JobStatus x) {
  for (auto* text :
       {x.mutable_job_id(), x.mutable_phase(), x.mutable_waiting_for(),
        x.mutable_master_address(), x.mutable_coordinator_host()})
    clean(*text);
  for (auto& agent : *x.mutable_agents())
    for (auto* text : {agent.mutable_agent_id(), agent.mutable_host(),
                       agent.mutable_address(), agent.mutable_role(),
                       agent.mutable_gpu_trouble()})
      clean(*text);
  for (auto& node : *x.mutable_quarantined_nodes())
    for (auto* text : {node.mutable_agent_id(), node.mutable_host()})
      clean(*text);
  return x;
}

/// Connects with `dial`, hands the connection to CAF and asks what is there.
template <class Dial>
result<v1::JobStatus> ask(caf::actor_system& system, core::duration limit,
                          const visitor& mine, Dial dial) {
  auto promise = std::make_shared<std::promise<actor_result>>();
  auto future = promise->get_future();
  auto home = reactor{};
  auto link = reactor_handle{};
  const auto attempt = dial(home, [&, limit, promise](auto x) {
    if (!x)
      return promise->set_value(x.error());
    const auto answer = first_answer<actor_result>{
      [promise](const actor_result& actor) { promise->set_value(actor); }};
    auto opened
      = carry(home, std::move(x->connection),
              {.ends = {link_side::client, purpose::operate, mine.id,
                        node_name(system)},
               .key = x->key,
               .trust = {mine.mine.identity, x->server_host},
               .on_closed = [answer](const result<void>& how) {
                 if (!how)
                   answer(failure{how.error().code,
                                  "the coordinator " + how.error().text});
               }});
    if (!opened)
      return promise->set_value(opened.error());
    link = std::move(opened->link);
    attach(system, std::move(opened->for_caf), limit, answer);
  });
  const auto actor = future.get();
  if (!actor)
    return actor.error();
  // Agents and coordinators answer this question alike.
  const auto whom = caf::actor_cast<rendezvous_coordinator_actor>(*actor);
  auto answer = result<v1::JobStatus>{
    failure{errc::connection_timed_out, "the job does not answer"}};
  caf::scoped_actor self{system};
  self->request(whom, limit, v1::StatusRequest{})
    .receive([&](const v1::JobStatus& x) { answer = cleaned(x); },
             [](const caf::error&) {});
  return answer;
}

visitor operator_of(const credentials& mine) {
  return {mine, purpose::operate, operator_name()};
}

result<visitor> operator_of(const job_options& job) {
  auto out = operator_of(credentials_of(job.job, job.secret));
  if (!job.tls.is_set())
    return out;
  auto identity = tls_identity::load(job.tls);
  if (!identity)
    return identity.error();
  out.mine.identity = std::move(*identity);
  return out;
}

} // namespace

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

result<v1::JobStatus> ask_status(caf::actor_system& system,
                                 const local_job& job,
                                 std::chrono::milliseconds limit) {
  const auto mine = operator_of(credentials{});
  return ask(system, limit, mine, [&](reactor& home, auto on_done) {
    return connect_unix(home, job.path, mine, limit, std::move(on_done));
  });
}

result<v1::JobStatus> ask_status(caf::actor_system& system,
                                 const job_options& job,
                                 std::chrono::milliseconds limit) {
  const auto mine = operator_of(job);
  if (!mine)
    return mine.error();
  auto where = result<endpoint>{*job.rendezvous};
  if (job.backend == rendezvous_backend::etcd)
    where = find_coordinator(job, limit);
  if (!where)
    return where.error();
  return ask(system, limit, *mine, [&](reactor& home, auto on_done) {
    return connect(home, *where, *mine, limit, std::move(on_done));
  });
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
