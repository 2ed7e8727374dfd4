#include "tests/sim/agent.hpp"

#include "actors/core/failure_text.hpp"
#include "tests/sim/cluster.hpp"

#include <algorithm>
#include <csignal>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto fresh_port_percent = 30;

/// Agents that lost their coordinator do not storm the next one.
constexpr auto retry_delay_min = core::duration{15ms};

/// Delay until the last lines of a worker are on the console: mostly short; the
/// supervisor limits it.
constexpr auto drain_max = core::duration{1ms};
constexpr auto check_max = core::duration{400ms};
constexpr auto failed_check_percent = 30;
constexpr auto slow_drain_max = core::duration{100ms};
constexpr auto slow_drain_percent = 10;
constexpr auto no_drain_percent = 40;

/// That workers get when their machine is about to go.
constexpr auto notice_time = core::duration{300ms};
/// As worker_supervisor waits for files, at the most.
constexpr auto examination_max = core::duration{500ms};
constexpr auto slow_files_percent = 5;
constexpr auto examined_percent = 60;

/// Delay of the inspection of an overdue worker, before it is signalled.
constexpr auto inspection_timeout = std::chrono::milliseconds{50};
constexpr auto inspection_max = core::duration{60ms};
constexpr auto no_look_percent = 10;

// What is not examined has no last words.
core::worker_group_event unexamined(core::worker_group_event event) {
  if (auto* x = std::get_if<core::worker_exited>(&event))
    x->details = {};
  return event;
}

void set_rank(core::worker_group_event& event, uint32_t local_rank) {
  std::visit(
    [&](auto& x) {
      if constexpr (requires { x.local_rank; })
        x.local_rank = local_rank;
    },
    event);
}

/// The worker that a report of the machine is about.
uint32_t rank_of(const core::worker_group_event& event) {
  return std::visit(
    [](const auto& x) {
      if constexpr (requires { x.local_rank; })
        return x.local_rank;
      else
        return uint32_t{0};
    },
    event);
}

} // namespace

agent::agent(cluster& all, std::shared_ptr<os_process> process, uint32_t host,
             core::offer offering, core::job_settings settings)
  : all_(all), process_(std::move(process)),
    clock_(all.coarse(all.roll().between(core::duration{0}, uptime_max))),
    host_(host), settings_(settings),
    brain_(std::move(offering), all.plan().limits),
    checks_({.commands = {"check"}, .when = {.join = false}}),
    machine_(all.shared(), *process_,
             [this](generation_id generation, core::worker_group_event event,
                    int64_t pid) { take(generation, std::move(event), pid); }) {
  port_ = brain_.offering().master_port;
  process_->on_death([this] {
    if (link_)
      link_->close(side::agent);
  });
}

core::time_point agent::now() const {
  return all_.now() + clock_;
}

void agent::wake_at(core::time_point due, action what) {
  process_->at(all_.on_time(due - clock_) + all_.timer_lateness(),
               std::move(what));
}

void agent::handle(const core::membership_event& event) {
  if (finished())
    return;
  const auto share = brain_.share();
  const auto taken_for = brain_.current_link();
  const auto generation
    = brain_.plan() ? brain_.plan()->generation : generation_id{};
  hear(event);
  const auto effects = brain_.step(event, now());
  if (all_.trace().on())
    all_.trace().add(all_.now(), id().value, to_string(event), effects);
  check_orders(event, effects);
  check_lease(event, effects);
  check_beginning(event, effects);
  if (const auto* x = std::get_if<core::group_stopped>(&event);
      x && x->master_port != 0)
    port_ = x->master_port;
  const auto link_before = taken_for;
  if (std::holds_alternative<core::leave_requested>(event))
    leaving_ = true;
  is_job_over_ |= std::holds_alternative<core::job_ended>(event);
  if (all_.plan().voting)
    check_written(event);
  check_drain(event);
  for (const auto& effect : effects)
    run(effect);
  tell_gpus_once_joined(event);
  check_link();
  check_share(event, share, generation);
  check_telling();
  using state = core::membership::link;
  if (finished() && !said_left_
      && (link_before == state::joined || link_before == state::parting))
    all_.checks().report("I6: " + id().value + " goes without a word");
  if (const auto x = std::exchange(late_fence_, {}))
    handle(*x);
}

// A majority of the voters has stored it before any agent sees it (S3).
void agent::check_written(const core::membership_event& event) {
  if (const auto* x = std::get_if<core::generation_formed>(&event);
      x && x->plan.generation.value > all_.elections().written_generation())
    all_.checks().report("S3: " + id().value + " sees generation "
                         + to_string(x->plan.generation)
                         + ", which no majority of the voters has stored");
  if (const auto* x = std::get_if<core::job_ended>(&event))
    all_.checks().told_end(id(), x->result);
}

// Of orders the newest count, and of numbers the highest that were given: while a
// coordinator listens, it names numbers that there may have been.
void agent::hear(const core::membership_event& event) {
  const auto* told = std::visit(
    [](const auto& x) -> const core::charter* {
      if constexpr (requires { x.job; })
        return &x.job;
      else
        return nullptr;
    },
    event);
  const auto is_repeated
    = std::holds_alternative<core::join_accepted>(event)
      && brain_.current_link() != core::membership::link::joining;
  if (told == nullptr || !link_ || is_repeated)
    return;
  const auto before = heard_ ? heard_->newest : generation_id{};
  const auto& given = all_.checks().floor_of(served_by_);
  const auto newest
    = generation_of(std::min(term_of(told->newest), term_of(given)),
                    std::min(number_of(told->newest), number_of(given)));
  if (!heard_ || told->revision >= heard_->revision)
    heard_ = *told;
  heard_->newest = later(before, newest);
  heard_->lease = told->lease;
}

