// A step that hangs: torch's `timer.expires`, watched by the agent.
#include "tests/support/catch.hpp"
#include "tests/torch/training_scene.hpp"

namespace actorrun::test::timer_test {

// Peers that wait for the hanging one overrun as well, so any may be first.
TEST_CASE_METHOD(training_scene,
                 "training: a step that hangs is ended and repeated",
                 "[timer]") {
  if (!has_torch())
    return;
  auto& x = node(
    {.restart_count_max = 1,
     .training = {"--trouble=hang", "--trouble-step=25", "--step-limit=3"}});
  REQUIRE(x.wait(training_timeout) == 0);
  CHECK(count_of(x.output(), "was killed by its timer: scope \"training step\"")
        > 0);
  auto again = 0;
  for (const auto& start : starts_in(x.output()))
    again += start.restarts == 1 && start.step == 20 ? 1 : 0;
  CHECK(again == 2);
  const auto end = end_in(x.output());
  CHECK(end.restarts == 1);
  CHECK(are_close(end.weights, undisturbed_weights()));
}

TEST_CASE_METHOD(training_scene, "training: the report names the timer",
                 "[timer]") {
  if (!has_torch())
    return;
  auto& x = node(
    {.training = {"--trouble=hang", "--trouble-step=5", "--step-limit=2"}});
  CHECK(x.wait(training_timeout) == 1);
  const auto output = x.output();
  const auto cause = output.find("Root Cause (first observed failure):");
  REQUIRE(cause != output.npos);
  CHECK(count_of(output.substr(cause),
                 "cause     : its timer expired: scope \"training step\"")
        == 1);
}

} // namespace actorrun::test::timer_test
