#include "tests/sim/restart_watch.hpp"

#include <algorithm>

namespace actorrun::sim {

namespace {

bool are_alike(const core::worker_failure& a, const core::worker_failure& b) {
  return a.global_rank == b.global_rank && a.host == b.host && a.kind == b.kind
         && a.code == b.code && a.details.message == b.details.message
         && a.details.traceback == b.details.traceback;
}

/// Trouble of its GPUs explains a failure of a node.
core::end_class class_of(const core::worker_failure& x,
                         const core::rendezvous& brain) {
  const auto i = brain.agents().find(x.agent);
  return i != brain.agents().end() && i->second.gpu_trouble
           ? core::end_class::node
           : core::finding_of(x).what;
}

} // namespace

void restart_watch::after(const core::rendezvous& brain,
                          const core::rendezvous_event& event,
                          const std::vector<core::rendezvous_effect>& effects,
                          core::time_point now, core::duration slack) {
  using phase = core::rendezvous::phase;
  const auto spent = brain.budget().restart_count();
  const auto is_stopping = brain.current_phase() == phase::stopping;
  const auto has_settled = was_stopping_ && !is_stopping;
  if (has_settled && spent > spent_ && brain.last_failure())
    see_cost(*brain.last_failure(), class_of(*brain.last_failure(), brain),
             now);
  for (const auto& x : effects) {
    const auto* answer = std::get_if<core::answer_operator>(&x);
    if (answer != nullptr && answer->code == errc::none
        && std::holds_alternative<core::restart_requested>(event))
      due_ = now;
    if (std::holds_alternative<core::announce_generation>(x)
        && now + slack < due_)
      checks_.report("rules: a generation begins before the wait is over");
  }
  spent_ = spent;
  was_stopping_ = is_stopping;
}

void restart_watch::see_cost(const core::worker_failure& x,
                             core::end_class what, core::time_point now) {
  if (rules_.action_for(what) == core::end_action::stop)
    checks_.report("rules: a failure of class " + to_string(what)
                   + " cost a restart, and was to end the job");
  alike_count_ = last_ && are_alike(*last_, x) ? alike_count_ + 1 : 1;
  last_ = x;
  if (rules_.backoff_min.count() == 0 || alike_count_ < 2)
    return;
  auto wait = rules_.backoff_min;
  for (auto i = uint32_t{2}; i < alike_count_ && wait < rules_.backoff_max; ++i)
    wait *= 2;
  due_ = now + std::min(wait, rules_.backoff_max);
}

} // namespace actorrun::sim
