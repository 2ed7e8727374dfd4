#include "tests/sim/machine.hpp"

#include <csignal>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto start_delay_min = core::duration{50us};
constexpr auto kill_delay_min = core::duration{10us};
constexpr auto kill_delay_max = core::duration{5ms};
constexpr auto warden_delay_max = core::duration{200us};
constexpr auto exit_noticed_max = core::duration{300us};

constexpr auto hangs_for_ever_percent = 50;
constexpr auto ignored_notice_percent = 40;

} // namespace

machine::machine(world& all, os_process& agent, listener on_event)
  : world_(all), agent_(agent), on_event_(std::move(on_event)) {
  agent.on_death([this] { kill_all(world_.plan.orphan_delay_max); });
}

void machine::start(const core::epoch_plan& plan, uint64_t decided,
                    invariants::epoch_record& record) {
  if (current_ != nullptr)
    world_.checks.report("precondition: epoch " + to_string(plan.epoch)
                         + " starts before epoch " + to_string(current_->epoch)
                         + " was released");
  batches_.push_back(
    std::make_unique<batch>(batch{plan.epoch, &record, decided, {}}));
  current_ = batches_.back().get();
  for (uint32_t i = 0; i < plan.own.slot_count; ++i) {
    busy_until_
      = std::max(busy_until_, world_.queue.now())
        + world_.roll.between(start_delay_min, world_.plan.start_delay_max);
    agent_.at(busy_until_,
              [this, group = current_, i] { start_one(*group, i); });
  }
}

void machine::start_one(batch& group, uint32_t local_rank) {
  if (world_.start_error != 0)
    return tell(group.epoch,
                core::worker_not_started{local_rank, world_.start_error});
  const auto pid = ++world_.last_pid;
  const auto fenced
    = group.decided != fence_count_ || world_.queue.now() >= fence_;
  group.workers.push_back(
    {.pid = pid, .local_rank = local_rank, .ordered = fenced});
  const auto i = group.workers.size() - 1;
  if (fenced) {
    // Killed between its start and its first instruction.
    ++group.record->running_count;
    die(group, i, 0, SIGKILL);
    return tell(group.epoch, core::worker_started{local_rank, pid});
  }
  world_.checks.born(*group.record);
  tell(group.epoch, core::worker_started{local_rank, pid});
  const auto jitter = world_.roll.between(core::duration{0}, 100ms);
  world_.queue.after(world_.plan.work + jitter, [this, &group, i] {
    if (!group.workers[i].held)
      die(group, i, 0, 0);
  });
}

void machine::signal(epoch_id epoch, int signal) {
  if (current_ == nullptr || current_->epoch != epoch)
    return;
  agent_.at(busy_until_, [this, group = current_, signal] {
    for (size_t i = 0; i < group->workers.size(); ++i)
      deliver(*group, i, signal);
  });
}

void machine::notify(epoch_id epoch) {
  if (current_ == nullptr || current_->epoch != epoch)
    return;
  agent_.at(busy_until_, [this, group = current_] {
    for (size_t i = 0; i < group->workers.size(); ++i) {
      auto& x = group->workers[i];
      x.noticed = x.running;
      if (x.running && !x.doomed
          && !world_.roll.percent(ignored_notice_percent))
        obey(*group, i, SIGUSR1);
    }
  });
}

void machine::deliver(batch& group, size_t i, int signal) {
  auto& x = group.workers[i];
  if (!x.running)
    return;
  x.ordered = !x.timed;
  send(group, i, signal);
}

void machine::signal_one(epoch_id epoch, uint32_t local_rank, int signal) {
  if (current_ == nullptr || current_->epoch != epoch)
    return;
  agent_.at(busy_until_, [this, group = current_, local_rank, signal] {
    for (size_t i = 0; i < group->workers.size(); ++i)
      if (auto& x = group->workers[i];
          x.local_rank == local_rank && x.running) {
        x.timed = !x.ordered;
        send(*group, i, signal);
      }
  });
}

