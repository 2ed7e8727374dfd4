#include "actorrun/actors/core/store.hpp"
#include "core/store_fixture.hpp"

#include <catch2/catch.hpp>

using namespace actorrun;
using namespace actorrun::core;
using namespace actorrun::test;

namespace {

using enum store_verb;

using fixture = store_fixture;

store_request set_of(const char* key, std::string value) {
  return {.verb = set, .keys = {key}, .values = {std::move(value)}};
}

store_request get_of(const char* key) {
  return {.verb = get, .keys = {key}};
}

store_request wait_for(std::vector<std::string> keys) {
  return {.verb = wait, .keys = std::move(keys)};
}

store_request compare(const char* key, const char* expected,
                      const char* desired) {
  return {.verb = compare_set, .keys = {key}, .values = {expected, desired}};
}

store_request add_to(const char* key, int64_t x) {
  return {.verb = add, .keys = {key}, .number = x};
}

store_request push_to(const char* queue, const char* value) {
  return {.verb = queue_push, .keys = {queue}, .values = {value}};
}

store_request meet_at(const char* name, int64_t count) {
  return {.verb = barrier, .keys = {name}, .number = count};
}

constexpr auto full
  = "1 is cut: the store is full; see its limits in docs/store.md\n";

} // namespace

TEST_CASE_METHOD(fixture, "store: what was set is got", "[core]") {
  CHECK(ask(1, set_of("k", "one")) == "");
  CHECK(ask(2, get_of("k")) == "2: 'one'\n");
  CHECK(ask(2, set_of("k", "")) == "");
  CHECK(ask(1, get_of("k")) == "1: ''\n");
  CHECK(ask(1, get_of("none")) == "1: ''\n");
}

TEST_CASE_METHOD(fixture, "store: compare_set does as torch does", "[core]") {
  CHECK(ask(1, compare("k", "x", "y")) == "1: 'x'\n"); // Not there, not set.
  CHECK(ask(1, {.verb = check, .keys = {"k"}}) == "1: 01\n");
  CHECK(ask(1, compare("k", "", "y")) == "1: 'y'\n");
  CHECK(ask(1, compare("k", "x", "z")) == "1: 'y'\n");
  CHECK(ask(1, compare("k", "y", "z")) == "1: 'z'\n");
  CHECK(ask(1, get_of("k")) == "1: 'z'\n");
}

TEST_CASE_METHOD(fixture, "store: add counts in decimal text", "[core]") {
  CHECK(ask(1, add_to("n", 5)) == "1: 0500000000000000\n");
  CHECK(ask(2, add_to("n", -7)) == "2: feffffffffffffff\n");
  CHECK(ask(2, get_of("n")) == "2: '-2'\n");
  ask(1, set_of("n", " +12 or so")); // As torch reads it.
  CHECK(ask(1, add_to("n", 0)) == "1: 0c00000000000000\n");
}

TEST_CASE_METHOD(fixture, "store: add to what is no number cuts its client",
                 "[core]") {
  for (const auto* text : {"", "abc", "-", "+-1", "9223372036854775808"}) {
    ask(2, set_of("n", text));
    CHECK(ask(1, add_to("n", 1))
          == "1 is cut: ADD to \"n\", which is no number\n");
    CHECK(ask(2, get_of("n")) == "2: '" + std::string{text} + "'\n");
  }
  ask(2, set_of("n", "9223372036854775807"));
  CHECK(ask(1, add_to("n", 0)) == "1: ffffffffffffff7f\n");
  CHECK(ask(1, add_to("n", 1))
        == "1 is cut: ADD to \"n\" goes beyond 64 bits\n");
}

TEST_CASE_METHOD(fixture, "store: keys are checked, counted, listed, deleted",
                 "[core]") {
  CHECK(ask(1, {.verb = check}) == "1: 00\n");
  ask(1, {.verb = multi_set, .keys = {"a", "b"}, .values = {"1", "2"}});
  CHECK(ask(1, {.verb = check, .keys = {"a", "b"}}) == "1: 00\n");
  CHECK(ask(1, {.verb = check, .keys = {"a", "c"}}) == "1: 01\n");
  CHECK(ask(1, {.verb = multi_get, .keys = {"b", "a", "b"}})
        == "1: '2' '1' '2'\n");
  CHECK(ask(1, {.verb = count_keys}) == "1: 0200000000000000\n");
  CHECK(ask(1, {.verb = list_keys}) == "1: 0200000000000000 +18\n");
  CHECK(ask(1, {.verb = delete_key, .keys = {"a"}}) == "1: 0100000000000000\n");
  CHECK(ask(1, {.verb = delete_key, .keys = {"a"}}) == "1: 0000000000000000\n");
  CHECK(ask(1, {.verb = count_keys}) == "1: 0100000000000000\n");
}

