#include "runtime/network/liveness.hpp"
#include "runtime/network/tombstone.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::liveness_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct fixture : listener_fixture {
  liveness ask(const socket_address& where, core::duration deadline = timeout) {
    const auto handle = probe(loop, where, tombstone, deadline,
                              [&](liveness x) { answers.put(x); });
    return answers.take().value_or(liveness::silent);
  }

  inbox<liveness> answers;
  std::string tombstone = agent_tombstone(an_agent().mine.key, an_agent().id);
};

} // namespace

TEST_CASE_METHOD(fixture, "liveness: a process that lives says nothing",
                 "[runtime]") {
  auto kept = 0;
  auto sign
    = liveness_listener::listen(loop, "127.0.0.1", [&](int) { ++kept; });
  REQUIRE(sign);
  CHECK(kept == 1);
  CHECK(ask(sign->address()) == liveness::unknown);
  // It accepts connections forever and keeps none.
  const auto fd = connect_to(sign->address());
  CHECK(is_closed(fd.get()));
  CHECK(ask(sign->address()) == liveness::unknown);
}

TEST_CASE_METHOD(fixture, "liveness: the tombstone of the agent is a proof",
                 "[runtime]") {
  const auto machine = other_server{tombstone, true, false};
  CHECK(ask(loopback(machine.port())) == liveness::gone);
}

TEST_CASE_METHOD(fixture, "liveness: nothing else is a proof", "[runtime]") {
  const auto of = [](const char* secret, const char* agent) {
    return agent_tombstone(derive_key(job_id{"job"}, secret), agent);
  };
  SECTION("a refused connection") {
    auto port = uint16_t{0};
    {
      const auto fd = open_listening(loopback(0));
      port = port_of(*local_address_of(fd->get()));
    }
    CHECK(ask(loopback(port)) == liveness::unknown);
  }
  SECTION("another agent's tombstone, another secret's, or a part of ours") {
    for (const auto& answer :
         {of("secret", "n1-7-0badcaff"), of("other", "n1-7-0badcafe"),
          tombstone.substr(0, tombstone.size() - 1), std::string{}}) {
      const auto machine = other_server{answer, false, false};
      CHECK(ask(loopback(machine.port())) == liveness::unknown);
    }
  }
  SECTION("a host that drops packets") {
    const auto deaf = deaf_server{};
    CHECK(ask(deaf.address(), 100ms) == liveness::silent);
  }
  SECTION("a host that takes its time") {
    const auto machine = other_server{"ARUN", true, false};
    CHECK(ask(loopback(machine.port()), 100ms) == liveness::silent);
  }
}

TEST_CASE_METHOD(fixture, "liveness: an abandoned probe reports nothing",
                 "[runtime]") {
  const auto deaf = deaf_server{};
  probe(loop, deaf.address(), tombstone, 200ms, [&](liveness x) {
    answers.put(x);
  }).reset();
  // Longer than the deadline, at which it would have reported.
  CHECK_FALSE(answers.take(400ms));
}

TEST_CASE_METHOD(fixture, "liveness: a name or a foreign address cannot listen",
                 "[runtime]") {
  for (const auto* host : {"localhost", "192.0.2.1"})
    CHECK(liveness_listener::listen(loop, host, [](int) {}).error().code
          == errc::cannot_listen);
}

} // namespace actorrun::test::liveness_test
