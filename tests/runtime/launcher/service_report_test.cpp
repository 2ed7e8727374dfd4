#include "runtime/launcher/service_report.hpp"
#include "runtime/os/service_socket.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_service_manager.hpp"

#include <caf/actor_system.hpp>

#include <atomic>
#include <memory>

namespace actorrun::test::service_report_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using actorrun::test::fake_service_manager;
using test_deadline::soon;

namespace {

/// A node that reports to a fake manager, and an actor that answers if it may.
struct service_fixture {
  std::unique_ptr<service_report> open(std::chrono::microseconds watchdog) {
    auto x = service_report::open(system, home, {socket, watchdog}, 5s, {});
    REQUIRE(x);
    return std::move(*x);
  }

  void ready(service_report& x) {
    x.ready("waits", [this](const operator_question& question) {
      ++question_count;
      if (is_stuck)
        return;
      auto reply = v1::OperatorReply{};
      reply.mutable_status()->set_phase("running");
      question.reply(std::move(reply));
    });
  }

  void form(const service_report& x, uint32_t first, uint32_t slots) {
    auto begun = generation_begun{};
    begun.plan.generation = {3};
    begun.plan.own.first_global_rank = first;
    begun.plan.own.slot_count = slots;
    begun.plan.world_size = 8;
    tell_anonymously(x.observer(), begun);
  }

  system_config config;
  caf::actor_system system{config};
  reactor home;
  std::string socket = "@actorrun-test-" + std::to_string(::getpid());
  std::atomic<bool> is_stuck{false};
  std::atomic<int> question_count{0};
};

} // namespace

TEST_CASE_METHOD(
  service_fixture,
  "service_report: it says ready once, shows generations, and says"
  " once that it stops",
  "[runtime]") {
  auto manager = fake_service_manager{socket};
  auto uut = open(0us);
  ready(*uut);
  REQUIRE(soon([&] { return manager.has("STATUS=waits"); }));
  form(*uut, 4, 2);
  CHECK(
    soon([&] { return manager.has("STATUS=generation 3: ranks 4-5 of 8"); }));
  form(*uut, 7, 1);
  CHECK(soon([&] { return manager.has("STATUS=generation 3: rank 7 of 8"); }));
  tell_anonymously(uut->observer(), generation_over{{3}, "two\nlines"});
  CHECK(soon(
    [&] { return manager.has("STATUS=generation 3 is over: two lines"); }));
  uut->stopping("stops on SIGTERM");
  uut->stopping("again");
  uut.reset();
  CHECK(manager.count("READY=1") == 1);
  CHECK(manager.count("STOPPING=1") == 1);
  CHECK(manager.latest("EXTEND_TIMEOUT_USEC=")
        == "EXTEND_TIMEOUT_USEC=5000000");
  CHECK(manager.latest("STATUS=") == "STATUS=stops on SIGTERM");
  CHECK_FALSE(manager.has("WATCHDOG=1"));
  CHECK(question_count == 0);
}

TEST_CASE_METHOD(service_fixture,
                 "service_report: signs of life end while the agent is stuck,"
                 " and come again",
                 "[runtime]") {
  auto manager = fake_service_manager{socket};
  auto uut = open(60ms);
  ready(*uut);
  REQUIRE(soon([&] { return manager.count("WATCHDOG=1") >= 3; }));
  is_stuck = true;
  const auto asked = question_count.load();
  // A question without an answer is not asked again for seconds. What was
  // answered before has been sent when the reactor comes here.
  REQUIRE(soon([&] { return question_count > asked; }));
  run_and_wait(home, [] {});
  const auto count = manager.count("WATCHDOG=1");
  auto later = std::atomic<bool>{false};
  run_and_wait(home, [&] { home.after(300ms, [&] { later = true; }); });
  REQUIRE(soon([&] { return later.load(); }));
  CHECK(manager.count("WATCHDOG=1") == count);
  CHECK(question_count == asked + 1);
}

TEST_CASE_METHOD(service_fixture,
                 "service_report: a reactor that stands still gives no sign of"
                 " life",
                 "[runtime]") {
  auto manager = fake_service_manager{socket};
  auto uut = open(30ms);
  ready(*uut);
  REQUIRE(soon([&] { return manager.has("WATCHDOG=1"); }));
  auto may_go_on = std::atomic<bool>{false};
  auto stands = std::atomic<bool>{false};
  home.post([&] {
    stands = true;
    soon([&] { return may_go_on.load(); });
  });
  REQUIRE(soon([&] { return stands.load(); }));
  const auto count = manager.count("WATCHDOG=1");
  const auto until = std::chrono::steady_clock::now() + 200ms;
  CHECK(soon([&] { return std::chrono::steady_clock::now() > until; }));
  CHECK(manager.count("WATCHDOG=1") == count);
  may_go_on = true;
  CHECK(soon([&] { return manager.count("WATCHDOG=1") > count; }));
}

TEST_CASE_METHOD(service_fixture,
                 "service_report: a manager that listens late gets the newest"
                 " state",
                 "[runtime]") {
  auto uut = open(0us);
  ready(*uut);
  form(*uut, 0, 1);
  run_and_wait(home, [] {});
  auto manager = fake_service_manager{socket};
  REQUIRE(manager.is_bound());
  CHECK(soon([&] { return manager.has("STATUS=generation 3: rank 0 of 8"); }));
  CHECK(manager.lines().front() == "READY=1");
  CHECK(manager.count("READY=1") == 1);
}

TEST_CASE_METHOD(service_fixture,
                 "service_report: the end does not wait for a manager that is"
                 " gone",
                 "[runtime]") {
  auto uut = open(1s);
  ready(*uut);
  uut->stopping("");
  const auto start = std::chrono::steady_clock::now();
  uut.reset();
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE_METHOD(service_fixture,
                 "service_report: an address that cannot be used is refused",
                 "[runtime]") {
  for (const auto* address : {"vsock:2:1", "relative", "/", "@"}) {
    const auto x = service_report::open(system, home, {address, 0us}, 1s, {});
    REQUIRE_FALSE(x);
    CHECK(x.error()
          == failure{errc::bad_argument,
                     "NOTIFY_SOCKET: '" + std::string{address}
                       + "' is neither an absolute path nor @ and a name"});
  }
  CHECK(service_socket::open("/" + std::string(106, 'x')));
  CHECK_FALSE(service_socket::open("/" + std::string(107, 'x')));
}

} // namespace actorrun::test::service_report_test
