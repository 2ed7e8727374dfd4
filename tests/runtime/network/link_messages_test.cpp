#include "runtime/network/link_messages.hpp"
#include "runtime/network/message_frames.hpp"
#include "tests/messages/wire_samples.hpp"
#include "tests/support/catch.hpp"

#include <google/protobuf/stubs/logging.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace actorrun::test::link_messages_test {

using namespace actorrun::detail;

namespace {

using maybe_content = std::optional<std::string>;

/// The message in an envelope that has crossed a link, as bytes; none: it is not
/// known.
template <class Envelope>
maybe_content content_of(const std::string& bytes, size_t* type = nullptr) {
  auto x = Envelope{};
  auto out = maybe_content{};
  REQUIRE(x.ParseFromString(bytes));
  const auto is_known = open_envelope(x, [&]<class T>(T y) {
    out = y.SerializeAsString();
    if (type != nullptr)
      *type = typeid(T).hash_code();
  });
  CHECK(is_known == out.has_value());
  return out;
}

template <class Envelope, class T>
void check_round_trip(const T& x) {
  auto type = size_t{0};
  const auto got = content_of<Envelope>(
    envelope_with<Envelope>(x).SerializeAsString(), &type);
  CHECK(got == x.SerializeAsString());
  CHECK(type == typeid(T).hash_code());
}

template <class Envelope>
size_t row_count() {
  return std::tuple_size_v<std::decay_t<decltype(link_table<Envelope>)>>;
}

std::string random_bytes(std::mt19937& random, size_t size) {
  auto out = std::string(size, '\0');
  for (auto& x : out)
    x = static_cast<char>(random());
  return out;
}

/// What a link makes of such bytes: how many messages there are before the first
/// fault.
template <class Envelope>
size_t count_of_messages(const std::string& bytes) {
  auto frames = frame_splitter{message_frame_max};
  frames.add(bytes);
  auto out = size_t{0};
  for (;;) {
    auto x = next_message<Envelope>(frames);
    if (!x || !*x)
      return out;
    open_envelope(**x, [](const auto& y) { CHECK(y.ByteSizeLong() < 1'000); });
    ++out;
  }
}

} // namespace

TEST_CASE("link_messages: each message of an agent or a coordinator has one "
          "direction, and arrives as it was",
          "[runtime]") {
  auto count = size_t{1}; // A Welcome is for links, and no actor sends it.
  for_each_wire_type([&]<class T>(const T& x) {
    INFO(x.GetTypeName());
    constexpr auto is_of_agent = can_have<v1::ToCoordinator, T>;
    static_assert(is_of_agent != can_have<v1::ToAgent, T>);
    if constexpr (is_of_agent)
      check_round_trip<v1::ToCoordinator>(x);
    else
      check_round_trip<v1::ToAgent>(x);
    ++count;
  });
  CHECK(count == row_count<v1::ToCoordinator>() + row_count<v1::ToAgent>());
}

TEST_CASE("link_messages: what a later version has added is left alone",
          "[runtime]") {
  // Field 1000 of an envelope: a message of 1 byte.
  const auto later = std::string{"\xc2\x3e\x01x"};
  SECTION("a message") {
    CHECK_FALSE(content_of<v1::ToAgent>(later));
    CHECK_FALSE(content_of<v1::ToCoordinator>(later));
  }
  SECTION("beside one that is known") {
    auto x = v1::LeaseGranted{};
    x.set_sent_ns(7);
    const auto bytes
      = envelope_with<v1::ToAgent>(x).SerializeAsString() + later;
    CHECK(content_of<v1::ToAgent>(bytes) == x.SerializeAsString());
    auto again = v1::ToAgent{};
    REQUIRE(again.ParseFromString(bytes));
    CHECK(again.SerializeAsString() == bytes); // It survives.
  }
  SECTION("nothing") {
    CHECK_FALSE(content_of<v1::ToAgent>(""));
  }
}

TEST_CASE("link_messages: an answer bears the number of its question",
          "[runtime]") {
  auto x = envelope_with<v1::ToCoordinator>(v1::StatusRequest{});
  x.set_number(UINT64_MAX);
  auto y = v1::ToCoordinator{};
  REQUIRE(y.ParseFromString(x.SerializeAsString()));
  CHECK(y.number() == UINT64_MAX);
  CHECK(y.has_status_request());
}

TEST_CASE("link_messages: random bytes, and frames with random contents, are "
          "messages or an end",
          "[runtime]") {
  google::protobuf::SetLogHandler(nullptr); // It would print each bad text.
  auto random = std::mt19937{20'261'129};
  auto count = size_t{0};
  for (auto i = 0; i < 20'000; ++i) {
    const auto bytes = random_bytes(random, random() % 64);
    CHECK(count_of_messages<v1::ToAgent>(bytes) <= 1);
    if (bytes.empty())
      continue;
    const auto frame = frame_header(bytes.size()) + bytes;
    count += count_of_messages<v1::ToAgent>(frame);
    count += count_of_messages<v1::ToCoordinator>(frame);
  }
  CHECK(count > 0);
}

} // namespace actorrun::test::link_messages_test
