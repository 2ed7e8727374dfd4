// Nodes that die and join while a model is trained.
#include "tests/support/catch.hpp"
#include "tests/torch/training_scene.hpp"

#include <csignal>

namespace actorrun::test::elastic_test {

// No restart is left: the survivors' workers fail because they miss their peer,
// and that must not use up a restart.
TEST_CASE_METHOD(training_scene,
                 "training: it survives the loss of a node and accepts another",
                 "[elastic]") {
  if (!has_torch())
    return;
  const auto options
    = node_options{.nodes = "1:3",
                   .slots = 1,
                   .training = {"--steps=150", "--step-seconds=0.03"}};
  auto& a = node(options);
  auto& b = node(options);
  auto& c = node(options);
  REQUIRE(await_world_of({&a, &b, &c}, 3));
  REQUIRE(await_step(a, 20, 3));
  c.signal(SIGKILL);
  REQUIRE(await_world_of({&a, &b}, 2, 20));
  auto& d = node(options);
  REQUIRE(await_world_of({&a, &b, &d}, 3, 20));
  REQUIRE(a.wait(training_timeout) == 0);
  CHECK(b.wait(training_timeout) == 0);
  CHECK(d.wait(training_timeout) == 0);
  const auto end = end_in(a.output() + b.output() + d.output());
  CHECK(end.steps == 150);
  CHECK(end.world == 3);
  CHECK(end.restarts == 0);
  CHECK(are_close(end.weights, undisturbed_weights(150)));
}

} // namespace actorrun::test::elastic_test
