#include "actors/core/store/table.hpp"
#include "tests/core/store/store_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::table_test {

using namespace actorrun::core;

namespace {

using enum store_verb;

using fixture = store_fixture;

} // namespace

TEST_CASE_METHOD(fixture, "store_table: a value that was set can be fetched",
                 "[core]") {
  CHECK(ask(1, set_of("k", "one")) == "");
  CHECK(ask(2, get_of("k")) == "2: 'one'\n");
  CHECK(ask(2, set_of("k", "")) == "");
  CHECK(ask(1, get_of("k")) == "1: ''\n");
  CHECK(ask(1, get_of("none")) == "1: ''\n");
}

TEST_CASE_METHOD(fixture, "store_table: compare_set does as torch does",
                 "[core]") {
  CHECK(ask(1, compare("k", "x", "y")) == "1: 'x'\n"); // Not there, not set.
  CHECK(ask(1, {.verb = check, .keys = {"k"}}) == "1: 01\n");
  CHECK(ask(1, compare("k", "", "y")) == "1: 'y'\n");
  CHECK(ask(1, compare("k", "x", "z")) == "1: 'y'\n");
  CHECK(ask(1, compare("k", "y", "z")) == "1: 'z'\n");
  CHECK(ask(1, get_of("k")) == "1: 'z'\n");
}

TEST_CASE_METHOD(fixture, "store_table: add counts in decimal text", "[core]") {
  CHECK(ask(1, add_to("n", 5)) == "1: 0500000000000000\n");
  CHECK(ask(2, add_to("n", -7)) == "2: feffffffffffffff\n");
  CHECK(ask(2, get_of("n")) == "2: '-2'\n");
  ask(1, set_of("n", " +12 or so")); // Read as torch does.
  CHECK(ask(1, add_to("n", 0)) == "1: 0c00000000000000\n");
}

