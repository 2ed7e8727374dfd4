#include "actors/core/protocol/job_course.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

bool job_course::has_safe_points() const {
  return limits_.safe_point.count() > 0 && is(phase::running)
         && agents_.counts().starting == 0
         && std::ranges::any_of(agents_.records(), [this](const auto& entry) {
              const auto& x = entry.second;
              return x.member_of == agents_.generation()
                     && x.steps_in == agents_.generation();
            });
}

void job_course::begin(const coordinator_started& event) {
  writes_ = event.writes_outcome;
  result_ = event.decided ? event.decided : event.known.decided;
  if (!result_)
    return;
  enter(phase::ended);
  was_over_ = is_told_ = true;
  step_.arm(alarm::close, step_.now() + limits_.close);
}

void job_course::end(outcome result) {
  assert(!is(phase::ended));
  enter(phase::ended);
  result_ = std::move(result);
  step_.disarm_all_but(alarm::lease);
  if (writes_) {
    step_.add(write_outcome{*result_});
    return step_.arm(alarm::outcome, step_.now() + limits_.connect);
  }
  on(outcome_written{});
}

// Who decided without that might, in its successor, decide otherwise.
void job_course::on(const outcome_written&) {
  if (!is(phase::ended) || std::exchange(is_told_, true))
    return;
  step_.disarm(alarm::outcome);
  auto order = end_job{*result_, {}};
  for (const auto& [id, record] : agents_.records())
    order.agents.push_back(id);
  step_.add(std::move(order));
  step_.arm(alarm::close, step_.now() + limits_.close);
}

void job_course::report_end(const agent_id& agent) {
  if (is_told_)
    step_.add(end_job{*result_, {agent}});
}

// One that began with the outcome waits for those who do not know it.
void job_course::close_if_empty() {
  if (agents_.records().empty() && !was_over_)
    close();
}

// Workers elsewhere may have longer to stop, as long as their agents hear from us.
// Those that do not lose their lease.
void job_course::on_close_due() {
  if (agents_.counts().holding > 0)
    return step_.arm(alarm::close, step_.now() + limits_.close);
  close();
}

void job_course::close() {
  is_closed_ = true;
  step_.add(close_job{});
}

} // namespace actorrun::core
