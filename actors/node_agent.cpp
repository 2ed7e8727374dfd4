#include "actors/node_agent.hpp"

#include "actors/core/text.hpp"
#include "actors/hang_findings.hpp"
#include "actors/log_level.hpp"
#include "actors/log_messages.hpp"
#include "actors/operator_questions.hpp"
#include "actors/operator_readings.hpp"
#include "actors/operator_stacks.hpp"
#include "actors/pace_findings.hpp"
#include "actors/status_vitals.hpp"
#include "actors/steering.hpp"
#include "actors/translate.hpp"
#include "actors/voter_messages.hpp"
#include "actors/worker_timers.hpp"
#include "messages/formatted.hpp"

#include <algorithm>

namespace actorrun {

using namespace core;

namespace {

constexpr auto status_timeout = std::chrono::seconds{2};

/// Longest wait for samples of this node: less than the coordinator waits. What is
/// late is shown as last seen.
constexpr auto sample_timeout = std::chrono::milliseconds{400};

/// Longest wait for operators to take the last lines before the end of the job.
constexpr auto last_lines_timeout = std::chrono::milliseconds{400};

/// Timeout for seeing where workers are: less than the coordinator waits.
constexpr auto stacks_limit = std::chrono::milliseconds{3'500};

/// What comes later than that has hung, and does not count.
constexpr auto stacks_reserve = std::chrono::milliseconds{500};

/// At most this many such questions at a time.
constexpr auto stacks_count_max = size_t{8};

/// At most this many questions wait for samples; others get the last ones.
constexpr auto waiting_operators_max = size_t{64};

ports::device_monitor::listener forward_devices(node_agent_actor::pointer to) {
  return [handle = node_agent_actor{to}](devices_status now,
                                         std::string event) {
    tell_anonymously(handle, devices_report{std::move(now), std::move(event)});
  };
}

/// What is missing where an agent answers in the coordinator's place.
constexpr auto no_coordinator = "this agent has no link to the coordinator";

/// Whatever else belongs to a stop: evidence, last lines, what workers have left.
constexpr auto stop_reserve = std::chrono::seconds{30};

/// From the order to stop workers to the report that they have; as good as never
/// where a worker that cannot be killed is never given up.
std::chrono::milliseconds stop_limit(const worker_settings& x) {
  if (x.kill_timeout.count() == 0)
    return std::chrono::hours{24};
  return x.grace_period + x.kill_timeout + stop_reserve;
}

/// Since when the only agent of a status has no coordinator, and what follows.
/// @param next None: it has not had one yet.
void add_search(v1::JobStatus& out,
                const std::optional<membership::search>& search,
                const coordinator_source* next, time_point now) {
  out.set_waiting_for(no_coordinator);
  if (!search)
    return;
  out.set_waiting_for(next != nullptr
                        ? wait_for(*next)
                        : "no coordinator answers; this agent looks for one");
  const auto age = to_ms(now - search->since);
  out.set_phase_age_ms(age);
  out.set_waiting_age_ms(age);
  out.set_waiting_left_ms(to_ms(search->until - now));
  out.mutable_agents(0)->set_since_ms(age);
}

std::string only_own_node(const std::string& host) {
  return formatted(
    "this is an agent of the job: it knows the workers of {} only; "
    "on the coordinator's host, or with --rdzv-endpoint, all nodes "
    "are there",
    host);
}

std::string name_of_notice(int signal) {
  if (signal == 0)
    return "no signal";
  const auto name = core::signal_name(signal);
  return name.empty() ? formatted("signal {}", signal) : name;
}

} // namespace

// One overload per effect: the only code here that touches other actors.
struct node_agent_state::effect_runner {
  node_agent_state& st;

  void operator()(const arm_timer& x) {
    tell_later(st.self_, x.due - st.now(), timer_fired{x.timer});
  }

  void operator()(const seek_coordinator&) { st.seek(); }

  void operator()(const drop_link&) {
    st.coordinator_ = nullptr;
    st.config_.locator->drop();
  }

  void operator()(const core::try_second_way&) {
    st.config_.locator->seek_second_way([handle = node_agent_actor{st.self_}] {
      tell_anonymously(handle, second_way_found{});
    });
  }

  void operator()(const core::forget_second_way&) {
    st.config_.locator->forget_second_way();
  }

  // What the last link was for has no reader any more.
  void operator()(const send_join& x) {
    st.readings_.lose_coordinator();
    auto request = v1::JoinRequest{};
    *request.mutable_offer() = to_wire(x.offering);
    request.mutable_offer()->set_liveness_port(st.liveness_port_);
    request.mutable_offer()->set_voter_port(st.voter_port_);
    *request.mutable_settings() = to_wire(st.config_.settings);
    request.set_stop_limit_ms(
      static_cast<uint64_t>(stop_limit(st.config_.supervisor.workers).count()));
    if (x.held) {
      *request.mutable_claim() = to_wire(*x.held);
      request.mutable_claim()->mutable_pids()->Assign(st.pids_.begin(),
                                                      st.pids_.end());
    }
    if (x.told)
      *request.mutable_charter() = to_wire(*x.told);
    st.report(std::move(request));
  }

  void operator()(const check_control& x) { order(x); }

  void operator()(const send_keep_alive& x) {
    auto notice = v1::KeepAlive{};
    notice.set_agent_id(st.id());
    notice.set_sent_ns(x.sent.time_since_epoch().count());
    st.report(std::move(notice));
  }

  void operator()(const send_started& x) {
    auto notice = st.about<v1::WorkersStarted>(x.generation);
    notice.mutable_pids()->Assign(x.pids.begin(), x.pids.end());
    st.report(std::move(notice));
  }

