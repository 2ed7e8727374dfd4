// Tests when a node is checked, and what follows, in virtual time.
#include "actors/core/checks/node_checks.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::node_checks_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using phase = node_checks::phase;

struct fixture {
  node_checks uut;
  arm_timer armed{};

  explicit fixture(node_checks_options options = {.commands = {"gpu", "disk"}})
    : uut{std::move(options)} {}

  std::string at(duration t, const check_event& event) {
    auto trace = std::string{};
    for (const auto& effect : uut.step(event, time_point{t})) {
      if (const auto* timer = std::get_if<arm_timer>(&effect))
        armed = *timer;
      trace += (trace.empty() ? "" : "; ") + to_string(effect);
    }
    return trace;
  }

  std::string fire() {
    return at(armed.due.time_since_epoch(), timer_fired{armed.timer});
  }

  /// Run 1 and 2 succeed.
  void be_fit() {
    at(0s, checks_begun{});
    at(1s, check_ended{1});
    at(2s, check_ended{2});
    REQUIRE(uut.current_phase() == phase::fit);
  }
};

struct watched : fixture {
  watched()
    : fixture{{.commands = {"gpu"}, .when = {.join = false, .every = 1h}}} {}
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "node_checks: a node takes part when all its checks have "
                 "succeeded, one after the other",
                 "[core]") {
  CHECK(uut.unfit().empty());
  CHECK(to_string(uut.current_phase()) == "idle");
  CHECK(at(0s, checks_begun{})
        == "unfit: it is being checked; run_check 1 gpu");
  CHECK(to_string(uut.current_phase()) == "checking");
  CHECK(at(1s, check_ended{1}) == "run_check 2 disk");
  CHECK(at(1s, check_ended{1}) == ""); // It has ended before.
  CHECK(at(2s, check_ended{2}) == "fit");
  CHECK(to_string(uut.current_phase()) == "fit");
  CHECK(at(2s, check_ended{2}) == "");
}

TEST_CASE_METHOD(fixture,
                 "node_checks: one that has failed keeps the node out, and is "
                 "repeated ever later",
                 "[core]") {
  at(0s, checks_begun{});
  CHECK(at(1s, check_ended{1, "exit code 9", "no devices"})
        == "log warning: this node takes no part: its check `gpu` has failed "
           "(exit code 9): no devices. It is checked again after 10.0 s; "
           "unfit: its check `gpu` has failed (exit code 9): no devices; "
           "arm_timer 1");
  CHECK(to_string(uut.current_phase()) == "unfit");
  CHECK(armed.due == time_point{11s});
  CHECK(fire() == "run_check 2 gpu"); // It stays unfit meanwhile.
  CHECK(uut.unfit() != "");
  SECTION("the same again is no news") {
    CHECK(at(12s, check_ended{2, "exit code 9", "no devices"})
          == "arm_timer 2");
    CHECK(armed.due == time_point{32s});
    auto now = duration{32s};
    for (auto run = uint64_t{3}; run < 10; ++run) {
      fire();
      now = armed.due.time_since_epoch();
      at(now, check_ended{run, "exit code 9", "no devices"});
      CHECK(armed.due - time_point{now} <= recheck_max);
    }
    CHECK(armed.due - time_point{now} == recheck_max);
  }
  SECTION("another reason is") {
    CHECK(at(12s, check_ended{2, "killed after 1 min 0 s"})
            .starts_with("log warning: this node takes no part: its check "
                         "`gpu` has failed (killed after 1 min 0 s). It is "));
  }
  SECTION("it heals") {
    CHECK(at(12s, check_ended{2}) == "run_check 3 disk");
    CHECK(at(13s, check_ended{3})
          == "log info: all checks of this node succeed again: it may take "
             "part; fit");
    at(20s, check_ordered{});
    at(21s, check_ended{4, "exit code 1"});
    CHECK(armed.due == time_point{31s}); // The pauses begin anew.
  }
}

TEST_CASE_METHOD(fixture, "node_checks: the coordinator has a node checked",
                 "[core]") {
  SECTION("that is fit") {
    be_fit();
    CHECK(at(9s, check_ordered{})
          == "unfit: it is being checked; run_check 3 gpu");
    CHECK(at(10s, check_ended{3}) == "run_check 4 disk");
    CHECK(at(11s, check_ended{4}) == "fit");
  }
  SECTION("that is being checked: what has succeeded is repeated") {
    at(0s, checks_begun{});
    at(1s, check_ended{1});
    CHECK(at(2s, check_ordered{}) == "");
    CHECK(at(3s, check_ended{2}) == "run_check 3 gpu");
    CHECK(at(4s, check_ended{3}) == "run_check 4 disk");
    CHECK(at(5s, check_ended{4}) == "fit");
  }
  SECTION("that is unfit: it need not wait") {
    at(0s, checks_begun{});
    at(1s, check_ended{1, "exit code 1"});
    CHECK(at(2s, check_ordered{}) == "run_check 2 gpu");
    CHECK(at(11s, timer_fired{armed.timer}) == "");
  }
}

TEST_CASE_METHOD(fixture,
                 "node_checks: the coordinator has a node checked beside its "
                 "workers",
                 "[core]") {
  const auto beside = check_ordered{.beside = true};
  SECTION("that is fit") {
    be_fit();
    CHECK(at(9s, beside) == "run_check 3 gpu");
    CHECK(uut.unfit().empty());
    CHECK(at(9s, beside) == ""); // It is being checked.
    CHECK(at(10s, check_ended{3}) == "run_check 4 disk");
    CHECK(at(11s, check_ended{4}) == "");
    CHECK(uut.current_phase() == phase::fit);
  }
  SECTION("that is unfit, which it stays") {
    at(0s, checks_begun{});
    at(1s, check_ended{1, "exit code 1"});
    CHECK(at(2s, beside) == "");
  }
}

TEST_CASE_METHOD(watched, "node_checks: a node is checked beside its workers",
                 "[core]") {
  CHECK(at(0s, checks_begun{}) == "arm_timer 1");
  CHECK(armed.due == time_point{1h});
  CHECK(fire() == "run_check 1 gpu");
  CHECK(to_string(uut.current_phase()) == "beside");
  CHECK(uut.unfit().empty());
  SECTION("and goes on") {
    CHECK(at(1h + 1s, check_ended{1}) == "arm_timer 2");
    CHECK(armed.due == time_point{2h + 1s});
  }
  SECTION("and takes no part any more") {
    CHECK(at(1h + 1s, check_ended{1, "exit code 1"}).find("; unfit: its check")
          != std::string::npos);
  }
  SECTION("and is to be checked before it goes on") {
    CHECK(at(1h + 1s, check_ordered{}) == "unfit: it is being checked");
    CHECK(at(1h + 2s, check_ended{1}) == "run_check 2 gpu");
    CHECK(at(1h + 3s, check_ended{2}) == "fit; arm_timer 2");
  }
}

} // namespace actorrun::test::node_checks_test
