// Which nodes may host the coordinator, and where the actors of a program run.
#include "runtime/launcher/hosting.hpp"
#include "runtime/os/host_addresses.hpp"
#include "runtime/system_config.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::hosting_test {

using detail::may_host_coordinator;
using detail::place_of_coordinator;

namespace {

job_options job_at(const std::string& host,
                   rendezvous_backend how = rendezvous_backend::native) {
  auto out = job_options{};
  out.rendezvous = endpoint{host, 29'500};
  out.backend = how;
  return out;
}

agent_options ranked(uint32_t rank) {
  auto out = agent_options{};
  out.node_rank = rank;
  return out;
}

/// TEST-NET-1 (RFC 5737): no host has it.
const auto elsewhere = std::string{"192.0.2.1"};

} // namespace

TEST_CASE("hosting: the node that the endpoint names", "[runtime]") {
  const auto any = agent_options{};
  CHECK(may_host_coordinator(job_at("localhost"), any));
  CHECK(may_host_coordinator(job_at("127.0.0.1"), any));
  CHECK_FALSE(may_host_coordinator(job_at(elsewhere), any));
  SECTION("unless it is told otherwise") {
    auto told = job_at("localhost");
    told.place = coordinator_place::elsewhere;
    CHECK_FALSE(may_host_coordinator(told, any));
    told = job_at(elsewhere);
    told.place = coordinator_place::here;
    CHECK(may_host_coordinator(told, any));
  }
}

TEST_CASE("hosting: U3 a name stands for the host, and a number for an address",
          "[runtime]") {
  auto job = job_at("localhost");
  SECTION("on a job of several nodes, localhost is this host") {
    job.agent_count_max = 2;
    const auto x = place_of_coordinator(job);
    REQUIRE(x);
    CHECK(x->is_whole_host);
    const auto host = detail::host_of(x->where);
    CHECK((host == "::" || host == "0.0.0.0"));
    CHECK(detail::port_of(x->where) == 29'500);
    // Where others find it, if they can at all.
    const auto others = detail::address_for_others();
    CHECK(x->announced == (others.empty() ? "127.0.0.1" : others));
    CHECK(detail::names_this_host(x->announced));
  }
  SECTION("no other node comes to one alone") {
    const auto x = place_of_coordinator(job);
    REQUIRE(x);
    CHECK_FALSE(x->is_whole_host);
    CHECK(is_loopback(x->where));
  }
  SECTION("an address of loopback is listened at, and no other") {
    job.agent_count_max = 2;
    for (const auto* host : {"127.0.0.1", "127.0.1.1", "::1"}) {
      job.rendezvous->host = host;
      const auto x = place_of_coordinator(job);
      REQUIRE(x);
      CHECK_FALSE(x->is_whole_host);
      CHECK(detail::host_of(x->where) == host);
      CHECK(x->announced == host);
    }
  }
  SECTION("all addresses are listened at where they are asked for") {
    for (const auto* host : {"0.0.0.0", "::"}) {
      job.rendezvous->host = host;
      const auto x = place_of_coordinator(job);
      REQUIRE(x);
      CHECK(detail::host_of(x->where) == host);
      CHECK(x->announced != host);
    }
  }
}

TEST_CASE("hosting: with given ranks the first", "[runtime]") {
  const auto job = job_at(elsewhere, rendezvous_backend::fixed);
  CHECK(may_host_coordinator(job, ranked(0)));
  CHECK_FALSE(may_host_coordinator(job, ranked(1)));
}

TEST_CASE("hosting: with etcd all that want to", "[runtime]") {
  auto job = job_at(elsewhere, rendezvous_backend::etcd);
  CHECK(may_host_coordinator(job, {}));
  job.place = coordinator_place::elsewhere;
  CHECK_FALSE(may_host_coordinator(job, {}));
}

TEST_CASE("hosting: actors have threads where a coordinator of many nodes is",
          "[runtime]") {
  auto job = job_at("localhost");
  CHECK(place_of_actors(job, {}) == actor_place::threads);
  CHECK(job.place == coordinator_place::automatic);
  job = job_at(elsewhere);
  CHECK(place_of_actors(job, {}) == actor_place::reactor);
  CHECK(job.place == coordinator_place::elsewhere);
  job = {};
  CHECK(place_of_actors(job, {}) == actor_place::reactor);
  CHECK(job.place == coordinator_place::automatic);
}

} // namespace actorrun::test::hosting_test
