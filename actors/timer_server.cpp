#include "actors/timer_server.hpp"

#include "actors/core/failure.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

/// Pause for other actors, if the table orders a round right after another.
constexpr auto settle_pause = wakeup_delay_min;

/// At most this many bytes of a scope in a log line.
constexpr size_t scope_size_max = 200;

/// At most this many reads in one turn.
constexpr uint32_t timer_reads_max = 16;

std::string in_quotes(const std::string& scope) {
  return formatted("\"{}\"", one_line(scope, scope_size_max));
}

std::string milliseconds_text(duration x) {
  return formatted("{:.1f} ms",
                   std::chrono::duration<double, std::milli>(x).count());
}

std::string describe(const overrun& x) {
  if (x.who.generation.value == 0)
    return "an actor of this program";
  auto text = formatted("worker {} of generation {}", x.who.local_rank,
                        to_string(x.who.generation));
  if (x.who.process != 0)
    return formatted("process {} of {}", x.pid, text);
  return formatted("{} (pid {})", text, x.pid);
}

std::string line_about(const overrun& x) {
  return formatted("{}: timer {} is overdue by {}", describe(x),
                   in_quotes(x.scope), milliseconds_text(x.lateness));
}

} // namespace

// One overload per effect: the only code here that touches other actors.
struct timer_server_state::effect_runner {
  timer_server_state& st;

  void operator()(const arm_timer& x) {
    tell_later(st.self_, x.due - st.now_, timer_fired{x.timer});
  }

  // Done in `settle`: what is being read comes first.
  void operator()(const drain_source& x) { st.drain_ordered_ = x.round; }

  void operator()(const report_overrun& x) { st.report(x.what); }

  void operator()(const record_overrun& x) {
    if (x.what.who.process == 0 || st.members_.is_alive(x.what.who))
      st.config_.lines.warn("timer server records " + line_about(x.what));
  }
};

timer_server_state::timer_server_state(own_timer_server_actor::pointer self,
                                       timer_server_config config)
  : self_(self), config_(std::move(config)),
    table_(std::in_place, config_.limits),
    requests_(config_.source, config_.lines), members_(config_.members),
    watches_(self) {}

own_timer_server_actor::behavior_type timer_server_state::make_behavior() {
  watch_source();
  watch_notices();
  const auto handle = [this](const auto& x) {
    now_ = clock_now();
    obey(x);
    settle();
  };
  return {
    [=](const workers_timed& x) { handle(x); },
    [=](const workers_untimed& x) { handle(x); },
    [=](const acquire_timer& x) { handle(x); },
    [=](const release_timer& x) { handle(x); },
    [=](const acquire_worker_timer& x) { handle(x); },
    [=](const release_worker_timer& x) { handle(x); },
    [this](const timer_question&) { return figures(); },
    [=](const timer_lines_ready& x) { handle(x); },
    [=](const timer_notices_ready& x) { handle(x); },
    [=](const timers_go_on& x) { handle(x); },
    [=](const timer_fired& x) { handle(x); },
  };
}

// A wake-up that is on its way keeps this object alive for up to a day.
void timer_server_state::on_exit() {
  requests_.close();
  config_ = {};
  members_ = timed_sessions{nullptr};
  table_.reset();
}

// -- messages -----------------------------------------------------------------

void timer_server_state::obey(const workers_timed& x) {
  auto& to = listeners_[x.generation];
  to.address = caf::actor_cast<caf::actor_addr>(x.listener);
  for (const auto& worker : x.workers) {
    to.local_ranks.insert(worker.local_rank);
    dispatch(
      timed_worker_started{{x.generation, worker.local_rank}, worker.pid});
    parked_.erase(worker.pid);
    for (const auto& early : early_.take(worker.pid, now_))
      take(early.request, early.wall_offset, early.when);
    for (const auto& early : early_notices_.take(worker.pid, now_))
      take(early, worker.pid, {x.generation, worker.local_rank});
  }
}

void timer_server_state::obey(const workers_untimed& x) {
  const auto to = listeners_.find(x.generation);
  for (const auto& [local_rank, worker_pid] : x.workers) {
    for (const auto& members : members_.remove_of(x.generation, local_rank))
      dispatch(timed_worker_ended{members});
    dispatch(timed_worker_ended{{x.generation, local_rank}});
    if (x.live_on) {
      parked_.insert(worker_pid);
    } else {
      parked_.erase(worker_pid);
      watchdogs_.erase(worker_pid);
    }
    if (to != listeners_.end())
      to->second.local_ranks.erase(local_rank);
  }
  if (to != listeners_.end() && to->second.local_ranks.empty())
    listeners_.erase(to);
}

void timer_server_state::obey(const acquire_timer& x) {
  const auto& sender = self_->current_sender();
  if (!sender)
    return;
  const auto address = sender->address();
  const auto [i, is_new] = clients_.try_emplace(address);
  if (is_new)
    watches_.watch(self_, sender, [=, this] { forget_client(address); });
  auto& from = i->second;
  if (from.number == 0) {
    from.number = ++last_client_;
    dispatch(timed_worker_started{{{}, from.number}, 0});
  }
  from.listener = caf::actor_cast<caf::actor_addr>(x.listener);
  dispatch(timer_acquired{
    {{}, from.number}, x.scope, saturating_plus(now_, x.after), SIGKILL});
}

