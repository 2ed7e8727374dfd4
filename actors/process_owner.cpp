#include "actors/process_owner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace actorrun {

process_owner_state::process_owner_state(process_owner_actor::pointer self,
                                         process_owner_config config)
  : self_(self), config_(std::move(config)) {}

process_owner_actor::behavior_type process_owner_state::make_behavior() {
  supervisor_ = spawn_worker_supervisor(self_->system(), config_.supervisor,
                                        process_owner_actor{self_});
  tell_supervisor(fenced_start{
    config_.plan,
    config_.supervisor.processes->set_fence(core::time_point::max())});
  return {
    [this](const group_event& event) { on(event); },
    [this](const close_group& order) { close(order); },
    [this](const close_expired&) {
      tell_supervisor(core::kill_group{config_.plan.generation});
    },
  };
}

void process_owner_state::on_exit() {
  caf::anon_send_exit(supervisor_, caf::exit_reason::kill);
  supervisor_ = nullptr;
  config_ = {};
}

void process_owner_state::on(const group_event& event) {
  if (const auto* failed = std::get_if<core::group_failed>(&event)) {
    fail(failed->failure);
  } else if (std::holds_alternative<core::group_succeeded>(event)) {
    ending_.was_closed = false; // The order came too late.
    end({});
  } else if (const auto* stopped = std::get_if<core::group_stopped>(&event)) {
    end(stopped->others);
  }
}

void process_owner_state::fail(core::worker_failure failure) {
  const auto& workers = config_.supervisor.workers;
  ending_.failures.push_back(std::move(failure));
  tell_supervisor(core::stop_group{config_.plan.generation, workers.stop_signal,
                                   workers.grace_period});
}

// The list has the first failure again if others were before it.
void process_owner_state::end(core::collateral others) {
  auto& failures = ending_.failures;
  const auto is_first = [&](const auto& x) {
    return !failures.empty() && x.local_rank == failures.front().local_rank;
  };
  if (std::ranges::any_of(others.listed, is_first))
    failures.clear();
  std::ranges::move(others.listed, std::back_inserter(failures));
  ending_.unlisted_failure_count = others.unlisted_count;
  if (const auto on_ended = std::exchange(config_.on_ended, nullptr))
    on_ended(std::move(ending_));
}

// A group that is being stopped already keeps its grace period; our own timer
// may cut it short.
void process_owner_state::close(const close_group& order) {
  if (!config_.on_ended)
    return;
  if (ending_.failures.empty())
    ending_.was_closed = true;
  tell_supervisor(
    core::stop_group{config_.plan.generation, order.signal, order.timeout});
  tell_later(self_, order.timeout, close_expired{});
}

void process_owner_state::tell_supervisor(group_order order) {
  tell(self_, supervisor_, std::move(order));
}

process_owner_actor spawn_process_owner(caf::actor_system& system,
                                        process_owner_config config) {
  return system.spawn<actor_impl<process_owner_actor, process_owner_state>>(
    std::move(config));
}

} // namespace actorrun
