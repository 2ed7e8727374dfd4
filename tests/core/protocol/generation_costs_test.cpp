#include "actors/core/protocol/generation_costs.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace actorrun::test::generation_costs_test {

namespace {

using namespace actorrun::core;
using namespace std::chrono_literals;

/// One node comes and goes while a job runs.
struct flapping {
  /// Runs a generation for `length`, until the node departs.
  void run(duration length) {
    uut.generation_begins(now);
    now += length;
    uut.member_departs(now);
  }

  generation_costs uut{1s, 60s, 0};
  time_point now{10s};
};

} // namespace

TEST_CASE("generation costs: newcomers: the first departures cost nothing",
          "[core]") {
  auto x = flapping{};
  CHECK(x.uut.newcomers_wait() == 0s);
  x.run(1s);
  x.run(1s);
  CHECK(x.uut.newcomers_wait() == 0s);
  x.uut.generation_begins(x.now);
  CHECK(x.uut.newcomers_due() == x.now);
}

TEST_CASE("generation costs: newcomers: each further one doubles the wait, up "
          "to the limit",
          "[core]") {
  auto x = flapping{};
  x.run(1s);
  x.run(1s);
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    const auto before = x.uut.newcomers_wait() + 100ms;
    x.run(before < 60s ? before : 59s);
    CHECK(x.uut.newcomers_wait() == wait);
    x.uut.generation_begins(x.now);
    CHECK(x.uut.newcomers_due() == x.now + wait);
  }
}

TEST_CASE("generation costs: newcomers: a generation that lasts ends it",
          "[core]") {
  auto x = flapping{};
  for (auto i = 0; i < 5; ++i)
    x.run(1s);
  CHECK(x.uut.newcomers_wait() == 4s);
  SECTION("from the limit on") {
    x.run(60s);
    CHECK(x.uut.newcomers_wait() == 0s);
    x.run(1s);
    x.run(1s);
    CHECK(x.uut.newcomers_wait() == 0s);
    x.run(1s);
    CHECK(x.uut.newcomers_wait() == 1s);
  }
  SECTION("also one that newcomers end") {
    x.uut.generation_begins(x.now);
    x.uut.generation_begins(x.now + 60s);
    CHECK(x.uut.newcomers_wait() == 0s);
  }
  SECTION("and a long wait for nodes is none") {
    x.uut.generation_begins(x.now + 60s);
    CHECK(x.uut.newcomers_wait() == 4s);
  }
  SECTION("which one that newcomers end sooner does not") {
    x.uut.generation_begins(x.now);
    x.uut.generation_begins(x.now + 60s - 1ns);
    CHECK(x.uut.newcomers_wait() == 4s);
  }
  SECTION("and not before") {
    x.run(60s - 1ns);
    CHECK(x.uut.newcomers_wait() == 8s);
  }
}

TEST_CASE("generation costs: newcomers: many that depart at once count once",
          "[core]") {
  auto x = flapping{};
  x.run(1s);
  x.run(1s);
  x.run(1s);
  x.uut.member_departs(x.now);
  x.uut.member_departs(x.now);
  CHECK(x.uut.newcomers_wait() == 1s);
}

TEST_CASE("generation costs: newcomers: a limit below the first wait holds",
          "[core]") {
  auto x = generation_costs{1s, 1ms, 0};
  auto now = time_point{1s};
  for (auto i = 0; i < 4; ++i) {
    x.generation_begins(now);
    x.member_departs(now);
  }
  CHECK(x.newcomers_wait() == 1ms);
}

TEST_CASE("generation costs: newcomers: without a generation nothing counts",
          "[core]") {
  auto x = generation_costs{1s, 60s, 0};
  for (auto i = 0; i < 9; ++i)
    x.member_departs(time_point{1s});
  CHECK(x.newcomers_wait() == 0s);
}

// -- who stands by --------------------------------------------------------------

namespace {

struct record {
  /// Times are from 100 s on.
  static time_point at(duration t) { return time_point{100s} + t; }

  void lose(duration t, const std::string& agent = "a") {
    uut.add_loss({agent}, "node-" + agent, at(t));
  }

  void stand_by() {
    REQUIRE(uut.is_too_costly({"a"}));
    uut.stand_by({"a"});
  }

