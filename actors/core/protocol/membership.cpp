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
/// How often a keep-alive that was sent in time is repeated at least, if it stays
/// unanswered and the fence is two intervals or more.
constexpr auto repetitions_before_fence = 4;
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
  auto out = effects{};
  if (link_ != link::finished)
    std::visit([&](const auto& x) { on(x, now, out); }, event);
  return out;
}

// -- looking for the coordinator ----------------------------------------------

void membership::on(const agent_started&, time_point now, effects& out) {
  arm(alarm::seek, now + limits_.seek, out);
  out.emplace_back(seek_coordinator{});
}

void membership::on(const coordinator_found& event, time_point now,
                    effects& out) {
  if (link_ != link::seeking)
    return;
  is_remote_ = event.is_remote;
  assert(!ending_ || has_workers()); // Else it would have parted.
  link_ = link::joining;
  join_sent_ = now;
  alarms_.disarm(alarm::retry);
  arm(alarm::timeout, now + limits_.connect, out);
  if (is_remote_ && fence_ > duration::zero() && share_.may_run())
    arm(alarm::second_way, now + fence_ / joins_per_fence, out);
  // Past the fence the workers have been killed, even if no report says so yet.
  auto held = share_.held(now >= fence_due_, now);
  if (held) {
    if (!share_.is_ahead())
      held->parked = parked_;
    if (const auto leaves = alarms_.due(alarm::drain); leaves && !ending_)
      held->drain_left = std::max(*leaves - now, duration::zero());
  }
  auto told = job_;
  if (told)
    told->newest = later(told->newest, newest_);
  out.emplace_back(send_join{offer_, std::move(held), std::move(told)});
}

void membership::on(const coordinator_not_found& event, time_point now,
                    effects& out) {
  if (link_ != link::seeking)
    return;
  last_failure_ = event.why;
  if (event.why.code == errc::job_over
      || (!was_accepted_ && is_final(event.why.code)))
    return give_up(now, out);
  // It is proved that there was no coordinator at that moment. So our place could
  // not be given away, and a new coordinator must listen for a lease.
  if (event.why.code == errc::coordinator_gone)
    extend_fence(event.tried + fence_, now, out);
  arm(alarm::retry, now + retry_delay(), out);
}

void membership::on(const coordinator_disconnected&, time_point now,
                    effects& out) {
  if (std::exchange(is_dropping_, false)) {
    if (std::exchange(is_retry_due_, false))
      out.emplace_back(seek_coordinator{});
  } else if (link_ == link::parting) {
    link_ = link::finished;
    out.emplace_back(finish{*ending_});
  } else if (is_connected()) {
    seek(now, out);
  }
}

std::optional<membership::search> membership::current_search() const {
  const auto until = alarms_.due(alarm::seek);
  return until ? std::optional{search{*until - limits_.seek, *until}}
               : std::nullopt;
}

void membership::on(const second_way_found&, time_point now, effects& out) {
  if (!has_second_way_ || !is_connected())
    return;
  drop(out);
  seek(now, out);
  alarms_.disarm(alarm::retry);
  try_again(out);
}

// Half of the fence has passed without an answer, and the present keep-alive was
// repeated.
void membership::try_second_way_if_silent(time_point now, effects& out) {
  if (is_remote_ && !has_second_way_ && share_.may_run() && unanswered_
      && now >= fence_due_ - fence_ / 2
      && now >= *unanswered_ + 2 * repeat_after())
    begin_second_way(out);
}

void membership::begin_second_way(effects& out) {
  has_second_way_ = true;
  out.emplace_back(try_second_way{});
}

void membership::forget_second_way(effects& out) {
  if (std::exchange(has_second_way_, false))
    out.emplace_back(core::forget_second_way{});
}