void timer_server_state::obey(const release_timer& x) {
  const auto& sender = self_->current_sender();
  const auto i = sender ? clients_.find(sender->address()) : clients_.end();
  if (i != clients_.end() && i->second.number != 0)
    dispatch(timer_released{{{}, i->second.number}, x.scope});
}

void timer_server_state::obey(const acquire_worker_timer& x) {
  const auto who = timed_worker{x.generation, x.local_rank};
  if (x.generation.value == 0)
    return;
  dispatch(
    timer_acquired{who, x.scope, saturating_plus(now_, x.after), x.signal});
  tell_acquired(who, x.scope, x.after);
}

void timer_server_state::obey(const release_worker_timer& x) {
  if (x.generation.value == 0)
    return;
  dispatch(timer_released{{x.generation, x.local_rank}, x.scope});
  tell_released({x.generation, x.local_rank}, x.scope);
}

timer_figures timer_server_state::figures() const {
  return {table_->size(), table_->counts(), requests_.counts(),
          table_->last_requests()};
}

// -- decisions ----------------------------------------------------------------

void timer_server_state::dispatch(const timer_event& event) {
  for (const auto& effect : table_->step(event, now_))
    std::visit(effect_runner{*this}, effect);
}

void timer_server_state::tell_acquired(const timed_worker& who,
                                       std::string_view scope, duration left) {
  if (config_.functions.on_acquired)
    config_.functions.on_acquired(who, scope, left);
}

void timer_server_state::tell_released(const timed_worker& who,
                                       std::string_view scope) {
  if (config_.functions.on_released)
    config_.functions.on_released(who, scope);
}

bool timer_server_state::is_pardoned(const overrun& x) {
  const auto& may_kill = config_.functions.on_overrun;
  if (!may_kill || may_kill(x))
    return false;
  dispatch(overrun_forgiven{x.who});
  return true;
}

// One round in one turn: a worker that sends only expired timers must not keep
// the server from everything else.
void timer_server_state::settle() {
  if (drain_done_ == drain_ordered_)
    return;
  const auto round = drain_ordered_;
  read_all();
  drain_done_ = round;
  dispatch(source_drained{round});
  if (drain_done_ != drain_ordered_)
    tell_later(self_, settle_pause, timers_go_on{});
}

void timer_server_state::report(const overrun& x) {
  if (x.who.generation.value == 0)
    notify_client(x);
  else if (x.who.process != 0 && !members_.is_alive(x.who))
    end_members(x.who); // Its timers have died with it.
  else if (!is_pardoned(x))
    notify_listener(x);
}

void timer_server_state::notify_listener(const overrun& x) {
  config_.lines.warn("timer server reports " + line_about(x));
  const auto i = listeners_.find(x.who.generation);
  if (i == listeners_.end())
    return;
  if (const auto to
      = caf::actor_cast<overrun_listener_actor>(i->second.address))
    tell(self_, to, worker_overrun{x});
}

// The actor cannot be stopped, so it may acquire timers again.
void timer_server_state::notify_client(const overrun& x) {
  config_.lines.warn("timer server reports " + line_about(x));
  dispatch(timed_worker_ended{x.who});
  for (auto& [address, from] : clients_) {
    if (from.number != x.who.local_rank)
      continue;
    from.number = 0;
    if (const auto to = caf::actor_cast<timer_client_actor>(from.listener))
      tell(self_, to, timer_overrun{x.scope, x.lateness});
    return;
  }
}

void timer_server_state::end_members(const timed_worker& who) {
  members_.remove(who);
  dispatch(timed_worker_ended{who});
}

void timer_server_state::forget_client(const caf::actor_addr& address) {
  const auto i = clients_.find(address);
  if (i == clients_.end())
    return;
  now_ = clock_now();
  if (i->second.number != 0)
    dispatch(timed_worker_ended{{{}, i->second.number}});
  clients_.erase(i);
  settle();
}

// -- reading ------------------------------------------------------------------

void timer_server_state::read_lines() {
  // Workers that write much go on meanwhile: one read too many costs less than
  // another wake-up.
  auto size = size_t{0};
  for (uint32_t i = 0; i < timer_reads_max && size < timer_turn; ++i) {
    const auto count = read_some(timer_slice);
    if (count == 0)
      break;
    size += count;
  }
  requests_.warn(now_);
  watch_source();
}

void timer_server_state::read_notices() {
  size_t count = 0;
  while (count < notice_turn && read_notice())
    ++count;
  watch_notices();
}