  void operator()(const send_failed& x) {
    auto notice = st.about<v1::WorkerFailed>(x.generation);
    *notice.mutable_failure() = to_wire(x.failure);
    st.report(std::move(notice));
  }

  void operator()(const send_succeeded& x) {
    st.report(st.about<v1::WorkersSucceeded>(x.generation));
  }

  void operator()(const send_stopped& x) {
    auto notice = st.about<v1::WorkersStopped>(x.generation);
    notice.set_master_port(x.master_port);
    if (!x.others.empty())
      *notice.mutable_others() = to_wire(x.others);
    notice.set_unkillable_count(x.unkillable_count);
    if (!x.parked.local_ranks.empty())
      *notice.mutable_parked() = to_wire(x.parked);
    if (x.step)
      notice.set_step(*x.step);
    st.report(std::move(notice));
  }

  void operator()(const send_safe_point& x) {
    auto notice = to_wire(x.report);
    notice.set_agent_id(st.id());
    notice.set_generation(x.generation.value);
    st.report(std::move(notice));
  }

  void operator()(const order_safe_point& x) { order(x); }

  void operator()(const send_leaving& x) { leave_notice(x.signal, false); }

  void operator()(const send_left&) { leave_notice(0, true); }

  void operator()(const send_notice& x) {
    auto notice = v1::NodeNotice{};
    notice.set_agent_id(st.id());
    notice.set_words(x.words);
    st.report(std::move(notice));
  }

  void operator()(const start_group& x) {
    st.pids_.clear();
    const auto& told = st.present_;
    const auto is_told = told && told->plan.generation == x.plan.generation;
    order(
      fenced_start{x.plan, st.fence_, is_told ? told->reason : std::string{}});
  }

  void operator()(const stop_group& x) {
    st.watch_workers({});
    order(x);
  }

  void operator()(const kill_group& x) {
    st.watch_workers({});
    if (x.is_fenced)
      st.config_.lines.warn(
        "the coordinator does not answer: the workers of generation "
        + to_string(x.generation)
        + " on this node are killed, because others may take their place");
    if (x.is_fenced)
      st.tell_over({x.generation, "the coordinator does not answer"});
    order(x);
  }

  void operator()(const notify_workers&) {
    if (const auto signal = st.config_.supervisor.workers.notice_signal)
      order(notify_group{signal});
  }

  // Not through the supervisor, whose mailbox may be late. And a start that was
  // decided before this must not be carried out after it.
  void operator()(const set_fence& x) {
    const auto is_limited = x.due != time_point::max();
    const auto before = std::exchange(
      st.fence_, st.config_.supervisor.processes->set_fence(
                   is_limited ? x.due - st.time_asleep() : x.due));
    if (x.running.value != 0 && st.fence_.fire_count != before.fire_count)
      st.fired_ = fence_fired{x.running, st.fence_due_};
    st.fence_due_ = x.due;
  }

  void operator()(const finish& x) {
    st.end_wait();
    auto how = x.how;
    how.last = st.membership_.plan();
    st.config_.on_finished(std::move(how));
    st.is_over_ = true;
    st.self_->quit();
  }

  void order(group_order x) { tell(st.self_, st.supervisor_, std::move(x)); }

