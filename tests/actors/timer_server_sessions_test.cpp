#include "tests/actors/timer_server_fixture.hpp"

namespace actorrun::test::timer_server_sessions_test {

namespace {

struct session_fixture : timer_server_fixture {
  session_fixture() {
    begin();
    start_worker(1, 0);
    members->add(100, 100);
    members->add(555, 100);
  }
};

} // namespace

TEST_CASE_METHOD(session_fixture,
                 "timer_server: a child process of a worker has timers of "
                 "its own",
                 "[actors]") {
  write(acquire(555, "a", 1s) + acquire(100, "a", 2s));
  CHECK(figures().timer_count == 2);
  advance(1s);
  CHECK(told() == R"(report_overrun 1/0 pid 555 "a" 0 ns late, signal 9)");
  CHECK(
    said()
    == "warning timer server reports process 555 of worker 0 of generation 1: "
       "timer \"a\" is overdue by 0.0 ms\n");
}

TEST_CASE_METHOD(session_fixture,
                 "timer_server: timers of a process that has ended are "
                 "dropped",
                 "[actors]") {
  write(acquire(555, "a", 1s) + acquire(555, "b", 2s, 0));
  members->remove(555);
  advance(3s);
  CHECK(told() == "");
  CHECK(said() == "");
  CHECK(figures().timer_count == 0);
}

TEST_CASE_METHOD(session_fixture,
                 "timer_server: they are dropped even if another process "
                 "has the pid",
                 "[actors]") {
  write(acquire(555, "a", 1s));
  members->add(555, 100, 2);
  advance(1s);
  CHECK(told() == "");
  advance(1ms); // Until then a line may be of the old process.
  write(acquire(555, "b", 1s));
  advance(1s);
  CHECK(told() == R"(report_overrun 1/0 pid 555 "b" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(
  session_fixture,
  "timer_server: a worker's end drops the timers of its child processes",
  "[actors]") {
  write(acquire(555, "a", 1s));
  end_worker(1, 0);
  CHECK(figures().timer_count == 0);
  advance(2s);
  CHECK(told() == "");
}

TEST_CASE_METHOD(session_fixture,
                 "timer_server: a child process may write before its worker "
                 "is known",
                 "[actors]") {
  members->add(101, 101);
  members->add(556, 101);
  write(acquire(556, "a", 1s));
  start_worker(1, 1);
  advance(1s);
  CHECK(told() == R"(report_overrun 1/1 pid 556 "a" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(session_fixture,
                 "timer_server: the number of processes with timers is bounded",
                 "[actors]") {
  const auto first = int64_t{10'000};
  const auto last = first + int64_t(session_member_count_max);
  auto text = std::string{};
  for (auto pid = first; pid <= last; ++pid) {
    members->add(pid, 100);
    text += acquire(pid, "a", 1h);
  }
  write(text);
  CHECK(figures().timer_count == session_member_count_max);
  CHECK(figures().requests.unknown == 1);
  // Ended processes make room after the next purge.
  members->remove(first);
  write(acquire(last, "a", 1h));
  CHECK(figures().timer_count == session_member_count_max);
  CHECK(figures().requests.unknown == 2);
  advance(session_purge_interval);
  write(acquire(last, "a", 1h));
  CHECK(figures().timer_count == session_member_count_max);
  CHECK(figures().requests.unknown == 2);
}

TEST_CASE_METHOD(session_fixture,
                 "timer_server: a full table is not searched again for "
                 "every line",
                 "[actors]") {
  for (int64_t i = 0; i < int64_t(session_member_count_max); ++i) {
    members->add(10'000 + i, 100);
    write(acquire(10'000 + i, "a", 1h));
  }
  members->add(9'999, 100);
  const auto before = members->birth_count;
  for (auto i = 0; i < 100; ++i)
    write(acquire(9'999, "a", 1h));
  CHECK(members->birth_count - before <= session_member_count_max);
}

} // namespace actorrun::test::timer_server_sessions_test
