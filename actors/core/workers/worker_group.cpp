#include "actors/core/workers/worker_group.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/shortage.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <limits>
#include <optional>
#include <utility>

namespace actorrun::core {

namespace {

/// Times of files come from a clock that ticks so seldom. What seems to have
/// happened so little before another event may have happened after it.
constexpr auto file_time_grain = std::chrono::milliseconds{10};

/// What an error file says of a time so long before its group counts as that time.
constexpr auto earliest_before_group = std::chrono::hours{24};

/// How long before its end was seen a death by a signal may have begun. Nothing sends
/// SIGKILL because a worker has lost its peer: it goes before the exits of peers also
/// where it was seen late, on a busy machine or by an agent that did not run.
duration earliest_beginning(const worker_exited& event) {
  constexpr auto all = std::numeric_limits<uint64_t>::max();
  return longest_teardown(event.signal == SIGKILL ? all : event.memory);
}

report_shortage shortage_of(const worker_not_started& event, duration left) {
  const auto& x = event.details;
  return {event.local_rank, event.error,
          x.subject.empty() ? x.message : x.subject, left};
}

worker_failure not_started(uint32_t local_rank, int error, std::string why) {
  auto out = worker_failure{
    .local_rank = local_rank, .kind = failure_kind::not_started, .code = error};
  out.details.message = std::move(why);
  return out;
}

/// It may start yet: the order to stop that follows ends it, too.
worker_failure late_start(const worker_table& workers, bool has_begun,
                          std::chrono::milliseconds timeout) {
  using state = worker_record::state;
  const auto late = workers.select([&](auto i, const auto& x) {
    return !workers.is_spare(i)
           && (x.now == state::waiting || x.now == state::delayed);
  });
  return not_started(
    late.empty() ? 0 : late.front(), // All of them are parked.
    ETIMEDOUT,
    std::string{has_begun ? "its program or its output files were not opened"
                          : "its log folders were not made"}
      + " within " + std::to_string(timeout.count() / 1'000)
      + " s; a file system may hang");
}

} // namespace

worker_group::worker_group(generation_plan plan, std::string host,
                           std::chrono::milliseconds kill_timeout,
                           std::chrono::milliseconds start_timeout,
                           const parked_workers& parked, uint32_t spare_count)
  : plan_(std::move(plan)), host_(std::move(host)),
    start_timeout_(start_timeout),
    workers_(plan_.own.slot_count, spare_count, parked),
    stop_(kill_timeout, plan_.is_ahead), hold_(plan_.own.slot_count),
    overdue_(kill_timeout) {}

std::vector<worker_group_effect>
worker_group::step(const worker_group_event& event, time_point now) {
  orders_.begin_step(now);
  std::visit([this](const auto& x) { on(x); }, event);
  advance();
  return orders_.end_step();
}

std::map<uint32_t, uint32_t> worker_group::seat_spares() {
  assert(phase_ == phase::preparing);
  return workers_.seat_spares(plan_);
}

bool worker_group::counts_ends(timer_id x) const {
  const auto which = orders_.find(x);
  if (which == alarm::start)
    return phase_ == phase::preparing || phase_ == phase::starting;
  if (phase_ >= phase::stopping)
    return which == alarm::grace || which == alarm::kill;
  return overdue_.has_timer(x);
}

// -- workers start and end ----------------------------------------------------

void worker_group::on(const start_ordered&) {
  if (phase_ != phase::idle)
    return;
  phase_ = phase::preparing;
  start_.order(orders_.now());
  if (start_timeout_.count() > 0)
    orders_.arm(alarm::start, start_timeout_);
  orders_.add(prepare_workers{});
}

// Those that were parked are running at once, and may fail at once: those that the
// fence has overtaken are killed where they are resumed, and those that have hung up
// already. None is started in the place of a survivor that has ended: its peers would
// take that for the survivor.
void worker_group::on(const workers_prepared&) {
  if (phase_ != phase::preparing)
    return;
  phase_ = phase::starting;
  start_.begin();
  auto resumed
    = workers_.resume(plan_.is_ahead ? generation_id{} : plan_.generation);
  if (!resumed.empty())
    orders_.add(resume_workers{std::move(resumed)});
  for (const auto i : workers_.workers_in(state::waiting)) {
    if (!contains(plan_.survivors, plan_.own.global_rank(i)))
      continue;
    workers_[i].now = state::ended;
    fail(not_started(i, ESRCH, "the worker that was to go on has ended"), {});
  }
  if (workers_.count(state::waiting) > 0)
    orders_.add(start_workers{});
}

void worker_group::on(const worker_started& event) {
  auto& worker = workers_[event.local_rank];
  if (worker.now != state::waiting || !start_.has_begun())
    return;
  worker.now = state::running;
  worker.pid = event.pid;
  if (is_spare(event.local_rank) && orders_.is_armed(alarm::spare))
    orders_.add(signal_worker{event.local_rank, SIGKILL}); // As the others.
}

// What is lacking is no failure yet. Once a worker has failed here, the generation is
// over anyway.
void worker_group::on(const worker_not_started& event) {
  auto& worker = workers_[event.local_rank];
  if (worker.now != state::waiting || !start_.has_begun())
    return;
  worker.now = state::ended;
  if (is_spare(event.local_rank))
    return;
  if (phase_ == phase::starting && is_shortage(event.error)) {
    const auto is_first = start_.fall_short(orders_.now());
    if (const auto left = start_.left(orders_.now()); left > duration{0}) {
      worker.now = state::delayed;
      if (is_first)
        orders_.add(shortage_of(event, left));
      return;
    }
  }
  if (!has_ordered(event.when))
    fail({.local_rank = event.local_rank,
          .kind = failure_kind::not_started,
          .code = event.error,
          .details = event.details},
         event.when);
}

// The end of an overdue worker was ordered because of its timer, so a later order to
// stop does not make it an ordered one. In the place of one that was parked the next
// generation starts another.
void worker_group::on(const worker_exited& event) {
  const auto overdue = overdue_.take(event.local_rank);
  auto& worker = workers_[event.local_rank];
  const auto is_worker = !is_spare(event.local_rank);
  if (worker.now == state::parked) {
    worker.now = state::ended;
    worker.is_live = false;
    if (is_worker && phase_ < phase::stopping && !plan_.is_ahead)
      worker = {};
    if (phase_ == phase::stopped)
      orders_.add(report_parked{workers_.share()});
  } else if (worker.now == state::running) {
    worker.now = state::ended;
    if (is_worker && overdue && overdue->has_caused(event))
      fail(overdue->failure_of(event), event.when);
    else if (is_worker && (event.signal != 0 || event.exit_code != 0))
      fail_exited(event);
  }
}

// -- workers that live through a change ---------------------------------------

// One that greets while it is being stopped has not been asked to park.
void worker_group::on(const worker_greeted& event) {
  if (phase_ < phase::stopping)
    workers_[event.local_rank].is_live = true;
}

// The fence may have been quicker. What it has killed may take long to end, and
// must not be counted on in the next generation: there its end would look like a
// failure.
void worker_group::on(const worker_parked& event) {
  if (can_park(event.local_rank))
    orders_.add(park_worker{event.local_rank});
}

void worker_group::on(const worker_spared& event) {
  if (can_park(event.local_rank))
    workers_[event.local_rank].now = state::parked;
}

// It cannot be told of a generation any more, and one that was started ahead has
// none. Until it has ended it stays parked: the agent must not leave before, nor
// start another in its place.
void worker_group::on(const worker_hung_up& event) {
  auto& worker = workers_[event.local_rank];
  if (!std::exchange(worker.is_live, false))
    return;
  const auto is_lost = worker.now == state::parked || is_spare(event.local_rank)
                       || (plan_.is_ahead && phase_ < phase::stopping);
  const auto was_to_park = worker.now == state::running && stop_.may_park()
                           && phase_ == phase::stopping && has_grace();
  if (is_lost || was_to_park)
    orders_.add(
      signal_worker{event.local_rank, is_lost ? SIGKILL : stop_.signal()});
}

bool worker_group::can_park(uint32_t number) const {
  const auto& worker = workers().at(number);
  if (worker.now != state::running || !worker.is_live)
    return false;
  if (is_spare(number))
    return phase_ <= phase::running && !orders_.is_armed(alarm::spare);
  return stop_.may_park()
         && (plan_.is_ahead ? phase_ < phase::stopping
                            : phase_ == phase::stopping && has_grace());
}

// -- safe points --------------------------------------------------------------

void worker_group::on(const worker_stepped& event) {
  if (phase_ > phase::running || is_spare(event.local_rank))
    return;
  const auto is_first = !workers_.have_stepped();
  step_ = std::max(step_.value_or(0), event.step);
  workers_[event.local_rank].has_stepped = true;
  if (is_first && phase_ == phase::running)
    orders_.add(report_safe_point{{safe_point_report::kind::stepping}});
}

void worker_group::on(const worker_held& event) {
  if (is_spare(event.local_rank))
    return;
  hold_.held(event.local_rank, event.step);
  workers_[event.local_rank].has_stepped |= event.step > 0;
}

void worker_group::on(const worker_reached& event) {
  if (!is_spare(event.local_rank))
    hold_.reached(event.local_rank, event.step);
}

void worker_group::on(const safe_point_order& event) {
  if (phase_ != phase::running)
    return;
  auto told = workers_.live_workers();
  hold_.begin(event, told);
  if (!told.empty())
    orders_.add(order_steps{std::move(told), event});
}

// -- orders to stop -----------------------------------------------------------

void worker_group::on(const stop_ordered& event) {
  if (phase_ == phase::idle || phase_ == phase::succeeded)
    return;
  if (phase_ < phase::stopping) {
    phase_ = phase::stopping;
    // No report of theirs comes any more.
    workers_.move(workers_.all_in(state::delayed), state::ended);
    if (!start_.has_begun()) // What is being prepared may still take long.
      workers_.move(workers_.all_in(state::waiting), state::ended);
    stop_.begin(event, start_.has_begun(), workers_, orders_);
  } else if (!event.may_park && stop_.may_park()) {
    if (stop_.stop_parked(event, workers_, orders_))
      phase_ = phase::stopping;
    else if (phase_ == phase::stopped) // They have all ended since.
      orders_.add(report_stopped{
        .unkillable_count = workers_.count(state::given_up), .step = step_});
  }
}

void worker_group::on(const kill_ordered& event) {
  const auto has_parked = !workers_.all_in(state::parked).empty();
  if (phase_ != phase::stopping
      && !(phase_ == phase::stopped && event.with_parked && has_parked))
    return on(stop_ordered{SIGKILL, {}, !event.with_parked});
  phase_ = phase::stopping;
  orders_.disarm(alarm::grace);
  if (event.with_parked)
    stop_.end_parking(workers_, orders_);
  stop_.kill(workers_, orders_);
}

// -- overruns and timers ------------------------------------------------------

// While all workers are stopping, none is ended alone.
void worker_group::on(const worker_overran& event) {
  if (workers_[event.local_rank].now == state::running
      && phase_ < phase::stopping && !is_spare(event.local_rank))
    overdue_.add(event, orders_);
}

void worker_group::on(const worker_probed& event) {
  if (phase_ < phase::stopping)
    overdue_.set_where(event, orders_);
}

void worker_group::on(const timer_fired& event) {
  const auto fired = orders_.take(event.timer);
  const auto is_stopping = phase_ == phase::stopping;
  if (fired == alarm::start
      && (phase_ == phase::preparing || phase_ == phase::starting)) {
    fail(late_start(workers_, start_.has_begun(), start_timeout_), {});
  } else if (fired == alarm::retry && phase_ == phase::starting) {
    workers_.move(workers_.all_in(state::delayed), state::waiting);
    orders_.add(start_workers{});
  } else if (fired == alarm::hold && phase_ <= phase::running) {
    report_first(failures_.take_held(orders_.now()));
  } else if (fired == alarm::grace && is_stopping) {
    stop_.kill(workers_, orders_);
  } else if (fired == alarm::kill && is_stopping) {
    give_up(workers_.under_way());
  } else if (fired == alarm::spare && !workers_.spares_under_way().empty()) {
    give_up(workers_.spares_under_way());
  } else if (fired == alarm::spare) { // No generation has come.
    for (const auto i : workers_.parked_spares())
      orders_.add(signal_worker{i, SIGKILL});
  } else if (!fired && phase_ < phase::stopping) {
    give_up(overdue_.on(event, orders_));
  }
}

// The death was ordered, but that it did not happen is a failure. A spare holds
// nothing that workers need.
void worker_group::give_up(const worker_table::numbers& who) {
  for (const auto i : workers_.move(who, state::given_up)) {
    auto failure = worker_failure{
      .local_rank = i, .kind = failure_kind::unkillable, .code = SIGKILL};
    overdue_.explain(failure);
    if (!is_spare(i))
      fail(std::move(failure), {});
  }
}

// -- failures -----------------------------------------------------------------

// Who had failed before its end was ordered has failed, if its error file can be
// believed: that may have been written by hand, or by a program with ideas of its own.
void worker_group::fail_exited(const worker_exited& event) {
  const auto is_signalled = event.signal != 0;
  auto failure = worker_failure{
    .local_rank = event.local_rank,
    .kind = is_signalled ? failure_kind::signalled : failure_kind::exited,
    .code = is_signalled ? event.signal : event.exit_code,
    .dumped = is_signalled && event.dumped,
    .teardown = is_signalled ? earliest_beginning(event) : duration{0},
    .while_stopped
    = is_signalled && has_ordered(event.when) && !event.was_ending,
    .details = event.details};
  const auto now = orders_.now();
  const auto ended
    = event.when == time_point{} ? now : std::min(event.when, now);
  const auto failed
    = std::max(event.failed, start_.ordered_at() - earliest_before_group);
  const auto is_early
    = event.failed != time_point{} && failed + file_time_grain < ended;
  if (!is_early && !has_ordered(event))
    return fail(std::move(failure), event.when);
  const auto is_older = failed + file_time_grain < stop_.ordered_at();
  if (!is_early || (has_ordered(event) && !(looks_back() && is_older)))
    return;
  failures_.mark_early(failure.local_rank);
  failure.teardown = {}; // It has said when.
  failure.while_stopped = failure.while_stopped && !is_older;
  fail(std::move(failure), failed);
}

// The first failure is reported at once, or held back. Failures after it may be its
// consequences. Whatever is reported ends the generation, also for the worker that has
// failed first and has not quite ended yet.
void worker_group::fail(worker_failure failure, time_point when) {
  if (plan_.is_ahead)
    return; // There is no generation for it to fail in.
  const auto now = orders_.now();
  failure.agent = plan_.own.agent;
  failure.host = host_;
  failure.global_rank = plan_.own.global_rank(failure.local_rank);
  failure.pid = workers_[failure.local_rank].pid;
  failure.age = when == time_point{} ? duration{0} : now - std::min(when, now);
  const auto is_active = phase_ <= phase::running;
  if (is_active && !misses_peer(failure))
    return report_first(std::move(failure));
  if (failure.kind == failure_kind::not_started && failure.code == ECANCELED)
    return;
  failures_.add(std::move(failure), now);
  if (is_active && !orders_.is_armed(alarm::hold))
    orders_.arm(alarm::hold, hearsay_lag);
}

void worker_group::report_first(worker_failure failure) {
  phase_ = phase::failed;
  failures_.report(failure, orders_.now());
  orders_.add(report_failed{std::move(failure)});
}

// -- what follows, whatever the event was -------------------------------------

// What was lacking is tried again when all others run or have failed: then what they
// have taken is known.
void worker_group::advance() {
  if (phase_ == phase::starting && workers_.count(state::waiting) == 0) {
    if (workers_.count(state::delayed) == 0) {
      phase_ = phase::running;
      if (!plan_.is_ahead)
        orders_.add(report_started{});
      if (workers_.have_stepped())
        orders_.add(report_safe_point{{safe_point_report::kind::stepping}});
    } else if (!orders_.is_armed(alarm::retry)) {
      orders_.arm(alarm::retry, start_.pause(orders_.now()));
    }
  }
  if (phase_ == phase::running && !plan_.is_ahead)
    if (auto called = workers_.call_spares(); !called.empty())
      orders_.add(start_spares{std::move(called)});
  if (phase_ == phase::running && plan_.is_ahead && workers_.none_runs())
    phase_ = phase::stopping;
  if (phase_ == phase::running && hold_.is_due()) {
    const auto running = workers_.workers_in(state::running);
    // One that has held and has never come to a safe point may not have any.
    const auto can_stop = std::ranges::all_of(running, [this](uint32_t i) {
      const auto& x = workers_[i];
      return x.is_live && (x.has_stepped || !hold_.has_held(i));
    });
    if (const auto x = hold_.answer(running, can_stop))
      orders_.add(report_safe_point{*x});
  }
  conclude();
}

// Where no worker may park, spares end as workers do.
void worker_group::conclude() {
  const auto none_runs = workers_.none_runs();
  if (phase_ == phase::running && none_runs && failures_.empty())
    stop_.end_parking(workers_, orders_); // No spare is needed any more.
  if (phase_ < phase::stopping ? none_runs : stop_.may_park())
    stop_.kill_spares(workers_, orders_);
  if (!none_runs || !workers_.spares_under_way().empty())
    return;
  if (phase_ == phase::running && !failures_.empty()) {
    if (plan_.node_count == 1) // Else the reason may be on another node.
      report_first(failures_.take_held(orders_.now()));
  } else if (phase_ == phase::running) {
    phase_ = phase::succeeded;
    orders_.add(release_workers{});
    orders_.add(report_succeeded{});
  } else if (phase_ == phase::stopping) {
    phase_ = phase::stopped;
    const auto share = workers_.share();
    if (share.spare_count > 0)
      orders_.arm(alarm::spare, idle_spares_max);
    orders_.add(release_workers{});
    orders_.add(report_stopped{failures_.take_others(orders_.now()),
                               workers_.count(state::given_up), share, step_});
    if (share.is_empty()) // There is none to be stopped later.
      stop_.end_parking(workers_, orders_);
  }
}

} // namespace actorrun::core
