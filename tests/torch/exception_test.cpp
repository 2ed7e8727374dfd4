// A worker that raises: every node reports where, with the traceback.
#include "tests/support/catch.hpp"
#include "tests/torch/training_scene.hpp"

#include <string>

namespace actorrun::test::exception_test {

TEST_CASE_METHOD(
  training_scene,
  "training: every node reports the traceback of the worker that raised",
  "[exception]") {
  if (!has_torch())
    return;
  const auto options = node_options{
    .nodes = "2",
    .slots = 1,
    .training = {"--trouble=raise", "--trouble-rank=1", "--trouble-step=13"}};
  auto& a = node(options);
  auto& b = node(options);
  CHECK(a.wait(training_timeout) == 1);
  CHECK(b.wait(training_timeout) == 1);
  for (const auto* x : {&a, &b}) {
    const auto output = x->output();
    const auto cause = output.find("Root Cause (first observed failure):");
    REQUIRE(cause != output.npos);
    const auto report = output.substr(cause);
    CHECK(count_of(report, "rank      : 1 (local_rank: 0)") == 1);
    CHECK(count_of(report, "traceback : Traceback (most recent call last):")
          == 1);
    CHECK(count_of(report, "in make_trouble") == 1);
    CHECK(count_of(report, "ValueError: asked to fail in step 13") == 1);
  }
}

TEST_CASE_METHOD(training_scene, "training: an exception costs one restart",
                 "[exception]") {
  if (!has_torch())
    return;
  auto& x = node({.restart_count_max = 1,
                  .training = {"--trouble=raise", "--trouble-step=13"}});
  REQUIRE(x.wait(training_timeout) == 0);
  CHECK(count_of(x.output(), "ValueError: asked to fail in step 13") > 0);
  const auto end = end_in(x.output());
  CHECK(end.restarts == 1);
  CHECK(are_close(end.weights, undisturbed_weights()));
}

} // namespace actorrun::test::exception_test