TEST_CASE_METHOD(fixture, "store: append makes or lengthens a value",
                 "[core]") {
  const auto more = [](const char* text) {
    return store_request{.verb = append, .keys = {"k"}, .values = {text}};
  };
  CHECK(ask(1, more("ab")) == "");
  CHECK(ask(1, more("cd")) == "");
  CHECK(ask(1, get_of("k")) == "1: 'abcd'\n");
}

TEST_CASE("store: a value that grows has a limit", "[core]") {
  auto x = fixture{{.value_size_max = 4}};
  const auto more
    = store_request{.verb = append, .keys = {"k"}, .values = {"ab"}};
  CHECK(x.ask(1, more) == "");
  CHECK(x.ask(1, more) == "");
  CHECK(x.ask(1, more)
        == "1 is cut: APPEND makes the value of \"k\" 6 bytes long; the most "
           "is 4\n");
  CHECK(x.ask(2, get_of("k")) == "2: 'abab'\n");
}

TEST_CASE_METHOD(fixture, "store: a ping comes back", "[core]") {
  CHECK(ask(1, {.verb = ping, .number = 0x01020304}) == "1: 04030201\n");
}

// -- waits --------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "store: a wait ends when all keys are there",
                 "[core]") {
  ask(1, set_of("a", ""));
  CHECK(ask(1, wait_for({"a"})) == "1: 00\n");
  CHECK(ask(2, wait_for({"a", "b", "c", "b"})) == "");
  CHECK(ask(3, wait_for({"c"})) == "");
  CHECK(ask(1, set_of("b", "")) == "");
  CHECK(ask(1, add_to("c", 1)) == "1: 0100000000000000\n2: 00\n3: 00\n");
  CHECK(ask(1, set_of("c", "")) == "");
}

TEST_CASE_METHOD(fixture, "store: every way to make a key ends a wait",
                 "[core]") {
  ask(2, wait_for({"a"}));
  CHECK(ask(1, compare("a", "", "x")) == "2: 00\n1: 'x'\n");
  ask(2, wait_for({"b"}));
  CHECK(ask(1, {.verb = append, .keys = {"b"}, .values = {""}}) == "2: 00\n");
  ask(2, wait_for({"c"}));
  CHECK(ask(1, {.verb = multi_set, .keys = {"c"}, .values = {""}})
        == "2: 00\n");
  ask(2, wait_for({"d"}));
  CHECK(ask(1, compare("d", "not there", "x")) == "1: 'not there'\n");
  CHECK(ask(1, meet_at("d", 9)) == "2: 00\n");
}

TEST_CASE_METHOD(fixture, "store: a wait can be cancelled", "[core]") {
  ask(2, wait_for({"a", "b"}));
  CHECK(ask(2, {.verb = cancel_wait}) == "2: 01\n");
  CHECK(ask(2, {.verb = cancel_wait}) == "2: 01\n");
  CHECK(ask(1, set_of("a", "")) == "");
  CHECK(ask(1, set_of("b", "")) == "");
}

TEST_CASE_METHOD(fixture, "store: who asks for something else waits no more",
                 "[core]") {
  const auto bytes
    = [](const store_request& x) { return store_bytes(torch::v1_13, x); };
  CHECK(send(2, bytes(wait_for({"a"})), torch::v1_13) == "");
  CHECK(send(2, bytes(set_of("b", "1")), torch::v1_13) == "");
  CHECK(ask(1, set_of("a", "")) == "");
}

TEST_CASE_METHOD(fixture, "store: who has gone is not answered", "[core]") {
  ask(2, wait_for({"a"}));
  ask(3, meet_at("b", 2));
  uut.disconnect({2});
  uut.disconnect({3});
  CHECK(ask(1, set_of("a", "")) == "");
  CHECK(ask(1, meet_at("b", 2)) == "1: 00\n"); // It has been there.
}

// -- barriers and queues ------------------------------------------------------

TEST_CASE_METHOD(fixture, "store: a barrier opens for all at once", "[core]") {
  CHECK(ask(1, meet_at("b", 3)) == "");
  CHECK(ask(2, meet_at("b", 3)) == "");
  CHECK(ask(4, get_of("b")) == "4: '2'\n");
  CHECK(ask(3, meet_at("b", 3)) == "1: 00\n2: 00\n3: 00\n");
  CHECK(ask(4, meet_at("b", 3)) == "4: 00\n");
  CHECK(ask(1, meet_at("alone", 1)) == "1: 00\n");
}

