#include "actorrun/actors/worker_supervisor.hpp"

namespace actorrun {

using namespace core;

// One overload per effect: the only code here that touches the machine.
struct worker_supervisor_state::effect_runner {
  worker_supervisor_state& st;
  epoch_id epoch = st.group_->plan().epoch;

  void operator()(const arm_timer& x) {
    tell_later(st.self_, x.due - st.self_->clock().now(),
               grace_expired{epoch, {x.timer}});
  }

  void operator()(const start_workers&) {
    st.config_.processes->start(
      epoch, st.processes(),
      [handle = worker_supervisor_actor{st.self_}](process_report report) {
        tell_anonymously(handle, std::move(report));
      });
  }

  void operator()(const signal_workers& x) {
    st.config_.processes->signal(epoch, x.signal);
  }

  void operator()(const release_workers&) {
    st.config_.processes->release(epoch);
  }

  void operator()(const report_started&) {
    auto pids = std::vector<int64_t>{};
    for (const auto& worker : st.group_->workers())
      pids.push_back(worker.pid);
    report(group_started{epoch, std::move(pids)});
  }

  void operator()(const report_failed& x) {
    st.config_.lines.debug("worker supervisor reports " + to_string(x.failure));
    report(group_failed{epoch, x.failure});
  }

  void operator()(const report_succeeded&) { report(group_succeeded{epoch}); }

  void operator()(const report_stopped&) {
    report(group_stopped{epoch, st.config_.ports->next()});
  }

  void report(membership_event event) {
    tell(st.self_, st.agent_, std::move(event));
  }
};

worker_supervisor_state::worker_supervisor_state(
  worker_supervisor_actor::pointer self, worker_supervisor_config config,
  node_agent_actor agent)
  : self_(self), config_(std::move(config)), agent_(std::move(agent)) {}

worker_supervisor_actor::behavior_type
worker_supervisor_state::make_behavior() {
  return {
    [this](const group_order& order) {
      std::visit([this](const auto& x) { obey(x); }, order);
    },
    [this](const process_report& report) {
      for (const auto& event : report)
        take(event);
    },
    [this](const grace_expired& x) {
      if (group_ && group_->plan().epoch == x.epoch)
        dispatch(x.event);
    },
  };
}

// The agent is held by its own owner; two that hold each other never end.
void worker_supervisor_state::on_exit() {
  if (group_)
    config_.processes->signal(group_->plan().epoch, SIGKILL);
  agent_ = nullptr;
  config_ = {}; // The process host keeps us in its listeners.
}

void worker_supervisor_state::obey(const start_group& order) {
  group_.emplace(order.plan, config_.host);
  dispatch(start_ordered{});
}

void worker_supervisor_state::obey(const stop_group& order) {
  if (!group_ || group_->plan().epoch != order.epoch)
    return;
  const auto signal
    = order.signal == 0 ? config_.workers.stop_signal : order.signal;
  dispatch(stop_ordered{signal, config_.workers.grace_period});
}

void worker_supervisor_state::obey(const kill_group& order) {
  if (group_ && group_->plan().epoch == order.epoch)
    dispatch(kill_ordered{});
}

void worker_supervisor_state::obey(const set_fence& order) {
  config_.processes->set_fence(order.due);
}

namespace {

struct event_reader {
  worker_group_event operator()(const ports::process_started& x) const {
    return worker_started{x.local_rank, x.pid};
  }
  worker_group_event operator()(const ports::process_not_started& x) const {
    return worker_not_started{x.local_rank, x.error};
  }
  worker_group_event operator()(const ports::process_exited& x) const {
    return worker_exited{x.local_rank, x.exit_code, x.signal, x.dumped};
  }
};

} // namespace

void worker_supervisor_state::take(const ports::process_event& event) {
  const auto epoch = std::visit([](const auto& x) { return x.epoch; }, event);
  if (group_ && group_->plan().epoch == epoch)
    dispatch(std::visit(event_reader{}, event));
}

void worker_supervisor_state::dispatch(const worker_group_event& event) {
  for (const auto& effect : group_->step(event, self_->clock().now()))
    std::visit(effect_runner{*this}, effect);
}

std::vector<ports::process_spec> worker_supervisor_state::processes() const {
  const auto& plan = group_->plan();
  auto result = std::vector<ports::process_spec>{};
  result.reserve(plan.own.slot_count);
  for (uint32_t i = 0; i < plan.own.slot_count; ++i)
    result.push_back(
      {i, command_of(config_.workers, i),
       worker_environment(config_.environment, config_.job, plan, i)});
  return result;
}

worker_supervisor_actor spawn_worker_supervisor(caf::actor_system& system,
                                                worker_supervisor_config config,
                                                node_agent_actor agent) {
  return system
    .spawn<actor_impl<worker_supervisor_actor, worker_supervisor_state>>(
      std::move(config), std::move(agent));
}

} // namespace actorrun
