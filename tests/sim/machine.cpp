#include "tests/sim/machine.hpp"

#include <algorithm>
#include <csignal>
#include <set>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto start_delay_min = core::duration{50us};
constexpr auto kill_delay_min = core::duration{10us};
constexpr auto kill_delay_max = core::duration{5ms};
constexpr auto warden_delay_max = core::duration{200us};
constexpr auto exit_noticed_max = core::duration{300us};
/// Of a worker that is killed with much memory.
constexpr auto teardown_max = core::duration{200ms};
constexpr auto slow_teardown_percent = 50;

constexpr auto hangs_for_ever_percent = 50;
constexpr auto ignored_notice_percent = 40;

/// Of the workers that are asked to park: those that do not hear it, those that end
/// instead, and those that end later, or hang up.
constexpr auto deaf_percent = 10;
constexpr auto dies_asked_percent = 10;
constexpr auto leaves_parked_percent = 25;
constexpr auto deaf_to_steps_percent = 2;

constexpr uint64_t bit_of(int signal) {
  return uint64_t{1} << signal;
}

} // namespace

machine::machine(world& all, os_process& agent, listener on_event)
  : world_(all), agent_(agent), on_event_(std::move(on_event)) {
  agent.on_death([this] { kill_all(world_.plan.orphan_delay_max, true); });
}

void machine::start(const core::generation_plan& plan,
                    const std::vector<uint32_t>& local_ranks, uint64_t decided,
                    invariants::generation_record& record) {
  // What something was lacking for is tried again in its generation.
  const auto is_again = unreleased_ == plan.generation;
  if (unreleased_.value != 0 && !is_again)
    world_.checks.report("precondition: generation "
                         + to_string(plan.generation)
                         + " starts before generation " + to_string(unreleased_)
                         + " was released");
  if (!is_again) {
    batches_.push_back(
      std::make_unique<batch>(batch{plan, &record, decided, {}}));
    living_.push_back(batches_.back().get());
  }
  auto* group = batches_.back().get();
  group->decided = decided;
  current_ = unreleased_ = plan.generation;
  for (const auto i : local_ranks) {
    busy_until_
      = std::max(busy_until_, world_.queue.now())
        + world_.roll.between(start_delay_min, world_.plan.start_delay_max);
    agent_.at(busy_until_,
              [this, group, i, &record] { start_one(*group, i, record); });
  }
}

void machine::move(int64_t pid, uint32_t local_rank) {
  if (const auto [group, i] = find(pid); group != nullptr)
    group->workers[i].local_rank = local_rank;
}

void machine::start_one(batch& group, uint32_t local_rank,
                        invariants::generation_record& record) {
  const auto generation = group.plan.generation;
  if (world_.start_error != 0)
    return tell(generation,
                core::worker_not_started{local_rank, world_.start_error});
  const auto pid = ++world_.last_pid;
  const auto fenced
    = group.decided != fence_count_ || world_.queue.now() >= fence_;
  group.workers.push_back({.pid = pid,
                           .local_rank = local_rank,
                           .ordered = fenced,
                           .generation = generation,
                           .record = &record,
                           .guarded = group.decided});
  const auto i = group.workers.size() - 1;
  if (fenced) {
    // Killed between its start and its first instruction.
    ++record.running_count;
    group.workers[i].sent = bit_of(SIGKILL);
    die(group, i, 0, SIGKILL);
    return tell(generation, core::worker_started{local_rank, pid});
  }
  auto& x = group.workers[i];
  x.is_ahead = group.plan.is_ahead || local_rank >= group.plan.own.slot_count;
  if (x.is_ahead) {
    ++record.running_count;
  } else {
    world_.checks.born(record);
    world_.checks.took_part(group.plan, local_rank, {});
  }
  tell(generation, core::worker_started{local_rank, pid});
  x.rank = group.plan.own.global_rank(local_rank);
  x.is_live = world_.plan.live_percent > 0
              && world_.roll.percent(world_.plan.live_percent);
  if (x.is_ahead)
    return begin_ahead(group, i);
  if (x.is_live)
    greet(x);
  begin_work(group, i);
}

