// Which deaths of a worker group are failures, and their ages when reported.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::worker_group_causes_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using milliseconds = std::chrono::milliseconds;

constexpr auto worker_count = uint32_t{20};

worker_exited exited(uint32_t local_rank, int code, milliseconds when = 0ms) {
  auto x = worker_exited{.local_rank = local_rank, .exit_code = code};
  x.when = time_point{when};
  return x;
}

constexpr auto stop = stop_ordered{SIGTERM, 5s};

/// Twenty workers run, processes 100 to 119.
struct fixture {
  fixture() {
    at(0ms, start_ordered{});
    at(0ms, workers_prepared{});
    for (uint32_t i = 0; i < worker_count; ++i)
      at(0ms, worker_started{i, 100 + int64_t(i)});
    REQUIRE(uut.current_phase() == worker_group::phase::running);
  }

  std::string at(milliseconds t, const worker_group_event& event) {
    effects = uut.step(event, time_point{t});
    return test::transcript(effects);
  }

  /// Ends all running workers with 0; returns the report: `0:5 1:3 +2`, local
  /// ranks with ages in ms, and how many are not listed.
  std::string others_at(milliseconds t) {
    for (uint32_t i = 0; i < worker_count; ++i)
      if (uut.workers()[i].now == worker_record::state::running)
        at(t, exited(i, 0));
    const auto* report = std::get_if<report_stopped>(&effects.back());
    REQUIRE(report != nullptr);
    auto text = std::string{};
    for (const auto& x : report->others.listed)
      text += (text.empty() ? "" : " ") + std::to_string(x.local_rank) + ":"
              + std::to_string(x.age / 1ms);
    return report->others.unlisted_count == 0
             ? text
             : text + " +" + std::to_string(report->others.unlisted_count);
  }

  worker_group uut{{.generation = {3},
                    .own = {.agent = {"a"},
                            .node_rank = 0,
                            .slot_count = worker_count,
                            .first_global_rank = 8,
                            .first_role_rank = 0,
                            .role_world_size = worker_count},
                    .node_count = 1,
                    .world_size = worker_count,
                    .master_address = "10.0.0.1",
                    .master_port = 29500,
                    .restart_count = 0},
                   "node-a"};
  std::vector<worker_group_effect> effects; ///< Of the latest step.
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "worker_group: a failure is reported with its details",
                 "[core]") {
  auto death = exited(1, 7, 30ms);
  death.details.message = "RuntimeError: no data";
  death.details.traceback = "line 1";
  at(50ms, death);
  const auto& failure = std::get<report_failed>(effects.at(0)).failure;
  CHECK(failure.details == death.details);
  CHECK(failure.age == 20ms);
}

// -- what error files say -----------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "worker_group: a stopped worker that had failed is listed in"
                 " front of the failure that it was before",
                 "[core]") {
  at(100ms, exited(1, 7, 100ms));
  at(100ms, stop);
  CHECK(uut.looks_back());
  auto older = exited(2, 1, 130ms);
  older.failed = time_point{60ms};
  auto younger = exited(3, 1, 131ms);
  younger.failed = time_point{85ms};
  auto late = exited(4, 1, 132ms); // The order may be the reason.
  late.failed = time_point{91ms};
  at(130ms, younger);
  at(131ms, older);
  at(132ms, late);
  at(133ms, exited(5, 1, 133ms)); // Says nothing.
  CHECK(others_at(160ms) == "2:100 3:75 1:60");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: the first failure is listed again only if"
                 " another one was before it",
                 "[core]") {
  auto first = exited(1, 7, 100ms);
  first.failed = time_point{50ms};
  at(100ms, first);
  CHECK(std::get<report_failed>(effects.at(0)).failure.age == 50ms);
  at(100ms, stop);
  auto younger = exited(2, 1, 130ms);
  younger.failed = time_point{60ms};
  at(130ms, younger);
  CHECK(others_at(160ms) == "2:100");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a file says nothing of a group that was stopped"
                 " for no failure of its own",
                 "[core]") {
  at(100ms, stop);
  CHECK_FALSE(uut.looks_back());
  auto older = exited(2, 1, 130ms);
  older.failed = time_point{60ms};
  at(130ms, older);
  CHECK(others_at(160ms) == "");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: no file is a day older than the group, nor"
                 " older than a death by less than files' clocks tell",
                 "[core]") {
  auto group = worker_group{uut.plan(), "node-a"};
  group.step(start_ordered{}, time_point{20ms});
  group.step(workers_prepared{}, time_point{20ms});
  for (uint32_t i = 0; i < worker_count; ++i)
    group.step(worker_started{i, 100 + int64_t(i)}, time_point{30ms});
  const auto age_of = [&](uint32_t rank, milliseconds failed) {
    auto x = exited(rank, 1, 100ms);
    x.failed = time_point{failed};
    auto copy = group;
    const auto out = copy.step(x, time_point{100ms});
    return std::get<report_failed>(out.at(0)).failure.age;
  };
  CHECK(age_of(1, 1ms) == 99ms);
  CHECK(age_of(1, -std::chrono::minutes{1}) == 1min + 100ms);
  CHECK(age_of(1, -std::chrono::hours{25}) == 24h + 80ms);
  CHECK(age_of(1, 80ms) == 20ms);
  CHECK(age_of(1, 90ms) == 0ms);
  CHECK(age_of(1, 500ms) == 0ms);
}

