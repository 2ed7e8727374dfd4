#include "actors/core/store/cost.hpp"
#include "actors/core/store/parser.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/store_bytes.hpp"

#include <random>
#include <string>
#include <vector>

namespace actorrun::test::parser_test {

using namespace actorrun::core;

namespace {

using enum store_verb;

/// Limits small enough to be reached.
constexpr auto small = store_limits{.key_size_max = 8,
                                    .value_size_max = 16,
                                    .keys_per_request_max = 3,
                                    .memory_max = 100'000};

struct fixture {
  explicit fixture(const store_limits& limits = small)
    : budget(std::make_shared<store_budget>(limits.memory_max)),
      uut(limits, budget) {}

  /// All requests in `bytes`; then the reason for the end, if there is one.
  std::vector<store_request> read(std::string_view bytes) {
    auto out = std::vector<store_request>{};
    while (!bytes.empty()) {
      auto x = uut.next(bytes);
      if (!x) {
        refusal = x.error().text;
        break;
      }
      if (*x)
        out.push_back(std::move(**x));
    }
    return out;
  }

  std::shared_ptr<store_budget> budget;
  store_parser uut;
  std::string refusal;
};

/// One request of each kind that has the same meaning in all versions.
std::vector<store_request> common_requests() {
  return {
    {.verb = set, .keys = {"k"}, .values = {"v"}},
    {.verb = compare_set, .keys = {"k"}, .values = {"", "new"}},
    {.verb = get, .keys = {"k"}},
    {.verb = add, .keys = {"n"}, .number = -5},
    {.verb = check, .keys = {"a", "b"}},
    {.verb = wait, .keys = {"a", "b", "c"}},
    {.verb = wait},
    {.verb = count_keys},
  };
}

std::vector<store_request> requests_of_2_14() {
  auto out = common_requests();
  const store_request more[] = {
    {.verb = delete_key, .keys = {"k"}},
    {.verb = append, .keys = {"k"}, .values = {""}},
    {.verb = multi_get, .keys = {"a", "b"}},
    {.verb = multi_set, .keys = {"a", "b"}, .values = {"1", "2"}},
    {.verb = cancel_wait},
    {.verb = ping, .number = 0xFFFFFFFF},
    {.verb = queue_push, .keys = {"q"}, .values = {"item"}},
    {.verb = queue_pop, .keys = {"q"}},
    {.verb = queue_length, .keys = {"q"}},
    {.verb = list_keys},
    {.verb = barrier, .keys = {"b"}, .number = 256},
  };
  out.insert(out.end(), std::begin(more), std::end(more));
  return out;
}

std::string bytes_of(torch version, const std::vector<store_request>& xs) {
  auto out = std::string{};
  for (const auto& x : xs)
    out += store_bytes(version, x);
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture, "store_parser: torch 2.14 is understood", "[core]") {
  const auto hello = read(store_hello(4711));
  REQUIRE(hello.size() == 2);
  CHECK(hello[0].verb == validate);
  CHECK(hello[1] == store_request{.verb = ping, .number = 4711});
  CHECK(uut.dialect() == store_dialect::from_2_2);
  const auto all = requests_of_2_14();
  CHECK(read(bytes_of(torch::v2_14, all)) == all);
  CHECK(refusal.empty());
}

TEST_CASE_METHOD(fixture, "store_parser: torch 1.13 is understood", "[core]") {
  const auto all = common_requests();
  CHECK(read(bytes_of(torch::v1_13, all)) == all);
  CHECK(uut.dialect() == store_dialect::upto_2_1);
}

TEST_CASE("store_parser: the first request of an old torch can be any",
          "[core]") {
  for (const auto& first : common_requests()) {
    auto x = fixture{};
    CHECK(x.read(store_bytes(torch::v1_13, first)) == std::vector{first});
  }
}

TEST_CASE_METHOD(fixture, "store_parser: torch 2.1 is understood", "[core]") {
  auto all = common_requests();
  all.push_back({.verb = delete_key, .keys = {"k"}});
  all.push_back({.verb = append, .keys = {"k"}, .values = {"more"}});
  all.push_back({.verb = multi_get, .keys = {"a"}});
  all.push_back({.verb = multi_set, .keys = {"a"}, .values = {"1"}});
  all.push_back({.verb = cancel_wait});
  CHECK(read(bytes_of(torch::v2_1, all)) == all);
  CHECK(uut.dialect() == store_dialect::only_2_1);
}

TEST_CASE_METHOD(fixture, "store_parser: number 8 waits for the bytes after it",
                 "[core]") {
  const auto key
    = store_bytes(torch::v1_13, {.verb = delete_key, .keys = {"k"}});
  CHECK(read(key).empty());
  REQUIRE(uut.is_undecided());
  SECTION("nothing follows: torch 2.0 or older deletes a key") {
    const auto expected = store_request{.verb = delete_key, .keys = {"k"}};
    CHECK(uut.decide_delete() == expected);
    CHECK(uut.dialect() == store_dialect::upto_2_0);
    CHECK(read(key) == std::vector{expected});
    CHECK(!uut.is_undecided());
  }
  SECTION("a value follows: torch 2.1 appends") {
    CHECK(read(store_int(uint64_t{2}).substr(0, 1)).empty());
    CHECK(!uut.is_undecided());
    CHECK(uut.dialect() == store_dialect::only_2_1);
    CHECK(read(store_int(uint64_t{2}).substr(1) + "xy")
          == std::vector{
            store_request{.verb = append, .keys = {"k"}, .values = {"xy"}}});
  }
}

TEST_CASE_METHOD(fixture, "store_parser: number 8 of torch 2.14 is clear",
                 "[core]") {
  read(store_hello(1));
  CHECK(
    read(store_bytes(torch::v2_14, {.verb = delete_key, .keys = {"k"}})).size()
    == 1);
  CHECK(!uut.is_undecided());
}

TEST_CASE_METHOD(fixture, "store_parser: only torch 2.1 has numbers from 9",
                 "[core]") {
  read(store_bytes(torch::v1_13, {.verb = delete_key, .keys = {"k"}}));
  uut.decide_delete();
  CHECK(read("\x09").empty());
  CHECK(refusal.find("unknown request 9") == 0);
}

TEST_CASE("store_parser: the result does not depend on how bytes are cut",
          "[core]") {
  const auto all = requests_of_2_14();
  const auto bytes = store_hello(7) + bytes_of(torch::v2_14, all);
  for (const auto size : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    auto x = fixture{};
    auto seen = std::vector<store_request>{};
    for (size_t i = 0; i < bytes.size(); i += size)
      for (auto& y : x.read(std::string_view{bytes}.substr(i, size)))
        seen.push_back(std::move(y));
    REQUIRE(seen.size() == all.size() + 2);
    CHECK(std::equal(all.begin(), all.end(), seen.begin() + 2));
  }
}

TEST_CASE("store_parser: every limit holds", "[core]") {
  struct limit {
    const char* what;
    store_request at;
    store_request beyond;
    const char* refusal;
  };
  const auto a = std::string(8, 'a');
  const auto v = std::string(16, 'v');
  const limit all[] = {
    {"key",
     {.verb = get, .keys = {a}},
     {.verb = get, .keys = {a + "a"}},
     "a key length of 9; the most is 8"},
    {"value",
     {.verb = set, .keys = {"k"}, .values = {v}},
     {.verb = set, .keys = {"k"}, .values = {v + "v"}},
     "a value length of 17; the most is 16"},
    {"keys",
     {.verb = wait, .keys = {"a", "b", "c"}},
     {.verb = wait, .keys = {"a", "b", "c", "d"}},
     "a number of keys of 4; the most is 3"},
  };
  for (const auto& x : all) {
    INFO(x.what);
    auto good = fixture{};
    CHECK(good.read(store_bytes(torch::v1_13, x.at)) == std::vector{x.at});
    auto bad = fixture{};
    CHECK(bad.read(store_bytes(torch::v1_13, x.beyond)).empty());
    CHECK(bad.refusal == x.refusal);
  }
}

TEST_CASE("store_parser: half a request counts as memory", "[core]") {
  const auto bytes = store_bytes(
    torch::v1_13,
    {.verb = set, .keys = {std::string(40, 'k')}, .values = {"not 16 bytes"}});
  // The lists of keys and values, with one of each; a short value is there.
  const auto size = 2 * block_cost(sizeof(std::string)) + block_cost(41);
  auto enough = fixture{{.memory_max = size}};
  CHECK(enough.read(bytes).size() == 1);
  CHECK(enough.budget->used() == 0);
  auto little = fixture{{.memory_max = size - 1}};
  CHECK(little.read(bytes).empty());
  CHECK(little.refusal == store_is_full);
}

TEST_CASE("store_parser: a claimed size takes no memory", "[core]") {
  auto x = fixture{store_limits{}};
  x.read(std::string{'\0'} + store_text("k")
         + store_int(uint64_t{64} * 1024 * 1024) + "v");
  CHECK(x.refusal.empty());
  const auto lists = 2 * block_cost(sizeof(std::string));
  CHECK(x.budget->used() == lists);
  for (auto size = size_t{1}; size < 100'000; size += 1'000) {
    REQUIRE(x.budget->used() <= lists + 2 * size + page_size);
    x.read(std::string(1'000, 'v'));
  }
}

TEST_CASE("store_parser: a value has no more room than its bytes", "[core]") {
  const auto size = size_t{100'000};
  const auto bytes = store_bytes(
    torch::v1_13,
    {.verb = set, .keys = {"k"}, .values = {std::string(size, 'v')}});
  auto x = fixture{store_limits{}};
  auto all = std::vector<store_request>{};
  for (size_t i = 0; i < bytes.size(); i += 777)
    for (auto& request : x.read(std::string_view{bytes}.substr(i, 777)))
      all.push_back(std::move(request));
  REQUIRE(all.size() == 1);
  CHECK(all[0].values[0].size() == size);
  CHECK(all[0].values[0].capacity() == size);
}

TEST_CASE("store_parser: each key of a request counts", "[core]") {
  auto x = fixture{store_limits{}};
  auto bytes = std::string{'\5'} + store_int(uint64_t{100});
  for (auto i = 0; i < 64; ++i)
    bytes += store_text(std::string(100, 'k'));
  CHECK(x.read(bytes).empty());
  CHECK(x.budget->used()
        == block_cost(64 * sizeof(std::string)) + 64 * block_cost(101));
}

TEST_CASE("store_parser: other protocols are recognised", "[core]") {
  const std::string all[] = {
    "GET / HTTP/1.1\r\n\r\n",
    std::string{"\x16\x03\x01\x02\x00\x01\x00", 7},
    std::string{"\0\xce\xf7\x85\x3d\0\0\0\0\0", 10},
    std::string{"\xff"},
  };
  for (const auto& bytes : all) {
    auto x = fixture{store_limits{}};
    CHECK(x.read(bytes).empty());
    CHECK(!x.refusal.empty());
  }
  auto late = fixture{};
  late.read(store_hello(1));
  late.read(store_bytes(torch::v2_14, {.verb = validate, .number = 1}));
  CHECK(late.refusal.find("a wrong magic number") == 0);
}

// Random bytes, and damaged requests in random pieces: the parser must neither
// crash nor keep more than it may.
TEST_CASE("store_parser: survives any input", "[core]") {
  auto random = std::mt19937{20261121};
  const auto below = [&](size_t n) { return random() % n; };
  const auto good = store_hello(9) + bytes_of(torch::v2_14, requests_of_2_14());
  for (auto run = 0; run < 3'000; ++run) {
    auto x = fixture{};
    auto bytes = good;
    for (auto n = below(4); n > 0; --n)
      bytes[below(bytes.size())] = static_cast<char>(random());
    if (run % 3 == 0)
      for (auto& c : bytes)
        c = static_cast<char>(below(20));
    for (size_t i = 0; i < bytes.size() && x.refusal.empty();) {
      const auto size = 1 + below(40);
      x.read(std::string_view{bytes}.substr(i, size));
      i += size;
      REQUIRE(x.budget->used() <= small.memory_max);
    }
  }
}

} // namespace actorrun::test::parser_test
