// Prints the output of a test case's programs when it fails.
#include "tests/support/catch.hpp"
#include "tests/system/program.hpp"

#include <iostream>

namespace {

struct chronicle_listener : Catch::EventListenerBase {
  using Catch::EventListenerBase::EventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& x) override {
    name_ = x.name;
    actorrun::test::chronicle().clear();
  }

  void testCaseEnded(const Catch::TestCaseStats& x) override {
    if (x.totals.assertions.failed > 0)
      std::cerr << "--- programs of '" << name_ << "'\n"
                << actorrun::test::chronicle() << std::endl;
  }

private:
  std::string name_;
};

CATCH_REGISTER_LISTENER(chronicle_listener)

} // namespace
