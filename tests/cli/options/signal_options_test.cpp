#include "cli/options/signal_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::signal_options_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

TEST_CASE("signals: without options they are torchrun's", "[cli]") {
  const auto x = accepted({"a"});
  CHECK(x.signals_to_handle == std::vector{SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  CHECK(x.signals_to_forward.empty());
  CHECK(x.agent.workers.stop_signal == SIGTERM);
  CHECK_FALSE(x.agent.workers.is_stop_signal_fixed);
  CHECK(x.agent.signals_to_handle == "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  CHECK(x.agent.signals_to_handle == agent_options{}.signals_to_handle);
}

TEST_CASE("signals: workers get the names of the handled signals", "[cli]") {
  const auto x = accepted({"--signals-to-handle=usr2,TERM", "a"});
  CHECK(x.agent.signals_to_handle == "SIGUSR2,SIGTERM");
}

TEST_CASE("signals: a stop signal that is given is always used", "[cli]") {
  const auto x = accepted({"--stop-signal=SIGTERM", "a"});
  CHECK(x.agent.workers.stop_signal == SIGTERM);
  CHECK(x.agent.workers.is_stop_signal_fixed);
}

TEST_CASE("signals: one signal has one meaning", "[cli]") {
  CHECK(has(refused({"--signals-to-forward=SIGUSR1,SIGHUP", "a"}),
            "--signals-to-forward: SIGHUP ends this node's part of the job; to"
            " pass it on only, give --signals-to-handle=SIGTERM,SIGINT,"
            "SIGQUIT"));
  CHECK(has(refused({"--signals-to-handle=SIGUSR1",
                     "--signals-to-forward=SIGUSR1", "a"}),
            "give another one in --signals-to-handle"));
  CHECK(
    has(refused({"--signals-to-forward=SIGUSR1", "--stop-signal=SIGUSR1", "a"}),
        "SIGUSR1 is also the --stop-signal"));
  const auto x
    = accepted({"--signals-to-handle=SIGTERM", "--stop-signal=SIGTERM",
                "--signals-to-forward=SIGINT,SIGHUP", "a"});
  CHECK(x.signals_to_forward == std::vector{SIGINT, SIGHUP});
}

TEST_CASE("signals: workers are told with SIGUSR1 that their node is to leave,"
          " or with another signal that does not stop them",
          "[cli]") {
  CHECK(accepted({"a"}).agent.workers.notice_signal == SIGUSR1);
  CHECK(accepted({"--notice-signal=usr2", "a"}).agent.workers.notice_signal
        == SIGUSR2);
  CHECK(accepted({"--notice-signal=none", "a"}).agent.workers.notice_signal
        == 0);
  CHECK(has(refused({"--notice-signal=SIGTERM", "a"}),
            "SIGTERM also stops workers"));
  CHECK(has(refused({"--notice-signal=USR1", "--stop-signal=USR1", "a"}),
            "SIGUSR1 also stops workers"));
}

TEST_CASE("signals: handling no signal is refused, forwarding none is not",
          "[cli]") {
  CHECK(has(refused({"--signals-to-handle=", "a"}), "no signal is named"));
  CHECK(accepted({"--signals-to-forward=", "a"}).signals_to_forward.empty());
}

TEST_CASE("signals: one that cannot be handled is left out with a warning",
          "[cli]") {
  const auto x
    = accepted({"--signals-to-handle=SIGTERM,SIGFOO,SIGKILL,TERM,", "a"});
  CHECK(x.signals_to_handle == std::vector{SIGTERM});
  CHECK(x.agent.signals_to_handle == "SIGTERM");
  CHECK(x.warnings
        == words{"--signals-to-handle: \"SIGFOO\" is not the name of a signal"
                 " such as SIGUSR1; it is left out",
                 "--signals-to-handle: SIGKILL cannot be caught by any program;"
                 " it is left out",
                 "--signals-to-handle: the name of a signal is missing; it is"
                 " left out"});
  CHECK(has(refused({"--signals-to-handle=SIGFOO", "a"}), "\"SIGFOO\""));
  // Of an option of ours nothing is left out.
  CHECK(has(refused({"--signals-to-forward=SIGUSR1,SIGFOO", "a"}), "SIGFOO"));
}

TEST_CASE(
  "signals: U15 what is ignored at the start stays so unless it is listed",
  "[cli]") {
  auto world = world_with({});
  auto ignored = std::vector{SIGHUP};
  world.is_ignored
    = [&](int x) { return std::ranges::find(ignored, x) != ignored.end(); };
  const auto handled = [&](const words& line) {
    return std::get<run_arguments>(*parse_run(line, world)).signals_to_handle;
  };
  CHECK(handled({"a"}) == std::vector{SIGTERM, SIGINT, SIGQUIT});
  CHECK(handled({"--signals-to-handle=SIGHUP", "a"}) == std::vector{SIGHUP});
  ignored = {SIGINT, SIGQUIT}; // As a shell's script has it with `&`.
  CHECK(handled({"a"}) == std::vector{SIGTERM, SIGHUP});
  CHECK(handled({"--signals-to-handle=SIGINT", "a"}) == std::vector{SIGINT});
  ignored = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  CHECK(handled({"a"}) == std::vector{SIGTERM});
}

TEST_CASE(
  "signals: T4 the stop signal can leave alone what workers have started",
  "[cli]") {
  CHECK(accepted({"a"}).agent.workers.stops_children);
  CHECK(accepted({"--stop-scope=group", "a"}).agent.workers.stops_children);
  CHECK_FALSE(
    accepted({"--stop-scope=worker", "a"}).agent.workers.stops_children);
  CHECK_FALSE(accepted({"a"}, {{"PET_STOP_SCOPE", "worker"}})
                .agent.workers.stops_children);
  CHECK(has(refused({"--stop-scope=all", "a"}), "\"all\" is none of"));
}

TEST_CASE("signals: a file or a command says that the machine goes", "[cli]") {
  CHECK_FALSE(accepted({"a"}).agent.notices.is_any_set());
  const auto asked
    = accepted({"--notice-file=/run/going", "--notice-command=sleep 5", "a"});
  CHECK(asked.agent.notices == notice_options{"/run/going", "sleep 5"});
  CHECK(accepted({"a"}, {{"PET_NOTICE_COMMAND", "x | y"}}).agent.notices.command
        == "x | y");
  CHECK(has(refused({"--notice-command= ", "a"}), "command"));
  CHECK(has(refused({"--notice-file=", "a"}), "--notice-file"));
  const auto longest = std::string(notice_command_length_max, 'x');
  CHECK(accepted({"--notice-command", longest, "a"}).agent.notices.command
        == longest);
}

TEST_CASE("signals: torch's variable sets the timeout after SIGKILL", "[cli]") {
  const auto name = std::string{"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT"};
  const auto timeout = [&](const std::string& value) {
    return accepted({"a"}, {{name, value}}).agent.workers.kill_timeout;
  };
  CHECK(accepted({"a"}).agent.workers.kill_timeout == 30s);
  CHECK(timeout("12") == 12s);
  CHECK(timeout("0.5") == 500ms);
  CHECK(timeout("0.0001") == 1ms);
  CHECK(timeout("604800") == timeout_max);
  // As with torch these values are ignored.
  for (const auto* value : {"", "0", "-3"})
    CHECK(timeout(value) == 30s);
  for (const auto* value : {"soon", "3s", "604800.1", "inf", "nan", "1 "})
    CHECK(refused({"a"}, {{name, value}}).starts_with(name + ": "));
}

TEST_CASE("signals: P14 --shutdown-timeout takes units", "[cli]") {
  const auto grace = [](const std::string& value) {
    return accepted({"--shutdown-timeout=" + value, "a"})
      .agent.workers.grace_period;
  };
  CHECK(grace("5m") == std::chrono::minutes{5});
  CHECK(grace("300ms") == std::chrono::milliseconds{300});
  CHECK(grace("1.5s") == std::chrono::milliseconds{1'500});
  CHECK(grace("0s") == std::chrono::milliseconds{0});
  for (const auto* value : {"1.5", "5x", "m", "-1s"})
    CHECK(has(refused({std::string{"--shutdown-timeout="} + value, "a"}),
              "--shutdown-timeout: "));
}

} // namespace actorrun::test::signal_options_test
