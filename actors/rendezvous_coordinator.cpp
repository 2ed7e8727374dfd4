#include "actors/rendezvous_coordinator.hpp"

#include "actors/core/text.hpp"
#include "actors/operator_questions.hpp"
#include "actors/status_vitals.hpp"
#include "actors/translate.hpp"
#include "messages/formatted.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

// At most so many bytes for tag and length of an entry and the truncation flags.
constexpr auto entry_overhead = size_t{8};

/// At most so many operators wait for a round; others get the last answers.
constexpr auto waiting_max = size_t{256};

/// At most so many bytes about the trouble of a node.
constexpr auto trouble_size_max = size_t{512};

journal::moment moment_of(time_point now) {
  using namespace std::chrono;
  const auto wall = floor<milliseconds>(system_clock::now());
  return {now, wall.time_since_epoch().count()};
}

/// What is wrong with a node's devices, in one line; empty: nothing.
std::string trouble_of(const devices_status& x) {
  auto out = x.trouble;
  for (const auto& gpu : x.gpus)
    if (!gpu.trouble.empty())
      out += formatted("{}GPU {}: {}", out.empty() ? "" : "; ", gpu.index,
                       gpu.trouble);
  return out;
}

v1::AgentStatus to_status(const agent_record& x, epoch_id epoch) {
  auto out = v1::AgentStatus{};
  out.set_agent_id(x.offering.agent.value);
  out.set_host(x.offering.host);
  out.set_address(x.offering.address);
  out.set_role(x.offering.role);
  out.set_slot_count(x.offering.slot_count);
  out.set_connected(x.connected);
  out.set_leaving(x.leaving);
  if (epoch.value != 0 && x.member_of == epoch) {
    out.set_epoch(epoch.value);
    out.set_node_rank(x.place.node_rank);
    out.set_first_global_rank(x.place.first_global_rank);
    out.set_share(to_wire(x.share));
  }
  return out;
}