void machine::send(batch& group, size_t i, int signal) {
  auto& x = group.workers[i];
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
  world_.checks.died(*group.record, x.pid, x.ordered || x.noticed);
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
  if (x.is_bereft)
    event.details.message = "connection reset by peer";
  world_.queue.after(noticed,
                     [this, &group, pid = x.pid, event = std::move(event)] {
                       tell(group.epoch, event, pid);
                     });
}

void machine::release(epoch_id epoch) {
  if (current_ != nullptr && current_->epoch == epoch)
    current_ = nullptr;
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
    kill_all(kill_delay_max);
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
  for (const auto& group : batches_)
    for (const auto& x : group->workers)
      if (x.running)
        world_.checks.stood_still(*group->record);
}

// A warden counts the time of a suspension, and runs before the workers do.
void machine::thaw() {
  if (!std::exchange(frozen_, false))
    return;
  for (const auto& group : batches_)
    for (const auto& x : group->workers)
      group->record->running_count += x.running ? 1 : 0;
  if (agent_.alive() && world_.queue.now() >= fence_) {
    fire_fence();
    for (size_t i = 0; current_ != nullptr && i < current_->workers.size();
         ++i) {
      current_->workers[i].ordered = !current_->workers[i].timed;
      die(*current_, i, 0, SIGKILL);
    }
  }
  for (const auto& what : std::exchange(missed_, {}))
    what();
  for (const auto& group : batches_)
    world_.checks.went_on(*group->record);
}

void machine::kill_all(core::duration delay_max) {
  if (current_ == nullptr)
    return;
  for (size_t i = 0; i < current_->workers.size(); ++i) {
    current_->workers[i].ordered = !current_->workers[i].timed;
    current_->workers[i].doomed = true;
    die_after(*current_, i, world_.roll.between(kill_delay_min, delay_max), 0,
              SIGKILL);
  }
}

uint32_t machine::running_count() const {
  auto n = uint32_t{0};
  if (current_ != nullptr)
    for (const auto& x : current_->workers)
      n += x.running ? 1 : 0;
  return n;
}

bool machine::is_any_alive() const {
  for (const auto& group : batches_)
    for (const auto& x : group->workers)
      if (x.running)
        return true;
  return false;
}

int64_t machine::break_worker(uint32_t which, int exit_code, int signal,
                              bool is_bereft) {
  for (size_t i = 0; current_ != nullptr && i < current_->workers.size(); ++i)
    if (auto& x = current_->workers[i];
        x.running && !x.doomed && !x.hangs && which-- == 0) {
      x.is_bereft = is_bereft;
      die(*current_, i, exit_code, signal);
      return x.pid;
    }
  return 0;
}

std::optional<machine::victim> machine::hold_worker(uint32_t which,
                                                    bool hangs) {
  for (size_t i = 0; current_ != nullptr && i < current_->workers.size(); ++i)
    if (auto& x = current_->workers[i];
        x.running && !x.doomed && !x.hangs && which-- == 0) {
      x.held = true;
      x.hangs = hangs;
      return victim{current_->epoch, x.local_rank};
    }
  return std::nullopt;
}

// Facts reach the agent in the order in which they happened, with the time at
// which it read them: later, if it was asleep.
void machine::tell(epoch_id epoch, core::worker_group_event event,
                   int64_t dead_pid) {
  reported_until_ = std::max(reported_until_, world_.queue.now())
                    + world_.roll.between(core::duration{1us}, 50us);
  agent_.at(reported_until_, [this, epoch, dead_pid, event = std::move(event)] {
    auto seen = event;
    const auto now = world_.queue.now();
    if (auto* x = std::get_if<core::worker_exited>(&seen))
      x->when = now;
    if (auto* x = std::get_if<core::worker_not_started>(&seen))
      x->when = now;
    if (dead_pid != 0)
      world_.checks.seen(dead_pid, now);
    on_event_(epoch, seen);
  });
}

} // namespace actorrun::sim
