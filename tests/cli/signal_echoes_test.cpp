#include "cli/signal_echoes.hpp"
#include "tests/support/catch.hpp"

#include <csignal>

namespace actorrun::test::signal_echoes_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

/// A person at a terminal, and two programs that pass signals on.
constexpr auto terminal = int64_t{-1};
constexpr auto wrapper = int64_t{4711};
constexpr auto other = int64_t{4712};

struct fixture {
  bool counts(std::chrono::milliseconds when, int64_t sender,
              int signal = SIGINT) {
    return uut.counts(signal, sender, signal_echoes::time_point{when});
  }

  signal_echoes uut;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "signal echoes: what comes on two ways counts once"
                 " (R5)",
                 "[cli]") {
  CHECK(counts(0ms, terminal));
  CHECK_FALSE(counts(5ms, wrapper));
  CHECK_FALSE(counts(299ms, other));
}

TEST_CASE_METHOD(fixture, "signal echoes: a second one counts later", "[cli]") {
  CHECK(counts(0ms, terminal));
  CHECK_FALSE(counts(50ms, wrapper));
  CHECK(counts(300ms, terminal));
  CHECK_FALSE(counts(350ms, wrapper));
}

TEST_CASE_METHOD(fixture, "signal echoes: what one sender sends twice is two",
                 "[cli]") {
  CHECK(counts(0ms, wrapper));
  CHECK(counts(1ms, wrapper));
  // Its echo is one of the second.
  CHECK_FALSE(counts(2ms, terminal));
}

TEST_CASE_METHOD(fixture,
                 "signal echoes: an impatient person counts at once,"
                 " on both ways once each",
                 "[cli]") {
  CHECK(counts(0ms, terminal));
  CHECK_FALSE(counts(5ms, wrapper));
  CHECK(counts(150ms, terminal));
  CHECK_FALSE(counts(155ms, wrapper));
}

TEST_CASE_METHOD(fixture,
                 "signal echoes: who has passed it on and sends another"
                 " means another",
                 "[cli]") {
  CHECK(counts(0ms, terminal));
  CHECK_FALSE(counts(5ms, wrapper));
  CHECK(counts(100ms, wrapper));
}

TEST_CASE_METHOD(fixture,
                 "signal echoes: the time runs from the one that"
                 " counted",
                 "[cli]") {
  CHECK(counts(0ms, terminal));
  CHECK_FALSE(counts(200ms, wrapper));
  CHECK(counts(400ms, other));
}

TEST_CASE_METHOD(fixture, "signal echoes: another signal is no echo", "[cli]") {
  CHECK(counts(0ms, terminal, SIGINT));
  CHECK(counts(5ms, wrapper, SIGTERM));
  CHECK_FALSE(counts(6ms, wrapper, SIGINT));
}

} // namespace actorrun::test::signal_echoes_test
