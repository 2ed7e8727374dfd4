#include "tests/actors/timer_server_fixture.hpp"

#include <algorithm>

namespace actorrun::test::timer_server_test {

using timer_server_fixture = timer_server_fixture;

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: an overdue worker is reported at its "
                 "deadline",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  write(acquire(100, "step", 2s, 15));
  advance(2s - 1us);
  CHECK(told() == "");
  advance(1us);
  CHECK(told() == R"(report_overrun 1/0 pid 100 "step" 0 ns late, signal 15)");
  CHECK(
    said()
    == "warning timer server reports worker 0 of generation 1 (pid 100): timer "
       "\"step\" is overdue by 0.0 ms\n");
  advance(24h);
  CHECK(told() == "");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: a late wake-up shows in the lateness",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  write(acquire(100, "step", 2s));
  sleep_over(2s + 30ms);
  CHECK(told()
        == R"(report_overrun 1/0 pid 100 "step" 30000000 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: a worker that releases in time is left alone",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  write(acquire(100, "a", 2s) + acquire(100, "b", 3s));
  write(release(100, "a"));
  advance(2500ms);
  CHECK(told() == "");
  advance(500ms);
  CHECK(told() == R"(report_overrun 1/0 pid 100 "b" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: one wake-up is ordered for many timers",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  for (auto i = 0; i < 1000; ++i)
    write(acquire(100, "scope " + std::to_string(i), 10s + i * 1ms));
  CHECK(figures().timer_count == 1000);
  CHECK(armed_count() <= 2); // The other one is the timeout of `figures`.
  for (auto i = 0; i < 1000; ++i)
    write(acquire(100, "one that makes progress", 20s)
          + release(100, "one that makes progress"));
  CHECK(armed_count() <= 2);
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: deadlines that come nearer order few "
                 "wake-ups",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  for (auto i = 0; i < 1000; ++i)
    write(acquire(100, "s" + std::to_string(i), 2000s - i * 1s));
  CHECK(armed_count() < 70);
  advance(1000s);
  CHECK(told() == "");
  advance(1s + core::wakeup_delay_min);
  CHECK(told().starts_with(R"(report_overrun 1/0 pid 100 "s999" )"));
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: without timers nothing wakes it", "[actors]") {
  begin();
  start_worker(1, 0);
  CHECK(armed_count() == 0);
  CHECK(source->is_waited_for());
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: without a signal an overrun is logged",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  write(acquire(100, "slow", 1s, 0) + acquire(100, "slower", 2s, -1));
  advance(3s);
  CHECK(told() == "");
  CHECK(
    said()
    == "warning timer server records worker 0 of generation 1 (pid 100): timer "
       "\"slow\" is overdue by 0.0 ms\n"
       "warning timer server records worker 0 of generation 1 (pid 100): timer "
       "\"slower\" is overdue by 0.0 ms\n");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: names of timers cannot damage the log",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  write(acquire(100, R"(\u001b[31m\n\r\" )" + std::string(1000, 'x'), 1s, 0));
  advance(1s);
  const auto text = said();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.find('\033') == text.npos);
  CHECK(text.size() < 400);
}

// -- which worker is concerned ------------------------------------------------

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: timers vanish with their worker", "[actors]") {
  begin();
  start_worker(1, 0);
  start_worker(1, 1);
  write(acquire(100, "a", 1s) + acquire(101, "b", 2s));
  end_worker(1, 0);
  advance(1s);
  CHECK(told() == "");
  advance(1s);
  CHECK(told() == R"(report_overrun 1/1 pid 101 "b" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: timers of a generation do not affect the next",
                 "[actors]") {
  begin();
  start_worker(1, 0, 77);
  write(acquire(77, "a", 1s));
  end_worker(1, 0);
  start_worker(2, 0, 77); // The system reuses the pid.
  advance(2s);
  CHECK(told() == "");
  write(acquire(77, "b", 1s));
  advance(1s);
  CHECK(told() == R"(report_overrun 2/0 pid 77 "b" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: requests of a dead worker in the FIFO are "
                 "not its successor's",
                 "[actors]") {
  begin();
  start_worker(1, 0, 77);
  source->write_unheard(acquire(77, "a", 1s));
  // Both arrive before anything is read.
  tell_anonymously(uut, workers_untimed{{1}, {{0}}});
  start_worker(2, 0, 77);
  advance(2s);
  CHECK(told() == "");
  CHECK(figures().timer_count == 0);
}

TEST_CASE_METHOD(
  timer_server_fixture,
  "timer_server: a generation's overruns go only to the listener "
  "that it named",
  "[actors]") {
  begin();
  start_worker(1, 0);
  write(acquire(100, "a", 1s));
  end(supervisor);
  advance(1s);
  CHECK(told() == ""); // Nothing else happens.
  CHECK(said().find("timer server reports worker 0") != std::string::npos);
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: a process of no worker is refused, and that "
                 "is logged once",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  members->births[777] = 1;
  write(acquire(777, "a", 1s) + acquire(778, "a", 1s) + acquire(777, "b", 1s));
  CHECK(said()
        == "warning timer server ignores process 777: it belongs to no worker "
           "of this agent\n");
  CHECK(figures().requests.unknown == 3);
  advance(2s);
  CHECK(told() == "");
}

// -- early requests -----------------------------------------------------------

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: a worker may write before it is known",
                 "[actors]") {
  begin();
  members->add(100, 100);
  write(acquire(100, "a", 1s) + acquire(100, "b", 500ms) + release(100, "b"));
  CHECK(figures().timer_count == 0);
  start_worker(1, 0);
  CHECK(figures().timer_count == 1);
  advance(1s);
  CHECK(told() == R"(report_overrun 1/0 pid 100 "a" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: P9 a limit counts from when the line is read,"
                 " not from when its worker is known",
                 "[actors]") {
  begin();
  members->add(100, 100);
  write(acquire(100, "a", 500ms));
  advance(300ms);
  start_worker(1, 0);
  advance(200ms + 1ms);
  CHECK(told().starts_with(R"(report_overrun 1/0 pid 100 "a" )"));
  CHECK(latest_overrun->limit == 500ms);
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: a deadline may be over before its "
                 "worker is known",
                 "[actors]") {
  begin();
  members->add(100, 100);
  write(acquire(100, "a", 100ms));
  advance(200ms);
  start_worker(1, 0);
  CHECK(told()
        == R"(report_overrun 1/0 pid 100 "a" 100000000 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: early requests are kept for a second",
                 "[actors]") {
  begin();
  members->add(100, 100);
  members->add(101, 101);
  write(acquire(100, "a", 1h));
  advance(1ns);
  write(acquire(101, "a", 1h));
  advance(core::early_timeout);
  start_worker(1, 0);
  start_worker(1, 1);
  CHECK(figures().timer_count == 1);
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: the number of early requests is bounded",
                 "[actors]") {
  begin();
  members->add(100, 100);
  auto text = std::string{};
  for (size_t i = 0; i <= core::early_requests_max; ++i)
    text += acquire(100, std::to_string(i), 1h);
  write(text);
  CHECK(figures().requests.unknown == 1);
  start_worker(1, 0);
  CHECK(figures().timer_count == core::early_requests_max);
}

// -- the end ------------------------------------------------------------------

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: it releases everything at its end",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  write(acquire(100, "a", 1h));
  end(uut);
  CHECK(source.use_count() == 1);
  CHECK(notices.use_count() == 1);
  CHECK(members.use_count() == 1);
  source->write("late\n"); // No callback is left.
  run();
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: it works without any port", "[actors]") {
  begin({});
  start_worker(1, 0);
  tell_uut(acquire_worker_timer{{1}, 0, "a", 1s, SIGTERM});
  advance(1s);
  CHECK(told() == R"(report_overrun 1/0 pid 100 "a" 0 ns late, signal 15)");
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: functions are told of all timers of workers",
                 "[actors]") {
  auto told_of = std::string{};
  auto x = config();
  x.functions.on_acquired = [&](const core::timed_worker& who,
                                std::string_view scope, core::duration left) {
    told_of += std::to_string(who.local_rank) + " " + std::string{scope} + " "
               + std::to_string(left / 1ms) + "\n";
  };
  x.functions.on_released
    = [&](const core::timed_worker& who, std::string_view scope) {
        told_of += std::to_string(who.local_rank) + " ends "
                   + std::string{scope} + "\n";
      };
  begin(std::move(x));
  start_worker(1, 0);
  start_worker(1, 3);
  write(acquire(100, "a", 2s) + acquire(103, "b", -1s) + release(100, "a"));
  notify(100, "WATCHDOG=1");
  notify(100, "STOPPING=1");
  tell_uut(acquire_worker_timer{{1}, 0, "c", 4s});
  tell_uut(release_worker_timer{{1}, 0, "c"});
  CHECK(told_of
        == "0 a 2000\n3 b -1000\n0 ends a\n0 watchdog 30000\n"
           "0 ends watchdog\n0 c 4000\n0 ends c\n");
  CHECK(told() != ""); // Without a function for it, an overrun kills.
}

TEST_CASE_METHOD(timer_server_fixture,
                 "timer_server: a function decides whether an overrun kills",
                 "[actors]") {
  auto asked = std::string{};
  auto kills = false;
  auto x = config();
  x.functions.on_overrun = [&](const core::overrun& what) {
    asked += what.scope + " ";
    return kills;
  };
  begin(std::move(x));
  start_worker(1, 0);
  write(acquire(100, "a", 2s) + acquire(100, "dropped", 3s));
  advance(4s);
  CHECK(asked == "a ");
  CHECK(told() == "");
  write(acquire(100, "b", 2s));
  advance(2s);
  CHECK(asked == "a b ");
  CHECK(told() == "");
  kills = true;
  write(acquire(100, "c", 2s));
  advance(2s);
  CHECK(told() == R"(report_overrun 1/0 pid 100 "c" 0 ns late, signal 9)");
}

} // namespace actorrun::test::timer_server_test
