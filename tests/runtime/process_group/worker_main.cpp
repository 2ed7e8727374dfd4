// A main for tests whose functions run in processes of their own: this program
// is executed again for them.
#include "runtime/entry_points.hpp"

#define CATCH_CONFIG_RUNNER
#include "tests/support/catch.hpp"

int main(int argc, char** argv) {
  if (const auto code = actorrun::run_as_worker(argc, argv))
    return *code;
  return Catch::Session{}.run(argc, argv);
}
