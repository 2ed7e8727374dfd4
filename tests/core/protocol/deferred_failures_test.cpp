// Tests what is kept of failures until a check has shown who was at fault.
#include "actors/core/protocol/deferred_failures.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::deferred_failures_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

worker_failure failure_aged(duration age) {
  auto out = worker_failure{};
  out.age = age;
  return out;
}

} // namespace

TEST_CASE("deferred_failures: all failures of an end grow older together",
          "[core]") {
  auto uut = deferred_failure{{1}, failure_aged(1s), {}, time_point{10s}};
  uut.how.other_failures = {failure_aged(2s)};
  CHECK_FALSE(uut.at(time_point{10s}).how.first_failure);
  uut.how.first_failure = failure_aged(1s);
  const auto later = uut.at(time_point{15s});
  CHECK(later.first.age == duration{6s});
  CHECK(later.how.first_failure->age == duration{6s});
  CHECK(later.how.other_failures.at(0).age == duration{7s});
  CHECK(later.since == time_point{15s});
}

TEST_CASE("deferred_failures: what is settled is taken out, in order",
          "[core]") {
  auto uut = deferred_failures{};
  for (auto x : {1, 2, 3})
    uut.add({{static_cast<uint64_t>(x)}, {}, {}, {}});
  const auto is_odd = [](const auto& x) { return x.generation.value % 2 == 1; };
  const auto taken = uut.take_if(is_odd);
  REQUIRE(taken.size() == 2);
  CHECK(taken.at(0).generation == generation_id{1});
  CHECK(taken.at(1).generation == generation_id{3});
  CHECK(uut.size() == 1);
  CHECK(uut.oldest().generation == generation_id{2});
  CHECK_FALSE(uut.empty());
}

TEST_CASE("deferred_failures: what a check has shown has a word", "[core]") {
  CHECK(to_string(attribution::awaited) == "awaited");
  CHECK(to_string(attribution::node) == "node");
  CHECK(to_string(attribution::program) == "program");
  CHECK(to_string(static_cast<attribution>(99)) == "unknown");
}

} // namespace actorrun::test::deferred_failures_test