// A keep-alive proves that the supervisor has just answered. Whoever asks twice
// for the end gets it at once.
void agent::check_orders(const core::membership_event& event,
                         const std::vector<core::membership_effect>& effects) {
  auto is_alive = false;
  auto kills = false;
  for (const auto& effect : effects) {
    if (const auto* x = std::get_if<core::send_keep_alive>(&effect))
      is_alive |= unanswered_ != x->sent - clock_; // A new one.
    kills |= std::holds_alternative<core::kill_group>(effect);
  }
  const auto* answer = std::get_if<core::control_checked>(&event);
  if (is_alive && (answer == nullptr || asked_ != answer->asked))
    all_.checks().report("lease: " + id().value
                         + " is alive without control over its workers");
  if (is_alive)
    answered_ = std::exchange(asked_, std::nullopt);
  if (std::holds_alternative<core::leave_requested>(event) && leaving_ && group_
      && machine_.is_any_alive() && newest_ == group_->plan().generation
      && !kills)
    all_.checks().report(id().value + " was asked twice to end, and waits");
}

// A lease is kept by one keep-alive at a time; one whose answer was slow is
// followed by the next at once.
void agent::check_lease(const core::membership_event& event,
                        const std::vector<core::membership_effect>& effects) {
  const auto interval = all_.plan().limits.keep_alive_interval;
  auto is_late = false;
  auto is_early = false;
  if (const auto* x = std::get_if<core::lease_granted>(&event);
      x && unanswered_ && x->sent == *unanswered_ + clock_) {
    is_late = process_->pause_count() == unanswered_pause_
              && all_.now() > *unanswered_ + interval + 1ms
                                + all_.shared().timer_lateness_ever;
    is_early = keep_alive_count_ == 1 && all_.now() < asked_at_ + interval;
    unanswered_.reset();
  }
  if (const auto* x = std::get_if<core::join_accepted>(&event);
      x && x->keep_alive_interval > 0ms && join_sent_) {
    is_late = all_.now() > *join_sent_ + interval;
    is_early = all_.now() < *std::exchange(join_sent_, std::nullopt) + interval;
  }
  const auto asks
    = std::any_of(effects.begin(), effects.end(), [](const auto& x) {
        return std::holds_alternative<core::check_control>(x);
      });
  if (is_late && !asks
      && brain_.current_link() == core::membership::link::joined)
    all_.checks().report("lease: " + id().value
                         + " does not hurry after a slow answer");
  if (is_early && asks)
    all_.checks().report("lease: " + id().value
                         + " hurries although the answer was quick");
}

// An announced generation begins as soon as the workers of the last are gone and
// the lease is known to last.
void agent::check_beginning(
  const core::membership_event& event,
  const std::vector<core::membership_effect>& effects) {
  using core::share_state;
  const auto begins
    = std::any_of(effects.begin(), effects.end(), [](const auto& x) {
        return std::holds_alternative<core::start_group>(x);
      });
  if (const auto* x = std::get_if<core::generation_revoked>(&event))
    revoked_ = std::max(revoked_, x->generation);
  if (const auto* x = std::get_if<core::generation_formed>(&event); x && link_)
    awaited_ = x->plan;
  if (begins || !link_ || leaving_ || is_job_over_ || unkillable_count_ > 0
      || (awaited_
          && (awaited_->generation <= revoked_
              || awaited_->generation <= newest_)))
    awaited_.reset();
  const auto* granted = std::get_if<core::lease_granted>(&event);
  const auto share = brain_.share();
  if (granted != nullptr && awaited_
      && (share == share_state::idle || share == share_state::succeeded)
      && brain_.current_link() == core::membership::link::joined
      && now() < granted->sent - granted->age + all_.plan().limits.fence())
    all_.checks().report("I8: " + id().value + " does not begin generation "
                         + to_string(awaited_->generation));
}

// The coordinator knows how the workers stand, and that the agent leaves.
void agent::check_telling() {
  using core::share_state;
  using state = core::membership::link;
  const auto at = brain_.current_link();
  if ((at != state::joining && at != state::joined) || finished())
    return;
  if (at == state::joined && leaving_ && !said_leaving_ && !is_job_over_)
    all_.checks().report("I6: " + id().value + " leaves and does not say so");
  if (!brain_.plan() || ahead_of_.value != 0) // Else it is about an older one.
    return;
  const auto is = [&](share_state x) {
    return told_ && told_->first == brain_.plan()->generation
           && told_->second == x;
  };
  auto fits = true;
  switch (brain_.share()) {
    case share_state::running: // Or its fence has passed.
      fits = is(share_state::running) || is(share_state::stopping);
      break;
    case share_state::succeeded:
      fits = is(share_state::succeeded);
      break;
    case share_state::failed:
      fits = is(share_state::failed) || is(share_state::idle);
      break;
    case share_state::idle:
      fits = is(share_state::idle);
      break;
    case share_state::starting:
    case share_state::stopping:
      break;
  }
  if (!fits)
    all_.checks().report("telling: the coordinator does not know that "
                         + id().value + " is "
                         + std::string{to_string(brain_.share())});
}

