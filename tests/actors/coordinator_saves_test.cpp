// Tests what the coordinator makes of the saves that agents tell it of.
#include "tests/actors/coordinator_fixture.hpp"

namespace actorrun::test::coordinator_saves_test {

namespace {

struct coordinator_saves_fixture : coordinator_fixture {
  void say(const agent_recorder& from, const std::string& id,
           uint64_t saving_ms, uint64_t generation = 1) {
    auto x = v1::WorkersSaved{};
    x.set_agent_id(id);
    x.set_generation(generation);
    x.set_saving_ns(saving_ms * 1'000'000);
    x.set_age_ns(0);
    send(from.handle, uut, x);
  }

  uint64_t us_of(const std::string& cause) {
    const auto seen = status();
    for (const auto& x : seen.time())
      if (x.cause() == cause)
        return x.worker_us();
    return 0;
  }
};

} // namespace

TEST_CASE_METHOD(coordinator_saves_fixture,
                 "coordinator: what agents say of saves is in the account of "
                 "time",
                 "[actors]") {
  run_two();
  advance(10s);
  say(a, "1", 2'000);
  CHECK(us_of("saving") == 2'000'000);
  say(b, "2", UINT64_MAX / 1'000'000);
  CHECK(us_of("saving") == 22'000'000); // No more than it has trained.
  CHECK(us_of("training") == 18'000'000);
}

TEST_CASE_METHOD(coordinator_saves_fixture,
                 "coordinator: saves of others, or of another generation, are "
                 "not believed",
                 "[actors]") {
  run_two();
  advance(10s);
  say(a, "2", 2'000);
  say(a, "1", 2'000, 2);
  CHECK(us_of("saving") == 0);
}

} // namespace actorrun::test::coordinator_saves_test
