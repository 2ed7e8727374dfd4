// Starts that are held back until resources of ended workers are free.
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <functional>
#include <vector>

#include <sys/prctl.h>

namespace actorrun::test::process_host_gate_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

constexpr auto second = generation_id{2};

/// A gate that opens when a test opens it.
struct gated_fixture : fixture {
  std::vector<std::vector<pid_t>> asked;
  std::vector<std::function<void()>> gates;

  gated_fixture() {
    uut = std::make_unique<posix_process_host>(
      loop, [](const auto&) {},
      [this](std::vector<pid_t> ended, std::function<void()> go) {
        const auto lock = std::lock_guard{mutex};
        asked.push_back(std::move(ended));
        gates.push_back(std::move(go));
        changed.notify_all();
      });
  }

  size_t asked_count() {
    const auto lock = std::lock_guard{mutex};
    return asked.size();
  }

  /// Runs a generation to its end.
  void run_first() {
    start({worker(0, {"true"}), worker(1, {"true"})});
    REQUIRE(wait_for_events(4));
    uut->release(generation);
  }

  void hold_second() {
    run_first();
    start({worker(0, {"true"}), worker(1, {"true"})}, second);
    REQUIRE(wait([this] { return !gates.empty(); }));
  }

  /// The state of the second generation once the loop is idle.
  std::string later() {
    for (auto round = 0; round < 3; ++round)
      on_thread([] {});
    const auto all = trace();
    return all.substr(std::min(all.size(), first_trace.size()));
  }

  std::string first_trace = "started 0; started 1; exited 0: code 0; "
                            "exited 1: code 0";
};

} // namespace

TEST_CASE_METHOD(gated_fixture,
                 "process host: the first start is not held back",
                 "[runtime]") {
  run_first();
  CHECK(asked_count() == 0);
}

TEST_CASE_METHOD(gated_fixture,
                 "process host: the next start waits for the gate, which "
                 "learns which workers have ended",
                 "[runtime]") {
  hold_second();
  CHECK(asked.front() == std::vector<pid_t>{pid_of(0), pid_of(1)});
  CHECK(all<ports::process_started>().size() == 2);
  gates.front()();
  CHECK(wait_for_events(8));
  CHECK(all<ports::process_exited>().size() == 4);
}

TEST_CASE_METHOD(gated_fixture,
                 "process host: the gate is asked while orphans of the last "
                 "generation are still being ended",
                 "[runtime]") {
  const auto here = folder{};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  start({orphaning(0, here / "a")});
  REQUIRE(wait_for_events(2));
  const auto orphan = read_pid(here / "a");
  uut->release(generation);
  start({worker(0, {"true"})}, second);
  CHECK(wait([this] { return !gates.empty(); }));
  CHECK(asked.front() == std::vector<pid_t>{pid_of(0)});
  CHECK(soon([&] { return state_of(orphan) == '-'; }));
  uut.reset();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  CHECK(!has_children());
}

TEST_CASE_METHOD(gated_fixture, "process host: a gate opens once",
                 "[runtime]") {
  hold_second();
  gates.front()();
  gates.front()();
  CHECK(wait_for_events(8));
  CHECK(later().find("not started") == std::string::npos);
  CHECK(all<ports::process_started>().size() == 4);
}

TEST_CASE_METHOD(gated_fixture,
                 "process host: a signal cancels starts that are held back",
                 "[runtime]") {
  hold_second();
  uut->signal(second, SIGTERM);
  REQUIRE(wait_for_events(6));
  gates.front()();
  uut->release(second);
  CHECK(later() == "; not started 0: ECANCELED; not started 1: ECANCELED");
}

TEST_CASE_METHOD(gated_fixture,
                 "process host: a release cancels them, too, and the next "
                 "generation starts at once",
                 "[runtime]") {
  hold_second();
  uut->release(second);
  REQUIRE(wait_for_events(6));
  CHECK(later() == "; not started 0: ECANCELED; not started 1: ECANCELED");
  // No worker has ended since the gate was asked.
  start({worker(0, {"true"})}, generation_id{3});
  CHECK(wait_for_events(8));
  CHECK(asked_count() == 1);
  gates.front()();
  on_thread([] {});
}

TEST_CASE_METHOD(gated_fixture,
                 "process host: a gate may open after the host is destroyed",
                 "[runtime]") {
  hold_second();
  uut.reset();
  gates.front()();
  on_thread([] {});
  CHECK(events.size() == 4);
}

} // namespace actorrun::test::process_host_gate_test
