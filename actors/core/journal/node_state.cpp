#include "actors/core/journal/node_state.hpp"

#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core::journal {

namespace {

/// In bytes.
constexpr size_t reason_size_max = 200;

std::string reason_line(const std::string& text) {
  return one_line(text, reason_size_max);
}

/// Whether it has workers in the newest generation.
bool is_member(const node& x, const snapshot& job) {
  const auto* newest = job.newest_generation();
  return newest != nullptr && x.generation == newest->formed.generation
         && x.share != share_state::idle;
}

/// The first failure of a node in the newest generation; null: there is none.
const worker_failure* failure_of(const node& x, const snapshot& job) {
  const auto* newest = job.newest_generation();
  if (newest == nullptr)
    return nullptr;
  if (newest->cause && newest->cause->agent == x.agent)
    return &*newest->cause;
  const auto& others = newest->others.listed;
  const auto i = std::ranges::find_if(
    others, [&](const auto& y) { return y.agent == x.agent; });
  return i == others.end() ? nullptr : &*i;
}

std::string reason_of_share(const node& x, const snapshot& job) {
  if (const auto* failure = failure_of(x, job))
    return reason_line(to_string(*failure));
  const auto* newest = job.newest_generation();
  if (x.share == share_state::stopping && newest != nullptr)
    return reason_line(newest->end_reason);
  return {};
}

} // namespace

std::string state_of(const node_entry& x, const snapshot& job) {
  if (x.now->leaving)
    return "leaving";
  if (!x.now->connected)
    return "away";
  if (x.now->drained_at)
    return "draining";
  if (x.now->excluded)
    return "excluded";
  if (is_member(*x.now, job)) {
    const auto works = x.now->share == share_state::starting
                       || x.now->share == share_state::running;
    return to_string(job.result && works ? share_state::stopping
                                         : x.now->share);
  }
  if (x.now->unfit)
    return "unfit";
  return job.phase == rendezvous_phase::running ? "standby" : "waiting";
}

std::string reason_of(const node_entry& x, const snapshot& job) {
  for (const auto& y : job.quarantined)
    if (y.agent == x.now->agent)
      return "SIGKILL has not ended " + std::to_string(y.unkillable_count)
             + (y.unkillable_count == 1 ? " worker" : " workers");
  if (!x.now->leaving && !x.now->connected)
    return "its link is broken; its lease decides";
  if (x.now->drained_at)
    return x.now->drained_by
             ? reason_line("leaves, as " + *x.now->drained_by + " has asked")
             : "an operator lets it leave";
  for (const auto& y : job.excluded)
    if (x.now->excluded && y.host == x.now->host)
      return reason_line(to_string(y));
  if (x.now->unfit)
    return reason_line(*x.now->unfit);
  if (x.now->stands_by)
    return reason_line("stands by, because it has " + *x.now->stands_by);
  auto reason
    = is_member(*x.now, job) ? reason_of_share(*x.now, job) : std::string{};
  if (reason.empty() && x.now->waits_to_drain)
    return reason_line("drain waits for a replacement, asked by "
                       + x.now->waits_to_drain->by);
  return reason;
}

const worker_failure* last_failure_of(const snapshot& job) {
  const auto i
    = std::find_if(job.generations.rbegin(), job.generations.rend(),
                   [](const auto& x) { return x.cause.has_value(); });
  if (i != job.generations.rend())
    return &*i->cause;
  return job.result && job.result->first_failure ? &*job.result->first_failure
                                                 : nullptr;
}

} // namespace actorrun::core::journal
