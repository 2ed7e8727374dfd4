// Tests the actor that checks a node, and what its agent tells the coordinator.
#include "actors/node_checker.hpp"
#include "tests/actors/node_agent_fixture.hpp"

namespace actorrun::test::node_checker_test {

namespace {

/// Ends a command when a test says so.
class scripted_runner final : public ports::check_runner {
public:
  void run(const core::run_check& what,
           std::function<void(core::check_ended)> on_end) override {
    commands.push_back(what.command);
    last_ = what.run;
    on_end_ = std::move(on_end);
  }

  void end(std::string trouble = {}, std::string words = {}) {
    on_end_({last_, std::move(trouble), std::move(words)});
  }

  std::vector<std::string> commands;

private:
  uint64_t last_ = 0;
  std::function<void(core::check_ended)> on_end_;
};

struct checker_fixture : node_agent_fixture {
  checker_fixture() {
    end(uut);
    auto config = plain_config();
    config.supervisor.host = "node-a";
    config.lines = lines.writer(log_level::info);
    config.checks = {{.commands = {"gpu"}}, runner, config.lines};
    uut = keep(spawn_node_agent(system, config));
    run();
  }

  std::shared_ptr<scripted_runner> runner = std::make_shared<scripted_runner>();
};

} // namespace

TEST_CASE_METHOD(
  checker_fixture,
  "node agent: a node joins while it is checked, and says when it "
  "is fit",
  "[actors]") {
  CHECK(runner->commands == std::vector<std::string>{"gpu"});
  link_up(coordinator);
  CHECK(coordinator.last_join().offer().unfit() == "it is being checked");
  accept();
  coordinator.told();
  runner->end();
  run();
  CHECK(coordinator.told() == "fit");
}

TEST_CASE_METHOD(checker_fixture,
                 "node agent: a check that has failed is repeated, and told to "
                 "each coordinator",
                 "[actors]") {
  runner->end("exit code 9", "no devices");
  run();
  link_up(coordinator);
  const auto why = std::string{"its check `gpu` has failed (exit code 9): no "
                               "devices"};
  CHECK(coordinator.last_join().offer().unfit() == why);
  accept();
  coordinator.told();
  advance(core::recheck_min);
  CHECK(runner->commands.size() == 2);
  CHECK(coordinator.told().empty());
  runner->end();
  run();
  CHECK(coordinator.told() == "fit");
}

TEST_CASE_METHOD(checker_fixture,
                 "node agent: the coordinator has the node checked",
                 "[actors]") {
  runner->end();
  link_up(coordinator);
  accept();
  run();
  coordinator.told();
  say(v1::CheckOrder{});
  CHECK(coordinator.told() == "unfit: it is being checked");
  CHECK(runner->commands.size() == 2);
  runner->end();
  run();
  CHECK(coordinator.told() == "fit");
}

} // namespace actorrun::test::node_checker_test
