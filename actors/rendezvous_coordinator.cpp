#include "actors/rendezvous_coordinator.hpp"

#include "actors/core/journal/story.hpp"
#include "actors/core/journal/time_account.hpp"
#include "actors/core/text.hpp"
#include "actors/hang_findings.hpp"
#include "actors/job_status.hpp"
#include "actors/log_level.hpp"
#include "actors/operator_questions.hpp"
#include "actors/pace_findings.hpp"
#include "actors/status_desk.hpp"
#include "actors/steering.hpp"
#include "actors/translate.hpp"
#include "actors/voter_messages.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

namespace actorrun {

using namespace core;
using namespace std::chrono_literals;

namespace {

/// At most this many operators wait for a round; others get the last answers.
constexpr auto waiting_links_max = size_t{256};

/// So many agents are told to those that choose voters, each of another host, beside
/// those that vote: the leader keeps a link to each.
constexpr auto candidates_max = size_t{12};

/// Paces of agents are compared so long after the first that is new: together.
constexpr auto compare_pause = std::chrono::milliseconds{250};

/// Orders what `--on-straggler=drain` asks for.
constexpr auto straggler_orders_by = "--on-straggler";

/// At most this many records are kept back from the status desk.
constexpr auto untold_max = size_t{1'024};

/// All generations that are remembered, with their evidence, take less; less than
/// an operator's reply can have.
constexpr auto explanations_size_max = size_t{512} * 1024;

/// More than any stop may take.
constexpr auto stop_limit_max = std::chrono::milliseconds{24h};

/// At most this many bytes about the trouble of a node.
constexpr auto trouble_size_max = size_t{512};

/// An agent can cause lines of log by what it says of itself, and by coming again
/// under other names: so many at once, and for each node of the job, …
constexpr auto agent_lines_max = uint32_t{256};
constexpr auto agent_lines_per_node = uint32_t{4};
/// … and then one in this time.
constexpr auto agent_line_pause = std::chrono::milliseconds{100};

/// What is wrong with a node's devices, in one line; empty: nothing.
std::string trouble_of(const devices_status& x) {
  auto out = x.trouble;
  for (const auto& gpu : x.gpus)
    if (!gpu.trouble.empty())
      out += formatted("{}GPU {}: {}", out.empty() ? "" : "; ", gpu.index,
                       gpu.trouble);
  return out;
}

uint64_t milliseconds_of(duration x) {
  return static_cast<uint64_t>(
    std::chrono::ceil<std::chrono::milliseconds>(x).count());
}

/// How operators name it.
named_node node_of(const agent_record& x, generation_id generation) {
  auto out = named_node{x.offering.host, std::nullopt};
  if (generation.value != 0 && x.member_of == generation)
    out.node_rank = x.place.node_rank;
  return out;
}

/// Without evidence.
v1::Explanation outline_of(const journal::explanation& x) {
  auto out = v1::Explanation{};
  out.set_sentence(x.sentence);
  out.set_generation(x.generation.value);
  if (x.cause)
    *out.mutable_cause() = to_wire(*x.cause);
  return out;
}

/// Adds as many explanations as fit into a reply, the newest ones. Evidence of
/// older ones is the first to go.
void fill(v1::Explanations& out,
          const std::vector<journal::explanation>& told) {
  auto entries = std::vector<v1::Explanation>{};
  auto size = out.ByteSizeLong() + status_overhead;
  for (auto i = told.rbegin(); i != told.rend(); ++i) {
    auto entry = outline_of(*i);
    size += entry.ByteSizeLong() + status_overhead;
    if (size > explanations_size_max)
      break;
    for (const auto& line : i->evidence) {
      if (size + line.size() + status_overhead > explanations_size_max)
        break;
      size += line.size() + status_overhead;
      entry.add_evidence(line);
    }
    entries.push_back(std::move(entry));
  }
  for (auto i = entries.rbegin(); i != entries.rend(); ++i)
    *out.add_parts() = std::move(*i);
}

} // namespace

// One overload per effect: the only code here that touches other actors.
struct rendezvous_coordinator_state::effect_runner {
  rendezvous_coordinator_state& st;

  void operator()(const arm_timer& x) {
    tell_later(st.self_, x.due - st.self_->clock().now(), timer_fired{x.timer});
  }

  void operator()(const accept_agent& x) {
    const auto& record = st.rendezvous_.agents().at(x.agent);
    auto reply = v1::JoinAccepted{};
    reply.set_waiting_for(st.rendezvous_.waiting_for(x.agent));
    *reply.mutable_charter() = to_wire(st.rendezvous_.job());
    reply.set_coordinator_host(st.config_.host);
    reply.set_coordinator_pid(st.config_.pid);
    if (record.offering.leased) {
      st.config_.leases->hold()->open(x.agent, st.self_->clock().now());
      const auto& limits = st.config_.limits;
      reply.set_keep_alive_interval_ns(
        duration{limits.keep_alive_interval}.count());
      reply.set_fence_ns(duration{limits.fence()}.count());
      const auto age = st.age_of_leadership().value_or(limits.fence());
      reply.set_age_ns(uint64_t(duration{age}.count()));
      st.report_agent([&](const log& lines) {
        lines.info(
          formatted("coordinator accepts agent {}: {} {} at {}{}",
                    to_string(x.agent), record.offering.slot_count,
                    record.offering.slot_count == 1 ? "worker" : "workers",
                    record.offering.address,
                    record.is_address_unproved
                      ? ", which is not where its link comes from"
                      : ""));
      });
    }
    send(x.agent, std::move(reply));
  }

  void operator()(const reject_agent& x) {
    auto reply = v1::JoinRejected{};
    reply.set_code(static_cast<uint32_t>(x.code));
    reply.set_text(x.text);
    st.report_agent([&](const log& lines) {
      const auto line
        = formatted("coordinator rejects agent {}: {}", x.agent.value, x.text);
      if (x.code == errc::connection_failed) // It asks again, and again.
        lines.debug(line);
      else
        lines.warn(line);
    });
    send(x.agent, std::move(reply));
  }