void membership::seek(time_point now, effects& out) {
  if (link_ == link::joined)
    arm(alarm::seek, now + limits_.seek, out);
  link_ = link::seeking;
  has_second_way_ = false; // Whoever seeks finds it, or has given it up.
  alarms_.disarm(alarm::second_way);
  if (!share_.may_run())
    forget_next();
  if (share_.is_ahead() && has_workers())
    stop(0, out);
  alarms_.disarm(alarm::keep_alive);
  alarms_.disarm(alarm::timeout);
  arm(alarm::retry, now + retry_delay(), out);
}

void membership::try_again(effects& out) {
  if (is_dropping_)
    is_retry_due_ = true;
  else
    out.emplace_back(seek_coordinator{});
}

void membership::drop(effects& out) {
  is_dropping_ = is_remote_;
  out.emplace_back(drop_link{});
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

void membership::give_up(time_point now, effects& out) {
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
  end({.result = {}, .why = std::move(why), .signal = 0}, 0, now, out);
}

// -- the lease ----------------------------------------------------------------

void membership::on(const join_accepted& event, time_point now, effects& out) {
  if (link_ != link::joining)
    return;
  link_ = link::joined;
  was_accepted_ = true;
  accepted_at_ = now;
  attempts_ = 0;
  alarms_.disarm(alarm::second_way);
  forget_second_way(out);
  keep_alive_interval_ = event.keep_alive_interval;
  fence_ = event.fence;
  alarms_.disarm(alarm::timeout);
  alarms_.disarm(alarm::seek);
  keep(event.job);
  if (keep_alive_interval_ > duration::zero()) {
    // Workers whose fence has passed are dead: no acceptance revives them.
    if (now < fence_due_ || !share_.may_run())
      fence_due_ = join_sent_ + fence_;
    control_asked_.reset();
    unanswered_.reset();
    is_overdue_ = false;
    keep_alive_due_ = now + keep_alive_interval_;
    arm(alarm::keep_alive, keep_alive_due_, out);
    arm(alarm::fence, fence_due_, out);
    if (share_.may_run())
      out.emplace_back(set_fence{fence_due_, share_.generation()});
    if (now > join_sent_ + keep_alive_interval_)
      check_control(now, out); // The answer was slow.
  }
  if (has_safe_points())
    out.emplace_back(send_safe_point{share_.generation(), *safe_point_});
  want_safe_point(now, out);
  if (ending_)
    out.emplace_back(send_leaving{ending_->signal});
}

void membership::on(const join_rejected& event, time_point now, effects& out) {
  if (link_ != link::joining)
    return;
  forget_second_way(out);
  drop(out);
  // Whoever has started a coordinator with other settings may correct that. And one
  // that has just begun may not know yet what it should answer.
  const auto may_change = event.why.code == errc::connection_failed
                          || (was_accepted_
                              && (event.why.code == errc::settings_mismatch
                                  || event.why.code == errc::bad_plan));
  if (may_change && !ending_) {
    last_failure_ = event.why;
    return seek(now, out);
  }
  if (!ending_)
    ending_ = ending{.result = {}, .why = event.why, .signal = 0};
  alarms_.disarm(alarm::timeout);
  link_ = link::seeking;
  if (has_workers())
    stop(0, out);
  else
    part(now, out);
}

void membership::check_control(time_point now, effects& out) {
  control_asked_ = now;
  out.emplace_back(core::check_control{now});
}

// A late answer proves no more than that workers could be stopped after the
// question.
void membership::on(const control_checked& event, time_point now,
                    effects& out) {
  if (link_ != link::joined || control_asked_ != event.asked)
    return;
  control_asked_.reset();
  unanswered_ = event.asked;
  out.emplace_back(send_keep_alive{event.asked});
  if (const auto again = now + repeat_after(); again < keep_alive_due_)
    arm(alarm::keep_alive, again, out);
}

/// How soon a keep-alive without an answer is repeated: every repetition makes TCP
/// notice what was lost before it, so there are several before the fence falls.
duration membership::repeat_after() const {
  const auto after
    = (fence_ - keep_alive_interval_) / (repetitions_before_fence + 1);
  return after > duration::zero() ? std::min(after, keep_alive_interval_)
                                  : keep_alive_interval_;
}

void membership::on_keep_alive_due(time_point now, effects& out) {
  const auto is_due = now >= keep_alive_due_;
  if (is_due) {
    keep_alive_due_ = now + keep_alive_interval_;
    is_overdue_ = unanswered_ || control_asked_;
  }
  const auto again = unanswered_ ? now + repeat_after() : keep_alive_due_;
  arm(alarm::keep_alive, std::min(again, keep_alive_due_), out);
  if (unanswered_)
    out.emplace_back(send_keep_alive{*unanswered_});
  else if (is_due && !control_asked_)
    check_control(now, out);
  try_second_way_if_silent(now, out);
}

void membership::on(const lease_granted& event, time_point now, effects& out) {
  // A time to come was sent by no keep-alive, and would lengthen the fence.
  if (link_ != link::joined || event.sent > now)
    return;
  accepted_at_ = now;
  extend_fence(event.sent + fence_, now, out);
  if (next_ && !share_.may_run() && now < fence_due_)
    begin(*std::exchange(next_, std::nullopt), out);
  if (unanswered_ != event.sent)
    return;
  unanswered_.reset();
  forget_second_way(out);
  if (std::exchange(is_overdue_, false))
    check_control(now, out);
}

// If the fence has passed, the workers are dead, and the news comes too late.
// Without a lease there is no later one.
void membership::extend_fence(time_point due, time_point now, effects& out) {
  if (due <= fence_due_ || (now >= fence_due_ && share_.may_run()))
    return;
  fence_due_ = due;
  if (share_.may_run())
    out.emplace_back(set_fence{due, share_.generation()});
}

// The clock was read just before, and the answer that moved the fence counted as
// one in time.
void membership::on(const fence_fired& event, time_point now, effects& out) {
  if (!share_.holds(event.generation) || !share_.may_run())
    return;
  fence_due_ = event.due;
  on_fence(now, out);
}

// The lease may have ended: the coordinator may be about to give our place to
// another agent.
void membership::on_fence(time_point now, effects& out) {
  if (now < fence_due_) {
    arm(alarm::fence, fence_due_, out);
    return;
  }
  // A busy coordinator may need longer than the fence to accept an agent, and
  // workers that have been killed may need longer to end.
  const auto is_done = !share_.may_run() || fenced_ == share_.generation();
  if (is_done && link_ == link::joined && now < accepted_at_ + fence_) {
    arm(alarm::fence, accepted_at_ + fence_, out);
    return;
  }
  if (share_.may_run()) {
    if (share_.state() != share_state::failed)
      share_.set_state(share_state::stopping);
    fenced_ = share_.generation();
    out.emplace_back(kill_group{fenced_, true});
  }
  if (is_connected()) {
    drop(out);
    seek(now, out);
  }
}

// Past the fence the machine kills the workers, even if this process slept: an
// ordered death.
bool membership::was_fenced(const worker_failure& x, time_point now) const {
  const auto by_kill = (x.kind == failure_kind::signalled
                        || x.kind == failure_kind::timer_expired)
                       && x.code == SIGKILL;
  const auto not_begun
    = x.kind == failure_kind::not_started && x.code == ECANCELED;
  return (by_kill || not_begun) && now - x.age >= fence_due_;
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

void membership::on(const charter_changed& event, time_point, effects&) {
  if (is_connected())
    keep(event.job);
}

void membership::on(const generation_formed& event, time_point now,
                    effects& out) {
  // Over a link that was given up: others may have formed newer generations, of
  // which nothing came.
  if (link_ == link::seeking)
    return;
  keep(event.job);
  if (auto ok = check_plan(event.plan, offer_); !ok) {
    if (!ending_)
      end({.result = {}, .why = ok.error(), .signal = 0}, 0, now, out);
    return;
  }
  if (event.plan.generation <= newest_) {
    // Fencing: it is over already, unless it is a duplicate. A coordinator that
    // does not know that must not wait for us.
    const auto is_duplicate
      = share_.holds(event.plan.generation)
        || (next_ && next_->generation == event.plan.generation);
    if (!is_duplicate && is_connected())
      out.emplace_back(send_stopped{event.plan.generation, 0});
    return;
  }
  if (now >= fence_due_ && share_.may_run())
    return on_fence(now, out);
  newest_ = event.plan.generation;
  if (ending_) {
    out.emplace_back(send_stopped{newest_, 0});
  } else if (now >= fence_due_) {
    next_ = event.plan; // This process may have slept: wait for the next grant.
  } else if (share_.may_run()) {
    next_ = event.plan;
    share_.set_state(share_state::stopping);
    out.emplace_back(kill_group{share_.generation()});
  } else {
    begin(event.plan, out);
  }
}

void membership::on(const generation_revoked& event, time_point now,
                    effects& out) {
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
      return stop(0, out);
    if (share_.holds(event.generation))
      report_stopped(0, now, out);
    else
      out.emplace_back(
        send_stopped{.generation = event.generation, .parked = parked_});
  } else if (event.is_over) {
    if (share_.state() != share_state::failed)
      share_.set_state(share_state::stopping);
    out.emplace_back(kill_group{share_.generation()});
  } else if (share_.state() == share_state::failed) {
    share_.set_state(share_state::stopping);
  } else {
    stop_for_next(event.reason, out);
  }
}

void membership::on(const safe_point_ordered& event, time_point, effects& out) {
  if (!share_.holds(event.generation) || share_.state() != share_state::running)
    return;
  // What they have answered before counts no more. Until they answer this one, the
  // next coordinator must know that some may hold.
  using kind = safe_point_order::kind;
  if (safe_point_)
    safe_point_ = safe_point_report{
      .what = safe_point_report::kind::stepping,
      .round = event.order.what == kind::go_on ? 0 : event.order.round};
  out.emplace_back(order_safe_point{event.generation, event.order});
}

// The answer says which of them live when all that do are parked. Those that have
// been asked for before, or still end, are reported in any case.
void membership::on(const start_ahead_ordered& event, time_point,
                    effects& out) {
  if (link_ != link::joined || ending_ || is_draining_)
    return;
  if (share_.may_run()) { // `group_stopped` answers for the newest.
    if (share_.is_ahead())
      newest_ = std::max(newest_, event.generation);
    return;
  }
  if (event.generation < newest_ || next_ || !parked_.local_ranks.empty()
      || share_.holds(event.generation)) {
    out.emplace_back(
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
  out.emplace_back(set_fence{fence_due_});
  out.emplace_back(start_group{std::move(plan)});
}

void membership::begin(const generation_plan& plan, effects& out) {
  parked_ = {};
  safe_point_.reset();
  is_parking_ = false;
  share_.begin(plan);
  out.emplace_back(set_fence{fence_due_});
  out.emplace_back(start_group{plan});
}

// Workers that have been asked to park are to end now.
void membership::stop(int signal, effects& out) {
  if (share_.state() == share_state::stopping && !is_parking_)
    return;
  is_parking_ = false;
  share_.set_state(share_state::stopping);
  out.emplace_back(stop_group{share_.generation(), signal});
}

void membership::stop_for_next(const std::string& reason, effects& out) {
  if (share_.state() == share_state::stopping)
    return;
  is_parking_ = true;
  if (share_.state() != share_state::failed)
    share_.set_state(share_state::stopping);
  out.emplace_back(stop_group{
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

void membership::on(const group_started& event, time_point now, effects& out) {
  if (!share_.holds(event.generation)
      || share_.state() != share_state::starting)
    return;
  share_.set_state(share_state::running);
  if (is_connected())
    out.emplace_back(send_started{event.generation, event.pids});
  if (gives_notice_)
    give_notice(now, out);
}

void membership::on(const group_failed& event, time_point now, effects& out) {
  if (!share_.holds(event.generation))
    return;
  // The worker died before the order to stop had reached its group.
  if (share_.state() == share_state::stopping)
    return add_failures({{event.failure}, 0}, event.aged_at, now);
  if (!share_.is_active())
    return;
  auto failure = aged(event.failure, since(event.aged_at, now));
  if (was_fenced(failure, now))
    return on_fence(now, out);
  if (was_noticed(failure, now))
    return leave_drained(now, out);
  share_.fail(failure, now);
  if (is_connected())
    out.emplace_back(send_failed{event.generation, std::move(failure)});
  stop_for_next("a worker of this node has failed", out);
}

void membership::on(const group_succeeded& event, time_point now,
                    effects& out) {
  if (!share_.holds(event.generation))
    return;
  // The workers ended by themselves before the order to stop had reached them, or
  // because they were given notice.
  if (share_.state() == share_state::stopping
      || (share_.is_active() && noticed_at_))
    return on(group_stopped{event.generation}, now, out);
  if (!share_.is_active())
    return;
  share_.set_state(share_state::succeeded);
  if (is_connected())
    out.emplace_back(send_succeeded{event.generation});
}

void membership::on(const group_stopped& event, time_point now, effects& out) {
  if (!share_.holds(event.generation))
    return;
  if (event.master_port != 0)
    offer_.master_port = event.master_port;
  if (is_draining_ && !ending_)
    say_leaving(out);
  share_.end();
  parked_ = event.parked;
  add_failures(event.others, event.aged_at, now);
  if (event.unkillable_count > 0)
    give_up_workers(event.unkillable_count);
  if (now >= fence_due_)
    forget_next();
  if (is_connected())
    report_stopped(offer_.master_port, now, out);
  // A newer generation that was revoked before it could begin here.
  if (is_connected() && !next_ && newest_ > event.generation)
    out.emplace_back(send_stopped{.generation = newest_,
                                  .master_port = offer_.master_port,
                                  .parked = parked_});
  if (ending_ && !parked_.local_ranks.empty())
    stop(ending_->signal, out);
  else if (ending_)
    part(now, out);
  else if (next_)
    begin(*std::exchange(next_, std::nullopt), out);
}

// The coordinator counts on them, and names them in the next plan.
void membership::on(const group_parked& event, time_point now, effects& out) {
  if (!share_.holds(event.generation) || share_.may_run())
    return;
  parked_ = event.parked;
  if (is_connected())
    report_stopped(0, now, out);
}

void membership::on(const group_safe_point& event, time_point now,
                    effects& out) {
  if (!share_.holds(event.generation) || share_.state() != share_state::running)
    return;
  const auto is_first = !std::exchange(safe_point_, event.report);
  if (!is_connected())
    return;
  out.emplace_back(send_safe_point{event.generation, event.report});
  if (is_first) // The limit may have come near while the group changed.
    want_safe_point(now, out);
}

bool membership::has_safe_points() const {
  return safe_point_ && share_.state() == share_state::running;
}

// Of workers that have no safe points each saves when it likes.
void membership::on(const limit_near& event, time_point now, effects& out) {
  limit_ = now + event.left;
  if (has_safe_points()) {
    if (is_connected())
      want_safe_point(now, out);
  } else if (share_.state() == share_state::running) {
    out.emplace_back(notify_workers{share_.generation()});
  }
}

// The coordinator knows a limit that it has heard of before.
void membership::want_safe_point(time_point now, effects& out) const {
  if (limit_ && now < *limit_ && share_.state() == share_state::running)
    out.emplace_back(send_safe_point{
      share_.generation(),
      {.what = safe_point_report::kind::wanted,
       .left = std::chrono::ceil<std::chrono::milliseconds>(*limit_ - now)}});
}

void membership::add_failures(collateral failures, time_point aged_at,
                              time_point now) {
  failures = aged(std::move(failures), since(aged_at, now));
  std::erase_if(failures.listed, [&](const auto& x) {
    return was_fenced(x, now) || was_noticed(x, now);
  });
  share_.add(std::move(failures), now);
}

// Repeated after a link broke; the failures are older by then.
void membership::report_stopped(uint16_t master_port, time_point now,
                                effects& out) const {
  out.emplace_back(send_stopped{share_.generation(), master_port,
                                share_.others(now), unkillable_count_,
                                parked_});
}

// -- the end ------------------------------------------------------------------

void membership::on(const job_ended& event, time_point now, effects& out) {
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
  end(std::move(how), 0, now, out);
}

void membership::on(const leave_requested& event, time_point now,
                    effects& out) {
  if (std::exchange(is_asked_to_leave_, true)) { // No grace period.
    if (has_workers())
      out.emplace_back(
        kill_group{.generation = share_.generation(), .with_parked = true});
    return;
  }
  if (ending_) // The workers have been told, for another reason.
    return;
  if (link_ == link::joined)
    out.emplace_back(send_leaving{event.signal});
  end({.result = {}, .why = {}, .signal = event.signal}, event.signal, now,
      out);
}

// A coordinator that has taken over knows of no safe point to wait for, and repeats
// the order without.
void membership::on(const drain_ordered& event, time_point now, effects& out) {
  if (ending_)
    return;
  if (!std::exchange(is_draining_, true)) {
    if (!share_.may_run())
      return leave_drained(now, out);
    arm(alarm::drain, now + event.time, out);
  }
  if (!event.at_safe_point && !std::exchange(gives_notice_, true)
      && share_.state() == share_state::running)
    give_notice(now, out);
}

// Workers that have not all started yet get it then.
void membership::give_notice(time_point now, effects& out) {
  noticed_at_ = now;
  out.emplace_back(notify_workers{share_.generation()});
}

// The end of a worker that has been told of the end is no failure.
bool membership::was_noticed(const worker_failure& x, time_point now) const {
  return noticed_at_ && x.kind != failure_kind::unkillable
         && now - x.age >= *noticed_at_;
}

void membership::say_leaving(effects& out) {
  if (link_ == link::joined)
    out.emplace_back(send_leaving{0});
  ending_ = ending{.result = {}, .why = {}, .signal = 0};
}

void membership::leave_drained(time_point now, effects& out) {
  if (ending_)
    return;
  say_leaving(out);
  end(*ending_, 0, now, out);
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
void membership::end(ending how, int signal, time_point now, effects& out) {
  if (unkillable_count_ > 0)
    how.why = ending_->why;
  ending_ = std::move(how);
  next_.reset();
  if (has_workers())
    stop(signal, out);
  else
    part(now, out);
}

// The coordinator acknowledges the notice by cutting the link. An agent that did
// not wait for that might end before its last messages have been sent.
void membership::part(time_point now, effects& out) {
  forget_second_way(out);
  if (link_ == link::joined && keep_alive_interval_ > duration::zero()) {
    out.emplace_back(send_left{});
    link_ = link::parting;
    alarms_.disarm(alarm::keep_alive);
    arm(alarm::parting, now + limits_.fence(), out);
    return;
  }
  if (link_ == link::joined)
    out.emplace_back(send_left{});
  link_ = link::finished;
  out.emplace_back(finish{*ending_});
}

// -- timers -------------------------------------------------------------------

void membership::on(const timer_fired& event, time_point now, effects& out) {
  const auto fired = alarms_.take(event.timer);
  if (!fired)
    return;
  switch (fired->which) {
    case alarm::retry:
      return try_again(out);
    case alarm::seek:
      return give_up(now, out);
    case alarm::timeout:
      drop(out);
      last_failure_ = failure{errc::connection_timed_out,
                              "the coordinator does not answer"};
      return seek(now, out);
    case alarm::keep_alive:
      return on_keep_alive_due(now, out);
    case alarm::fence:
      return on_fence(now, out);
    case alarm::parting:
      link_ = link::finished;
      out.emplace_back(finish{*ending_});
      return;
    case alarm::drain:
      return leave_drained(now, out);
    case alarm::second_way:
      if (link_ == link::joining && share_.may_run())
        begin_second_way(out);
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
