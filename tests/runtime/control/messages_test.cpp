#include "runtime/control/messages.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <random>
#include <string>
#include <vector>

namespace actorrun::test::messages_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

json written(const core::worker_order& order) {
  const auto packet = control_packet(order);
  REQUIRE(packet);
  CHECK(packet->size() <= control_packet_size_max);
  return json::parse(*packet);
}

struct word_writer {
  std::string operator()(const core::said_hello&) const { return "hello"; }
  std::string operator()(const core::said_parked& x) const {
    return "parked " + std::to_string(x.generation);
  }
  std::string operator()(const core::said_trouble& x) const {
    return "trouble " + x.text;
  }
  std::string operator()(const core::said_step& x) const {
    return "at " + std::to_string(x.step);
  }
  std::string operator()(const core::said_held& x) const {
    return "held " + std::to_string(x.step) + " in "
           + std::to_string(x.generation);
  }
  std::string operator()(const core::said_reached& x) const {
    return "reached " + std::to_string(x.step) + " in "
           + std::to_string(x.generation);
  }
  std::string operator()(const core::hung_up&) const { return "hung up"; }
};

std::string parsed(std::string_view packet) {
  const auto x = parse_control_packet(packet);
  if (!x)
    return std::string{to_string(x.error().code)} + ": " + x.error().text;
  return *x ? std::visit(word_writer{}, **x) : "ignored";
}

core::tell_generation some_generation() {
  return {.generation = generation_id{4},
          .environment = {"RANK=0", "WORLD_SIZE=64", "EMPTY=", "A=b=c"},
          .survivors = {{0, 2}, {4, 63}},
          .restart_count = 1,
          .reason = "agent n2 lost"};
}

} // namespace

TEST_CASE("control messages: each order is an object", "[runtime]") {
  CHECK(written(some_generation()) == json::parse(R"({
    "type": "generation", "generation": 4, "restarts": 1, "reason": "agent n2 lost",
    "environment": {"RANK": "0", "WORLD_SIZE": "64", "EMPTY": "", "A": "b=c"},
    "survivors": [[0, 2], [4, 63]]})"));
  CHECK(written(core::tell_regroup{"a worker failed", 1500ms})
        == json::parse(R"({
    "type": "regroup", "reason": "a worker failed", "seconds": 1.5})"));
  CHECK(written(core::tell_hold{}) == json::parse(R"({"type": "hold"})"));
  CHECK(written(core::tell_stop_at{13})
        == json::parse(R"({"type": "stop_at", "step": 13})"));
  CHECK(written(core::tell_go_on{}) == json::parse(R"({"type": "go_on"})"));
  CHECK(written(core::tell_stop{"drained", -1s}) == json::parse(R"({
    "type": "stop", "reason": "drained", "seconds": 0.0})"));
  CHECK(json::parse(control_error_packet("no")) == json::parse(R"({
    "type": "error", "text": "no"})"));
}