  std::optional<time_point> due() const { return uut.due({"a"}); }

  generation_costs uut{1s, 60s, 0};
};

} // namespace

TEST_CASE(
  "generation costs: W1 the third generation within the window is too much",
  "[core]") {
  auto x = record{};
  x.lose(0s);
  x.lose(20s);
  CHECK_FALSE(x.uut.is_too_costly({"a"}));
  SECTION("within it") {
    x.lose(60s - 1ns);
    CHECK(x.uut.is_too_costly({"a"}));
    CHECK(x.uut.text({"a"}) == "cost 3 generations within 59.9 s");
  }
  SECTION("and not after it") {
    x.lose(60s);
    CHECK_FALSE(x.uut.is_too_costly({"a"}));
    x.lose(79s);
    CHECK(x.uut.is_too_costly({"a"}));
  }
  SECTION("nor if another node has cost it") {
    x.lose(21s, "b");
    CHECK_FALSE(x.uut.is_too_costly({"a"}));
    CHECK_FALSE(x.uut.is_too_costly({"b"}));
  }
}

TEST_CASE("generation costs: W1 that a node is let in again is a cost if it "
          "has had one",
          "[core]") {
  auto x = record{};
  x.uut.add_return({"a"}, x.at(0s));
  x.lose(1s);
  x.uut.add_return({"a"}, x.at(2s));
  CHECK_FALSE(x.uut.is_too_costly({"a"}));
  x.lose(3s);
  CHECK(x.uut.is_too_costly({"a"}));
}

TEST_CASE("generation costs: W1 it stands by until its return and another loss "
          "make three",
          "[core]") {
  auto x = record{};
  x.lose(0s);
  x.lose(2s);
  x.lose(4s);
  x.stand_by();
  CHECK(x.uut.stands_by({"a"}));
  CHECK(x.due() == x.at(62s));
  CHECK(x.uut.next_due() == x.at(62s));
  SECTION("and has been reachable for a while") {
    x.uut.node_is_away({"a"});
    CHECK_FALSE(x.due());
    CHECK_FALSE(x.uut.next_due());
    x.uut.node_is_here({"a"}, "node-a", x.at(60s));
    CHECK(x.due() == x.at(65s));
  }
  SECTION("which is longer each time") {
    x.uut.let_in({"a"});
    CHECK_FALSE(x.uut.stands_by({"a"}));
    CHECK_FALSE(x.due());
    auto t = 62s;
    for (const auto wait : {10s, 20s, 40s, 60s, 60s}) {
      x.uut.add_return({"a"}, x.at(t));
      x.lose(t + 1s);
      x.stand_by();
      x.uut.node_is_away({"a"});
      x.uut.node_is_here({"a"}, "node-a", x.at(t + 100s));
      CHECK(x.due() == x.at(t + 100s + wait));
      x.uut.let_in({"a"});
      x.lose(t + 100s + wait);
      t += 110s + wait;
    }
  }
  SECTION("or until an operator says that it is well") {
    x.uut.forgive("node-b");
    CHECK(x.uut.stands_by({"a"}));
    x.uut.forgive("node-a");
    CHECK_FALSE(x.uut.stands_by({"a"}));
    x.lose(5s);
    CHECK_FALSE(x.uut.is_too_costly({"a"}));
  }
}

