#include "actors/core/logs/log_fanout.hpp"
#include "actors/core/logs/log_selection.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>

namespace actorrun::test::log_fanout_test {

using namespace actorrun::core;

namespace {

const auto a = agent_id{"a"};
const auto b = agent_id{"b"};
constexpr auto share_min = log_fanout::share_min;

using grants = std::vector<credit_grant>;

} // namespace

TEST_CASE("log_fanout: agents share the window", "[core]") {
  auto uut = log_fanout{};
  const auto id = uut.begin({a, b}, 100'000, false);
  REQUIRE(id);
  CHECK(uut.share_of(*id) == 50'000);
  CHECK(uut.share_of(*uut.begin({a, b}, 0, false)) == share_min);
  CHECK(uut.share_of(*uut.begin({a}, 1'000'000'000, false))
        == log_fanout::share_max);
  CHECK(uut.share_of(*uut.begin({}, 30'000, true)) == 30'000);
}

TEST_CASE("log_fanout: credit belongs to those who sent first", "[core]") {
  auto uut = log_fanout{};
  const auto id = *uut.begin({a, b}, 80'000, false); // 40'000 each.
  CHECK(uut.sent(id, a, 20'000));
  CHECK(uut.sent(id, b, 15'000));
  CHECK(uut.sent(id, a, 20'000));
  CHECK(uut.taken(id, 9'999) == grants{}); // Less than a quarter.
  CHECK(uut.taken(id, 10'001) == grants{{a, 20'000}});
  CHECK(uut.taken(id, 15'000) == grants{{b, 15'000}});
  CHECK(uut.taken(id, 99'000) == grants{{a, 20'000}});
  CHECK(uut.taken(id, 99'000) == grants{}); // Nothing was under way.
}

TEST_CASE("log_fanout: who sends more than it may is not heard", "[core]") {
  auto uut = log_fanout{};
  const auto id = *uut.begin({a}, 40'000, false);
  CHECK(uut.sent(id, a, 40'000));
  CHECK_FALSE(uut.sent(id, a, 1));
  CHECK_FALSE(uut.sent(id, b, 1));
  CHECK_FALSE(uut.sent(id + 1, a, 1));
  CHECK(uut.taken(id, 40'000) == grants{{a, 40'000}});
  CHECK(uut.sent(id, a, 1));
}

TEST_CASE(
  "log_fanout: what was under way of an agent that is back is no credit",
  "[core]") {
  auto uut = log_fanout{};
  const auto id = *uut.begin({a}, 40'000, true);
  CHECK(uut.sent(id, a, 30'000));
  CHECK_FALSE(uut.lost(id, a));
  CHECK(uut.add(id, a));
  CHECK(uut.taken(id, 30'000) == grants{});
  CHECK(uut.sent(id, a, 40'000));
  CHECK(uut.taken(id, 40'000) == grants{{a, 40'000}});
}

TEST_CASE("log_fanout: an agent can always send the longest line in the end",
          "[core]") {
  auto uut = log_fanout{};
  auto dice = std::mt19937{7};
  const auto id = *uut.begin({a, b}, 0, false);
  auto left = std::map<agent_id, uint32_t>{{a, share_min}, {b, share_min}};
  auto under_way = size_t{0};
  for (int i = 0; i < 10'000; ++i) {
    const auto& agent = dice() % 5 == 0 ? a : b;
    const auto cost = 64 + dice() % (log_line_cost_max - 63);
    if (left[agent] >= cost) {
      REQUIRE(uut.sent(id, agent, cost));
      left[agent] -= static_cast<uint32_t>(cost);
      under_way += cost;
      continue;
    }
    for (const auto& x : uut.taken(id, under_way))
      left[x.agent] += x.size;
    under_way = 0;
    REQUIRE(left[a] >= log_line_cost_max);
    REQUIRE(left[b] >= log_line_cost_max);
  }
}

TEST_CASE("log_fanout: it ends with the last agent", "[core]") {
  auto uut = log_fanout{};
  const auto id = *uut.begin({a, b}, 0, false);
  CHECK_FALSE(uut.ended(id, a));
  CHECK_FALSE(uut.ended(id, a));
  CHECK(uut.lost(id, b));
  CHECK_FALSE(uut.knows(id));
}

TEST_CASE("log_fanout: who follows waits for other agents", "[core]") {
  auto uut = log_fanout{};
  const auto id = *uut.begin({a}, 0, true);
  CHECK_FALSE(uut.lost(id, a));
  CHECK(uut.knows(id));
  CHECK(uut.add(id, b));
  CHECK_FALSE(uut.add(id, b));
  CHECK(uut.readings_of(b) == std::vector<uint64_t>{id});
  CHECK(uut.readings_of(a).empty());
  CHECK(uut.ended(id, b)); // It has said so.
}

TEST_CASE("log_fanout: an operator that is gone frees its place", "[core]") {
  auto uut = log_fanout{};
  auto last = uint64_t{0};
  for (size_t i = 0; i < log_fanout::reading_count_max; ++i)
    last = *uut.begin({a, b}, 0, true);
  CHECK_FALSE(uut.begin({a}, 0, false));
  CHECK(uut.end(last) == std::set{a, b});
  CHECK(uut.end(last).empty());
  CHECK(uut.begin({a}, 0, false));
}

} // namespace actorrun::test::log_fanout_test