void agent::ignores(const core::membership_event& event) {
  const auto link = brain_.current_link();
  const auto share = brain_.share();
  const auto plan = brain_.plan();
  const auto port = brain_.offering().master_port;
  if (!brain_.step(event, now()).empty() || brain_.current_link() != link
      || brain_.share() != share || brain_.plan() != plan
      || brain_.offering().master_port != port)
    all_.checks().report("fencing: " + id().value
                         + " obeys what is over: " + to_string(event));
}

// What mailboxes and networks bring late: of timers, of older generations, of
// workers that have ended, and of links that are down.
void agent::hear_late() {
  using core::share_state;
  using state = core::membership::link;
  if (fired_)
    ignores(core::timer_fired{*fired_});
  auto death = core::worker_failure{};
  death.agent = id();
  death.code = 1;
  const auto& plan = brain_.plan();
  const auto old = generation_id{plan ? plan->generation.value - 1 : 1};
  ignores(core::group_started{old});
  ignores(core::group_failed{old, death});
  ignores(core::group_succeeded{old});
  ignores(core::group_stopped{old, 1});
  ignores(core::fence_fired{old, now()});
  const auto share = brain_.share();
  if (plan && share != share_state::starting)
    ignores(core::group_started{plan->generation});
  if (plan && (share == share_state::succeeded || share == share_state::failed))
    ignores(core::group_failed{plan->generation, death});
  if (plan && (share == share_state::succeeded || share == share_state::failed))
    ignores(core::group_succeeded{plan->generation});
  const auto at = brain_.current_link();
  if (at != state::joining) {
    ignores(core::join_accepted{100ms, 400ms});
    ignores(core::join_rejected{{errc::settings_mismatch, "late"}});
  }
  if (at != state::joined) {
    ignores(core::lease_granted{now()});
    ignores(core::control_checked{asked_.value_or(now())});
  } else {
    ignores(core::control_checked{now() - 1h});
    if (answered_)
      ignores(core::control_checked{*answered_});
  }
  if (at != state::seeking) {
    ignores(core::coordinator_found{});
    ignores(
      core::coordinator_not_found{{errc::connection_refused, "late"}, {}});
  }
  if (at == state::finished) {
    ignores(core::coordinator_disconnected{});
    ignores(core::leave_requested{SIGTERM});
    ignores(core::generation_revoked{old});
  }
}

// The share is what the workers are, and were ordered to be.
void agent::check_share(const core::membership_event& event,
                        core::share_state before,
                        generation_id generation_before) {
  using core::share_state;
  const auto now = brain_.share();
  const auto generation = ahead_of_.value != 0 ? ahead_of_
                          : brain_.plan()      ? brain_.plan()->generation
                                               : generation_id{};
  const auto is_active
    = now == share_state::starting || now == share_state::running;
  const auto is_ending
    = now == share_state::stopping || now == share_state::failed;
  const auto was_active
    = before == share_state::starting || before == share_state::running;
  auto fits = !(is_active && stopped_ == generation)
              && !(is_ending && stopped_ != generation);
  const auto told = [&](const auto* x) {
    return x != nullptr && x->generation == generation_before;
  };
  if (told(std::get_if<core::group_started>(&event)))
    fits &= now != share_state::starting;
  if (told(std::get_if<core::group_failed>(&event)) && was_active)
    fits &= is_ending;
  if (told(std::get_if<core::group_succeeded>(&event)) && was_active)
    fits &= now == share_state::succeeded
            || (is_draining_ && now == share_state::idle);
  if (const auto* x = std::get_if<core::group_stopped>(&event); told(x))
    fits &= generation != generation_before || now == share_state::idle
            || now == share_state::failed
            || (now == share_state::stopping // It leaves, and stops them.
                && !x->parked.is_empty());
  if (told(std::get_if<core::generation_revoked>(&event)))
    fits &= !is_active || generation != generation_before;
  if (!fits)
    all_.checks().report("share: that of " + id().value + " in generation "
                         + to_string(generation) + " went from "
                         + std::string{to_string(before)} + " to "
                         + std::string{to_string(now)});
}

void agent::run(const core::membership_effect& effect) {
  std::visit([this](const auto& x) { perform(x); }, effect);
}

// What membership takes its link for is what it is.
void agent::check_link() {
  using state = core::membership::link;
  const auto taken_for = brain_.current_link();
  const auto is_up
    = taken_for != state::seeking && taken_for != state::finished;
  if (is_up != (link_ != nullptr))
    all_.checks().report("link: " + id().value + " takes its link for "
                         + to_string(taken_for)
                         + (link_ ? ", and it is up" : ", and it is gone"));
  if (finished() != (taken_for == state::finished))
    all_.checks().report("I6: " + id().value + " does not know its end");
  if (taken_for == state::joined && !is_going_)
    joined_until_ = all_.now();
}

// -- the link -----------------------------------------------------------------

void agent::on_found(std::shared_ptr<link> found, int number, bool is_remote) {
  is_seeking_ = false;
  if (finished())
    return found->close(side::agent);
  served_by_ = number;
  is_remote_ = is_remote;
  if (link_ || dropped_)
    all_.checks().report("link: " + id().value + " has two links");
  link_ = std::move(found);
  told_.reset();
  unanswered_.reset();
  keep_alive_count_ = 0;
  awaited_.reset();
  revoked_ = {};
  said_leaving_ = false;
  handle(core::coordinator_found{is_remote});
}

