// A network that fails between the coordinator's host, etcd and the others. All
// hosts share CLOCK_MONOTONIC, so stamps show who ran when.
#include "tests/support/skip.hpp"
#include "tests/system/etcd_scene.hpp"
#include "tests/system/namespaces.hpp"

#include <memory>

namespace actorrun::test::etcd_network_test {

namespace {

/// etcd and two agents are `here`, and the agent that hosts the coordinator is
/// `there`.
struct two_sites {
  /// False, with a printed reason, where the test cannot be run.
  bool ready() {
    if (!namespaces::are_possible() || !etcd_server::is_here())
      return false;
    net = std::make_unique<namespaces>(tools);
    x = std::make_unique<etcd_scene>(etcd_server_options{
      .address = namespaces::here_address, .prefix = net->here()});
    x->conf = ",lease_ttl=2,heartbeat_timeout=1";
    return true;
  }

  program& agent(const words& prefix) {
    auto options = x->options("1:3");
    options.prefix = prefix;
    return x->agent(options);
  }

  worker_records start_job() {
    a = &agent(net->there());
    REQUIRE(a->says("etcd elects"));
    b = &agent(net->here());
    c = &agent(net->here());
    return x->await_world(6);
  }

  /// The others go on without `a`: all its workers are dead when the first new
  /// one begins (I2), and no restart is used up.
  worker_records check_takeover(const worker_records& before) {
    const auto after = x->await_world(4, before[0].generation);
    CHECK((x->took_over(*b) || x->took_over(*c)));
    CHECK(after[0].restart_count == 0);
    CHECK(last_of(x->records_of(before)) < first_of(after));
    CHECK(all_dead(before, 0ms));
    CHECK(a->says("gives up the leadership"));
    return after;
  }

  /// `a` takes part again, under another coordinator.
  void check_return(const worker_records& after) {
    const auto together = x->await_world(6, after[0].generation);
    CHECK(together[0].restart_count == 0);
    CHECK(last_of(x->records_of(after)) < first_of(together));
    CHECK(count_of(a->output(), "etcd elects this node") == 1);
    x->check_end(*a, *b, *c);
  }

  scene tools; ///< Starts programs that set up the network.
  std::unique_ptr<namespaces> net;
  std::unique_ptr<etcd_scene> x;
  program* a = nullptr;
  program* b = nullptr;
  program* c = nullptr;
};

} // namespace

TEST_CASE_METHOD(two_sites,
                 "network: a coordinator that is cut off from all has a "
                 "successor after its lease, and its workers are dead by then",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job();
  net->cut();
  const auto after = check_takeover(before);
  net->heal();
  check_return(after);
}

TEST_CASE_METHOD(two_sites,
                 "network: a coordinator that is cut off from etcd alone "
                 "gives up the leadership before its lease is over",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job();
  net->cut_service(x->server.port());
  const auto after = check_takeover(before);
  net->heal();
  check_return(after);
}

TEST_CASE_METHOD(two_sites,
                 "network: a coordinator whose connections a firewall resets "
                 "has one successor, and its workers are dead by then",
                 "[netns]") {
  if (!ready())
    return;
  const auto before = start_job();
  net->reset();
  const auto after = check_takeover(before);
  net->heal();
  check_return(after);
}

// They ask for a shorter lease than the job has, and its leader is not there to
// refuse them.
TEST_CASE_METHOD(
  two_sites,
  "network: V2 who asks for another job than runs is not elected "
  "while its leader is cut off",
  "[netns]") {
  if (!ready())
    return;
  const auto own = x->conf;
  x->conf = own + ",keep_alive_max_attempt=20"; // 6 s, and etcd's lease 2 s.
  const auto before = start_job();
  x->conf = own;
  net->cut();
  auto& d = agent(net->here());
  auto& e = agent(net->here());
  CHECK(d.wait() == 4);
  CHECK(e.wait() == 4);
  CHECK(d.says("the job runs with"));
  CHECK_FALSE(x->took_over(d));
  CHECK_FALSE(x->took_over(e));
  const auto after = check_takeover(before);
  net->heal();
  check_return(after);
}

// Without etcd it would look for a coordinator for 60 s, and know no more then.
TEST_CASE_METHOD(
  two_sites,
  "network: W6 through etcd a node that was cut off while the job succeeded "
  "learns that it is over, and does not run it again",
  "[netns]") {
  if (!ready())
    return;
  // No stall of a busy machine is a cut.
  x->conf = ",lease_ttl=5,heartbeat_timeout=2,keep_alive_max_attempt=6";
  b = &agent(net->here());
  REQUIRE(b->says("etcd elects"));
  a = &agent(net->there());
  const auto before = x->await_world(4);
  net->cut();
  x->order_end();
  CHECK(b->wait() == 0);
  CHECK(all_dead(before));
  const auto count = x->records().size();
  net->heal();
  CHECK(a->wait() == 5);
  CHECK(a->says("the job has ended while this node was away"));
  CHECK(x->records().size() == count);
}

} // namespace actorrun::test::etcd_network_test
