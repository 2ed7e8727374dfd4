#include "actors/core/workers/worker_group.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/shortage.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <limits>
#include <utility>

namespace actorrun::core {

namespace {

/// Times of files come from a clock that ticks so seldom. What seems to have
/// happened so little before another event may have happened after it.
constexpr auto file_time_grain = std::chrono::milliseconds{10};

/// So long spares wait for the next generation.
constexpr auto idle_spares_max = duration{std::chrono::minutes{1}};

/// What an error file says of a time so long before its group counts as that time.
constexpr auto earliest_before_group = std::chrono::hours{24};

/// How long before its end was seen a death by a signal may have begun. Nothing sends
/// SIGKILL because a worker has lost its peer: it goes before the exits of peers also
/// where it was seen late, on a busy machine or by an agent that did not run.
duration earliest_beginning(const worker_exited& event) {
  constexpr auto all = std::numeric_limits<uint64_t>::max();
  return longest_teardown(event.signal == SIGKILL ? all : event.memory);
}

uint32_t workers_among(const parked_workers& parked, uint32_t slot_count) {
  const auto end = parked.pids.lower_bound(slot_count);
  return uint32_t(std::distance(parked.pids.begin(), end));
}

} // namespace

worker_group::worker_group(generation_plan plan, std::string host,
                           std::chrono::milliseconds kill_timeout,
                           std::chrono::milliseconds start_timeout,
                           const parked_workers& parked, uint32_t spare_count)
  : plan_(std::move(plan)), host_(std::move(host)), kill_timeout_(kill_timeout),
    start_timeout_(start_timeout), workers_(plan_.own.slot_count),
    waiting_count_(plan_.own.slot_count
                   - workers_among(parked, plan_.own.slot_count)),
    parked_count_(workers_among(parked, plan_.own.slot_count)),
    parked_generation_(parked.generation), may_park_(plan_.is_ahead),
    hold_(plan_.own.slot_count) {
  assert(!workers_.empty());
  workers_.resize(plan_.own.slot_count + spare_count,
                  {.now = worker_record::state::absent});
  for (const auto& [local_rank, pid] : parked.pids)
    workers_.at(local_rank)
      = {.now = worker_record::state::parked,
         .pid = pid,
         .is_live = true,
         .has_stepped = parked.stepped.contains(local_rank)};
}

std::vector<worker_group_effect>
worker_group::step(const worker_group_event& event, time_point now) {
  auto out = effects{};
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  return out;
}

void worker_group::on(const start_ordered&, time_point now, effects& out) {
  if (phase_ != phase::idle)
    return;
  phase_ = phase::preparing;
  start_ordered_at_ = now;
  if (start_timeout_.count() > 0)
    start_timer_ = arm(now + start_timeout_, out);
  out.emplace_back(prepare_workers{});
}

void worker_group::on(const workers_prepared&, time_point now, effects& out) {
  if (phase_ != phase::preparing)
    return;
  phase_ = phase::starting;
  has_begun_ = true;
  resume(now, out);
  if (waiting_count_ > 0)
    out.emplace_back(start_workers{});
  settle(now, out);
}

void worker_group::on(const worker_started& event, time_point now,
                      effects& out) {
  auto* worker = in_state(event.local_rank, worker_record::state::waiting);
  if (worker == nullptr)
    return;
  worker->now = worker_record::state::running;
  worker->pid = event.pid;
  if (is_spare(event.local_rank)) {
    if (spare_timer_.value != 0) // The others have been killed meanwhile.
      out.emplace_back(signal_worker{event.local_rank, SIGKILL});
    return;
  }
  --waiting_count_;
  try_again(now, out);
  settle(now, out);
}

void worker_group::on(const worker_not_started& event, time_point now,
                      effects& out) {
  auto* worker = in_state(event.local_rank, worker_record::state::waiting);
  if (worker == nullptr)
    return;
  if (is_spare(event.local_rank)) {
    worker->now = worker_record::state::ended;
    return settle(now, out);
  }
  if (delay(event, now, out))
    return try_again(now, out);
  worker->now = worker_record::state::ended;
  --waiting_count_;
  ++ended_count_;
  fail({.local_rank = event.local_rank,
        .kind = failure_kind::not_started,
        .code = event.error,
        .details = event.details},
       event.when, now, out);
  settle(now, out);
}

void worker_group::on(const worker_exited& event, time_point now,
                      effects& out) {
  assert(event.local_rank < workers_.size());
  if (auto& x = workers_[event.local_rank];
      x.now == worker_record::state::parked)
    return lose_parked(x, out);
  auto* worker = in_state(event.local_rank, worker_record::state::running);
  if (worker == nullptr)
    return;
  worker->now = worker_record::state::ended;
  if (is_spare(event.local_rank))
    return settle(now, out);
  ++ended_count_;
  const auto overdue = overdue_.find(event.local_rank);
  // Its end was ordered because of its timer, so a later order to stop does not
  // make it an ordered one.
  if (overdue != overdue_.end() && overdue->second.has_caused(event))
    report_failure(overdue->second.failure_of(event), event.when, now, out);
  else if (event.signal != 0)
    fail_early({.local_rank = event.local_rank,
                .kind = failure_kind::signalled,
                .code = event.signal,
                .dumped = event.dumped,
                .teardown = earliest_beginning(event),
                .while_stopped = has_ordered(event.when) && !event.was_ending,
                .details = event.details},
               event, now, out);
  else if (event.exit_code != 0)
    fail_early({.local_rank = event.local_rank,
                .kind = failure_kind::exited,
                .code = event.exit_code,
                .details = event.details},
               event, now, out);
  overdue_.erase(event.local_rank);
  settle(now, out);
}

void worker_group::on(const stop_ordered& event, time_point now, effects& out) {
  if (phase_ == phase::stopping || phase_ == phase::stopped)
    return stop_parked(event, now, out);
  if (phase_ == phase::idle || phase_ == phase::succeeded)
    return;
  phase_ = phase::stopping;
  end_delayed();
  if (!event.may_park && (plan_.is_ahead || has_begun_))
    end_parking();
  stop_ordered_at_ = now;
  stop_signal_ = event.signal;
  may_park_ = event.may_park;
  if (!has_begun_) { // What is being prepared may still take long.
    for (const auto i : in_state(worker_record::state::waiting))
      workers_[i].now = worker_record::state::ended;
    ended_count_ = plan_.own.slot_count - parked_count_;
    if (!may_park_ && !parked_processes().empty()) {
      may_park_ = true;
      return stop_parked(event, now, out);
    }
  } else if (event.grace.count() == 0) {
    kill_all(now, out);
  } else {
    out.emplace_back(signal_workers{event.signal, spared()});
    if (may_park_)
      ask_to_park(event.grace, out);
    grace_timer_ = arm(now + event.grace, out);
  }
  settle(now, out);
}

void worker_group::on(const kill_ordered& event, time_point now, effects& out) {
  if (phase_ == phase::stopping
      || (phase_ == phase::stopped && event.with_parked
          && !parked_processes().empty())) {
    phase_ = phase::stopping;
    grace_timer_ = {};
    if (event.with_parked)
      end_parking();
    kill_all(now, out);
  } else {
    on(stop_ordered{SIGKILL, {}, !event.with_parked}, now, out);
  }
}

std::map<uint32_t, uint32_t> worker_group::seat_spares() {
  assert(phase_ == phase::preparing);
  auto out = std::map<uint32_t, uint32_t>{};
  for (const auto i : in_state(worker_record::state::waiting)) {
    const auto all = parked_processes();
    const auto spare = std::ranges::lower_bound(all, plan_.own.slot_count);
    if (plan_.is_ahead || spare == all.end()
        || contains(plan_.survivors, plan_.own.global_rank(i)))
      continue;
    workers_[i]
      = std::exchange(workers_[*spare], {.now = worker_record::state::absent});
    --waiting_count_;
    ++parked_count_;
    out.emplace(i, *spare);
  }
  return out;
}

bool worker_group::counts_ends(timer_id x) const {
  if (x.value == 0 || x == hold_timer_ || x == retry_timer_)
    return false;
  if (x == start_timer_)
    return phase_ == phase::preparing || phase_ == phase::starting;
  if (phase_ >= phase::stopping)
    return x == grace_timer_ || x == kill_timer_;
  return std::ranges::any_of(
    overdue_, [x](const auto& y) { return y.second.timer == x; });
}

// While all workers are stopping, none is ended alone.
void worker_group::on(const timer_fired& event, time_point now, effects& out) {
  if (event.timer.value == 0)
    return;
  if (event.timer == start_timer_)
    return fail_late_start(now, out);
  if (event.timer == hold_timer_)
    return end_hold(now, out);
  if (event.timer == retry_timer_)
    return start_delayed(out);
  if (event.timer == spare_timer_)
    return end_spares(now, out);
  if (phase_ == phase::stopping && event.timer == grace_timer_) {
    grace_timer_ = {};
    return kill_all(now, out);
  }
  if (phase_ == phase::stopping && event.timer == kill_timer_)
    return give_up_all(now, out);
  for (auto& [local_rank, x] : overdue_) {
    if (phase_ >= phase::stopping || x.timer != event.timer)
      continue;
    if (!x.is_killed())
      return end_overdue(local_rank, x, now, out);
    x.timer = {};
    give_up(local_rank, now, out);
    return settle(now, out);
  }
}

// -- workers that live through a change ---------------------------------------

// One that greets while it is being stopped has not been asked to park.
void worker_group::on(const worker_greeted& event, time_point, effects& out) {
  assert(event.local_rank < workers_.size());
  if (phase_ >= phase::stopping)
    return;
  workers_[event.local_rank].is_live = true;
  start_spares(out);
}

// The fence may have been quicker. What it has killed may take long to end, and
// must not be counted on in the next generation: there its end would look like a
// failure.
void worker_group::on(const worker_parked& event, time_point, effects& out) {
  if (can_park(event.local_rank))
    out.emplace_back(park_worker{event.local_rank});
}

void worker_group::on(const worker_spared& event, time_point now,
                      effects& out) {
  if (!can_park(event.local_rank))
    return;
  workers_[event.local_rank].now = worker_record::state::parked;
  if (is_spare(event.local_rank))
    return;
  ++parked_count_;
  settle(now, out);
}

// It cannot be told of a generation any more, and one that was started ahead has
// none. Until it has ended it stays parked: the agent must not leave before, nor
// start another in its place.
void worker_group::on(const worker_hung_up& event, time_point, effects& out) {
  assert(event.local_rank < workers_.size());
  auto& worker = workers_[event.local_rank];
  if (!std::exchange(worker.is_live, false))
    return;
  answer_order(out);
  const auto is_lost = worker.now == worker_record::state::parked
                       || is_spare(event.local_rank)
                       || (plan_.is_ahead && is_active());
  if (is_lost) {
    out.emplace_back(signal_worker{event.local_rank, SIGKILL});
  } else if (worker.now == worker_record::state::running && may_park_
             && phase_ == phase::stopping && grace_timer_.value != 0) {
    out.emplace_back(signal_worker{event.local_rank, stop_signal_});
  }
}

bool worker_group::have_stepped() const {
  return std::ranges::any_of(workers_, &worker_record::has_stepped);
}

void worker_group::on(const worker_stepped& event, time_point, effects& out) {
  assert(event.local_rank < workers_.size());
  if (phase_ > phase::running || is_spare(event.local_rank))
    return;
  const auto is_first = !have_stepped();
  workers_[event.local_rank].has_stepped = true;
  if (!is_first)
    return;
  if (phase_ == phase::running)
    out.emplace_back(report_safe_point{{safe_point_report::kind::stepping}});
}

void worker_group::on(const worker_held& event, time_point, effects& out) {
  assert(event.local_rank < workers_.size());
  if (is_spare(event.local_rank))
    return;
  hold_.held(event.local_rank, event.step);
  workers_[event.local_rank].has_stepped |= event.step > 0;
  answer_order(out);
}

void worker_group::on(const worker_reached& event, time_point, effects& out) {
  assert(event.local_rank < workers_.size());
  if (is_spare(event.local_rank))
    return;
  hold_.reached(event.local_rank, event.step);
  answer_order(out);
}

void worker_group::on(const safe_point_order& event, time_point, effects& out) {
  if (phase_ != phase::running)
    return;
  auto told = in_state(worker_record::state::running);
  std::erase_if(told, [this](uint32_t i) { return !workers_[i].is_live; });
  hold_.begin(event, told);
  if (!told.empty())
    out.emplace_back(order_steps{std::move(told), event});
  answer_order(out);
}

void worker_group::answer_order(effects& out) {
  if (phase_ != phase::running || !hold_.is_due())
    return;
  const auto running = in_state(worker_record::state::running);
  // One that has held and has never come to a safe point may not have any.
  const auto can_stop = std::ranges::all_of(running, [this](uint32_t i) {
    const auto& x = workers_[i];
    return x.is_live && (x.has_stepped || !hold_.has_held(i));
  });
  if (const auto x = hold_.answer(running, can_stop))
    out.emplace_back(report_safe_point{*x});
}

// They are running at once, and may fail at once: those that the fence has
// overtaken are killed where they are resumed, and those that have hung up already.
void worker_group::resume(time_point now, effects& out) {
  auto resumed = in_state(worker_record::state::parked);
  for (const auto i : resumed)
    workers_[i].now = worker_record::state::running;
  parked_count_ = 0;
  parked_generation_ = plan_.is_ahead ? generation_id{} : plan_.generation;
  if (!resumed.empty())
    out.emplace_back(resume_workers{std::move(resumed)});
  for (const auto i : in_state(worker_record::state::waiting))
    if (contains(plan_.survivors, plan_.own.global_rank(i)))
      fail_survivor(i, now, out);
}

// None is started in its place: its peers would take that for the survivor.
void worker_group::fail_survivor(uint32_t local_rank, time_point now,
                                 effects& out) {
  workers_[local_rank].now = worker_record::state::ended;
  --waiting_count_;
  ++ended_count_;
  auto failure = worker_failure{
    .local_rank = local_rank, .kind = failure_kind::not_started, .code = ESRCH};
  failure.details.message = "the worker that was to go on has ended";
  report_failure(std::move(failure), {}, now, out);
}

void worker_group::ask_to_park(std::chrono::milliseconds grace,
                               effects& out) const {
  auto asked = std::vector<uint32_t>{};
  for (const auto i : in_state(worker_record::state::running))
    if (workers_[i].is_live)
      asked.push_back(i);
  if (!asked.empty())
    out.emplace_back(core::ask_to_park{std::move(asked), grace});
}

bool worker_group::can_park(uint32_t local_rank) const {
  assert(local_rank < workers_.size());
  const auto& worker = workers_[local_rank];
  if (worker.now != worker_record::state::running || !worker.is_live)
    return false;
  if (is_spare(local_rank))
    return phase_ <= phase::running && spare_timer_.value == 0;
  const auto is_asked
    = plan_.is_ahead ? is_active()
                     : phase_ == phase::stopping && grace_timer_.value != 0;
  return may_park_ && is_asked;
}

// There is no next generation for them.
void worker_group::stop_parked(const stop_ordered& event, time_point now,
                               effects& out) {
  if (event.may_park || !may_park_)
    return;
  auto stopped = std::vector<uint32_t>{};
  for (uint32_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].now == worker_record::state::parked
        || (workers_[i].now == worker_record::state::running
            && workers_[i].is_live && grace_timer_.value != 0))
      stopped.push_back(i);
  end_parking();
  if (stopped.empty()) {
    // Those that this group has told of have all ended since: the order is waiting.
    if (phase_ == phase::stopped && has_told_parked_)
      out.emplace_back(report_stopped{.unkillable_count = given_up_count_});
    has_told_parked_ = false;
    return;
  }
  phase_ = phase::stopping;
  has_begun_ = true;
  stop_ordered_at_ = std::min(stop_ordered_at_, now);
  if (event.grace.count() == 0)
    return kill_all(now, out);
  for (const auto i : stopped)
    out.emplace_back(signal_worker{i, event.signal});
  grace_timer_ = arm(now + event.grace, out);
}

