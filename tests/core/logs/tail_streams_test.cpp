#include "actors/core/logs/tail_streams.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::tail_streams_test {

using namespace actorrun::core;

namespace {

struct fixture {
  tail_streams uut;

  std::string numbers(const std::vector<tail_stream*>& xs) {
    auto text = std::string{};
    for (const auto* x : xs)
      text += (text.empty() ? "" : " ") + std::to_string(x->number);
    return text;
  }

  void follow(uint64_t generation, uint32_t count) {
    REQUIRE(uut.open({generation}, count));
    for (uint32_t i = 0; i < count; ++i)
      for (const auto is_err : {false, true})
        uut.add({generation}, i, is_err);
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "tail_streams: streams are found by worker and generation",
                 "[core]") {
  CHECK(uut.is_empty());
  follow(1, 2);
  follow(3, 1);
  CHECK(numbers(uut.of_worker({1}, 0)) == "0 1");
  CHECK(numbers(uut.of_worker({1}, 1)) == "2 3");
  CHECK(numbers(uut.of_worker({1}, 2)) == "");
  CHECK(numbers(uut.of_worker({2}, 0)) == "");
  CHECK(numbers(uut.of_worker({3}, 0)) == "4 5");
  CHECK(numbers(uut.of_generation({1})) == "0 1 2 3");
  CHECK(numbers(uut.of_generation({2})) == "");
  CHECK(numbers(uut.all()) == "0 1 2 3 4 5");
  REQUIRE(uut.find(5) != nullptr);
  CHECK(uut.find(5)->kind == tail_kind::err);
  CHECK(uut.find(5)->generation == generation_id{3});
  CHECK(uut.find(6) == nullptr);
}

TEST_CASE_METHOD(fixture, "tail_streams: a generation is followed once",
                 "[core]") {
  follow(2, 1);
  CHECK_FALSE(uut.open({2}, 1));
  CHECK_FALSE(uut.open({1}, 1));
  uut.remove(0);
  uut.remove(1);
  CHECK(uut.is_empty());
  CHECK_FALSE(uut.open({2}, 1));
  CHECK(uut.open({3}, 1));
}

TEST_CASE_METHOD(fixture, "tail_streams: numbers are not used again",
                 "[core]") {
  follow(1, 1);
  uut.remove(1);
  CHECK(numbers(uut.of_worker({1}, 0)) == "0");
  uut.remove(0);
  follow(2, 1);
  CHECK(numbers(uut.all()) == "2 3");
  CHECK(numbers(uut.of_worker({1}, 0)) == "");
}

TEST_CASE_METHOD(fixture,
                 "tail_streams: a new generation waits for one that is over",
                 "[core]") {
  follow(1, 2);
  follow(2, 1);
  auto& out = *uut.find(4);
  auto& err = *uut.find(5);
  CHECK_FALSE(uut.has_to_wait(out)); // The old one may go on forever.
  uut.find(2)->is_closed = true;
  CHECK(uut.has_to_wait(out));
  CHECK_FALSE(uut.has_to_wait(err));
  CHECK_FALSE(uut.has_to_wait(*uut.find(0))); // Its own generation.
  uut.remove(2);
  CHECK_FALSE(uut.has_to_wait(out));
  out.is_closed = true;
  CHECK_FALSE(uut.has_to_wait(*uut.find(0)));
}

TEST_CASE_METHOD(fixture,
                 "tail_streams: a drained stream has been read and its "
                 "last line shown",
                 "[core]") {
  auto x = tail_stream{};
  CHECK(x.is_at_goal());
  x.goal = 10;
  CHECK_FALSE(x.is_at_goal());
  x.cursor.skip_to(9);
  CHECK_FALSE(x.is_at_goal());
  x.cursor.flush_at(20);
  x.cursor.skip_to(10);
  CHECK_FALSE(x.is_at_goal());
  x.cursor.skip_to(20);
  CHECK(x.is_at_goal());
}

TEST_CASE_METHOD(fixture,
                 "tail_streams: a worker's may go on in a later generation",
                 "[core]") {
  follow(1, 2);
  REQUIRE(uut.open({2}, 2));
  uut.add({2}, 0, false);
  CHECK(numbers(uut.carry({1}, 1, 1)) == "2 3");
  CHECK(numbers(uut.of_worker({2}, 0)) == "4");
  CHECK(numbers(uut.of_worker({2}, 1)) == "2 3");
  CHECK(numbers(uut.of_generation({2})) == "4 2 3");
  // And in one after that.
  uut.remove(4);
  REQUIRE(uut.open({3}, 2));
  CHECK(numbers(uut.carry({2}, 1, 1)) == "2 3");
  CHECK(numbers(uut.of_generation({3})) == "2 3");
  CHECK(numbers(uut.carry({2}, 0, 0)) == "");
  uut.remove(2);
  CHECK(numbers(uut.of_worker({3}, 1)) == "3");
  CHECK(numbers(uut.carry({3}, 1, 1)) == "3");
}

} // namespace actorrun::test::tail_streams_test
