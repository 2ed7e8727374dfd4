#include "actors/node_checker.hpp"

#include <utility>

namespace actorrun {

using namespace core;

namespace {

class node_checker_state {
public:
  static constexpr const char* name = "node-checker";

  node_checker_state(node_checker_actor::pointer self,
                     node_checker_config config, node_agent_actor agent)
    : self_(self), config_(std::move(config)), agent_(std::move(agent)),
      checks_(config_.options) {}

  node_checker_actor::behavior_type make_behavior() {
    dispatch(checks_begun{});
    return {
      [this](const v1::CheckOrder& x) {
        dispatch(check_ordered{.beside = x.beside()});
      },
      [this](const check_ended& x) { dispatch(x); },
      [this](const timer_fired& x) { dispatch(x); },
    };
  }

  void on_exit() {
    agent_ = nullptr;
    config_ = {};
  }

private:
  // One overload per effect.
  struct effect_runner {
    node_checker_state& st;

    void operator()(const arm_timer& x) {
      tell_later(st.self_, x.due - st.self_->clock().now(),
                 timer_fired{x.timer});
    }
    void operator()(const run_check& x) {
      st.config_.lines.debug("this node is checked: " + x.command);
      st.config_.runner->run(
        x, [handle = node_checker_actor{st.self_}](check_ended y) {
          tell_anonymously(handle, std::move(y));
        });
    }
    void operator()(const report_fitness& x) { tell(st.self_, st.agent_, x); }
    void operator()(const report_check& x) {
      if (x.is_good)
        st.config_.lines.info(x.text);
      else
        st.config_.lines.warn(x.text);
    }
  };

  void dispatch(const check_event& event) {
    for (const auto& effect : checks_.step(event, self_->clock().now()))
      std::visit(effect_runner{*this}, effect);
  }

  node_checker_actor::pointer self_;
  node_checker_config config_;
  node_agent_actor agent_;
  node_checks checks_;
};

} // namespace

node_checker_actor spawn_node_checker(caf::actor_system& system,
                                      node_checker_config config,
                                      const node_agent_actor& agent) {
  return system.spawn<actor_impl<node_checker_actor, node_checker_state>>(
    std::move(config), agent);
}

} // namespace actorrun
