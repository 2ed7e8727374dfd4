// Jobs of two hosts with a witness on a third one: a voter without workers. Each
// process has an address of its own on loopback, as if it were on a host of its own.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/namespaces.hpp"
#include "tests/system/scene.hpp"
#include "tests/system/wardens.hpp"

#include <csignal>
#include <optional>
#include <string>

namespace actorrun::test::witness_test {

namespace {

/// No pause of a busy machine is longer than the fence.
constexpr auto long_fence = ",keep_alive_interval=1,keep_alive_max_attempt=8";

struct witness_scene : scene {
  static constexpr auto votes = "2 agents and 1 witness elect another";

  agent_options options(const std::string& address, bool is_host,
                        const std::string& conf) const {
    auto x = agent_options{
      .nodes = "1:2", .job = "pair", .slots = 1, .host = is_host};
    x.conf = ",succession=on" + conf;
    if (conf.find("read_timeout") == std::string::npos)
      x.conf += ",read_timeout=15";
    x.more = {"--local-addr=" + address};
    return x;
  }

  /// The agent at `127.0.0.<number>`; unless the witness does, the first one hosts the
  /// first coordinator.
  program& member(int number, const std::string& conf = {},
                  bool is_begun = false) {
    auto x = options("127.0.0." + std::to_string(number),
                     number == 1 && !is_begun, conf);
    return agent(x);
  }

  /// At `127.0.0.3`.
  program& witness(const std::string& conf = {}, bool is_host = false) {
    return coordinator(options("127.0.0.3", is_host,
                               (is_host ? ",is_host=1" : ",is_host=0") + conf));
  }

  void await_votes(const program& leader, size_t count = 1) {
    require(
      eventually([&] { return count_of(leader.output(), votes) >= count; }),
      "two agents and a witness vote: " + leader.output());
  }

  /// Waits until this leader, with which the others have voted, has no witness any more.
  void await_pair(const program& leader) {
    const auto is_said = [&] {
      const auto text = leader.output();
      const auto last = text.rfind(votes);
      return last != text.npos
             && text.find("if this host is lost no one can", last) != text.npos;
    };
    require(eventually(is_said), "the witness votes no more");
  }

  static bool took_over(const program& x) {
    return count_of(x.output(), "takes over the job") > 0;
  }

  /// Runs actorctl with these words. @returns its output
  std::string control(words more) {
    more.insert(more.begin(), ACTORCTL_PROGRAM);
    return read(std::move(more), &code);
  }

  template <class... Programs>
  void check_end(Programs&... all) {
    order_end();
    for (auto* x : {&all...})
      CHECK(x->wait() == 0);
  }

  int code = -1; ///< The last exit code.
};

} // namespace

TEST_CASE("witness: two hosts meet, work and end with it", "[witness]") {
  witness_scene x;
  auto& w = x.witness(); // It waits for the others.
  CHECK(w.says("looks for the leader of job pair"));
  auto& a = x.member(1);
  auto& b = x.member(2);
  const auto before = x.await_world(2);
  x.await_votes(a);
  CHECK(w.says("the coordinator of the job is at 127.0.0.1:"));
  const auto now = x.await_status([](const json& y) {
    return y["leader"].is_object() && y["leader"]["voters"].size() == 3;
  });
  CHECK(now["agents"].size() == 2); // It is none of them.
  // Operators reach the job through it.
  CHECK(count_of(x.control({"status", std::to_string(w.pid())}), "127.0.0.2")
        == 1);
  CHECK(x.code == 0);
  x.check_end(a, b, w);
  CHECK_FALSE(x.took_over(w));
  CHECK(x.records().size() == before.size());
}

TEST_CASE(
  "witness: the coordinator's host is lost, and the other one goes on by "
  "itself",
  "[witness]") {
  witness_scene x;
  auto& a = x.member(1);
  auto& b = x.member(2);
  auto& w = x.witness();
  const auto before = x.await_world(2);
  x.await_votes(a);
  kill_with_wardens(a); // No machine speaks for it.
  const auto after = x.await_world(1, before[0].generation);
  CHECK(after[0].job == before[0].job);
  CHECK(after[0].restart_count == 0);
  CHECK(after[0].number == before[0].number + 1);
  CHECK(x.took_over(b) + x.took_over(w) == 1);
  // Whoever leads, an operator on the host of the witness finds the job.
  CHECK(eventually([&] {
    return count_of(x.control({"status", std::to_string(w.pid())}), "running")
           > 0;
  }));
  // The host comes back, and the three are whole again.
  auto& again = x.member(1);
  const auto whole = x.await_world(2, after[0].generation);
  CHECK(whole[0].job == before[0].job);
  x.check_end(b, again, w);
}

TEST_CASE("witness: it leads, its host is lost, and no worker notices",
          "[witness]") {
  witness_scene x;
  auto& w = x.witness(long_fence, true);
  auto& a = x.member(1, long_fence, true);
  auto& b = x.member(2, long_fence);
  const auto before = x.await_world(2);
  x.await_votes(w);
  CHECK(before[0].master_address != "127.0.0.3");
  SECTION("without a proof") {
    kill_with_wardens(w);
  }
  SECTION("which its machine proves") {
    w.signal(SIGKILL);
    REQUIRE(w.wait() == -SIGKILL);
  }
  SECTION("by a signal") {
    w.signal(SIGTERM);
    REQUIRE(w.wait() == 128 + SIGTERM);
    CHECK(count_of(w.output(), "the job goes on without it") == 1);
  }
  REQUIRE(eventually([&] { return x.took_over(a) || x.took_over(b); }));
  x.await_status([&](const json& y) {
    return y["phase"] == "running" && y["agents"].size() == 2
           && y["coordinator"]["pid"] != w.pid();
  });
  CHECK(pids_of(x.workers_of(before[0].generation)) == pids_of(before));
  for (const auto& y : before)
    CHECK(alive(y.pid));
  x.check_end(a, b);
}

TEST_CASE("witness: it is lost and comes back, and no worker notices",
          "[witness]") {
  witness_scene x;
  auto& a = x.member(1, long_fence);
  auto& b = x.member(2, long_fence);
  auto& w = x.witness(long_fence);
  const auto before = x.await_world(2);
  x.await_votes(a);
  SECTION("without a proof") {
    kill_with_wardens(w);
  }
  SECTION("which its machine proves") {
    w.signal(SIGKILL);
    REQUIRE(w.wait() == -SIGKILL);
  }
  SECTION("by a signal") {
    w.signal(SIGTERM);
    REQUIRE(w.wait() == 128 + SIGTERM);
  }
  x.await_pair(a);
  auto& again = x.witness(long_fence);
  x.await_votes(a, 2);
  CHECK(pids_of(x.workers_of(before[0].generation)) == pids_of(before));
  for (const auto& y : before)
    CHECK(alive(y.pid));
  x.check_end(a, b, again);
  CHECK_FALSE(x.took_over(b));
}

TEST_CASE("witness: it ends with the outcome of a job that fails",
          "[witness]") {
  witness_scene x;
  const auto leads = GENERATE(false, true);
  INFO(leads);
  auto& w = x.witness({}, leads);
  auto& a = x.member(1, {}, leads);
  auto& b = x.member(2);
  const auto before = x.await_world(2);
  x.await_votes(leads ? w : a);
  x.order_exit(before[0].pid, 7);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 1);
  CHECK(w.wait() == 1);
}

