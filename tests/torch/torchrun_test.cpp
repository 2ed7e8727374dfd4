// The same script under torchrun, in the same place.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/torch/training_scene.hpp"

namespace actorrun::test::torchrun_test {

TEST_CASE_METHOD(training_scene,
                 "training: actorrun continues where torchrun has stopped",
                 "[torchrun]") {
  if (!has_torch())
    return;
  // Torch 1.13 on Python 3.11 takes neither 0 nor 3 for the streams.
  auto command = words{python(),
                       "-m",
                       "torch.distributed.run",
                       "--standalone",
                       "--nproc_per_node=2",
                       "--redirects=2",
                       "--tee=1",
                       "--log_dir=" + folder() + "/torchrun"};
  // For workers that live through changes it is one generation.
  const auto first_half = script({"--steps=30"}, GENERATE(false, true));
  command.insert(command.end(), first_half.begin(), first_half.end());
  auto& theirs = start(command, variables());
  const auto code = theirs.wait(training_timeout);
  // Debian's from torch 2.4 on: torchrun insists on libuv, which was left out.
  if (count_of(theirs.output(), "without libuv support") > 0) {
    actorrun::test::skip("libuv",
                         "torchrun cannot start here: its torch has no libuv");
    return;
  }
  REQUIRE(code == 0);
  CHECK(end_in(theirs.output()).steps == 30);
  auto& ours = node({.slots = 3});
  REQUIRE(ours.wait(training_timeout) == 0);
  for (const auto& x : starts_in(ours.output()))
    CHECK(x.step == 30);
  CHECK(are_close(end_in(ours.output()).weights, undisturbed_weights()));
}

} // namespace actorrun::test::torchrun_test
