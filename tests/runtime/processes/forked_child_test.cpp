#include "runtime/processes/forked_child.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>

#include <fcntl.h>

namespace actorrun::test::forked_child_test {

using namespace actorrun::detail;

TEST_CASE("child handshake: reports arrive one by one", "[runtime]") {
  auto uut = child_handshake::open();
  REQUIRE(uut);
  CHECK(::fcntl(uut->agent.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(::fcntl(uut->child.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(!take_report(uut->agent.get()));
  send_report(uut->child.get(), {.pid = 5});
  send_report(uut->child.get(), {.pid = 5, .ready = true});
  auto report = take_report(uut->agent.get());
  REQUIRE(report);
  CHECK(report->pid == 5);
  CHECK(report->error == 0);
  CHECK(!report->ready);
  report = take_report(uut->agent.get());
  REQUIRE(report);
  CHECK(report->ready);
  CHECK(!take_report(uut->agent.get()));
}

TEST_CASE("child handshake: a child that has gone is an error", "[runtime]") {
  auto uut = child_handshake::open();
  REQUIRE(uut);
  send_report(uut->child.get(), {.pid = 5});
  uut->child.reset();
  CHECK(take_report(uut->agent.get())->pid == 5);
  const auto report = take_report(uut->agent.get());
  REQUIRE(report);
  CHECK(report->error == ECONNRESET);
  CHECK(report->pid == 0);
  send_go(uut->agent.get()); // Harmless.
}

TEST_CASE("child handshake: a child goes only when it is ordered",
          "[runtime]") {
  auto uut = child_handshake::open();
  REQUIRE(uut);
  send_go(uut->agent.get());
  uut->agent.reset(); // The order still counts.
  CHECK(await_go(uut->child.get()));
  CHECK(!await_go(uut->child.get()));
  send_report(uut->child.get(), {.pid = 5}); // No signal for the child.
}

} // namespace actorrun::test::forked_child_test