  void operator()(const probe_agent& x) {
    const auto& known = st.contacts_.at(x.agent);
    if (known.liveness_port == 0)
      return; // Only its lease can show that it is lost.
    st.config_.links->probe(
      x.agent, known.liveness_port,
      [handle = rendezvous_coordinator_actor{st.self_}, agent = x.agent] {
        tell_anonymously(
          handle,
          agent_lost{agent,
                     "its host confirms that the agent and its workers are "
                     "dead"});
      });
  }

  void operator()(const forget_agent& x) {
    st.forget(x.agent);
    st.config_.links->sever(x.agent);
  }

  // Its lease was closed where it was decided.
  void operator()(const give_up_agent& x) {
    st.config_.lines.warn(formatted("coordinator gives up agent {}: it {}",
                                    x.agent.value, x.reason));
    st.config_.links->sever(x.agent);
  }

  void operator()(const announce_generation& x) {
    const auto job = to_wire(st.rendezvous_.job());
    for (const auto& plan : x.plans) {
      auto notice = v1::GenerationFormed{};
      *notice.mutable_charter() = job;
      *notice.mutable_plan() = to_wire(plan);
      notice.set_reason(x.reason);
      send(plan.own.agent, std::move(notice));
    }
    const auto& plan = x.plans.front();
    const auto& budget = st.rendezvous_.budget();
    const auto line = formatted(
      "coordinator forms generation {}: {} {}, world size {}, restarts "
      "spent {} of {}{}",
      to_string(plan.generation), plan.node_count,
      plan.node_count == 1 ? "node" : "nodes", plan.world_size,
      budget.restart_count(), budget.restart_count_max(),
      x.reason.empty() ? "" : formatted(" ({})", x.reason));
    const auto is_first = number_of(plan.generation) == 1;
    if (st.config_.networked || !is_first)
      st.config_.lines.info(line);
    else
      st.config_.lines.debug(line);
  }

  void operator()(const revoke_generation& x) {
    auto notice = v1::GenerationRevoked{};
    notice.set_generation(x.generation.value);
    notice.set_reason(x.reason.text);
    notice.set_over(x.is_over);
    if (x.failure)
      *notice.mutable_failure() = to_wire(brief(*x.failure));
    for (const auto& agent : x.agents)
      send(agent, notice);
    st.config_.lines.warn(formatted("coordinator stops generation {}: {}",
                                    to_string(x.generation), x.reason.text));
  }

  void operator()(const send_safe_point_order& x) {
    auto order = to_wire(x.order);
    order.set_generation(x.generation.value);
    order.set_reason(x.reason);
    for (const auto& agent : x.agents)
      send(agent, order);
    using kind = safe_point_order::kind;
    if (x.order.what == kind::stop_at)
      st.config_.lines.info(
        formatted("coordinator lets the workers of generation {} go on to step "
                  "{}, and then regroups: {}",
                  to_string(x.generation), x.order.step, x.reason));
    else
      st.config_.lines.debug(formatted("coordinator tells the workers of "
                                       "generation {} to {}: {}",
                                       to_string(x.generation),
                                       to_string(x.order), x.reason));
  }

  void operator()(const start_ahead& x) {
    auto order = v1::StartAhead{};
    order.set_generation(x.generation.value);
    order.set_restart_count(x.restart_count);
    for (const auto& agent : x.agents)
      send(agent, order);
    st.config_.lines.info(
      formatted("coordinator has {} more {} start their workers, while "
                "generation {} runs",
                x.agents.size(), x.agents.size() == 1 ? "node" : "nodes",
                to_string(x.generation)));
  }

  void operator()(const explain_failures& x) {
    st.config_.lines.warn(formatted(
      "root cause in generation {}: {}{}{}", to_string(x.generation),
      to_string(x.first),
      x.others.empty()
        ? ""
        : formatted("; {} more {} failed after it", x.others.count(),
                    x.others.count() == 1 ? "worker" : "workers"),
      x.exemption.empty() ? "" : "; costs no restart: " + x.exemption.text));
    for (const auto& other : x.others.listed)
      st.config_.lines.info(
        formatted("coordinator notes that in generation {} {}",
                  to_string(x.generation), to_string(other)));
  }

  void operator()(const notify_drain& x) {
    auto notice = v1::DrainNotice{};
    notice.set_deadline_ms(milliseconds_of(x.time));
    notice.set_reason(x.reason);
    notice.set_at_safe_point(x.at_safe_point);
    notice.set_stays(x.stays);
    send(x.agent, std::move(notice));
  }

  void operator()(const order_checks& x) {
    for (const auto& agent : x.agents)
      send(agent, v1::CheckOrder{});
  }

  void operator()(const report_rule& x) {
    st.config_.lines.warn("coordinator: " + x.text);
  }

  void operator()(const report_exclusion& x) {
    st.config_.lines.warn(formatted(
      "coordinator excludes host {}: {}; to let it in again: actorctl "
      "include {}",
      x.host, x.reason, x.host));
  }

  void operator()(const list_exclusion& x) {
    st.config_.exclusions->add(x.what);
  }

  void operator()(const unlist_exclusion& x) {
    st.config_.exclusions->remove(x.host);
  }

  void operator()(const attribute_failure& x) {
    const auto subject
      = formatted("the failure of generation {} ", to_string(x.generation));
    switch (x.to) {
      case attribution::awaited:
        return st.config_.lines.info(
          formatted("{}costs a restart unless a check of node {} (agent {}) "
                    "fails",
                    subject, x.host, x.agent.value));
      case attribution::node:
        return st.config_.lines.warn(
          formatted("{}costs no restart: node {} (agent {}) is at fault: {}",
                    subject, x.host, x.agent.value, x.text));
      case attribution::program:
        return st.config_.lines.info(formatted(
          "{}is the program's: no check of node {} (agent {}) has failed",
          subject, x.host, x.agent.value));
    }
  }

