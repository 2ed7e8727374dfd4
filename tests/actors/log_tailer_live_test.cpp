// The files of workers that live through a change.
#include "tests/actors/log_tailer_fixture.hpp"

namespace actorrun::test::log_tailer_live_test {

namespace {

struct fixture : log_tailer_fixture {
  /// Worker 0 of generation 1 goes on in `generation`, and has another rank there.
  void go_on(uint64_t last, uint64_t generation) {
    tell_tailer(close_generation{{last}, {0}});
    auto plan = core::generation_plan{};
    plan.generation = {generation};
    plan.own.slot_count = 2;
    plan.own.first_global_rank = 20;
    auto files_of = outputs(generation, 2);
    files_of.workers[0] = outputs(1, 2).workers[0];
    tell_tailer(follow_generation{plan, files_of, {{0, 0}}, {last}});
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "log_tailer: a worker that lives on writes on",
                 "[actors]") {
  options.prefix_template = "${rank}> ";
  follow(1);
  write(0, "one\nha");
  write(1, "other\n");
  CHECK(out() == "10> one\n11> other\n");
  go_on(1, 2);
  write(0, "lf\ntwo\n");
  CHECK(out() == "20> half\n20> two\n"); // Once, and under its rank of now.
  files->write(path(2, 1, "out"), "fresh\n");
  advance(20ms);
  CHECK(out() == "21> fresh\n");
  write(1, "late\n"); // Its generation is closed.
  CHECK(out().empty());
  SECTION("and again") {
    go_on(2, 3);
    write(0, "three\n");
    CHECK(out() == "20> three\n");
  }
  SECTION("until it has ended") {
    files->write(path(1, 0, "out"), "last\n");
    const auto drained = drain(2, 0);
    CHECK(*drained);
    CHECK(out() == "20> last\n");
    close(2);
    write(0, "never\n");
    CHECK(out().empty());
  }
}

TEST_CASE_METHOD(fixture, "log_tailer: one that ends parked has its last lines",
                 "[actors]") {
  follow(1);
  tell_tailer(close_generation{{1}, {0}});
  files->write(path(1, 0, "out"), "parting\n");
  const auto drained = drain(1, 0);
  CHECK(*drained);
  CHECK(out() == "[w0]:parting\n");
  close(1);
  follow(2);
  write(0, "never\n");
  CHECK(out().empty());
}

TEST_CASE_METHOD(fixture,
                 "log_tailer: T3 a spare that takes a place writes on as the "
                 "worker",
                 "[actors]") {
  options.prefix_template = "${local_rank}/${rank}> ";
  uut = keep(spawn_log_tailer(system, config()));
  auto plan = core::generation_plan{};
  plan.generation = {1};
  plan.own.slot_count = 1;
  plan.own.first_global_rank = 20;
  tell_tailer(follow_generation{plan, outputs(1, 2)});
  write(1, "import\n");
  CHECK(out() == "1/-> import\n");
  tell_tailer(close_generation{{1}, {1}});
  plan.generation = {2};
  auto files_of = outputs(2, 2);
  files_of.workers[0] = outputs(1, 2).workers[1];
  tell_tailer(follow_generation{plan, files_of, {{0, 1}}, {1}});
  write(1, "train\n");
  CHECK(out() == "0/20> train\n");
}

} // namespace actorrun::test::log_tailer_live_test