// Reads all that is there now, and what writers could not write before because
// the FIFO was full.
void timer_server_state::read_all() {
  for (size_t i = 0; i < notice_turn && config_.notices && read_notice(); ++i)
    continue;
  auto is_full = config_.source != nullptr;
  for (uint32_t i = 0; i < timer_drains_max && is_full; ++i) {
    is_full = config_.source->is_full();
    auto left = config_.source->size();
    while (left > 0) {
      const auto count = read_some(std::min(left, timer_slice));
      left = count == 0 ? 0 : left - count;
    }
  }
}

// Returns how many bytes there were.
size_t timer_server_state::read_some(size_t limit) {
  const auto count = requests_.read(limit);
  now_ = clock_now();
  const auto wall_offset = config_.source->wall_offset();
  while (const auto* x = requests_.next())
    take(*x, wall_offset, now_);
  return count;
}

void timer_server_state::take(const timer_request& x, duration wall_offset,
                              time_point when) {
  if (!table_->find(x.pid) && !admit(x, wall_offset))
    return;
  dispatch(timer_requested{.pid = x.pid,
                           .scope = x.scope,
                           .is_release = x.is_release,
                           .expiration = x.expiration,
                           .signal = x.signal,
                           .wall_offset = wall_offset,
                           .age = now_ - when});
  const auto who = table_->find(x.pid);
  if (who && x.is_release)
    tell_released(*who, x.scope);
  else if (who)
    tell_acquired(*who, x.scope,
                  saturating_minus(saturating_minus(x.expiration, wall_offset),
                                   now_.time_since_epoch()));
}

// Returns false if the request must wait because its worker is not known yet.
bool timer_server_state::admit(const timer_request& x, duration wall_offset) {
  const auto worker = members_.worker_of(x.pid);
  if (!worker) {
    report_unknown_client(x.pid);
    return true;
  }
  const auto who = table_->find(*worker);
  if (!who)
    return !early_.hold(*worker, {x, wall_offset, now_}, now_);
  return admit_member(*who, x.pid);
}

bool timer_server_state::admit_member(timed_worker who, int64_t pid) {
  who.process = pid;
  if (members_.is_full())
    for (const auto& x : members_.purge(now_))
      dispatch(timed_worker_ended{x});
  if (!members_.is_full() && members_.add(who))
    dispatch(timed_worker_started{who, pid});
  return true;
}

bool timer_server_state::read_notice() {
  const auto x = config_.notices->next();
  if (!x)
    return false;
  now_ = clock_now();
  const auto sender = table_->find(x->sender);
  const auto pid = sender && sender->process == 0
                     ? std::optional{x->sender}
                     : members_.worker_of(x->sender);
  if (!pid)
    return true;
  const auto notice = core::read_notice(x->text);
  if (const auto who = table_->find(*pid))
    take(notice, *pid, *who);
  else if (!parked_.contains(*pid))
    early_notices_.hold(*pid, notice, now_);
  else if (notice.interval) // It says that once.
    watchdogs_[*pid] = *notice.interval;
  return true;
}

void timer_server_state::take(const progress_notice& x, int64_t pid,
                              const timed_worker& who) {
  if (x.interval)
    watchdogs_[pid] = *x.interval;
  const auto own = watchdogs_.find(pid);
  const auto within = own == watchdogs_.end() ? config_.watchdog : own->second;
  const auto report = [&](duration left) {
    dispatch(progress_reported{pid, watchdog_scope, left, SIGKILL});
    tell_acquired(who, watchdog_scope, left);
  };
  if (x.is_stuck) {
    report(duration::zero());
  } else if (x.is_stopping || within <= duration::zero()) {
    dispatch(timer_released{who, watchdog_scope});
    tell_released(who, watchdog_scope);
  } else if (x.is_alive || x.interval) {
    report(within);
  }
}

// The operator should learn why timers have no effect; one line is enough.
void timer_server_state::report_unknown_client(int64_t pid) {
  if (unknown_client_count_ == timer_unknown_clients_max || !config_.members)
    return;
  ++unknown_client_count_;
  if (!members_.exists(pid))
    return;
  unknown_client_count_ = timer_unknown_clients_max;
  config_.lines.warn(formatted(
    "timer server ignores process {}: it belongs to no worker of this agent",
    pid));
}

// -- waking up ----------------------------------------------------------------

void timer_server_state::watch_source() {
  if (config_.source)
    config_.source->call_when_ready(telling(timer_lines_ready{}));
}

void timer_server_state::watch_notices() {
  if (config_.notices)
    config_.notices->call_when_ready(telling(timer_notices_ready{}));
}

// The ports must not keep the actor alive: it is the actor that holds them.
template <class Message>
std::function<void()> timer_server_state::telling(Message what) const {
  return [address = caf::actor_cast<caf::actor_addr>(self_), what] {
    if (const auto to = caf::actor_cast<own_timer_server_actor>(address))
      tell_anonymously(to, what);
  };
}

timer_server_actor spawn_timer_server(caf::actor_system& system,
                                      timer_server_config config) {
  return system.spawn<actor_impl<own_timer_server_actor, timer_server_state>>(
    std::move(config));
}

} // namespace actorrun
