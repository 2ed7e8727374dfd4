#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::straggler_options_test {

using namespace actorrun::cli;

TEST_CASE("stragglers: the distance, the windows, and what follows", "[cli]") {
  CHECK(accepted({"a"}).agent.stragglers
        == straggler_options{6, 5, straggler_policy::report});
  CHECK(accepted({"--straggler-distance=0", "a"}).agent.stragglers.distance
        == 0);
  CHECK(accepted({"--straggler-distance=1000", "--straggler-windows=100",
                  "--on-straggler=drain", "a"})
          .agent.stragglers
        == straggler_options{1'000, 100, straggler_policy::drain});
  CHECK(accepted({"--on-straggler=check", "--check=true", "a"})
          .agent.stragglers.policy
        == straggler_policy::check);
  CHECK(
    accepted({"a"}, {{"PET_STRAGGLER_DISTANCE", "9"}}).agent.stragglers.distance
    == 9);
}

TEST_CASE("stragglers: what cannot be is refused", "[cli]") {
  CHECK(has(refused({"--straggler-distance=1001", "a"}),
            "--straggler-distance: \"1001\""));
  CHECK(has(refused({"--straggler-windows=0", "a"}), "--straggler-windows: "));
  CHECK(
    has(refused({"--straggler-windows=101", "a"}), "--straggler-windows: "));
  CHECK(refused({"--on-straggler=kill", "a"})
        == "--on-straggler: \"kill\" is none of report, check, drain");
  CHECK(has(refused({"--on-straggler=check", "a"}),
            "--on-straggler=check has no effect without --check"));
  CHECK(has(refused({"--on-straggler=drain", "--straggler-distance=0", "a"}),
            "have no effect with --straggler-distance=0"));
}

} // namespace actorrun::test::straggler_options_test