// All of them would fill the message.
outcome without_others(outcome x) {
  x.unlisted_failure_count += uint32_t(x.other_failures.size());
  x.other_failures.clear();
  return x;
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
    if (record.offering.leased) {
      const auto& limits = st.config_.limits;
      reply.set_keep_alive_interval_ns(
        duration{limits.keep_alive_interval}.count());
      reply.set_fence_ns(duration{limits.fence()}.count());
      st.config_.lines.info(
        formatted("coordinator accepts agent {}: {} {} at {}", x.agent.value,
                  record.offering.slot_count,
                  record.offering.slot_count == 1 ? "worker" : "workers",
                  record.offering.address));
    }
    send(x.agent, std::move(reply));
  }

  void operator()(const reject_agent& x) {
    auto reply = v1::JoinRejected{};
    reply.set_code(static_cast<uint32_t>(x.code));
    reply.set_text(x.text);
    st.config_.lines.warn(
      formatted("coordinator rejects agent {}: {}", x.agent.value, x.text));
    send(x.agent, std::move(reply));
  }

  void operator()(const grant_lease& x) {
    auto grant = v1::LeaseGranted{};
    grant.set_sent_ns(st.heard_ns_);
    send(x.agent, std::move(grant));
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
                     "its machine proves that it and its workers have ended"});
      });
  }

  void operator()(const forget_agent& x) {
    st.forget(x.agent);
    st.config_.links->sever(x.agent);
  }

  void operator()(const announce_epoch& x) {
    for (const auto& plan : x.plans) {
      auto notice = v1::EpochFormed{};
      *notice.mutable_plan() = to_wire(plan);
      notice.set_reason(x.reason);
      st.contacts_[plan.own.agent].pids.clear();
      send(plan.own.agent, std::move(notice));
    }
    const auto& plan = x.plans.front();
    const auto& budget = st.rendezvous_.budget();
    const auto line
      = formatted("coordinator forms epoch {}: {} {}, world size {}, restarts "
                  "spent {} of {}{}",
                  to_string(plan.epoch), plan.node_count,
                  plan.node_count == 1 ? "node" : "nodes", plan.world_size,
                  budget.restart_count(), budget.restart_count_max(),
                  x.reason.empty() ? "" : formatted(" ({})", x.reason));
    if (st.config_.networked || plan.epoch.value > 1)
      st.config_.lines.info(line);
    else
      st.config_.lines.debug(line);
  }

  void operator()(const revoke_epoch& x) {
    auto notice = v1::EpochRevoked{};
    notice.set_epoch(x.epoch.value);
    notice.set_reason(x.reason);
    notice.set_over(x.is_over);
    if (x.failure)
      *notice.mutable_failure() = to_wire(brief(*x.failure));
    for (const auto& agent : x.agents)
      send(agent, notice);
    st.config_.lines.warn(formatted("coordinator revokes epoch {}: {}",
                                    to_string(x.epoch), x.reason));
  }

  void operator()(const explain_failures& x) {
    st.config_.lines.warn(formatted(
      "coordinator finds the root cause in epoch {}: {}{}{}",
      to_string(x.epoch), to_string(x.first),
      x.others.empty() ? ""
                       : formatted("; failed after it: {}", x.others.count()),
      x.exemption.empty() ? "" : "; costs no restart: " + x.exemption));
    for (const auto& other : x.others.listed)
      st.config_.lines.info(formatted("coordinator notes that in epoch {} {}",
                                      to_string(x.epoch), to_string(other)));
  }

  void operator()(const end_job& x) {
    auto notice = v1::JobEnded{};
    *notice.mutable_outcome() = to_wire(x.result);
    for (const auto& agent : x.agents)
      send(agent, notice);
    st.config_.lines.debug(formatted("coordinator ends the job: {}, {}",
                                     to_string(x.result.kind),
                                     x.result.reason));
  }

  void operator()(const close_job&) {
    st.round_.expired(st.round_.number(), st.self_->clock().now());
    st.settle_round(); // Agents answer no more.
    st.config_.on_closed(*st.rendezvous_.result());
    st.self_->quit();
  }

  template <class T>
  void send(const agent_id& agent, T x) {
    if (auto i = st.contacts_.find(agent);
        i != st.contacts_.end() && i->second.handle)
      tell(st.self_, i->second.handle, std::move(x));
  }
};

rendezvous_coordinator_state::rendezvous_coordinator_state(
  rendezvous_coordinator_actor::pointer self,
  rendezvous_coordinator_config config)
  : self_(self), config_(std::move(config)),
    rendezvous_(config_.settings, config_.limits), watches_(self) {}