// It reads its data, and parks. A program that wants its rank at once fails.
void machine::begin_ahead(batch& group, size_t i) {
  auto& roll = world_.roll;
  const auto is_slow = roll.percent(20);
  const auto delay
    = roll.between(core::duration{10us}, is_slow ? world_.plan.work : 2ms);
  if (!group.workers[i].is_live)
    return die_after(group, i, delay, 1, 0);
  world_.queue.after(delay, [this, &group, i, term = group.workers[i].term] {
    auto& x = group.workers[i];
    if (!x.running || x.doomed || x.held)
      return;
    tell(x.generation, core::worker_greeted{x.local_rank}, x.pid);
    x.has_greeted = true;
    say_parked(group, i, term);
  });
}

void machine::begin_work(batch& group, size_t i) {
  const auto jitter = world_.roll.between(core::duration{0}, 100ms);
  world_.queue.after(world_.plan.work + jitter,
                     [this, &group, i, term = group.workers[i].term] {
                       auto& x = group.workers[i];
                       if (x.held || x.is_parked || x.term != term)
                         return;
                       x.is_done = true;
                       if (!x.is_there) // Else it waits, and then it ends.
                         die(group, i, 0, 0);
                     });
  auto& x = group.workers[i];
  x.step = 0;
  x.is_there = x.is_done = false;
  x.order.reset();
  if (!x.is_live || world_.plan.step_max.count() == 0)
    return;
  x.record->steps[x.rank] = 0;
  if (x.has_greeted)
    work_on(group, i);
}

// -- steps --------------------------------------------------------------------

// Up to the next safe point.
void machine::work_on(batch& group, size_t i) {
  const auto& plan = world_.plan;
  world_.queue.after(world_.roll.between(plan.step_max / 2, plan.step_max),
                     [this, &group, i, term = group.workers[i].term] {
                       arrive(group, i, term);
                     });
}

bool machine::is_at_work(const worker& x, uint32_t term) const {
  return x.is_at_work() && !x.held && !x.doomed && x.term == term;
}

// A step takes what all peers have sent after the step before.
void machine::arrive(batch& group, size_t i, uint32_t term) {
  if (frozen_)
    return missed_.push_back(
      [this, &group, i, term] { arrive(group, i, term); });
  auto& x = group.workers[i];
  if (!is_at_work(x, term))
    return;
  const auto& all = x.record->steps;
  if (std::any_of(all.begin(), all.end(),
                  [&](const auto& peer) { return peer.second < x.step; }))
    return work_on(group, i);
  x.is_there = true;
  go_past(group, i);
}

// Or waits there, as its last order says.
void machine::go_past(batch& group, size_t i) {
  auto& x = group.workers[i];
  if (!x.is_there)
    return;
  if (x.order && x.order->what == core::safe_point_order::kind::hold)
    return;
  if (x.order && x.step >= x.order->step)
    return tell(x.generation, core::worker_reached{x.local_rank, x.step},
                x.pid);
  x.is_there = false;
  ++x.step;
  x.record->steps[x.rank] = x.step;
  tell(x.generation, core::worker_stepped{x.local_rank}, x.pid);
  if (x.is_done)
    return die(group, i, 0, 0);
  work_on(group, i);
}

void machine::order_steps(const std::vector<int64_t>& pids,
                          const core::safe_point_order& order) {
  agent_.at(busy_until_, [this, pids, order] {
    for (const auto pid : pids) {
      const auto [group, i] = find(pid);
      if (group == nullptr)
        continue;
      auto& x = group->workers[i];
      x.ordered_at = std::max(x.ordered_at, world_.queue.now())
                     + world_.roll.between(core::duration{10us}, 1ms);
      world_.queue.at(world_.queue.ceil(x.ordered_at),
                      [this, group = group, i = i, order, term = x.term] {
                        take_order(*group, i, order, term);
                      });
    }
  });
}