  void operator()(const report_stand_by& x) {
    st.config_.lines.warn(formatted(
      "coordinator lets node {} (agent {}) stand by: it has {}; it gets a "
      "place "
      "when it has been reachable for a while; to let it in at once: actorctl "
      "include {}",
      x.host, x.agent.value, x.reason, x.host));
  }

  void operator()(const report_return& x) {
    st.config_.lines.info(
      formatted("coordinator lets node {} (agent {}) take part again: {}",
                x.host, x.agent.value, x.reason));
  }

  void operator()(const set_log_level& x) {
    auto order = v1::LogLevelOrder{};
    order.set_level(x.level);
    for (const auto& agent : x.agents)
      send(agent, order);
    if (x.is_for_all)
      set_program_log_level(x.level);
  }

  void operator()(const hand_over_leadership& x) {
    st.config_.hand_over(x.to, x.by);
  }

  void operator()(const tell_charter& x) {
    auto notice = v1::CharterChanged{};
    *notice.mutable_charter() = to_wire(st.rendezvous_.job());
    for (const auto& agent : x.agents)
      send(agent, notice);
  }

  void operator()(const write_outcome& x) {
    const auto self = rendezvous_coordinator_actor{st.self_};
    st.config_.write_outcome(
      x.result, [self] { tell_anonymously(self, outcome_written{}); });
  }

  void operator()(const answer_operator& x) {
    const auto is_done = x.code == errc::none;
    const auto line
      = formatted("coordinator {} {} ({}): {}", is_done ? "obeys" : "refuses",
                  x.by, x.what, x.text);
    if (is_done)
      st.config_.lines.info(line);
    else
      st.config_.lines.warn(line);
    if (const auto reply = std::exchange(st.asking_, nullptr))
      st.show_others(
        [reply, answer = is_done ? done(x.text) : refusal_of(x.code, x.text)] {
          reply(answer);
        });
  }

  void operator()(const end_job& x) {
    auto notice = v1::JobEnded{};
    *notice.mutable_outcome() = to_wire(x.result);
    for (const auto& agent : x.agents)
      send(agent, notice);
    st.config_.lines.debug(formatted("coordinator ends the job: {}, {}",
                                     to_string(x.result.kind),
                                     x.result.reason));
    st.say_time();
  }

  void operator()(const close_job&) {
    st.show_others([&self = st] { self.is_closing_ = true; });
  }

  template <class T>
  void send(const agent_id& agent, T x) {
    st.announce(agent, std::move(x));
  }
};

template <class T>
void rendezvous_coordinator_state::send(const agent_id& agent, T x) {
  if (auto i = contacts_.find(agent); i != contacts_.end() && i->second.handle)
    tell(self_, i->second.handle, std::move(x));
}

/// Sends what was decided. If the agent comes back over another link meanwhile, this
/// is lost with the first one.
template <class T>
void rendezvous_coordinator_state::announce(const agent_id& agent, T x) {
  if (gate_.is_open())
    return send(agent, std::move(x));
  if (auto i = contacts_.find(agent); i != contacts_.end() && i->second.handle)
    show_others([this, to = i->second.handle, what = std::move(x)] {
      tell(self_, to, what);
    });
}

/// Other processes may see it, once what it follows from is stored.
void rendezvous_coordinator_state::show_others(std::function<void()> what) {
  if (const auto now = gate_.pass(std::move(what)))
    (*now)();
}

rendezvous_coordinator_state::rendezvous_coordinator_state(
  rendezvous_coordinator_actor::pointer self,
  rendezvous_coordinator_config config)
  : self_(self), config_(std::move(config)),
    rendezvous_(config_.settings, config_.limits, config_.rules),
    lines_of_agents_(
      agent_lines_max + agent_lines_per_node * config_.settings.agent_count_max,
      agent_line_pause),
    watches_(self) {
  if (!config_.leases)
    config_.leases
      = std::make_shared<shared_lease_desk>(config_.age_of_leadership);
  desk_ = spawn_status_desk(self_->system(), config_.leases);
}

rendezvous_coordinator_actor::behavior_type
rendezvous_coordinator_state::make_behavior() {
  keep(chronicle_.begin({.job = config_.job,
                         .host = config_.host,
                         .pid = config_.pid,
                         .is_successor = config_.beginning.successor,
                         .settings = config_.settings,
                         .lease = config_.limits.lease()},
                        moment_of(self_->clock().now())));
  if (config_.leadership)
    keep(chronicle_.note_leader(*config_.leadership,
                                moment_of(self_->clock().now())));
  auto beginning = config_.beginning;
  beginning.writes_outcome = config_.write_outcome != nullptr;
  beginning.keeps_list = config_.exclusions != nullptr;
  dispatch(beginning);
  return {
    [this](const v1::JoinRequest& x) { join(x); },
    [this](const v1::KeepAlive& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        const auto now = self_->clock().now();
        config_.leases->give_sign(now);
        if (const auto age = config_.leases->hear(
              agent, time_point{duration{x.sent_ns()}}, now))
          send(agent, grant(x, *age));
      });
    },
    [this](const v1::WorkersStarted& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(workers_started{
          agent, {x.generation()}, {x.pids().begin(), x.pids().end()}});
      });
    },
    [this](const v1::WorkerFailed& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(
          worker_failed{agent, {x.generation()}, from_wire(x.failure())});
      });
    },
    [this](const v1::WorkersSucceeded& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(workers_succeeded{agent, {x.generation()}});
      });
    },
    [this](const v1::WorkersStopped& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(workers_stopped{agent,
                                 {x.generation()},
                                 uint16_t(x.master_port()),
                                 from_wire(x.others()),
                                 x.unkillable_count(),
                                 from_wire(x.parked()),
                                 step_of(x)});
      });
    },
    [this](const v1::SafePointReport& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(safe_point_reported{agent, {x.generation()}, from_wire(x)});
      });
    },
    [this](const v1::WorkersSilent& x) {
      if_own(x, [&](const agent_id& agent, contact&) { on(agent, x); });
    },
    [this](const v1::WorkerPaces& x) {
      if_own(x, [&](const agent_id& agent, contact&) { on(agent, x); });
    },
    [this](const v1::WorkersSaved& x) {
      if_own(x, [&](const agent_id& agent, contact&) { on(agent, x); });
    },
    [this](const v1::NodeFitness& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(fitness_reported{agent, reason_line(x.unfit())});
      });
    },
    [this](const v1::LeaveNotice& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        if (x.done())
          dispatch(agent_left{agent});
        else
          dispatch(agent_leaving{agent, x.signal()});
      });
    },
    [this](const v1::NodeNotice& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(node_noticed{agent, one_line(x.words(), notice_words_max),
                              drain_time_default});
      });
    },
    [this](const v1::StatusRequest& x) { return answer_status(x); },
    [this](const operator_question& x) {
      config_.leases->give_sign(self_->clock().now());
      if (is_steering(x.what))
        steer(x);
      else
        answer_question(x);
    },
    [this](const v1::NodeStatus& x) {
      if_own(x, [&](const agent_id& agent, contact& known) {
        note(agent, known, x);
      });
    },
    [this](const status_due& x) {
      round_.expired(x.number, self_->clock().now());
      settle_round();
    },
    [this](const stacks_due& x) { stacks_.expired(x.request); },
    [this](const paces_due&) { compare_paces(); },
    [this](const v1::LogChunk& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        if (!readings_.on_chunk(agent, x))
          ++dropped_message_count;
      });
    },
    [this](const v1::StacksReport& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        if (!stacks_.on_report(agent, x))
          ++dropped_message_count;
      });
    },
    [this](const agent_lost& x) { dispatch(x); },
    [this](const outcome_written& x) { dispatch(x); },
    [this](const member_ended& x) { dispatch(x); },
    [this](const charter_written& x) { on(x); },
    [this](const electors_question& x) { on(x); },
    [this](const electors_known& x) { on(x); },
    [this](const stop_requested& x) { dispatch(x); },
    [this](const timer_fired& x) { dispatch(x); },
  };
}

