#include "actors/core/workers/worker_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/only_node_plan.hpp"

#include <cstdint>
#include <map>

namespace actorrun::test::worker_table_test {

using namespace actorrun::core;
using state = worker_record::state;
using numbers = worker_table::numbers;

TEST_CASE("worker_table: spares come last, and are not counted", "[core]") {
  auto uut = worker_table{2, 1, {}};
  CHECK(uut.records().size() == 3);
  CHECK(uut.is_spare(2));
  CHECK(uut.workers_in(state::waiting) == numbers{0, 1});
  CHECK(uut.all_in(state::absent) == numbers{2});
  CHECK(uut.count(state::absent) == 0);
  CHECK(uut.under_way() == numbers{0, 1});
  CHECK(uut.spares_under_way().empty());
  uut.move({0, 1}, state::ended);
  uut[2].now = state::running;
  CHECK(uut.none_runs());
  CHECK(uut.spares_under_way() == numbers{2});
}

TEST_CASE("worker_table: whoever waits, is delayed or runs is not done",
          "[core]") {
  auto uut = worker_table{2, 0, {}};
  for (const auto x : {state::ended, state::parked, state::given_up}) {
    uut.move({0, 1}, x);
    CHECK(uut.none_runs());
    for (const auto y : {state::waiting, state::delayed, state::running}) {
      uut[1].now = y;
      CHECK_FALSE(uut.none_runs());
    }
  }
}

TEST_CASE("worker_table: what was parked is resumed, but for spares",
          "[core]") {
  const auto parked = parked_workers{{2}, {{1, 101}, {2, 102}}, {1}};
  auto uut = worker_table{2, 1, parked};
  CHECK(uut.have_stepped());
  CHECK(uut.share() == parked_share{{2}, {1}, 1});
  CHECK(uut.parked().pids == parked.pids);
  CHECK(uut.parked().stepped == parked.stepped);
  CHECK(uut.resume({3}) == numbers{1});
  CHECK(uut.live_workers() == numbers{1});
  CHECK(uut.share() == parked_share{{3}, {}, 1});
}

TEST_CASE("worker_table: a spare takes the place of the first who waits",
          "[core]") {
  auto uut = worker_table{3, 2, {{2}, {{0, 100}, {4, 104}}, {}}};
  auto plan = test::only_node_plan(3, 3);
  SECTION("and no second one") {
    CHECK(uut.seat_spares(plan) == std::map<uint32_t, uint32_t>{{1, 4}});
    CHECK(uut.records()[1].pid == 104);
    CHECK(uut.workers_in(state::waiting) == numbers{2});
    CHECK(uut.all_in(state::absent) == numbers{3, 4});
  }
  SECTION("but for a survivor's") {
    append(plan.survivors, 1);
    CHECK(uut.seat_spares(plan) == std::map<uint32_t, uint32_t>{{2, 4}});
  }
  SECTION("and none of a start ahead") {
    plan.is_ahead = true;
    CHECK(uut.seat_spares(plan).empty());
  }
}

TEST_CASE("worker_table: spares are called once, when all workers are live",
          "[core]") {
  auto uut = worker_table{2, 2, {}};
  uut.move({0, 1}, state::running);
  uut[0].is_live = true;
  CHECK(uut.call_spares().empty());
  uut[1].is_live = true;
  CHECK(uut.call_spares() == numbers{2, 3});
  CHECK(uut.call_spares().empty());
}

} // namespace actorrun::test::worker_table_test
