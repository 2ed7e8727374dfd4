#include "messages/version.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/os/resolver.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <string>
#include <thread>
#include <vector>

namespace actorrun::test::connector_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct fixture : listener_fixture {
  failure failure_at(uint16_t port, core::duration deadline = timeout) {
    const auto outcome = try_to_enter(port, an_agent(), "127.0.0.1", deadline);
    if (!outcome || *outcome)
      return {errc::none, "no failure"};
    // Every failure names the endpoint.
    CHECK(outcome->error().text.starts_with("127.0.0.1:" + std::to_string(port)
                                            + " "));
    return outcome->error();
  }
};

uint16_t free_port() {
  const auto fd = open_listening(loopback(0));
  return port_of(*local_address_of(fd->get()));
}

} // namespace

TEST_CASE_METHOD(fixture, "connector: a port without a listener is a refusal",
                 "[runtime]") {
  const auto why = failure_at(free_port());
  CHECK(why.code == errc::connection_refused);
  CHECK(why.text.find("it has no listener") != std::string::npos);
}

TEST_CASE_METHOD(fixture, "connector: a silent server costs the deadline",
                 "[runtime]") {
  // Connects wait in the backlog and are never accepted.
  const auto mute = open_listening(loopback(0));
  const auto port = port_of(*local_address_of(mute->get()));
  const auto before = std::chrono::steady_clock::now();
  const auto why = failure_at(port, 100ms);
  CHECK(std::chrono::steady_clock::now() - before >= 100ms);
  CHECK(why.code == errc::connection_timed_out);
  CHECK(why.text.find("sends nothing") != std::string::npos);
}

TEST_CASE_METHOD(fixture, "connector: other services are recognised",
                 "[runtime]") {
  SECTION("with a protocol of their own") {
    const auto other = other_server{"HTTP/1.1 400 Bad Request\r\n\r\n", true};
    CHECK(failure_at(other.port()).code == errc::not_actorrun);
  }
  SECTION("that close at once") {
    const auto other = other_server{"", false};
    CHECK(failure_at(other.port()).code == errc::connection_failed);
  }
  SECTION("that stop in the middle") {
    const auto other = other_server{"ARUN", false};
    CHECK(failure_at(other.port()).code == errc::connection_failed);
  }
  SECTION("that echo") {
    const auto other = other_server{
      encode(client_hello{protocol_version, purpose::join, {}, {}, "n1"}),
      true};
    CHECK(failure_at(other.port()).code == errc::not_actorrun);
  }
  SECTION("of a later version") {
    const auto other = other_server{
      encode(server_hello{77, verdict::version_differs, {}}), false};
    const auto why = failure_at(other.port());
    CHECK(why.code == errc::protocol_mismatch);
    CHECK(why.text.find("version 77") != std::string::npos);
    CHECK(why.text.find("version " + std::to_string(protocol_version))
          != std::string::npos);
  }
  SECTION("that are full") {
    const auto other = other_server{
      encode(server_hello{protocol_version, verdict::busy, {}}), false};
    CHECK(failure_at(other.port()).code == errc::connection_failed);
  }
  SECTION("that accept every client") {
    const auto other
      = other_server{encode(server_hello{protocol_version, verdict::ok, {}})
                       + encode(server_verdict{verdict::ok, {}, {}}),
                     true};
    CHECK(failure_at(other.port()).code == errc::secret_mismatch);
  }
}

TEST_CASE_METHOD(fixture, "connector: names are resolved", "[runtime]") {
  const auto uut = listen();
  // It may have ::1 first, where there is no listener: the next one is tried.
  const auto outcome = try_to_enter(uut.port(), an_agent(), "localhost");
  REQUIRE(outcome);
  REQUIRE(*outcome);
  CHECK((*outcome)->local_address == "127.0.0.1");
}

TEST_CASE_METHOD(fixture, "connector: a name without an address is reported",
                 "[runtime]") {
  const auto outcome
    = try_to_enter(29'400, an_agent(), "no-such-host.invalid", 10s);
  REQUIRE(outcome);
  REQUIRE_FALSE(*outcome);
  // A resolver without a network may answer slowly.
  const auto code = outcome->error().code;
  CHECK((code == errc::unresolvable || code == errc::connection_timed_out));
  CHECK(outcome->error().text.find("no-such-host.invalid")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture, "connector: many names at once all get an answer",
                 "[runtime]") {
  const auto uut = listen();
  auto attempts = std::vector<reactor_handle>{};
  for (size_t i = 0; i < 5 * resolver_threads_max; ++i)
    attempts.push_back(connect(loop, endpoint{"localhost", uut.port()},
                               an_agent(), timeout, on_outcome()));
  for (size_t i = 0; i < attempts.size(); ++i) {
    const auto outcome = outcomes.take();
    REQUIRE(outcome);
    CHECK(**outcome);
  }
}

TEST_CASE_METHOD(fixture, "connector: an abandoned attempt reports nothing",
                 "[runtime]") {
  const auto mute = open_listening(loopback(0));
  const auto port = port_of(*local_address_of(mute->get()));
  auto attempt = reactor_handle{};
  // It has started, and its deadline cannot have come yet: timers are next.
  const auto begin_and_abandon = [&](const std::string& host) {
    run_and_wait(loop, [&] {
      attempt
        = connect(loop, endpoint{host, port}, an_agent(), 1ms, on_outcome());
      loop.post([&] { attempt.reset(); });
    });
    run_and_wait(loop, [] {});
  };
  SECTION("while it connects and authenticates") {
    begin_and_abandon("127.0.0.1");
  }
  SECTION("while it resolves") {
    begin_and_abandon("no-such-host.invalid");
  }
  // Longer than the deadline, at which it would have reported.
  CHECK_FALSE(outcomes.take(100ms));
}

TEST_CASE_METHOD(fixture,
                 "connector: an attempt may be destroyed in its own callback",
                 "[runtime]") {
  const auto uut = listen();
  auto attempt = reactor_handle{};
  auto done = inbox<bool>{};
  run_and_wait(loop, [&] {
    attempt = connect(loop, endpoint{"127.0.0.1", uut.port()}, an_agent(),
                      timeout, [&](const result<connected>& x) {
                        attempt.reset();
                        done.put(static_cast<bool>(x));
                      });
  });
  CHECK(done.take() == true);
}

TEST_CASE_METHOD(
  fixture, "connector: a socket that is connected to itself is recognised",
  "[runtime]") {
  const auto uut = listen();
  const auto other = connect_to(loopback(uut.port()));
  REQUIRE(other);
  CHECK_FALSE(is_connected_to_itself(other.get()));
  const auto fd = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto anywhere = loopback(0);
  REQUIRE(::bind(fd.get(), anywhere.get(), anywhere.size) == 0);
  const auto itself = *local_address_of(fd.get());
  if (::connect(fd.get(), itself.get(), itself.size) == 0)
    CHECK(is_connected_to_itself(fd.get()));
  else
    actorrun::test::skip("self",
                         "this system does not connect a socket to itself");
}

TEST_CASE_METHOD(fixture, "connector: a host that drops packets is given up",
                 "[runtime]") {
  const auto deaf = deaf_server{};
  const auto why = failure_at(port_of(deaf.address()), 100ms);
  CHECK(why.code == errc::connection_timed_out);
  CHECK(why.text.find("does not answer") != std::string::npos);
}

} // namespace actorrun::test::connector_test