// The next generation starts another in its place.
void worker_group::lose_parked(worker_record& worker, effects& out) {
  worker.is_live = false;
  if (&worker - workers_.data() >= plan_.own.slot_count) {
    worker.now = worker_record::state::ended;
    if (phase_ == phase::stopped)
      out.emplace_back(report_parked{parked_ranks()});
    return;
  }
  --parked_count_;
  if (phase_ < phase::stopping && !plan_.is_ahead) {
    worker = {};
    ++waiting_count_;
    return;
  }
  worker.now = worker_record::state::ended;
  ++ended_count_;
  if (phase_ == phase::stopped)
    out.emplace_back(report_parked{parked_ranks()});
}

// From now on they are workers that are being stopped, as others.
void worker_group::end_parking() {
  may_park_ = false;
  const auto parked = parked_processes();
  if (!parked.empty())
    kill_timer_ = {};
  for (const auto i : parked)
    workers_[i].now = worker_record::state::running;
  parked_count_ = 0;
}

// Of the workers alone: spares take part in nothing.
std::vector<uint32_t> worker_group::in_state(worker_record::state state) const {
  auto out = std::vector<uint32_t>{};
  for (uint32_t i = 0; i < plan_.own.slot_count; ++i)
    if (workers_[i].now == state)
      out.push_back(i);
  return out;
}