void rendezvous_coordinator_state::on_exit() {
  waiting_.clear();
  tell_anonymously(desk_, desk_closed{});
  contacts_.clear();
  gate_.drop(); // It keeps handles, too.
  config_.leases->hold()->close_all();
  config_ = {}; // Its parts keep handles to us.
}

void rendezvous_coordinator_state::steer(const operator_question& x) {
  if (!x.may_steer)
    return x.reply(refusal_of(errc::bad_argument, "you may not steer the job"));
  if (x.what.has_elect())
    return x.reply(refusal_of(errc::bad_argument,
                              "the job has a coordinator, which is asked here:"
                              " nothing has to be given up"));
  asking_ = x.reply;
  auto event = steering_event(x.what, x.by);
  if (auto* lead = std::get_if<lead_requested>(&event))
    lead->among = electorate_now();
  dispatch(event);
  if (const auto reply = std::exchange(asking_, nullptr))
    reply(refusal_of(errc::bad_argument,
                     "this coordinator does not decide any more: the job has"
                     " ended, or another one takes over"));
}

// No longer the leader: a decision could contradict the successor's.
void rendezvous_coordinator_state::dispatch(const rendezvous_event& event) {
  if (is_closing_ || !age_of_leadership())
    return;
  const auto now = self_->clock().now();
  config_.leases->give_sign(now);
  const auto effects = decide(event, now);
  note_job();
  // First, so that a journal knows the outcome before an agent does.
  keep(chronicle_.note(event, effects, rendezvous_, moment_of(now)));
  for (const auto& effect : effects)
    std::visit(effect_runner{*this}, effect);
  say_wait();
  look_for_hang();
  if (is_closing_)
    close();
}

// Nothing is to follow the outcome, once that is stored.
void rendezvous_coordinator_state::note_job() {
  if (job_.decided && gate_.is_open())
    return;
  auto job = config_.write_job ? rendezvous_.job_and_end() : rendezvous_.job();
  if (config_.write_job)
    job.leader_group = leader_group();
  if (job == job_)
    return;
  job_ = std::move(job);
  if (config_.on_job)
    config_.on_job(job_);
  if (config_.write_job)
    config_.write_job(job_, gate_.change());
}

std::optional<duration>
rendezvous_coordinator_state::age_of_leadership() const {
  return config_.age_of_leadership ? config_.age_of_leadership()
                                   : duration::zero();
}

uint32_t rendezvous_coordinator_state::leader_group() const {
  const auto i = rendezvous_.agents().find(config_.own_agent);
  const auto generation = rendezvous_.generation();
  return i != rendezvous_.agents().end() && generation.value != 0
             && i->second.member_of == generation
           ? rendezvous_.common_plan().node_count
           : 0;
}

void rendezvous_coordinator_state::on(const charter_written& event) {
  if (is_closing_)
    return;
  if (!age_of_leadership())
    return gate_.drop();
  for (const auto& what : gate_.on(event))
    what();
  if (is_closing_)
    close();
}

