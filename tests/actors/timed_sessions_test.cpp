#include "actors/timed_sessions.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_timer_source.hpp"

namespace actorrun::test::timed_sessions_test {

namespace {

using namespace std::chrono_literals;
using member_list = std::vector<core::timed_worker>;

/// Processes with pids from 1,000; their start time is 1.
struct timed_sessions_fixture {
  /// A process of worker 0 of generation 1, unless said otherwise.
  core::timed_worker process(int64_t pid, uint32_t local_rank = 0,
                             uint64_t generation = 1) {
    members->add(pid, 100);
    return {{generation}, local_rank, pid};
  }

  core::timed_worker added(int64_t pid, uint32_t local_rank = 0,
                           uint64_t generation = 1) {
    const auto out = process(pid, local_rank, generation);
    REQUIRE(uut.add(out));
    return out;
  }

  static core::time_point at(core::duration x) { return core::time_point{x}; }

  std::shared_ptr<fake_session_members> members
    = std::make_shared<fake_session_members>();
  timed_sessions uut{members};
};

} // namespace

TEST_CASE("timed_sessions: without a port there are no child processes",
          "[actors]") {
  auto uut = timed_sessions{nullptr};
  CHECK_FALSE(uut.worker_of(1'000));
  CHECK_FALSE(uut.exists(1'000));
  CHECK_FALSE(uut.is_full());
  CHECK(uut.purge(core::time_point{1h}).empty());
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: the port knows whose process it is",
                 "[actors]") {
  process(1'000);
  CHECK(uut.worker_of(1'000) == 100);
  CHECK(uut.exists(1'000));
  CHECK_FALSE(uut.worker_of(1'001));
  CHECK_FALSE(uut.exists(1'001));
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: a process is alive until it ends",
                 "[actors]") {
  const auto x = added(1'000);
  CHECK(uut.size() == 1);
  CHECK(uut.is_alive(x));
  members->remove(1'000);
  CHECK_FALSE(uut.is_alive(x));
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: another process with its pid is not it",
                 "[actors]") {
  const auto x = added(1'000);
  members->add(1'000, 100, 2);
  CHECK_FALSE(uut.is_alive(x));
  REQUIRE(uut.add(x)); // Now it is the other.
  CHECK(uut.is_alive(x));
  CHECK(uut.size() == 1);
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: only what was added is alive", "[actors]") {
  added(1'000);
  CHECK_FALSE(uut.is_alive(process(1'001)));
  CHECK_FALSE(uut.is_alive({{2}, 0, 1'000}));
  CHECK_FALSE(uut.is_alive({{1}, 1, 1'000}));
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: a process that has ended cannot be added",
                 "[actors]") {
  const auto x = process(1'000);
  members->remove(1'000);
  CHECK_FALSE(uut.add(x));
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: there is room for a known number",
                 "[actors]") {
  for (size_t i = 1; i < session_member_count_max; ++i)
    added(1'000 + int64_t(i));
  CHECK_FALSE(uut.is_full());
  const auto last = added(1'000);
  CHECK(uut.is_full());
  uut.remove(last);
  CHECK_FALSE(uut.is_full());
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: a purge forgets those that have ended",
                 "[actors]") {
  const auto ended = added(1'000);
  const auto alive = added(1'001);
  const auto replaced = added(1'002);
  members->remove(1'000);
  members->add(1'002, 100, 2);
  CHECK(uut.purge(at(1h)) == member_list{ended, replaced});
  CHECK(uut.size() == 1);
  CHECK(uut.is_alive(alive));
  CHECK_FALSE(uut.is_alive(replaced));
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: it purges once in an interval", "[actors]") {
  const auto x = added(1'000);
  CHECK(uut.purge(at(1h)).empty());
  members->remove(1'000);
  const auto count = members->birth_count;
  CHECK(uut.purge(at(1h + session_purge_interval - 1ns)).empty());
  CHECK(members->birth_count == count);
  CHECK(uut.purge(at(1h + session_purge_interval)) == member_list{x});
}

TEST_CASE_METHOD(timed_sessions_fixture,
                 "timed_sessions: processes go with their worker, not with "
                 "another",
                 "[actors]") {
  const auto first = added(1, 1);
  const auto second = added(1'001, 1);
  const auto sibling = added(1'002, 0);
  const auto next = added(1'003, 2);
  const auto later = added(1'004, 1, 2);
  CHECK(uut.remove_of({1}, 1) == member_list{first, second});
  CHECK_FALSE(uut.is_alive(first));
  CHECK_FALSE(uut.is_alive(second));
  for (const auto& x : {sibling, next, later})
    CHECK(uut.is_alive(x));
  CHECK(uut.size() == 3);
  CHECK(uut.remove_of({1}, 1).empty());
}

} // namespace actorrun::test::timed_sessions_test
