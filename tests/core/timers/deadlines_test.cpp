#include "actors/core/timers/deadlines.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

namespace actorrun::test::deadlines_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

time_point at(duration t) {
  return time_point{t};
}

/// Expired timers read as `worker.scope@due` with the due time in ms.
struct fixture {
  timer_deadlines uut;

  bool acquire(uint32_t worker, const std::string& scope, duration due,
               int signal = 9) {
    return uut.acquire(worker, scope, at(due), signal);
  }

  std::string taken() {
    auto text = std::string{};
    while (const auto x = uut.take_expired())
      text += (text.empty() ? "" : " ") + std::to_string(x->worker) + "."
              + x->scope + "@"
              + std::to_string(x->due.time_since_epoch() / 1ms);
    return text;
  }

  std::string expire(duration now) {
    uut.advance(at(now));
    return taken();
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "timer_deadlines: an empty one has nothing due",
                 "[core]") {
  CHECK(!uut.next_due());
  CHECK(expire(1h) == "");
  CHECK(!uut.has_expired());
  CHECK(!uut.release(0, "a"));
  uut.clear(0);
  uut.clear(1'000'000);
  CHECK(uut.size() == 0);
  CHECK(uut.size_of(3) == 0);
}

TEST_CASE_METHOD(fixture, "timer_deadlines: a timer expires when it is due",
                 "[core]") {
  acquire(1, "a", 15s);
  CHECK(uut.next_due() == at(15s));
  CHECK(expire(15s - 1ns) == "");
  CHECK(uut.next_due() == at(15s));
  uut.advance(at(15s));
  CHECK(uut.size() == 1); // It stays until it is taken.
  const auto x = uut.take_expired();
  REQUIRE(x);
  CHECK(*x == expired_timer{1, "a", at(15s), 9});
  CHECK(uut.size() == 0);
  CHECK(expire(16s) == "");
}

TEST_CASE_METHOD(
  fixture, "timer_deadlines: P9 a timer has the limit of its last deadline",
  "[core]") {
  uut.acquire(1, "a", at(15s), 9, 15s);
  uut.acquire(1, "a", at(20s), 15, 5s);
  uut.acquire(2, "a", at(21s), 9);
  uut.advance(at(30s));
  CHECK(uut.take_expired() == expired_timer{1, "a", at(20s), 15, 5s});
  CHECK(uut.take_expired() == expired_timer{2, "a", at(21s), 9, 0s});
}

TEST_CASE_METHOD(fixture,
                 "timer_deadlines: timers expire in order of deadlines",
                 "[core]") {
  acquire(1, "c", 30s);
  acquire(2, "a", 1ms);
  acquire(1, "b", 2ms);
  acquire(3, "d", 10h);
  CHECK(expire(1min) == "2.a@1 1.b@2 1.c@30000");
  CHECK(expire(10h) == "3.d@36000000");
}

TEST_CASE_METHOD(fixture,
                 "timer_deadlines: deadlines that are close keep order",
                 "[core]") {
  uut.acquire(1, "b", at(1s + 2ns), 9);
  uut.acquire(1, "a", at(1s + 1ns), 9);
  uut.acquire(1, "c", at(1s + 3ns), 9);
  uut.advance(at(1s + 2ns));
  CHECK(uut.take_expired()->scope == "a");
  CHECK(uut.take_expired()->scope == "b");
  CHECK(!uut.take_expired());
  CHECK(uut.next_due() == at(1s + 3ns));
}

TEST_CASE_METHOD(fixture,
                 "timer_deadlines: a deadline in the past expires at once",
                 "[core]") {
  uut.advance(at(10s));
  acquire(1, "late", 5s);
  acquire(1, "later", -1h);
  CHECK(uut.next_due() == at(-1h));
  CHECK(expire(10s) == "1.later@-3600000 1.late@5000");
}

TEST_CASE_METHOD(fixture,
                 "timer_deadlines: a timer that is acquired anew moves",
                 "[core]") {
  acquire(1, "a", 10s, 9);
  CHECK(acquire(1, "a", 20s, 15));
  CHECK(uut.size() == 1);
  CHECK(expire(15s) == "");
  acquire(1, "a", 16s, 2);
  uut.advance(at(16s));
  CHECK(uut.take_expired()->signal == 2);
}

TEST_CASE_METHOD(fixture, "timer_deadlines: a released timer does not expire",
                 "[core]") {
  acquire(1, "a", 10s);
  acquire(1, "b", 10s);
  CHECK(uut.release(1, "a"));
  CHECK(!uut.release(1, "a"));
  CHECK(!uut.release(2, "b"));
  CHECK(expire(1h) == "1.b@10000");
}

TEST_CASE_METHOD(fixture, "timer_deadlines: workers do not share timers",
                 "[core]") {
  acquire(1, "a", 10s);
  acquire(2, "a", 20s);
  CHECK(uut.size_of(1) == 1);
  uut.clear(1);
  CHECK(uut.size_of(1) == 0);
  CHECK(expire(1h) == "2.a@20000");
}

TEST_CASE_METHOD(fixture, "timer_deadlines: an expired timer can be taken back",
                 "[core]") {
  for (const auto* scope : {"a", "b", "c", "d"})
    acquire(1, scope, 10s);
  acquire(2, "e", 10s);
  uut.advance(at(10s));
  CHECK(uut.has_expired());
  uut.release(1, "a");
  acquire(1, "b", 20s);
  uut.clear(2);
  acquire(1, "c", 5s);
  CHECK(taken() == "1.d@10000"); // The next advance finds c.
  CHECK(expire(10s) == "1.c@5000");
  CHECK(expire(20s) == "1.b@20000");
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(
  fixture, "timer_deadlines: timers found later are sorted in with the rest",
  "[core]") {
  acquire(1, "b", 10s);
  uut.advance(at(10s));
  acquire(1, "a", 5s);
  acquire(1, "c", 11s);
  CHECK(expire(11s) == "1.a@5000 1.b@10000 1.c@11000");
}

TEST_CASE_METHOD(fixture, "timer_deadlines: time does not go back", "[core]") {
  acquire(1, "a", 10s);
  CHECK(expire(20s) == "1.a@10000");
  acquire(1, "b", 15s);
  CHECK(expire(14s) == "");
  CHECK(expire(15s) == "1.b@15000");
}

TEST_CASE_METHOD(fixture, "timer_deadlines: no deadline is too far", "[core]") {
  uut.acquire(1, "never", time_point::max(), 9);
  uut.acquire(1, "ever", time_point::min(), 9);
  CHECK(uut.next_due() == time_point::min());
  CHECK(expire(100'000h).starts_with("1.ever"));
  CHECK(uut.next_due() == time_point::max());
  uut.advance(time_point::max() - 1ns);
  CHECK(!uut.has_expired());
  uut.advance(time_point::max());
  CHECK(uut.take_expired()->scope == "never");
}

TEST_CASE_METHOD(fixture,
                 "timer_deadlines: next_due follows releases and renewals",
                 "[core]") {
  acquire(1, "a", 10s);
  acquire(2, "b", 11s);
  uut.release(1, "a");
  CHECK(uut.next_due() == at(11s));
  acquire(2, "b", 12s);
  CHECK(uut.next_due() == at(12s));
}

TEST_CASE("timer_deadlines: the number of timers is bounded", "[core]") {
  auto uut
    = timer_deadlines{{.timer_count_max = 3, .timers_per_worker_max = 2}};
  CHECK(uut.acquire(1, "a", at(1s), 9));
  CHECK(uut.acquire(1, "b", at(1s), 9));
  CHECK(!uut.acquire(1, "c", at(1s), 9)); // The worker's limit …
  CHECK(uut.acquire(2, "a", at(1s), 9));
  CHECK(!uut.acquire(2, "b", at(1s), 9)); // … and that of the table.
  CHECK(uut.acquire(1, "a", at(2s), 9));  // Already there.
  CHECK(uut.size() == 3);
  uut.release(1, "b");
  CHECK(uut.acquire(2, "b", at(1s), 9));
}

TEST_CASE("timer_deadlines: the texts of scopes are bounded", "[core]") {
  auto uut = timer_deadlines{{.text_max = 100}};
  CHECK(uut.acquire(1, std::string(60, 'a'), at(1s), 9));
  CHECK(uut.acquire(2, std::string(40, 'a'), at(1s), 9));
  CHECK(!uut.acquire(1, "b", at(1s), 9));
  CHECK(uut.release(2, std::string(40, 'a')));
  CHECK(uut.acquire(1, "b", at(1s), 9));
  auto other = timer_deadlines{};
  CHECK(!other.acquire(1, std::string(scope_text_max + 1, 'c'), at(1s), 9));
}

} // namespace actorrun::test::deadlines_test
