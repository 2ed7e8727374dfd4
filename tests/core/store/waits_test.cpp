#include "actors/core/store/cost.hpp"
#include "actors/core/store/waits.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <string>
#include <vector>

namespace actorrun::test::waits_test {

using namespace actorrun::core;

namespace {

using clients = std::vector<store_client>;

constexpr auto a = store_client{2};
constexpr auto b = store_client{3};
constexpr auto c = store_client{4};

struct fixture {
  explicit fixture(size_t memory_max = 100'000)
    : budget(std::make_shared<store_budget>(memory_max)), uut(budget) {}

  /// The memory of waits for these keys, one client each.
  static size_t size_of(const std::vector<std::vector<std::string>>& all) {
    auto x = fixture{};
    for (size_t i = 0; i < all.size(); ++i)
      x.uut.wait({i + 2}, all[i]);
    return x.budget->used();
  }

  std::shared_ptr<store_budget> budget;
  store_waits uut;
};

} // namespace

TEST_CASE_METHOD(
  fixture, "store_waits: clients are answered in the order of their waits",
  "[core]") {
  CHECK(uut.wait(c, {"k"}));
  CHECK(uut.wait(a, {"k"}));
  CHECK(uut.on_key("other").empty());
  CHECK(uut.on_key("k") == clients{c, a});
  CHECK(uut.on_key("k").empty());
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(fixture, "store_waits: a wait for more ends with the last",
                 "[core]") {
  CHECK(uut.wait(a, {"k", "l", "k"}));
  CHECK(uut.on_key("k").empty());
  CHECK(uut.on_key("k").empty());
  CHECK(uut.on_key("l") == clients{a});
}

TEST_CASE_METHOD(fixture, "store_waits: a client has one wait", "[core]") {
  CHECK(uut.wait(a, {"k"}));
  CHECK(uut.wait(a, {"l"}));
  CHECK(uut.size() == 1);
  CHECK(uut.on_key("k").empty());
  CHECK(uut.join(a, "m"));
  CHECK(uut.on_key("l").empty());
  CHECK(uut.on_barrier("m") == clients{a});
}

TEST_CASE_METHOD(fixture, "store_waits: keys and barriers have separate names",
                 "[core]") {
  CHECK(uut.wait(a, {"n"}));
  CHECK(uut.join(b, "n"));
  CHECK(uut.on_barrier("n") == clients{b});
  CHECK(uut.on_key("n") == clients{a});
}

TEST_CASE_METHOD(fixture, "store_waits: an item in a queue is for one client",
                 "[core]") {
  CHECK(uut.wait(a, {"q", "k"}));
  CHECK(uut.wait(b, {"q"}));
  CHECK(uut.wait(c, {"q"}));
  CHECK(uut.on_queue("q") == b); // The first client wants more and is skipped.
  CHECK(uut.on_queue("q") == c);
  CHECK(uut.on_queue("q") == std::nullopt);
  CHECK(uut.on_key("k") == clients{a});
}

TEST_CASE_METHOD(fixture, "store_waits: cancelled waits leave nothing behind",
                 "[core]") {
  uut.cancel(a);
  CHECK(uut.wait(a, {"k", "l"}));
  CHECK(uut.join(b, "m"));
  CHECK(budget->used() > 0);
  uut.cancel(a);
  uut.cancel(b);
  CHECK(budget->used() == 0);
  CHECK(uut.on_key("k").empty());
  CHECK(uut.on_barrier("m").empty());
}

TEST_CASE("store_waits: a name is kept once, however many wait for it",
          "[core]") {
  const auto one = fixture::size_of({{"k"}});
  const auto second = fixture::size_of({{"k"}, {"k"}}) - one;
  CHECK(second < one);
  const auto name = std::string(1'000, 'n');
  CHECK(fixture::size_of({{name}}) == one + block_cost(1'001));
  CHECK(fixture::size_of({{name}, {name}}) == one + second + block_cost(1'001));
  CHECK(fixture::size_of({{name, name}}) == fixture::size_of({{name}}));
}

TEST_CASE_METHOD(fixture, "store_waits: a wait that goes on costs less",
                 "[core]") {
  CHECK(uut.wait(a, {"k", "l"}));
  CHECK(uut.on_key("k").empty());
  CHECK(budget->used() == size_of({{"l"}}));
  CHECK(uut.wait(b, {"l", "m"}));
  CHECK(uut.on_queue("l") == a);
  CHECK(budget->used() == size_of({{"l", "m"}}));
  CHECK(uut.on_queue("l") == std::nullopt);
  CHECK(budget->used() == size_of({{"m"}}));
  CHECK(uut.on_key("m") == clients{b});
  CHECK(budget->used() == 0);
}

TEST_CASE("store_waits: waits are bounded by the limit", "[core]") {
  const auto one = fixture::size_of({{"k"}});
  auto x = fixture{2 * one};
  CHECK(x.uut.wait(a, {"k"}));
  CHECK(x.uut.join(b, "k"));
  CHECK(!x.uut.wait(c, {"k"}));
  CHECK(x.uut.size() == 2);
  auto less = fixture{2 * one - 1};
  CHECK(less.uut.wait(a, {"k"}));
  CHECK(!less.uut.join(b, "k"));
  CHECK(less.budget->used() == one);
  const auto long_name = std::string(2 * one, 'n');
  CHECK(!less.uut.wait(a, {"k", long_name})); // The previous wait has ended.
  CHECK(less.uut.size() == 0);
  CHECK(less.budget->used() == 0);
  CHECK(less.uut.on_key("k").empty());
}

} // namespace actorrun::test::waits_test
