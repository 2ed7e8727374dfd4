// Processes that live on when their generation is over.
#include "tests/runtime/processes/process_host_fixture.hpp"

#include <atomic>

namespace actorrun::detail::process_host_test {

namespace {

using ranks = std::vector<uint32_t>;

struct parked_fixture : fixture {
  /// Three processes run, of which the first two are parked and the third ends.
  void park() {
    start({worker(0, {"sleep", "1000"}), worker(1, {"sleep", "1000"}),
           worker(2, {"sleep", "1000"})});
    REQUIRE(wait_for_events(3));
    CHECK(park(0));
    CHECK(park(1));
    uut->signal(generation, SIGTERM, {0, 1});
    REQUIRE(wait_for_events(4));
    uut->release(generation, {0, 1});
  }

  /// @returns whether the fence leaves it alone
  bool park(uint32_t local_rank) {
    auto spared = std::atomic{false};
    uut->park(generation, local_rank, [&] { spared = true; });
    settle();
    return spared;
  }

  /// Waits for all that was ordered. @returns which were resumed
  ranks resume(ranks asked, ports::fence_token decided) {
    auto done = std::promise<ranks>{};
    uut->resume(generation, decided, std::move(asked),
                [&](ranks x) { done.set_value(std::move(x)); });
    return done.get_future().get();
  }

  void settle() {
    auto done = std::promise<void>{};
    uut->check([&] { done.set_value(); });
    done.get_future().get();
  }
};

} // namespace

TEST_CASE_METHOD(parked_fixture,
                 "process host: those that live on outlive their generation",
                 "[runtime]") {
  park();
  settle();
  CHECK(runs(pid_of(0)));
  CHECK(runs(pid_of(1)));
  CHECK(trace() == "started 0; started 1; started 2; exited 2: signal 15");
  SECTION("with processes of the next") {
    start({worker(2, {"true"})}, generation_id{2}, {});
    REQUIRE(wait_for_events(6));
    uut->release(generation_id{2});
    settle();
    CHECK(runs(pid_of(0)));
  }
  SECTION("until they are signalled") {
    uut->signal_one(generation, 0, SIGTERM);
    REQUIRE(wait_for_events(5));
    uut->release(generation, {1});
    settle();
    CHECK(runs(pid_of(1)));
  }
  SECTION("and are released one by one") {
    const auto first = pid_of(0);
    uut->release(generation, {1});
    CHECK(soon([&] { return !runs(first); }));
    CHECK(runs(pid_of(1)));
  }
  uut->release(generation);
  CHECK(soon([&] { return state_of(pid_of(0)) == '-'; }));
  CHECK(soon([&] { return state_of(pid_of(1)) == '-'; }));
  CHECK(soon([&] { return state_of(pid_of(2)) == '-'; }));
}

TEST_CASE_METHOD(parked_fixture, "process host: the fence spares the parked",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"}), worker(1, {"sleep", "1000"})});
  REQUIRE(wait_for_events(2));
  CHECK(park(0));
  CHECK(park(0)); // As it does already.
  const auto before = uut->set_fence(core::time_point::max());
  uut->set_fence(clock_type::now());
  REQUIRE(wait_for_events(3));
  CHECK(trace() == "started 0; started 1; exited 1: signal 9");
  CHECK(runs(pid_of(0)));
  SECTION("but not if they were to go on before it fired") {
    CHECK(resume({0}, before).empty());
    CHECK(wait_for_events(4));
  }
  SECTION("also those that say so again") {
    CHECK(park(0));
    CHECK(runs(pid_of(0)));
  }
  SECTION("which may go on when that is decided later") {
    CHECK(resume({0}, uut->set_fence(core::time_point::max())) == ranks{0});
    CHECK(runs(pid_of(0)));
    SECTION("and then are as others") {
      uut->set_fence(clock_type::now());
      CHECK(wait_for_events(4));
    }
    SECTION("and may park again") {
      CHECK(park(0));
      CHECK(runs(pid_of(0)));
    }
  }
  uut->release(generation);
}

TEST_CASE_METHOD(parked_fixture,
                 "process host: none parks that the fence has killed",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  // What waits for the reactor together is done before it looks at its workers: so
  // this one has not been seen to end.
  auto spared = std::atomic{false};
  auto go_on = std::promise<void>{};
  loop.post([&] { go_on.get_future().wait(); });
  loop.post([&] {
    CHECK(
      soon([&] { return uut->set_fence(clock_type::now()).fire_count > 0; }));
  });
  uut->park(generation, 0, [&] { spared = true; });
  go_on.set_value();
  REQUIRE(wait_for_events(2));
  settle();
  CHECK_FALSE(spared);
  CHECK(trace() == "started 0; exited 0: signal 9");
  uut->release(generation);
}

TEST_CASE_METHOD(parked_fixture,
                 "process host: the parked end with their agent", "[runtime]") {
  park();
  const auto pid = pid_of(0);
  uut.reset();
  CHECK(soon([&] { return !runs(pid); }));
  CHECK(!has_children());
}

TEST_CASE_METHOD(parked_fixture,
                 "process host: one that has ended does not go on",
                 "[runtime]") {
  park();
  uut->signal_one(generation, 1, SIGKILL);
  REQUIRE(wait_for_events(5));
  CHECK(resume({0, 1}, uut->set_fence(core::time_point::max())) == ranks{0});
  uut->release(generation);
}

} // namespace actorrun::detail::process_host_test
