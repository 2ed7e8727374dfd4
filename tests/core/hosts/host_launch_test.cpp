#include "actors/core/hosts/host_launch.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <string>

namespace actorrun::test::host_launch_test {

namespace {

using namespace actorrun::core;
using namespace std::chrono_literals;

struct writer {
  const std::vector<std::string>& names;

  std::string operator()(const give_order& x) const {
    return "order " + names[x.host]
           + (x.coordinator ? " with " + names[*x.coordinator] : "");
  }
  std::string operator()(const end_agent& x) const {
    return "end " + names[x.host] + " " + std::to_string(x.signal);
  }
  std::string operator()(const forward_signal& x) const {
    return "forward " + names[x.host] + " " + std::to_string(x.signal);
  }
  std::string operator()(const assure_agent&) const { return {}; }
  std::string operator()(const drop_host& x) const {
    return "drop " + names[x.host];
  }
  std::string operator()(const host_report& x) const {
    return (x.how == host_report::level::error ? "error: " : "warning: ")
           + x.text;
  }
  std::string operator()(const end_launch& x) const {
    using enum end_launch::reason;
    return x.why == code     ? "over " + std::to_string(x.value)
           : x.why == signal ? "over by signal " + std::to_string(x.value)
           : x.why == unmet  ? "over unmet"
                             : "over without coordinator";
  }
};

/// Hosts a, b and c; `at` returns what follows from an event.
struct launch {
  explicit launch(host_settings x = all()) : settings(std::move(x)) {}

  static host_settings all() {
    return {.names = {"a", "b", "c"}, .count_min = 3, .grace = 30s};
  }

  static host_settings at_least(size_t min) {
    auto x = all();
    x.count_min = min;
    return x;
  }

  std::string at(std::chrono::seconds t, const host_event& event) {
    auto out = std::string{};
    for (const auto& effect : uut.step(event, time_point{t}))
      if (const auto text = std::visit(writer{settings.names}, effect);
          !text.empty())
        out += (out.empty() ? "" : "; ") + text;
    return out;
  }

  std::string greet(host_index host) { return at(0s, host_greeted{host}); }

  std::string end(std::chrono::seconds t, host_index host, int code,
                  int signal = 0) {
    return at(t, host_ended{host, code, signal});
  }

  void begin() {
    for (host_index i = 0; i < settings.names.size(); ++i)
      greet(i);
  }

  std::chrono::seconds due() const {
    return std::chrono::duration_cast<std::chrono::seconds>(
      uut.due().time_since_epoch());
  }

