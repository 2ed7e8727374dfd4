// Training that goes on in the same processes when the group changes.
#include "tests/support/catch.hpp"
#include "tests/torch/training_scene.hpp"

#include <csignal>
#include <set>

namespace actorrun::test::live_test {

namespace {

/// Those that were there before a step and after it.
std::set<pid_t> stayed(const std::vector<training_start>& starts,
                       uint32_t step) {
  auto before = std::set<pid_t>{};
  auto out = std::set<pid_t>{};
  for (const auto& x : starts)
    if (x.step < step)
      before.insert(x.pid);
    else if (before.contains(x.pid))
      out.insert(x.pid);
  return out;
}

} // namespace

TEST_CASE_METHOD(training_scene,
                 "live training: a dead worker costs the step under way",
                 "[live]") {
  if (!has_torch())
    return;
  const auto options = node_options{
    .nodes = "2",
    .restart_count_max = 1,
    .training = {"--trouble=exit", "--trouble-rank=3", "--trouble-step=25"},
    .is_live = true};
  auto& a = node(options);
  auto& b = node(options);
  REQUIRE(a.wait(training_timeout) == 0);
  REQUIRE(b.wait(training_timeout) == 0);
  const auto starts = starts_in(a.output() + b.output());
  REQUIRE(starts.size() == 8);
  for (const auto& x : starts)
    CHECK(x.step == (x.restarts == 0 ? 0 : 25));
  CHECK(stayed(starts, 25).size() == 3);
  const auto end = end_in(a.output() + b.output());
  CHECK(end.restarts == 1);
  CHECK(are_close(end.weights, undisturbed_weights()));
}

TEST_CASE_METHOD(training_scene,
                 "live training: nodes come and go, and the others stay",
                 "[live]") {
  if (!has_torch())
    return;
  const auto options
    = node_options{.nodes = "1:2",
                   // The joiner imports torch meanwhile, and the others go on.
                   .training = {"--steps=400", "--step-seconds=0.05"},
                   .is_live = true};
  auto& a = node(options);
  REQUIRE(await_step(a, 10, 2));
  auto& b = node(options);
  REQUIRE(await_world_of({&a, &b}, 4, 10));
  REQUIRE(await_step(a, 40, 4));
  b.signal(SIGKILL);
  REQUIRE(a.wait(training_timeout) == 0);
  const auto starts = starts_in(a.output());
  REQUIRE(starts.size() == 6);
  CHECK(stayed(starts, 10).size() == 2);
  CHECK(stayed(starts, 40).size() == 2);
  const auto end = end_in(a.output());
  CHECK(end.steps == 400);
  CHECK(end.world == 2);
  CHECK(end.restarts == 0);
  CHECK(are_close(end.weights, undisturbed_weights(400)));
}

} // namespace actorrun::test::live_test
