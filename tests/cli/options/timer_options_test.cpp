#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::timer_options_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

constexpr auto torch_switch = "TORCHELASTIC_ENABLE_FILE_TIMER";

} // namespace

TEST_CASE("timers: workers have timers unless they are turned off", "[cli]") {
  CHECK(accepted({"a"}).agent.timers.enabled);
  CHECK_FALSE(accepted({"--no-timer", "a"}).agent.timers.enabled);
  CHECK_FALSE(accepted({"a"}, {{"PET_NO_TIMER", "1"}}).agent.timers.enabled);
  CHECK(accepted({"a"}, {{"PET_NO_TIMER", "0"}}).agent.timers.enabled);
  CHECK(has(refused({"--no-timer=1", "a"}), "--no-timer"));
  CHECK(has(refused({"a"}, {{"PET_NO_TIMER", "yes"}}), "PET_NO_TIMER"));
}

TEST_CASE("timers: torchrun's switch turns them off, too", "[cli]") {
  const auto is_on = [](const std::string& text) {
    return accepted({"a"}, {{torch_switch, text}}).agent.timers.enabled;
  };
  CHECK(is_on("1"));
  CHECK(is_on(""));
  CHECK_FALSE(is_on("0"));
  CHECK_FALSE(
    accepted({"--no-timer", "a"}, {{torch_switch, "1"}}).agent.timers.enabled);
  for (const auto& text : words{"2", "true", "01", " 0", "off"})
    CHECK(has(refused({"a"}, {{torch_switch, text}}),
              std::string{torch_switch} + ": \"" + text + "\" is neither 1"));
}

TEST_CASE("timers: torchrun's variable gives the path of the FIFO", "[cli]") {
  CHECK(accepted({"a"}).agent.timers.path.empty());
  const auto at = [](const std::string& path) {
    return variables{{"TORCHELASTIC_TIMER_FILE", path}};
  };
  CHECK(accepted({"a"}, at("/tmp/x")).agent.timers.path == "/tmp/x");
  const auto longest = std::string(timer_path_length_max, 'x');
  CHECK(accepted({"a"}, at(longest)).agent.timers.path == longest);
  CHECK(has(refused({"a"}, at(longest + "x")), "the path of the timer FIFO"));
}

TEST_CASE("timers: a launcher below a launcher has a FIFO of its own (T6)",
          "[cli]") {
  CHECK(accepted({"a"}, {{"TORCHELASTIC_TIMER_FILE", "/tmp/x"},
                         {"ACTORRUN_JOB_ID", "above"}})
          .agent.timers.path.empty());
}

TEST_CASE("timers: a watchdog is 10 ms to a day", "[cli]") {
  const auto of = [](const std::string& text) {
    return accepted({"--watchdog", text, "a"}).agent.timers.watchdog;
  };
  CHECK(accepted({"a"}).agent.timers.watchdog == 0ms);
  CHECK(of("30") == 30s);
  CHECK(of("30s") == 30s);
  CHECK(of("500ms") == 500ms);
  CHECK(of("10ms") == 10ms);
  CHECK(of("1440m") == 24h);
  CHECK(of("1d") == 24h);
  CHECK(accepted({"a"}, {{"PET_WATCHDOG", "2m"}}).agent.timers.watchdog
        == 2min);
  for (const auto& text : words{"9ms", "0", "0s", "86401", "1441m"})
    CHECK(refused({"--watchdog=" + text, "a"})
          == "--watchdog: \"" + text + "\" is not between 10ms and 1 day");
  for (const auto& text : words{"", "soon", "1w", "1e3", "nan", "inf"})
    CHECK(has(refused({"--watchdog=" + text, "a"}), "is not a time"));
}

TEST_CASE("timers: a job hangs after a second to a week of silence", "[cli]") {
  CHECK(accepted({"a"}).agent.hangs == hang_options{});
  CHECK(accepted({"--hang-timeout=10m", "a"}).agent.hangs
        == hang_options{10min, true});
  CHECK(accepted({"--hang-timeout=1s", "--on-hang=report", "a"}).agent.hangs
        == hang_options{1s, false});
  CHECK(
    accepted({"a"}, {{"PET_HANG_TIMEOUT", "7d"}, {"PET_ON_HANG", "restart"}})
      .agent.hangs
    == hang_options{24h * 7, true});
  CHECK(accepted({"--hang-timeout=auto", "a"}).agent.hangs
        == hang_options{0ms, true, true});
  for (const auto& text : words{"999ms", "0", "8d"})
    CHECK(refused({"--hang-timeout=" + text, "a"})
          == "--hang-timeout: \"" + text + "\" is not between 1s and 7 days");
  CHECK(refused({"--hang-timeout=1m", "--on-hang=kill", "a"})
        == "--on-hang: \"kill\" is none of restart, report");
  CHECK(has(refused({"--on-hang=report", "a"}),
            "--on-hang has no effect without --hang-timeout"));
}

TEST_CASE("timers: the help lists them under their own heading", "[cli]") {
  const auto x = parse({"--help=all"});
  REQUIRE(x);
  const auto text = std::get<help>(*x).text;
  const auto begin = text.find("\nTimers:");
  REQUIRE(begin != text.npos);
  CHECK(text.find("--no-timer", begin) != text.npos);
  CHECK(text.find("[PET_NO_TIMER]", begin) != text.npos);
  CHECK(text.find("--watchdog TIME", begin) != text.npos);
}

} // namespace actorrun::test::timer_options_test
