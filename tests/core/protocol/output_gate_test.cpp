#include "actors/core/protocol/output_gate.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::output_gate_test {

using namespace actorrun::core;

namespace {

struct fixture {
  output_gate<std::string> uut;

  /// What can be seen at once.
  std::string pass(const std::string& x) { return uut.pass(x).value_or(""); }

  std::string stored(uint64_t change) {
    auto out = std::string{};
    for (const auto& x : uut.on(charter_written{change}))
      out += x;
    return out;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "output_gate: without a change nothing is held",
                 "[core]") {
  CHECK(uut.is_open());
  CHECK(pass("a") == "a");
  CHECK(stored(7).empty()); // Of another coordinator.
  CHECK(uut.change() == 1);
  CHECK(pass("b").empty());
}

TEST_CASE_METHOD(fixture, "output_gate: what follows a change waits for it",
                 "[core]") {
  CHECK(uut.change() == 1);
  CHECK_FALSE(uut.is_open());
  CHECK(pass("a").empty());
  CHECK(pass("b").empty());
  CHECK(stored(1) == "ab");
  CHECK(uut.is_open());
  CHECK(pass("c") == "c");
  CHECK(stored(1).empty());
}

TEST_CASE_METHOD(fixture,
                 "output_gate: of two changes the first lets through what came "
                 "before the second",
                 "[core]") {
  uut.change();
  pass("a");
  CHECK(uut.change() == 2);
  pass("b");
  CHECK(stored(1) == "a");
  CHECK(pass("c").empty()); // It does not overtake.
  CHECK(stored(1).empty());
  CHECK(stored(2) == "bc");
}

TEST_CASE_METHOD(fixture, "output_gate: a write has all changes before it",
                 "[core]") {
  uut.change();
  pass("a");
  uut.change();
  pass("b");
  CHECK(stored(2) == "ab");
  CHECK(stored(1).empty());
  CHECK(uut.is_open());
}

TEST_CASE_METHOD(
  fixture, "output_gate: a change of which nothing follows closes it, too",
  "[core]") {
  uut.change();
  CHECK_FALSE(uut.is_open());
  CHECK(stored(1).empty());
  CHECK(uut.is_open());
}

TEST_CASE_METHOD(fixture, "output_gate: what is dropped is never seen",
                 "[core]") {
  uut.change();
  pass("a");
  uut.drop();
  CHECK(stored(1).empty());
}

} // namespace actorrun::test::output_gate_test
