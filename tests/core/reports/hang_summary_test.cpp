#include "actors/core/reports/hang_summary.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>

namespace actorrun::test::hang_summary_test {

using namespace actorrun::core;

namespace {

thread_snapshot snapshot(char state, std::string wchan = "",
                         std::string syscall = "") {
  return {{"worker", state}, std::move(wchan), std::move(syscall)};
}

constexpr auto dump = R"x(Process 4711: python train.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 4720 (idle): "Thread-1 (pin)"
    wait (threading.py:320)
    run (threading.py:975)
Thread 4711 (active): "MainThread"
    train_step (train.py:41)
    <module> (train.py:99)
)x";

} // namespace

// -- what the kernel writes ---------------------------------------------------

TEST_CASE("hang_summary: the number of a system call is read", "[core]") {
  CHECK(parse_syscall("202 0x7f 0x80 0x0\n") == 202);
  CHECK(parse_syscall("0 0x3 0x7f\n") == 0);
  CHECK(parse_syscall("7") == 7);
  for (const auto* text : {"running\n", "-1 0x0 0x0\n", "", " \n", "2x2 0x0",
                           "99999999999999999999 0x0"})
    CHECK_FALSE(parse_syscall(text));
}

TEST_CASE("hang_summary: a place is described in a few words", "[core]") {
  CHECK(place_of(snapshot('S', "futex_wait_queue", "futex"))
        == "in futex_wait_queue");
  CHECK(place_of(snapshot('S', "0", "futex")) == "in futex");
  CHECK(place_of(snapshot('S', "", "read")) == "in read");
  CHECK(place_of(snapshot('S')) == "in an unknown place");
  CHECK(place_of(snapshot('R', "0", "read")) == "running");
  CHECK(place_of(snapshot('D', "rpc_wait_bit_killable"))
        == "uninterruptible in rpc_wait_bit_killable");
  CHECK(place_of(snapshot('T')) == "stopped (SIGSTOP)");
  CHECK(place_of(snapshot('t')) == "stopped by a tracer");
  CHECK(place_of(snapshot('Z')) == "ended");
  CHECK(place_of({}) == "in an unknown place");
}

TEST_CASE("hang_summary: a place is one line of bounded length", "[core]") {
  const auto at_bound = std::string(place_name_max, 'f');
  CHECK(place_of(snapshot('S', at_bound)) == "in " + at_bound);
  CHECK(place_of(snapshot('S', at_bound + "f")).size()
        == std::string{"in "}.size() + place_name_max);
  CHECK(place_of(snapshot('S', "a\nb\x1b[2J")) == "in a b");
}

// -- what py-spy writes -------------------------------------------------------

TEST_CASE("hang_summary: the main thread's innermost frame counts", "[core]") {
  CHECK(innermost_frame(dump) == "train_step (train.py:41)");
}

TEST_CASE("hang_summary: without a main thread the first thread counts",
          "[core]") {
  auto text = std::string{dump};
  text.resize(text.find("Thread 4711"));
  CHECK(innermost_frame(text) == "wait (threading.py:320)");
}

TEST_CASE("hang_summary: other output has no frame", "[core]") {
  for (const auto* text :
       {"", "\n\n", "Process 1: python", "    frame (x.py:1)\n",
        "Thread 1 (idle)\nno frame (x.py:1)", "Thread 1 (idle)\n    text\n"})
    CHECK(innermost_frame(text).empty());
  const auto long_name = std::string(1'000, 'x');
  CHECK(
    innermost_frame("Thread 1 (idle)\n    " + long_name + " (x.py:1)").size()
    == place_name_max);
}

// -- the summary --------------------------------------------------------------

TEST_CASE("hang_summary: a worker that differs from all others is the odd one",
          "[core]") {
  CHECK(stuck_summary({{0, "in poll", ""},
                       {1, "in poll", ""},
                       {2, "in futex", ""},
                       {3, "in poll", ""}},
                      2)
        == "rank 2 is the odd one out\n"
           "rank 2 in futex\n"
           "ranks 0-1,3 in poll");
}

TEST_CASE("hang_summary: the odd one need not be the overdue one", "[core]") {
  CHECK(stuck_summary(
          {{4, "in futex", ""}, {5, "running", ""}, {6, "in futex", ""}}, 4)
        == "rank 5 is the odd one out\n"
           "ranks 4,6 in futex\n"
           "rank 5 running");
}

TEST_CASE("hang_summary: no worker is odd where all, two or many differ",
          "[core]") {
  CHECK_FALSE(odd_one_out({}));
  CHECK_FALSE(odd_one_out({{0, "a", ""}}));
  CHECK_FALSE(odd_one_out({{0, "a", ""}, {1, "b", ""}}));
  CHECK(odd_one_out({{0, "a", ""}, {1, "b", ""}, {2, "b", ""}}) == 0U);
  CHECK_FALSE(odd_one_out({{0, "a", ""}, {1, "b", ""}, {2, "c", ""}}));
  CHECK_FALSE(
    odd_one_out({{0, "a", ""}, {1, "a", ""}, {2, "b", ""}, {3, "b", ""}}));
  CHECK_FALSE(odd_one_out({{0, "a", ""}, {1, "a", ""}, {2, "a", ""}}));
}

TEST_CASE("hang_summary: frames count more than places, if they agree",
          "[core]") {
  CHECK(
    odd_one_out(
      {{0, "a", "f (x.py:1)"}, {1, "a", "f (x.py:1)"}, {2, "a", "g (x.py:9)"}})
    == 2U);
  CHECK(
    odd_one_out(
      {{0, "a", "f (x.py:1)"}, {1, "a", "f (x.py:2)"}, {2, "b", "g (x.py:9)"}})
    == 2U);
  CHECK(stuck_summary({{0, "in poll", "f (x.py:1)"}}, 0)
        == "rank 0 in poll at f (x.py:1)");
}

} // namespace actorrun::test::hang_summary_test
