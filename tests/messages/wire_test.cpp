#include "tests/messages/wire_samples.hpp"
#include "tests/support/catch.hpp"

#include <caf/actor_system.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/message.hpp>

#include <set>
#include <string>
#include <vector>

namespace actorrun::test::wire_test {

namespace {

using bytes = caf::binary_serializer::container_type;

#if ACTORRUN_CAF_1

/// How CAF reports that Protobuf cannot read what it has got.
constexpr auto no_message = caf::sec::field_value_synchronization_failed;

template <class T>
bytes save(const T& x) {
  auto out = bytes{};
  auto sink = caf::binary_serializer{out};
  REQUIRE(sink.apply(x));
  return out;
}

template <class T>
caf::error load(const bytes& from, T& to) {
  auto source = caf::binary_deserializer{from};
  return source.apply(to) ? caf::error{} : source.get_error();
}

#else

constexpr auto no_message = caf::sec::invalid_argument;

template <class T>
bytes save(const T& x) {
  auto out = bytes{};
  auto sink = caf::binary_serializer{nullptr, out};
  REQUIRE(sink(x) == caf::none);
  return out;
}

template <class T>
caf::error load(const bytes& from, T& to) {
  auto source = caf::binary_deserializer{nullptr, from};
  return source(to);
}

#endif

/// The bytes that CAF carries when Protobuf has written `content`.
bytes carrying(std::string content) {
  return save(content);
}

/// The systems of this program know our types.
struct known_config : caf::actor_system_config {
  known_config() { register_wire_types(*this); }
};

#if ACTORRUN_CAF_1
// CAF 1 has one table for the process, and reads it for each error, too.
const auto table = known_config{};
#endif

} // namespace

TEST_CASE("wire: samples leave no field out", "[messages]") {
  auto names = std::set<std::string>{};
  for_each_wire_type([&](const auto& x) {
    names.insert(x.GetTypeName());
    const auto is_empty = x.ByteSizeLong() == 0;
    const auto name = x.GetTypeName();
    CHECK(is_empty == (name == "actorrun.v1.StatusRequest"));
  });
  CHECK(names.size() == wire_type_count);
}

TEST_CASE("wire: every type is unchanged after a round trip by Protobuf",
          "[messages]") {
  for_each_wire_type([]<class T>(const T& x) {
    INFO(x.GetTypeName());
    auto y = T{};
    REQUIRE(y.ParseFromString(x.SerializeAsString()));
    CHECK(y.SerializeAsString() == x.SerializeAsString());
  });
}

TEST_CASE("wire: every type is unchanged after a round trip by CAF",
          "[messages]") {
  for_each_wire_type([]<class T>(const T& x) {
    INFO(x.GetTypeName());
    auto y = T{};
    REQUIRE(load(save(x), y) == caf::none);
    CHECK(y.SerializeAsString() == x.SerializeAsString());
  });
}

TEST_CASE("wire: reading replaces all former content", "[messages]") {
  for_each_wire_type([]<class T>(const T& x) {
    INFO(x.GetTypeName());
    auto y = x;
    REQUIRE(load(save(T{}), y) == caf::none);
    CHECK(y.ByteSizeLong() == 0);
  });
}

TEST_CASE("wire: bytes that end too early are an error", "[messages]") {
  for_each_wire_type([]<class T>(const T& x) {
    INFO(x.GetTypeName());
    auto whole = save(x);
    while (!whole.empty()) {
      whole.pop_back();
      auto y = T{};
      CHECK(load(whole, y) != caf::none);
    }
  });
}

TEST_CASE("wire: content that is no message is an error", "[messages]") {
  for_each_wire_type([]<class T>(const T& x) {
    INFO(x.GetTypeName());
    auto y = T{};
    // Field 1 claims five bytes; there are two.
    const auto why = load(carrying(std::string{"\x0a\x05xx"}), y);
    CHECK(why == no_message);
    // A number that never ends.
    CHECK(load(carrying(std::string(11, '\xff')), y) != caf::none);
  });
}

TEST_CASE("wire: a message cut anywhere is an error or a shorter message",
          "[messages]") {
  for_each_wire_type([]<class T>(const T& x) {
    INFO(x.GetTypeName());
    const auto whole = x.SerializeAsString();
    for (size_t n = 0; n < whole.size(); ++n) {
      auto y = T{};
      if (load(carrying(whole.substr(0, n)), y) == caf::none)
        CHECK(y.ByteSizeLong() <= n);
    }
  });
}

TEST_CASE("wire: fields of a newer version are tolerated", "[messages]") {
  for_each_wire_type([]<class T>(const T& x) {
    INFO(x.GetTypeName());
    // Field 1000: a number; field 1001: a text.
    const auto newer = std::string{"\xc0\x3e\x07\xca\x3e\x02hi"};
    auto y = T{};
    REQUIRE(load(carrying(x.SerializeAsString() + newer), y) == caf::none);
    CHECK(y.SerializeAsString().starts_with(x.SerializeAsString()));
  });
}

TEST_CASE("wire: an actor system knows every type by its name", "[messages]") {
  auto config = known_config{};
  auto system = caf::actor_system{config};
  for_each_wire_type([&]<class T>(const T& x) {
    INFO(x.GetTypeName());
    auto y = caf::message{};
#if ACTORRUN_CAF_1
    REQUIRE(load(save(caf::make_message(x)), y) == caf::none);
#else
    auto packed = bytes{};
    auto sink = caf::binary_serializer{system, packed};
    REQUIRE(sink(caf::make_message(x)) == caf::none);
    auto source = caf::binary_deserializer{system, packed};
    REQUIRE(source(y) == caf::none);
#endif
    REQUIRE(y.match_elements<T>());
    CHECK(y.get_as<T>(0).SerializeAsString() == x.SerializeAsString());
  });
}

// CAF 1 has one table for all systems of a process.
#if ACTORRUN_CAF_017
TEST_CASE("wire: a type that is not registered does not arrive", "[messages]") {
  auto config = known_config{};
  auto unknown_client_config = caf::actor_system_config{};
  auto system = caf::actor_system{config};
  auto other_system = caf::actor_system{unknown_client_config};
  auto packed = bytes{};
  auto sink = caf::binary_serializer{system, packed};
  REQUIRE(sink(caf::make_message(v1::StatusRequest{})) == caf::none);
  auto source = caf::binary_deserializer{other_system, packed};
  auto y = caf::message{};
  const auto failed = source(y) != caf::none;
  CHECK((failed || y.empty()));
}
#endif

TEST_CASE("wire: a message's text is its type", "[messages]") {
  auto x = v1::KeepAlive{};
  fill(x);
  const auto name = std::string{ACTORRUN_CAF_1 ? "actorrun::v1::KeepAlive"
                                               : "actorrun.v1.KeepAlive"};
  CHECK(caf::deep_to_string(x).find(name) != std::string::npos);
}

} // namespace actorrun::test::wire_test
