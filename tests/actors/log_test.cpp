#include "actors/log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_lines.hpp"

namespace actorrun {

TEST_CASE_METHOD(test::log_lines,
                 "log: each call passes on one line of its level", "[actors]") {
  const auto uut = writer();
  uut.debug("agent seeks coordinator");
  uut.info("coordinator forms generation 1");
  uut.warn("coordinator stops generation 1: agent b left");
  uut.error("the job has failed");
  CHECK(told()
        == "debug agent seeks coordinator\n"
           "info coordinator forms generation 1\n"
           "warning coordinator stops generation 1: agent b left\n"
           "error the job has failed\n");
}

TEST_CASE_METHOD(test::log_lines,
                 "log: braces and percents are text, no format", "[actors]") {
  writer().info("worker {} of {0} at 50%s");
  CHECK(told() == "info worker {} of {0} at 50%s\n");
}

TEST_CASE_METHOD(test::log_lines,
                 "log: S8 no text in a call forges a line of it", "[actors]") {
  writer().warn("rejects a\n[actorrun 00:00:00.000 error] x\x1b[2J");
  CHECK(told() == "warning rejects a\n  [actorrun 00:00:00.000 error] x\n");
}

TEST_CASE_METHOD(test::log_lines, "log: a copy writes to the same place",
                 "[actors]") {
  auto uut = log{};
  uut = writer();
  const auto copy = uut;
  uut = log{};
  copy.info("a");
  CHECK(told() == "info a\n");
}

TEST_CASE("log: without a function it is silent", "[actors]") {
  const auto uut = log{};
  CHECK_NOTHROW(uut.debug("a"));
  CHECK_NOTHROW(uut.error("b"));
}

} // namespace actorrun