rendezvous_coordinator_actor::behavior_type
rendezvous_coordinator_state::make_behavior() {
  keep(chronicle_.begin({.job = config_.job,
                         .host = config_.host,
                         .pid = config_.pid,
                         .is_successor = config_.beginning.successor,
                         .settings = config_.settings},
                        moment_of(self_->clock().now())));
  dispatch(config_.beginning);
  return {
    [this](const v1::JoinRequest& x) { join(x); },
    [this](const v1::KeepAlive& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        heard_ns_ = x.sent_ns();
        dispatch(agent_heard{agent, time_point{duration{heard_ns_}}});
      });
    },
    [this](const v1::WorkersStarted& x) {
      if_own(x, [&](const agent_id& agent, contact& known) {
        known.pids.assign(x.pids().begin(), x.pids().end());
        dispatch(workers_started{agent, {x.epoch()}, known.pids});
      });
    },
    [this](const v1::WorkerFailed& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(worker_failed{agent, {x.epoch()}, from_wire(x.failure())});
      });
    },
    [this](const v1::WorkersSucceeded& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(workers_succeeded{agent, {x.epoch()}});
      });
    },
    [this](const v1::WorkersStopped& x) {
      if_own(x, [&](const agent_id& agent, contact&) {
        dispatch(workers_stopped{agent,
                                 {x.epoch()},
                                 uint16_t(x.master_port()),
                                 from_wire(x.others()),
                                 x.unkillable_count()});
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
    [this](const v1::StatusRequest&) { return answer_status(); },
    [this](const operator_question& x) {
      answer<rendezvous_coordinator_actor>(self_, x);
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
    [this](const agent_lost& x) { dispatch(x); },
    [this](const stop_requested& x) { dispatch(x); },
    [this](const timer_fired& x) { dispatch(x); },
  };
}

void rendezvous_coordinator_state::on_exit() {
  waiting_.clear();
  contacts_.clear();
  config_ = {}; // Its parts keep handles to us.
}

// No longer the leader: a decision could contradict the successor's.
void rendezvous_coordinator_state::dispatch(const rendezvous_event& event) {
  if (config_.may_decide && !config_.may_decide())
    return;
  const auto now = self_->clock().now();
  const auto effects = rendezvous_.step(event, now);
  if (config_.on_number && rendezvous_.highest_number() > highest_number_) {
    highest_number_ = rendezvous_.highest_number();
    config_.on_number(highest_number_);
  }
  for (const auto& effect : effects)
    std::visit(effect_runner{*this}, effect);
  keep(chronicle_.note(event, effects, rendezvous_, moment_of(now)));
}

void rendezvous_coordinator_state::keep(journal::chronicle::records x) {
  if (config_.on_records && !x.empty())
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
  speakers_.forget(agent);
  round_.lost(agent, self_->clock().now());
  settle_round();
}

void rendezvous_coordinator_state::join(const v1::JoinRequest& x) {
  const auto agent = agent_id{x.offer().agent_id()};
  const auto sender = self_->current_sender();
  if (!sender || agent.value.empty())
    return;
  const auto link
    = speakers_.join(agent, caf::actor_cast<caf::actor_addr>(sender));
  if (!link) {
    ++dropped_message_count;
    return;
  }
  auto offering = from_wire(x.offer());
  offering.leased
    = config_.lease_all || sender->node() != self_->system().node();
  auto& known = contacts_[agent];
  known.handle = caf::actor_cast<node_agent_actor>(sender);
  known.liveness_port = uint16_t(x.offer().liveness_port());
  auto held = std::optional<claim>{};
  if (x.has_claim()) {
    held = from_wire(x.claim());
    known.pids.assign(x.claim().pids().begin(), x.claim().pids().end());
  }
  watches_.watch(self_, known.handle,
                 [this, agent, link = *link] { link_down(agent, link); });
  dispatch(agent_joined{offering, from_wire(x.settings()), held,
                        config_.possible ? config_.possible() : epoch_max,
                        held ? known.pids : std::vector<int64_t>{}});
  if (!rendezvous_.agents().contains(agent))
    forget(agent); // It was rejected.
}

void rendezvous_coordinator_state::link_down(const agent_id& agent,
                                             uint64_t link) {
  if (!speakers_.hang_up(agent, link))
    return; // It is back already.
  contacts_.at(agent).handle = nullptr;
  config_.links->released(agent);
  dispatch(agent_disconnected{agent});
  round_.lost(agent, self_->clock().now());
  settle_round();
}

// -- status -------------------------------------------------------------------

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
  const auto now = self_->clock().now();
  if (from.devices || x.gpus_size() > 0 || !x.gpu_trouble().empty())
    note_devices(agent, from, x);
  from.vitals = from_wire(x.vitals());
  from.seen = now;
  from.answered = number;
  round_.answered(agent, number, now);
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
  keep(chronicle_.note_gpus(agent, trouble, moment_of(self_->clock().now())));
  const auto& agents = rendezvous_.agents();
  const auto record = agents.find(agent);
  if (!trouble.empty() && trouble != known && record != agents.end()
      && record->second.offering.leased)
    config_.lines.warn(formatted("coordinator flags node {}: {}",
                                 record->second.offering.host,
                                 one_line(trouble, trouble_size_max)));
}

// Calls `fn` when it is known how the nodes are doing, or not to be known soon.
void rendezvous_coordinator_state::when_seen(std::function<void()> fn) {
  if (waiting_.size() == waiting_max || round_.is_fresh(self_->clock().now()))
    return fn();
  waiting_.push_back(std::move(fn));
  if (!round_.is_open())
    ask_nodes();
}

void rendezvous_coordinator_state::ask_nodes() {
  auto reachable = std::set<agent_id>{};
  for (const auto& [id, known] : contacts_)
    if (known.handle)
      reachable.insert(id);
  const auto asked = round_.begin(std::move(reachable), self_->clock().now());
  auto question = v1::NodeStatusRequest{};
  question.set_request(round_.number());
  for (const auto& id : asked)
    tell(self_, contacts_.at(id).handle, question);
  if (round_.is_open())
    tell_later(self_, status_round::timeout, status_due{round_.number()});
  settle_round();
}

void rendezvous_coordinator_state::settle_round() {
  if (!round_.is_open())
    for (const auto& fn : std::exchange(waiting_, {}))
      fn();
}

caf::result<v1::JobStatus> rendezvous_coordinator_state::answer_status() {
  auto promise = self_->make_response_promise<v1::JobStatus>();
  when_seen([this, promise]() mutable { promise.deliver(status()); });
  return promise;
}

// Agents come first: their devices get what room they have left.
void rendezvous_coordinator_state::add_devices(v1::JobStatus& out,
                                               size_t size) const {
  for (auto& agent : *out.mutable_agents()) {
    const auto i = contacts_.find({agent.agent_id()});
    if (i == contacts_.end() || !i->second.devices)
      continue;
    auto devices = to_wire(*i->second.devices);
    size += devices.ByteSizeLong() + entry_overhead;
    if (size > v1::message_size_max) {
      out.set_gpus_truncated(true);
      return;
    }
    agent.mutable_gpus()->Swap(devices.mutable_gpus());
    agent.set_gpu_trouble(devices.gpu_trouble());
  }
}

v1::JobStatus rendezvous_coordinator_state::status() const {
  auto out = v1::JobStatus{};
  out.set_job_id(config_.job.value);
  out.set_phase(to_string(rendezvous_.current_phase()));
  out.set_epoch(rendezvous_.epoch().value);
  *out.mutable_settings() = to_wire(rendezvous_.settings());
  out.set_restart_count(rendezvous_.budget().restart_count());
  out.set_waiting_for(rendezvous_.waiting_for());
  out.set_coordinator_pid(config_.pid);
  out.set_coordinator_host(config_.host);
  const auto& common = rendezvous_.common_plan();
  out.set_world_size(common.world_size);
  out.set_master_address(common.master_address);
  out.set_master_port(common.master_port);
  if (const auto& failure = rendezvous_.last_failure())
    *out.mutable_last_failure() = to_wire(*failure);
  if (const auto& result = rendezvous_.result())
    *out.mutable_outcome() = to_wire(without_others(*result));
  for (const auto& x : rendezvous_.quarantined_nodes())
    *out.add_quarantined_nodes() = to_wire(x);
  auto size = out.ByteSizeLong();
  for (const auto& [id, record] : rendezvous_.agents()) {
    auto agent = to_status(record, rendezvous_.epoch());
    const auto i = contacts_.find(id);
    if (i != contacts_.end() && record.holds.value != 0)
      agent.mutable_pids()->Assign(i->second.pids.begin(),
                                   i->second.pids.end());
    size += agent.ByteSizeLong() + entry_overhead;
    if (size > v1::message_size_max) {
      out.set_truncated(true);
      break;
    }
    *out.add_agents() = std::move(agent);
  }
  add_devices(out, size);
  add_vitals(out, [this, now = self_->clock().now()](const agent_id& id) {
    const auto i = contacts_.find(id);
    return i == contacts_.end() || i->second.seen == time_point{}
             ? vitals_of_node{}
             : vitals_of_node{&i->second.vitals, now - i->second.seen};
  });
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