TEST_CASE_METHOD(fixture,
                 "worker_group: an older failure has its place in a"
                 " full list",
                 "[core]") {
  at(100ms, exited(0, 7, 100ms));
  for (uint32_t i = 1; i <= other_failures_max; ++i)
    at(101ms, exited(i, 7, 100ms));
  at(101ms, stop);
  auto older = exited(19, 1, 130ms);
  older.failed = time_point{60ms};
  at(130ms, older);
  const auto text = others_at(160ms);
  CHECK(text.starts_with("19:100 0:60 1:60"));
  CHECK(text.ends_with(" +2"));
}

TEST_CASE_METHOD(fixture, "worker_group: a start that failed has details, too",
                 "[core]") {
  auto group = worker_group{uut.plan(), "node-a"};
  group.step(start_ordered{}, time_point{0ms});
  group.step(workers_prepared{}, time_point{0ms});
  auto event = worker_not_started{.local_rank = 1, .error = ENOENT};
  event.details.subject = "/bin/none";
  event.when = time_point{40ms};
  const auto out = group.step(event, time_point{50ms});
  const auto& failure = std::get<report_failed>(out.at(0)).failure;
  CHECK(failure.details.subject == "/bin/none");
  CHECK(failure.age == 10ms);
  CHECK(failure.kind == failure_kind::not_started);
}

TEST_CASE_METHOD(fixture, "worker_group: a death without a time happened now",
                 "[core]") {
  at(50ms, exited(1, 7));
  CHECK(std::get<report_failed>(effects.at(0)).failure.age == 0ms);
}

TEST_CASE_METHOD(fixture, "worker_group: no death has a negative age",
                 "[core]") {
  at(50ms, exited(1, 7, 60ms)); // Two clock readings may differ.
  CHECK(std::get<report_failed>(effects.at(0)).failure.age == 0ms);
}

// -- after the first failure --------------------------------------------------

TEST_CASE_METHOD(
  fixture, "worker_group: later failures are reported when all have ended",
  "[core]") {
  at(10ms, exited(0, 1, 10ms));
  CHECK(at(20ms, exited(1, 1, 15ms)) == "");
  CHECK(at(30ms, exited(2, 1, 28ms)) == "");
  at(40ms, stop);
  CHECK(others_at(50ms) == "1:35 2:22");
}

TEST_CASE_METHOD(fixture, "worker_group: workers that succeed are never listed",
                 "[core]") {
  at(10ms, exited(0, 1, 10ms));
  at(20ms, exited(1, 0, 20ms));
  at(40ms, stop);
  CHECK(others_at(50ms) == "");
}

TEST_CASE_METHOD(fixture, "worker_group: the later failures have a limit",
                 "[core]") {
  at(10ms, exited(0, 1, 10ms));
  for (uint32_t i = 1; i <= other_failures_max; ++i) {
    CHECK(uut.lists_more());
    at(20ms, exited(i, 1, 20ms));
  }
  CHECK_FALSE(uut.lists_more());
  at(20ms, exited(other_failures_max + 1, 1, 20ms));
  at(20ms, exited(other_failures_max + 2, 1, 20ms));
  at(40ms, stop);
  CHECK(others_at(40ms).ends_with(" 16:20 +2"));
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a cancelled start is no failure of its own",
                 "[core]") {
  auto group = worker_group{uut.plan(), "node-a"};
  group.step(start_ordered{}, time_point{0ms});
  group.step(workers_prepared{}, time_point{0ms});
  group.step(worker_not_started{0, EIO}, time_point{0ms});
  for (uint32_t i = 1; i < worker_count; ++i)
    CHECK(
      group.step(worker_not_started{i, ECANCELED}, time_point{0ms}).empty());
  const auto out = group.step(stop, time_point{1ms});
  CHECK(test::transcript(out)
        == "signal_workers 15; arm_timer 1; release_workers; report_stopped");
}

// -- the order to stop --------------------------------------------------------

TEST_CASE_METHOD(fixture, "worker_group: ordered deaths are never listed",
                 "[core]") {
  at(10ms, exited(0, 1, 10ms));
  CHECK_FALSE(uut.has_ordered(time_point{40ms}));
  at(40ms, stop);
  CHECK(uut.has_ordered(time_point{40ms}));
  CHECK(uut.has_ordered(time_point{})); // A death at this time.
  at(41ms, exited(1, 1, 40ms));
  at(42ms, exited(2, 1));
  CHECK(others_at(50ms) == "");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a death before the order is not an ordered one",
                 "[core]") {
  at(40ms, stop);
  CHECK_FALSE(uut.has_ordered(time_point{40ms} - 1ns));
  auto death = exited(1, 1);
  death.when = time_point{40ms} - 1ns;
  CHECK(at(42ms, death) == ""); // Known too late to be reported first.
  CHECK(others_at(50ms) == "1:10");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: the order to kill is an order to stop, too",
                 "[core]") {
  at(40ms, kill_ordered{});
  at(42ms, exited(1, 1, 39ms));
  at(42ms, exited(2, 1, 40ms));
  CHECK(others_at(50ms) == "1:11");
}