void agent::on_not_found(failure why, core::time_point tried) {
  is_seeking_ = false;
  missed_ = all_.now();
  const auto code = why.code;
  const auto was_accepted = brain_.was_accepted();
  const auto was_ending
    = finished() || leaving_ || unkillable_count_ > 0
      || brain_.current_link() != core::membership::link::seeking;
  handle(core::coordinator_not_found{std::move(why), tried + clock_});
  check_answer(code, was_accepted, was_ending);
}

// Who was never let in need not ask again where it is told that it never will
// be. All others go on.
void agent::check_answer(errc code, bool was_accepted, bool was_ending) {
  const auto is_final
    = code == errc::protocol_mismatch || code == errc::job_mismatch
      || code == errc::secret_mismatch || code == errc::etcd_denied
      || code == errc::settings_mismatch;
  if (was_ending)
    return;
  const auto is_over = code == errc::job_over;
  if (is_over && group_)
    return; // Its workers end first.
  if (finished() != (is_over || (is_final && !was_accepted)))
    all_.checks().report("I8: " + id().value
                         + (finished() ? " gives up" : " asks again")
                         + " without reason");
  else if (finished() && (!ending_->why || ending_->why->code != code))
    all_.checks().report("I6: " + id().value
                         + " does not say why it was not let in");
}

void agent::on_closed(const link* closed) {
  if (dropped_.get() == closed) {
    dropped_ = nullptr;
  } else if (link_.get() == closed) {
    link_ = nullptr;
    missed_ = all_.now();
  } else {
    return;
  }
  handle(core::coordinator_disconnected{});
}

void agent::send(core::rendezvous_event event) {
  // A late revocation is answered, in any case.
  if (said_left_ && !std::holds_alternative<core::agent_left>(event)
      && !std::holds_alternative<core::workers_stopped>(event))
    all_.checks().report("link: " + id().value + " sends after its last word");
  if (link_)
    all_.to_coordinator(link_, id(), std::move(event));
  else
    all_.checks().report("link: " + id().value + " sends without a link");
}

// -- what membership decides --------------------------------------------------

void agent::perform(const core::arm_timer& x) {
  wake_at(x.due, [this, timer = x.timer] {
    handle(core::timer_fired{timer});
    fired_ = timer;
  });
}

void agent::perform(const core::seek_coordinator&) {
  if (is_seeking_ || link_ || dropped_)
    all_.checks().report("link: " + id().value
                         + " seeks a coordinator and has one, or seeks it "
                           "already");
  if (missed_ != core::time_point{} && all_.now() < missed_ + retry_delay_min
      && !has_second_way_)
    all_.checks().report("load: " + id().value + " tries again at once");
  tries_second_way_ = has_second_way_ = false;
  is_seeking_ = true;
  all_.seek(*this, brain_.was_accepted());
}

void agent::perform(const core::drop_link&) {
  if (!link_)
    return;
  missed_ = all_.now();
  if (!is_remote_ || finished())
    return std::exchange(link_, nullptr)->close(side::agent);
  dropped_ = std::exchange(link_, nullptr);
  dropped_->hang_up(side::agent, all_.plan().harmless);
}

void agent::perform(const core::try_second_way&) {
  if (!link_ || !is_remote_ || std::exchange(tries_second_way_, true))
    all_.checks().report("link: " + id().value
                         + " tries a second way without a reason");
  all_.try_second_way(*this, served_by_);
  if (auto* x = all_.elector_of(*process_))
    x->seek_second_way();
}

void agent::perform(const core::forget_second_way&) {
  if (!std::exchange(tries_second_way_, false))
    all_.checks().report("link: " + id().value
                         + " forgets a second way that it does not try");
}

void agent::on_second_way() {
  if (finished() || !std::exchange(tries_second_way_, false))
    return;
  has_second_way_ = true;
  handle(core::second_way_found{});
}

void agent::perform(const core::send_join& x) {
  if (x.held && x.held->failure)
    reported_pids_.insert(x.held->failure->pid);
  join_sent_ = all_.now();
  if (x.held)
    told_ = {x.held->plan.generation, x.held->state};
  auto held = x.held;
  if (std::exchange(lies_, false) && !held)
    held = invented();
  send(core::agent_joined{.offering = x.offering,
                          .settings = settings_,
                          .held = std::move(held),
                          .told = x.told});
}

// Of this node alone, newer than all others.
core::claim agent::invented() const {
  const auto& own = brain_.offering();
  auto out = core::claim{};
  out.plan.generation = {all_.checks().newest().value + 1};
  out.plan.own = {.agent = own.agent,
                  .slot_count = own.slot_count,
                  .role_world_size = own.slot_count};
  out.plan.node_count = 1;
  out.plan.world_size = own.slot_count;
  out.plan.master_address = own.address;
  out.plan.master_port = own.master_port;
  out.state = all_.roll().percent(50) ? core::share_state::running
                                      : core::share_state::succeeded;
  return out;
}

void agent::perform(const core::check_control& x) {
  asked_ = x.asked;
  asked_at_ = all_.now();
  post_supervisor(
    [this, asked = x.asked] { post_brain(core::control_checked{asked}); });
}

