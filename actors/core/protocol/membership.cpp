#include "actors/core/protocol/membership.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <utility>

namespace actorrun::core {

namespace {

using std::chrono::milliseconds;

constexpr auto retry_delay_min = milliseconds{20};
/// While workers run, so that a new coordinator learns of them at once …
constexpr auto retry_delay_max_running = milliseconds{200};
/// … and while no workers run.
constexpr auto retry_delay_max_idle = milliseconds{1'000};
/// The first attempts of all nodes are spread over so much for each of them: a
/// coordinator that is started again cannot take thousands in one instant.
constexpr auto spread_per_node = std::chrono::microseconds{100};
/// A join that has no answer for this part of the fence may have met the next cut.
constexpr auto joins_per_fence = 4;

bool is_final(errc code) {
  return code == errc::protocol_mismatch || code == errc::job_mismatch
         || code == errc::secret_mismatch || code == errc::user_mismatch
         || code == errc::certificate_mismatch
         || code == errc::settings_mismatch || code == errc::etcd_denied;
}

/// Of one agent among the nodes of the job; whole milliseconds.
/// @param own Differs from agent to agent.
duration first_delay(const std::optional<generation_plan>& plan, size_t own) {
  constexpr auto parts = int64_t{1'024};
  const auto node_count = plan ? plan->node_count : 0;
  return std::chrono::floor<milliseconds>(spread_per_node * int64_t{node_count}
                                          * int64_t(own % parts) / parts);
}

duration since(time_point aged_at, time_point now) {
  return aged_at == time_point{} ? duration::zero() : now - aged_at;
}

} // namespace

membership::membership(offer offering, timeouts limits)
  : offer_(std::move(offering)), limits_(limits) {}

std::vector<membership_effect> membership::step(const membership_event& event,
                                                time_point now) {
  now_ = now;
  if (link_ != link::finished)
    std::visit([this](const auto& x) { on(x); }, event);
  return std::exchange(out_, {});
}

// -- looking for the coordinator ----------------------------------------------

void membership::on(const agent_started&) {
  arm(alarm::seek, now_ + limits_.seek);
  out_.emplace_back(seek_coordinator{});
}

void membership::on(const coordinator_found& event) {
  if (link_ != link::seeking)
    return;
  is_remote_ = event.is_remote;
  assert(!ending_ || has_workers()); // Else it would have parted.
  link_ = link::joining;
  lease_.ask_to_join(now_);
  alarms_.disarm(alarm::retry);
  arm(alarm::timeout, now_ + limits_.connect);
  if (is_remote_ && lease_.fence() > duration::zero() && share_.may_run())
    arm(alarm::second_way, now_ + lease_.fence() / joins_per_fence);
  // Past the fence the workers have been killed, even if no report says so yet.
  auto held = share_.held(lease_.is_over(now_), now_);
  if (held) {
    if (!share_.is_ahead())
      held->parked = parked_;
    if (const auto leaves = alarms_.due(alarm::drain); leaves && !ending_)
      held->drain_left = std::max(*leaves - now_, duration::zero());
  }
  auto told = job_;
  if (told)
    told->newest = later(told->newest, newest_);
  out_.emplace_back(send_join{offer_, std::move(held), std::move(told)});
}

void membership::on(const coordinator_not_found& event) {
  if (link_ != link::seeking)
    return;
  last_failure_ = event.why;
  if (event.why.code == errc::job_over
      || (!was_accepted_ && is_final(event.why.code)))
    return give_up();
  // It is proved that there was no coordinator at that moment. So our place could
  // not be given away, and a new coordinator must listen for a lease.
  if (event.why.code == errc::coordinator_gone)
    extend_fence(event.tried + lease_.fence());
  arm(alarm::retry, now_ + retry_delay());
}

void membership::on(const coordinator_disconnected&) {
  if (const auto was = std::exchange(dropped_, dropped_link::none);
      was != dropped_link::none) {
    if (was == dropped_link::awaited)
      out_.emplace_back(seek_coordinator{});
  } else if (link_ == link::parting) {
    link_ = link::finished;
    out_.emplace_back(finish{*ending_});
  } else if (is_connected()) {
    seek();
  }
}

std::optional<membership::search> membership::current_search() const {
  const auto until = alarms_.due(alarm::seek);
  return until ? std::optional{search{*until - limits_.seek, *until}}
               : std::nullopt;
}

void membership::on(const second_way_found&) {
  if (!has_second_way_ || !is_connected())
    return;
  drop();
  seek();
  alarms_.disarm(alarm::retry);
  try_again();
}

void membership::try_second_way_if_silent() {
  if (is_remote_ && !has_second_way_ && share_.may_run()
      && lease_.is_silent(now_))
    begin_second_way();
}

void membership::begin_second_way() {
  has_second_way_ = true;
  out_.emplace_back(try_second_way{});
}

void membership::forget_second_way() {
  if (std::exchange(has_second_way_, false))
    out_.emplace_back(core::forget_second_way{});
}

void membership::seek() {
  if (link_ == link::joined)
    arm(alarm::seek, now_ + limits_.seek);
  link_ = link::seeking;
  has_second_way_ = false; // Whoever seeks finds it, or has given it up.
  alarms_.disarm(alarm::second_way);
  if (!share_.may_run())
    forget_next();
  if (share_.is_ahead() && has_workers())
    stop(0);
  alarms_.disarm(alarm::keep_alive);
  alarms_.disarm(alarm::timeout);
  arm(alarm::retry, now_ + retry_delay());
}

void membership::try_again() {
  if (dropped_ != dropped_link::none)
    dropped_ = dropped_link::awaited;
  else
    out_.emplace_back(seek_coordinator{});
}

void membership::drop() {
  dropped_ = is_remote_ ? dropped_link::ends : dropped_link::none;
  out_.emplace_back(drop_link{});
}

duration membership::retry_delay() {
  const auto most
    = share_.may_run() ? retry_delay_max_running : retry_delay_max_idle;
  const auto delay = std::min<duration>(
    most, retry_delay_min * (1u << std::min(attempts_, 10u)));
  // Agents that lost the same coordinator must not come back in one instant.
  const auto own = std::hash<std::string>{}(offer_.agent.value);
  const auto spread = own % 256;
  const auto first
    = attempts_++ == 0 ? first_delay(share_.plan(), own / 256) : duration{0};
  return first + delay - delay * int64_t(spread) / 1024;
}

void membership::give_up() {
  if (ending_)
    return;
  auto why = last_failure_.value_or(
    failure{errc::connection_timed_out, "the coordinator did not answer"});
  if (was_accepted_ && why.code != errc::settings_mismatch
      && why.code != errc::job_over)
    why = {errc::coordinator_lost,
           "the coordinator is gone and did not come back within "
             + std::to_string(limits_.seek.count() / 1000) + " s (" + why.text
             + ")"
             + (share_.state() == share_state::succeeded
                  ? "; the workers of this node have succeeded, and no node is "
                    "left who knows whether the job has"
                  : "")};
  end({.result = {}, .why = std::move(why), .signal = 0}, 0);
}

// -- the lease ----------------------------------------------------------------

void membership::on(const join_accepted& event) {
  if (link_ != link::joining)
    return;
  link_ = link::joined;
  was_accepted_ = true;
  attempts_ = 0;
  alarms_.disarm(alarm::second_way);
  forget_second_way();
  lease_.begin(event.keep_alive_interval, event.fence, share_.may_run(), now_);
  alarms_.disarm(alarm::timeout);
  alarms_.disarm(alarm::seek);
  keep(event.job);
  if (lease_.has_keep_alives()) {
    arm(alarm::keep_alive, lease_.next_due());
    arm(alarm::fence, lease_.due());
    if (share_.may_run())
      out_.emplace_back(set_fence{lease_.due(), share_.generation()});
    if (lease_.was_joining_slow(now_))
      check_control();
  }
  if (has_safe_points())
    out_.emplace_back(send_safe_point{share_.generation(), *safe_point_});
  want_safe_point();
  if (ending_)
    out_.emplace_back(send_leaving{ending_->signal});
}

void membership::on(const join_rejected& event) {
  if (link_ != link::joining)
    return;
  forget_second_way();
  drop();
  // Whoever has started a coordinator with other settings may correct that. And one
  // that has just begun may not know yet what it should answer.
  const auto may_change = event.why.code == errc::connection_failed
                          || (was_accepted_
                              && (event.why.code == errc::settings_mismatch
                                  || event.why.code == errc::bad_plan));
  if (may_change && !ending_) {
    last_failure_ = event.why;
    return seek();
  }
  if (!ending_)
    ending_ = ending{.result = {}, .why = event.why, .signal = 0};
  alarms_.disarm(alarm::timeout);
  link_ = link::seeking;
  if (has_workers())
    stop(0);
  else
    part();
}

void membership::check_control() {
  lease_.ask_for_proof(now_);
  out_.emplace_back(core::check_control{now_});
}

void membership::on(const control_checked& event) {
  if (link_ != link::joined || !lease_.take_proof(event.asked))
    return;
  out_.emplace_back(send_keep_alive{event.asked});
  if (const auto again = now_ + lease_.repeat_after();
      again < lease_.next_due())
    arm(alarm::keep_alive, again);
}

void membership::on_keep_alive_due() {
  const auto beat = lease_.take_beat(now_);
  arm(alarm::keep_alive, beat.next);
  if (beat.repeated)
    out_.emplace_back(send_keep_alive{*beat.repeated});
  if (beat.is_proof_due)
    check_control();
  try_second_way_if_silent();
}

void membership::on(const lease_granted& event) {
  // A time to come was sent by no keep-alive, and would lengthen the fence.
  if (link_ != link::joined || event.sent > now_)
    return;
  const auto is_awaited = lease_.take_answer(event.sent, now_);
  extend_fence(event.sent + lease_.fence());
  if (next_ && !share_.may_run() && !lease_.is_over(now_))
    begin(*std::exchange(next_, std::nullopt));
  if (!is_awaited)
    return;
  forget_second_way();
  if (lease_.take_overdue())
    check_control();
}

// If the fence has passed, the workers are dead, and the news comes too late.
// Without a lease there is no later one.
void membership::extend_fence(time_point due) {
  if (lease_.extend(due, share_.may_run(), now_) && share_.may_run())
    out_.emplace_back(set_fence{due, share_.generation()});
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
  if (!lease_.is_over(now_))
    return arm(alarm::fence, lease_.due());
  // A busy coordinator may need longer than the fence to accept an agent, and
  // workers that have been killed may need longer to end.
  const auto is_done = !share_.may_run() || fenced_ == share_.generation();
  const auto counts_until = lease_.answer_counts_until();
  if (is_done && link_ == link::joined && now_ < counts_until)
    return arm(alarm::fence, counts_until);
  if (share_.may_run()) {
    if (share_.state() != share_state::failed)
      share_.set_state(share_state::stopping);
    fenced_ = share_.generation();
    out_.emplace_back(kill_group{fenced_, true});
  }
  if (is_connected()) {
    drop();
    seek();
  }
}

// Past the fence the machine kills the workers, even if this process slept: an
// ordered death.
bool membership::was_fenced(const worker_failure& x) const {
  const auto by_kill = (x.kind == failure_kind::signalled
                        || x.kind == failure_kind::timer_expired)
                       && x.code == SIGKILL;
  const auto not_begun
    = x.kind == failure_kind::not_started && x.code == ECANCELED;
  return (by_kill || not_begun) && lease_.is_over(now_ - x.age);
}

// -- generations
// -------------------------------------------------------------------

// A coordinator knows at least what it says, and what its agents have told it.
void membership::keep(const charter& told) {
  const auto newest = job_ ? later(job_->newest, told.newest) : told.newest;
  if (!job_ || told.revision >= job_->revision)
    job_ = told;
  job_->lease = told.lease;
  job_->newest = newest;
}

void membership::on(const charter_changed& event) {
  if (is_connected())
    keep(event.job);
}

void membership::on(const generation_formed& event) {
  // Over a link that was given up: others may have formed newer generations, of
  // which nothing came.
  if (link_ == link::seeking)
    return;
  keep(event.job);
  if (auto ok = check_plan(event.plan, offer_); !ok) {
    if (!ending_)
      end({.result = {}, .why = ok.error(), .signal = 0}, 0);
    return;
  }
  if (event.plan.generation <= newest_) {
    // Fencing: it is over already, unless it is a duplicate. A coordinator that
    // does not know that must not wait for us.
    const auto is_duplicate
      = share_.holds(event.plan.generation)
        || (next_ && next_->generation == event.plan.generation);
    if (!is_duplicate && is_connected())
      out_.emplace_back(send_stopped{event.plan.generation, 0});
    return;
  }
  if (lease_.is_over(now_) && share_.may_run())
    return on_fence();
  newest_ = event.plan.generation;
  if (ending_) {
    out_.emplace_back(send_stopped{newest_, 0});
  } else if (lease_.is_over(now_)) {
    next_ = event.plan; // This process may have slept: wait for the next grant.
  } else if (share_.may_run()) {
    next_ = event.plan;
    share_.set_state(share_state::stopping);
    out_.emplace_back(kill_group{share_.generation()});
  } else {
    begin(event.plan);
  }
}

void membership::on(const generation_revoked& event) {
  newest_ = std::max(newest_, event.generation);
  if (next_ && next_->generation <= event.generation)
    next_.reset();
  if (!share_.may_run() || share_.generation() > event.generation) {
    if (share_.holds(event.generation))
      share_.set_state(share_state::idle);
    if (link_ == link::seeking)
      return; // There is no link for the answer.
    // Those that are parked have waited for too long: told when they have ended.
    if (event.is_over && share_.generation() == event.generation
        && !parked_.local_ranks.empty())
      return stop(0);
    if (share_.holds(event.generation))
      report_stopped(0);
    else
      out_.emplace_back(
        send_stopped{.generation = event.generation, .parked = parked_});
  } else if (event.is_over) {
    if (share_.state() != share_state::failed)
      share_.set_state(share_state::stopping);
    out_.emplace_back(kill_group{share_.generation()});
  } else if (share_.state() == share_state::failed) {
    share_.set_state(share_state::stopping);
  } else {
    stop_for_next(event.reason);
  }
}

void membership::on(const safe_point_ordered& event) {
  if (!share_.holds(event.generation) || share_.state() != share_state::running)
    return;
  // What they have answered before counts no more. Until they answer this one, the
  // next coordinator must know that some may hold.
  using kind = safe_point_order::kind;
  if (safe_point_)
    safe_point_ = safe_point_report{
      .what = safe_point_report::kind::stepping,
      .round = event.order.what == kind::go_on ? 0 : event.order.round};
  out_.emplace_back(order_safe_point{event.generation, event.order});
}

// The answer says which of them live when all that do are parked. Those that have
// been asked for before, or still end, are reported in any case.
void membership::on(const start_ahead_ordered& event) {
  if (link_ != link::joined || ending_ || drain_)
    return;
  if (share_.may_run()) { // `group_stopped` answers for the newest.
    if (share_.is_ahead())
      newest_ = std::max(newest_, event.generation);
    return;
  }
  if (event.generation < newest_ || next_ || !parked_.local_ranks.empty()
      || share_.holds(event.generation)) {
    out_.emplace_back(
      send_stopped{.generation = event.generation, .parked = parked_});
    return;
  }
  newest_ = event.generation;
  is_parking_ = true;
  share_.begin_ahead(event.generation);
  auto plan = generation_plan{};
  plan.generation = event.generation;
  plan.own.agent = offer_.agent;
  plan.own.slot_count = offer_.slot_count;
  plan.restart_count = event.restart_count;
  plan.is_ahead = true;
  out_.emplace_back(set_fence{lease_.due()});
  out_.emplace_back(start_group{std::move(plan)});
}

void membership::begin(const generation_plan& plan) {
  parked_ = {};
  safe_point_.reset();
  is_parking_ = false;
  share_.begin(plan);
  out_.emplace_back(set_fence{lease_.due()});
  out_.emplace_back(start_group{plan});
}

// Workers that have been asked to park are to end now.
void membership::stop(int signal) {
  if (share_.state() == share_state::stopping && !is_parking_)
    return;
  is_parking_ = false;
  share_.set_state(share_state::stopping);
  out_.emplace_back(stop_group{share_.generation(), signal});
}

void membership::stop_for_next(const std::string& reason) {
  if (share_.state() == share_state::stopping)
    return;
  is_parking_ = true;
  if (share_.state() != share_state::failed)
    share_.set_state(share_state::stopping);
  out_.emplace_back(stop_group{
    .generation = share_.generation(), .may_park = true, .reason = reason});
}

// Whether the announced generation still has a place for this agent, only a new
// announcement can say.
void membership::forget_next() {
  if (next_)
    newest_ = share_.generation();
  next_.reset();
}

// -- what the worker group reports --------------------------------------------

void membership::on(const group_started& event) {
  if (!share_.holds(event.generation)
      || share_.state() != share_state::starting)
    return;
  share_.set_state(share_state::running);
  if (is_connected())
    out_.emplace_back(send_started{event.generation, event.pids});
  if (drain_ && drain_->gives_notice)
    give_notice();
}

void membership::on(const group_failed& event) {
  if (!share_.holds(event.generation))
    return;
  // The worker died before the order to stop had reached its group.
  if (share_.state() == share_state::stopping)
    return add_failures({{event.failure}, 0}, event.aged_at);
  if (!share_.is_active())
    return;
  auto failure = aged(event.failure, since(event.aged_at, now_));
  if (was_fenced(failure))
    return on_fence();
  if (was_noticed(failure))
    return leave_drained();
  share_.fail(failure, now_);
  if (is_connected())
    out_.emplace_back(send_failed{event.generation, std::move(failure)});
  stop_for_next("a worker of this node has failed");
}

void membership::on(const group_succeeded& event) {
  if (!share_.holds(event.generation))
    return;
  // The workers ended by themselves before the order to stop had reached them, or
  // because they were given notice.
  if (share_.state() == share_state::stopping
      || (share_.is_active() && drain_ && drain_->noticed_at))
    return on(group_stopped{event.generation});
  if (!share_.is_active())
    return;
  share_.set_state(share_state::succeeded);
  if (is_connected())
    out_.emplace_back(send_succeeded{event.generation});
}

void membership::on(const group_stopped& event) {
  if (!share_.holds(event.generation))
    return;
  if (event.master_port != 0)
    offer_.master_port = event.master_port;
  if (drain_ && !ending_)
    say_leaving();
  share_.end();
  parked_ = event.parked;
  add_failures(event.others, event.aged_at);
  if (event.unkillable_count > 0)
    give_up_workers(event.unkillable_count);
  if (lease_.is_over(now_))
    forget_next();
  if (is_connected())
    report_stopped(offer_.master_port);
  // A newer generation that was revoked before it could begin here.
  if (is_connected() && !next_ && newest_ > event.generation)
    out_.emplace_back(send_stopped{.generation = newest_,
                                   .master_port = offer_.master_port,
                                   .parked = parked_});
  if (ending_ && !parked_.is_empty())
    stop(ending_->signal);
  else if (ending_)
    part();
  else if (next_)
    begin(*std::exchange(next_, std::nullopt));
}

// The coordinator counts on them, and names them in the next plan.
void membership::on(const group_parked& event) {
  if (!share_.holds(event.generation) || share_.may_run())
    return;
  parked_ = event.parked;
  if (is_connected())
    report_stopped(0);
}

void membership::on(const group_safe_point& event) {
  if (!share_.holds(event.generation) || share_.state() != share_state::running)
    return;
  const auto is_first = !std::exchange(safe_point_, event.report);
  if (!is_connected())
    return;
  out_.emplace_back(send_safe_point{event.generation, event.report});
  if (is_first) // The limit may have come near while the group changed.
    want_safe_point();
}

bool membership::has_safe_points() const {
  return safe_point_ && share_.state() == share_state::running;
}

// Of workers that have no safe points each saves when it likes.
void membership::on(const limit_near& event) {
  limit_ = now_ + event.left;
  if (has_safe_points()) {
    if (is_connected())
      want_safe_point();
  } else if (share_.state() == share_state::running) {
    out_.emplace_back(notify_workers{share_.generation()});
  }
}

// The coordinator knows a limit that it has heard of before.
void membership::want_safe_point() {
  if (limit_ && now_ < *limit_ && share_.state() == share_state::running)
    out_.emplace_back(send_safe_point{
      share_.generation(),
      {.what = safe_point_report::kind::wanted,
       .left = std::chrono::ceil<std::chrono::milliseconds>(*limit_ - now_)}});
}

void membership::add_failures(collateral failures, time_point aged_at) {
  failures = aged(std::move(failures), since(aged_at, now_));
  std::erase_if(failures.listed,
                [&](const auto& x) { return was_fenced(x) || was_noticed(x); });
  share_.add(std::move(failures), now_);
}

// Repeated after a link broke; the failures are older by then.
void membership::report_stopped(uint16_t master_port) {
  out_.emplace_back(send_stopped{share_.generation(), master_port,
                                 share_.others(now_), unkillable_count_,
                                 parked_});
}

// -- the end ------------------------------------------------------------------

void membership::on(const job_ended& event) {
  if (ending_ && ending_->result)
    return;
  auto how = ending{.result = event.result, .why = {}, .signal = 0};
  // Success of others: no program of this node has come to its end.
  if (event.result.kind == outcome::verdict::succeeded && !ending_
      && share_.state() != share_state::succeeded)
    how.why = failure{errc::job_over,
                      share_.plan()
                        ? "the job has succeeded, and this node stood by when "
                          "it did: its own workers had no part in that"
                        : "the job has succeeded, and this node stood by: "
                          "nothing was run here"};
  end(std::move(how), 0);
}

void membership::on(const leave_requested& event) {
  if (std::exchange(is_asked_to_leave_, true)) { // No grace period.
    if (has_workers())
      out_.emplace_back(
        kill_group{.generation = share_.generation(), .with_parked = true});
    return;
  }
  if (ending_) // The workers have been told, for another reason.
    return;
  if (link_ == link::joined)
    out_.emplace_back(send_leaving{event.signal});
  end({.result = {}, .why = {}, .signal = event.signal}, event.signal);
}

// A coordinator that has taken over knows of no safe point to wait for, and repeats
// the order without.
void membership::on(const drain_ordered& event) {
  if (ending_)
    return;
  if (!drain_) {
    drain_.emplace();
    if (!share_.may_run())
      return leave_drained();
    arm(alarm::drain, now_ + event.time);
  }
  if (!event.at_safe_point && !std::exchange(drain_->gives_notice, true)
      && share_.state() == share_state::running)
    give_notice();
}

// Workers that have not all started yet get it then.
void membership::give_notice() {
  drain_->noticed_at = now_;
  out_.emplace_back(notify_workers{share_.generation()});
}

// The end of a worker that has been told of the end is no failure.
bool membership::was_noticed(const worker_failure& x) const {
  return drain_ && drain_->noticed_at && x.kind != failure_kind::unkillable
         && now_ - x.age >= *drain_->noticed_at;
}

void membership::say_leaving() {
  if (link_ == link::joined)
    out_.emplace_back(send_leaving{0});
  ending_ = ending{.result = {}, .why = {}, .signal = 0};
}

void membership::leave_drained() {
  if (ending_)
    return;
  say_leaving();
  end(*ending_, 0);
}

// Their memory, devices and ports stay in use, so nothing more can be started on
// this node, and the operator must learn of it.
void membership::give_up_workers(uint32_t count) {
  unkillable_count_ = count;
  if (!ending_)
    ending_.emplace();
  next_.reset();
  const auto one = count == 1;
  ending_->why
    = failure{errc::worker_unkillable,
              std::to_string(count) + (one ? " worker" : " workers")
                + " of generation " + to_string(share_.generation()) + " on "
                + offer_.host + " did not end after SIGKILL and "
                + (one ? "hangs" : "hang") + " in the kernel"};
}

// Unkillable workers stay a reason, whatever ends the agent.
void membership::end(ending how, int signal) {
  if (unkillable_count_ > 0)
    how.why = ending_->why;
  ending_ = std::move(how);
  next_.reset();
  if (has_workers())
    stop(signal);
  else
    part();
}

// The coordinator acknowledges the notice by cutting the link. An agent that did
// not wait for that might end before its last messages have been sent.
void membership::part() {
  forget_second_way();
  if (link_ == link::joined && lease_.has_keep_alives()) {
    out_.emplace_back(send_left{});
    link_ = link::parting;
    alarms_.disarm(alarm::keep_alive);
    arm(alarm::parting, now_ + limits_.fence());
    return;
  }
  if (link_ == link::joined)
    out_.emplace_back(send_left{});
  link_ = link::finished;
  out_.emplace_back(finish{*ending_});
}

// -- timers -------------------------------------------------------------------

void membership::on(const timer_fired& event) {
  const auto fired = alarms_.take(event.timer);
  if (!fired)
    return;
  switch (fired->which) {
    case alarm::retry:
      return try_again();
    case alarm::seek:
      return give_up();
    case alarm::timeout:
      drop();
      last_failure_ = failure{errc::connection_timed_out,
                              "the coordinator does not answer"};
      return seek();
    case alarm::keep_alive:
      return on_keep_alive_due();
    case alarm::fence:
      return on_fence();
    case alarm::parting:
      link_ = link::finished;
      out_.emplace_back(finish{*ending_});
      return;
    case alarm::drain:
      return leave_drained();
    case alarm::second_way:
      if (link_ == link::joining && share_.may_run())
        begin_second_way();
      return;
  }
}

std::string to_string(membership::link x) {
  switch (x) {
    case membership::link::seeking:
      return "seeking";
    case membership::link::joining:
      return "joining";
    case membership::link::joined:
      return "joined";
    case membership::link::parting:
      return "parting";
    case membership::link::finished:
      return "finished";
  }
  return "unknown";
}

} // namespace actorrun::core