std::vector<uint32_t> worker_group::parked_processes() const {
  auto out = std::vector<uint32_t>{};
  for (uint32_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].now == worker_record::state::parked)
      out.push_back(i);
  return out;
}

// While the grace period lasts those that may still park are spared as well.
std::vector<uint32_t> worker_group::spared() const {
  auto out = std::vector<uint32_t>{};
  for (uint32_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].now == worker_record::state::parked
        || (may_park_ && workers_[i].is_live && !is_spare(i)))
      out.push_back(i);
  return out;
}

parked_workers worker_group::parked() const {
  auto out = parked_workers{.generation = parked_generation_};
  for (const auto i : parked_processes()) {
    out.pids.emplace(i, workers_[i].pid);
    if (workers_[i].has_stepped)
      out.stepped.insert(i);
  }
  return out;
}

parked_share worker_group::parked_ranks() const {
  auto out
    = parked_share{parked_generation_, in_state(worker_record::state::parked)};
  out.spare_count
    = uint32_t(parked_processes().size() - out.local_ranks.size());
  return out;
}

timer_id worker_group::arm(time_point due, effects& out) {
  ++last_timer_.value;
  out.emplace_back(arm_timer{last_timer_, due});
  return last_timer_;
}

worker_record* worker_group::in_state(uint32_t local_rank,
                                      worker_record::state state) {
  assert(local_rank < workers_.size());
  auto& worker = workers_[local_rank];
  return has_begun_ && worker.now == state ? &worker : nullptr;
}

