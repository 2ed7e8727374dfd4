#include "actors/core/text.hpp"
#include "cli/options/signal_values.hpp"
#include "tests/support/catch.hpp"

#include <csignal>

namespace actorrun::test::signal_values_test {

using namespace actorrun::cli;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<int> signals(const char* text) {
  const auto x = parse_signals(text);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return *x;
}

std::string refusal(const std::string& text) {
  const auto x = parse_signals(text);
  INFO(text);
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

std::string stop_refusal(const std::string& text) {
  const auto x = parse_stop_signal(text);
  INFO(text);
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

} // namespace

TEST_CASE("signals: names come in any case, with or without SIG", "[cli]") {
  for (const auto* text : {"SIGUSR1", "USR1", "usr1", "SigUsr1", " SIGUSR1 "})
    CHECK(signals(text) == std::vector{SIGUSR1});
  CHECK(signals("SIGTERM,INT , hup") == std::vector{SIGTERM, SIGINT, SIGHUP});
  CHECK(signals("SIGIO,SIGPOLL,USR2,USR2") == std::vector{SIGIO, SIGUSR2});
  CHECK(signals("").empty());
  CHECK(signals(" ").empty());
}

TEST_CASE("signals: every signal that can be handled is accepted", "[cli]") {
  for (auto x : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM,
                 SIGCONT, SIGTSTP, SIGURG, SIGXCPU, SIGWINCH, SIGPWR}) {
    INFO(core::signal_name(x));
    CHECK(signals(core::signal_name(x).c_str()) == std::vector{x});
  }
}

TEST_CASE("signals: other signals are refused with a reason", "[cli]") {
  const std::pair<const char*, const char*> wrong[] = {
    {"SIGKILL", "SIGKILL cannot be caught"},
    {"stop", "SIGSTOP cannot be caught"},
    {"SIGCHLD", "a child process"},
    {"SIGCLD", "SIGCHLD is sent"},
    {"SIGPIPE", "a pipe has no reader"},
    {"SIGSEGV", "SIGSEGV means that a program is broken"},
    {"SIGBUS", "broken"},
    {"SIGFPE", "broken"},
    {"SIGILL", "broken"},
    {"SIGABRT", "broken"},
    {"SIGIOT", "SIGABRT means"},
    {"SIGTRAP", "broken"},
    {"SIGSYS", "broken"},
    {"SIGRTMIN", "real-time signal"},
    {"RTMIN+3", "real-time signal"},
    {"10", "write SIGUSR1"},
    {"64", "is a number"},
    {"0", "is a number"},
    {"SIGFOO", "\"SIGFOO\" is not the name of a signal"},
    {"SIG", "\"SIG\" is not the name"},
    {"SIGTERM,", "missing"},
    {",", "missing"},
    {"SIGTERM,,SIGINT", "missing"},
    {"SIGTERM SIGINT", "not the name"},
  };
  for (const auto& [text, part] : wrong) {
    const auto why = refusal(text);
    INFO(why);
    CHECK(has(why, part));
  }
  for (const auto* text : {"64", "9", "0"})
    CHECK_FALSE(has(refusal(text), "write"));
  CHECK(has(refusal("SIGTERM,SIGFOO"), "in \"SIGTERM,SIGFOO\", \"SIGFOO\""));
}

TEST_CASE("signals: a stop signal ends a worker", "[cli]") {
  for (auto x : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGABRT,
                 SIGWINCH}) {
    const auto parsed = parse_stop_signal(core::signal_name(x));
    REQUIRE(parsed);
    CHECK(*parsed == x);
  }
  CHECK(has(stop_refusal("SIGKILL"), "--shutdown-timeout=0"));
  for (const auto* name :
       {"SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT"}) {
    CHECK(has(stop_refusal(name), name));
    CHECK(has(stop_refusal(name), "does not end it"));
  }
  CHECK(has(stop_refusal("SIGSEGV"), "broken"));
  CHECK(has(stop_refusal("SIGCHLD"), "child process"));
  CHECK(has(stop_refusal("15"), "write SIGTERM"));
  CHECK(has(stop_refusal(""), "missing"));
  CHECK(has(stop_refusal("SIGTERM,SIGINT"), "not the name"));
}

TEST_CASE("signals: lists are shown as they can be typed", "[cli]") {
  CHECK(signal_names({}).empty());
  CHECK(signal_names({SIGTERM, SIGUSR1}) == "SIGTERM,SIGUSR1");
  CHECK(signals(signal_names({SIGIO, SIGHUP}).c_str())
        == std::vector{SIGIO, SIGHUP});
}

} // namespace actorrun::test::signal_values_test
