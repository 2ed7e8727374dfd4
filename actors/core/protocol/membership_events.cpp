#include "actors/core/protocol/membership_events.hpp"

namespace actorrun::core {

namespace {

struct membership_effect_writer {
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + to_string(x.timer);
  }
  std::string operator()(const seek_coordinator&) const {
    return "seek_coordinator";
  }
  std::string operator()(const drop_link&) const { return "drop_link"; }
  std::string operator()(const try_second_way&) const {
    return "try_second_way";
  }
  std::string operator()(const forget_second_way&) const {
    return "forget_second_way";
  }
  std::string operator()(const send_join& x) const {
    return "send_join"
           + (x.held ? " " + to_string(x.held->plan.generation) + " "
                         + to_string(x.held->state)
                     : std::string{});
  }
  std::string operator()(const check_control&) const { return "check_control"; }
  std::string operator()(const send_keep_alive&) const {
    return "send_keep_alive";
  }
  std::string operator()(const send_started& x) const {
    return "send_started " + to_string(x.generation);
  }
  std::string operator()(const send_failed& x) const {
    return "send_failed " + to_string(x.generation);
  }
  std::string operator()(const send_succeeded& x) const {
    return "send_succeeded " + to_string(x.generation);
  }
  std::string operator()(const send_stopped& x) const {
    return "send_stopped " + to_string(x.generation)
           + (x.others.empty() ? "" : " +" + std::to_string(x.others.count()))
           + (x.unkillable_count == 0
                ? ""
                : " unkillable=" + std::to_string(x.unkillable_count))
           + (x.parked.local_ranks.empty()
                ? ""
                : " parked=" + std::to_string(x.parked.local_ranks.size()));
  }
  std::string operator()(const send_safe_point& x) const {
    return "send_safe_point " + to_string(x.generation) + " "
           + to_string(x.report);
  }
  std::string operator()(const send_leaving&) const { return "send_leaving"; }
  std::string operator()(const send_left&) const { return "send_left"; }
  std::string operator()(const send_notice& x) const {
    return "send_notice " + x.words;
  }
  std::string operator()(const start_group& x) const {
    return "start_group " + to_string(x.plan.generation);
  }
  std::string operator()(const stop_group& x) const {
    return "stop_group " + to_string(x.generation);
  }
  std::string operator()(const order_safe_point& x) const {
    return "order_safe_point " + to_string(x.generation) + " "
           + to_string(x.order);
  }
  std::string operator()(const notify_workers& x) const {
    return "notify_workers " + to_string(x.generation);
  }
  std::string operator()(const kill_group& x) const {
    return "kill_group " + to_string(x.generation);
  }
  std::string operator()(const set_fence&) const { return "set_fence"; }
  std::string operator()(const finish& x) const {
    if (x.how.result)
      return "finish " + to_string(x.how.result->kind);
    if (x.how.why)
      return "finish " + std::string{to_string(x.how.why->code)};
    return "finish signal " + std::to_string(x.how.signal);
  }
};

} // namespace

std::string to_string(const membership_effect& x) {
  return std::visit(membership_effect_writer{}, x);
}

} // namespace actorrun::core