// Agents learn what they wait for when they join. How it goes on without a
// generation is said here: once the agents of an earlier coordinator have been
// waited for, and when too few nodes are left.
void rendezvous_coordinator_state::say_wait() {
  using enum core::rendezvous_phase;
  const auto where = rendezvous_.current_phase();
  const auto now = is_listening()                             ? wait::listening
                   : where == gathering || where == last_call ? wait::nodes
                                                              : wait::none;
  if (std::exchange(said_wait_, now) == now || now != wait::nodes
      || !config_.networked || rendezvous_.agents().empty())
    return;
  const auto until = rendezvous_.waits_until();
  config_.lines.info(formatted(
    "coordinator: {}{}", rendezvous_.waiting_for(),
    until ? formatted(" ({} at most)",
                      core::duration_text(*until - self_->clock().now()))
          : std::string{}));
}

// Once: agents that come back are told of the end again.
void rendezvous_coordinator_state::say_time() {
  const auto& known = chronicle_.now();
  const auto time = journal::account_of(known, self_->clock().now());
  if (std::exchange(has_said_time_, true)
      || !journal::is_worth_telling(known, time))
    return;
  config_.lines.info(formatted(
    "time: {}{}", journal::summary_of(time),
    config_.on_records ? "; details: actorctl time " + config_.job.value : ""));
}

// Operators that wait get their answer first.
void rendezvous_coordinator_state::close() {
  round_.expired(round_.number(), self_->clock().now());
  settle_round(); // Agents answer no more.
  readings_.close();
  const auto end = [this] {
    config_.on_closed(*rendezvous_.result());
    self_->quit();
  };
  ask_local(self_, desk_, desk_closed{}).then(end, [end](const caf::error&) {
    end();
  });
}

// Only a timer ends leases; and who comes in a node's place needs to know whether
// that one has been heard. No agent is told to go on while it is decided whose
// lease has ended.
std::vector<rendezvous_effect>
rendezvous_coordinator_state::decide(const rendezvous_event& event,
                                     time_point now) {
  const auto is_join = std::holds_alternative<agent_joined>(event)
                       && rendezvous_.settings().ranked;
  if (!std::holds_alternative<timer_fired>(event) && !is_join)
    return rendezvous_.step(event, now);
  auto leases = config_.leases->hold();
  auto out = rendezvous_.step(leases_renewed{leases->take()}, now);
  for (auto& effect : rendezvous_.step(event, now)) {
    if (const auto* gone = std::get_if<forget_agent>(&effect))
      leases->close(gone->agent);
    if (const auto* x = std::get_if<give_up_agent>(&effect))
      leases->close(x->agent);
    out.push_back(std::move(effect));
  }
  return out;
}

void rendezvous_coordinator_state::keep(journal::chronicle::records x) {
  if (x.empty())
    return;
  untold_.insert(untold_.end(), x.begin(), x.end());
  if (untold_.size() >= untold_max)
    tell_desk();
  if (config_.on_records)
    config_.on_records(std::move(x));
}

// -- agents -------------------------------------------------------------------

// An agent speaks for itself only.
template <class Message, class Handler>
void rendezvous_coordinator_state::if_own(const Message& x, Handler handle) {
  using enum core::speakers<caf::actor_addr>::verdict;
  const auto agent = agent_id{x.agent_id()};
  const auto who = caf::actor_cast<caf::actor_addr>(self_->current_sender());
  switch (speakers_.check(agent, who)) {
    case own:
      return handle(agent, contacts_.at(agent));
    case late: // It was lost or has left.
      return;
    case foreign:
      ++dropped_message_count;
      return;
  }
}

void rendezvous_coordinator_state::forget(const agent_id& agent) {
  contacts_.erase(agent);
  silence_.forget(agent);
  pace_.forget(agent);
  config_.leases->hold()->close(agent);
  readings_.lost(agent, has_ended());
  stacks_.lost(agent);
  speakers_.forget(agent);
  round_.lost(agent, self_->clock().now());
  settle_round();
}

void rendezvous_coordinator_state::join(const v1::JoinRequest& x) {
  const auto agent = agent_id{x.offer().agent_id()};
  const auto sender = self_->current_sender();
  if (!sender || agent.value.empty())
    return;
  const auto link = speakers_.join(
    agent, caf::actor_cast<caf::actor_addr>(sender), x.comes_by_link());
  if (!link) {
    ++dropped_message_count;
    return;
  }
  auto offering = from_wire(x.offer());
  offering.agent = agent; // One text for all.
  offering.leased = config_.lease_all || x.comes_by_link();
  // If we do not know yet that its last link is down.
  silence_.forget(agent);
  pace_.forget(agent);
  readings_.lost(agent, has_ended());
  stacks_.lost(agent);
  auto& known = contacts_[agent];
  known.handle = caf::actor_cast<node_agent_actor>(sender);
  known.liveness_port = uint16_t(x.offer().liveness_port());
  known.voter_port = uint16_t(x.offer().voter_port());
  auto held = std::optional<claim>{};
  auto pids = std::vector<int64_t>{};
  if (x.has_claim()) {
    held = from_wire(x.claim());
    pids.assign(x.claim().pids().begin(), x.claim().pids().end());
  }
  watches_.watch(self_, known.handle,
                 [this, agent, link = *link] { link_down(agent, link); });
  auto told = std::optional<charter>{};
  if (x.has_charter())
    told = from_wire(x.charter());
  dispatch(agent_joined{offering, from_wire(x.settings()), held,
                        std::move(pids),
                        std::chrono::milliseconds{std::min<uint64_t>(
                          x.stop_limit_ms(), stop_limit_max.count())},
                        x.is_address_unproved(), std::move(told)});
  const auto record = rendezvous_.agents().find(agent);
  if (record == rendezvous_.agents().end())
    return forget(agent); // It was rejected.
  readings_.joined(agent, node_of(record->second, rendezvous_.generation()),
                   rendezvous_.generation());
  if (voters_.voters_size() > 0)
    announce(agent, voters_);
}

// -- the next coordinator -------------------------------------------------------

void rendezvous_coordinator_state::on(const electors_question& x) {
  config_.leases->give_sign(self_->clock().now());
  x.reply(electors(x.always));
}

