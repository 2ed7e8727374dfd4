#include "tests/actors/timer_server_fixture.hpp"

namespace actorrun::test::timer_server_reading_test {

namespace {

/// Lines that are no requests, as many as fit into the given number of bytes.
std::string garbage(size_t size) {
  auto out = std::string{};
  while (out.size() + 64 < size)
    out += std::string(63, 'x') + "\n";
  return out;
}

struct reading_fixture : timer_server_fixture {
  /// A worker with one timer that expires in a second.
  void begin_with_timer() {
    begin();
    start_worker(1, 0);
    write(acquire(100, "a", 1s));
  }

  /// From now on the FIFO is never empty, for the given number of reads.
  void refill(int count) {
    source->after_read = [this, count, more = garbage(timer_slice)] {
      while (refills <= count && source->size() < 2 * timer_slice)
        source->write_unheard(more);
      ++refills;
    };
  }

  int refills = 0;
};

const auto overrun_of_a
  = std::string{R"(report_overrun 1/0 pid 100 "a" 0 ns late, signal 9)"};

} // namespace

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: requests in the FIFO count before it "
                 "reports",
                 "[actors]") {
  begin_with_timer();
  source->write_unheard(release(100, "a"));
  advance(2s);
  CHECK(told() == "");
  CHECK(figures().requests.released == 1);
}

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: a renewal in the FIFO counts, too",
                 "[actors]") {
  begin_with_timer();
  source->write_unheard(acquire(100, "a", 3s));
  advance(2s);
  CHECK(told() == "");
  advance(1s);
  CHECK(told() == overrun_of_a);
}

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: a request that had to wait for room in the "
                 "FIFO counts, too",
                 "[actors]") {
  begin_with_timer();
  source->write_unheard(garbage(timer_slice));
  source->after_read = [this, left = 1]() mutable {
    if (left-- > 0)
      source->write_unheard(release(100, "a"));
  };
  advance(2s);
  CHECK(told() == "");
}

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: a FIFO that is never empty "
                 "does not keep it from reporting",
                 "[actors]") {
  begin_with_timer();
  constexpr auto refill_count = 2'000;
  refill(refill_count);
  auto reads_before_report = 0;
  source->after_read = [&, refilling = source->after_read] {
    refilling();
    if (heard.is_empty())
      ++reads_before_report;
  };
  source->write_unheard(garbage(2 * timer_slice));
  sleep_over(1s);
  // One turn that was under way, and one that reads all there is.
  CHECK(reads_before_report
        <= int(timer_turn / timer_slice + 3 * timer_drains_max));
  CHECK(told() == overrun_of_a);
  write("\n");
  CHECK(refills > refill_count);
}

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: it reads a bounded amount in one turn",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  constexpr auto refill_count = 100;
  refill(refill_count);
  write(garbage(2 * timer_slice));
  CHECK(refills > refill_count);
  CHECK(source->read_count
        <= source->question_count * (timer_turn / timer_slice));
}

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: garbage is counted, and logged once a "
                 "minute",
                 "[actors]") {
  begin_with_timer();
  write("garbage\n{\"pid\": 100}\n\xff\xfe\n"
        + std::string(core::timer_line_max + 1, 'x') + "\n");
  CHECK(said()
        == "warning timer server skips 4 lines that are no requests; the last: "
             + core::to_string(core::timer_fault{
               core::timer_fault::kind::too_long, core::timer_line_max})
             + "\n");
  write("garbage\n");
  advance(59s);
  told();
  write("garbage\n");
  CHECK(said().find("skips") == std::string::npos);
  advance(1s);
  write("garbage\n");
  CHECK(said().find("skips 3 lines") != std::string::npos);
  write("garbage\n");
  CHECK(said() == "");
  end(uut);
  CHECK(said().find("skips 1 lines") != std::string::npos);
}

TEST_CASE_METHOD(reading_fixture, "timer_server: garbage harms no other line",
                 "[actors]") {
  begin();
  start_worker(1, 0);
  const auto good = acquire(100, "a", 1s);
  write("{\"pid\": 100, \"scope" + good
        + std::string(3 * core::timer_line_max, 'x') + "\n"
        + acquire(100, "b", 1h));
  const auto x = figures();
  CHECK(x.timer_count == 2);
  CHECK(x.lines.requests == 2);
  CHECK(x.lines.malformed == 1);
  CHECK(x.lines.oversized == 1);
}

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: a line may arrive in any pieces", "[actors]") {
  begin();
  start_worker(1, 0);
  for (const auto c : acquire(100, "a", 1s))
    write(std::string(1, c));
  advance(1s);
  CHECK(told() == overrun_of_a);
}

TEST_CASE_METHOD(reading_fixture,
                 "timer_server: a step of the wall clock moves "
                 "no timer",
                 "[actors]") {
  begin_with_timer();
  source->offset += 1h;
  write(acquire(100, "b", 100s)); // By the old clock: 3,500 s ago.
  advance(900ms);
  CHECK(told() == "");
  advance(100ms);
  CHECK(told() == overrun_of_a);
}

TEST_CASE_METHOD(reading_fixture, "timer_server: too many timers are refused",
                 "[actors]") {
  auto with = config();
  with.limits.timers_per_worker_max = 2;
  begin(with);
  start_worker(1, 0);
  start_worker(1, 1);
  write(acquire(100, "a", 1h) + acquire(100, "b", 1h) + acquire(100, "c", 1h)
        + acquire(101, "c", 1h));
  CHECK(figures().timer_count == 3);
  CHECK(figures().requests.refused == 1);
}

} // namespace actorrun::test::timer_server_reading_test