// The first failure is reported at once, or held back. Failures after it may be
// its consequences, and a worker that ends after our order has not failed.
void worker_group::fail(worker_failure failure, time_point when, time_point now,
                        effects& out) {
  if (!has_ordered(when))
    report_failure(std::move(failure), when, now, out);
}

// A file may have been written by hand, or by a program with ideas of its own.
void worker_group::fail_early(worker_failure failure,
                              const worker_exited& event, time_point now,
                              effects& out) {
  const auto ended
    = event.when == time_point{} ? now : std::min(event.when, now);
  const auto failed
    = std::max(event.failed, start_ordered_at_ - earliest_before_group);
  const auto is_early
    = event.failed != time_point{} && failed + file_time_grain < ended;
  if (!is_early && !has_ordered(event))
    return report_failure(std::move(failure), event.when, now, out);
  const auto is_older = failed + file_time_grain < stop_ordered_at_;
  if (!is_early || (has_ordered(event) && !(looks_back() && is_older)))
    return;
  early_.insert(failure.local_rank);
  failure.teardown = {}; // It has said when.
  failure.while_stopped = failure.while_stopped && !is_older;
  report_failure(std::move(failure), failed, now, out);
}

void worker_group::report_failure(worker_failure failure, time_point when,
                                  time_point now, effects& out) {
  if (plan_.is_ahead)
    return; // There is no generation for it to fail in.
  failure.agent = plan_.own.agent;
  failure.host = host_;
  failure.global_rank = plan_.own.global_rank(failure.local_rank);
  failure.pid = workers_[failure.local_rank].pid;
  failure.age = when == time_point{} ? duration{0} : now - std::min(when, now);
  if (is_active() && misses_peer(failure)) {
    hold_back(std::move(failure), now, out);
  } else if (is_active()) {
    report_first(std::move(failure), now, out);
  } else if (failure.kind != failure_kind::not_started
             || failure.code != ECANCELED) {
    add_other(std::move(failure), now);
  }
}

