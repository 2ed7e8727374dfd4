#include "actors/core/hosts/agent_order.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>

namespace actorrun::test::agent_order_test {

namespace {

using namespace actorrun::core;

agent_order sample() {
  return {.words = {"--nnodes=2", "--", "a b.py", "", "it's", "\xff\n\t$X"},
          .variables = {{"PET_X", "1"}, {"EMPTY", ""}, {"B", "a=b,c\nd"}},
          .directory = "/home/a b",
          .secret = std::string{"s\0:w3:abc\n", 10},
          .is_new_job = true,
          .is_quiet = true,
          .launch = "0badcafe"};
}

std::optional<decoded_order> decode(const std::string& bytes) {
  auto x = decode_order(bytes);
  REQUIRE(x);
  return *x;
}

TEST_CASE("agent_order: arrives as it was sent, with any bytes", "[core]") {
  for (const auto& order : {sample(), agent_order{}}) {
    const auto bytes = encoded(order);
    REQUIRE(bytes);
    const auto back = decode(*bytes + "end 15\n");
    REQUIRE(back);
    CHECK(back->order == order);
    CHECK(back->size == bytes->size());
  }
}

TEST_CASE("agent_order: a part of one is none yet", "[core]") {
  const auto bytes = *encoded(sample());
  for (size_t n = 0; n < bytes.size(); ++n)
    CHECK_FALSE(decode(bytes.substr(0, n)));
}

TEST_CASE("agent_order: one that is too long is refused", "[core]") {
  auto order = agent_order{.words = {std::string(order_size_max - 20, 'x')},
                           .variables = {},
                           .directory = "",
                           .secret = ""};
  CHECK(encoded(order));
  order.words.front() += std::string(20, 'x');
  const auto refused = encoded(order);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::bad_argument);
}

TEST_CASE("agent_order: what is no order is refused", "[core]") {
  const auto with = [](const std::string& body) {
    return "actorrun-order 2 " + std::to_string(body.size()) + "\n" + body;
  };
  CHECK(decode_order(with("w1:a")));
  for (const auto& text : {std::string{"\n"},
                           std::string{"hello\n"},
                           std::string{"actorrun-order 1 0\n"},
                           std::string{"actorrun-order 2 -1\n"},
                           std::string{"actorrun-order 2 9999999\n"},
                           std::string{"actorrun-order 2 0 0\n"},
                           std::string(order_line_max, 'x'),
                           with("w2:a"),
                           with("w-1:a"),
                           with("w:a"),
                           with("x1:a"),
                           with("w1a"),
                           with("n1:A"),
                           with("v1:A"),
                           with("n1:Aw1:b"),
                           with("n3:A=Bv1:c"),
                           with("n0:v1:c"),
                           with("j1:x"),
                           with("q1:x"),
                           with("l3:a/b"),
                           with(std::string{"l1:\0", 4}),
                           with(std::string{"w1:\0", 4}),
                           with(std::string{"d1:\0", 4}),
                           with("w99999999999999999999:a")}) {
    INFO(text);
    const auto x = decode_order(text);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::bad_argument);
  }
}

TEST_CASE("agent_order: damaged orders do no harm", "[core]") {
  auto random = std::mt19937{4711};
  const auto good = *encoded(sample());
  for (auto i = 0; i < 20'000; ++i) {
    auto bytes = good;
    for (auto n = 1 + random() % 4; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (const auto x = decode_order(bytes); x && *x)
      CHECK((*x)->size <= bytes.size());
  }
}

TEST_CASE("agent_greeting: is found among other lines", "[core]") {
  const auto x = agent_greeting{.version = order_version,
                                .program = "1.2.3",
                                .port = 65'535,
                                .address = "fd00::1"};
  auto line = to_line(x);
  REQUIRE(line.back() == '\n');
  line.pop_back();
  CHECK(parse_greeting(line) == x);
  CHECK(parse_greeting(line + "\r") == x);
  auto unknown = x;
  unknown.address.clear();
  line = to_line(unknown);
  line.pop_back();
  CHECK(parse_greeting(line) == unknown);
  for (const auto* other :
       {"", "Welcome to a", "actorrun-agent", "actorrun-agent 1 1.2.3 1",
        "actorrun-agent 1 1.2.3 65536 -", "actorrun-agent x 1.2.3 1 -",
        "actorrun-agent 1  1 -", "actorrun-agent 1 1.2.3 1 - -",
        " actorrun-agent 1 1.2.3 1 -"})
    CHECK_FALSE(parse_greeting(other));
}

TEST_CASE("agent_notice: says what a signal is for", "[core]") {
  for (const auto what : {agent_notice::kind::end, agent_notice::kind::forward})
    for (const auto signal : {1, 15, 64}) {
      auto line = to_line({what, signal});
      REQUIRE(line.back() == '\n');
      line.pop_back();
      CHECK(parse_notice(line) == agent_notice{what, signal});
    }
  const auto alive = agent_notice{agent_notice::kind::alive, 0};
  CHECK(to_line(alive) == "alive\n");
  CHECK(parse_notice("alive") == alive);
  for (const auto* other : {"", "alive 1", "end", "end 0", "end 65", "end -1",
                            "end 1 2", "End 1", "forward x", "end  1"})
    CHECK_FALSE(parse_notice(other));
}

} // namespace

} // namespace actorrun::test::agent_order_test
