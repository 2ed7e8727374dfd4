#include "tests/actors/timer_server_fixture.hpp"

namespace actorrun::test::timer_server_watchdog_test {

namespace {

struct watchdog_fixture : timer_server_fixture {
  watchdog_fixture() {
    begin();
    start_worker(1, 0);
  }
};

const auto silent
  = std::string{R"(report_overrun 1/0 pid 100 "watchdog" 0 ns late, signal 9)"};

} // namespace

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: a worker that has sent a sign of life must go on",
                 "[actors]") {
  notify(100, "READY=1\nWATCHDOG=1");
  advance(29s);
  notify(100, "WATCHDOG=1\n");
  advance(29s);
  CHECK(told() == "");
  advance(1s);
  CHECK(told() == silent);
}

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: a worker that has sent none may stay silent",
                 "[actors]") {
  notify(100, "READY=1\nSTATUS=training");
  notify(100, "");
  CHECK(figures().timer_count == 0);
}

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: a worker that is stopping need not send any",
                 "[actors]") {
  notify(100, "WATCHDOG=1");
  notify(100, "STOPPING=1");
  advance(1h);
  CHECK(told() == "");
}

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: a worker that reports itself stuck is overdue at "
                 "once",
                 "[actors]") {
  notify(100, "WATCHDOG=trigger");
  advance(core::wakeup_delay_min);
  CHECK(told().starts_with(R"(report_overrun 1/0 pid 100 "watchdog" )"));
}

TEST_CASE_METHOD(watchdog_fixture, "watchdog: a worker may choose its interval",
                 "[actors]") {
  notify(100, "WATCHDOG_USEC=5000000");
  notify(100, "WATCHDOG=1");
  advance(5s - 1us);
  CHECK(told() == "");
  advance(1us);
  CHECK(told() == silent);
}

TEST_CASE_METHOD(watchdog_fixture, "watchdog: a worker may turn it off",
                 "[actors]") {
  notify(100, "WATCHDOG=1");
  notify(100, "WATCHDOG_USEC=0");
  notify(100, "WATCHDOG=1");
  advance(1h);
  CHECK(told() == "");
  // Its successor in the next generation has not.
  end_worker(1, 0);
  start_worker(2, 0);
  notify(200, "WATCHDOG=1");
  advance(30s);
  CHECK(told().starts_with(R"(report_overrun 2/0 pid 200 "watchdog")"));
}

TEST_CASE_METHOD(
  watchdog_fixture,
  "watchdog: a live worker keeps its interval from generation to "
  "generation",
  "[actors]") {
  notify(100, "WATCHDOG_USEC=60000000");
  park_worker(1, 0);
  advance(1h);
  start_worker(2, 0, 100);
  notify(100, "WATCHDOG=1");
  advance(60s - 1us);
  CHECK(told() == "");
  advance(1us);
  CHECK(told().starts_with(R"(report_overrun 2/0 pid 100 "watchdog")"));
  // Another process with its pid has chosen none.
  tell_uut(workers_untimed{{2}, {{0, 100}}});
  start_worker(3, 0, 100);
  notify(100, "WATCHDOG=1");
  advance(30s);
  CHECK(told().starts_with(R"(report_overrun 3/0 pid 100 "watchdog")"));
}

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: a child process sends signs of life for its "
                 "worker",
                 "[actors]") {
  members->add(555, 100);
  notify(555, "WATCHDOG=1");
  members->remove(555);
  advance(29s);
  notify(100, "WATCHDOG=1");
  advance(29s);
  CHECK(told() == "");
  advance(1s);
  CHECK(told() == silent);
}

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: a worker may speak before its start is known",
                 "[actors]") {
  members->add(300, 300);
  notify(300, "WATCHDOG_USEC=60000000\nWATCHDOG=1");
  CHECK(figures().timer_count == 0);
  start_worker(1, 1, 300);
  advance(60s - 1us);
  CHECK(told() == "");
  advance(1us);
  CHECK(told().starts_with(R"(report_overrun 1/1 pid 300 "watchdog")"));
}

TEST_CASE_METHOD(
  watchdog_fixture,
  "watchdog: a sign of life of a live worker between generations "
  "counts for none",
  "[actors]") {
  members->add(100, 100);
  park_worker(1, 0);
  notify(100, "WATCHDOG_USEC=60000000\nWATCHDOG=1");
  start_worker(2, 0, 100);
  CHECK(figures().timer_count == 0);
  notify(100, "WATCHDOG=1");
  advance(60s - 1us); // But for its interval.
  CHECK(told() == "");
  advance(1us);
  CHECK(told().starts_with(R"(report_overrun 2/0 pid 100 "watchdog")"));
}

TEST_CASE_METHOD(watchdog_fixture, "watchdog: other processes are ignored",
                 "[actors]") {
  notify(4711, "WATCHDOG=1");
  CHECK(figures().timer_count == 0);
}

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: unread signs of life count before it reports",
                 "[actors]") {
  notify(100, "WATCHDOG=1");
  advance(29s);
  notices->send_unheard(100, "WATCHDOG=1");
  advance(2s);
  CHECK(told() == "");
  advance(29s); // Counted from the reading.
  CHECK(told() == silent);
}

TEST_CASE_METHOD(watchdog_fixture,
                 "watchdog: one turn reads a bounded number of notices",
                 "[actors]") {
  for (size_t i = 0; i < 3 * notice_turn; ++i)
    notices->send_unheard(4711, "WATCHDOG=1");
  notify(100, "WATCHDOG=1"); // Behind all of them.
  CHECK(figures().timer_count == 1);
}

} // namespace actorrun::test::timer_server_watchdog_test