void worker_group::report_first(worker_failure failure, time_point now,
                                effects& out) {
  phase_ = phase::failed;
  first_ = failure;
  first_aged_at_ = now;
  out.emplace_back(report_failed{std::move(failure)});
}

// One that was early may be the root cause, however many are listed.
void worker_group::add_other(worker_failure failure, time_point now) {
  others_ = aged(std::move(others_), now - others_aged_at_);
  others_aged_at_ = now;
  if (!early_.contains(failure.local_rank))
    return others_.add(std::move(failure));
  auto& listed = others_.listed;
  const auto place
    = std::find_if(listed.begin(), listed.end(),
                   [&](const auto& x) { return x.age < failure.age; });
  listed.insert(place, std::move(failure));
  if (listed.size() > other_failures_max) {
    listed.pop_back();
    ++others_.unlisted_count;
  }
}

// If one happened before the failure that was reported, the list has that again,
// where it belongs.
collateral worker_group::others_at(time_point now) const {
  auto out = aged(others_, now - others_aged_at_);
  if (!first_)
    return out;
  auto first = aged(*first_, now - first_aged_at_);
  const auto is_older = [&](const auto& x) {
    return early_.contains(x.local_rank) && x.age > first.age;
  };
  const auto last
    = std::find_if(out.listed.rbegin(), out.listed.rend(), is_older);
  if (last == out.listed.rend())
    return out;
  out.listed.insert(last.base(), std::move(first));
  if (out.listed.size() > other_failures_max) {
    out.listed.pop_back();
    ++out.unlisted_count;
  }
  return out;
}

