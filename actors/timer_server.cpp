#include "actors/timer_server.hpp"

#include "actors/core/failure.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

/// What a wake-up is about, and which one of these.
enum class reason : uint64_t { lines, notices, timer, settle };

constexpr uint64_t reason_count = 4;

constexpr uint64_t code(reason why, uint64_t number = 0) {
  return number * reason_count + static_cast<uint64_t>(why);
}

/// The table wants another round although it has just had one: others first.
constexpr auto settle_pause = wakeup_delay_min;

/// Of a scope in a line, in bytes.
constexpr size_t scope_size_max = 200;

std::string in_quotes(const std::string& scope) {
  return "\"" + one_line(scope, scope_size_max) + "\"";
}

std::string milliseconds_text(duration x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f ms",
                std::chrono::duration<double, std::milli>(x).count());
  return text;
}

std::string describe(const overrun& x) {
  if (x.who.epoch.value == 0)
    return "a part of this program";
  auto text = "worker " + std::to_string(x.who.local_rank) + " of epoch "
              + to_string(x.who.epoch);
  if (x.who.process != 0)
    return "process " + std::to_string(x.pid) + " of " + text;
  return text + " (pid " + std::to_string(x.pid) + ")";
}

std::string line_about(const overrun& x) {
  return describe(x) + ": timer " + in_quotes(x.scope) + " is overdue by "
         + milliseconds_text(x.lateness);
}

} // namespace

// One overload per effect: the only code here that touches other actors.
struct timer_server_state::effect_runner {
  timer_server_state& st;

  void operator()(const arm_timer& x) {
    tell_later(st.self_, x.due - st.now_,
               timer_wake_up{code(reason::timer, x.timer.value)});
  }

  // Not here: what is being read comes first.
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
    table_(std::in_place, config_.limits), members_(config_.members),
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
    [this](const timer_wake_up& x) {
      now_ = clock_now();
      wake_up(x.what);
      settle();
    },
  };
}

// A wake-up that is on its way keeps what is left of us for up to a day.
void timer_server_state::on_exit() {
  complained_at_.reset();
  complain();
  config_ = {};
  members_ = timed_sessions{nullptr};
  table_.reset();
  place_ = {};
}

// -- messages -----------------------------------------------------------------

void timer_server_state::obey(const workers_timed& x) {
  auto& to = listeners_[x.epoch];
  to.address = caf::actor_cast<caf::actor_addr>(x.listener);
  for (const auto& worker : x.workers) {
    to.local_ranks.insert(worker.local_rank);
    dispatch(timed_worker_started{{x.epoch, worker.local_rank}, worker.pid});
    for (const auto& early : early_.take(worker.pid, now_))
      take(early.request, early.wall_offset);
  }
}

void timer_server_state::obey(const workers_untimed& x) {
  const auto to = listeners_.find(x.epoch);
  for (const auto local_rank : x.local_ranks) {
    for (const auto& members : members_.remove_of(x.epoch, local_rank))
      dispatch(timed_worker_ended{members});
    dispatch(timed_worker_ended{{x.epoch, local_rank}});
    watchdogs_.erase({x.epoch, local_rank});
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
  if (x.epoch.value != 0)
    dispatch(timer_acquired{{x.epoch, x.local_rank},
                            x.scope,
                            saturating_plus(now_, x.after),
                            x.signal});
}

void timer_server_state::obey(const release_worker_timer& x) {
  if (x.epoch.value != 0)
    dispatch(timer_released{{x.epoch, x.local_rank}, x.scope});
}

void timer_server_state::wake_up(uint64_t what) {
  switch (static_cast<reason>(what % reason_count)) {
    case reason::lines:
      read_lines();
      break;
    case reason::notices:
      read_notices();
      break;
    case reason::timer:
      dispatch(timer_fired{{what / reason_count}});
      break;
    case reason::settle:
      break;
  }
}

timer_figures timer_server_state::figures() const {
  return {table_->size(), table_->counts(), reader_.counts()};
}

// -- decisions ----------------------------------------------------------------

void timer_server_state::dispatch(const timer_event& event) {
  for (const auto& effect : table_->step(event, now_))
    std::visit(effect_runner{*this}, effect);
}

// One round in one turn: who sends nothing but timers that are over shall not
// keep us from all else.
void timer_server_state::settle() {
  if (drain_done_ == drain_ordered_)
    return;
  const auto round = drain_ordered_;
  read_all();
  drain_done_ = round;
  dispatch(source_drained{round});
  if (drain_done_ != drain_ordered_)
    tell_later(self_, settle_pause, timer_wake_up{code(reason::settle)});
}

void timer_server_state::report(const overrun& x) {
  if (x.who.epoch.value == 0)
    tell_client(x);
  else if (x.who.process != 0 && !members_.is_alive(x.who))
    end_members(x.who); // Its timers have died with it.
  else
    tell_listener(x);
}

void timer_server_state::tell_listener(const overrun& x) {
  config_.lines.warn("timer server reports " + line_about(x));
  const auto i = listeners_.find(x.who.epoch);
  if (i == listeners_.end())
    return;
  if (const auto to
      = caf::actor_cast<overrun_listener_actor>(i->second.address))
    tell(self_, to, worker_overrun{x});
}

// It is not stopped, as nobody can stop it; so it may begin anew.
void timer_server_state::tell_client(const overrun& x) {
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

// -- waking up ----------------------------------------------------------------

void timer_server_state::watch_source() {
  if (config_.source)
    config_.source->call_when_ready(waking(code(reason::lines)));
}

void timer_server_state::watch_notices() {
  if (config_.notices)
    config_.notices->call_when_ready(waking(code(reason::notices)));
}

// The ports must not keep the actor alive: it is the actor that holds them.
std::function<void()> timer_server_state::waking(uint64_t what) const {
  return [address = caf::actor_cast<caf::actor_addr>(self_), what] {
    if (const auto to = caf::actor_cast<own_timer_server_actor>(address))
      tell_anonymously(to, timer_wake_up{what});
  };
}

timer_server_actor spawn_timer_server(caf::actor_system& system,
                                      timer_server_config config) {
  return system.spawn<actor_impl<own_timer_server_actor, timer_server_state>>(
    std::move(config));
}

} // namespace actorrun