TEST_CASE("control messages: texts are one printable line of bounded length",
          "[runtime]") {
  const auto reason = std::string{"one\x1b[31m \"two\"\xff\nthree"};
  CHECK(written(core::tell_stop{reason, 1s})["reason"]
        == "one \"two\"\xef\xbf\xbd");
  CHECK(written(core::tell_regroup{std::string(5'000, 'x'), 1s})["reason"]
        == std::string(control_text_size_max, 'x'));
  CHECK(control_error_packet(std::string(100'000, '"')).size()
        < control_packet_size_max);
  CHECK(parsed(R"({"type":"trouble","text":"a\nb"})") == "trouble a");
  const auto said = parsed(R"({"type":"trouble","text":")"
                           + std::string(3'000, 'x') + R"("})");
  CHECK(said == "trouble " + std::string(control_text_size_max, 'x'));
}

TEST_CASE("control messages: a long reason is shortened before survivors are "
          "left out",
          "[runtime]") {
  auto order = some_generation();
  order.reason = std::string(10'000, '"'); // Two bytes each in JSON.
  auto x = written(order);
  CHECK(x["reason"] == std::string(control_text_size_max, '"'));
  order.survivors.clear();
  for (uint32_t i = 0; i < 370; ++i)
    order.survivors.emplace_back(1000 + 2 * i, 1000 + 2 * i);
  x = written(order);
  CHECK(x["survivors"].size() < 370);
  CHECK(x["survivors_cut"] == true);
  CHECK(x["reason"].get<std::string>().size() < control_text_size_max);
  order.survivors.resize(320);
  x = written(order);
  CHECK(x["survivors"].size() == 320);
  CHECK_FALSE(x.contains("survivors_cut"));
}

TEST_CASE("control messages: survivors are left out from the end",
          "[runtime]") {
  auto order = some_generation();
  order.survivors.clear();
  for (uint32_t i = 0; i < 100'000; ++i)
    order.survivors.emplace_back(2 * i, 2 * i);
  const auto packet = control_packet(order);
  REQUIRE(packet);
  CHECK(packet->size() <= control_packet_size_max);
  CHECK(packet->size() > control_packet_size_max - 20);
  const auto x = json::parse(*packet);
  CHECK(x["survivors"][0] == json::array({0, 0}));
  CHECK(x["survivors"].size() > 300);
}

TEST_CASE("control messages: an environment that does not fit is none",
          "[runtime]") {
  auto order = some_generation();
  order.environment = {"A=" + std::string(3'900, 'x')};
  CHECK(written(order)["environment"]["A"].get<std::string>().size() == 3'900);
  order.environment = {"A=" + std::string(4'100, 'x')};
  CHECK_FALSE(control_packet(order));
}

TEST_CASE("control messages: each word is read", "[runtime]") {
  CHECK(parsed(R"({"type":"hello","version":1})") == "hello");
  CHECK(parsed(R"({"type":"parked","generation":3})") == "parked 3");
  CHECK(parsed(R"({"type":"trouble","text":"closed"})") == "trouble closed");
  CHECK(parsed(R"({"type":"at","step":18446744073709551615})")
        == "at 18446744073709551615");
  CHECK(parsed(R"({"type":"held","generation":3,"step":18446744073709551615})")
        == "held 18446744073709551615 in 3");
  CHECK(parsed(R"({"type":"reached","step":13,"generation":1048575})")
        == "reached 13 in 1048575");
}

TEST_CASE("control messages: what later versions add is ignored", "[runtime]") {
  CHECK(parsed(R"({"type":"sang","song":[1,2]})") == "ignored");
  CHECK(parsed(R"({"type":"at","step":1,"of":{"a":[]}})") == "at 1");
}

TEST_CASE("control messages: another version is refused with a text that names "
          "ours",
          "[runtime]") {
  CHECK(parsed(R"({"type":"hello","version":2})")
        == "protocol_mismatch: version 2 is not spoken here, but version 1");
}

TEST_CASE("control messages: what is no word is refused", "[runtime]") {
  for (const auto* x : {"",
                        "{",
                        "[]",
                        "1",
                        "null",
                        "{}",
                        R"({"type":1})",
                        R"({"type":"hello"})",
                        R"({"type":"hello","version":"1"})",
                        R"({"type":"hello","version":-1})",
                        R"({"type":"parked"})",
                        R"({"type":"parked","generation":1.5})",
                        R"({"type":"parked","generation":1048576})",
                        R"({"type":"trouble"})",
                        R"({"type":"trouble","text":7})",
                        R"({"type":"at","step":-1})",
                        R"({"type":"at","step":1e30})",
                        R"({"type":"held"})",
                        R"({"type":"held","generation":3})",
                        R"({"type":"held","step":3})",
                        R"({"type":"held","generation":3,"step":[]})",
                        R"({"type":"held","generation":1048576,"step":3})",
                        R"({"type":"reached","generation":3,"step":0.5})",
                        R"({"type":"reached","step":18446744073709551615})",
                        R"({"type":"at","step":1} {})",
                        "{\"type\":\"at\xff\",\"step\":1}"})
    CHECK(parsed(x).starts_with("not_actorrun: "));
  CHECK(parsed(R"({"type":"parked","generation":1048575})")
        == "parked 1048575");
  auto long_one = std::string{R"({"type":"at","step":1})"};
  long_one.resize(control_packet_size_max, ' ');
  CHECK(parsed(long_one) == "at 1");
  CHECK(parsed(long_one + " ").starts_with("not_actorrun: "));
  CHECK(parsed(std::string(control_packet_size_max, '['))
          .starts_with("not_actorrun: "));
}

TEST_CASE("control messages: arbitrary bytes do no harm", "[runtime]") {
  auto dice = std::mt19937{20'261'125};
  const auto seeds = std::vector<std::string>{
    R"({"type":"hello","version":1})",
    R"({"type":"parked","generation":3})",
    R"({"type":"trouble","text":"a\u00e4\n"})",
    R"({"type":"at","step":12})",
    R"({"type":"held","generation":3,"step":12})",
    R"({"type":"reached","generation":3,"step":12})"};
  const auto any = [&](size_t end) { return dice() % end; };
  for (auto i = 0; i < 20'000; ++i) {
    auto packet = seeds[any(seeds.size())];
    for (auto n = any(4) + 1; n > 0; --n)
      switch (any(3)) {
        case 0:
          packet[any(packet.size())] = static_cast<char>(any(256));
          break;
        case 1:
          packet.insert(any(packet.size()), 1, "{}[]\",:\\0-e"[any(11)]);
          break;
        default:
          packet.resize(any(packet.size()) + 1);
      }
    const auto said = parsed(packet);
    CHECK(said.find('\n') == said.npos);
  }
  for (auto i = 0; i < 2'000; ++i) {
    auto packet = std::string(any(200), '\0');
    for (auto& x : packet)
      x = static_cast<char>(any(256));
    CHECK_FALSE(parsed(packet).empty());
  }
}

TEST_CASE("control messages: orders of arbitrary bytes fit and can be read",
          "[runtime]") {
  auto dice = std::mt19937{15};
  const auto any = [&](size_t size) {
    auto out = std::string(dice() % size, '\0');
    for (auto& x : out)
      x = static_cast<char>(dice());
    return out;
  };
  for (auto i = 0; i < 500; ++i) {
    auto order = core::tell_generation{.generation = generation_id{dice()}};
    for (auto n = dice() % 5; n > 0; --n)
      order.environment.push_back(any(300));
    for (auto n = dice() % 600; n > 0; --n)
      order.survivors.emplace_back(dice(), dice());
    order.reason = any(600);
    const auto packet = control_packet(order);
    if (!packet)
      continue;
    CHECK(packet->size() <= control_packet_size_max);
    CHECK(json::accept(*packet));
  }
}

} // namespace actorrun::test::messages_test