TEST_CASE("witness: it says that it finds no leader", "[witness]") {
  witness_scene x;
  SECTION("because there is no job") {
    auto& w = x.witness(",read_timeout=1s");
    CHECK(w.wait() == 3);
    CHECK(count_of(w.output(), "no leader of the job has answered this witness")
          == 1);
  }
  SECTION("because its agents elect none") {
    auto plain
      = agent_options{.nodes = "1", .job = "pair", .slots = 1, .host = true};
    plain.nodes = "1:2";
    auto& a = x.agent(plain);
    x.await_world(1);
    auto& w = x.witness(",read_timeout=1s");
    CHECK(w.wait() == 3);
    CHECK(count_of(w.output(), "need --rdzv-conf=succession=on") == 1);
    x.check_end(a);
  }
  SECTION("because all hosts are lost") {
    auto& a = x.member(1, ",read_timeout=2s");
    auto& b = x.member(2, ",read_timeout=2s");
    auto& w = x.witness(",read_timeout=2s");
    x.await_world(2);
    x.await_votes(a);
    kill_with_wardens(b);
    kill_with_wardens(a);
    CHECK(w.wait() == 5);
    CHECK(count_of(w.output(), "no leader of the job answers this witness any "
                               "more")
          == 1);
  }
}

namespace {

struct far_witness : witness_scene {
  /// False, with a printed reason, where there can be no namespaces.
  bool ready() {
    if (!namespaces::are_possible())
      return false;
    net.emplace(*this);
    auto failed = 0;
    auto command = net->here();
    for (const auto* y : {"ip", "addr", "add", "10.213.7.3/24", "dev", "cable"})
      command.emplace_back(y);
    read(command, &failed);
    require(failed == 0, "this host has another address");
    return true;
  }

  agent_options at(const std::string& address, words prefix, bool is_host) {
    auto x = options(address, is_host, conf);
    x.endpoint = namespaces::here_address + (":" + std::to_string(port()));
    x.prefix = std::move(prefix);
    x.environment = {{"ACTORRUN_RUN_DIR", folder() + "/run-" + address}};
    return x;
  }

  void start() {
    a = &agent(at(namespaces::here_address, net->here(), true));
    b = &agent(at("10.213.7.3", net->here(), false));
    auto y = at(namespaces::there_address, net->there(), false);
    y.more.clear(); // It finds its own address.
    w = &coordinator(y);
    await_world(2);
    await_votes(*a);
  }

  std::string conf; ///< More of `--rdzv-conf`, begins with a comma.
  std::optional<namespaces> net;
  program* a = nullptr;
  program* b = nullptr;
  program* w = nullptr;
};

} // namespace

TEST_CASE_METHOD(
  far_witness, "witness: it finds its address, and a cut costs the job nothing",
  "[witness]") {
  if (!ready())
    return;
  start();
  const auto before = await_world(2);
  net->cut();
  await_pair(*a);
  CHECK_FALSE(took_over(*w)); // It has no majority.
  net->heal();
  await_votes(*a, 2);
  CHECK(records().size() == before.size());
  CHECK_FALSE(took_over(*w));
  check_end(*a, *b, *w);
}

TEST_CASE_METHOD(far_witness,
                 "witness: cut off while the job ends, it learns how",
                 "[witness]") {
  if (!ready())
    return;
  // A machine says for a lease how the job has ended; the first packet that is sent
  // after the cut may come seconds later.
  conf = ",keep_alive_max_attempt=30";
  start();
  net->cut();
  order_end();
  CHECK(a->wait() == 0);
  CHECK(b->wait() == 0);
  CHECK(w->running());
  net->heal();
  CHECK(w->wait() == 0);
}

} // namespace actorrun::test::witness_test
