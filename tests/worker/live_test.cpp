// The rest is tested with programs of all languages: live/live_test.py.
#include "runtime/worker/live.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace actorrun::test::live_test {

using namespace actorrun::worker;
using namespace std::chrono_literals;

namespace {

struct fixture {
  fixture() {
    for (const auto* name : {"ACTORRUN_CONTROL", "ACTORRUN_GENERATION",
                             "TORCHELASTIC_RESTART_COUNT", "WORLD_SIZE"})
      ::unsetenv(name);
    ::setenv("RANK", "3", 1);
  }
  ~fixture() { ::unsetenv("RANK"); }
};

} // namespace

TEST_CASE("live: ranks are as small as their runs", "[worker]") {
  const auto x = ranks{{{0, 2}, {4, 4}, {6, 4'294'967'295}}};
  CHECK_FALSE(x.empty());
  CHECK(x.size() == 4 + 4'294'967'290);
  CHECK(x[0] == 0);
  CHECK(x[2] == 2);
  CHECK(x[3] == 4);
  CHECK(x[4] == 6);
  CHECK(x[x.size() - 1] == 4'294'967'295);
  CHECK(x.contains(4));
  CHECK_FALSE(x.contains(3));
  CHECK(ranks{}.empty());
  CHECK(ranks{}.size() == 0);
}

TEST_CASE_METHOD(fixture, "live: without an agent there is one generation",
                 "[worker]") {
  auto count = 0;
  for (auto& x : generations()) {
    ++count;
    CHECK(x.number() == 1);
    CHECK(x.rank() == 3);
    CHECK(x.world_size() == 1);
    CHECK(x.local_rank() == 0);
    CHECK(x.survivors().empty());
    CHECK(x.reason().empty());
    CHECK_FALSE(x.is_over());
    CHECK_FALSE(x.wait_over(1ms));
    CHECK_FALSE(x.wait_over(-1ms));
    x.safe_point(1);
    x.safe_point(0, [] { FAIL("there is nothing to save for"); });
    x.throw_if_over();
    CHECK(x.run([] {}));
    CHECK_THROWS_AS(x.run([] { throw std::runtime_error{"closed"}; }),
                    std::runtime_error);
    CHECK_THROWS_AS(x.run([] { throw 1; }), int);
    CHECK_THROWS_AS(generations(), std::logic_error); // One at a time.
  }
  CHECK(count == 1);
}

TEST_CASE_METHOD(fixture, "live: numbers of the environment are not believed",
                 "[worker]") {
  for (const auto* text : {"", "x", "-1", "1x", "99999999999999999999999"}) {
    ::setenv("RANK", text, 1);
    auto loop = generation_loop{};
    const auto* x = loop.next();
    REQUIRE(x != nullptr);
    CHECK(x->rank() == 0);
    CHECK(loop.next() == nullptr);
    CHECK(loop.next() == nullptr);
  }
}

} // namespace actorrun::test::live_test