  host_settings settings;
  host_launch uut{settings, time_point{0s}};
};

TEST_CASE("host_launch: the first host has the coordinator, and the others wait"
          " for it",
          "[core]") {
  auto uut = launch{};
  CHECK(uut.greet(2) == "");
  CHECK(uut.greet(1) == "");
  CHECK(uut.greet(0) == "order a with a; order b with a; order c with a");
  CHECK(uut.greet(0) == "");
  CHECK(uut.end(9s, 2, 0) == "");
  CHECK(uut.end(9s, 0, 0) == "");
  CHECK(uut.end(9s, 1, 0) == "over 0");
  CHECK(uut.end(9s, 1, 0) == "");
}

TEST_CASE("host_launch: a host that cannot be reached is named and left out",
          "[core]") {
  auto uut = launch{launch::at_least(2)};
  CHECK(uut.greet(1) == "");
  CHECK(uut.end(1s, 0, 255)
        == "warning: a cannot be reached: ssh has ended with code 255; the job"
           " does without it; order b with b");
  CHECK(uut.greet(2) == "order c with b");
  CHECK(uut.end(2s, 1, 0) == "");
  CHECK(uut.end(2s, 2, 0) == "over 0");
}

TEST_CASE("host_launch: too few hosts end the job before it begins", "[core]") {
  auto uut = launch{};
  uut.greet(0);
  CHECK(
    uut.end(1s, 1, 255)
    == "error: b cannot be reached: ssh has ended with code 255; 2 hosts are"
       " left, and the job needs 3; end a 15; drop c");
  CHECK(uut.end(1s, 2, 0, SIGKILL) == "");
  CHECK(uut.end(2s, 0, 143) == "over unmet");
}

TEST_CASE("host_launch: without any agent that says how it ended, hosts are"
          " missing",
          "[core]") {
  auto uut = launch{};
  CHECK(
    uut.end(1s, 0, 127)
    == "error: a cannot be reached: ssh has ended with code 127 (maybe there"
       " is no actorrun, neither where this one lies nor in the PATH of that"
       " host); 2 hosts are left, and the job needs 3; drop b; drop c");
  CHECK(uut.end(1s, 1, 0, SIGKILL) == "");
  CHECK(uut.end(1s, 2, 0, SIGKILL) == "over unmet");
}

TEST_CASE("host_launch: a host that does not answer in time is left out",
          "[core]") {
  auto uut = launch{launch::at_least(2)};
  uut.greet(1);
  uut.greet(2);
  CHECK(uut.due() == 60s);
  CHECK(uut.at(59s, time_passed{}) == "");
  CHECK(uut.at(60s, time_passed{}) == "drop a");
  CHECK(uut.greet(0) == ""); // Too late.
  CHECK(uut.end(60s, 0, 0, SIGKILL)
        == "warning: a has not answered within 60 s; the job does without it;"
           " order b with b; order c with b");
  CHECK(uut.uut.due() == time_point::max());
}

TEST_CASE("host_launch: connections that break after the end change no result",
          "[core]") {
  SECTION("when the coordinator's agent has said it") {
    auto x = launch{launch::at_least(1)};
    x.begin();
    CHECK(x.end(10s, 0, 0) == "");
    CHECK(x.end(11s, 1, 255).find("warning: b is lost") == 0);
    CHECK(x.end(11s, 2, 255).find("over 0") != std::string::npos);
  }
  SECTION("when it is about to") {
    auto x = launch{};
    x.begin();
    CHECK(x.end(10s, 1, 0) == "");
    CHECK(x.end(10s, 2, 255).find("warning: c is lost") == 0);
    CHECK(x.due() == 15s);
    CHECK(x.end(11s, 0, 0) == "over 0");
  }
  SECTION("unless it does not") {
    auto x = launch{};
    x.begin();
    x.end(10s, 1, 0); // Drained.
    x.end(10s, 2, 255);
    CHECK(x.at(15s, time_passed{}).ends_with("end a 15"));
    CHECK(x.end(16s, 0, 143) == "over unmet");
  }
  SECTION("but an agent that has failed is missed") {
    auto x = launch{};
    x.begin();
    x.end(10s, 1, 1);
    CHECK(x.end(10s, 2, 255).find("error: c is lost") == 0);
  }
}

TEST_CASE(
  "host_launch: a host that is lost is done without, if enough are left",
  "[core]") {
  auto uut = launch{launch::at_least(2)};
  uut.begin();
  CHECK(uut.end(5s, 2, 255)
        == "warning: c is lost: the connection to its agent has ended with code"
           " 255; the job does without it");
  CHECK(uut.end(6s, 1, 0, SIGKILL)
        == "error: b is lost: the connection to its agent was ended by SIGKILL;"
           " 1 host is left, and the job needs 2; end a 15");
  CHECK(uut.end(7s, 0, 143) == "over unmet");
}

TEST_CASE("host_launch: the loss of the coordinator ends the job", "[core]") {
  auto uut = launch{launch::at_least(1)};
  uut.begin();
  CHECK(uut.end(5s, 0, 255)
        == "error: a is lost: the connection to its agent has ended with code"
           " 255; it had the coordinator, so the job ends; end b 15; end c 15");
  CHECK(uut.end(6s, 1, 143) == "");
  CHECK(uut.end(6s, 2, 143) == "over without coordinator");
}

TEST_CASE("host_launch: the result is what the agent with the coordinator says",
          "[core]") {
  auto uut = launch{launch::at_least(1)};
  uut.begin();
  CHECK(uut.end(5s, 1, 0) == ""); // Drained.
  CHECK(uut.end(6s, 0, 1) == "");
  CHECK(uut.end(6s, 2, 4) == "over 1");
}

TEST_CASE(
  "host_launch: agents that stay after the end are told to end, and given"
  " up at last",
  "[core]") {
  auto uut = launch{};
  uut.begin();
  CHECK(uut.end(5s, 1, 1) == "");
  CHECK(uut.due() == 40s);
  CHECK(uut.end(6s, 0, 1) == "");
  CHECK(uut.due() == 11s);
  CHECK(uut.at(11s, time_passed{})
        == "warning: the job is over, and the agent of c has not ended; it is"
           " told to; end c 15");
  CHECK(uut.due() == 46s);
  CHECK(
    uut.at(46s, time_passed{})
    == "warning: the agent of c has not ended in time; it and its workers end"
       " when it notices that the connection is gone; drop c");
  CHECK(uut.end(46s, 2, 0, SIGKILL) == "over 1");
}

TEST_CASE(
  "host_launch: an agent that cannot take part ends a job that needs it,"
  " soon",
  "[core]") {
  auto settings = launch::all();
  settings.start_failures = {2, 127};
  auto uut = launch{settings};
  uut.begin();
  CHECK(uut.end(1s, 1, 2) == "");
  CHECK(uut.due() == 6s);
  CHECK(uut.at(6s, time_passed{})
        == "warning: the job is over, and the agent of a, c has not ended;"
           " it is told to; end a 15; end c 15");
  uut.end(7s, 2, 143);
  CHECK(uut.end(7s, 0, 143) == "over 2");
}

TEST_CASE(
  "host_launch: an agent that cannot take part is named, if the job does"
  " without it",
  "[core]") {
  auto settings = launch::at_least(2);
  settings.start_failures = {2, 127};
  auto uut = launch{settings};
  uut.begin();
  CHECK(uut.end(1s, 1, 127)
        == "warning: b has ended with code 127; the job does without it");
}

TEST_CASE("host_launch: a signal ends all agents", "[core]") {
  auto uut = launch{};
  uut.begin();
  CHECK(uut.at(5s, signal_arrived{SIGINT}) == "end a 2; end b 2; end c 2");
  CHECK(uut.due() == 40s);
  CHECK(uut.end(6s, 1, 130) == "");
  CHECK(uut.at(7s, signal_arrived{SIGINT}) == "end a 2; end c 2");
  CHECK(uut.due() == 12s);
  CHECK(uut.end(8s, 0, 130) == "");
  CHECK(uut.at(9s, signal_arrived{SIGINT}) == "end c 2; drop c");
  CHECK(uut.end(9s, 2, 0, SIGKILL) == "over 130");
}

TEST_CASE("host_launch: a signal before hosts have answered drops them",
          "[core]") {
  auto uut = launch{};
  uut.greet(1);
  CHECK(uut.at(5s, signal_arrived{SIGTERM}) == "drop a; drop b; drop c");
  CHECK(uut.greet(0) == "");
  uut.end(5s, 0, 0, SIGKILL);
  uut.end(5s, 1, 0, SIGKILL);
  CHECK(uut.end(5s, 2, 0, SIGKILL) == "over by signal 15");
}

TEST_CASE(
  "host_launch: a signal for the workers goes to those that have an order",
  "[core]") {
  auto uut = launch{launch::at_least(1)};
  uut.greet(0);
  CHECK(uut.at(5s, signal_arrived{SIGUSR1, false}) == "forward a 10");
}

TEST_CASE("host_launch: where the coordinator is not ours, no host waits",
          "[core]") {
  auto settings = launch::at_least(2);
  settings.chooses_coordinator = settings.awaits_coordinator = false;
  auto uut = launch{settings};
  CHECK(uut.greet(2) == "order c");
  CHECK(uut.greet(1) == "order b");
  uut.greet(0);
  CHECK(uut.end(5s, 0, 0) == "");
  CHECK(uut.end(5s, 1, 1) == "");
  CHECK(uut.end(5s, 2, 1) == "over 1");
}

TEST_CASE(
  "host_launch: W5 where it is not known which host has the coordinator,"
  " those that end with it tell",
  "[core]") {
  auto settings = launch::at_least(1);
  settings.chooses_coordinator = settings.awaits_coordinator = false;
  SECTION("who loses us ends the job as SIGHUP does") {
    auto uut = launch{settings};
    uut.begin();
    CHECK(uut.end(5s, 1, 255).ends_with("the job does without it"));
    CHECK(uut.end(6s, 0, 129) == "");
    CHECK(uut.end(6s, 2, 129) == "over without coordinator");
  }
  SECTION("also if the others have heard of it first") {
    auto uut = launch{settings};
    uut.begin();
    CHECK(uut.end(5s, 0, 129) == "");
    CHECK(uut.end(5s, 2, 129) == "");
    CHECK(uut.end(6s, 1, 255).ends_with("over without coordinator"));
  }
  SECTION("unless this program was told to end") {
    auto uut = launch{settings};
    uut.begin();
    uut.end(5s, 1, 255);
    uut.at(5s, signal_arrived{SIGHUP});
    uut.end(6s, 0, 129);
    CHECK(uut.end(6s, 2, 129) == "over 129");
  }
  SECTION("or no host was lost") {
    auto uut = launch{settings};
    uut.begin();
    uut.end(6s, 0, 129);
    uut.end(6s, 1, 129);
    CHECK(uut.end(6s, 2, 129) == "over 129");
  }
}

TEST_CASE("host_launch: U2 an agent that stood by has seen the job succeed",
          "[core]") {
  auto settings = launch::at_least(1);
  settings.chooses_coordinator = settings.awaits_coordinator = false;
  settings.stood_by_code = 8;
  auto uut = launch{settings};
  uut.begin();
  CHECK(uut.end(5s, 0, 0) == "");
  CHECK(uut.end(5s, 1, 0) == "");
  CHECK(uut.end(5s, 2, 8) == "over 0");
}

TEST_CASE("host_launch: N3 each side shows that it is alive", "[core]") {
  auto uut = launch{launch::at_least(2)};
  CHECK(uut.uut.signs_due() == time_point::max());
  uut.begin();
  CHECK(uut.uut.signs_due() == time_point{5s});
  const auto signs = uut.uut.step(time_passed{}, time_point{5s});
  REQUIRE(signs.size() == 3);
  CHECK(std::get<assure_agent>(signs[1]).host == 1);
  CHECK(uut.uut.signs_due() == time_point{10s});
  SECTION("who never gives a sign is judged by the end of its connection") {
    CHECK(uut.at(100s, time_passed{}) == "");
  }
  SECTION("who stops giving signs is lost after 15 s") {
    uut.at(7s, host_heard{1});
    uut.at(8s, host_heard{2});
    uut.at(21s, time_passed{});
    uut.at(21s, host_heard{2});
    CHECK(uut.at(26s, time_passed{})
          == "warning: b has given no sign of life for 15 s: the connection to"
             " it is given up; drop b");
    CHECK(uut.at(31s, time_passed{}) == ""); // Once.
    CHECK(uut.end(31s, 1, 0, SIGKILL).ends_with("the job does without it"));
  }
  SECTION("when all is over nothing is wanted") {
    for (host_index i = 0; i < 3; ++i)
      uut.end(9s, i, 0);
    CHECK(uut.uut.signs_due() == time_point::max());
  }
}

TEST_CASE(
  "host_launch: a given coordinator that cannot be reached ends the job",
  "[core]") {
  auto settings = launch::at_least(1);
  settings.coordinator = 1;
  settings.awaits_coordinator = false;
  auto uut = launch{settings};
  CHECK(uut.greet(0) == "order a with b");
  CHECK(uut.end(5s, 1, 255)
        == "error: b cannot be reached: ssh has ended with code 255; the"
           " coordinator was to be there; end a 15; drop c");
}

} // namespace

} // namespace actorrun::test::host_launch_test