std::optional<electorate> rendezvous_coordinator_state::electorate_now() const {
  const auto& known = chronicle_.now().leadership;
  if (!known)
    return {};
  auto out = electorate{known->chosen.by, known->chosen.agent, known->voters};
  out.others.insert(out.others.end(), known->deputies.begin(),
                    known->deputies.end());
  std::erase(out.others, out.leader);
  return out;
}

// Those that stay. Two agents with one address are on one host.
electors_answer rendezvous_coordinator_state::electors(
  const std::vector<agent_id>& always) const {
  auto out = electors_answer{};
  out.has_ended = has_ended() && gate_.is_open();
  auto here = std::vector<voter_candidate>{};
  auto hosts = std::set<std::string>{};
  const auto is_voter = [&](const agent_id& x) {
    return std::ranges::find(always, x) != always.end()
           || std::ranges::any_of(voters_.voters(), [&](const auto& known) {
                return known.agent_id() == x.value;
              });
  };
  for (const auto& [id, record] : rendezvous_.agents()) {
    const auto i = contacts_.find(id);
    if (i == contacts_.end() || !i->second.handle || i->second.voter_port == 0
        || !record.is_candidate())
      continue;
    const auto& address = record.offering.address;
    if (!is_voter(id)
        && (hosts.size() == candidates_max || !hosts.insert(address).second))
      continue;
    here.push_back({.agent = id,
                    .host = address,
                    .endpoint = voter_endpoint(address, i->second.voter_port)});
  }
  if (!is_listening())
    out.here = std::move(here);
  return out;
}

// For the agents of an earlier coordinator.
bool rendezvous_coordinator_state::is_listening() const {
  return rendezvous_.current_phase() == rendezvous_phase::gathering
         && !rendezvous_.gives_up_then();
}

void rendezvous_coordinator_state::on(const electors_known& x) {
  voters_ = voters_to_wire(x.endpoints);
  voters_.set_voter_count(uint32_t(x.voters.size()));
  auto deputies = std::vector<agent_id>{};
  for (const auto& [who, where] : x.endpoints)
    if (std::ranges::find(x.voters, who) == x.voters.end())
      deputies.push_back(who);
  keep(chronicle_.note_voters({x.term, x.voters, std::move(deputies)},
                              moment_of(self_->clock().now())));
  for (const auto& [id, known] : contacts_)
    announce(id, voters_);
}

void rendezvous_coordinator_state::link_down(const agent_id& agent,
                                             uint64_t link) {
  if (!speakers_.hang_up(agent, link))
    return; // It is back already.
  contacts_.at(agent).handle = nullptr;
  silence_.forget(agent);
  pace_.forget(agent);
  dispatch(agent_disconnected{agent});
  readings_.lost(agent, has_ended());
  stacks_.lost(agent);
  round_.lost(agent, self_->clock().now());
  settle_round();
}

// -- hangs --------------------------------------------------------------------

void rendezvous_coordinator_state::on(const agent_id& agent,
                                      const v1::WorkersSilent& x) {
  if (is_closing_ || !age_of_leadership())
    return; // The next coordinator is told.
  const auto was_hung = silence_.hung();
  silence_.note(agent, from_wire(x), self_->clock().now());
  if (chronicle_.now().hang && was_hung.value != 0
      && silence_.hung().value == 0) {
    config_.lines.info(
      formatted("generation {} does not hang any more", to_string(was_hung)));
    keep(chronicle_.note_hang({was_hung, {}, {}, {}},
                              moment_of(self_->clock().now())));
  }
  look_for_hang();
}

// Of nodes that are away, or have yet to come back to a new coordinator, it is not
// known whether they are silent. Those that have succeeded are.
std::vector<agent_id> rendezvous_coordinator_state::running_members() const {
  auto out = std::vector<agent_id>{};
  const auto generation = rendezvous_.generation();
  if (rendezvous_.current_phase() != rendezvous_phase::running
      || generation.value == 0)
    return out;
  auto count = size_t{0};
  for (const auto& [id, x] : rendezvous_.agents()) {
    if (x.member_of != generation)
      continue;
    ++count;
    const auto is_running = x.share == share_state::running;
    if (!x.connected || (!is_running && x.share != share_state::succeeded))
      return {};
    if (is_running)
      out.push_back(id);
  }
  return count == rendezvous_.common_plan().node_count
           ? out
           : std::vector<agent_id>{};
}

void rendezvous_coordinator_state::look_for_hang() {
  if (silence_.empty() || is_closing_ || !age_of_leadership())
    return;
  const auto members = running_members();
  if (members.empty())
    return;
  if (const auto hang
      = silence_.find(rendezvous_.generation(), members, self_->clock().now()))
    look_into(*hang);
}

// The same question as an operator's `actorctl stacks`.
void rendezvous_coordinator_state::look_into(const job_hang& what) {
  config_.lines.warn(formatted(
    "generation {}: no worker has shown a sign of life for {}: coordinator "
    "looks where they are",
    to_string(what.generation),
    core::duration_text(self_->clock().now() - what.since)));
  auto question = operator_question{};
  question.what.mutable_stacks();
  question.reply = [this, what](const v1::OperatorReply& x) {
    if (!x.has_stacks() || !settle(what, x.stacks()))
      silence_.give_up(what);
  };
  const auto id = stacks_.begin(question, ranks_of_nodes(),
                                rendezvous_.common_plan().world_size);
  if (id != 0)
    tell_later(self_, operator_stacks::timeout, stacks_due{id});
}

