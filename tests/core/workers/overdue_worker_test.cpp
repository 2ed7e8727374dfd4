#include "actors/core/workers/overdue_worker.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <chrono>
#include <csignal>
#include <vector>

namespace actorrun::test::overdue_worker_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

overdue_worker overdue(int signal, std::chrono::milliseconds grace) {
  return {{.local_rank = 1,
           .scope = "step",
           .lateness = 2s,
           .limit = 30s,
           .signal = signal,
           .grace = grace},
          5s};
}

worker_exited killed_by(int signal, time_point when = {}) {
  return {.local_rank = 1, .signal = signal, .when = when};
}

} // namespace

TEST_CASE("overdue_worker: first its signal, then SIGKILL", "[core]") {
  auto uut = overdue(SIGTERM, 3s);
  CHECK_FALSE(uut.is_signalled());
  auto order = uut.end(time_point{1s});
  CHECK(order.signal == SIGTERM);
  CHECK(order.timeout == 3s);
  CHECK(uut.is_signalled());
  CHECK_FALSE(uut.is_killed());
  order = uut.end(time_point{4s});
  CHECK(order.signal == SIGKILL);
  CHECK(order.timeout == 5s);
  CHECK(uut.is_killed());
}

TEST_CASE("overdue_worker: without grace it is killed at once", "[core]") {
  auto uut = overdue(SIGTERM, 0s);
  CHECK(uut.end(time_point{1s}).signal == SIGKILL);
  CHECK(uut.is_killed());
}

TEST_CASE("overdue_worker: an end before the signal is not its effect",
          "[core]") {
  auto uut = overdue(SIGTERM, 3s);
  CHECK_FALSE(uut.has_caused(killed_by(SIGTERM)));
  uut.end(time_point{2s});
  CHECK_FALSE(uut.has_caused(killed_by(SIGTERM, time_point{1s})));
  CHECK(uut.has_caused(killed_by(SIGTERM, time_point{2s})));
}

TEST_CASE("overdue_worker: any end after its signal is its effect", "[core]") {
  auto uut = overdue(SIGTERM, 3s);
  uut.end(time_point{1s});
  CHECK(uut.has_caused({.local_rank = 1, .exit_code = 0}));
  CHECK(uut.has_caused(killed_by(SIGSEGV)));
}

TEST_CASE("overdue_worker: other ends are not the effect of SIGKILL",
          "[core]") {
  auto uut = overdue(SIGKILL, 0s);
  uut.end(time_point{1s});
  CHECK(uut.has_caused(killed_by(SIGKILL)));
  CHECK_FALSE(uut.has_caused(killed_by(SIGSEGV)));
  CHECK_FALSE(uut.has_caused({.local_rank = 1, .exit_code = 3}));
}

TEST_CASE("overdue_worker: its failure names the timer and the place",
          "[core]") {
  auto uut = overdue(SIGTERM, 3s);
  uut.set_where("train.py:7");
  uut.end(time_point{1s});
  const auto x = uut.failure_of({.local_rank = 1, .exit_code = 0});
  CHECK(x.kind == failure_kind::timer_expired);
  CHECK(x.code == SIGTERM);
  CHECK(x.details.scope == "step");
  CHECK(x.details.lateness == 2s);
  CHECK(x.details.limit == 30s);
  CHECK(x.details.where == "train.py:7");
}

TEST_CASE("overdue_workers: each has a timer of its own", "[core]") {
  auto uut = overdue_workers{5s};
  auto orders = group_orders{};
  const auto ordered = [&] { return test::transcript(orders.end_step()); };
  const auto overrun = [](uint32_t local_rank) {
    auto x = worker_overran{.local_rank = local_rank, .scope = "step"};
    x.signal = SIGTERM;
    x.grace = 3s;
    x.timeout = 1s;
    return x;
  };
  uut.add(overrun(0), orders);
  uut.add(overrun(2), orders);
  uut.add(overrun(2), orders);
  CHECK(ordered()
        == "arm_timer 1; probe_workers 0; arm_timer 2; probe_workers 2");
  CHECK(uut.on({{1}}, orders).empty());
  CHECK(ordered() == "signal_worker 0 15; arm_timer 3");
  CHECK_FALSE(uut.has_timer({1}));
  CHECK(uut.has_timer({3}));
  uut.set_where({0, "too late"}, orders);
  CHECK(ordered().empty());
  CHECK(uut.on({{3}}, orders).empty());
  CHECK(ordered() == "signal_worker 0 9; arm_timer 4");
  CHECK(uut.on({{4}}, orders) == std::vector<uint32_t>{0});
  CHECK(uut.on({{0}}, orders).empty());
  auto failure = worker_failure{};
  uut.explain(failure);
  CHECK(failure.details.scope == "step");
  CHECK(uut.take(2));
  CHECK_FALSE(uut.take(2));
  CHECK_FALSE(uut.has_timer({2}));
}

} // namespace actorrun::test::overdue_worker_test