// Its library answers on a thread of its own. Some never do.
void machine::take_order(batch& group, size_t i,
                         const core::safe_point_order& order, uint32_t term) {
  if (frozen_)
    return missed_.push_back(
      [this, &group, i, order, term] { take_order(group, i, order, term); });
  auto& x = group.workers[i];
  const auto is_release = order.what == core::safe_point_order::kind::go_on;
  if (!is_at_work(x, term)
      || (!is_release && world_.roll.percent(deaf_to_steps_percent)))
    return;
  if (order.what == core::safe_point_order::kind::stop_at
      && order.step < x.step)
    world_.checks.report("safe point: rank " + std::to_string(x.rank)
                         + " is to stop at step " + std::to_string(order.step)
                         + ", and has gone past it");
  if (order.what == core::safe_point_order::kind::hold)
    tell(x.generation, core::worker_held{x.local_rank, x.step}, x.pid);
  x.order = order;
  if (is_release)
    x.order.reset();
  go_past(group, i);
}

// -- workers that live through a change ---------------------------------------

// Soon after its start, or when it has read its data.
void machine::greet(const worker& x) {
  const auto is_slow = world_.roll.percent(20);
  world_.queue.after(
    world_.roll.between(core::duration{10us},
                        is_slow ? world_.plan.work : core::duration{2ms}),
    [this, generation = x.generation, pid = x.pid, rank = x.local_rank] {
      const auto at = find(pid);
      if (at.group == nullptr
          || at.group->workers[at.i].generation != generation)
        return;
      tell(generation, core::worker_greeted{rank}, pid);
      at.group->workers[at.i].has_greeted = true;
      if (world_.plan.step_max.count() > 0)
        work_on(*at.group, at.i);
    });
}

void machine::ask_to_park(const std::vector<int64_t>& pids) {
  agent_.at(busy_until_, [this, pids] {
    auto& roll = world_.roll;
    for (const auto pid : pids) {
      const auto [group, i] = find(pid);
      if (group == nullptr)
        continue;
      auto& x = group->workers[i];
      x.ordered = !x.timed;
      if (x.held || roll.percent(deaf_percent))
        continue;
      const auto slow = roll.percent(world_.plan.slow_stop_percent);
      const auto delay = roll.between(
        core::duration{10us},
        slow ? core::duration{world_.plan.grace} * 3 / 2 : core::duration{5ms});
      if (roll.percent(dies_asked_percent))
        die_after(*group, i, delay, 1, 0);
      else
        world_.queue.after(delay, [this, group = group, i = i, term = x.term] {
          say_parked(*group, i, term);
        });
    }
  });
}

void machine::say_parked(batch& group, size_t i, uint32_t term) {
  if (frozen_)
    return missed_.push_back(
      [this, &group, i, term] { say_parked(group, i, term); });
  auto& x = group.workers[i];
  if (!x.running || x.doomed || x.held || x.is_parked || x.term != term)
    return;
  x.is_parked = true;
  x.ordered = false;
  x.record->steps.erase(x.rank);
  world_.checks.parked(*x.record);
  tell(x.generation, core::worker_parked{x.local_rank}, x.pid);
  auto& roll = world_.roll;
  if (!roll.percent(leaves_parked_percent))
    return;
  // Often just when others count on it.
  const auto latest = roll.percent(70) ? core::duration{20ms} : 500ms;
  world_.queue.after(roll.between(core::duration{10us}, latest),
                     [this, &group, i, term] { leave_parked(group, i, term); });
}

// It ends, or hangs up and stays.
void machine::leave_parked(batch& group, size_t i, uint32_t term) {
  auto& x = group.workers[i];
  if (!x.running || x.doomed || x.term != term || !agent_.alive())
    return;
  if (world_.roll.percent(50))
    return tell(x.generation, core::worker_hung_up{x.local_rank}, x.pid);
  x.ordered = false;
  die(group, i, 3, 0);
}