void agent::perform(const core::send_keep_alive& x) {
  const auto is_repeated = unanswered_ == x.sent - clock_;
  if ((unanswered_ && !is_repeated) || said_left_)
    all_.checks().report("lease: " + id().value
                         + " sends one keep-alive after the other");
  if (!is_repeated) {
    ++keep_alive_count_;
    unanswered_ = x.sent - clock_;
    unanswered_pause_ = process_->pause_count();
  }
  if (link_)
    all_.keep_alive(link_, id(), x.sent, saves_.look(all_.now()));
  else
    all_.checks().report("link: " + id().value + " is alive without a link");
}

void agent::perform(const core::send_started& x) {
  told_ = {x.generation, core::share_state::running};
  send(core::workers_started{id(), x.generation});
}

void agent::perform(const core::send_failed& x) {
  all_.checks().attributed(x.failure);
  check_kind(x.failure);
  check_hold(x.failure);
  reported_pids_.insert(x.failure.pid);
  told_ = {x.generation, core::share_state::failed};
  send(core::worker_failed{id(), x.generation, x.failure});
}

void agent::perform(const core::send_succeeded& x) {
  told_ = {x.generation, core::share_state::succeeded};
  send(core::workers_succeeded{id(), x.generation});
}

void agent::perform(const core::send_stopped& x) {
  for (const auto& other : x.others.listed) {
    all_.checks().attributed(other);
    check_kind(other);
    reported_pids_.insert(other.pid);
  }
  check_told(x);
  if (brain_.plan() && brain_.plan()->generation == x.generation)
    told_ = {x.generation, core::share_state::idle};
  send(core::workers_stopped{id(), x.generation, x.master_port, x.others,
                             x.unkillable_count, x.parked, x.step});
}

// A death by SIGKILL after a timer's signal must be reported as an overrun.
void agent::check_kind(const core::worker_failure& x) {
  const auto i = timed_.find(x.pid);
  if (i != timed_.end() && x.kind == core::failure_kind::signalled
      && x.code == SIGKILL && all_.now() - x.age > i->second)
    all_.checks().report("overruns: a worker was ended for its timer, and "
                         + id().value + " says " + to_string(x));
}

// A failure that misses a peer ends no generation before the peer's own end may be
// known: here, or on other nodes.
void agent::check_hold(const core::worker_failure& x) {
  const auto is_last
    = brain_.plan()->node_count == 1 && machine_.running_count() == 0;
  if (misses_peer(x) && x.age < core::hearsay_lag && !is_last)
    all_.checks().report("root cause: " + id().value
                         + " does not wait for the peer of " + to_string(x));
}

// A report of stopped workers must come after all reports on them.
void agent::check_told(const core::send_stopped& x) {
  // Within one tick an order may come before a death or after it.
  if (group_ && group_->plan().generation == x.generation
      && x.others.unlisted_count == 0 && !is_draining_
      && all_.plan().tick.count() == 0
      && !std::includes(reported_pids_.begin(), reported_pids_.end(),
                        failed_.begin(), failed_.end()))
    all_.checks().report("root cause: " + id().value
                         + " keeps a failure to itself");
  if (group_ && group_->plan().generation == x.generation
      && x.unkillable_count != unkillable_count_)
    all_.checks().report("unkillable: " + id().value
                         + " does not say how many workers hang");
}

void agent::perform(const core::send_leaving& x) {
  is_going_ = said_leaving_ = true;
  send(core::agent_leaving{id(), x.signal});
}

void agent::perform(const core::send_left&) {
  if (std::exchange(said_left_, true))
    all_.checks().report("I6: " + id().value + " leaves twice");
  send(core::agent_left{id()});
  process_->after(all_.plan().limits.fence() + 1ms + all_.plan().tick
                    + all_.shared().timer_lateness_max,
                  [this] {
                    if (!finished())
                      all_.checks().report("I6: " + id().value
                                           + " has left, and stays");
                  });
}

void agent::perform(const core::send_notice& x) {
  send(core::node_noticed{id(), x.words, notice_time});
}

void agent::perform(const core::start_group& x) {
  if (unkillable_count_ > 0)
    all_.checks().report("unkillable: " + id().value
                         + " starts workers beside one that hangs");
  else if (machine_.is_any_at_work())
    all_.checks().report("I2: " + id().value
                         + " starts workers beside older ones");
  const auto is_ahead = x.plan.is_ahead;
  if (!is_ahead && x.plan.own.node_rank == 0 && x.plan.master_port != port_)
    all_.checks().report("I1: MASTER_PORT is not what " + id().value
                         + " holds");
  // They are as workers that have been told to park.
  ahead_of_ = is_ahead ? x.plan.generation : generation_id{};
  if (is_ahead)
    stopped_ = x.plan.generation;
  record_ = is_ahead ? &ahead_record_ : all_.checks().begun(x.plan);
  if (!is_ahead)
    newest_ = x.plan.generation;
  if (record_ == nullptr)
    return;
  if (auto& roll = all_.roll(); roll.percent(all_.plan().stalled_start_percent))
    stalled_until_
      = all_.now()
        + roll.between(core::duration{0}, all_.plan().start_stall_max) / 4;
  post_supervisor([this, plan = x.plan, decided = fence_count_] {
    decided_ = decided;
    if (group_)
      tell_deaths(group_->plan().generation);
    const auto parked = group_ ? group_->parked() : core::parked_workers{};
    group_.emplace(plan, all_.name_of(host_), all_.plan().kill_timeout,
                   std::chrono::ceil<std::chrono::milliseconds>(
                     2 * all_.plan().start_stall_max),
                   parked, all_.plan().spare_count);
    events_ = {};
    timed_.clear();
    failed_.clear();
    reported_pids_.clear();
    handle_group(plan.generation, core::start_ordered{});
  });
}