// Whatever is reported ends the generation, also for the worker that has failed
// first and has not quite ended yet.
void worker_group::hold_back(worker_failure failure, time_point now,
                             effects& out) {
  add_other(std::move(failure), now);
  if (hold_timer_.value == 0)
    hold_timer_ = arm(now + hearsay_lag, out);
}

void worker_group::end_hold(time_point now, effects& out) {
  if (!is_active() || others_.empty())
    return;
  auto& held = others_.listed;
  auto first = aged(std::move(held.front()), now - others_aged_at_);
  held.erase(held.begin());
  report_first(std::move(first), now, out);
}

void worker_group::settle(time_point now, effects& out) {
  if (phase_ == phase::starting && waiting_count_ == 0) {
    phase_ = phase::running;
    if (!plan_.is_ahead)
      out.emplace_back(report_started{});
    if (have_stepped())
      out.emplace_back(report_safe_point{{safe_point_report::kind::stepping}});
    start_spares(out);
  }
  const auto none_runs = ended_count_ + parked_count_ == plan_.own.slot_count;
  if (plan_.is_ahead && phase_ == phase::running && none_runs)
    phase_ = phase::stopping;
  answer_order(out);
  if (phase_ == phase::running && none_runs && others_.empty())
    end_parking(); // None of them is needed any more.
  if (phase_ >= phase::stopping || none_runs)
    kill_spares(now, out);
  if (!none_runs || !spares_under_way().empty())
    return;
  if (phase_ == phase::running && !others_.empty()) {
    if (plan_.node_count == 1) // Else the reason may be on another node.
      end_hold(now, out);
  } else if (phase_ == phase::running) {
    phase_ = phase::succeeded;
    out.emplace_back(release_workers{});
    out.emplace_back(report_succeeded{});
  } else if (phase_ == phase::stopping) {
    phase_ = phase::stopped;
    await_place(now, out);
    out.emplace_back(release_workers{});
    out.emplace_back(
      report_stopped{others_at(now), given_up_count_, parked_ranks()});
    has_told_parked_ = !parked_processes().empty();
    others_ = {};
    early_.clear();
  }
}