void machine::park(int64_t pid) {
  agent_.at(busy_until_, [this, pid] {
    const auto [group, i] = find(pid);
    if (group == nullptr)
      return;
    auto& x = group->workers[i];
    if (!x.is_parked)
      world_.checks.report("parking: a worker is spared that runs");
    if (!x.is_spared && x.guarded != fence_count_)
      return; // The fence has killed it.
    x.is_spared = true;
    tell(x.generation, core::worker_spared{x.local_rank}, pid);
  });
}

void machine::resume(const core::generation_plan& plan,
                     const std::vector<int64_t>& pids, uint64_t decided,
                     invariants::generation_record& record) {
  current_ = plan.generation;
  agent_.at(busy_until_, [this, plan, pids, decided, &record] {
    for (const auto pid : pids) {
      const auto [group, i] = find(pid);
      if (group == nullptr)
        continue;
      auto& x = group->workers[i];
      x.is_spared = false;
      x.guarded = decided;
      x.ordered = decided != fence_count_ || world_.queue.now() >= fence_;
      if (x.ordered) {
        x.doomed = true;
        x.sent |= bit_of(SIGKILL);
        die(*group, i, 0, SIGKILL);
        continue;
      }
      world_.checks.took_part(plan, x.local_rank,
                              x.is_ahead ? generation_id{} : x.generation);
      x.is_parked = x.is_ahead = false;
      x.generation = plan.generation;
      x.record = &record;
      x.rank = plan.own.global_rank(x.local_rank);
      ++x.term;
      world_.checks.born(record);
      begin_work(*group, i);
    }
  });
}

std::vector<machine::place> machine::alive() {
  auto out = std::vector<place>{};
  std::erase_if(living_, [&](batch* x) {
    const auto before = out.size();
    for (size_t i = 0; i < x->workers.size(); ++i)
      if (x->workers[i].running)
        out.push_back({x, i});
    return out.size() == before && x->plan.generation != current_;
  });
  return out;
}

machine::place machine::find(int64_t pid) {
  for (const auto& x : alive())
    if (x.group->workers[x.i].pid == pid)
      return x;
  return {};
}

// -- signals ------------------------------------------------------------------

void machine::signal(generation_id generation, int signal,
                     const std::vector<uint32_t>& spared,
                     const std::vector<int64_t>& pids) {
  agent_.at(busy_until_, [this, generation, signal, spared, pids] {
    const auto has = [](const auto& all, auto x) {
      return std::find(all.begin(), all.end(), x) != all.end();
    };
    look();
    for (const auto& [group, i] : alive()) {
      const auto& x = group->workers[i];
      if (has(pids, x.pid)
          || (x.generation == generation && !has(spared, x.local_rank)))
        deliver(*group, i, signal);
    }
  });
}

void machine::notify(generation_id generation) {
  agent_.at(busy_until_, [this, generation] {
    for (const auto& [group, i] : alive()) {
      auto& x = group->workers[i];
      if (x.generation != generation || x.is_parked)
        continue;
      x.noticed = true;
      x.sent |= bit_of(SIGUSR1);
      if (!x.doomed && !world_.roll.percent(ignored_notice_percent))
        obey(*group, i, SIGUSR1);
    }
  });
}

void machine::deliver(batch& group, size_t i, int signal) {
  auto& x = group.workers[i];
  x.ordered = !x.timed;
  send(group, i, signal);
}

void machine::signal_one(int64_t pid, int signal, bool is_order) {
  agent_.at(busy_until_, [this, pid, signal, is_order] {
    look(pid);
    const auto [group, i] = find(pid);
    if (group == nullptr)
      return;
    auto& x = group->workers[i];
    if (is_order)
      x.ordered = !x.timed;
    else
      x.timed = !x.ordered;
    send(*group, i, signal);
  });
}

// Those whose end is on its way have begun to end before the signal that comes.
void machine::look(int64_t pid) {
  for (auto& [dying, found] : dying_)
    if (!found && (pid == 0 || pid == dying))
      found = world_.queue.now();
}