// The supervisor takes one message after the other.
void agent::post_supervisor(action what) {
  process_->at(std::max(all_.now() + mailbox_delay, stalled_until_),
               std::move(what));
}

void agent::perform(const core::stop_group& x) {
  stopped_ = x.generation;
  const auto signal = x.signal == 0 ? SIGTERM : x.signal;
  post_order(x.generation,
             core::stop_ordered{signal, all_.plan().grace, x.may_park});
}

void agent::perform(const core::send_safe_point& x) {
  send(core::safe_point_reported{id(), x.generation, x.report});
}

void agent::perform(const core::order_safe_point& x) {
  post_order(x.generation, x.order);
}

void agent::perform(const core::kill_group& x) {
  stopped_ = x.generation;
  post_order(x.generation, core::kill_ordered{x.with_parked});
}

void agent::perform(const core::notify_workers& x) {
  if (!is_draining_ && !has_limit_)
    all_.checks().report("steering: the workers of " + id().value
                         + " are given notice without an order");
  if (is_draining_)
    post_supervisor(
      [this, generation = x.generation] { machine_.notify(generation); });
}

// -- what checks of the node decide -----------------------------------------------

void agent::check(const core::check_event& event) {
  if (!process_->alive() || finished())
    return;
  for (const auto& effect : checks_.step(event, now()))
    std::visit([this](const auto& x) { obey(x); }, effect);
}

void agent::obey(const core::arm_timer& x) {
  wake_at(x.due, [this, timer = x.timer] { check(core::timer_fired{timer}); });
}

void agent::obey(const core::run_check& x) {
  auto& roll = all_.roll();
  const auto trouble = roll.percent(failed_check_percent) ? "exit code 1" : "";
  process_->after(
    roll.between(core::duration{1ms}, check_max),
    [this, end = core::check_ended{x.run, trouble, {}}] { check(end); });
}

void agent::obey(const core::report_fitness& x) {
  brain_.announce_fitness(x.unfit);
  if (link_ && !said_left_)
    send(core::fitness_reported{id(), x.unfit});
}

// -- its GPUs ---------------------------------------------------------------------

void agent::read_gpus() {
  constexpr auto reading_max = core::duration{200ms};
  const auto delay = all_.roll().between(core::duration{1ms}, reading_max);
  process_->after(delay, [this] {
    if (link_ && !said_left_ && !finished()
        && brain_.current_link() == core::membership::link::joined)
      send(core::gpus_reported{
        id(), all_.shared().bad_gpus.contains(host_) ? "GPU 1: XID 79" : ""});
  });
}

// A coordinator knows only what it was told itself.
void agent::tell_gpus_once_joined(const core::membership_event& event) {
  if (std::holds_alternative<core::join_accepted>(event)
      && all_.shared().bad_gpus.contains(host_))
    read_gpus();
}

void agent::hear_of_limit(core::duration left) {
  has_limit_ = true;
  if (process_->alive() && !finished())
    handle(core::limit_near{left});
}

// Its workers have some time, and then it leaves.
void agent::check_drain(const core::membership_event& event) {
  const auto* order = std::get_if<core::drain_ordered>(&event);
  if (order != nullptr && order->stays)
    has_limit_ = true;
  if (order == nullptr || order->stays || std::exchange(is_draining_, true))
    return;
  const auto longest = order->time + 2 * core::duration{all_.plan().grace}
                       + 4 * core::duration{all_.plan().kill_timeout}
                       + all_.plan().limits.fence() + all_.plan().trouble_max
                       + 2 * all_.plan().start_stall_max + 1s;
  process_->after(longest, [this] {
    if (!finished() && process_->pause_count() == 0
        && brain_.current_link() == core::membership::link::joined)
      all_.checks().report("steering: " + id().value
                           + " is drained, and stays");
  });
}

void agent::perform(const core::set_fence& x) {
  const auto before = std::exchange(
    fence_count_, machine_.set_fence(
                    x.due == core::time_point::max() ? x.due : x.due - clock_));
  if (x.running.value != 0 && fence_count_ != before)
    late_fence_ = core::fence_fired{x.running, fence_due_};
  fence_due_ = x.due;
}

void agent::perform(const core::finish& x) {
  if (machine_.running_count() > 0 || machine_.is_any_parked())
    all_.checks().report("I7: " + id().value
                         + " finished while its workers ran");
  check_end(x.how);
  ending_ = x.how;
  perform(core::drop_link{});
  hear_late();
  all_.on_finished(*this);
}

