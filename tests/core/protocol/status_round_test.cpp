#include "actors/core/protocol/status_round.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::status_round_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

const auto a = agent_id{"a"};
const auto b = agent_id{"b"};

struct fixture {
  static time_point at(std::chrono::milliseconds t) { return time_point{t}; }

  status_round uut;
};

} // namespace

TEST_CASE_METHOD(fixture, "status_round: it ends with the last answer",
                 "[core]") {
  CHECK_FALSE(uut.is_open());
  CHECK_FALSE(uut.is_fresh(at(0ms)));
  CHECK(uut.number() == 0);
  CHECK(uut.begin({{a, 0}, {b, 0}}, at(0ms)) == std::set{a, b});
  CHECK(uut.number() == 1);
  uut.answered(a, 1, at(1ms));
  uut.answered(a, 1, at(1ms)); // Twice is once.
  CHECK(uut.is_open());
  CHECK_FALSE(uut.is_fresh(at(1ms)));
  uut.answered(b, 1, at(2ms));
  CHECK_FALSE(uut.is_open());
  CHECK(uut.is_fresh(at(501ms)));
  CHECK_FALSE(uut.is_fresh(at(502ms)));
}

TEST_CASE_METHOD(fixture, "status_round: many workers are looked at less often",
                 "[core]") {
  uut.begin({}, at(0ms));
  CHECK_FALSE(uut.is_fresh(at(500ms), 50));
  CHECK(uut.is_fresh(at(2'559ms), 256));
  CHECK_FALSE(uut.is_fresh(at(2'560ms), 256));
  CHECK(uut.is_fresh(at(4'999ms), 100'000));
  CHECK_FALSE(uut.is_fresh(at(5'000ms), 100'000));
}

TEST_CASE_METHOD(fixture, "status_round: answers to other rounds do not count",
                 "[core]") {
  uut.begin({{a, 0}}, at(0ms));
  uut.expired(1, at(500ms));
  uut.begin({{a, 0}}, at(1'000ms));
  uut.answered(a, 1, at(1'001ms));
  uut.answered(a, 3, at(1'001ms));
  CHECK(uut.is_open());
  uut.answered(b, 2, at(1'001ms));
  CHECK(uut.is_open());
  uut.answered(a, 2, at(1'002ms));
  CHECK_FALSE(uut.is_open());
}

TEST_CASE_METHOD(fixture, "status_round: it ends when its time is over",
                 "[core]") {
  uut.begin({{a, 0}}, at(0ms));
  uut.expired(0, at(1ms));
  uut.expired(2, at(1ms));
  CHECK(uut.is_open());
  uut.expired(1, at(500ms));
  CHECK_FALSE(uut.is_open());
  CHECK(uut.is_fresh(at(999ms)));
  uut.begin({{a, 0}}, at(1'000ms));
  uut.expired(1, at(1'001ms)); // The timer of the first round.
  CHECK(uut.is_open());
}

TEST_CASE_METHOD(fixture, "status_round: agents that are lost are not awaited",
                 "[core]") {
  uut.lost(a, at(0ms));
  uut.begin({{a, 0}, {b, 0}}, at(0ms));
  uut.answered(a, 1, at(1ms));
  uut.lost(b, at(2ms));
  CHECK_FALSE(uut.is_open());
}

TEST_CASE_METHOD(fixture, "status_round: without agents it is over at once",
                 "[core]") {
  CHECK(uut.begin({}, at(7ms)).empty());
  CHECK_FALSE(uut.is_open());
  CHECK(uut.is_fresh(at(8ms)));
}

TEST_CASE_METHOD(fixture, "status_round: a bounded number of agents is asked",
                 "[core]") {
  auto many = std::map<agent_id, uint64_t>{};
  for (auto i = 0; i < 1'000; ++i)
    many.emplace(agent_id{std::to_string(1'000 + i)}, 0);
  const auto asked = uut.begin(many, at(0ms));
  CHECK(asked.size() == status_round::asked_max);
  CHECK(asked.contains({"1000"}));
  for (const auto& x : asked)
    uut.answered(x, 1, at(1ms));
  CHECK_FALSE(uut.is_open());
}

TEST_CASE_METHOD(fixture, "status_round: in some rounds all are asked",
                 "[core]") {
  auto many = std::map<agent_id, uint64_t>{};
  constexpr auto round_count = 4;
  for (size_t i = 0; i < round_count * status_round::asked_max; ++i)
    many.emplace(agent_id{std::to_string(10'000 + i)}, 0);
  auto seen = std::set<agent_id>{};
  for (auto round = 1; round <= round_count; ++round) {
    for (const auto& x : uut.begin(many, at(0ms))) {
      CHECK(seen.insert(x).second);
      many[x] = uut.number();
    }
    uut.expired(uut.number(), at(1ms));
  }
  CHECK(seen.size() == many.size());
  CHECK(many[*uut.begin(many, at(2ms)).begin()] == 1); // Again from the front.
}

} // namespace actorrun::test::status_round_test