TEST_CASE_METHOD(fixture, "worker_group: the time of the first order counts",
                 "[core]") {
  at(40ms, stop);
  at(60ms, kill_ordered{});
  at(61ms, exited(1, 1, 50ms));
  CHECK(others_at(70ms) == "");
}

// -- who has ended them -------------------------------------------------------

namespace {

worker_exited killed(uint32_t local_rank, int signal, milliseconds when) {
  auto x = worker_exited{.local_rank = local_rank, .signal = signal};
  x.when = time_point{when};
  x.memory = uint64_t{512} << 20;
  return x;
}

/// The failures in the report of a group that has stopped.
std::vector<worker_failure>
others_in(const std::vector<worker_group_effect>& effects) {
  const auto* report = std::get_if<report_stopped>(&effects.back());
  REQUIRE(report != nullptr);
  return report->others.listed;
}

} // namespace

TEST_CASE_METHOD(
  fixture,
  "worker_group: P1 a worker that was ending before the order has"
  " failed, whatever ended it",
  "[core]") {
  at(100ms, stop);
  auto by_signal = killed(1, SIGKILL, 101ms);
  by_signal.was_ending = by_signal.is_foreign = true;
  CHECK_FALSE(uut.has_ordered(by_signal));
  auto by_itself = exited(2, 3, 101ms);
  by_itself.was_ending = true;
  CHECK_FALSE(uut.has_ordered(by_itself));
  auto in_time = exited(3, 0, 101ms); // It has succeeded.
  in_time.was_ending = true;
  at(300ms, by_signal);
  at(310ms, by_itself);
  at(320ms, in_time);
  CHECK(others_at(400ms) == "1:299 2:299");
  const auto& others = others_in(effects);
  CHECK(others[0].teardown == 5s);
  CHECK_FALSE(others[0].while_stopped);
  CHECK(others[1].teardown == 0ms);
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: P1 a death in a stop by a signal of others is told"
  " as such, one by ours is not",
  "[core]") {
  at(100ms, stop);
  at(110ms, killed(1, SIGTERM, 110ms));
  auto crash = killed(2, SIGSEGV, 120ms);
  crash.is_foreign = true;
  at(120ms, crash);
  auto short_of_memory = killed(3, SIGKILL, 130ms);
  short_of_memory.is_foreign = short_of_memory.details.out_of_memory = true;
  at(130ms, short_of_memory);
  at(140ms, kill_ordered{});
  at(150ms, killed(4, SIGKILL, 150ms));
  CHECK(others_at(200ms) == "2:80 3:70");
  for (const auto& x : others_in(effects))
    CHECK(x.while_stopped);
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: P1 a death by a signal may have begun before it was"
  " seen, as the memory that is to be freed allows; by SIGKILL, long before",
  "[core]") {
  auto signal = SIGKILL;
  auto teardown = core::duration{5s};
  SECTION("nothing kills a worker that has lost its peer") {}
  SECTION("it may have crashed for that") {
    signal = SIGSEGV;
    teardown = 612ms;
  }
  SECTION("it may have aborted for that") {
    signal = SIGABRT;
    teardown = 612ms;
  }
  at(100ms, killed(1, signal, 100ms));
  CHECK(std::get<report_failed>(effects.at(0)).failure.teardown == teardown);
  CHECK(longest_teardown(0) == 100ms);
  CHECK(longest_teardown(uint64_t{4} << 30) == 4'196ms);
  CHECK(longest_teardown(uint64_t{1} << 50) == 5s);
  CHECK(longest_teardown(~uint64_t{0}) == 5s);
}

TEST_CASE_METHOD(fixture,
                 "worker_group: P1 who says when it failed is taken at its word"
                 " also if a crash ends it",
                 "[core]") {
  at(50ms, exited(9, 7, 50ms));
  at(100ms, stop);
  auto crash = killed(1, SIGABRT, 120ms);
  crash.is_foreign = true;
  crash.failed = time_point{60ms};
  at(120ms, crash);
  CHECK(others_at(160ms) == "1:100");
  CHECK_FALSE(others_in(effects)[0].while_stopped);
  CHECK(others_in(effects)[0].teardown == 0ms);
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: P1 a worker that was ending when its timer's signal"
  " came has not died of its timer",
  "[core]") {
  at(100ms,
     worker_overran{.local_rank = 1, .scope = "step", .signal = SIGKILL});
  auto death = killed(1, SIGKILL, 101ms);
  death.was_ending = death.is_foreign = true;
  at(150ms, death);
  const auto& failure = std::get<report_failed>(effects.at(0)).failure;
  CHECK(failure.kind == failure_kind::signalled);
}

} // namespace actorrun::test::worker_group_causes_test
