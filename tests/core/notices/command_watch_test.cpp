#include "actors/core/notices/command_watch.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>

namespace actorrun::test::command_watch_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  std::string at(std::chrono::milliseconds t, const command_event& event) {
    effects = uut.step(event, time_point{t});
    return actorrun::test::transcript(effects);
  }

  std::chrono::milliseconds due() const {
    const auto* timer = std::get_if<arm_timer>(&effects.back());
    REQUIRE(timer != nullptr);
    return std::chrono::duration_cast<std::chrono::milliseconds>(
      timer->due.time_since_epoch());
  }

  static timer_fired fire(uint64_t timer) { return {{timer}}; }

  command_watch uut;
  std::vector<command_effect> effects; ///< Of the latest step.
};

const auto failed = command_ended{.code = 7};

} // namespace

TEST_CASE_METHOD(fixture,
                 "command watch: a command that ends with 0 is a notice",
                 "[core]") {
  CHECK(at(0s, command_wanted{}) == "start_command");
  CHECK(at(5s, command_ended{.last_out = "spot: terminate", .last_err = "x"})
        == "give_notice spot: terminate");
  CHECK(at(6s, command_ended{}) == ""); // It is not started again.
  CHECK(at(7s, fire(1)) == "");
}

TEST_CASE_METHOD(fixture,
                 "command watch: another end is a warning, and a pause that "
                 "doubles",
                 "[core]") {
  at(0s, command_wanted{});
  CHECK(
    at(0s, failed)
    == "warn: the notice command ended with code 7; it is started again in "
       "1.0 s, and until it works, nothing is learned from it; arm_timer 1");
  CHECK(due() == 1s);
  CHECK(at(1s, fire(1)) == "start_command");
  CHECK(at(1s, failed) == "arm_timer 2");
  CHECK(due() == 3s);
  auto now = 3s;
  for (auto [timer, pause] :
       {std::pair{2, 4s}, {3, 8s}, {4, 16s}, {5, 32s}, {6, 60s}, {7, 60s}}) {
    CHECK(at(now, fire(uint64_t(timer))) == "start_command");
    at(now, failed);
    CHECK(due() == now + pause);
    now += pause;
  }
  SECTION("people are told again after a while") {
    CHECK(at(600s, fire(8)) == "start_command");
    CHECK(at(600s, failed).starts_with("warn: the notice command ended"));
  }
  SECTION("one that has worked begins with a short pause") {
    at(now, fire(8));
    CHECK(at(now + 60s, failed) == "arm_timer 9");
    CHECK(due() == now + 61s);
  }
}

TEST_CASE_METHOD(fixture, "command watch: a warning says what it knows",
                 "[core]") {
  at(0s, command_wanted{});
  const auto says
    = [this](const command_event& event, const std::string& text) {
        CHECK(at(0s, event).starts_with("warn: the notice command " + text
                                        + "; it"));
      };
  SECTION("what it has written") {
    says(command_ended{.code = 7, .last_out = "a", .last_err = "curl: (7)"},
         "ended with code 7 (\"curl: (7)\")");
  }
  SECTION("to its output only") {
    says(command_ended{.code = 1, .last_out = "a"},
         "ended with code 1 (\"a\")");
  }
  SECTION("which signal has ended it") {
    says(command_ended{.signal = SIGKILL}, "was killed by SIGKILL");
  }
  SECTION("also one without a name") {
    says(command_ended{.signal = 40}, "was killed by signal 40");
  }
  SECTION("that it cannot be started") {
    says(command_not_started{"No such file or directory"},
         "cannot be started: No such file or directory");
    CHECK(at(0s, command_not_started{"late"}) == "");
  }
}

} // namespace actorrun::test::command_watch_test
