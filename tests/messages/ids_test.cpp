#include "messages/ids.hpp"
#include "tests/support/catch.hpp"

#include <concepts>
#include <type_traits>
#include <unordered_set>

namespace actorrun::test::ids_test {

TEST_CASE("ids: a default id is none", "[messages]") {
  CHECK(generation_id{}.value == 0);
  CHECK(timer_id{}.value == 0);
  CHECK(job_id{}.value.empty());
  CHECK(agent_id{}.value.empty());
}

TEST_CASE("ids: they compare by value", "[messages]") {
  CHECK(generation_id{2} == generation_id{2});
  CHECK(generation_id{2} != generation_id{3});
  CHECK(generation_id{9} < generation_id{10});
  CHECK(generation_id{UINT64_MAX} > generation_id{0});
  CHECK(agent_id{"a"} == agent_id{"a"});
  CHECK(agent_id{"a10"} < agent_id{"a9"}); // As text, not as people count.
}

TEST_CASE("ids: one kind cannot replace another", "[messages]") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<generation_id, timer_id>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<agent_id, job_id>);
  STATIC_REQUIRE_FALSE(std::equality_comparable_with<generation_id, timer_id>);
  STATIC_REQUIRE_FALSE(std::equality_comparable_with<agent_id, job_id>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<uint64_t, generation_id>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<generation_id, uint64_t>);
}

TEST_CASE("ids: they read as their value", "[messages]") {
  CHECK(to_string(generation_id{}) == "0");
  CHECK(to_string(generation_id{7}) == "7");
  CHECK(to_string(generation_of(5, 7)) == "7"); // Of whatever term.
  CHECK(to_string(generation_of(5, generation_number_max)) == "1048575");
  CHECK(to_string(timer_id{UINT64_MAX}) == "18446744073709551615");
  CHECK(to_string(agent_id{"node-a-12-0a1b2c3d"}) == "node-a-12-0a1b2c3d");
  CHECK(to_string(job_id{}).empty());
}

TEST_CASE("ids: neither the term nor the number of a generation falls (P8)",
          "[messages]") {
  STATIC_REQUIRE(later(generation_of(3, 9), generation_of(5, 2))
                 == generation_of(5, 9));
  STATIC_REQUIRE(next_after(generation_of(5, 9)) == generation_of(5, 10));
  STATIC_REQUIRE(next_term(generation_of(5, 9)) == generation_of(6, 9));
  STATIC_REQUIRE(next_after(generation_of(5, generation_number_max))
                 == generation_of(6, 1)); // But for one job in a million.
  STATIC_REQUIRE(term_of(generation_max) == (uint64_t{1} << 43U) - 1);
  STATIC_REQUIRE(number_of(generation_max) == generation_number_max);
}

TEST_CASE("ids: equal ids have equal hashes", "[messages]") {
  auto agents = std::unordered_set<agent_id>{{"a"}, {"b"}, {"a"}};
  CHECK(agents.size() == 2);
  CHECK(agents.contains(agent_id{"b"}));
  CHECK_FALSE(agents.contains(agent_id{"c"}));
  auto timers = std::unordered_set<timer_id>{{1}, {2}, {1}};
  CHECK(timers.size() == 2);
  CHECK(std::hash<generation_id>{}({5}) == std::hash<uint64_t>{}(5));
}

} // namespace actorrun::test::ids_test