TEST_CASE_METHOD(fixture, "store: waiting at a barrier can be cancelled",
                 "[core]") {
  ask(1, meet_at("b", 2));
  CHECK(ask(1, {.verb = cancel_wait}) == "1: 01\n");
  CHECK(ask(2, meet_at("b", 2)) == "2: 00\n");
}

TEST_CASE_METHOD(fixture, "store: queues are first in, first out", "[core]") {
  const auto pop = store_request{.verb = queue_pop, .keys = {"q"}};
  const auto length = store_request{.verb = queue_length, .keys = {"q"}};
  CHECK(ask(1, pop) == "1: 0000000000000000\n");
  CHECK(ask(1, length) == "1: 0000000000000000\n");
  CHECK(ask(1, push_to("q", "a")) == "");
  CHECK(ask(1, push_to("q", "b")) == "");
  CHECK(ask(2, length) == "2: 0200000000000000\n");
  CHECK(ask(2, wait_for({"q"})) == "2: 00\n");
  CHECK(ask(2, {.verb = count_keys}) == "2: 0000000000000000\n");
  CHECK(ask(2, pop) == "2: 0200000000000000 'a'\n");
  CHECK(ask(2, pop) == "2: 0100000000000000 'b'\n");
  CHECK(ask(2, pop) == "2: 0000000000000000\n");
  CHECK(ask(2, wait_for({"q"})) == "");
}

TEST_CASE_METHOD(fixture, "store: one item wakes one who waits for it",
                 "[core]") {
  ask(1, wait_for({"q"}));
  ask(2, wait_for({"q"}));
  CHECK(ask(3, push_to("q", "a")) == "1: 00\n");
  CHECK(ask(3, push_to("q", "b")) == "2: 00\n");
  CHECK(ask(3, push_to("q", "c")) == "");
}

TEST_CASE_METHOD(fixture, "store: who waits for more leaves the item to others",
                 "[core]") {
  ask(1, wait_for({"k", "q"}));
  ask(2, wait_for({"q"}));
  CHECK(ask(3, push_to("q", "a")) == "2: 00\n");
  CHECK(ask(3, set_of("k", "")) == "1: 00\n");
}

// -- memory -------------------------------------------------------------------

TEST_CASE("store: memory has a limit, and comes back", "[core]") {
  const auto request
    = [](const char* key) { return set_of(key, std::string(100, 'v')); };
  constexpr auto kept = 2 * store_overhead + 1 + 100; // Key, value.
  constexpr auto half_read = kept + store_overhead;   // The request itself.
  auto enough = fixture{{.memory_max = 2 * kept + half_read}};
  auto little = fixture{{.memory_max = 2 * kept + half_read - 1}};
  for (const auto* key : {"a", "b"}) {
    CHECK(enough.ask(1, request(key)) == "");
    CHECK(little.ask(1, request(key)) == "");
  }
  CHECK(enough.ask(1, request("c")) == "");
  CHECK(enough.uut.memory() == 3 * kept);
  CHECK(little.ask(1, request("c")) == full);
  CHECK(little.uut.memory() == 2 * kept);
  CHECK(little.ask(2, get_of("a")).size() > 100);
  little.ask(2, {.verb = delete_key, .keys = {"a"}});
  CHECK(little.uut.memory() == kept);
  CHECK(little.ask(1, request("c")) == "");
}

TEST_CASE("store: values that nobody fetches count", "[core]") {
  auto x = fixture{};
  x.ask(1, set_of("a", std::string(1'000, 'a')));
  x.uut.connect({9});
  const auto bytes = store_bytes(torch::v1_13, get_of("a"));
  auto input = std::string_view{bytes};
  auto unsent = x.uut.receive({9}, input);
  REQUIRE(unsent.size() == 1);
  x.ask(1, {.verb = delete_key, .keys = {"a"}});
  CHECK(x.uut.memory() == 1'000 + store_overhead);
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
    // The request can be read, and its value not be kept as well.
    auto x = fixture{{.memory_max = 1'001 + 3 * store_overhead}};
    x.ask(2, set_of("other", std::string(1, 'o')));
    const auto before = x.uut.memory();
    const auto answer = x.ask(1, request);
    CHECK(answer.find("1 is cut: the store is full") == 0);
    CHECK(x.uut.memory() == before);
  }
  auto x = fixture{{.memory_max = 4 * store_overhead}};
  CHECK(x.ask(1, wait_for({std::string(300, 'k')})) == full);
  CHECK(x.uut.memory() == 0);
}
