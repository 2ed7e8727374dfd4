#include "cli/report/steer_question.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace actorrun::cli {

namespace {

constexpr auto cost = "Work since the last checkpoint is lost.";

std::string name_of(const v1::JobStatus& job) {
  return core::printable(job.job_id());
}

/// Has a place in the newest generation.
bool is_member(const v1::AgentStatus& x) {
  return x.generation() != 0;
}

bool has_workers(const v1::JobStatus& job) {
  return job.phase() == "running" || job.phase() == "starting";
}

template <class Condition>
int64_t count_of(const v1::JobStatus& job, Condition condition) {
  return std::ranges::count_if(job.agents(), condition);
}

/// `1 of its 3 nodes stands by`
std::string stand_by(int64_t count, int64_t member_count) {
  return formatted("{} of its {} {} by", count,
                   core::counted(member_count, "node"),
                   count == 1 ? "stands" : "stand");
}

std::string before(const v1::StopJob&, const v1::JobStatus& job) {
  if (!has_workers(job))
    return formatted("Stop {}? It ends on all its nodes.", name_of(job));
  return formatted("Stop {} and its {}? {}", name_of(job),
                   core::counted(job.world_size(), "worker"), cost);
}

std::string before(const v1::RestartJob&, const v1::JobStatus& job) {
  const auto workers = job.world_size() == 1
                         ? std::string{"the worker"}
                         : formatted("all {} workers", job.world_size());
  return formatted("Restart {} of {}? {}", workers, name_of(job), cost);
}

// What its workers save on the notice is not lost.
std::string before(const v1::DrainNode& x, const v1::JobStatus& job) {
  const auto i = std::ranges::find_if(job.agents(), [&](const auto& y) {
    return is_member(y)
           && (x.node() == y.agent_id() || x.node() == y.host()
               || x.node() == std::to_string(y.node_rank()));
  });
  if (i == job.agents().end())
    return "";
  return formatted("Drain node {} ({}) of {}? Its workers get notice, and the"
                   " others start again without it. Work that is not saved by"
                   " then is lost.",
                   i->node_rank(), core::printable(i->host()), name_of(job));
}

std::string before(const v1::ResizeJob& x, const v1::JobStatus& job) {
  const auto max = int64_t{x.agent_count_max()};
  const auto members = count_of(job, is_member);
  const auto spares
    = count_of(job, [](const auto& y) { return y.state() == "standby"; });
  if (max == members || (max > members && spares == 0))
    return "";
  const auto range = x.agent_count_min() == x.agent_count_max()
                       ? core::counted(max, "node")
                       : formatted("{}:{} nodes", x.agent_count_min(), max);
  return formatted("Resize {} to {}? {}, and all workers start again. {}",
                   name_of(job), range,
                   max < members ? stand_by(members - max, members)
                                 : "Nodes that stand by take part",
                   cost);
}

std::string before(const v1::ExcludeHost& x, const v1::JobStatus& job) {
  const auto count = count_of(
    job, [&](const auto& y) { return is_member(y) && y.host() == x.host(); });
  if (count == 0)
    return "";
  return formatted("Exclude host {} from {}? {}, and all workers start again."
                   " {}",
                   core::printable(x.host()), name_of(job),
                   stand_by(count, count_of(job, is_member)), cost);
}

std::string before(const v1::IncludeHost& x, const v1::JobStatus& job) {
  const auto is_full
    = count_of(job, is_member) >= int64_t{job.settings().agent_count_max()};
  const auto waits = count_of(
    job, [&](const auto& y) { return !is_member(y) && y.host() == x.host(); });
  if (is_full || waits == 0)
    return "";
  return formatted("Include host {} in {}? It takes part, and all workers start"
                   " again. {}",
                   core::printable(x.host()), name_of(job), cost);
}

// No one can lead who has a coordinator; that is refused.
std::string before(const v1::ElectLeader& x, const v1::JobStatus& job) {
  if (job.coordinator_pid() != 0)
    return "";
  auto hosts = std::string{};
  for (const auto& host : x.accept_loss())
    hosts += (hosts.empty() ? "" : ", ") + core::printable(host);
  return formatted("Have this agent lead {} without {}? If {} lives, two groups"
                   " of the job run from now on, and each may write what the"
                   " other one writes.",
                   name_of(job), hosts,
                   x.accept_loss_size() == 1 ? "it" : "one of them");
}

} // namespace

bool may_lose_work(const v1::OperatorRequest& x) {
  return x.has_stop() || x.has_restart() || x.has_drain() || x.has_resize()
         || x.has_exclude() || x.has_include() || x.has_elect();
}

std::string question_before(const v1::OperatorRequest& x,
                            const v1::JobStatus& job) {
  if (x.has_stop())
    return before(x.stop(), job);
  if (x.has_elect())
    return before(x.elect(), job);
  if (!has_workers(job))
    return "";
  if (x.has_restart())
    return before(x.restart(), job);
  if (x.has_drain())
    return before(x.drain(), job);
  if (x.has_resize())
    return before(x.resize(), job);
  if (x.has_exclude())
    return before(x.exclude(), job);
  if (x.has_include())
    return before(x.include(), job);
  return "";
}

bool agrees(std::string_view answer) {
  auto text = std::string{};
  for (const unsigned char x : answer)
    if (std::isspace(x) == 0)
      text += static_cast<char>(std::tolower(x));
  return text == "y" || text == "yes";
}

} // namespace actorrun::cli
