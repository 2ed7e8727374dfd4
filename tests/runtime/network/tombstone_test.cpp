// Tombstones: the statement of a coordinator's machine, and which agents
// believe it.

#include "messages/version.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/network/tombstone.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace actorrun::test::tombstone_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

using fixture = listener_fixture;

const auto dead = nonce_bytes{1, 2, 3};

job_key key_of(const char* secret) {
  return derive_key(job_id{"job"}, secret);
}

std::string answer_of(const char* secret = "secret", uint64_t generation = 7) {
  return coordinator_answer(key_of(secret), dead,
                            {.revision = 5,
                             .settings = {2, 8, 3},
                             .is_resized = true,
                             .restart_count = 1,
                             .lease = std::chrono::milliseconds{15'300},
                             .newest = {generation}});
}

client_identity served_by(const nonce_bytes& coordinator) {
  auto out = an_agent();
  out.served_by = coordinator;
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture,
                 "tombstone: an agent that the dead coordinator has served "
                 "has a proof",
                 "[runtime]") {
  const auto machine = other_server{answer_of(), true};
  CHECK(refusal(machine.port(), served_by(dead)) == errc::coordinator_gone);
}

TEST_CASE_METHOD(fixture, "tombstone: no other machine has one", "[runtime]") {
  SECTION("who was served by another coordinator") {
    const auto machine = other_server{answer_of(), true};
    CHECK(refusal(machine.port(), served_by({9})) == errc::connection_refused);
  }
  SECTION("who was never served") {
    const auto machine = other_server{answer_of(), true};
    CHECK(refusal(machine.port()) == errc::connection_refused);
  }
  SECTION("who hears it from a machine without the secret") {
    const auto machine = other_server{answer_of("other"), true};
    CHECK(refusal(machine.port(), served_by(dead)) == errc::connection_failed);
  }
  SECTION("who is refused") {
    auto port = uint16_t{0};
    {
      const auto fd = open_listening(loopback(0));
      port = port_of(*local_address_of(fd->get()));
    }
    CHECK(refusal(port, served_by(dead)) == errc::connection_refused);
  }
}

TEST_CASE("tombstone: no byte of it can be changed", "[runtime]") {
  const auto good = answer_of();
  for (size_t i = 8; i < good.size(); ++i) { // Past the head of the hello.
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    auto c = client_handshake{
      an_agent().mine, purpose::join, "n1-7-0badcafe", {}, trust::secret};
    c.feed(bad.substr(0, server_hello_size));
    REQUIRE(c.wanted() == tombstone_size);
    c.feed(bad.substr(server_hello_size));
    const auto is_nonce = i < server_hello_size; // It means nothing here.
    CHECK(c.tombstone().has_value() == is_nonce);
    CHECK(c.state() == handshake_state::refused);
  }
}

TEST_CASE("tombstone: V1 N11 it says what a successor must know of the job",
          "[runtime]") {
  const auto bytes = answer_of().substr(server_hello_size);
  REQUIRE(bytes.size() == tombstone_size);
  const auto job = decode_tombstone(bytes).job;
  CHECK(job.newest == generation_id{7});
  CHECK(job.revision == 5);
  CHECK(job.settings == core::job_settings{2, 8, 3});
  CHECK(job.is_resized);
  CHECK(job.restart_count == 1);
  CHECK(job.lease == std::chrono::milliseconds{15'300});
}

TEST_CASE_METHOD(fixture,
                 "tombstone: each listener is known by a number of "
                 "its own",
                 "[runtime]") {
  const auto a = listen();
  const auto b = listen();
  const auto first = try_to_enter(a.port());
  const auto again = try_to_enter(a.port());
  const auto other = try_to_enter(b.port());
  REQUIRE((first && *first && again && *again && other && *other));
  CHECK((*first)->incarnation == (*again)->incarnation);
  CHECK((*first)->incarnation != (*other)->incarnation);
  CHECK((*first)->incarnation != nonce_bytes{});
}

TEST_CASE_METHOD(fixture,
                 "tombstone: a successor does not take a port from a "
                 "coordinator that lives",
                 "[runtime]") {
  const auto alive = listen();
  const auto found = take_over(loopback(alive.port()), an_agent().mine);
  CHECK_FALSE(found.dead);
  CHECK_FALSE(found.is_another_job);
  CHECK_FALSE(found.has_hung_up);
}

TEST_CASE_METHOD(fixture, "tombstone: a listener may be ending", "[runtime]") {
  auto free_port = uint16_t{0};
  {
    const auto ends = other_server{"", false};
    free_port = ends.port();
    CHECK(take_over(loopback(free_port), an_agent().mine).has_hung_up);
  }
  CHECK(take_over(loopback(free_port), an_agent().mine).has_hung_up);
}

TEST_CASE_METHOD(fixture, "tombstone: that of another job is none of ours",
                 "[runtime]") {
  const auto machine = other_server{answer_of("other"), false};
  const auto found = take_over(loopback(machine.port()), an_agent().mine);
  CHECK_FALSE(found.dead);
  CHECK(found.is_another_job);
}

TEST_CASE("tombstone: a port whose listener hangs does not hold up a successor",
          "[runtime]") {
  const auto deaf = deaf_server{};
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(take_over(deaf.address(), an_agent().mine).dead);
  CHECK(std::chrono::steady_clock::now() - begin < timeout);
}

// -- presence -----------------------------------------------------------------

TEST_CASE("presence: an agent is present until its socket is closed",
          "[runtime]") {
  const auto job = fingerprint_of(job_id{"presence test"});
  const auto other = fingerprint_of(job_id{"presence test 2"});
  CHECK(is_no_agent_present(job));
  {
    const auto a = open_presence(job, {"n1-7-0badcafe"});
    const auto b = open_presence(job, {std::string(500, 'n') + "-7-0badcaff"});
    REQUIRE((a && b));
    CHECK_FALSE(is_no_agent_present(job));
    CHECK(is_no_agent_present(other));
    const auto present = present_agents(job);
    REQUIRE(present);
    REQUIRE(present->size() == 2);
    CHECK(std::ranges::count(*present, "n1-7-0badcafe") == 1);
    CHECK(std::ranges::count_if(
            *present, [](const auto& x) { return x.ends_with("n-7-0badcaff"); })
          == 1);
    CHECK(present_agents(other) == std::vector<std::string>{});
    CHECK(open_presence(job, {"n1-7-0badcafe"}).error().code
          == errc::system_failure);
  }
  CHECK(is_no_agent_present(job));
}

TEST_CASE("presence: N3 who comes with another launch finds those of before",
          "[runtime]") {
  const auto job = fingerprint_of(job_id{"presence test 3"});
  const auto other = fingerprint_of(job_id{"presence test 4"});
  const auto first = std::string{"0badcafe-0001-0001-0001-000000000001"};
  const auto second = std::string{"0badcafe-0001-0001-0001-000000000002"};
  CHECK_FALSE(is_other_launch_present(job, first));
  {
    const auto a = open_presence(job, {"n1-7-0badcafe"}, first);
    const auto b
      = open_presence(job, {std::string(500, 'n') + "-7-0badcaff"}, first);
    const auto by_hand = open_presence(job, {"n1-8-0badcafe"});
    REQUIRE((a && b && by_hand));
    CHECK_FALSE(is_other_launch_present(job, first));
    CHECK(is_other_launch_present(job, second));
    CHECK_FALSE(is_other_launch_present(other, second));
    CHECK_FALSE(is_no_agent_present(job));
  }
  CHECK_FALSE(is_other_launch_present(job, second));
}

} // namespace actorrun::test::tombstone_test
