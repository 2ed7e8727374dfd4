// A main for tests that run functions in processes of their own, for which this
// program is executed again.
#include "runtime/entry_points.hpp"

#define CATCH_CONFIG_RUNNER
#include "tests/support/catch.hpp"

int main(int argc, char** argv) {
  if (const auto code = actorrun::run_as_worker(argc, argv))
    return *code;
  return Catch::Session{}.run(argc, argv);
}
