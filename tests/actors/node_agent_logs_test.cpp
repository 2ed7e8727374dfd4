// Tests how a node agent reads logs and sees stacks, for the coordinator and for
// operators of its host.
#include "tests/actors/node_agent_fixture.hpp"
#include "tests/support/fake_log_reader.hpp"
#include "tests/support/fake_stuck_probe.hpp"

#include <memory>
#include <string>
#include <vector>

namespace actorrun::test::node_agent_logs_test {

namespace {

struct agent_logs_fixture : node_agent_fixture {
  agent_logs_fixture() {
    end(uut);
    auto config = plain_config();
    config.supervisor.reader = reader;
    config.supervisor.probe = probe;
    uut = keep(spawn_node_agent(system, config));
    run();
    forget();
  }

  void read(uint64_t reading, uint32_t credit = 40'000) {
    auto x = v1::LogReading{};
    x.set_reading(reading);
    x.set_credit(credit);
    say(x);
  }

  void credit(uint64_t reading, uint32_t size) {
    auto x = v1::LogCredit{};
    x.set_reading(reading);
    x.set_size(size);
    say(x);
  }

  std::shared_ptr<std::vector<v1::OperatorReply>>
  ask(const v1::OperatorRequest& what) {
    auto out = std::make_shared<std::vector<v1::OperatorReply>>();
    tell_anonymously(uut, operator_question{.what = what,
                                            .reply =
                                              [out](v1::OperatorReply x) {
                                                out->push_back(std::move(x));
                                              },
                                            .session = 5});
    run();
    return out;
  }

  std::shared_ptr<fake_log_reader> reader = std::make_shared<fake_log_reader>();
  std::shared_ptr<fake_stuck_probe> probe
    = std::make_shared<fake_stuck_probe>();
};

} // namespace

TEST_CASE_METHOD(
  agent_logs_fixture,
  "agent: what was read goes to the coordinator, with its number", "[actors]") {
  run_workers();
  CHECK(reader->told() == "follow 1");
  read(7);
  CHECK(reader->told() == "begin 1, credit 40000");
  reader->read(1, "hello");
  reader->read(1, "", true);
  run();
  CHECK(coordinator.told() == "lines 7: 1 hello;; lines 7: end");
  credit(7, 100); // It has ended.
  CHECK(reader->told() == "");
}

TEST_CASE_METHOD(agent_logs_fixture, "agent: credit is fitted and passed on",
                 "[actors]") {
  run_workers();
  reader->told();
  read(7, 1);
  read(8, 1'000'000'000);
  CHECK(reader->told()
        == "begin 1, credit " + std::to_string(core::log_line_cost_max)
             + "; begin 2, credit 65536");
  credit(8, 5'000);
  credit(7, 0);
  credit(7, 5'000);
  CHECK(reader->told() == "credit 2 5000; end 1");
  reader->read(1, "late");
  run();
  CHECK(coordinator.told() == "");
}

TEST_CASE_METHOD(agent_logs_fixture,
                 "agent: a coordinator that is gone reads no more",
                 "[actors]") {
  run_workers();
  reader->told();
  read(7);
  end(coordinator.handle);
  CHECK(reader->told() == "begin 1, credit 40000; end 1");
}

TEST_CASE_METHOD(agent_logs_fixture, "agent: too many readings are refused",
                 "[actors]") {
  run_workers();
  reader->is_full = true;
  read(7);
  CHECK(coordinator.told()
        == "lines 7:too many operators read logs of this node end");
}

TEST_CASE_METHOD(agent_logs_fixture,
                 "agent: an operator of its host reads the logs of its workers",
                 "[actors]") {
  run_workers();
  reader->told();
  auto request = v1::OperatorRequest{};
  request.set_number(3);
  request.mutable_logs()->set_window(30'000);
  const auto got = ask(request);
  REQUIRE(got->size() == 1);
  CHECK(got->front().logs().trouble().find("knows the workers of node-a only")
        != std::string::npos);
  CHECK(reader->told() == "begin 1, credit 30000");
  reader->read(1, "hello");
  run();
  REQUIRE(got->size() == 2);
  CHECK(got->back().logs().lines(0).text() == "hello");
  CHECK(got->back().logs().lines(0).host() == "node-a");
  auto gone = v1::OperatorRequest{};
  gone.mutable_log_credit()->set_number(3);
  ask(gone);
  CHECK(reader->told() == "end 1");
}

TEST_CASE_METHOD(agent_logs_fixture,
                 "agent: the end of the job waits for the last lines, not long",
                 "[actors]") {
  const auto drains = GENERATE(true, false);
  run_workers();
  read(7);
  forget();
  reader->told();
  end_job();
  CHECK(reader->told() == "drain");
  CHECK(host->told() == "");
  if (drains) {
    reader->read(1, "last words", true);
    reader->on_drained();
    run();
    CHECK(coordinator.told() == "lines 7: 1 last words; end");
  } else {
    advance(399ms);
    CHECK(host->told() == "");
    advance(1ms);
  }
  CHECK_FALSE(host->told().empty()); // The workers are stopped.
}

TEST_CASE_METHOD(agent_logs_fixture, "agent: without a reading nothing waits",
                 "[actors]") {
  run_workers();
  reader->told();
  end_job();
  CHECK(reader->told() == "");
  CHECK_FALSE(host->told().empty());
}

TEST_CASE_METHOD(agent_logs_fixture, "agent: it sees where its workers are",
                 "[actors]") {
  run_workers();
  auto request = v1::StacksRequest{};
  request.set_request(4);
  request.add_ranks(3);
  request.add_ranks(99);
  say(request);
  CHECK(probe->told() == "see 1/3/101");
  probe->answer(0, std::vector<core::worker_stack>{{.global_rank = 3}});
  run();
  CHECK(coordinator.told() == "stacks 4 of 1");
  request.set_request(5);
  request.clear_ranks();
  request.add_ranks(0); // Another node's.
  say(request);
  CHECK(probe->told() == "");
  CHECK(coordinator.told() == "stacks 5 of 0");
}

TEST_CASE_METHOD(agent_logs_fixture,
                 "agent: of workers that it cannot see it says so",
                 "[actors]") {
  run_workers();
  auto question = v1::OperatorRequest{};
  question.mutable_stacks();
  const auto late = ask(question);
  advance(3'999ms);
  CHECK(late->empty());
  advance(1ms);
  REQUIRE(late->size() == 1);
  REQUIRE(late->front().stacks().workers_size() == 2);
  const auto& worker = late->front().stacks().workers(1);
  CHECK(worker.pid() == 101);
  CHECK(worker.trouble() == "the kernel does not let its node read it");
  probe->answer(0, std::vector<core::worker_stack>{{.global_rank = 3}});
  run();
  CHECK(late->size() == 1);
  // Neither does it look any number of times at once.
  for (auto i = 0; i < 8; ++i)
    CHECK(ask(question)->empty());
  const auto surplus = ask(question);
  REQUIRE(surplus->size() == 1);
  CHECK(surplus->front().stacks().workers(0).trouble()
        == "its node answers other such questions; ask again");
  advance(4s);
  CHECK(ask(question)->empty());
}

} // namespace actorrun::test::node_agent_logs_test