void agent::check_end(const core::ending& how) {
  if (finished())
    all_.checks().report("I6: " + id().value + " finished twice");
  if (!how.result && !how.why && how.signal == 0 && !is_draining_)
    all_.checks().report("I6: " + id().value + " finished without a reason");
  if (unkillable_count_ > 0
      && (!how.why || how.why->code != errc::worker_unkillable))
    all_.checks().report("I10: " + id().value
                         + " does not say that workers of it hang");
  if (!how.why)
    return;
  const auto is_lost = how.why->code == errc::coordinator_lost;
  const auto is_missing = how.why->code == errc::connection_refused
                          || how.why->code == errc::connection_timed_out
                          || how.why->code == errc::coordinator_gone;
  const auto is_over = how.why->code == errc::job_over;
  // Who stood by when the others succeeded has run nothing to its end.
  const auto has_stood_by
    = is_over && how.result
      && how.result->kind == core::outcome::verdict::succeeded;
  if (is_over && !has_stood_by && !all_.etcd().has_ended())
    all_.checks().report("I6: " + id().value + " takes the job for over");
  if (((is_lost || is_over) && !brain_.was_accepted())
      || (is_missing && brain_.was_accepted()))
    all_.checks().report("I6: " + id().value
                         + " gives a wrong reason: " + how.why->text);
  if ((is_lost || is_missing)
      && all_.now() - joined_until_ < all_.plan().limits.seek)
    all_.checks().report("I8: " + id().value + " gave up too soon");
}

// -- what the worker group decides --------------------------------------------

void agent::post_order(generation_id generation,
                       core::worker_group_event event) {
  post_supervisor([this, generation, event = std::move(event)] {
    if (group_ && group_->plan().generation == generation) {
      events_.release_if([](const auto& x) {
        return std::holds_alternative<core::lines_shown>(x);
      });
      advance(generation);
    }
    handle_group(generation, event);
  });
}

void agent::post_brain(core::membership_event event) {
  process_->after(mailbox_delay,
                  [this, event = std::move(event)] { handle(event); });
}

// As in the real system: a death waits for the worker's last lines, then until
// files have been asked about it, and later events wait behind it.
void agent::take(generation_id generation, core::worker_group_event event,
                 int64_t pid) {
  if (group_ && pid != 0) // It may have been a spare when it happened.
    for (uint32_t i = 0; i < group_->workers().size(); ++i)
      if (group_->workers()[i].pid == pid)
        set_rank(event, i);
  const auto rank = rank_of(event);
  // An answer is for the generation that has asked.
  const auto is_answer = std::holds_alternative<core::worker_spared>(event);
  if (group_ && pid != 0 && !is_answer && rank < group_->workers().size()
      && group_->workers()[rank].pid == pid)
    generation = group_->plan().generation; // Whichever it was born in.
  if (!group_ || group_->plan().generation != generation)
    return;
  if (auto* x = std::get_if<core::worker_exited>(&event))
    x->when += clock_;
  if (auto* x = std::get_if<core::worker_not_started>(&event))
    x->when += clock_;
  auto& roll = all_.roll();
  const auto* death = std::get_if<core::worker_exited>(&event);
  const auto stopping
    = group_->current_phase() == core::worker_group::phase::stopping;
  const auto is_ahead = group_->plan().is_ahead || group_->is_spare(rank);
  if (death != nullptr && death->exit_code != 0 && !stopping && !is_ahead)
    if (const auto& x = group_->workers()[death->local_rank];
        x.pid != 0 && x.now != core::worker_record::state::parked)
      failed_.insert(x.pid);
  // Nothing of ours has ended it.
  if (death != nullptr && death->was_ending) {
    timed_.erase(pid);
    if (stopping && death->exit_code != 0 && !is_ahead)
      failed_.insert(pid);
  }
  if (death == nullptr || stopping || roll.percent(no_drain_percent)) {
    events_.push(event);
    return advance(generation);
  }
  events_.push(event, core::lines_shown{death->local_rank});
  const auto slow = roll.percent(slow_drain_percent);
  process_->after(
    roll.between(core::duration{10us}, slow ? slow_drain_max : drain_max),
    [this, generation, rank = death->local_rank] {
      if (!group_ || group_->plan().generation != generation)
        return;
      events_.release(core::lines_shown{rank});
      advance(generation);
    });
}

void agent::tell_deaths(generation_id generation) {
  events_.release_if([](const auto&) { return true; });
  while (events_.front() != nullptr)
    handle_group(generation, unexamined(events_.pop()));
}

void agent::advance(generation_id generation) {
  while (const auto* event = events_.front()) {
    if (!examine(*event)) {
      handle_group(generation, events_.pop());
      continue;
    }
    const auto key = core::examination{++examination_count_};
    events_.hold(key);
    auto& roll = all_.roll();
    const auto is_slow = roll.percent(slow_files_percent);
    process_->after(
      roll.between(core::duration{10us}, is_slow ? examination_max : drain_max),
      [this, generation, key] {
        if (events_.release(key) == 0)
          return;
        handle_group(generation, events_.pop());
        advance(generation);
      });
  }
}

// Whether files are asked about it.
bool agent::examine(const core::worker_group_event& event) {
  const auto* x = std::get_if<core::worker_exited>(&event);
  return x != nullptr && (x->exit_code != 0 || x->signal != 0)
         && !group_->has_ordered(*x) && group_->lists_more()
         && all_.roll().percent(examined_percent);
}

void agent::handle_group(generation_id generation,
                         const core::worker_group_event& event) {
  if (!group_ || group_->plan().generation != generation)
    return;
  const auto effects = group_->step(event, now());
  if (all_.trace().on() && !effects.empty())
    all_.trace().add(all_.now(), id().value + " group",
                     "generation " + to_string(generation), effects);
  for (const auto& effect : effects)
    std::visit([&](const auto& x) { perform(generation, x); }, effect);
}