TEST_CASE_METHOD(
  fixture, "store_table: add to a value that is no number cuts the client",
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

TEST_CASE_METHOD(fixture,
                 "store_table: keys are checked, counted, listed, deleted",
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

TEST_CASE_METHOD(fixture, "store_table: append makes or lengthens a value",
                 "[core]") {
  const auto more = [](const char* text) {
    return store_request{.verb = append, .keys = {"k"}, .values = {text}};
  };
  CHECK(ask(1, more("ab")) == "");
  CHECK(ask(1, more("cd")) == "");
  CHECK(ask(1, get_of("k")) == "1: 'abcd'\n");
}

TEST_CASE("store_table: a value that grows has a limit", "[core]") {
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

TEST_CASE_METHOD(fixture, "store_table: a ping comes back", "[core]") {
  CHECK(ask(1, {.verb = ping, .number = 0x01020304}) == "1: 04030201\n");
}

// -- waits --------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "store_table: a wait ends when all keys are there",
                 "[core]") {
  ask(1, set_of("a", ""));
  CHECK(ask(1, wait_for({"a"})) == "1: 00\n");
  CHECK(ask(2, wait_for({"a", "b", "c", "b"})) == "");
  CHECK(ask(3, wait_for({"c"})) == "");
  CHECK(ask(1, set_of("b", "")) == "");
  CHECK(ask(1, add_to("c", 1)) == "1: 0100000000000000\n2: 00\n3: 00\n");
  CHECK(ask(1, set_of("c", "")) == "");
}

TEST_CASE_METHOD(fixture, "store_table: every way to make a key ends a wait",
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

TEST_CASE_METHOD(fixture, "store_table: a wait can be cancelled", "[core]") {
  ask(2, wait_for({"a", "b"}));
  CHECK(ask(2, {.verb = cancel_wait}) == "2: 01\n");
  CHECK(ask(2, {.verb = cancel_wait}) == "2: 01\n");
  CHECK(ask(1, set_of("a", "")) == "");
  CHECK(ask(1, set_of("b", "")) == "");
}

TEST_CASE_METHOD(fixture,
                 "store_table: another request of a client ends its wait",
                 "[core]") {
  const auto bytes
    = [](const store_request& x) { return store_bytes(torch::v1_13, x); };
  CHECK(send(2, bytes(wait_for({"a"})), torch::v1_13) == "");
  CHECK(send(2, bytes(set_of("b", "1")), torch::v1_13) == "");
  CHECK(ask(1, set_of("a", "")) == "");
}

// -- barriers and queues ------------------------------------------------------

TEST_CASE_METHOD(fixture, "store_table: a barrier opens for all at once",
                 "[core]") {
  CHECK(ask(1, meet_at("b", 3)) == "");
  CHECK(ask(2, meet_at("b", 3)) == "");
  CHECK(ask(4, get_of("b")) == "4: '2'\n");
  CHECK(ask(3, meet_at("b", 3)) == "1: 00\n2: 00\n3: 00\n");
  CHECK(ask(4, meet_at("b", 3)) == "4: 00\n");
  CHECK(ask(1, meet_at("alone", 1)) == "1: 00\n");
}

TEST_CASE_METHOD(fixture, "store_table: waiting at a barrier can be cancelled",
                 "[core]") {
  ask(1, meet_at("b", 2));
  CHECK(ask(1, {.verb = cancel_wait}) == "1: 01\n");
  CHECK(ask(2, meet_at("b", 2)) == "2: 00\n");
}

TEST_CASE_METHOD(fixture, "store_table: queues are first in, first out",
                 "[core]") {
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

TEST_CASE_METHOD(fixture, "store_table: one item wakes one waiting client",
                 "[core]") {
  ask(1, wait_for({"q"}));
  ask(2, wait_for({"q"}));
  CHECK(ask(3, push_to("q", "a")) == "1: 00\n");
  CHECK(ask(3, push_to("q", "b")) == "2: 00\n");
  CHECK(ask(3, push_to("q", "c")) == "");
}

TEST_CASE_METHOD(
  fixture,
  "store_table: a client that waits for more leaves the item to others",
  "[core]") {
  ask(1, wait_for({"k", "q"}));
  ask(2, wait_for({"q"}));
  CHECK(ask(3, push_to("q", "a")) == "2: 00\n");
  CHECK(ask(3, set_of("k", "")) == "1: 00\n");
}

TEST_CASE("store_table: a list of all keys needs memory", "[core]") {
  constexpr auto listed = 2 * (sizeof(uint64_t) + 100);
  auto x = fixture{};
  for (const auto key : {'a', 'b'})
    CHECK(x.ask(1, set_of(std::string(100, key).c_str(), "")) == "");
  const auto size
    = x.uut.memory() + store_value::cost_of(std::string(listed, 'x'));
  auto enough = fixture{{.memory_max = size}};
  auto little = fixture{{.memory_max = size - 1}};
  for (auto* y : {&enough, &little})
    for (const auto key : {'a', 'b'})
      CHECK(y->ask(1, set_of(std::string(100, key).c_str(), "")) == "");
  CHECK(enough.ask(1, {.verb = list_keys}) == "1: 0200000000000000 +216\n");
  CHECK(little.ask(1, {.verb = list_keys}).find("1 is cut: the store is full")
        == 0);
}

// The figures of docs/store.md. An empty queue used to take more than 800.
TEST_CASE_METHOD(fixture, "store_table: what is empty costs little", "[core]") {
  ask(1, {.verb = count_keys});
  ask(2, {.verb = count_keys});
  const auto nothing = uut.memory();
  ask(1, set_of("k", ""));
  CHECK(uut.memory() == nothing + 192);
  ask(1, {.verb = delete_key, .keys = {"k"}});
  CHECK(uut.memory() == nothing);
  ask(1, push_to("q", ""));
  CHECK(uut.memory() == nothing + 256);
  ask(1, push_to("q", ""));
  CHECK(uut.memory() == nothing + 256 + 128);
  ask(1, {.verb = queue_pop, .keys = {"q"}});
  CHECK(uut.memory() == nothing + 256);
  ask(1, {.verb = queue_pop, .keys = {"q"}});
  CHECK(uut.memory() == nothing);
  ask(1, wait_for({"k"}));
  CHECK(uut.memory() == nothing + 464);
  ask(2, wait_for({"k"}));
  CHECK(uut.memory() == nothing + 464 + 304);
}

} // namespace actorrun::test::table_test
