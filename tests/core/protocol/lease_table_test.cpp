#include "actors/core/protocol/lease_table.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test::lease_table_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Leases of 10 s; the agents in a list read as their names.
struct fixture {
  lease_table uut{10s};

  void renew(duration t, const std::string& agent) {
    uut.renew({agent}, time_point{t});
  }

  std::string expire(duration t) {
    auto text = std::string{};
    for (const auto& x : uut.expire(time_point{t}))
      text += x.value;
    return text;
  }

  /// -1 if there is no lease.
  duration due() const {
    const auto x = uut.next_due();
    return x ? x->time_since_epoch() : duration{-1};
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "lease_table: an empty table has nothing due",
                 "[core]") {
  CHECK(uut.size() == 0);
  CHECK(due() == duration{-1});
  CHECK(expire(1h) == "");
  uut.stretch(5s);
  uut.drop({"a"});
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(fixture, "lease_table: a lease ends when it is due",
                 "[core]") {
  renew(5s, "a");
  CHECK(due() == 15s);
  CHECK(expire(15s - 1ns) == "");
  CHECK(uut.size() == 1);
  CHECK(expire(15s) == "a");
  CHECK(uut.size() == 0);
  CHECK(expire(15s) == "");
  CHECK(due() == duration{-1});
}

TEST_CASE_METHOD(fixture, "lease_table: the oldest lease expires first",
                 "[core]") {
  renew(0s, "b");
  renew(1s, "a");
  renew(2s, "c");
  CHECK(due() == 10s);
  CHECK(expire(11s) == "ba");
  CHECK(due() == 12s);
  CHECK(expire(1h) == "c");
}

TEST_CASE_METHOD(fixture, "lease_table: a renewal moves an agent to the end",
                 "[core]") {
  renew(0s, "a");
  renew(1s, "b");
  renew(2s, "a");
  CHECK(uut.size() == 2);
  CHECK(due() == 11s);
  CHECK(expire(11s) == "b");
  CHECK(due() == 12s);
  renew(11s, "a");
  CHECK(due() == 21s);
}

TEST_CASE_METHOD(fixture, "lease_table: renewals of one instant keep order",
                 "[core]") {
  for (const auto* agent : {"c", "a", "b"})
    renew(0s, agent);
  CHECK(expire(10s) == "cab");
}

TEST_CASE_METHOD(fixture, "lease_table: a dropped lease does not expire",
                 "[core]") {
  renew(0s, "a");
  renew(0s, "b");
  uut.drop({"a"});
  uut.drop({"a"});
  uut.drop({"unknown"});
  CHECK(uut.size() == 1);
  CHECK(expire(1h) == "b");
}

TEST_CASE_METHOD(fixture, "lease_table: an agent that expired may come back",
                 "[core]") {
  renew(0s, "a");
  CHECK(expire(10s) == "a");
  renew(20s, "a");
  CHECK(due() == 30s);
  CHECK(expire(30s) == "a");
}

TEST_CASE_METHOD(fixture, "lease_table: stretching gives every agent more time",
                 "[core]") {
  renew(0s, "a");
  renew(1s, "b");
  uut.stretch(5s);
  CHECK(due() == 15s);
  CHECK(expire(15s) == "a");
  CHECK(expire(16s) == "b");
}

TEST_CASE_METHOD(fixture,
                 "lease_table: a lease is stretched once until it is renewed",
                 "[core]") {
  renew(0s, "a");
  renew(1s, "b");
  uut.stretch(5s);
  renew(8s, "b");
  uut.stretch(5s);
  CHECK(due() == 15s);
  CHECK(expire(15s) == "a");
  CHECK(due() == 23s);
}

TEST_CASE_METHOD(fixture,
                 "lease_table: a renewal does not wait for a stretched lease",
                 "[core]") {
  renew(0s, "a");
  uut.stretch(5s);
  renew(1s, "b");
  CHECK(due() == 11s);
  CHECK(expire(11s) == "b");
  CHECK(expire(15s) == "a");
}

TEST_CASE_METHOD(fixture, "lease_table: a renewal may be told late", "[core]") {
  renew(0s, "a");
  renew(0s, "b");
  renew(3s, "c");
  renew(2s, "b");
  renew(1s, "a");
  CHECK(due() == 11s);
  CHECK(expire(12s) == "ab");
  CHECK(due() == 13s);
}

TEST_CASE_METHOD(fixture, "lease_table: stretching some leases keeps the order",
                 "[core]") {
  renew(0s, "a");
  uut.stretch(1s);
  renew(1s, "b");
  renew(2s, "c");
  uut.stretch(5s); // Not again for a.
  CHECK(due() == 11s);
  CHECK(expire(17s) == "abc");
}

TEST_CASE_METHOD(fixture, "lease_table: it knows who has a lease", "[core]") {
  renew(0s, "a");
  CHECK(uut.contains({"a"}));
  CHECK_FALSE(uut.contains({"b"}));
  uut.drop({"a"});
  CHECK_FALSE(uut.contains({"a"}));
}

TEST_CASE_METHOD(fixture, "lease_table: a renewal never shortens a lease",
                 "[core]") {
  renew(0s, "a");
  uut.stretch(5s);
  renew(1s, "a");
  CHECK(due() == 15s);
  renew(6s, "a");
  CHECK(due() == 16s);
}

// The same table in the simplest way: a list that is searched each time.
namespace {

struct naive_table {
  struct entry {
    agent_id agent;
    time_point due;
    bool is_stretched = false;
  };

  duration length;
  std::vector<entry> entries{};

  void renew(const agent_id& agent, time_point heard) {
    const auto due = heard + length;
    for (auto& x : entries)
      if (x.agent == agent) {
        x.is_stretched = false;
        if (x.due >= due)
          return;
      }
    drop(agent);
    entries.push_back({agent, due});
  }

  void drop(const agent_id& agent) {
    std::erase_if(entries, [&](const auto& x) { return x.agent == agent; });
  }

  std::vector<agent_id> expire(time_point now) {
    std::stable_sort(
      entries.begin(), entries.end(),
      [](const auto& a, const auto& b) { return a.due < b.due; });
    auto expired = std::vector<agent_id>{};
    for (const auto& x : entries)
      if (x.due <= now)
        expired.push_back(x.agent);
    for (const auto& x : expired)
      drop(x);
    return expired;
  }
};

} // namespace

TEST_CASE("lease_table: it agrees with a naive table", "[core]") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    auto random = std::mt19937{seed};
    const auto below = [&](uint32_t n) { return uint32_t(random() % n); };
    auto uut = lease_table{50ms};
    auto model = naive_table{50ms};
    auto now = time_point{};
    for (int i = 0; i < 1'000; ++i) {
      now += std::chrono::milliseconds{below(4)};
      const auto agent = agent_id{std::to_string(below(30))};
      const auto die = below(100);
      if (die < 60) {
        const auto heard = now - std::chrono::milliseconds{below(20)};
        uut.renew(agent, heard);
        model.renew(agent, heard);
      } else if (die < 70) {
        uut.drop(agent);
        model.drop(agent);
      } else if (die < 72) {
        uut.stretch(20ms);
        for (auto& x : model.entries)
          if (!std::exchange(x.is_stretched, true))
            x.due += 20ms;
        std::ranges::stable_sort(model.entries, {}, &naive_table::entry::due);
      } else {
        // Leases that end at the same instant have no order here.
        auto expired = uut.expire(now);
        auto expected = model.expire(now);
        std::ranges::sort(expired);
        std::ranges::sort(expected);
        REQUIRE(expired == expected);
      }
      REQUIRE(uut.size() == model.entries.size());
      const auto first = std::min_element(
        model.entries.begin(), model.entries.end(),
        [](const auto& a, const auto& b) { return a.due < b.due; });
      REQUIRE(uut.next_due().has_value() == !model.entries.empty());
      if (uut.next_due())
        REQUIRE(*uut.next_due() == first->due);
    }
  }
}

} // namespace actorrun::test::lease_table_test