/// @returns false: nothing can follow from it now
bool rendezvous_coordinator_state::settle(const job_hang& what,
                                          const v1::Stacks& seen) {
  if (!silence_.is_still(what) || rendezvous_.generation() != what.generation
      || running_members().empty() || !age_of_leadership())
    return false;
  const auto cause = find_cause(what, seen, ranks_of_nodes());
  if (!cause)
    return false;
  const auto now = self_->clock().now();
  const auto sentence = sentence_of(what, cause->who, cause->host, now);
  config_.lines.warn(formatted("generation {} hangs: {}{}",
                               to_string(what.generation), sentence,
                               what.ends ? "; that worker is ended" : ""));
  keep(chronicle_.note_hang(
    {what.generation, now - what.since, sentence, cause->who.where},
    moment_of(now)));
  if (what.ends)
    send(cause->agent, end_of(what, *cause, now));
  return true;
}

// -- stragglers ---------------------------------------------------------------

void rendezvous_coordinator_state::on(const agent_id& agent,
                                      const v1::WorkerPaces& x) {
  if (is_closing_ || !age_of_leadership())
    return; // The next coordinator is told.
  pace_.note(agent, from_wire(x));
  if (!std::exchange(compares_soon_, true))
    tell_later(self_, compare_pause, paces_due{});
}

std::vector<paced_node> rendezvous_coordinator_state::paced_nodes() const {
  auto out = std::vector<paced_node>{};
  for (const auto& [id, x] : rendezvous_.agents())
    if (x.member_of == rendezvous_.generation())
      out.push_back(
        {id, x.offering.host, x.place.first_global_rank, x.place.slot_count});
  return out;
}

void rendezvous_coordinator_state::on(const agent_id& agent,
                                      const v1::WorkersSaved& x) {
  if (is_closing_ || !age_of_leadership())
    return; // The next coordinator is told.
  keep(chronicle_.note_saves(agent, from_wire(x),
                             moment_of(self_->clock().now())));
}

void rendezvous_coordinator_state::compare_paces() {
  using enum rendezvous_phase;
  compares_soon_ = false;
  const auto generation = rendezvous_.generation();
  const auto phase = rendezvous_.current_phase();
  if (is_closing_ || !age_of_leadership() || generation.value == 0
      || (phase != running && phase != starting))
    return;
  const auto found = pace_.find(generation, paced_nodes());
  if (!found)
    return;
  if (found->count > 0)
    config_.lines.warn(formatted("generation {}: {}", to_string(generation),
                                 sentence_of(found->named, found->count)));
  else
    config_.lines.info(
      formatted("generation {}: no worker is slower than the others any more",
                to_string(generation)));
  keep(chronicle_.note_stragglers({generation, found->named, found->count},
                                  moment_of(self_->clock().now())));
  act_on(*found);
}

void rendezvous_coordinator_state::act_on(const straggler_finding& x) {
  auto beside = v1::CheckOrder{};
  beside.set_beside(true);
  for (const auto& [agent, action] : x.nodes) {
    if (action == straggler_action::check)
      send(agent, beside);
    else if (action == straggler_action::drain)
      dispatch(drain_requested{agent.value, drain_time_default, true,
                               straggler_orders_by});
  }
}

// -- logs and stacks ----------------------------------------------------------

void rendezvous_coordinator_state::answer_question(const operator_question& x) {
  const auto world_size = rendezvous_.generation().value == 0
                            ? 0
                            : rendezvous_.common_plan().world_size;
  switch (x.what.what_case()) {
    case v1::OperatorRequest::kLogs:
      return readings_.begin(x, named_nodes(),
                             {rendezvous_.generation(),
                              chronicle_.now().generation_before(),
                              world_size});
    case v1::OperatorRequest::kLogCredit:
      return readings_.add_credit(x);
    case v1::OperatorRequest::kStatus:
      return answer_status(x);
    case v1::OperatorRequest::kExplain:
      return x.reply(explanations(x.what.explain()));
    case v1::OperatorRequest::kJournal:
      return config_.read_journal
               ? config_.read_journal(x.what.journal(), x.reply)
               : x.reply(
                 refusal_of(errc::bad_argument,
                            "the job keeps no journal (--journal=none)"));
    case v1::OperatorRequest::kStacks:
      if (const auto id = stacks_.begin(x, ranks_of_nodes(), world_size))
        tell_later(self_, operator_stacks::timeout, stacks_due{id});
      return;
    default:
      return x.reply(refusal_of_unknown());
  }
}

operator_readings::node_map rendezvous_coordinator_state::named_nodes() const {
  auto out = operator_readings::node_map{};
  for (const auto& [id, record] : rendezvous_.agents())
    if (const auto i = contacts_.find(id);
        i != contacts_.end() && i->second.handle)
      out.emplace(id, node_of(record, rendezvous_.generation()));
  return out;
}

operator_stacks::node_map rendezvous_coordinator_state::ranks_of_nodes() const {
  auto out = operator_stacks::node_map{};
  const auto generation = rendezvous_.generation();
  for (const auto& [id, x] : rendezvous_.agents())
    if (const auto i = contacts_.find(id);
        i != contacts_.end() && i->second.handle && generation.value != 0
        && x.member_of == generation)
      out.emplace(id, node_ranks{x.offering.host, x.place.first_global_rank,
                                 x.place.slot_count});
  return out;
}

// -- status -------------------------------------------------------------------

// Not with every record: while a large job regroups there are thousands, and it
// need not wake up before it is asked.
void rendezvous_coordinator_state::tell_desk() {
  if (!untold_.empty())
    tell(self_, desk_, job_recorded{std::exchange(untold_, {})});
}

// Of each round, the first answer of an agent counts, also if it is late.
void rendezvous_coordinator_state::note(const agent_id& agent, contact& from,
                                        const v1::NodeStatus& x) {
  const auto number = x.request();
  if (number == 0)
    return note_devices(agent, from, x);
  if (number <= from.answered || number > round_.number()) {
    ++dropped_message_count;
    return;
  }
  if (from.devices || x.gpus_size() > 0 || !x.gpu_trouble().empty())
    note_devices(agent, from, x);
  tell_desk();
  tell(self_, desk_, node_reported{agent, {}, from_wire(x.vitals())});
  from.answered = number;
  round_.answered(agent, number, self_->clock().now());
  settle_round();
}