  void leave_notice(int signal, bool done) {
    auto notice = v1::LeaveNotice{};
    notice.set_agent_id(st.id());
    notice.set_signal(signal);
    notice.set_done(done);
    st.report(std::move(notice));
  }
};

node_agent_state::node_agent_state(node_agent_actor::pointer self,
                                   node_agent_config config)
  : self_(self), config_(std::move(config)),
    membership_(config_.offering, config_.limits), watches_(self),
    fetch_(self, status_timeout),
    readings_(config_.supervisor.reader,
              [handle = node_agent_actor{self}](log_lines_read x) {
                tell_anonymously(handle, std::move(x));
              }) {
  const auto may_hang
    = config_.hangs.timeout > duration{0} || config_.hangs.learns;
  if (may_hang && config_.vitals)
    silence_.emplace(config_.hangs);
  config_.supervisor.tells_steps = silence_.has_value();
  if (config_.stragglers.distance > 0 && config_.steps)
    pace_.emplace(config_.stragglers);
}

node_agent_actor::behavior_type node_agent_state::make_behavior() {
  supervisor_ = spawn_worker_supervisor(self_->system(), config_.supervisor,
                                        node_agent_actor{self_});
  // Without it nothing controls the workers. Who hosts this node notices our end.
  watches_.watch(self_, supervisor_, [this] {
    if (!is_over_)
      self_->quit(exit_by_failure);
  });
  begin_checks();
  dispatch(agent_started{});
  if (config_.devices)
    config_.devices->watch(forward_devices(self_));
  return {
    [this](const v1::JoinAccepted& x) { on(x); },
    [this](const v1::JoinRejected& x) { on(x); },
    [this](const v1::LeaseGranted& x) {
      dispatch(lease_granted{time_point{duration{x.sent_ns()}},
                             age_from_wire(x.age_ns())});
    },
    [this](const v1::GenerationFormed& x) { on(x); },
    [this](const v1::GenerationRevoked& x) { on(x); },
    [this](const v1::JobEnded& x) { on(x); },
    [this](const v1::StatusRequest&) { return status(); },
    [this](const operator_question& x) { on(x); },
    [this](const v1::DrainNotice& x) { on(x); },
    [this](const v1::CheckOrder& x) {
      if (checker_)
        tell(self_, checker_, x);
    },
    [this](const report_fitness& x) { on(x); },
    [this](const v1::EndHungWorker& x) { on(x); },
    [this](const signs_due& x) { on(x); },
    [this](const steps_due& x) { on(x); },
    [this](const v1::SafePointOrder& x) { on(x); },
    [this](const v1::StartAhead& x) { on(x); },
    [this](const v1::CharterChanged& x) {
      dispatch(charter_changed{from_wire(x.charter())});
    },
    [this](const v1::VotersChanged& x) {
      config_.next_coordinator.voter_count = x.voter_count();
      config_.locator->know_voters(voters_from_wire(x));
    },
    [this](const v1::LogLevelOrder& x) { on(x); },
    [this](const v1::NodeStatusRequest& x) { on(x); },
    [this](const v1::LogReading& x) { on(x); },
    [this](const v1::LogCredit& x) {
      readings_.add_credit({0, x.reading()}, x.size());
    },
    [this](const v1::StacksRequest& x) { on(x); },
    [this](const log_lines_read& x) { readings_.on(x); },
    [this](const logs_drained&) {
      if (const auto x = std::exchange(ended_, {}))
        end_job(*x);
    },
    [this](const stacks_seen& x) { on(x); },
    [this](const devices_report& x) { on(x); },
    [this](const vitals_report& x) { on(x); },
    [this](const status_due& x) { on(x); },
    [this](const group_event& x) {
      std::visit(
        [this]<class Event>(const Event& y) {
          if constexpr (std::is_same_v<Event, workers_stepped>)
            note_step(y.generation);
          else
            dispatch(on_own_clock(y));
        },
        x);
    },
    [this](const leave_requested& x) {
      if (config_.on_leaving)
        config_.on_leaving(x);
      dispatch(x);
    },
    [this](const limit_near& x) { on(x); },
    [this](const notice_received& x) { on(x); },
    [this](const coordinator_not_found& x) {
      dispatch(x);
      say_missing(x.why);
    },
    [this](const second_way_found& x) { dispatch(x); },
    [this](const timer_fired& x) { dispatch(x); },
    [this](const loss_due&) { say_loss(); },
    [this](const notify_group& x) { tell(self_, supervisor_, group_order{x}); },
    [this](const ports::location& x) { link_up(x); },
    [this](const job_observer_actor& x) {
      config_.observers.push_back(x);
      if (present_)
        tell(self_, x, *present_);
    },
  };
}

// Its first offer says so already: it must not be given a place before.
void node_agent_state::begin_checks() {
  if (!config_.checks.runner)
    return;
  if (config_.checks.options.when.join)
    membership_.announce_fitness(std::string{core::being_checked});
  checker_ = spawn_node_checker(self_->system(), config_.checks,
                                node_agent_actor{self_});
  watches_.watch(self_, checker_, [this] {
    if (!is_over_)
      self_->quit(exit_by_failure);
  });
}

void node_agent_state::on(const report_fitness& x) {
  membership_.announce_fitness(x.unfit);
  auto news = v1::NodeFitness{};
  news.set_agent_id(id());
  news.set_unfit(x.unfit);
  report(std::move(news));
}

void node_agent_state::on_exit() {
  caf::anon_send_exit(supervisor_, caf::exit_reason::kill);
  supervisor_ = nullptr;
  if (checker_)
    caf::anon_send_exit(checker_, caf::exit_reason::kill);
  checker_ = nullptr;
  coordinator_ = nullptr;
  waiting_.clear();
  silence_.reset();
  pace_.reset();
  readings_.clear();
  stacks_.clear();
  config_ = {}; // Its parts keep handles to us.
}

duration node_agent_state::time_asleep() const {
  return config_.time_asleep ? config_.time_asleep() : duration{0};
}

// Membership's clock counts the time that this machine was suspended.
time_point node_agent_state::now() const {
  return self_->clock().now() + time_asleep();
}

// The supervisor reads the clock of actors.
membership_event node_agent_state::on_own_clock(membership_event event) const {
  const auto shift = [this](time_point& x) {
    if (x != time_point{})
      x += time_asleep();
  };
  if (auto* failed = std::get_if<group_failed>(&event))
    shift(failed->aged_at);
  else if (auto* stopped = std::get_if<group_stopped>(&event))
    shift(stopped->aged_at);
  return event;
}

void node_agent_state::dispatch(const membership_event& event) {
  // Also while there is no link, over which they would be told.
  if (const auto* x = std::get_if<group_started>(&event);
      x != nullptr && membership_.plan()
      && membership_.plan()->generation == x->generation) {
    pids_ = x->pids;
    watch_workers(x->generation);
  }
  // Those that are gone are not shown or looked at: others may get their numbers.
  if (const auto* x = std::get_if<group_stopped>(&event);
      x != nullptr && membership_.plan()
      && membership_.plan()->generation == x->generation) {
    end_saves();
    if (x->unkillable_count == 0 && x->parked.local_ranks.empty())
      pids_.clear();
  }
  if (const auto* x = std::get_if<group_succeeded>(&event);
      x != nullptr && membership_.plan()
      && membership_.plan()->generation == x->generation) {
    end_saves();
    pids_.clear();
    watch_workers({});
  }
  for (const auto& effect : membership_.step(event, now()))
    std::visit(effect_runner{*this}, effect);
  say_loss();
  if (const auto x = std::exchange(fired_, {}))
    dispatch(*x);
}

// -- the link -----------------------------------------------------------------

void node_agent_state::seek() {
  const auto tried = now();
  config_.locator->seek(
    membership_.was_accepted(),
    [handle = node_agent_actor{self_}, tried](result<ports::location> x) {
      if (x)
        tell_anonymously(handle, *x);
      else
        tell_anonymously(handle, coordinator_not_found{x.error(), tried});
    });
}

// Once per reason: the search goes on several times a second.
void node_agent_state::say_missing(const failure& why) {
  if (is_over_ || std::exchange(missing_, why.code) == why.code)
    return;
  if (!has_met_)
    config_.lines.info(formatted(
      "no coordinator yet, tries again for {} s: {}",
      std::chrono::duration_cast<std::chrono::seconds>(config_.limits.seek)
        .count(),
      why.text));
  else
    config_.lines.warn((why.code == errc::settings_mismatch
                          ? "the coordinator has other settings than the last: "
                          : "still no coordinator: ")
                       + why.text);
}

// Once per loss, and in good time: people may be able to help.
void node_agent_state::say_loss() {
  const auto loss = membership_.loss();
  if (is_over_ || !loss)
    return;
  const auto is_new = std::exchange(lost_, loss->since) != loss->since;
  if (is_new)
    is_loss_told_ = false;
  if (is_loss_told_)
    return;
  if (!is_to_be_told(*loss, now())) {
    if (is_new)
      tell_later(self_, loss_pause, loss_due{});
    return;
  }
  is_loss_told_ = true;
  missing_ = loss->why ? loss->why->code : errc::none;
  config_.lines.warn(text_of(*loss, config_.next_coordinator, now()));
}

void node_agent_state::say_back(const v1::JoinAccepted& x) {
  const auto where = formatted("pid {} on {}", x.coordinator_pid(),
                               reason_line(x.coordinator_host()));
  const auto before = std::exchange(last_coordinator_, where);
  const auto since = std::exchange(lost_, {});
  if (std::exchange(is_loss_told_, false) && since)
    config_.lines.info(formatted(
      "joined the job again, {} after the loss: its coordinator is {}",
      core::duration_text(now() - *since), where));
  else if (!before.empty() && before != where)
    config_.lines.info("the coordinator of the job is " + where + " now");
}

void node_agent_state::link_up(const ports::location& where) {
  coordinator_
    = caf::actor_cast<rendezvous_coordinator_actor>(where.coordinator);
  has_met_ = true;
  remote_ = where.is_remote;
  announce_whereabouts(where);
  liveness_port_ = where.liveness_port;
  voter_port_ = where.voter_port;
  watches_.watch(self_, coordinator_, [this] {
    coordinator_ = nullptr;
    readings_.lose_coordinator();
    dispatch(coordinator_disconnected{});
  });
  dispatch(coordinator_found{remote_});
}

// A port can be reserved at an address only when that is known.
void node_agent_state::announce_whereabouts(const ports::location& where) {
  const auto& ports = config_.supervisor.ports;
  if (membership_.offering().address.empty()) {
    membership_.announce_address(where.local_address);
    if (ports)
      ports->announce(where.local_address);
  }
  if (membership_.offering().master_port == 0 && ports)
    membership_.announce_port(ports->next());
}

// -- what the coordinator says ------------------------------------------------

void node_agent_state::on(const v1::JoinAccepted& x) {
  missing_ = errc::none;
  dispatch(join_accepted{duration{x.keep_alive_interval_ns()},
                         duration{x.fence_ns()}, from_wire(x.charter()),
                         age_from_wire(x.age_ns())});
  say_back(x);
  if (silence_)
    silence_->forget_report();
  if (pace_)
    pace_->forget_report();
  saves_.forget_report();
  // A node alone waits for no other.
  if ((remote_ || config_.settings.agent_count_max > 1)
      && !x.waiting_for().empty())
    config_.lines.info("joined the job: " + reason_line(x.waiting_for()));
  announce_devices();
}

void node_agent_state::on(const v1::JoinRejected& x) {
  const auto why = failure{static_cast<errc>(x.code()), reason_line(x.text())};
  if (membership_.was_accepted())
    say_missing(why);
  dispatch(join_rejected{why});
}

void node_agent_state::on(const v1::GenerationFormed& x) {
  const auto plan = from_wire(x.plan());
  const auto reason = reason_line(x.reason());
  const auto last = plan.own.first_global_rank + plan.own.slot_count - 1;
  if (remote_)
    config_.lines.info(
      formatted("generation {} starts: node rank {} of {}, ranks {}-{} of {}{}",
                to_string(plan.generation), plan.own.node_rank, plan.node_count,
                plan.own.first_global_rank, last, plan.world_size,
                reason.empty() ? "" : formatted(" ({})", reason)));
  present_ = {plan, reason};
  observe(*present_);
  dispatch(generation_formed{plan, from_wire(x.charter())});
}

void node_agent_state::on(const v1::GenerationRevoked& x) {
  const auto generation = generation_id{x.generation()};
  const auto reason = reason_line(x.reason());
  if (remote_)
    config_.lines.warn(
      formatted("generation {} is revoked: {}", to_string(generation), reason));
  tell_over({generation, reason});
  dispatch(generation_revoked{generation, x.over(), reason});
}

// The coordinator says it again to an agent that comes back, and the fence may have
// said it before.
void node_agent_state::tell_over(generation_over x) {
  if (!present_)
    return;
  present_.reset();
  observe(x);
}

// Operators that follow the logs want the last lines, too.
void node_agent_state::on(const v1::JobEnded& x) {
  if (!std::exchange(is_end_told_, true))
    observe(job_over{from_wire(x.outcome())});
  if (readings_.empty())
    return end_job(x);
  if (std::exchange(ended_, x))
    return;
  readings_.drain([handle = node_agent_actor{self_}] {
    tell_anonymously(handle, logs_drained{});
  });
  tell_later(self_, last_lines_timeout, logs_drained{});
}

void node_agent_state::end_job(const v1::JobEnded& x) {
  dispatch(job_ended{from_wire(x.outcome())});
}

void node_agent_state::on(const v1::DrainNotice& x) {
  const auto time = std::chrono::milliseconds{std::min<uint64_t>(
    x.deadline_ms(), std::chrono::milliseconds{drain_time_max}.count())};
  if (x.stays())
    config_.lines.warn(formatted("the workers are to save within {}, {}: {}",
                                 core::duration_text(time),
                                 reason_line(x.reason()), way_to_save()));
  else
    config_.lines.warn(formatted(
      "this node leaves the job in {} at the latest, {}: {}",
      core::duration_text(time), reason_line(x.reason()),
      x.at_safe_point()
        ? "all workers come to a safe point before"
        : "its workers get "
            + name_of_notice(config_.supervisor.workers.notice_signal)));
  dispatch(drain_ordered{time, x.at_safe_point(), x.stays()});
}

/// What workers do that are to save, and go on.
std::string node_agent_state::way_to_save() const {
  return membership_.has_safe_points()
           ? "all workers are to save at a safe point"
         : membership_.has_running_workers()
           ? "the workers get "
               + name_of_notice(config_.supervisor.workers.notice_signal)
           : "no worker runs here now, and those that start later get no "
             "notice";
}

void node_agent_state::on(const notice_received& x) {
  config_.lines.warn("this machine is about to go"
                     + (x.words.empty() ? std::string{} : ": " + x.words));
  dispatch(x);
}

void node_agent_state::on(const limit_near& x) {
  config_.lines.info(formatted("the time limit of the job is {} away: {}",
                               core::duration_text(x.left), way_to_save()));
  dispatch(x);
}

// A worker may have been heard since the coordinator was told otherwise.
void node_agent_state::on(const v1::EndHungWorker& x) {
  const auto generation = generation_id{x.generation()};
  look_for_signs([this, x, generation] {
    const auto& plan = membership_.plan();
    const auto running = running_workers();
    if (!plan || plan->generation != generation || running.empty())
      return;
    if (!silence_->is_silent())
      return config_.lines.info("the job does not hang any more: a worker of "
                                "this node has shown a sign of life");
    const auto i
      = std::ranges::find(running, x.local_rank(), &worker_signs::local_rank);
    const auto rank
      = i == running.end() ? running.front().local_rank : x.local_rank();
    const auto silent_for = silence_from_wire(x.silent_ns());
    config_.lines.warn(
      formatted("local rank {} is ended because the job hangs: no worker has "
                "shown a sign of life for {}",
                rank, core::duration_text(silent_for)));
    tell(self_, supervisor_,
         worker_hangs{.generation = generation,
                      .local_rank = rank,
                      .silent_for = silent_for,
                      .limit = silence_from_wire(x.limit_ns()),
                      .where = where_from_wire(x.where())});
  });
}

void node_agent_state::on(const v1::SafePointOrder& x) {
  if (x.action() == v1::SAFE_POINT_HOLD)
    config_.lines.info("the workers are to come to a safe point: "
                       + reason_line(x.reason()));
  else if (x.action() == v1::SAFE_POINT_GO_ON)
    config_.lines.info("the workers go on: " + reason_line(x.reason()));
  dispatch(safe_point_ordered{{x.generation()}, from_wire(x)});
}

void node_agent_state::on(const v1::StartAhead& x) {
  config_.lines.info(
    formatted("the workers start while generation {} runs, and wait for the "
              "next one",
              to_string(generation_id{x.generation()})));
  dispatch(start_ahead_ordered{{x.generation()}, x.restart_count()});
}

void node_agent_state::on(const v1::LogLevelOrder& x) {
  if (set_program_log_level(x.level()))
    config_.lines.info("the log level is " + reason_line(x.level()) + " now");
}

// -- operators ----------------------------------------------------------------

/// `, but pid 4711 on n2`, where others can become it.
std::string node_agent_state::place_of_coordinator() const {
  const auto is_elected
    = config_.next_coordinator.from == core::coordinator_source::kind::voters;
  return is_elected && !last_coordinator_.empty() ? ", but " + last_coordinator_
                                                  : std::string{};
}

// The coordinator decides. One of this process is asked for the operator; that of
// another process would have to believe us who asks.
void node_agent_state::on(const operator_question& x) {
  if (!is_steering(x.what))
    return answer_question(x);
  if (coordinator_ && !remote_)
    return tell(self_, coordinator_, x);
  x.reply(refusal_of(errc::bad_argument,
                     "the coordinator decides, and it is not in this process"
                       + place_of_coordinator() + "; ask it: give actorctl "
                       + config_.coordinator_place));
}

// -- the node -----------------------------------------------------------------

// An answer is for those that wait for it; an event goes to the coordinator,
// which keeps it.
void node_agent_state::on(const devices_report& x) {
  const auto is_first = !devices_;
  devices_ = x.status;
  if (!x.event.empty())
    config_.lines.warn(
      formatted("node {}: {}", membership_.offering().host, x.event));
  if (is_first || !x.event.empty())
    announce_devices();
  if (!is_first && x.event.empty())
    pending_.devices = false;
  if (!pending_.any())
    end_wait();
}

void node_agent_state::on(const vitals_report& x) {
  vitals_ = x.now;
  sampled_ = self_->clock().now();
  pending_.vitals = false;
  add_timers(vitals_, timers_, sampled_);
  add_steps(vitals_, [this](uint32_t rank) { return steps_of(rank); });
  if (!pending_.any())
    end_wait();
}

// Whichever comes last, the other's are there.
void node_agent_state::on(const timer_figures& x) {
  timers_ = x.last_requests;
  pending_.timers = false;
  add_timers(vitals_, timers_, sampled_);
  if (!pending_.any())
    end_wait();
}

void node_agent_state::on(const status_due& x) {
  if (x.number == wait_count_)
    end_wait();
}

// The answer is for the coordinator, not for whoever has sent the question.
void node_agent_state::on(const v1::NodeStatusRequest& x) {
  when_sampled([this, number = x.request()] {
    auto out = devices_status();
    out.set_request(number);
    if (sampled_ != time_point{})
      add_vitals(out, vitals_);
    report(std::move(out));
  });
}

void node_agent_state::announce_devices() {
  if (devices_ && (!devices_->gpus.empty() || !devices_->trouble.empty()))
    report(devices_status());
}

// What is being sampled already, however long that takes, is not asked again.
void node_agent_state::sample() {
  if (devices_ && !std::exchange(pending_.devices, true))
    config_.devices->sample(forward_devices(self_));
  sample_timers();
  if (!config_.vitals || std::exchange(pending_.vitals, true))
    return;
  const auto& plan = membership_.plan();
  config_.vitals->sample(
    plan ? plan->generation : generation_id{}, pids_,
    [handle = node_agent_actor{self_}](core::node_vitals now) {
      tell_anonymously(handle, vitals_report{std::move(now)});
    });
}

// A server that does not answer is one of a program of its own, or has ended.
void node_agent_state::sample_timers() {
  const auto& server = config_.supervisor.timers;
  if (!config_.vitals || !server || std::exchange(pending_.timers, true))
    return;
  actorrun::ask(self_, server, sample_timeout, timer_question{})
    .then([this](const timer_figures& x) { on(x); },
          [this](const caf::error&) { on(timer_figures{}); });
}

// Calls `fn` when there are new samples, or when they are late.
void node_agent_state::when_sampled(std::function<void()> fn) {
  if (waiting_.size() == waiting_operators_max)
    return fn();
  sample();
  if (!pending_.any())
    return fn();
  waiting_.push_back(std::move(fn));
  if (waiting_.size() == 1)
    tell_later(self_, sample_timeout, status_due{++wait_count_});
}

void node_agent_state::end_wait() {
  for (const auto& fn : std::exchange(waiting_, {}))
    fn();
}

v1::NodeStatus node_agent_state::devices_status() const {
  auto out = to_wire(devices_.value_or(core::devices_status{}));
  out.set_agent_id(id());
  return out;
}

// -- signs of life ------------------------------------------------------------

/// @param generation Whose workers have been started; 0: they are to end.
void node_agent_state::watch_workers(generation_id generation) {
  watch_signs(generation);
  watch_steps(generation);
}

void node_agent_state::watch_signs(generation_id generation) {
  if (!silence_)
    return;
  stepped_.reset();
  if (generation.value == 0)
    return silence_->end();
  silence_->begin(generation, self_->clock().now());
  look_for_signs([] {});
}

void node_agent_state::note_step(generation_id generation) {
  const auto& plan = membership_.plan();
  if (plan && plan->generation == generation)
    stepped_ = self_->clock().now();
}

void node_agent_state::on(const signs_due& x) {
  if (x.number == look_count_ && silence_->is_watching())
    look_for_signs([] {});
}

/// Those that have not ended, as they were sampled last. A safe point of one counts for
/// all.
std::vector<worker_signs> node_agent_state::running_workers() const {
  auto out = std::vector<worker_signs>{};
  const auto said = config_.steps ? config_.steps->read(pids_)
                                  : std::map<int64_t, step_reading>{};
  for (const auto& x : vitals_.workers) {
    const auto has_ended = x.state == 'Z' || x.state == 'X';
    if (has_ended || x.local_rank >= pids_.size()
        || x.pid != pids_[x.local_rank])
      continue;
    auto signs = worker_signs{x.local_rank, x.output_size, stepped_};
    const auto last = std::ranges::find(timers_, x.pid, &last_request::pid);
    if (last != timers_.end())
      signs.last_request = std::max(stepped_.value_or(last->when), last->when);
    // Who only saves does so too seldom to be missed.
    if (const auto steps = said.find(x.pid);
        steps != said.end() && steps->second.step_count > 0)
      signs.step_count = beats_of(steps->second);
    out.push_back(signs);
  }
  return out;
}

/// @param then Is called after the look, unless this machine is too slow to look.
void node_agent_state::look_for_signs(std::function<void()> then) {
  if (!silence_)
    return;
  tell_later(self_, silence_->interval(), signs_due{++look_count_});
  when_sampled([this, then = std::move(then), began = self_->clock().now()] {
    if (!silence_ || sampled_ < began)
      return;
    if (const auto news
        = silence_->step(running_workers(), self_->clock().now()))
      report_signs(*news);
    if (silence_->learns_nothing(self_->clock().now())
        && !std::exchange(is_deafness_told_, true))
      config_.lines.warn(formatted(
        "{}=auto has no effect so far: no worker of this node has made a step "
        "that it counts (actorrun.computing(), safe points) or used a timer; a "
        "time in place of auto needs neither",
        hang_scope));
    then();
  });
}

void node_agent_state::report_signs(const silence_report& x) {
  if (x.silent_for > duration{0} && !x.can_tell
      && !std::exchange(is_deafness_told_, true))
    config_.lines.warn(formatted(
      "{} has no effect for this job: a worker of this node writes to no log "
      "file, uses no timers and counts no steps, so it is not known whether it "
      "lives; --log-dir with --redirects=3 or --tee=3 shows it",
      hang_scope));
  auto out = to_wire(x);
  out.set_agent_id(id());
  report(std::move(out));
}

// -- steps --------------------------------------------------------------------

void node_agent_state::watch_steps(generation_id generation) {
  if (!pace_)
    return;
  if (generation.value == 0) {
    if (saves_.is_watching())
      tell_saves(read_steps(), true);
    saves_.stop();
    return pace_->end();
  }
  pace_->begin(generation);
  saves_.begin(generation, self_->clock().now());
  look_at_steps();
}

// They may save until they end: the coordinator is told before it hears of that.
void node_agent_state::end_saves() {
  if (!saves_.is_watching())
    return;
  tell_saves(read_steps(), true);
  saves_.end();
}

void node_agent_state::on(const steps_due& x) {
  if (x.number == step_look_count_ && pace_->is_watching())
    look_at_steps();
}

/// What workers of the generation say, by global rank.
std::map<uint32_t, step_reading> node_agent_state::read_steps() const {
  const auto& plan = membership_.plan();
  const auto said = config_.steps->read(pids_);
  auto seen = std::map<uint32_t, step_reading>{};
  for (uint32_t i = 0; plan && i < pids_.size(); ++i)
    if (const auto x = said.find(pids_[i]); x != said.end())
      seen.emplace(plan->own.global_rank(i), x->second);
  return seen;
}

void node_agent_state::look_at_steps() {
  auto seen = read_steps();
  tell_saves(seen, false);
  std::erase_if(seen, [](const auto& x) { return x.second.step_count == 0; });
  if (const auto news = pace_->step(seen, self_->clock().now())) {
    auto out = to_wire(*news);
    out.set_agent_id(id());
    report(std::move(out));
  }
  const auto pause = pace_->interval();
  tell_later(self_,
             saves_.is_used()
               ? std::min<duration>(pause, node_saves::report_pause)
               : pause,
             steps_due{++step_look_count_});
}

void node_agent_state::tell_saves(const std::map<uint32_t, step_reading>& seen,
                                  bool is_last) {
  const auto news = saves_.step(seen, self_->clock().now(), is_last);
  if (!news)
    return;
  auto out = to_wire(*news);
  out.set_agent_id(id());
  report(std::move(out));
}

std::optional<worker_steps>
node_agent_state::steps_of(uint32_t local_rank) const {
  const auto& plan = membership_.plan();
  return pace_ && plan ? pace_->steps_of(plan->own.global_rank(local_rank))
                       : std::nullopt;
}

// -- logs and stacks ----------------------------------------------------------

void node_agent_state::answer_question(const operator_question& x) {
  switch (x.what.what_case()) {
    case v1::OperatorRequest::kLogs:
      return read_logs(x);
    case v1::OperatorRequest::kLogCredit:
      return readings_.add_credit({x.session, x.what.log_credit().number()},
                                  x.what.log_credit().size());
    case v1::OperatorRequest::kStacks:
      return read_stacks(x);
    case v1::OperatorRequest::kExplain:
      return explain(x);
    case v1::OperatorRequest::WHAT_NOT_SET: // `own_node_request`
      return answer_about_own_node(x);
    case v1::OperatorRequest::kStatus:
      return show_status(
        x.what.status().for_watch(),
        [x](const shared_status& status) { answer(x, status); });
    case v1::OperatorRequest::kJournal:
      return x.reply(refusal_of(errc::connection_refused,
                                "the coordinator, which has the journal, is out"
                                " of reach here"));
    default:
      return x.reply(refusal_of_unknown());
  }
}

void node_agent_state::on(const v1::LogReading& x) {
  readings_.begin({0, x.reading()}, from_wire(x.what()), x.credit(),
                  [this, reading = x.reading()](v1::LogChunk y) {
                    y.set_agent_id(id());
                    y.set_reading(reading);
                    report(std::move(y));
                  });
}

void node_agent_state::read_logs(const operator_question& x) {
  const auto& request = x.what.logs();
  const auto host = membership_.offering().host;
  auto node = named_node{host, {}};
  if (membership_.plan())
    node.node_rank = membership_.plan()->own.node_rank;
  const auto world_size
    = membership_.plan() ? membership_.plan()->world_size : 0;
  auto why = objection_to_ranks(request.what().ranks(),
                                request.what().previous() ? 0 : world_size);
  if (const auto ok = check_pattern(request.what().grep()); !ok)
    why = ok.error().text;
  if (!means(request.node(), membership_.offering().agent, node))
    why = only_own_node(host);
  if (!why.empty())
    return x.reply(refusal_of(errc::bad_argument, why));
  auto first = v1::LogChunk{};
  if (config_.settings.agent_count_max > 1)
    first.set_trouble(only_own_node(host));
  x.reply(to_reply(std::move(first), host));
  readings_.begin({x.session, x.what.number()}, from_wire(request.what()),
                  request.window(), [reply = x.reply, host](v1::LogChunk y) {
                    reply(to_reply(std::move(y), host));
                  });
}

void node_agent_state::on(const v1::StacksRequest& x) {
  see_stacks({x.ranks().begin(), x.ranks().end()},
             [this, request = x.request()](std::vector<worker_stack> workers) {
               auto out = to_wire(workers);
               out.set_agent_id(id());
               out.set_request(request);
               report(std::move(out));
             });
}

void node_agent_state::read_stacks(const operator_question& x) {
  const auto host = membership_.offering().host;
  const auto world_size
    = membership_.plan() ? membership_.plan()->world_size : 0;
  const auto& ranks = x.what.stacks().ranks();
  if (const auto why = objection_to_ranks(ranks, world_size); !why.empty())
    return x.reply(refusal_of(errc::bad_argument, why));
  see_stacks({ranks.begin(), ranks.end()},
             [reply = x.reply, host,
              is_alone = config_.settings.agent_count_max
                         == 1](std::vector<worker_stack> workers) {
               auto seen = to_wire(workers);
               auto out = v1::OperatorReply{};
               auto& stacks = *out.mutable_stacks();
               stacks.mutable_workers()->Swap(seen.mutable_workers());
               for (auto& worker : *stacks.mutable_workers())
                 worker.set_host(host);
               stacks.set_truncated(seen.truncated());
               if (!is_alone)
                 stacks.set_trouble(only_own_node(host));
               reply(std::move(out));
             });
}

void node_agent_state::see_stacks(const std::vector<uint32_t>& ranks,
                                  stacks_sink to) {
  const auto& plan = membership_.plan();
  auto workers = std::vector<ports::probed_worker>{};
  for (uint32_t i = 0; plan && i < pids_.size(); ++i) {
    const auto rank = plan->own.global_rank(i);
    if (ranks.empty() || std::ranges::find(ranks, rank) != ranks.end())
      workers.push_back({i, rank, pids_[i], {}});
  }
  const auto& probe = config_.supervisor.probe;
  if (!probe || workers.empty())
    return to({});
  if (stacks_.size() == stacks_count_max)
    return to(ports::without_stacks(
      workers, "its node answers other such questions; ask again"));
  const auto request = ++last_stacks_;
  stacks_.emplace(request, stacks_wait{workers, std::move(to)});
  tell_later(self_, stacks_limit + stacks_reserve, stacks_seen{request, {}});
  probe->see(
    std::move(workers), stacks_limit,
    [handle = node_agent_actor{self_}, request](std::vector<worker_stack> x) {
      tell_anonymously(handle, stacks_seen{request, std::move(x)});
    });
}

void node_agent_state::on(const stacks_seen& x) {
  const auto known = stacks_.extract(x.request);
  if (!known)
    return;
  const auto& [workers, to] = known.mapped();
  to(!x.workers.empty() ? x.workers
                        : ports::without_stacks(
                          workers, "the kernel does not let its node read it"));
}

// -- status -------------------------------------------------------------------

/// @param to Never gets null.
void node_agent_state::show_status(bool for_watch,
                                   const status_fetch::sink& to) {
  if (!coordinator_)
    return when_sampled([this, to] { to(picture_of(own_status())); });
  fetch_.get(coordinator_, for_watch, [this, to](const shared_status& x) {
    to(x ? x : picture_of(own_status()));
  });
}

caf::result<v1::JobStatus> node_agent_state::status() {
  auto promise = self_->make_response_promise<v1::JobStatus>();
  show_status(false, [promise](const shared_status& x) mutable {
    promise.deliver(*x->whole);
  });
  return promise;
}

// The coordinator knows why; without one, this agent knows why it has none.
void node_agent_state::explain(const operator_question& x) const {
  if (coordinator_ && !remote_)
    return tell(self_, coordinator_, x);
  if (coordinator_)
    return x.reply(
      refusal_of(errc::bad_argument,
                 "the coordinator knows, and it is not in this process"
                   + place_of_coordinator() + "; ask it: give actorctl "
                   + config_.coordinator_place));
  auto out = v1::OperatorReply{};
  auto& all = *out.mutable_explanations();
  all.set_state(to_string(membership_.current_link()));
  auto& part = *all.add_parts();
  if (const auto& plan = membership_.plan())
    part.set_generation(plan->generation.value);
  const auto loss = membership_.loss();
  const auto search = membership_.current_search();
  part.set_sentence(
    loss ? "On " + membership_.offering().host + ", "
             + text_of(*loss, config_.next_coordinator, now()) + "."
    : search
      ? formatted("{} looks for the coordinator of the job, for {}, and gives "
                  "up in {}.",
                  membership_.offering().host,
                  core::duration_text(now() - search->since),
                  core::duration_text(search->until - now()))
      : formatted("{} has no coordinator.", membership_.offering().host));
  if (loss)
    part.add_evidence("lost for " + core::duration_text(now() - loss->since));
  x.reply(std::move(out));
}

void node_agent_state::answer_about_own_node(const operator_question& x) {
  when_sampled([this, x] { answer(x, picture_of(own_status())); });
}

// What this agent knows itself, for requests while the coordinator is away.
v1::JobStatus node_agent_state::own_status() const {
  auto out = v1::JobStatus{};
  out.set_job_id(config_.supervisor.job.job.value);
  out.set_phase(to_string(membership_.current_link()));
  *out.mutable_settings() = to_wire(config_.settings);
  auto& agent = *out.add_agents();
  add_search(out, membership_.current_search(),
             membership_.was_accepted() ? &config_.next_coordinator : nullptr,
             now());
  agent.set_agent_id(id());
  agent.set_host(membership_.offering().host);
  agent.set_address(membership_.offering().address);
  agent.set_role(membership_.offering().role);
  agent.set_slot_count(membership_.offering().slot_count);
  agent.set_state("away");
  agent.set_reason(no_coordinator);
  agent.set_share(to_wire(membership_.share()));
  agent.mutable_pids()->Assign(pids_.begin(), pids_.end());
  auto devices = devices_status();
  agent.mutable_gpus()->Swap(devices.mutable_gpus());
  agent.set_gpu_trouble(devices.gpu_trouble());
  if (const auto& plan = membership_.plan()) {
    out.set_generation(plan->generation.value);
    out.set_restart_count(plan->restart_count);
    out.set_world_size(plan->world_size);
    out.set_master_address(plan->master_address);
    out.set_master_port(plan->master_port);
    agent.set_generation(plan->generation.value);
    agent.set_node_rank(plan->own.node_rank);
    agent.set_first_global_rank(plan->own.first_global_rank);
    agent.set_lead_slot(plan->own.lead_slot);
  }
  if (sampled_ != time_point{})
    add_vitals(out, [this, now = self_->clock().now()](const agent_id&) {
      return vitals_of_node{&vitals_, now - sampled_};
    });
  return out;
}

node_agent_actor spawn_node_agent(caf::actor_system& system,
                                  node_agent_config config) {
  return system.spawn<actor_impl<node_agent_actor, node_agent_state>>(
    std::move(config));
}

} // namespace actorrun