// -- spares -------------------------------------------------------------------

// Not before all workers have shown that they are live: the program would take a
// spare for a worker.
void worker_group::start_spares(effects& out) {
  const auto running = in_state(worker_record::state::running);
  const auto are_wanted = phase_ == phase::running && !plan_.is_ahead
                          && running.size() == plan_.own.slot_count
                          && std::ranges::all_of(running, [this](auto i) {
                               return workers_[i].is_live;
                             });
  if (!are_wanted)
    return;
  auto started = std::vector<uint32_t>{};
  for (auto i = plan_.own.slot_count; i < workers_.size(); ++i)
    if (workers_[i].now == worker_record::state::absent) {
      workers_[i].now = worker_record::state::waiting;
      started.push_back(i);
    }
  if (!started.empty())
    out.emplace_back(core::start_spares{std::move(started)});
}

std::vector<uint32_t> worker_group::spares_under_way() const {
  auto out = std::vector<uint32_t>{};
  for (auto i = plan_.own.slot_count; i < workers_.size(); ++i)
    if (workers_[i].now == worker_record::state::waiting
        || workers_[i].now == worker_record::state::running)
      out.push_back(i);
  return out;
}

// Those that have parked stay. Where no worker may, spares end as workers do.
void worker_group::kill_spares(time_point now, effects& out) {
  const auto killed = spares_under_way();
  if (killed.empty() || spare_timer_.value != 0
      || (phase_ == phase::stopping && !may_park_))
    return;
  for (const auto i : killed)
    if (workers_[i].now == worker_record::state::running)
      out.emplace_back(signal_worker{i, SIGKILL});
  const auto until
    = kill_timeout_.count() > 0 ? duration{kill_timeout_} : idle_spares_max;
  spare_timer_ = arm(now + until, out);
}

// The group has ended.
void worker_group::await_place(time_point now, effects& out) {
  const auto parked = parked_processes();
  if (!parked.empty() && is_spare(parked.back()))
    spare_timer_ = arm(now + idle_spares_max, out);
}

// Those that were killed are still there, or no generation has come.
void worker_group::end_spares(time_point now, effects& out) {
  spare_timer_ = {};
  const auto late = spares_under_way();
  for (const auto i : late)
    give_up(i, now, out);
  if (!late.empty())
    return settle(now, out);
  for (const auto i : parked_processes())
    if (is_spare(i))
      out.emplace_back(signal_worker{i, SIGKILL});
}

// -- overruns -----------------------------------------------------------------

void worker_group::on(const worker_overran& event, time_point now,
                      effects& out) {
  const auto* worker
    = in_state(event.local_rank, worker_record::state::running);
  if (worker == nullptr || phase_ >= phase::stopping
      || is_spare(event.local_rank))
    return;
  const auto [i, is_first]
    = overdue_.try_emplace(event.local_rank, event, kill_timeout_);
  if (!is_first)
    return;
  auto& x = i->second;
  if (x.probe_timeout().count() == 0)
    return end_overdue(event.local_rank, x, now, out);
  x.timer = arm(now + x.probe_timeout(), out);
  out.emplace_back(probe_workers{event.local_rank});
}

// What is found after the signal may be an effect of the signal.
void worker_group::on(const worker_probed& event, time_point now,
                      effects& out) {
  const auto i = overdue_.find(event.local_rank);
  if (i == overdue_.end() || i->second.is_signalled()
      || phase_ >= phase::stopping)
    return;
  i->second.set_where(event.where);
  end_overdue(event.local_rank, i->second, now, out);
}

void worker_group::end_overdue(uint32_t local_rank, overdue_worker& x,
                               time_point now, effects& out) {
  const auto order = x.end(now);
  out.emplace_back(signal_worker{local_rank, order.signal});
  x.timer = {};
  if (order.timeout.count() > 0)
    x.timer = arm(now + order.timeout, out);
}

