#include "runtime/process_group/call_channel.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun::test::call_channel_test {

using namespace actorrun::detail;

namespace {

using stage = function_return::stage;

unique_fd return_file() {
  auto file = make_return_file();
  REQUIRE(file);
  return std::move(*file);
}

nlohmann::json passed(const nlohmann::json& value) {
  const auto file = return_file();
  REQUIRE(write_return(file.get(), value));
  const auto back = read_return(file.get());
  REQUIRE(back);
  REQUIRE(back->reached == stage::returned);
  return back->value;
}

nlohmann::json nested(size_t depth) {
  auto x = nlohmann::json(0);
  for (size_t i = 0; i < depth; ++i) {
    auto outer = nlohmann::json::array();
    outer.push_back(std::move(x));
    x = std::move(outer);
  }
  return x;
}

// The bytes that CBOR puts before a text of that size.
constexpr auto text_head = size_t{5};

} // namespace

TEST_CASE("call_channel: a call arrives as it was made", "[runtime]") {
  const auto file = write_call({"f", {"a", 1, {1.5, nullptr}}});
  REQUIRE(file);
  const auto call = read_call(file->get());
  REQUIRE(call);
  CHECK(call->function == "f");
  CHECK(call->arguments == argument_list{"a", 1, {1.5, nullptr}});
}

TEST_CASE("call_channel: a call cannot be changed", "[runtime]") {
  const auto file = write_call({"f", {}});
  REQUIRE(file);
  CHECK(::pwrite(file->get(), "x", 1, 0) == -1);
  CHECK(::ftruncate(file->get(), 0) == -1);
}

TEST_CASE("call_channel: every value arrives as it was", "[runtime]") {
  for (const auto& x : {nlohmann::json(INT64_MIN), nlohmann::json(UINT64_MAX),
                        nlohmann::json(0.1), nlohmann::json("\xff\0z"),
                        nlohmann::json(nullptr), nlohmann::json(true)})
    CHECK(passed(x) == x);
  CHECK(passed(std::string{"a\0b", 3}) == std::string{"a\0b", 3});
  CHECK(std::isnan(passed(std::nan("")).get<double>()));
  CHECK(
    std::isinf(passed(std::numeric_limits<double>::infinity()).get<double>()));
}

TEST_CASE("call_channel: a function's progress can be read", "[runtime]") {
  const auto file = return_file();
  CHECK(read_return(file.get())->reached == stage::not_begun);
  CHECK(mark_begun(file.get()));
  CHECK(read_return(file.get())->reached == stage::begun);
  CHECK(write_return(file.get(), 1));
  CHECK(read_return(file.get())->reached == stage::returned);
}

TEST_CASE("call_channel: a return value has at most return_size_max bytes",
          "[runtime]") {
  const auto largest = std::string(return_size_max - text_head, 'x');
  CHECK(passed(largest) == largest);
  const auto file = return_file();
  const auto written = write_return(file.get(), largest + 'x');
  REQUIRE_FALSE(written);
  CHECK(written.error().code == errc::bad_argument);
  CHECK(written.error().text
        == "the return value is 67108865 bytes, and at most 67108864 may be "
           "sent");
}

TEST_CASE("call_channel: arguments have at most call_size_max bytes",
          "[runtime]") {
  // Around the text: an array of two, the name "f", an array of one.
  const auto largest = std::string(call_size_max - text_head - 4, 'x');
  CHECK(write_call({"f", {largest}}));
  const auto call = write_call({"f", {largest + 'x'}});
  REQUIRE_FALSE(call);
  CHECK(call.error().code == errc::bad_argument);
}

TEST_CASE("call_channel: a value nests at most value_depth_max levels",
          "[runtime]") {
  CHECK(passed(nested(value_depth_max)) == nested(value_depth_max));
  const auto file = return_file();
  const auto written = write_return(file.get(), nested(value_depth_max + 1));
  REQUIRE_FALSE(written);
  CHECK(written.error().text
        == "the return value is nested deeper than 1000 levels");
}

TEST_CASE("call_channel: other kinds of files are refused", "[runtime]") {
  const auto call = write_call({"f", {}});
  const auto returned = return_file();
  CHECK_FALSE(read_call(returned.get()));
  CHECK_FALSE(read_return(call->get()));
  CHECK_FALSE(mark_begun(call->get()));
  CHECK_FALSE(read_return(-1));
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto reader = unique_fd{ends[0]};
  const auto writer = unique_fd{ends[1]};
  CHECK_FALSE(read_return(reader.get()));
}

TEST_CASE("call_channel: a file that the worker has damaged is refused",
          "[runtime]") {
  const auto file = return_file();
  REQUIRE(write_return(file.get(), "some text"));
  SECTION("truncated") {
    REQUIRE(::ftruncate(file.get(), 18) == 0);
  }
  SECTION("empty") {
    REQUIRE(::ftruncate(file.get(), 0) == 0);
  }
  SECTION("extended") {
    REQUIRE(::pwrite(file.get(), "x", 1, 100) == 1);
  }
  SECTION("huge") {
    REQUIRE(::ftruncate(file.get(), off_t{1} << 40) == 0);
  }
  SECTION("nested too deeply") {
    const auto arrays = std::string(1'000'000, '\x81');
    REQUIRE(::pwrite(file.get(), arrays.data(), arrays.size(), 16)
            == ssize_t(arrays.size()));
  }
  SECTION("with an unknown state") {
    REQUIRE(::pwrite(file.get(), "\x7f", 1, 8) == 1);
  }
  const auto back = read_return(file.get());
  REQUIRE_FALSE(back);
  CHECK(back.error().code == errc::bad_argument);
}

} // namespace actorrun::test::call_channel_test
