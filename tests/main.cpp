// Defines the main of all test programs, and with Catch2 version 2 all of
// Catch2.
#define CATCH_CONFIG_RUNNER
#include "tests/support/catch.hpp"

int main(int argc, char** argv) {
  return Catch::Session{}.run(argc, argv);
}