void machine::send(batch& group, size_t i, int signal) {
  auto& x = group.workers[i];
  x.sent |= bit_of(signal);
  if (signal != SIGKILL)
    return obey(group, i, signal);
  if (std::exchange(x.doomed, true))
    return;
  die_after(group, i, world_.roll.between(kill_delay_min, kill_delay_max), 0,
            SIGKILL);
}

// Workers differ in how they obey a request to end.
void machine::obey(batch& group, size_t i, int signal) {
  auto& roll = world_.roll;
  if (roll.percent(world_.plan.no_stop_percent))
    return;
  const auto slow = roll.percent(world_.plan.slow_stop_percent);
  const auto delay = roll.between(
    core::duration{10us},
    slow ? core::duration{world_.plan.grace} * 3 / 2 : core::duration{5ms});
  switch (roll.between(0, 2)) {
    case 0:
      return die_after(group, i, delay, 0, 0);
    case 1:
      return die_after(group, i, delay, 1, 0);
    default:
      return die_after(group, i, delay, 0, signal);
  }
}

void machine::die_after(batch& group, size_t i, core::duration delay,
                        int exit_code, int signal) {
  world_.queue.after(delay, [this, &group, i, exit_code, signal] {
    die(group, i, exit_code, signal);
  });
}

void machine::die(batch& group, size_t i, int exit_code, int signal) {
  if (frozen_)
    return missed_.push_back([this, &group, i, exit_code, signal] {
      die(group, i, exit_code, signal);
    });
  auto& x = group.workers[i];
  if ((x.doomed || x.hangs) && signal != SIGKILL)
    return;
  if (!std::exchange(x.running, false))
    return;
  const auto is_foreign = signal != 0 && (x.sent & bit_of(signal)) == 0;
  if (!x.is_parked)
    x.record->steps.erase(x.rank);
  if (x.is_parked)
    world_.checks.died_parked(x.pid, x.ordered);
  else
    world_.checks.died(*x.record, x.pid,
                       (x.ordered && !is_foreign) || x.noticed);
  if (is_foreign && x.ordered)
    world_.checks.killed_in_stop(x.pid);
  if (!agent_.alive())
    return;
  // A fact of the machine; a sleeping agent learns of it later.
  auto noticed = world_.roll.between(core::duration{10us}, exit_noticed_max);
  if (x.hangs) {
    if (world_.roll.percent(hangs_for_ever_percent))
      return;
    noticed = world_.roll.between(core::duration{10us},
                                  3 * core::duration{world_.plan.kill_timeout});
  }
  auto event = core::worker_exited{x.local_rank, exit_code, signal, false};
  event.is_foreign = is_foreign;
  if (!x.hangs && !x.ordered && !x.timed && !x.is_parked) {
    dying_[x.pid];
    if (world_.roll.percent(slow_teardown_percent))
      noticed = world_.roll.between(core::duration{10us}, teardown_max);
  }
  if (x.is_bereft)
    event.details.message = "connection reset by peer";
  world_.queue.after(
    noticed, [this, generation = x.generation, pid = x.pid,
              event = std::move(event)] { tell(generation, event, pid); });
}

void machine::release(generation_id generation) {
  if (unreleased_ == generation)
    unreleased_ = {};
}

uint64_t machine::set_fence(core::time_point due) {
  const auto version = ++fence_version_;
  fence_ = due;
  if (due == core::time_point::max())
    return fence_count_;
  const auto wake = world_.queue.now()
                    + world_.roll.between(core::duration{0}, warden_delay_max);
  world_.queue.at(world_.queue.ceil(std::max(due, wake)), [this, version] {
    if (version != fence_version_ || frozen_)
      return;
    fire_fence();
    kill_all(kill_delay_max, false);
  });
  return fence_count_;
}

void machine::fire_fence() {
  fence_ = core::time_point::max();
  ++fence_version_;
  ++fence_count_;
}

