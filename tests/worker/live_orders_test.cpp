#include "runtime/control/messages.hpp"
#include "runtime/worker/detail/live_orders.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <variant>

namespace actorrun::test::live_orders_test {

using namespace actorrun::worker;
using namespace std::chrono_literals;

namespace {

template <class Order>
Order sent(const core::worker_order& order) {
  const auto packet = detail::control_packet(order);
  REQUIRE(packet);
  auto x = parse_order(*packet);
  REQUIRE(x);
  REQUIRE(std::holds_alternative<Order>(*x));
  return std::get<Order>(*x);
}

template <class Word>
Word heard(const std::string& packet) {
  const auto x = detail::parse_control_packet(packet);
  REQUIRE(x);
  REQUIRE(*x);
  REQUIRE(std::holds_alternative<Word>(**x));
  return std::get<Word>(**x);
}

} // namespace

TEST_CASE("live orders: what the agent writes is read", "[worker]") {
  const auto x = sent<generation_order>(
    core::tell_generation{.generation = generation_id{4},
                          .environment = {"RANK=0", "A=b=\"c\""},
                          .survivors = {{0, 2}, {4, 4294967295}},
                          .restart_count = 1,
                          .reason = "agent n2 lost"});
  CHECK(x.number == 4);
  CHECK(x.environment
        == decltype(x.environment){{"RANK", "0"}, {"A", "b=\"c\""}});
  CHECK(x.survivors == decltype(x.survivors){{0, 2}, {4, 4294967295}});
  CHECK(x.restarts == 1);
  CHECK(x.reason == "agent n2 lost");
  CHECK(sent<regroup_order>(core::tell_regroup{"why", 1s}).reason == "why");
  sent<hold_order>(core::tell_hold{});
  CHECK(sent<stop_at_order>(core::tell_stop_at{UINT64_MAX}).step == UINT64_MAX);
  sent<go_on_order>(core::tell_go_on{});
  CHECK(sent<stop_order>(core::tell_stop{"why", 1s}).reason == "why");
  const auto refusal = parse_order(detail::control_error_packet("no"));
  REQUIRE(refusal);
  CHECK(std::get<refusal_order>(*refusal).text == "no");
}

TEST_CASE("live orders: what is written the agent reads", "[worker]") {
  heard<core::said_hello>(hello_packet());
  CHECK(heard<core::said_parked>(parked_packet(3)).generation == 3);
  CHECK(heard<core::said_step>(step_packet(UINT64_MAX)).step == UINT64_MAX);
  const auto held = heard<core::said_held>(held_packet(3, UINT64_MAX));
  CHECK(held.generation == 3);
  CHECK(held.step == UINT64_MAX);
  const auto reached = heard<core::said_reached>(reached_packet(3, 0));
  CHECK(reached.generation == 3);
  CHECK(reached.step == 0);
  const auto said = [](std::string_view text) {
    return heard<core::said_trouble>(trouble_packet(text)).text;
  };
  CHECK(said("closed \"by\" peer\nmore") == "closed \"by\" peer");
  CHECK(said("\n  a\tb \r\n") == "a?b");
  CHECK(said("") == "");
  CHECK(said("\xff") == "?");
  CHECK(said(std::string(10'000, '"')) == std::string(256, '"'));
  // At most this many bytes, up to the end of a character.
  auto umlauts = std::string{"x"};
  while (umlauts.size() < 300)
    umlauts += "\u00e4";
  CHECK(said(umlauts) == umlauts.substr(0, 255));
}

TEST_CASE("live orders: types of later versions are ignored", "[worker]") {
  const auto x = parse_order(R"({"type":"sing","song":[1]})");
  REQUIRE(x);
  CHECK(std::holds_alternative<unknown_order>(*x));
}

TEST_CASE("live orders: what is none is nothing", "[worker]") {
  for (const auto* x :
       {"", "{}", "[]", R"({"type":1})", R"({"type":"generation"})",
        R"({"type":"generation","generation":1,"environment":[]})",
        R"({"type":"generation","generation":1,"environment":{"":"a"}})",
        R"({"type":"generation","generation":1,"environment":{"A":null}})",
        R"({"type":"generation","generation":1,"environment":{"A":"\u0000"}})",
        R"({"type":"generation","generation":1,"survivors":[[0]]})",
        R"({"type":"generation","generation":1,"survivors":[[0,4294967296]]})",
        R"({"type":"generation","generation":1,"survivors":{}})",
        R"({"type":"generation","generation":1,"restarts":-1})",
        R"({"type":"stop_at","step":1.5})", R"({"type":"stop","reason":[]})"})
    CHECK_FALSE(parse_order(x));
  CHECK(parse_order(R"({"type":"stop"})"));
  CHECK(parse_order(R"({"type":"generation","generation":1})"));
  auto packet = std::string{R"({"type":"stop"})"};
  packet.resize(live_packet_size_max, ' ');
  CHECK(parse_order(packet));
  CHECK_FALSE(parse_order(packet + " "));
}

} // namespace actorrun::test::live_orders_test
