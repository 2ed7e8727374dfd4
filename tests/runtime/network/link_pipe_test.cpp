#include "runtime/network/link_pipe.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <string>
#include <thread>

using namespace actorrun::detail;

namespace {

struct fixture {
  fixture() {
    auto [x, y] = pipe_end::open();
    a = std::move(x);
    b = std::move(y);
    a.on_change([this] { ++calls_of_a; });
    b.on_change([this] { ++calls_of_b; });
  }

  ~fixture() {
    a.close();
    b.close();
  }

  pipe_end a;
  pipe_end b;
  int calls_of_a = 0;
  int calls_of_b = 0;
};

} // namespace

TEST_CASE_METHOD(fixture, "link_pipe: bytes go both ways, in order",
                 "[runtime]") {
  a.write("one");
  a.write(" two");
  b.write("three");
  CHECK(b.take() == "one two");
  CHECK(a.take() == "three");
  CHECK(a.take() == "");
  CHECK_FALSE(a.is_over());
}

TEST_CASE_METHOD(fixture,
                 "link_pipe: who was called is called again once it "
                 "has taken",
                 "[runtime]") {
  a.write("");
  CHECK(calls_of_b == 0);
  a.write("one");
  a.write("two");
  CHECK(calls_of_b == 1);
  b.take();
  a.write("three");
  CHECK(calls_of_b == 2);
  CHECK(calls_of_a == 0);
  b.on_change([this] { calls_of_b += 10; }); // It has not taken that.
  CHECK(calls_of_b == 12);
}

TEST_CASE_METHOD(fixture, "link_pipe: who misses room is told of it once",
                 "[runtime]") {
  CHECK(a.has_room(3));
  a.write("abc");
  CHECK_FALSE(a.has_room(3));
  CHECK(calls_of_a == 0);
  b.take();
  CHECK(calls_of_a == 1);
  CHECK(a.has_room(3));
  a.take();
  a.write("abc");
  b.take();
  CHECK(calls_of_a == 1);
}

TEST_CASE_METHOD(fixture, "link_pipe: what was written before the end is taken",
                 "[runtime]") {
  a.write("last");
  a.close();
  CHECK(calls_of_b == 1);
  CHECK_FALSE(b.is_over());
  CHECK(b.take() == "last");
  CHECK(b.is_over());
  b.write("lost");
  CHECK(a.take() == "");
  CHECK(a.is_over());
  CHECK(calls_of_a == 0);
}

TEST_CASE_METHOD(fixture, "link_pipe: an end that nothing waits for is noticed",
                 "[runtime]") {
  SECTION("closed") {
    a.close();
  }
  SECTION("destroyed") {
    [[maybe_unused]] const auto gone = std::move(a);
  }
  SECTION("replaced") {
    a = pipe_end{};
  }
  CHECK(calls_of_b == 1);
  CHECK(b.is_over());
}

TEST_CASE("link_pipe: one thread on each side loses nothing", "[runtime]") {
  auto [a, b] = pipe_end::open();
  constexpr auto count = 100'000;
  constexpr auto limit = size_t{1'000};
  auto is_room = std::atomic<bool>{false};
  auto is_more = std::atomic<bool>{false};
  const auto await = [](std::atomic<bool>& x) {
    x.wait(false);
    x = false;
  };
  const auto set = [](std::atomic<bool>& x) {
    return [&x] {
      x = true;
      x.notify_one();
    };
  };
  a.on_change(set(is_room));
  b.on_change(set(is_more));
  auto writer = std::thread{[&, end = std::move(a)]() mutable {
    for (auto i = 0; i < count; ++i) {
      while (!end.has_room(limit)) {
        await(is_room);
        end.take(); // So that it is called again.
      }
      end.write(std::to_string(i) + " ");
    }
  }};
  auto got = std::string{};
  while (!b.is_over()) {
    await(is_more);
    got += b.take();
  }
  writer.join();
  auto expected = std::string{};
  for (auto i = 0; i < count; ++i)
    expected += std::to_string(i) + " ";
  CHECK((got == expected));
}
