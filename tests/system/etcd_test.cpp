// Jobs that meet through a real etcd: any node may host the coordinator.
#include "tests/system/etcd_scene.hpp"
#include "tests/system/healthy.hpp"

#include <csignal>

namespace actorrun::test::etcd_test {

namespace {

struct cluster_scene : etcd_users {
  cluster_scene() { registry = cluster.endpoints(); }

  etcd_cluster cluster;
};

} // namespace

TEST_CASE("etcd: two nodes meet, work and end", "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto workers = x.await_world(4);
  CHECK(workers[3].node_rank == 1);
  CHECK(workers[0].master_address == "127.0.0.1");
  x.check_end(a, b);
  // The next job with this id begins anew.
  auto& c = x.agent(x.options("1"));
  CHECK(c.wait() == 0); // Its workers find the order to end.
  CHECK(c.says("etcd elects"));
  CHECK_FALSE(x.took_over(c));
}

TEST_CASE("etcd: two jobs with two ids meet in one etcd", "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto y = x.options();
  auto other = x.options();
  other.job = "other";
  other.slots = 1;
  auto ended = std::vector<program*>{&x.agent(y), &x.agent(other), &x.agent(y),
                                     &x.agent(other)};
  CHECK(eventually([&] { return x.records().size() == 6; }));
  for (const auto& w : x.records())
    CHECK(w.world_size == (w.job == "other" ? 2 : 4));
  x.order_end();
  for (auto* p : ended)
    CHECK(p->wait() == 0);
}

TEST_CASE("etcd: W3 after a resize the next coordinator turns no member away, "
          "and no worker notices",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto& c = x.etcd_coordinator("2:4");
  auto& a = x.agent(x.options("2:4"));
  auto& b = x.agent(x.options("2:4"));
  x.await_world(4);
  auto code = -1;
  x.read({ACTORCTL_PROGRAM, "resize", "2:3"}, &code);
  REQUIRE(code == 0);
  auto& d = x.agent(x.options("2:3"));
  const auto before = x.await_world(6);
  const auto count = x.records().size();
  x.await_status([](const json& y) { return y["phase"] == "running"; });
  c.signal(SIGKILL);
  REQUIRE(c.wait() == -SIGKILL);
  x.await_status([&](const json& y) {
    return y["phase"] == "running" && y["coordinator"]["pid"] != 0
           && y["coordinator"]["pid"] != c.pid() && y["nodes_max"] == 3;
  });
  CHECK(x.took_over(a) + x.took_over(b) + x.took_over(d) == 1);
  CHECK(pids_of(x.workers_of(before[0].generation)) == pids_of(before));
  for (const auto& w : before)
    CHECK(alive(w.pid));
  CHECK(x.records().size() == count);
  x.check_end(a, b, d);
}

TEST_CASE("etcd: the coordinator is killed, an agent takes over, and no worker "
          "notices",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto& c = x.etcd_coordinator();
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto before = x.await_world(4);
  c.signal(SIGKILL);
  CHECK(c.wait() == -SIGKILL);
  REQUIRE(eventually([&] { return x.took_over(a) || x.took_over(b); }));
  const auto now = x.await_status([](const json& s) {
    return s["phase"] == "running" && s["world_size"] == 4;
  });
  CHECK(now["generation"] == before[0].number);
  x.check_untouched(before);
  x.check_end(a, b);
}

TEST_CASE("etcd: the node with the coordinator is killed, and the others go on "
          "without it",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto& a = x.agent(x.options("1:3"));
  REQUIRE(a.says("etcd elects"));
  auto& b = x.agent(x.options("1:3"));
  auto& c = x.agent(x.options("1:3"));
  const auto before = x.await_world(6);
  a.signal(SIGKILL);
  const auto after = x.await_world(4, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(after[0].node_rank == 0);
  CHECK(last_of(x.records_of(before)) < first_of(after));
  x.check_end(b, c);
}

TEST_CASE("etcd: the node with the coordinator sleeps longer than its lease, "
          "and decides nothing when it wakes up",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  x.conf = ",lease_ttl=2,heartbeat_timeout=1";
  auto& a = x.agent(x.options("1:2"));
  REQUIRE(a.says("etcd elects"));
  auto& b = x.agent(x.options("1:2"));
  const auto before = x.await_world(4);
  a.signal(SIGSTOP);
  const auto alone = x.await_world(2, before[0].generation);
  CHECK(last_of(x.records_of(before)) < first_of(alone));
  CHECK(x.took_over(b));
  a.signal(SIGCONT);
  const auto together = x.await_world(4, alone[0].generation);
  CHECK(together[0].restart_count == 0);
  CHECK(last_of(x.records_of(alone)) < first_of(together));
  CHECK(a.says("gives up the leadership"));
  x.check_end(a, b);
}

TEST_CASE("etcd: the node with the coordinator leaves, and another takes over",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto& a = x.agent(x.options("1:2"));
  REQUIRE(a.says("etcd elects"));
  auto& b = x.agent(x.options("1:2"));
  const auto before = x.await_world(4);
  a.signal(SIGTERM);
  CHECK(a.wait() == 128 + SIGTERM);
  x.await_world(2, before[0].generation);
  CHECK(eventually([&] { return x.took_over(b); }));
  x.check_end(b);
}

TEST_CASE("etcd: a node that sleeps while the job ends does not run it again",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  x.conf = ",heartbeat_timeout=1";
  auto& a = x.agent(x.options("1:2"));
  REQUIRE(a.says("etcd elects"));
  auto& b = x.agent(x.options("1:2"));
  const auto before = x.await_world(4);
  b.signal(SIGSTOP);
  x.await_world(2, before[0].generation);
  x.check_end(a);
  const auto count = x.records().size();
  b.signal(SIGCONT);
  CHECK(b.wait() == 5);
  CHECK(b.says("the job has ended while this node was away"));
  CHECK(x.records().size() == count);
}

TEST_CASE("etcd: it is killed and restarted, and no worker notices", "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  x.conf = ",lease_ttl=4";
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto before = x.await_world(4);
  x.server.kill();
  auto& host = x.host_of(a, b);
  CHECK(host.says("etcd is away"));
  x.server.start();
  CHECK(host.says("etcd is back"));
  x.check_untouched(before);
  x.check_end(a, b);
}

TEST_CASE("etcd: it comes back without its data, and no worker notices",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  x.conf = ",lease_ttl=3";
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto before = x.await_world(4);
  x.server.forget();
  REQUIRE(eventually([&] { return x.took_over(a) || x.took_over(b); }));
  const auto now
    = x.await_status([](const json& s) { return s["phase"] == "running"; });
  CHECK(now["generation"] == before[0].number);
  x.check_untouched(before);
  x.check_end(a, b);
}

TEST_CASE("etcd: without it and without the coordinator workers end, and "
          "agents report why",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  x.conf = ",read_timeout=2";
  auto& c = x.etcd_coordinator();
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto before = x.await_world(4);
  x.server.kill();
  c.signal(SIGKILL);
  CHECK(all_dead(before));
  CHECK(a.wait() == 5);
  CHECK(b.wait() == 5);
  CHECK(a.says("the coordinator is lost"));
  CHECK(a.says("etcd elects another one"));
  CHECK(a.says("the coordinator is gone and did not come back"));
  CHECK(a.says(x.server.endpoint()));
}

TEST_CASE(
  "etcd: it comes back after every leadership has ended, and the job goes on "
  "with new workers",
  "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  x.conf = ",lease_ttl=2";
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto before = x.await_world(4);
  x.server.kill();
  CHECK(x.host_of(a, b).says("gives up the leadership"));
  CHECK(all_dead(before));
  x.server.start();
  const auto after = x.await_world(4, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(last_of(x.records_of(before)) < first_of(after));
  x.check_end(a, b);
}

TEST_CASE("etcd: of three members two are enough, whichever is in use",
          "[etcd]") {
  if (!etcd_server::is_here())
    return;
  cluster_scene x;
  x.conf = ",lease_ttl=4";
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  const auto before = x.await_world(4);
  auto& host = x.host_of(a, b);
  x.cluster.member(0).kill();
  CHECK(
    host.says("etcd is now asked at http://" + x.cluster.member(1).endpoint()));
  x.cluster.member(0).start();
  x.cluster.member(1).kill();
  CHECK(
    host.says("etcd is now asked at http://" + x.cluster.member(2).endpoint()));
  const auto now = json::parse(x.remote_status("job"));
  CHECK(now["jobs"][0]["generation"] == before[0].number);
  CHECK(count_of(host.output(), "etcd elects") == 1);
  CHECK(count_of(host.output(), "etcd is away") == 0);
  x.check_untouched(before);
  x.check_end(a, b);
}

TEST_CASE("etcd: an operator queries a job through it", "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  auto& a = x.agent(x.options("1"));
  const auto workers = x.await_world(2);
  x.await_status(is_healthy);
  auto code = 0;
  const auto now = json::parse(x.remote_status("job", &code));
  CHECK(code == 0);
  CHECK(now["jobs"][0]["job"] == "job");
  CHECK(now["jobs"][0]["world_size"] == 2);
  SECTION("an unknown job") {
    const auto text = x.remote_status("other", &code);
    CHECK(code == 3);
    CHECK(count_of(text, "etcd knows no coordinator of job other") == 1);
    CHECK(count_of(text, "etcdctl get --prefix /actorrun") == 1);
  }
  SECTION("an etcd that is away") {
    x.server.kill();
    const auto text = x.remote_status("job", &code);
    CHECK(code == 3);
    CHECK(count_of(text, "etcd at http://" + x.registry) == 1);
  }
  x.check_end(a);
}

TEST_CASE("etcd: nodes wait for it, and then meet", "[etcd]") {
  if (!etcd_server::is_here())
    return;
  etcd_scene x;
  x.server.kill();
  auto& a = x.agent(x.options());
  auto& b = x.agent(x.options());
  CHECK(a.says("no coordinator yet"));
  CHECK(b.says(x.server.endpoint()));
  x.server.start();
  x.await_world(4);
  x.check_end(a, b);
}

TEST_CASE_METHOD(scene, "etcd: without an etcd the agent reports it",
                 "[etcd]") {
  auto x = agent_options{};
  x.conf = ",read_timeout=1";
  x.more = {"--rdzv-backend=etcd"};
  auto& a = agent(x);
  CHECK(a.wait() == 3);
  CHECK(a.says("etcd at http://" + endpoint()));
  CHECK(a.says("etcdctl endpoint health"));
}

TEST_CASE_METHOD(scene, "etcd: missing files of TLS end the agent at once",
                 "[etcd]") {
  auto x = agent_options{};
  x.conf = ",cacert=/nonexistent.pem";
  x.more = {"--rdzv-backend=etcd"};
  auto& a = agent(x);
  CHECK(a.wait() == 4);
  CHECK(a.says("/nonexistent.pem"));
}

} // namespace actorrun::test::etcd_test