// -- starts that hang ---------------------------------------------------------

// It may start yet: the order to stop that follows ends it, too.
void worker_group::fail_late_start(time_point now, effects& out) {
  if (phase_ != phase::preparing && phase_ != phase::starting)
    return;
  const auto end = workers_.begin() + plan_.own.slot_count;
  const auto first = std::find_if(workers_.begin(), end, [](const auto& x) {
    return x.now == worker_record::state::waiting
           || x.now == worker_record::state::delayed;
  });
  auto failure = worker_failure{
    .local_rank = first == end ? 0 // All of them are parked.
                               : uint32_t(first - workers_.begin()),
    .kind = failure_kind::not_started,
    .code = ETIMEDOUT};
  failure.details.message
    = std::string{has_begun_ ? "its program or its output files were not opened"
                             : "its log folders were not made"}
      + " within " + std::to_string(start_timeout_.count() / 1'000)
      + " s; a file system may hang";
  report_failure(std::move(failure), {}, now, out);
}

// -- starts for which something is lacking ------------------------------------

// Once a worker has failed here, the generation is over anyway.
bool worker_group::delay(const worker_not_started& event, time_point now,
                         effects& out) {
  if (phase_ != phase::starting || !is_shortage(event.error))
    return false;
  const auto is_first = !short_since_;
  if (is_first) {
    short_since_ = now;
    next_pause_ = shortage_pause_min;
  }
  const auto left = *short_since_ + shortage_max - now;
  if (left <= duration{0})
    return false;
  workers_[event.local_rank].now = worker_record::state::delayed;
  if (is_first)
    out.emplace_back(report_shortage{event.local_rank, event.error,
                                     event.details.subject.empty()
                                       ? event.details.message
                                       : event.details.subject,
                                     left});
  return true;
}

// When all others run or have failed: then what they have taken is known.
void worker_group::try_again(time_point now, effects& out) {
  if (phase_ != phase::starting || retry_timer_.value != 0
      || !in_state(worker_record::state::waiting).empty()
      || in_state(worker_record::state::delayed).empty())
    return;
  const auto due
    = std::min(now + duration{next_pause_}, *short_since_ + shortage_max);
  next_pause_ = std::min(2 * next_pause_, shortage_pause_max);
  retry_timer_ = arm(due, out);
}

void worker_group::start_delayed(effects& out) {
  retry_timer_ = {};
  if (phase_ != phase::starting)
    return;
  for (const auto i : in_state(worker_record::state::delayed))
    workers_[i].now = worker_record::state::waiting;
  out.emplace_back(start_workers{});
}

// No report of theirs comes any more.
void worker_group::end_delayed() {
  for (const auto i : in_state(worker_record::state::delayed)) {
    workers_[i].now = worker_record::state::ended;
    --waiting_count_;
    ++ended_count_;
  }
}

// -- SIGKILL ------------------------------------------------------------------

// A second kill does not extend the time.
void worker_group::kill_all(time_point now, effects& out) {
  out.emplace_back(signal_workers{SIGKILL, parked_processes()});
  if (kill_timeout_.count() > 0 && kill_timer_.value == 0)
    kill_timer_ = arm(now + kill_timeout_, out);
}

void worker_group::give_up_all(time_point now, effects& out) {
  using state = worker_record::state;
  for (uint32_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].now == state::running || workers_[i].now == state::waiting)
      give_up(i, now, out);
  settle(now, out);
}

// The death was ordered, but that it did not happen is a failure.
void worker_group::give_up(uint32_t local_rank, time_point now, effects& out) {
  if (is_spare(local_rank)) { // It holds nothing that workers need.
    workers_[local_rank].now = worker_record::state::given_up;
    return;
  }
  auto failure = worker_failure{.local_rank = local_rank,
                                .kind = failure_kind::unkillable,
                                .code = SIGKILL};
  if (const auto i = overdue_.find(local_rank); i != overdue_.end())
    i->second.explain(failure.details);
  workers_[local_rank].now = worker_record::state::given_up;
  ++ended_count_;
  ++given_up_count_;
  report_failure(std::move(failure), {}, now, out);
}

} // namespace actorrun::core