// An agent of this process logs it itself.
void rendezvous_coordinator_state::note_devices(const agent_id& agent,
                                                contact& from,
                                                const v1::NodeStatus& x) {
  auto now = devices_from_wire(x);
  const auto trouble = trouble_of(now);
  const auto known = from.devices ? trouble_of(*from.devices) : "";
  from.devices = std::move(now);
  tell_desk();
  tell(self_, desk_, node_reported{agent, from.devices, {}});
  keep(chronicle_.note_gpus(agent, trouble, moment_of(self_->clock().now())));
  if (trouble != known)
    dispatch(gpus_reported{agent, trouble});
  const auto& agents = rendezvous_.agents();
  const auto record = agents.find(agent);
  if (!trouble.empty() && trouble != known && record != agents.end()
      && record->second.offering.leased)
    report_agent([&](const log& lines) {
      lines.warn(formatted("coordinator flags node {}: {}",
                           record->second.offering.host,
                           one_line(trouble, trouble_size_max)));
    });
}

/// Writes a line that an agent has caused, if there were not too many.
template <class Write>
void rendezvous_coordinator_state::report_agent(Write write) {
  if (!lines_of_agents_.take(self_->clock().now()))
    return;
  if (const auto count = lines_of_agents_.take_left_out(); count > 0)
    config_.lines.warn(formatted("coordinator has left out {} lines about "
                                 "agents: there were too many",
                                 count));
  write(config_.lines);
}

// In a round; an agent that was asked is not asked again before all others were.
uint32_t rendezvous_coordinator_state::asked_worker_count() const {
  const auto& plan = rendezvous_.common_plan();
  const auto asked
    = std::min<uint64_t>(plan.node_count, status_round::asked_max);
  return uint32_t(plan.world_size * asked / std::max(plan.node_count, 1U));
}

// A large job regroups: its agents have other things to do.
bool rendezvous_coordinator_state::is_busy() const {
  using enum rendezvous_phase;
  const auto phase = rendezvous_.current_phase();
  return (phase == starting || phase == stopping)
         && contacts_.size() > status_round::asked_max;
}

// Calls `fn` when it is known how the nodes are doing, or not to be known soon.
void rendezvous_coordinator_state::when_seen(std::function<void()> fn) {
  if (waiting_.size() == waiting_links_max || is_busy()
      || round_.is_fresh(self_->clock().now(), asked_worker_count()))
    return fn();
  waiting_.push_back(std::move(fn));
  if (!round_.is_open())
    ask_nodes();
}

void rendezvous_coordinator_state::ask_nodes() {
  auto reachable = std::map<agent_id, uint64_t>{};
  for (const auto& [id, known] : contacts_)
    if (known.handle)
      reachable.emplace(id, known.asked);
  const auto asked = round_.begin(reachable, self_->clock().now());
  auto question = v1::NodeStatusRequest{};
  question.set_request(round_.number());
  for (const auto& id : asked) {
    auto& known = contacts_.at(id);
    known.asked = round_.number();
    tell(self_, known.handle, question);
  }
  if (round_.is_open())
    tell_later(self_, status_round::timeout, status_due{round_.number()});
  settle_round();
}

void rendezvous_coordinator_state::settle_round() {
  if (!round_.is_open())
    for (const auto& fn : std::exchange(waiting_, {}))
      fn();
}

template <class OnShown, class OnError>
void rendezvous_coordinator_state::show(const v1::StatusRequest& x,
                                        OnShown on_shown, OnError on_error) {
  auto ask = [this, on_shown, on_error,
              what = status_wanted{x.snapshot(), x.for_watch()}] {
    tell_desk();
    ask_local(self_, desk_, what)
      .then([on_shown](const status_shown& y) mutable { on_shown(y.what); },
            [on_error](const caf::error&) mutable { on_error(); });
  };
  if (x.snapshot() != 0)
    ask(); // It is there, or not any more.
  else
    when_seen(std::move(ask));
}

// Pages go to agents of other hosts, for their operators.
caf::result<v1::JobStatus>
rendezvous_coordinator_state::answer_status(const v1::StatusRequest& x) {
  auto promise = self_->make_response_promise<v1::JobStatus>();
  show(
    x,
    [promise, page = x.page(),
     number = x.snapshot()](const shared_status& picture) mutable {
      const auto& pages = *picture->pages;
      auto out = v1::JobStatus{};
      out.ParseFromString(picture->number == number && page < pages.size()
                            ? pages[page]
                            : pages.front());
      promise.deliver(std::move(out));
    },
    [promise]() mutable {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    });
  return promise;
}

void rendezvous_coordinator_state::answer_status(const operator_question& x) {
  auto request = v1::StatusRequest{}; // Operators get all pages in their order.
  request.set_for_watch(x.what.status().for_watch());
  show(
    request, [x](shared_status picture) { answer(x, std::move(picture)); },
    [reply = x.reply] { reply(refusal_of_silence()); });
}

v1::OperatorReply
rendezvous_coordinator_state::explanations(const v1::Explain& what) const {
  const auto& known = chronicle_.now();
  auto out = v1::OperatorReply{};
  auto& all = *out.mutable_explanations();
  const auto now = self_->clock().now();
  all.set_is_healthy(journal::is_healthy(known, now));
  all.set_state(journal::state_of(known));
  fill(all, what.all()
              ? journal::why_all(known, now)
              : std::vector<journal::explanation>{journal::why(known, now)});
  return out;
}

rendezvous_coordinator_actor
spawn_rendezvous_coordinator(caf::actor_system& system,
                             rendezvous_coordinator_config config) {
  return system.spawn<
    actor_impl<rendezvous_coordinator_actor, rendezvous_coordinator_state>>(
    std::move(config));
}

} // namespace actorrun
