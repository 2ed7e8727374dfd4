#include "actors/core/store/cost.hpp"
#include "actors/core/store/store.hpp"
#include "tests/core/store/store_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::store_test {

using namespace actorrun::core;

namespace {

using enum store_verb;

using fixture = store_fixture;

constexpr auto full
  = "1 is cut: the store is full; see its limits in docs/store.md\n";

} // namespace

TEST_CASE_METHOD(fixture, "store: a client that has gone is not answered",
                 "[core]") {
  ask(2, wait_for({"a"}));
  ask(3, meet_at("b", 2));
  uut.disconnect({2});
  uut.disconnect({3});
  CHECK(ask(1, set_of("a", "")) == "");
  CHECK(ask(1, meet_at("b", 2)) == "1: 00\n"); // It had arrived at the barrier.
}

TEST_CASE_METHOD(fixture, "store: an ambiguous request is settled later",
                 "[core]") {
  ask(2, set_of("k", ""));
  const auto bytes
    = store_bytes(torch::v1_13, {.verb = delete_key, .keys = {"k"}});
  CHECK(send(1, bytes, torch::v1_13) == "");
  REQUIRE(uut.is_undecided({1}));
  CHECK(uut.key_count() == 1);
  CHECK(text_of(uut.decide({1})) == "1: 0100000000000000\n");
  CHECK(!uut.is_undecided({1}));
  CHECK(uut.key_count() == 0);
}

TEST_CASE_METHOD(fixture, "store: bytes kept for a connection count, too",
                 "[core]") {
  auto charge = uut.new_charge();
  CHECK(charge.grow(10));
  CHECK(uut.memory() == 10);
}

TEST_CASE_METHOD(fixture, "store: a connection counts, too", "[core]") {
  CHECK(uut.connect({1}));
  const auto one = uut.memory();
  CHECK(one > sizeof(store_parser));
  CHECK(uut.connect({2}));
  CHECK(uut.memory() == 2 * one);
  uut.disconnect({1});
  uut.disconnect({2});
  CHECK(uut.memory() == 0);
  CHECK(uut.memory_peak() == 2 * one);
  auto little = fixture{{.memory_max = one}};
  CHECK(little.ask(1, {.verb = count_keys}) == "1: 0000000000000000\n");
  CHECK(little.ask(2, {.verb = count_keys}) == "2 is refused\n");
}

TEST_CASE("store: memory has a limit, and comes back", "[core]") {
  const auto request
    = [](const char* key) { return set_of(key, std::string(500, 'v')); };
  auto any = fixture{};
  any.ask(1, {.verb = count_keys});
  const auto client = any.uut.memory();
  any.ask(1, request("a"));
  const auto kept = any.uut.memory() - client;
  auto enough = fixture{{.memory_max = client + 3 * kept}};
  auto little = fixture{{.memory_max = client + 3 * kept - 1}};
  for (const auto* key : {"a", "b"}) {
    CHECK(enough.ask(1, request(key)) == "");
    CHECK(little.ask(1, request(key)) == "");
  }
  CHECK(enough.ask(1, request("c")) == "");
  CHECK(enough.uut.memory() == client + 3 * kept);
  CHECK(little.ask(1, request("c")) == full);
  CHECK(little.uut.memory() == 2 * kept);
  CHECK(little.ask(2, get_of("a")).size() > 100);
  little.ask(2, {.verb = delete_key, .keys = {"a"}});
  CHECK(little.uut.memory() == client + kept);
  CHECK(little.ask(2, request("c")) == "");
}

TEST_CASE("store: values that are never fetched count", "[core]") {
  auto x = fixture{};
  const auto value = std::string(1'000, 'a');
  x.ask(1, set_of("a", value));
  const auto bytes = store_bytes(torch::v2_14, get_of("a"));
  auto input = std::string_view{bytes};
  auto unsent = x.uut.receive({1}, input);
  REQUIRE(unsent.size() == 1);
  x.ask(1, {.verb = delete_key, .keys = {"a"}});
  x.uut.disconnect({1});
  CHECK(x.uut.memory() == store_value::cost_of(value));
  unsent.clear();
  CHECK(x.uut.memory() == 0);
}

TEST_CASE("store: each request that finds no room cuts its client", "[core]") {
  const auto value = std::string(1'000, 'v');
  const store_request all[] = {
    set_of("k", value),
    compare("k", "", value.c_str()),
    {.verb = append, .keys = {"k"}, .values = {value}},
    {.verb = multi_set, .keys = {"k"}, .values = {value}},
    push_to("k", value.c_str()),
  };
  for (const auto& request : all) {
    auto any = fixture{};
    any.ask(2, set_of("other", "o"));
    const auto before = any.uut.memory();
    any.ask(1, {.verb = count_keys});
    const auto both = any.uut.memory();
    any.ask(1, request);
    const auto after = any.uut.memory();
    // The request can be read, but its value cannot be kept.
    auto x = fixture{{.memory_max = after - 1}};
    x.ask(2, set_of("other", "o"));
    x.ask(1, {.verb = count_keys});
    CHECK(x.uut.memory() == both);
    CHECK(x.ask(1, request) == full);
    CHECK(x.uut.memory() == before);
  }
}

TEST_CASE("store: a wait that finds no room cuts its client", "[core]") {
  auto any = fixture{};
  any.ask(1, {.verb = count_keys});
  const auto client = any.uut.memory();
  const auto request = wait_for({std::string(100, 'k')});
  CHECK(any.ask(1, request) == "");
  auto x = fixture{{.memory_max = any.uut.memory() - 1}};
  x.ask(1, {.verb = count_keys});
  CHECK(x.uut.memory() == client);
  CHECK(x.ask(1, request) == full);
  CHECK(x.uut.memory() == 0);
}

} // namespace actorrun::test::store_test
