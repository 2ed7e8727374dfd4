#include "actors/core/hangs/job_silence.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::job_silence_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr auto seven = generation_id{7};

struct fixture {
  void silent(const char* agent, duration silent_for, duration t,
              bool can_tell = true, bool ends = true, duration limit = 12s,
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
  CHECK(uut.empty());
  silent("a", 10s, 100s, true, true, 10s);
  CHECK_FALSE(uut.empty());
  CHECK_FALSE(find(100s));
  silent("b", 12s, 101s);
  const auto x = find(102s);
  REQUIRE(x);
  CHECK(*x == job_hang{seven, time_point{90s}, 12s, {"b"}, true, 1});
  CHECK(uut.hung() == seven);
  CHECK(uut.is_still(*x));
  CHECK_FALSE(find(113'999ms)); // Not yet again.
  SECTION("a node that is heard ends it, and it may hang again") {
    heard("a", 111s);
    CHECK(uut.hung() == generation_id{});
    CHECK_FALSE(uut.is_still(*x));
    CHECK_FALSE(find(112s));
    silent("a", 10s, 121s);
    CHECK(find(121s) == job_hang{seven, time_point{111s}, 12s, {"b"}, true, 2});
    CHECK_FALSE(uut.is_still(*x));
  }
  SECTION("it is found again as long as it lasts: the order may be lost") {
    CHECK(find(114s) == job_hang{seven, time_point{90s}, 12s, {"b"}, true, 2});
  }
  SECTION("nothing could follow from it") {
    uut.give_up(*x);
    CHECK(uut.hung() == generation_id{});
    CHECK_FALSE(find(113s));
    CHECK(find(114s));
  }
  SECTION("a sign of another generation says nothing") {
    silent("a", 0s, 111s, true, true, 10s, {6});
    CHECK(uut.hung() == seven);
  }
  SECTION("another generation knows nothing of it") {
    CHECK_FALSE(find(103s, {8}));
    CHECK(uut.hung() == generation_id{});
    silent("a", 2s, 104s, true, true, 2s, {8});
    silent("b", 2s, 104s, true, true, 2s, {8});
    CHECK(find(104s, {8}));
  }
}

TEST_CASE_METHOD(fixture,
                 "job silence: one node of which it is not known is enough",
                 "[core]") {
  silent("a", 10s, 100s);
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
  CHECK_FALSE(find(1'000s)); // It is told once.
}

TEST_CASE_METHOD(fixture,
                 "job silence: nodes that are gone or come back are not known",
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

} // namespace actorrun::test::job_silence_test
