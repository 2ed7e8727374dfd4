// Jobs whose agents elect the coordinator themselves. Each agent has an address of
// its own on loopback, as if it were on a host of its own.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"
#include "tests/system/wardens.hpp"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace actorrun::test::voters_test {

namespace {

struct voters_scene : scene {
  /// The agent at `127.0.0.<number>`; 1 hosts the first coordinator.
  program& voter(int number, const std::string& nodes = "1:3",
                 const std::string& conf = {}) {
    auto x = agent_options{
      .nodes = nodes, .job = "voters", .slots = 1, .host = number == 1};
    x.conf = ",succession=on" + conf;
    if (conf.find("read_timeout") == std::string::npos)
      x.conf += ",read_timeout=15";
    x.more = {"--local-addr=127.0.0." + std::to_string(number)};
    if (!secret_.empty())
      x.more.push_back("--secret-file=" + secret_);
    return agent(x);
  }

  /// Whoever has it may steer the job from any host. @returns its path
  const std::string& with_secret() {
    secret_ = write("secret", "not known to others, long enough\n");
    std::filesystem::permissions(secret_, std::filesystem::perms{0600});
    return secret_;
  }

  /// Waits until the agents of this coordinator vote.
  void await_voters(const program& leader, int count = 3) {
    const auto line = std::to_string(count) + " agents elect another";
    REQUIRE(eventually([&] { return count_of(leader.output(), line) > 0; }));
  }

  static bool took_over(const program& x) {
    return count_of(x.output(), "takes over the job") > 0;
  }

  /// Runs actorctl with these words. @returns its output
  std::string control(words more) {
    more.insert(more.begin(), ACTORCTL_PROGRAM);
    return read(std::move(more), &code);
  }

  /// The id of an agent, by the pid of its process.
  static std::string agent_of(const json& status, const program& x) {
    const auto pid = "-" + std::to_string(x.pid()) + "-";
    for (const auto& agent : status["agents"])
      if (agent["agent"].get<std::string>().find(pid) != std::string::npos)
        return agent["agent"];
    return "none";
  }

  int code = -1;       ///< The last exit code.
  std::string secret_; ///< Of the job; empty: it has none.

  template <class... Programs>
  void check_end(Programs&... agents) {
    order_end();
    for (auto* x : {&agents...})
      CHECK(x->wait() == 0);
  }
};

} // namespace

TEST_CASE("voters: three nodes meet, work and end", "[voters]") {
  voters_scene x;
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  x.await_world(3);
  x.check_end(a, b, c);
  for (auto* y : {&a, &b, &c})
    CHECK_FALSE(x.took_over(*y));
}

TEST_CASE("voters: the coordinator's node is killed, and the others go on with "
          "another",
          "[voters]") {
  voters_scene x;
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  const auto before = x.await_world(3);
  x.await_voters(a);
  a.signal(SIGKILL);
  REQUIRE(a.wait() == -SIGKILL);
  const auto after = x.await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(after[0].number == before[0].number + 1);
  CHECK(x.took_over(b) + x.took_over(c) == 1);
  x.check_end(b, c);
}

