// Shows what the programs of a test case wrote, when it fails.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "tests/system/program.hpp"

#include <catch2/catch.hpp>

#include <iostream>

namespace {

struct chronicle_listener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override {
    actorrun::test::chronicle().clear();
  }

  void testCaseEnded(const Catch::TestCaseStats& x) override {
    if (x.totals.assertions.failed > 0)
      std::cerr << "--- programs of '" << x.testInfo.name << "'\n"
                << actorrun::test::chronicle() << std::endl;
  }
};

CATCH_REGISTER_LISTENER(chronicle_listener)

} // namespace
