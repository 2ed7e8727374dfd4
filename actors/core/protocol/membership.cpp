#include "actors/core/protocol/membership.hpp"

#include "actors/core/text.hpp"

#include <cassert>
#include <type_traits>
#include <utility>
#include <variant>

namespace actorrun::core {

namespace {

/// A join that has no answer for this part of the fence may have met the next cut.
constexpr auto joins_per_fence = 4;

duration since(time_point aged_at, time_point now) {
  return aged_at == time_point{} ? duration::zero() : now - aged_at;
}

} // namespace

membership::membership(offer offering, timeouts limits)
  : offer_(std::move(offering)), link_(step_, limits, offer_.agent),
    workers_(step_, link_, lease_, share_, offer_),
    departure_(step_, link_, lease_, share_, workers_) {}

// What concerns one region alone goes there.
std::vector<membership_effect> membership::step(const membership_event& event,
                                                time_point now) {
  step_.begin(now);
  if (!link_.is(link::finished))
    std::visit(
      [this]<class Event>(const Event& x) {
        if constexpr (std::is_same_v<Event, agent_started>)
          link_.begin();
        else if constexpr (requires { workers_.on(x); })
          workers_.on(x);
        else if constexpr (requires { departure_.on(x); })
          departure_.on(x);
        else
          on(x);
      },
      event);
  return step_.take();
}

// -- the link -----------------------------------------------------------------

void membership::on(const coordinator_found& event) {
  if (!link_.is(link::seeking))
    return;
  const auto now = step_.now();
  // Else it would have parted.
  assert(!departure_.how() || share_.has_workers());
  lease_.ask_to_join(now);
  link_.join(event.is_remote, share_.may_run()
                                ? lease_.fence() / joins_per_fence
                                : duration::zero());
  // Past the fence the workers have been killed, even if no report says so yet.
  auto held = share_.held(lease_.is_over(now), now);
  if (held) {
    held->drain_left = departure_.time_left();
    held->notice = departure_.notice();
  }
  auto told = job_;
  if (told)
    told->newest = later(told->newest, workers_.newest());
  step_.add(send_join{offer_, std::move(held), std::move(told)});
}

void membership::on(const coordinator_not_found& event) {
  if (!link_.is(link::seeking))
    return;
  if (link_.miss(event.why))
    return give_up();
  // It is proved that there was no coordinator at that moment. So our place could
  // not be given away, and a new coordinator must listen for a lease.
  if (event.why.code == errc::coordinator_gone)
    extend_fence(event.tried + lease_.fence());
  try_later();
}

void membership::on(const coordinator_disconnected&) {
  if (link_.forget_dropped())
    return;
  if (link_.is(link::parting))
    departure_.finish();
  else if (link_.is_connected())
    seek();
}

void membership::on(const second_way_found&) {
  if (!link_.has_second_way())
    return;
  link_.drop();
  seek();
  link_.try_now();
}

void membership::on(const join_accepted& event) {
  if (!link_.is(link::joining))
    return;
  const auto now = step_.now();
  link_.accept();
  lease_.begin(event.keep_alive_interval, event.fence, event.age,
               share_.may_run(), now);
  learn(job_, event.job);
  if (lease_.has_keep_alives()) {
    step_.arm(alarm::keep_alive, lease_.next_due());
    step_.arm(alarm::fence, lease_.due());
    if (share_.may_run())
      step_.add(set_fence{lease_.due(), share_.generation()});
    if (lease_.was_joining_slow(now))
      check_control();
  }
  workers_.report_safe_points();
  departure_.tell_notice();
  if (departure_.how())
    step_.add(send_leaving{departure_.how()->signal});
}

void membership::on(const join_rejected& event) {
  if (!link_.is(link::joining))
    return;
  if (link_.refuse(event.why) && !departure_.how())
    seek();
  else
    departure_.fail(event.why);
}

// The link is gone, or given up.
void membership::seek() {
  link_.lose();
  if (!share_.may_run())
    workers_.forget_next();
  if (share_.is_ahead() && share_.has_workers())
    workers_.stop(0);
  try_later();
}

void membership::try_later() {
  link_.try_later(share_.may_run(),
                  share_.plan() ? share_.plan()->node_count : 0);
}

std::optional<coordinator_loss> membership::loss() const {
  const auto sought = current_search();
  if (!sought || !was_accepted() || departure_.how())
    return std::nullopt;
  auto out = coordinator_loss{.why = link_.last_failure(),
                              .since = sought->since,
                              .until = sought->until};
  if (share_.may_run() && lease_.has_keep_alives())
    out.workers_until = lease_.due();
  return out;
}

void membership::give_up() {
  departure_.fail(link_.why_given_up(share() == share_state::succeeded));
}

// -- the lease ----------------------------------------------------------------

void membership::check_control() {
  lease_.ask_for_proof(step_.now());
  step_.add(core::check_control{step_.now()});
}

void membership::on(const control_checked& event) {
  if (!link_.is(link::joined) || !lease_.take_proof(event.asked))
    return;
  step_.add(send_keep_alive{event.asked});
  if (const auto again = step_.now() + lease_.repeat_after();
      again < lease_.next_due())
    step_.arm(alarm::keep_alive, again);
}

void membership::on_keep_alive_due() {
  const auto beat = lease_.take_beat(step_.now());
  step_.arm(alarm::keep_alive, beat.next);
  if (beat.repeated)
    step_.add(send_keep_alive{*beat.repeated});
  if (beat.is_proof_due)
    check_control();
  if (share_.may_run() && lease_.is_silent(step_.now()))
    link_.try_second_way();
}

void membership::on(const lease_granted& event) {
  // A time to come was sent by no keep-alive, and would lengthen the fence.
  if (!link_.is(link::joined) || event.sent > step_.now())
    return;
  const auto is_awaited = lease_.take_answer(event.sent, step_.now());
  extend_fence(event.sent + lease_.fence_of(event.age));
  if (!share_.may_run() && !lease_.is_over(step_.now()))
    workers_.begin_next();
  if (!is_awaited)
    return;
  link_.forget_second_way();
  if (lease_.take_overdue())
    check_control();
}

// If the fence has passed, the workers are dead, and the news comes too late.
// Without a lease there is no later one.
void membership::extend_fence(time_point due) {
  if (lease_.extend(due, share_.may_run(), step_.now()) && share_.may_run())
    step_.add(set_fence{due, share_.generation()});
}

// The clock was read just before, and the answer that moved the fence counted as
// one in time.
void membership::on(const fence_fired& event) {
  if (!share_.holds(event.generation) || !share_.may_run())
    return;
  lease_.end_at(event.due);
  on_fence();
}

// The lease may have ended: the coordinator may be about to give our place to
// another agent.
void membership::on_fence() {
  const auto running
    = share_.may_run() ? std::optional{share_.generation()} : std::nullopt;
  if (const auto again
      = lease_.holds_until(running, link_.is(link::joined), step_.now()))
    return step_.arm(alarm::fence, *again);
  if (running) {
    lease_.kill(*running);
    workers_.kill_fenced();
  }
  if (link_.is_connected()) {
    link_.drop();
    link_.miss({errc::connection_timed_out,
                "it has not answered for " + duration_text(lease_.fence())});
    seek();
  }
}

// -- the share ----------------------------------------------------------------

void membership::on(const charter_changed& event) {
  if (link_.is_connected())
    learn(job_, event.job);
}

void membership::on(const generation_formed& event) {
  // Over a link that was given up: others may have formed newer generations, of
  // which nothing came.
  if (link_.is(link::seeking))
    return;
  learn(job_, event.job);
  if (auto ok = check_plan(event.plan, offer_); !ok)
    return departure_.fail(ok.error());
  if (workers_.refuse(event.plan.generation))
    return;
  if (lease_.is_over(step_.now()) && share_.may_run())
    return on_fence();
  workers_.take(event.plan, departure_.how().has_value());
}

void membership::on(const start_ahead_ordered& event) {
  if (link_.is(link::joined) && !departure_.has_begun())
    workers_.start_ahead(event);
}

void membership::on(const group_started& event) {
  if (!share_.holds(event.generation) || share() != share_state::starting)
    return;
  workers_.run(event);
  departure_.give_due_notice();
}

void membership::on(const group_failed& event) {
  if (!share_.holds(event.generation))
    return;
  // The worker died before the order to stop had reached its group.
  if (share() == share_state::stopping)
    return add_failures({{event.failure}, 0}, event.aged_at);
  if (!share_.is_active())
    return;
  auto failure = aged(event.failure, since(event.aged_at, step_.now()));
  if (lease_.has_killed(failure, step_.now()))
    return on_fence();
  if (departure_.was_noticed(failure))
    return departure_.leave_drained();
  workers_.fail(std::move(failure));
}

void membership::on(const group_succeeded& event) {
  if (!share_.holds(event.generation))
    return;
  // The workers ended by themselves before the order to stop had reached them, or
  // because they were given notice.
  if (share() == share_state::stopping
      || (share_.is_active() && departure_.has_given_notice()))
    return on(group_stopped{event.generation});
  if (share_.is_active())
    workers_.succeed();
}

void membership::on(const group_stopped& event) {
  if (!share_.holds(event.generation))
    return;
  if (event.master_port != 0)
    offer_.master_port = event.master_port;
  departure_.say_drained();
  workers_.end(event);
  add_failures(event.others, event.aged_at);
  if (event.unkillable_count > 0)
    departure_.give_up_workers(offer_.host);
  if (lease_.is_over(step_.now()))
    workers_.forget_next();
  workers_.report_end();
  if (departure_.how())
    departure_.advance(departure_.how()->signal);
  else
    workers_.begin_next();
}

void membership::add_failures(collateral failures, time_point aged_at) {
  failures = aged(std::move(failures), since(aged_at, step_.now()));
  std::erase_if(failures.listed, [&](const auto& x) {
    return lease_.has_killed(x, step_.now()) || departure_.was_noticed(x);
  });
  share_.add(std::move(failures), step_.now());
}

// -- timers -------------------------------------------------------------------

void membership::on(const timer_fired& event) {
  const auto fired = step_.take(event.timer);
  if (!fired)
    return;
  switch (fired->which) {
    case alarm::retry:
      return link_.try_now();
    case alarm::seek:
      return give_up();
    case alarm::timeout:
      link_.drop();
      link_.miss(
        {errc::connection_timed_out, "the coordinator does not answer"});
      return seek();
    case alarm::keep_alive:
      return on_keep_alive_due();
    case alarm::fence:
      return on_fence();
    case alarm::parting:
      return departure_.finish();
    case alarm::drain:
      return departure_.leave_drained();
    case alarm::notice:
      return departure_.tell_notice();
    case alarm::second_way:
      if (share_.may_run())
        link_.try_second_way();
      return;
  }
}

} // namespace actorrun::core