TEST_CASE(
  "generation costs: W9 an agent that is started again is the same node",
  "[core]") {
  auto x = record{};
  x.lose(0s);
  x.lose(1s);
  SECTION("once the last is gone") {
    x.uut.node_is_gone({"a"});
    x.uut.node_is_here({"a2"}, "node-a", x.at(2s));
    x.uut.add_loss({"a2"}, "node-a", x.at(3s));
    CHECK(x.uut.is_too_costly({"a2"}));
    x.uut.stand_by({"a2"});
    x.uut.node_is_gone({"a2"});
    x.uut.node_is_here({"a3"}, "node-a", x.at(9s));
    CHECK(x.uut.stands_by({"a3"}));
  }
  SECTION("and while it cannot be reached") {
    x.lose(2s);
    x.stand_by();
    x.uut.node_is_away({"a"});
    x.uut.node_is_here({"a2"}, "node-a", x.at(9s));
    CHECK(x.uut.stands_by({"a2"}));
    CHECK(x.uut.due({"a2"}) == x.at(61s));
    SECTION("also when it is gone") {
      x.uut.node_is_gone({"a"});
      CHECK(x.uut.due({"a2"}) == x.at(61s));
      x.uut.add_loss({"a"}, "node-a", x.at(50s));
      CHECK(x.uut.due({"a2"}) == x.at(62s));
      x.uut.node_is_gone({"a2"});
      CHECK_FALSE(x.uut.next_due());
      x.uut.node_is_here({"a3"}, "node-a", x.at(70s));
      CHECK(x.uut.stands_by({"a3"}));
      CHECK_FALSE(x.uut.stands_by({"a2"}));
    }
    SECTION("also when it is back, and both are here") {
      x.uut.node_is_here({"a"}, "node-a", x.at(20s));
      x.uut.node_is_away({"a2"});
      CHECK(x.uut.due({"a"}) == x.at(61s));
      x.uut.let_in({"a"});
      CHECK_FALSE(x.uut.stands_by({"a2"}));
    }
  }
  SECTION("and not beside it, though it had been gone") {
    x.uut.node_is_gone({"a"});
    x.uut.node_is_here({"a"}, "node-a", x.at(2s));
    x.uut.node_is_here({"a2"}, "node-a", x.at(2s));
    x.uut.add_loss({"a"}, "node-a", x.at(3s));
    CHECK(x.uut.is_too_costly({"a"}));
  }
  SECTION("and not beside it") {
    x.uut.node_is_here({"a2"}, "node-a", x.at(2s));
    x.uut.add_loss({"a2"}, "node-a", x.at(3s));
    CHECK_FALSE(x.uut.is_too_costly({"a2"}));
  }
  SECTION("nor on another host") {
    x.uut.node_is_gone({"a"});
    x.uut.node_is_here({"b"}, "node-b", x.at(2s));
    x.uut.add_loss({"b"}, "node-b", x.at(3s));
    CHECK_FALSE(x.uut.is_too_costly({"b"}));
  }
}

TEST_CASE(
  "generation costs: old ones are forgotten, and so are those beyond the limit",
  "[core]") {
  auto x = record{};
  x.lose(0s);
  SECTION("after five windows") {
    x.lose(300s - 1ns, "b");
    x.uut.node_is_gone({"a"});
    x.uut.node_is_here({"c"}, "node-a", x.at(300s));
    x.uut.add_return({"c"}, x.at(300s));
    CHECK(x.uut.text({"c"}).empty()); // Two, of which one is that of `a`.
    x.lose(300s, "c");
    CHECK_FALSE(x.uut.is_too_costly({"c"}));
  }
  SECTION("the oldest goes") {
    x.lose(1s);
    for (size_t i = 0; i < costly_nodes_max; ++i)
      x.lose(2s, "n" + std::to_string(i));
    x.lose(3s);
    CHECK_FALSE(x.uut.is_too_costly({"a"}));
  }
}

TEST_CASE("generation costs: a host is to be excluded after so many failures",
          "[core]") {
  auto uut = generation_costs{1s, 60s, 2};
  CHECK_FALSE(uut.add_failure("n1"));
  CHECK_FALSE(uut.add_failure("n2"));
  CHECK(uut.add_failure("n1"));
  CHECK(uut.failure_count("n1") == 2);
  uut.forgive("n1");
  CHECK(uut.failure_count("n1") == 0);
  CHECK(uut.failure_count("n2") == 1);
}

TEST_CASE("generation costs: N6 the worst hosts are told, and no more",
          "[core]") {
  constexpr auto host_count = told_hosts_max + 2;
  auto uut = generation_costs{1s, 60s, 100};
  for (size_t i = 1; i <= host_count; ++i)
    for (size_t k = 0; k < i; ++k)
      uut.add_failure("n" + std::to_string(i));
  const auto told = uut.failing_hosts();
  REQUIRE(told.size() == told_hosts_max);
  CHECK(told.front() == failing_host{"n18", 18});
  CHECK(told.back() == failing_host{"n3", 3});
  auto next = generation_costs{1s, 60s, 100};
  next.add_failure("n18");
  next.know_failures(told);
  CHECK(next.failure_count("n18") == 18);
  CHECK(next.failure_count("n3") == 3);
}

} // namespace actorrun::test::generation_costs_test
