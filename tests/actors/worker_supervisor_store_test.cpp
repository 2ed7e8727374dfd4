// When the store of a generation is served, and when that ends.
#include "tests/actors/worker_supervisor_fixture.hpp"

namespace actorrun::test::worker_supervisor_store_test {

using namespace actorrun::core;

namespace {

using calls = std::vector<std::string>;

struct worker_supervisor_store_fixture : supervisor_setting {
  worker_supervisor_store_fixture() {
    auto with = config();
    with.ports = ports;
    begin(std::move(with));
  }

  static generation_plan first_node(uint64_t generation) {
    auto out = plan(generation);
    out.own.node_rank = 0;
    return out;
  }

  std::shared_ptr<fake_master_ports> ports
    = std::make_shared<fake_master_ports>();
};

} // namespace

TEST_CASE_METHOD(worker_supervisor_store_fixture,
                 "worker_supervisor: serves the store before rank 0 starts",
                 "[actors]") {
  order(fenced_start{first_node(1), {}});
  CHECK(ports->told() == calls{"open 1 at 10.0.0.1:29500"});
  host->start_all(1, 100);
  run();
  CHECK(ports->told().empty());
  order(stop_group{{1}, 0});
  CHECK(ports->told().empty()); // Kept until the workers have ended.
  report(1, {ports::process_exited{{1}, 0, 100, 0, SIGTERM},
             ports::process_exited{{1}, 1, 101, 0, SIGTERM}});
  CHECK(ports->told() == calls{"close"});
}

TEST_CASE_METHOD(worker_supervisor_store_fixture,
                 "worker_supervisor: serves no store without rank 0",
                 "[actors]") {
  start(1);
  CHECK(ports->told() == calls{"close"});
}

TEST_CASE_METHOD(worker_supervisor_store_fixture,
                 "worker_supervisor: the store outlives workers that succeed",
                 "[actors]") {
  order(fenced_start{first_node(1), {}});
  host->start_all(1, 100);
  run();
  ports->told();
  report(1, {ports::process_exited{{1}, 0, 100},
             ports::process_exited{{1}, 1, 101}});
  CHECK(ports->told().empty());
  order(fenced_start{plan(2), {}});
  CHECK(ports->told() == calls{"close"});
}

TEST_CASE_METHOD(worker_supervisor_store_fixture,
                 "worker_supervisor: without a store no worker starts",
                 "[actors]") {
  ports->refusal = "the port is gone";
  order(fenced_start{first_node(1), {}});
  CHECK(host->told().empty());
  CHECK(agent.told().find("the port is gone") != std::string::npos);
}

} // namespace actorrun::test::worker_supervisor_store_test
