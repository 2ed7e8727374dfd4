#include "actors/core/protocol/generation_failures.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::generation_failures_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

collateral failure_of(uint32_t local_rank, duration age = 0s) {
  return {{{.local_rank = local_rank,
            .kind = failure_kind::exited,
            .code = 1,
            .age = age}},
          0};
}

} // namespace

TEST_CASE("generation_failures: the first death is the root cause", "[core]") {
  auto uut = generation_failures{};
  CHECK(uut.empty());
  uut.add({"a"}, failure_of(0), time_point{10s});
  uut.add({"b"}, failure_of(1, 5s), time_point{11s});
  CHECK(uut.first().agent == agent_id{"b"});
  CHECK(uut.first(time_point{12s}).age == 6s);
  CHECK(uut.others(time_point{12s}).count() == 1);
}

TEST_CASE("generation_failures: the departure of another agent exempts",
          "[core]") {
  auto uut = generation_failures{};
  uut.add({"a"}, failure_of(0), time_point{});
  CHECK(uut.exemption() == nullptr);
  uut.add_departure({"b"}, {"agent b left"});
  uut.add_departure({"c"}, {"agent c left"});
  REQUIRE(uut.exemption() != nullptr);
  CHECK(uut.exemption()->text == "agent c left");
}

TEST_CASE("generation_failures: the departure of its own agent does not exempt",
          "[core]") {
  auto uut = generation_failures{};
  uut.add({"a"}, failure_of(0), time_point{});
  uut.add_departure({"a"}, {"agent a lost"});
  CHECK(uut.exemption() == nullptr);
}

TEST_CASE("generation_failures: a program that does not start is never exempt",
          "[core]") {
  auto uut = generation_failures{};
  auto xs = failure_of(0);
  xs.listed.front().kind = failure_kind::not_started;
  uut.add({"a"}, xs, time_point{});
  uut.add_departure({"b"}, {"agent b left"});
  CHECK(uut.exemption() == nullptr);
}

TEST_CASE("generation_failures: nothing is left for the next generation",
          "[core]") {
  auto uut = generation_failures{};
  uut.add({"a"}, failure_of(0), time_point{});
  uut.add_departure({"b"}, {"agent b left"});
  uut.end_generation();
  CHECK(uut.has_ended_generation());
  uut.clear();
  CHECK(uut.empty());
  CHECK_FALSE(uut.has_ended_generation());
  uut.add({"a"}, failure_of(0), time_point{});
  CHECK(uut.exemption() == nullptr);
}

} // namespace actorrun::test::generation_failures_test