void machine::freeze() {
  frozen_ = true;
  for (const auto& [group, i] : alive())
    if (const auto& x = group->workers[i]; x.is_at_work())
      world_.checks.stood_still(*x.record);
}

// A warden counts the time of a suspension, and runs before the workers do.
void machine::thaw() {
  if (!std::exchange(frozen_, false))
    return;
  auto records = std::set<invariants::generation_record*>{};
  for (const auto& [group, i] : alive())
    if (const auto& x = group->workers[i]; x.is_at_work()) {
      ++x.record->running_count;
      if (!x.is_ahead)
        records.insert(x.record);
    }
  if (agent_.alive() && world_.queue.now() >= fence_) {
    fire_fence();
    for (const auto& [group, i] : alive()) {
      auto& x = group->workers[i];
      if (x.is_spared)
        continue;
      x.ordered = !x.timed;
      x.sent |= bit_of(SIGKILL);
      die(*group, i, 0, SIGKILL);
    }
  }
  for (const auto& what : std::exchange(missed_, {}))
    what();
  for (auto* record : records)
    world_.checks.went_on(*record);
}

void machine::kill_all(core::duration delay_max, bool with_parked) {
  for (const auto& [group, i] : alive()) {
    auto& x = group->workers[i];
    if (x.is_spared && !with_parked)
      continue;
    x.ordered = !x.timed;
    x.doomed = true;
    x.sent |= bit_of(SIGKILL);
    die_after(*group, i, world_.roll.between(kill_delay_min, delay_max), 0,
              SIGKILL);
  }
}

uint32_t machine::running_count() const {
  auto n = uint32_t{0};
  for (const auto* group : living_)
    for (const auto& x : group->workers)
      n += x.is_at_work() && x.generation == current_ ? 1 : 0;
  return n;
}

bool machine::is_any_alive() const {
  for (const auto* group : living_)
    for (const auto& x : group->workers)
      if (x.running)
        return true;
  return false;
}

bool machine::is_any_at_work() const {
  for (const auto* group : living_)
    for (const auto& x : group->workers)
      if (x.is_at_work())
        return true;
  return false;
}

bool machine::is_any_parked() const {
  for (const auto* group : living_)
    for (const auto& x : group->workers)
      if (x.running && x.is_parked)
        return true;
  return false;
}

int64_t machine::break_worker(uint32_t which, int exit_code, int signal,
                              bool is_bereft) {
  for (const auto& [group, i] : alive())
    if (auto& x = group->workers[i];
        x.is_at_work() && !x.doomed && !x.hangs && which-- == 0) {
      x.is_bereft = is_bereft;
      die(*group, i, exit_code, signal);
      return x.pid;
    }
  return 0;
}

std::optional<machine::victim> machine::hold_worker(uint32_t which,
                                                    bool hangs) {
  for (const auto& [group, i] : alive())
    if (auto& x = group->workers[i];
        x.is_at_work() && !x.doomed && !x.hangs && which-- == 0) {
      x.held = true;
      x.hangs = hangs;
      return victim{x.generation, x.local_rank};
    }
  return std::nullopt;
}

// Facts reach the agent in the order in which they happened, with the time at
// which it read them: later, if it was asleep.
void machine::tell(generation_id generation, core::worker_group_event event,
                   int64_t pid) {
  reported_until_ = std::max(reported_until_, world_.queue.now())
                    + world_.roll.between(core::duration{1us}, 50us);
  agent_.at(reported_until_, [this, generation, pid, event = std::move(event)] {
    auto seen = event;
    const auto now = world_.queue.now();
    if (auto* x = std::get_if<core::worker_exited>(&seen)) {
      x->when = now;
      if (const auto i = dying_.find(pid); i != dying_.end()) {
        x->was_ending = true;
        x->when = i->second.value_or(now);
        dying_.erase(i);
      }
      world_.checks.seen(pid, x->when);
    }
    if (auto* x = std::get_if<core::worker_not_started>(&seen))
      x->when = now;
    on_event_(generation, seen, pid);
  });
}

} // namespace actorrun::sim
