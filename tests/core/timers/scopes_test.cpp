#include "actors/core/timers/scopes.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

using namespace actorrun::core;

namespace {

constexpr size_t long_text_max = 10'000;

struct fixture {
  timer_scopes uut{long_text_max};
};

} // namespace

TEST_CASE_METHOD(fixture, "timer_scopes: a name is kept once", "[core]") {
  const auto a = uut.hold("step");
  CHECK(uut.hold("step") == a);
  CHECK(uut.find("step") == a);
  CHECK(uut.text(a) == "step");
  CHECK(uut.size() == 1);
  CHECK(uut.hold("load") != a);
  CHECK(uut.size() == 2);
}

TEST_CASE_METHOD(fixture, "timer_scopes: a name is removed with its last user",
                 "[core]") {
  const auto a = uut.hold("step");
  uut.hold("step");
  uut.drop(a);
  CHECK(uut.find("step") == a);
  uut.drop(a);
  CHECK(uut.find("step") == timer_scopes::none);
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(fixture, "timer_scopes: names of any bytes are distinguished",
                 "[core]") {
  const auto empty = uut.hold("");
  const auto zero = uut.hold(std::string_view{"\0", 1});
  const auto two = uut.hold(std::string_view{"\0\0", 2});
  CHECK(empty != zero);
  CHECK(zero != two);
  CHECK(uut.text(empty).empty());
  CHECK(uut.text(two).size() == 2);
}

TEST_CASE_METHOD(fixture, "timer_scopes: a short name uses no long text",
                 "[core]") {
  const auto x = uut.hold(std::string(30, 'a'));
  CHECK(uut.long_text_size() == 0);
  const auto y = uut.hold(std::string(31, 'a'));
  CHECK(uut.long_text_size() == 31);
  CHECK(uut.text(x) == std::string(30, 'a'));
  CHECK(uut.text(y) == std::string(31, 'a'));
  uut.drop(y);
  CHECK(uut.long_text_size() == 0);
}

TEST_CASE_METHOD(fixture, "timer_scopes: the length of a name is bounded",
                 "[core]") {
  const auto longest = std::string(scope_text_max, 'x');
  CHECK(uut.hold(longest) != timer_scopes::none);
  CHECK(uut.hold(longest + 'x') == timer_scopes::none);
  CHECK(uut.size() == 1);
}

TEST_CASE_METHOD(fixture, "timer_scopes: long names together are bounded",
                 "[core]") {
  uut.hold(std::string(4'000, 'a'));
  uut.hold(std::string(4'000, 'b'));
  CHECK(uut.hold(std::string(2'001, 'c')) == timer_scopes::none);
  const auto x = uut.hold(std::string(2'000, 'c'));
  CHECK(x != timer_scopes::none);
  CHECK(uut.long_text_size() == long_text_max);
  CHECK(uut.hold("short") != timer_scopes::none);
  uut.drop(x);
  CHECK(uut.hold(std::string(2'000, 'd')) != timer_scopes::none);
}

TEST_CASE("timer_scopes: it agrees with a map", "[core]") {
  auto random = std::mt19937{7};
  const auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  auto uut = timer_scopes{1 << 20};
  auto model = std::map<std::string, uint32_t>{};
  // Grows to thousands of names, shrinks to none, and grows again.
  for (int round = 0; round < 4; ++round)
    for (int i = 0; i < 40'000; ++i) {
      const auto name
        = std::string(below(50), 'n') + std::to_string(below(5'000));
      const auto grows = i < 20'000;
      if (below(100) < (grows ? 80u : 10u)) {
        REQUIRE(uut.text(uut.hold(name)) == name);
        ++model[name];
      } else if (!model.empty()) {
        auto x = model.lower_bound(name);
        if (x == model.end())
          x = model.begin();
        const auto number = uut.find(x->first);
        REQUIRE(number != timer_scopes::none);
        uut.drop(number);
        if (--x->second == 0)
          model.erase(x);
      }
      REQUIRE(uut.size() == model.size());
      REQUIRE((uut.find(name) == timer_scopes::none) != model.contains(name));
    }
}
