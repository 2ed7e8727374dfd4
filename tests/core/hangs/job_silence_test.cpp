#include "actors/core/hangs/job_silence.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr auto seven = generation_id{7};

struct fixture {
  void silent(const char* agent, duration silent_for, duration t,
              bool can_tell = true, bool ends = true, duration limit = 10s,
              generation_id generation = seven) {
    uut.note({agent},
             {generation, silent_for, can_tell, hang_limits{limit, ends}},
             time_point{t});
  }

  void heard(const char* agent, duration t) { silent(agent, 0s, t); }

  std::optional<job_hang> find(duration t, generation_id running = seven) {
    return uut.find(running, {{"a"}, {"b"}}, time_point{t});
  }

  job_silence uut;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "job silence: a job hangs when all its nodes are silent",
                 "[core]") {
  silent("a", 10s, 100s);
  CHECK_FALSE(find(100s));
  silent("b", 12s, 101s, false, true, 12s);
  CHECK(find(102s) == job_hang{seven, 12s, 12s, {"b"}, true});
  CHECK(uut.hung() == seven);
  CHECK_FALSE(find(110s)); // Once.
  SECTION("a node that is heard ends it, and it may hang again") {
    heard("a", 111s);
    CHECK(uut.hung() == generation_id{});
    CHECK_FALSE(find(112s));
    silent("a", 10s, 121s);
    CHECK(find(121s) == job_hang{seven, 10s, 12s, {"b"}, true});
  }
  SECTION("another generation knows nothing of it") {
    CHECK_FALSE(find(111s, {8}));
    CHECK(uut.hung() == generation_id{});
    silent("a", 10s, 120s, true, true, 10s, {8});
    silent("b", 10s, 120s, true, true, 10s, {8});
    CHECK(find(120s, {8}));
  }
}

TEST_CASE_METHOD(fixture,
                 "job silence: without a sign that could be seen it does "
                 "not hang",
                 "[core]") {
  silent("a", 10s, 100s, false);
  silent("b", 10s, 100s, false);
  CHECK_FALSE(find(100s));
}

TEST_CASE_METHOD(fixture,
                 "job silence: a worker is ended only if all nodes want it",
                 "[core]") {
  silent("a", 10s, 100s, true, false);
  silent("b", 10s, 100s);
  const auto x = find(100s);
  REQUIRE(x);
  CHECK_FALSE(x->ends);
}

TEST_CASE_METHOD(fixture, "job silence: nodes that are gone do not count",
                 "[core]") {
  silent("a", 10s, 100s);
  silent("b", 10s, 100s);
  uut.forget({"b"});
  CHECK_FALSE(find(100s));
  CHECK(uut.find(seven, {{"a"}}, time_point{100s}));
}

TEST_CASE_METHOD(fixture, "job silence: without a generation nothing hangs",
                 "[core]") {
  silent("a", 10s, 100s);
  CHECK_FALSE(uut.find({}, {{"a"}}, time_point{100s}));
  CHECK_FALSE(uut.find(seven, {}, time_point{100s}));
}
