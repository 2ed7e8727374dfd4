#include "runtime/processes/posix_process_host.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/processes/orphan_sweep.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/epoll.h>

namespace actorrun::detail {

namespace {

using namespace std::chrono_literals;

/// At most this many facts are in one call of the listener while a batch starts,
/// so that the first are known long before the last of 4,096 runs.
constexpr size_t facts_per_call_max = 64;

/// Timeout for killed processes; one that hangs in the kernel is left.
constexpr auto group_end_max = 1000ms;

/// A tracer may hold back the status of a process that has ended.
constexpr auto status_interval = 10ms;

/// Killed orphans leave orphans, so the sweep is repeated.
constexpr auto sweep_interval = 2ms;
constexpr uint32_t sweep_count_max = 100;

/// Between two looks at a control group that was killed.
constexpr auto empty_interval = 500us;

/// Between two looks for orphans that have ended: within a second, with few
/// wake-ups of a node at rest.
constexpr auto reap_interval = 800ms;

/// From the first start on; the wardens have settled in by then.
constexpr auto residence_delay = 1000ms;

/// An empty control group is removed so long after its workers, and what may be
/// left outside of it is looked for.
constexpr auto removal_delay = 100ms;

bool is_among(uint32_t local_rank, const std::vector<uint32_t>& xs) {
  return std::find(xs.begin(), xs.end(), local_rank) != xs.end();
}

std::set<pid_t> sessions_of(const std::vector<worker_process>& workers) {
  auto result = std::set<pid_t>{};
  for (const auto& x : workers)
    if (!x.reaped_elsewhere)
      result.insert(x.pid);
  return result;
}

void await_empty_group(const worker_cgroup& group, core::time_point deadline) {
  kill_cgroup(group.folder());
  while (is_populated(group.folder())
         && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(empty_interval);
}

void await_end(worker_process& worker, core::time_point deadline) {
  using ms = std::chrono::milliseconds;
  const auto left = deadline - std::chrono::steady_clock::now();
  auto fd = pollfd{.fd = worker.pidfd.get(), .events = POLLIN, .revents = 0};
  const auto timeout = std::chrono::ceil<ms>(left).count();
  ::poll(&fd, 1, static_cast<int>(std::max<int64_t>(timeout, 0)));
  worker.poll_exit();
}

} // namespace

posix_process_host::posix_process_host(reactor& loop, note_handler on_note,
                                       start_gate gate,
                                       std::shared_ptr<warden> guard)
  : loop_(loop), on_note_(std::move(on_note)), gate_(std::move(gate)),
    warden_(guard
              ? std::move(guard)
              : std::make_shared<warden>(loop, [this] { note(warden_lost); })),
    starter_(std::make_unique<process_starter>(
      loop, *warden_, [this](const std::string& x) { note(x); })) {
  // In parallel with other preparations; `start` would do it, too.
  post([this] { (void)warden_->ensure(); });
}

posix_process_host::~posix_process_host() {
  run_and_wait(loop_, [this] { end_all(); });
}

void posix_process_host::start(generation_id generation,
                               ports::fence_token decided,
                               std::vector<ports::process_spec> processes,
                               listener on_event) {
  post([=, this, specs = std::move(processes)]() mutable {
    start_all(generation, std::move(specs), on_event, decided.fire_count);
  });
}

void posix_process_host::signal(generation_id generation, int signal,
                                std::vector<uint32_t> spared,
                                ports::signal_scope scope) {
  post([=, this, spared = std::move(spared)] {
    const auto i = batches_.find(generation);
    if (i == batches_.end())
      return;
    give_up_starts(generation, i->second, signal, scope);
    for (auto& worker : i->second.workers)
      if (is_among(worker.local_rank, spared))
        worker.order();
      else
        worker.end_group(signal, scope);
  });
}

void posix_process_host::signal_one(generation_id generation,
                                    uint32_t local_rank, int signal,
                                    ports::signal_scope scope) {
  post([=, this] {
    const auto i = batches_.find(generation);
    if (i == batches_.end())
      return;
    for (auto& worker : i->second.workers)
      if (worker.local_rank != local_rank || worker.ended)
        continue;
      else if (signal == 0)
        worker.order();
      else
        worker.end_group(signal, scope);
  });
}

void posix_process_host::notify(generation_id generation, int signal) {
  post([=, this, now = std::chrono::steady_clock::now()] {
    const auto i = batches_.find(generation);
    if (i == batches_.end())
      return;
    for (auto& worker : i->second.workers)
      worker.signal_leader(signal);
    if (!i->second.starting.empty())
      i->second.notices.emplace_back(now, signal);
  });
}

void posix_process_host::park(generation_id generation, uint32_t local_rank,
                              std::function<void()> on_spared) {
  post([=, this, on_spared = std::move(on_spared)] {
    auto* worker = find(generation, local_rank);
    if (worker == nullptr || worker->ended)
      return; // Its end is on its way.
    if (worker->registration.spare() == 0)
      on_spared();
    else
      worker->kill_group(SIGKILL);
  });
}

void posix_process_host::resume(
  generation_id generation, ports::fence_token decided,
  std::vector<uint32_t> local_ranks,
  std::function<void(std::vector<uint32_t>)> on_resumed) {
  post([=, this, local_ranks = std::move(local_ranks),
        on_resumed = std::move(on_resumed)] {
    auto resumed = std::vector<uint32_t>{};
    for (const auto local_rank : local_ranks) {
      auto* worker = find(generation, local_rank);
      if (worker == nullptr || worker->ended)
        continue; // Its end is on its way.
      worker->countermand();
      if (worker->registration.guard(decided.fire_count) == 0)
        resumed.push_back(local_rank);
      else
        worker->kill_group(SIGKILL);
    }
    on_resumed(std::move(resumed));
  });
}

void posix_process_host::release(generation_id generation,
                                 std::vector<uint32_t> spared) {
  post([=, this, spared = std::move(spared)] {
    const auto i = batches_.find(generation);
    if (spared.empty() || i == batches_.end())
      release_now(generation);
    else
      release_ended(i->second, spared);
  });
}

void posix_process_host::check(std::function<void()> on_answer) {
  post(std::move(on_answer));
}

// At once, not on the thread: then moving a fence costs no wake-up, and it
// cannot be late because of a queue.
ports::fence_token posix_process_host::set_fence(core::time_point due) {
  return {warden_->set_fence(due)};
}

// -- starting -----------------------------------------------------------------

void posix_process_host::start_all(generation_id generation,
                                   std::vector<ports::process_spec> processes,
                                   listener on_event, uint64_t fire_count) {
  // Those that could not be started for lack of something are added to their batch.
  if (const auto i = batches_.find(generation); i != batches_.end()) {
    assert(!i->second.released);
    return start_each(generation, std::move(processes), fire_count);
  }
  auto& group = batches_
                  .emplace(generation, batch{.on_event = std::move(on_event),
                                             .files = starter_->begin_batch()})
                  .first->second;
  group.workers.reserve(processes.size());
  if (!group.cgroup() && on_detail_ && !std::exchange(has_told_obstacle_, true))
    on_detail_(formatted("workers run without a control group of their own: {}",
                         warden_->obstacle()));
  if (const auto path = warden_->ended_group();
      !path.empty() && !std::exchange(has_told_ended_, true))
    note(formatted("an agent that was killed has left processes in {}; they are"
                   " ended",
                   path));
  if (on_detail_ && !std::exchange(has_asked_residence_, true))
    loop_.after(residence_delay, while_alive([this] { tell_residence(); }));
  reap_later();
  if (gate_ && !ended_.empty())
    hold_back(generation, std::move(processes), fire_count);
  else
    start_each(generation, std::move(processes), fire_count);
}

void posix_process_host::tell_residence() {
  if (const auto why = warden_->residence_obstacle(); !why.empty())
    on_detail_(formatted("the wardens cannot be locked in memory ({}): without "
                         "swap space and their program's file they may be late",
                         why));
}

void posix_process_host::hold_back(generation_id generation,
                                   std::vector<ports::process_spec> processes,
                                   uint64_t fire_count) {
  batches_.at(generation).held = std::move(processes);
  const auto go = while_alive([=, this] {
    const auto i = batches_.find(generation);
    if (i == batches_.end() || i->second.held.empty())
      return; // It was abandoned.
    start_each(generation, std::exchange(i->second.held, {}), fire_count);
  });
  gate_(std::exchange(ended_, {}), [&loop = loop_, go] { loop.post(go); });
}

void posix_process_host::start_each(generation_id generation,
                                    std::vector<ports::process_spec> processes,
                                    uint64_t fire_count) {
  auto& group = batches_.at(generation);
  for (auto& x : processes) {
    const auto rank = x.local_rank;
    const auto id = starter_->start(std::move(x), fire_count, group.files,
                                    [=, this](started_process y) {
                                      on_start(generation, rank, std::move(y));
                                    });
    if (id.number != 0)
      group.starting.emplace(rank, id);
  }
  conclude_starts(group);
  flush(generation);
}

void posix_process_host::on_start(generation_id generation, uint32_t local_rank,
                                  started_process result) {
  auto& group = batches_.at(generation);
  if (result.error != 0)
    report(generation,
           ports::process_not_started{generation, local_rank, result.error,
                                      std::move(result.subject),
                                      std::chrono::steady_clock::now()});
  else
    add_worker(generation, local_rank, std::move(result));
  if (group.starting.erase(local_rank) == 1)
    conclude_starts(group);
  if (group.starting.empty())
    group.notices.clear();
  if (group.pending.size() >= facts_per_call_max)
    flush(generation);
  finish_if_done(generation);
}

void posix_process_host::add_worker(generation_id generation,
                                    uint32_t local_rank,
                                    started_process process) {
  auto& group = batches_.at(generation);
  const auto is_first_error
    = process.cgroup_error != 0
      && std::exchange(group.cgroup_error, process.cgroup_error) == 0;
  if (is_first_error && on_detail_)
    on_detail_(formatted("worker process {} runs outside of {}: {}",
                         process.pid, group.cgroup()->path(),
                         system_error_text(process.cgroup_error)));
  group.workers.push_back({.local_rank = local_rank,
                           .pid = process.pid,
                           .pidfd = std::move(process.pidfd),
                           .registration = std::move(process.registration)});
  ++group.running_count;
  watch(generation, group.workers.size() - 1);
  for (const auto& [sent, signal] : group.notices)
    if (process.since <= sent)
      group.workers.back().signal_leader(signal);
  if (group.late_signal != 0)
    group.workers.back().end_group(group.late_signal, group.late_scope);
  if (group.released)
    group.workers.back().registration.reset();
  report(generation,
         ports::process_started{generation, local_rank, process.pid});
}

void posix_process_host::give_up_starts(generation_id generation, batch& group,
                                        int late_signal,
                                        ports::signal_scope scope) {
  if (group.late_signal != SIGKILL) {
    group.late_signal = late_signal;
    group.late_scope = scope;
  }
  for (const auto& x : std::exchange(group.held, {}))
    report(generation,
           ports::process_not_started{generation,
                                      x.local_rank,
                                      ECANCELED,
                                      {},
                                      std::chrono::steady_clock::now()});
  for (const auto& [local_rank, id] : std::map{group.starting})
    starter_->give_up(id);
}

void posix_process_host::conclude_starts(const batch& group) {
  if (group.starting.empty())
    starter_->complain(group.files);
}

// -- ending -------------------------------------------------------------------

void posix_process_host::watch(generation_id generation, size_t index) {
  const auto fd = batches_.at(generation).workers[index].pidfd.get();
  loop_.watch(fd, EPOLLIN,
              [=, this](uint32_t) { on_ready(generation, index); });
}

void posix_process_host::on_ready(generation_id generation, size_t index) {
  auto& group = batches_.at(generation);
  auto& worker = group.workers[index];
  loop_.unwatch(worker.pidfd.get()); // It stays ready from now on.
  const auto status = worker.poll_exit();
  if (!status) {
    loop_.after(status_interval,
                while_alive([=, this] { watch(generation, index); }));
    return;
  }
  if (status->unknown)
    note(formatted("another part of this program has reaped worker process {}; "
                   "its exit code is lost",
                   worker.pid));
  report_end(
    generation,
    ports::process_exited{
      .generation = generation,
      .local_rank = worker.local_rank,
      .pid = worker.pid,
      .exit_code = status->exit_code,
      .signal = status->signal,
      .dumped = status->dumped,
      .when = worker.is_ordered ? round_time()
                                : worker.found_ending.value_or(round_time()),
      .was_ending = !worker.is_ordered,
      .is_foreign = status->signal != 0 && !worker.has_sent(status->signal),
      .memory = status->memory});
}

// Who hears that the last worker has ended says that the generation has: so what
// the workers have started must be dead by then.
void posix_process_host::report_end(generation_id generation,
                                    ports::process_event event) {
  auto& group = batches_.at(generation);
  const auto is_last = group.running_count == 1 && group.starting.empty();
  if (is_last && group.late_signal != 0 && group.cgroup()) {
    group.last_end = std::move(event);
    return await_empty(generation,
                       std::chrono::steady_clock::now() + group_end_max);
  }
  report(generation, std::move(event));
  --group.running_count;
  finish_if_done(generation);
}

void posix_process_host::await_empty(generation_id generation,
                                     core::time_point deadline) {
  auto& group = batches_.at(generation);
  const auto folder = group.cgroup()->folder();
  if (is_populated(folder) && std::chrono::steady_clock::now() < deadline) {
    kill_cgroup(folder);
    loop_.after(empty_interval,
                while_alive([=, this] { await_empty(generation, deadline); }));
    return;
  }
  report(generation, *std::exchange(group.last_end, std::nullopt));
  --group.running_count;
  finish_if_done(generation);
}

void posix_process_host::finish_if_done(generation_id generation) {
  const auto& group = batches_.at(generation);
  if (group.released && group.running_count == 0 && group.starting.empty())
    loop_.at_end_of_round(while_alive([=, this] { finish(generation); }));
}

void posix_process_host::report(generation_id generation,
                                ports::process_event event) {
  auto& pending = batches_.at(generation).pending;
  pending.push_back(std::move(event));
  if (pending.size() == 1)
    loop_.at_end_of_round(while_alive([=, this] { flush(generation); }));
}

void posix_process_host::flush(generation_id generation) {
  const auto i = batches_.find(generation);
  if (i == batches_.end() || i->second.pending.empty())
    return;
  i->second.on_event(std::exchange(i->second.pending, {}));
}

worker_process* posix_process_host::find(generation_id generation,
                                         uint32_t local_rank) {
  const auto i = batches_.find(generation);
  if (i == batches_.end())
    return nullptr;
  for (auto& worker : i->second.workers)
    if (worker.local_rank == local_rank)
      return &worker;
  return nullptr;
}

// Their zombies stay, as long as the batch does.
void posix_process_host::release_ended(batch& group,
                                       const std::vector<uint32_t>& spared) {
  auto sessions = std::set<pid_t>{};
  for (auto& worker : group.workers) {
    if (is_among(worker.local_rank, spared)
        || !group.gone.insert(worker.local_rank).second)
      continue;
    if (gate_)
      ended_.push_back(worker.pid);
    worker.kill_group(SIGKILL);
    worker.registration.reset();
    if (!worker.reaped_elsewhere)
      sessions.insert(worker.pid);
  }
  if (adopts_orphans())
    sweep_orphans(sessions);
}

void posix_process_host::release_now(generation_id generation) {
  const auto i = batches_.find(generation);
  if (i == batches_.end() || i->second.released)
    return;
  auto& group = i->second;
  group.released = true;
  give_up_starts(generation, group, SIGKILL, ports::signal_scope::group);
  for (auto& worker : group.workers) {
    if (group.gone.contains(worker.local_rank))
      continue;
    if (gate_) // Now: the next start may come before the last orphan is gone.
      ended_.push_back(worker.pid);
    worker.kill_group(SIGKILL);
    worker.registration.reset();
  }
  // What hangs in its start is killed as soon as it runs, and what ended workers
  // have left, if anything, when the generation is finished.
  if (!group.starting.empty())
    return;
  if (group.running_count == 0)
    finish(generation);
  else if (group.cgroup())
    kill_cgroup(group.cgroup()->folder());
}

// The zombies of the leaders go last: they keep the sessions' ids unique.
void posix_process_host::finish(generation_id generation) {
  flush(generation);
  const auto i = batches_.find(generation);
  if (i == batches_.end())
    return;
  auto& group = i->second;
  if (is_known_empty(group)) {
    look_later(group);
  } else if (group.sweep_count++ < sweep_count_max && sweep(group)) {
    loop_.after(sweep_interval, while_alive([=, this] { finish(generation); }));
    return;
  } else if (adopts_orphans()) {
    reap();
  }
  for (auto& worker : group.workers)
    worker.reap();
  batches_.erase(i);
}

bool posix_process_host::is_known_empty(const batch& group) {
  return group.cgroup() && group.cgroup_error == 0
         && !is_populated(group.cgroup()->folder());
}

// The next workers need not wait for a look at all child processes, nor for the
// removal of the group, if nothing lives there: what moved itself to another group
// is found later, by its session.
void posix_process_host::look_later(const batch& group) {
  group.cgroup()->close();
  late_.push_back({sessions_of(group.workers), group.cgroup()});
  loop_.after(removal_delay, while_alive([this] { look(0); }));
}

// The ids of sessions may be in use again: by workers of ours, which are known once
// they have started.
void posix_process_host::look(uint32_t count) {
  assert(!late_.empty());
  auto sessions = late_.front().sessions;
  for (const auto pid : all_sessions())
    sessions.erase(pid);
  const auto again = count < sweep_count_max && adopts_orphans()
                     && (are_starting() || sweep_orphans(sessions) > 0);
  if (again)
    loop_.after(sweep_interval, while_alive([=, this] { look(count + 1); }));
  else
    late_.pop_front();
}

// @returns whether processes of the batch were left
bool posix_process_host::sweep(batch& group) {
  auto found
    = adopts_orphans() && sweep_orphans(sessions_of(group.workers)) > 0;
  if (group.cgroup() && is_populated(group.cgroup()->folder())) {
    kill_cgroup(group.cgroup()->folder());
    found = true;
  }
  return found;
}

std::set<pid_t> posix_process_host::all_sessions() const {
  auto result = std::set<pid_t>{};
  for (const auto& [generation, group] : batches_)
    result.merge(sessions_of(group.workers));
  return result;
}

// The name of the group of all batches, with its slash: it is unique.
std::string posix_process_host::home_name() const {
  const auto path = warden_->cgroup_path();
  return path.empty() ? "" : path.substr(path.rfind('/')) + "/";
}

bool posix_process_host::are_starting() const {
  return std::any_of(batches_.begin(), batches_.end(),
                     [](const auto& x) { return !x.second.starting.empty(); });
}

// A worker that is about to be known must not be taken for an orphan.
void posix_process_host::reap() {
  const auto is_quiet = !are_starting();
  reap_orphans(all_sessions(), is_quiet ? home_name() : "",
               is_quiet && owns_children_);
}

// Orphans that end while their generation runs must not fill the table of
// processes.
void posix_process_host::reap_later() {
  if (reaps_ || !adopts_orphans())
    return;
  reaps_ = true;
  loop_.after(reap_interval, while_alive([this] {
                reaps_ = false;
                reap();
                if (!batches_.empty())
                  reap_later();
              }));
}

void posix_process_host::end_all() {
  const auto deadline = std::chrono::steady_clock::now() + group_end_max;
  for (auto& [generation, group] : batches_) {
    group.late_signal = SIGKILL;
    group.on_event = [](const auto&) {};
    for (auto& worker : group.workers)
      worker.kill_group(SIGKILL);
  }
  starter_->end(warden_);
  starter_.reset();
  for (auto& [generation, group] : batches_) {
    for (auto& worker : group.workers)
      if (!worker.ended) {
        loop_.unwatch(worker.pidfd.get());
        await_end(worker, deadline);
      }
    if (group.cgroup() && group.starting.empty())
      await_empty_group(*group.cgroup(), deadline);
    if (adopts_orphans()) {
      sweep_orphans(sessions_of(group.workers));
      reap();
    }
    for (auto& worker : group.workers)
      worker.reap();
  }
  for (const auto& x : late_)
    if (adopts_orphans())
      sweep_orphans(x.sessions);
  late_.clear();
  batches_.clear();
  warden_.reset();
  alive_.reset();
}

// A task may run on the reactor after this object is gone.
reactor::task posix_process_host::while_alive(reactor::task fn) const {
  return [alive = std::weak_ptr{alive_}, fn = std::move(fn)] {
    if (!alive.expired())
      fn();
  };
}

core::time_point posix_process_host::round_time() {
  if (!round_time_) {
    round_time_ = std::chrono::steady_clock::now();
    loop_.at_end_of_round(while_alive([this] { round_time_.reset(); }));
  }
  return *round_time_;
}

void posix_process_host::note(const std::string& text) const {
  if (on_note_)
    on_note_(text);
}

} // namespace actorrun::detail
