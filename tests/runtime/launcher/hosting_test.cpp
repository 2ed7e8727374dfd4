// Which nodes may host the coordinator, and where the actors of a program run.
#include "runtime/launcher/hosting.hpp"
#include "runtime/system_config.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using detail::may_host_coordinator;

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