TEST_CASE(
  "voters: of two nodes the other one leads when the coordinator's process "
  "is killed",
  "[voters]") {
  voters_scene x;
  auto& a = x.voter(1, "1:2");
  auto& b = x.voter(2, "1:2");
  const auto before = x.await_world(2);
  REQUIRE(eventually([&] { return count_of(a.output(), "leads next") > 0; }));
  a.signal(SIGKILL);
  REQUIRE(a.wait() == -SIGKILL);
  const auto after = x.await_world(1, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(after[0].number == before[0].number + 1);
  CHECK(x.took_over(b));
  x.check_end(b);
}

TEST_CASE("voters: a coordinator that stands still is replaced, and no worker "
          "notices",
          "[voters]") {
  voters_scene x;
  // The fence outlasts any pause of this test.
  const auto conf = ",keep_alive_interval=1,keep_alive_max_attempt=8";
  auto& a = x.voter(1, "3", conf);
  auto& b = x.voter(2, "3", conf);
  auto& c = x.voter(3, "3", conf);
  const auto before = x.await_world(3);
  x.await_voters(a);
  a.signal(SIGSTOP);
  REQUIRE(eventually([&] { return x.took_over(b) || x.took_over(c); }));
  a.signal(SIGCONT);
  REQUIRE(eventually(
    [&] { return count_of(a.output(), "gives up the leadership") == 1; }));
  x.await_status([&](const json& y) {
    return y["phase"] == "running" && y["coordinator"]["pid"] != a.pid()
           && y["agents"].size() == 3;
  });
  CHECK(pids_of(x.workers_of(before[0].generation)) == pids_of(before));
  for (const auto& w : before)
    CHECK(alive(w.pid));
  CHECK(x.records().size() == before.size());
  x.check_end(a, b, c);
}

TEST_CASE("voters: a signal to the coordinator's node hands over", "[voters]") {
  voters_scene x;
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  const auto before = x.await_world(3);
  x.await_voters(a);
  a.signal(SIGTERM);
  const auto after = x.await_world(2, before[0].generation);
  CHECK(a.wait() == 128 + SIGTERM);
  CHECK(after[0].restart_count == 0);
  CHECK(eventually([&] { return x.took_over(b) != x.took_over(c); }));
  x.check_end(b, c);
}

TEST_CASE("voters: who is started again where the job began joins the others",
          "[voters]") {
  voters_scene x;
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  const auto before = x.await_world(3);
  x.await_voters(a);
  a.signal(SIGKILL);
  REQUIRE(a.wait() == -SIGKILL);
  const auto between = x.await_world(2, before[0].generation);
  auto& d = x.voter(1);
  const auto after = x.await_world(3, between[0].generation);
  CHECK(after[0].job == before[0].job);
  // The coordinator comes back to where nodes look for it; no worker notices.
  REQUIRE(eventually([&] { return x.took_over(d); }));
  x.await_status([](const json& y) {
    return y["phase"] == "running" && y["agents"].size() == 3;
  });
  CHECK(pids_of(x.workers_of(after[0].generation)) == pids_of(after));
  for (const auto& w : after)
    CHECK(alive(w.pid));
  c.signal(SIGKILL);
  REQUIRE(c.wait() == -SIGKILL);
  const auto fewer = x.await_world(2, after[0].generation);
  auto& e = x.voter(3);
  x.await_world(3, fewer[0].generation);
  x.check_end(b, d, e);
}

TEST_CASE(
  "voters: in a job of many nodes, too, the coordinator comes back to where "
  "nodes look for it",
  "[voters]") {
  voters_scene x;
  auto others = std::vector<program*>{};
  auto& a = x.voter(1, "1:7");
  for (auto number = 2; number <= 7; ++number)
    others.push_back(&x.voter(number, "1:7"));
  const auto before = x.await_world(7);
  x.await_voters(a, 5);
  a.signal(SIGKILL);
  REQUIRE(a.wait() == -SIGKILL);
  const auto between = x.await_world(6, before[0].generation);
  // Five others vote already.
  auto& b = x.voter(1, "1:7");
  const auto after = x.await_world(7, between[0].generation);
  REQUIRE(eventually([&] { return x.took_over(b); }));
  for (const auto& w : after)
    CHECK(alive(w.pid));
  x.order_end();
  CHECK(b.wait() == 0);
  for (auto* y : others)
    CHECK(y->wait() == 0);
}

TEST_CASE(
  "voters: a lost coordinator is told, and so is who leads next, and why",
  "[voters]") {
  voters_scene x;
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  const auto before = x.await_world(3);
  x.await_voters(a);
  const auto first = x.await_status([](const json& y) {
    return y["leader"].is_object() && y["leader"]["voters"].size() == 3;
  });
  CHECK(first["leader"]["by"] == "voters");
  CHECK(first["leader"]["term"] == 1);
  CHECK(first["leader"]["reason"] == "the job has begun with it");
  const auto old = x.agent_of(first, a);
  CHECK(first["leader"]["agent"] == old);
  kill_with_wardens(a); // No machine speaks for it.
  x.await_world(2, before[0].generation);
  const auto now = x.await_status([&](const json& y) {
    return y["leader"].is_object() && y["leader"]["agent"] != old;
  });
  auto& leader = x.took_over(b) ? b : c;
  auto& other = x.took_over(b) ? c : b;
  CHECK(now["leader"]["agent"] == x.agent_of(now, leader));
  CHECK(now["leader"]["term"].get<int>() > 1);
  const auto why = now["leader"]["reason"].get<std::string>();
  CHECK(why.find(old) != std::string::npos);
  CHECK(other.says("the 3 agents that vote elect another one"));
  CHECK(other.says("after the loss: its coordinator is pid "
                   + std::to_string(leader.pid())));
  const auto text = x.control({"status"});
  CHECK(count_of(text, "  leader: " + now["leader"]["agent"].get<std::string>())
        > 0);
  CHECK(count_of(text, why) > 0);
  CHECK(count_of(x.control({"why"}), "leads the job, for ") == 1);
  CHECK(x.code == 0);
  CHECK(count_of(x.control({"journal"}), "elected by the agents: " + why) == 1);
  x.check_end(b, c);
}

TEST_CASE("voters: an operator asks another node to lead", "[voters]") {
  voters_scene x;
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  const auto before = x.await_world(3);
  x.await_voters(a);
  const auto status = x.await_status([](const json& y) {
    return y["leader"].is_object() && y["leader"]["voters"].size() == 3;
  });
  const auto ask = [&](const std::string& node, const program& whom) {
    return x.control({"lead", node, std::to_string(whom.pid())});
  };
  CHECK(count_of(ask("nowhere", a), "refused: this job has no node nowhere")
        == 1);
  CHECK(x.code == 1);
  CHECK(count_of(ask(x.agent_of(status, a), a), "leads already") == 1);
  CHECK(x.code == 0);
  // Another node passes it on, and there a job's id proves nothing.
  CHECK(count_of(ask(x.agent_of(status, c), b), "this job has no secret") == 1);
  CHECK(x.code == 1);
  const auto told = ask(x.agent_of(status, c), a);
  CHECK(count_of(told, "takes the lead in a moment; no worker is stopped")
        == 1);
  CHECK(x.code == 0);
  REQUIRE(eventually([&] { return x.took_over(c); }));
  const auto now = x.await_status([&](const json& y) {
    return y["phase"] == "running" && y["leader"].is_object()
           && y["leader"]["agent"] == x.agent_of(status, c)
           && y["agents"].size() == 3;
  });
  const auto why = now["leader"]["reason"].get<std::string>();
  CHECK(why.find("has handed over, as ") != std::string::npos);
  CHECK(b.says("the coordinator of the job is pid " + std::to_string(c.pid())));
  CHECK(a.output().find("the coordinator is lost") == std::string::npos);
  CHECK(b.output().find("the coordinator is lost") == std::string::npos);
  // It is not called home; and it goes there when it is asked to.
  CHECK_FALSE(eventually([&] { return x.took_over(a); }, 5'000ms));
  ask(x.agent_of(status, a), c);
  CHECK(x.code == 0);
  REQUIRE(eventually([&] { return x.took_over(a); }));
  CHECK(pids_of(x.workers_of(before[0].generation)) == pids_of(before));
  for (const auto& w : before)
    CHECK(alive(w.pid));
  x.check_end(a, b, c);
}

TEST_CASE(
  "voters: an operator reaches the leader from any node, wherever it is",
  "[voters]") {
  voters_scene x;
  const auto secret = x.with_secret();
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  const auto before = x.await_world(3);
  x.await_voters(a);
  const auto status = x.await_status([](const json& y) {
    return y["leader"].is_object() && y["leader"]["voters"].size() == 3;
  });
  const auto pid = [](const program& y) { return std::to_string(y.pid()); };
  const auto at_endpoint = words{"--rdzv-endpoint=" + x.endpoint(),
                                 "--rdzv-id=voters", "--secret-file=" + secret};
  // Through a node that does not lead.
  CHECK(count_of(x.control({"why", "voters"}), "runs") > 0);
  CHECK(count_of(x.control({"resize", "1:4", pid(b)}), "4") > 0);
  CHECK(x.code == 0);
  const auto stack_count = [&](const program& y) {
    const auto all
      = json::parse(x.control({"stacks", "--json", pid(y)}), nullptr, false);
    return all.is_object() ? all["workers"].size() : 0;
  };
  CHECK(stack_count(c) == 3);
  // Also once it has moved: from where it was, and from elsewhere, and where it is.
  x.control({"lead", x.agent_of(status, c), pid(b)});
  REQUIRE(x.code == 0);
  REQUIRE(eventually([&] { return x.took_over(c); }));
  x.await_status([&](const json& y) {
    return y["phase"] == "running" && y["leader"].is_object()
           && y["leader"]["agent"] == x.agent_of(status, c)
           && y["agents"].size() == 3;
  });
  for (const auto* y : {&a, &b, &c}) {
    INFO(y->pid());
    CHECK(count_of(x.control({"resize", "1:3", pid(*y)}), "3") > 0);
    CHECK(x.code == 0);
    CHECK(stack_count(*y) == 3);
  }
  // At the endpoint, whose host does not lead.
  auto asked = words{"status", "--json"};
  asked.insert(asked.end(), at_endpoint.begin(), at_endpoint.end());
  const auto told = json::parse(x.control(asked), nullptr, false);
  REQUIRE(told.is_object());
  CHECK(told["jobs"][0]["leader"]["agent"] == x.agent_of(status, c));
  asked = {"why"};
  asked.insert(asked.end(), at_endpoint.begin(), at_endpoint.end());
  CHECK(count_of(x.control(asked), "leads the job") == 1);
  CHECK(x.code == 0);
  asked = {"resize", "1:4"};
  asked.insert(asked.end(), at_endpoint.begin(), at_endpoint.end());
  x.control(asked);
  CHECK(x.code == 0);
  // A node that is started finds it from there.
  auto& d = x.voter(4, "1:4");
  const auto after = x.await_world(4, before[0].generation);
  CHECK(after[0].job == before[0].job);
  x.check_end(a, b, c, d);
}

TEST_CASE("voters: two of three vanish, and a person has the last one go on",
          "[voters]") {
  voters_scene x;
  auto& a = x.voter(1);
  auto& b = x.voter(2);
  auto& c = x.voter(3);
  const auto before = x.await_world(3);
  x.await_voters(a);
  const auto status = x.await_status([](const json& y) {
    return y["leader"].is_object() && y["leader"]["voters"].size() == 3;
  });
  const auto elect = [&](const std::string& lost) {
    return x.control(
      {"elect", "--accept-loss=" + lost, std::to_string(c.pid())});
  };
  CHECK(count_of(elect("127.0.0.1"), "a leader is known") == 1);
  CHECK(x.code == 1);
  const auto gone = words{x.agent_of(status, a), x.agent_of(status, b)};
  kill_with_wardens(a);
  kill_with_wardens(b);
  CHECK(c.says("the coordinator is lost"));
  REQUIRE(eventually([&] { return all_dead(x.records_of(before)); }));
  // One of the two is not called lost.
  CHECK(eventually([&] {
    return count_of(elect("127.0.0.1"), gone[1] + " at 127.0.0.2:") == 1;
  }));
  CHECK(x.code == 1);
  CHECK_FALSE(x.took_over(c));
  CHECK(count_of(elect("127.0.0.1," + gone[1]), "leads the job, in term 10485")
        == 1);
  CHECK(x.code == 0);
  const auto after = x.await_world(1, before[0].generation);
  CHECK(after[0].job == before[0].job);
  CHECK(after[0].number == before[0].number + 1);
  CHECK(after[0].restart_count == 0);
  const auto now = x.await_status([&](const json& y) {
    return y["phase"] == "running" && y["leader"].is_object();
  });
  CHECK(now["leader"]["agent"] == x.agent_of(status, c));
  CHECK(now["leader"]["term"].get<uint64_t>() > 1'048'576);
  CHECK(now["leader"]["reason"].get<std::string>().find("has said")
        != std::string::npos);
  CHECK(count_of(elect("127.0.0.1"), "a leader is known") == 1);
  x.check_end(c);
}

TEST_CASE(
  "voters: of five, three vanish; the two that are left go on together, "
  "and others can come",
  "[voters]") {
  voters_scene x;
  auto all = std::vector<program*>{};
  for (auto number = 1; number <= 5; ++number)
    all.push_back(&x.voter(number, "1:5"));
  const auto before = x.await_world(5);
  x.await_voters(*all[0], 5);
  for (auto i = 0; i < 3; ++i)
    kill_with_wardens(*all[i]);
  for (auto i = 3; i < 5; ++i)
    CHECK(all[i]->says("the coordinator is lost"));
  REQUIRE(eventually([&] { return all_dead(x.records_of(before)); }));
  const auto elect
    = words{"elect", "--accept-loss=127.0.0.1,127.0.0.2,127.0.0.3",
            std::to_string(all[4]->pid())};
  CHECK(eventually(
    [&] { return count_of(x.control(elect), "leads the job, in term") == 1; }));
  CHECK(x.code == 0);
  const auto after = x.await_world(2, before[0].generation);
  CHECK(after[0].number == before[0].number + 1);
  CHECK(x.took_over(*all[4]));
  CHECK_FALSE(x.took_over(*all[3]));
  auto& again = x.voter(1, "1:5");
  x.await_world(3, after[0].generation);
  x.check_end(*all[3], *all[4], again);
}

TEST_CASE("voters: on two hosts the other one says at once what helps",
          "[voters]") {
  voters_scene x;
  auto& a = x.voter(1, "2", ",read_timeout=4");
  auto& b = x.voter(2, "2", ",read_timeout=4");
  x.await_world(2);
  x.await_status([](const json& y) { return y["leader"].is_object(); });
  CHECK(count_of(x.control({"lead", "1", std::to_string(a.pid())}),
                 "takes the lead")
        == 1);
  REQUIRE(eventually([&] { return x.took_over(b); }));
  kill_with_wardens(b); // As if its host were lost.
  CHECK(a.says("the coordinator is lost"));
  CHECK(a.says("start the same command again on its host"));
  CHECK(a.says("that takes agents on three hosts or more"));
  CHECK(count_of(x.control({"why"}), "the coordinator is lost") == 1);
  CHECK(x.code == 1);
  CHECK(count_of(x.control({"status"}), "the coordinator is lost; to bring it "
                                        "back, start the same command again")
        == 1);
  CHECK(a.wait() == 5);
}

} // namespace actorrun::test::voters_test
