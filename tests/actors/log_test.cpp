#include "actors/log.hpp"
#include "tests/support/catch.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

namespace actorrun {

namespace {

struct log_fixture {
  std::ostringstream text;
  std::shared_ptr<spdlog::logger> logger = make();

  std::shared_ptr<spdlog::logger> make() {
    auto out = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(text));
    out->set_pattern("%l %v");
    out->set_level(spdlog::level::debug);
    return out;
  }
};

} // namespace

TEST_CASE_METHOD(log_fixture, "log: each call writes one line of its level",
                 "[actors]") {
  const auto uut = log{logger};
  uut.debug("agent seeks coordinator");
  uut.info("coordinator forms generation 1");
  uut.warn("coordinator stops generation 1: agent b left");
  uut.error("the job has failed");
  CHECK(text.str()
        == "debug agent seeks coordinator\n"
           "info coordinator forms generation 1\n"
           "warning coordinator stops generation 1: agent b left\n"
           "error the job has failed\n");
}

TEST_CASE_METHOD(log_fixture, "log: braces and percents are text, no format",
                 "[actors]") {
  log{logger}.info("worker {} of {0} at 50%s");
  CHECK(text.str() == "info worker {} of {0} at 50%s\n");
}

TEST_CASE_METHOD(log_fixture, "log: S8 no text in a call forges a line of it",
                 "[actors]") {
  log{logger}.warn("rejects a\n[actorrun 00:00:00.000 error] x\x1b[2J");
  CHECK(text.str() == "warning rejects a\n  [actorrun 00:00:00.000 error] x\n");
}

TEST_CASE_METHOD(log_fixture, "log: the logger's level decides what is written",
                 "[actors]") {
  logger->set_level(spdlog::level::warn);
  const auto uut = log{logger};
  uut.debug("a");
  uut.info("b");
  CHECK(text.str().empty());
  uut.warn("c");
  CHECK(text.str() == "warning c\n");
}

TEST_CASE_METHOD(log_fixture, "log: a copy writes to the same place",
                 "[actors]") {
  auto uut = log{};
  uut = log{logger};
  const auto copy = uut;
  uut = log{};
  copy.info("a");
  CHECK(text.str() == "info a\n");
}

TEST_CASE("log: without a logger it is silent", "[actors]") {
  const auto uut = log{};
  CHECK_NOTHROW(uut.debug("a"));
  CHECK_NOTHROW(uut.error("b"));
}

} // namespace actorrun
