// Jobs of a fixed size that train to their end.
#include "tests/support/catch.hpp"
#include "tests/torch/training_scene.hpp"

#include <filesystem>

namespace actorrun::test::nodes_test {

TEST_CASE_METHOD(training_scene,
                 "training: two ranks learn what one alone learns",
                 "[one_node]") {
  if (!has_torch())
    return;
  auto& both = node({});
  REQUIRE(both.wait(training_timeout) == 0);
  const auto starts = starts_in(both.output());
  REQUIRE(starts.size() == 2);
  CHECK(starts[0].world == 2);
  CHECK(starts[0].rank + starts[1].rank == 1);
  const auto end = end_in(both.output());
  CHECK(end.steps == step_count);
  CHECK(are_close(end.weights, undisturbed_weights()));
}

TEST_CASE_METHOD(training_scene,
                 "training: a job continues from its checkpoint",
                 "[checkpoint]") {
  if (!has_torch())
    return;
  auto& half = node({.training = {"--steps=30"}});
  REQUIRE(half.wait(training_timeout) == 0);
  CHECK_FALSE(std::filesystem::exists(checkpoint() + ".draft"));
  auto& second = alone(2);
  REQUIRE(second.wait(training_timeout) == 0);
  for (const auto& x : starts_in(second.output()))
    CHECK(x.step == 30);
  CHECK(are_close(end_in(second.output()).weights, undisturbed_weights()));
}

TEST_CASE_METHOD(training_scene,
                 "training: the worker with rank 0 may serve the store",
                 "[one_node]") {
  if (!has_torch())
    return;
  auto& x = node({.launcher = {"--no-agent-store"}});
  REQUIRE(x.wait(training_timeout) == 0);
  CHECK(end_in(x.output()).steps == step_count);
}

TEST_CASE_METHOD(training_scene,
                 "training: a dead worker costs the steps since the checkpoint",
                 "[two_nodes]") {
  if (!has_torch())
    return;
  const auto options = node_options{
    .nodes = "2",
    .restart_count_max = 1,
    .training = {"--trouble=exit", "--trouble-rank=3", "--trouble-step=25"}};
  auto& a = node(options);
  auto& b = node(options);
  REQUIRE(a.wait(training_timeout) == 0);
  REQUIRE(b.wait(training_timeout) == 0);
  const auto starts = starts_in(a.output() + b.output());
  REQUIRE(starts.size() == 8);
  auto again = 0;
  for (const auto& x : starts) {
    CHECK(x.world == 4);
    CHECK(x.step == (x.restarts == 0 ? 0 : 20));
    again += x.restarts == 1 ? 1 : 0;
  }
  CHECK(again == 4);
  const auto end = end_in(a.output() + b.output());
  CHECK(end.restarts == 1);
  CHECK(are_close(end.weights, undisturbed_weights()));
}

} // namespace actorrun::test::nodes_test