void agent::perform(generation_id generation, const core::arm_timer& x) {
  wake_at(x.due, [this, generation, timer = x.timer] {
    if (group_ && group_->plan().generation == generation
        && group_->counts_ends(timer))
      tell_deaths(generation);
    handle_group(generation, core::timer_fired{timer});
  });
}

// Files may take long, and hold up nothing else.
void agent::perform(generation_id generation, const core::prepare_workers&) {
  auto& roll = all_.roll();
  const auto stall
    = roll.percent(all_.plan().stalled_start_percent)
        ? roll.between(core::duration{0}, all_.plan().start_stall_max)
        : core::duration{0};
  process_->after(stall + mailbox_delay, [this, generation] {
    if (!group_ || group_->plan().generation != generation
        || group_->current_phase() != core::worker_group::phase::preparing)
      return;
    for (const auto& [local_rank, spare] : group_->seat_spares())
      machine_.move(group_->workers()[local_rank].pid, local_rank);
    handle_group(generation, core::workers_prepared{});
  });
}

void agent::perform(generation_id, const core::start_workers&) {
  auto waiting = std::vector<uint32_t>{};
  for (uint32_t i = 0; i < group_->plan().own.slot_count; ++i)
    if (group_->workers()[i].now == core::worker_record::state::waiting)
      waiting.push_back(i);
  machine_.start(group_->plan(), waiting, decided_, *record_);
}

void agent::perform(generation_id, const core::start_spares& x) {
  machine_.start(group_->plan(), x.numbers, decided_, ahead_record_);
}

std::vector<int64_t>
agent::pids_of(const std::vector<uint32_t>& local_ranks) const {
  auto out = std::vector<int64_t>{};
  for (const auto i : local_ranks)
    out.push_back(group_->workers()[i].pid);
  return out;
}

void agent::perform(generation_id, const core::resume_workers& x) {
  machine_.resume(group_->plan(), pids_of(x.local_ranks), decided_, *record_);
}

void agent::perform(generation_id, const core::ask_to_park& x) {
  machine_.ask_to_park(pids_of(x.local_ranks));
}

void agent::perform(generation_id, const core::order_steps& x) {
  machine_.order_steps(pids_of(x.local_ranks), x.order);
}

void agent::perform(generation_id generation,
                    const core::report_safe_point& x) {
  post_brain(core::group_safe_point{generation, x.report});
}

void agent::perform(generation_id, const core::park_worker& x) {
  machine_.park(group_->workers()[x.local_rank].pid);
}

void agent::perform(generation_id generation, const core::report_parked& x) {
  post_brain(core::group_parked{generation, x.parked});
}

void agent::perform(generation_id generation, const core::signal_workers& x) {
  auto pids = std::vector<int64_t>{};
  for (uint32_t i = 0; i < group_->workers().size(); ++i)
    if (const auto pid = group_->workers()[i].pid;
        pid != 0 && !std::ranges::binary_search(x.spared, i))
      pids.push_back(pid);
  machine_.signal(generation, x.signal, x.spared, pids);
}

void agent::perform(generation_id generation, const core::release_workers&) {
  machine_.release(generation);
}

void agent::perform(generation_id generation, const core::report_started&) {
  if (group_ && group_->plan().generation == generation)
    saves_.begin(group_->plan().own, generation, all_.now());
  post_brain(core::group_started{generation});
}

void agent::perform(generation_id generation, const core::report_failed& x) {
  post_brain(core::group_failed{generation, x.failure, now()});
}

void agent::perform(generation_id generation, const core::report_succeeded&) {
  post_brain(core::group_succeeded{generation});
}

void agent::perform(generation_id generation, const core::probe_workers& x) {
  if (all_.roll().percent(no_look_percent))
    return;
  process_->after(
    all_.roll().between(core::duration{10us}, inspection_max),
    [this, generation, overdue = x.overdue] {
      handle_group(generation, core::worker_probed{overdue, "there"});
    });
}

void agent::perform(generation_id, const core::signal_worker& x) {
  const auto& worker = group_->workers()[x.local_rank];
  const auto is_parked = worker.now == core::worker_record::state::parked;
  const auto is_order
    = !is_parked
      && group_->current_phase() >= core::worker_group::phase::stopping;
  if (!is_order && !is_parked)
    timed_.emplace(worker.pid, all_.now());
  machine_.signal_one(worker.pid, x.signal, is_order);
}

void agent::overrun(const machine::victim& who, int signal) {
  const auto timeout = all_.roll().percent(50) ? inspection_timeout : 0ms;
  handle_group(who.generation,
               core::worker_overran{.local_rank = who.local_rank,
                                    .scope = "step",
                                    .signal = signal,
                                    .grace = all_.plan().grace,
                                    .timeout = timeout});
}

void agent::perform(generation_id generation, const core::report_stopped& x) {
  const auto port
    = !group_->plan().is_ahead && all_.roll().percent(fresh_port_percent)
        ? uint16_t(all_.roll().between(20'000, 60'000))
        : uint16_t{0};
  unkillable_count_ = std::max(unkillable_count_, x.unkillable_count);
  post_brain(core::group_stopped{generation, port, x.others, now(),
                                 x.unkillable_count, x.parked});
}

} // namespace actorrun::sim
