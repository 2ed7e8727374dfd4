#include "runtime/http/health.hpp"

#include "actors/core/failure.hpp"
#include "messages/formatted.hpp"

namespace actorrun::detail {

namespace {

/// In bytes.
constexpr size_t reason_size_max = 300;

/// Why workers of this node do not run, from the state of its share and of its link
/// (`core::membership`).
std::string reason_of(v1::ShareState share, const std::string& link) {
  switch (share) {
    case v1::SHARE_STARTING:
      return "the workers of this node are being started";
    case v1::SHARE_STOPPING:
      return "the workers of this node are being stopped";
    case v1::SHARE_FAILED:
      return "a worker of this node has failed";
    case v1::SHARE_SUCCEEDED:
      return "all workers of this node have ended well";
    default:
      break;
  }
  if (link == "joined")
    return "this node has joined and waits for a generation";
  return formatted("this node has no place in the job; its link is {}",
                   core::one_line(link, reason_size_max));
}

} // namespace

health health_of(const status_answer& x) {
  if (x.is_alive)
    return {true, "ok"};
  return {false, "the actor of this process does not answer in time"};
}

health readiness_of_node(const status_answer& own) {
  if (!own.is_alive || !own.what)
    return health_of(own);
  const auto& job = *own.what;
  if (job.agents().empty())
    return {false, "there is no agent here"};
  const auto& agent = job.agents(0);
  if (agent.share() == v1::SHARE_RUNNING)
    return {true,
            formatted("{} {} in generation {}", agent.pids_size(),
                      agent.pids_size() == 1 ? "worker runs" : "workers run",
                      to_string(generation_id{agent.generation()}))};
  return {false, reason_of(agent.share(), job.phase())};
}

health readiness_of_job(const status_answer& x) {
  if (!x.is_alive || !x.what)
    return health_of(x);
  const auto& job = *x.what;
  if (job.phase() == "running")
    return {true, formatted("generation {} runs",
                            to_string(generation_id{job.generation()}))};
  const auto why = core::one_line(job.waiting_for(), reason_size_max);
  return {false, formatted("no generation runs; the job is {}{}{}",
                           core::one_line(job.phase(), reason_size_max),
                           why.empty() ? "" : ": ", why)};
}

} // namespace actorrun::detail
