#include "runtime/network/message_frames.hpp"
#include "tests/support/catch.hpp"

#include "messages/link.pb.h"

#include <string>

namespace actorrun::test::message_frames_test {

using namespace actorrun::detail;

namespace {

constexpr size_t limit = 100;

frame_splitter with(const std::string& bytes) {
  auto out = frame_splitter{limit};
  out.add(bytes);
  return out;
}

v1::ToAgent rejection(size_t text_size) {
  auto x = v1::ToAgent{};
  x.mutable_join_rejected()->set_text(std::string(text_size, 'x'));
  return x;
}

} // namespace

TEST_CASE("message_frames: messages arrive in order, however they are cut",
          "[runtime]") {
  auto all = std::string{};
  for (size_t i = 1; i <= 5; ++i)
    all += message_frame(rejection(i));
  const auto piece = GENERATE(size_t{1}, size_t{3}, size_t{7}, size_t{1'000});
  auto uut = with("");
  auto next = size_t{1};
  for (size_t i = 0; i < all.size(); i += piece) {
    uut.add(all.substr(i, piece));
    for (auto x = next_message<v1::ToAgent>(uut); *x;
         x = next_message<v1::ToAgent>(uut))
      CHECK((*x)->join_rejected().text().size() == next++);
  }
  CHECK(next == 6);
}

TEST_CASE("message_frames: a header says how many bytes follow, the highest "
          "first",
          "[runtime]") {
  CHECK(frame_header(1) == std::string("\0\0\0\1", 4));
  CHECK(frame_header(message_frame_max) == std::string("\0\x10\0\0", 4));
}

TEST_CASE("message_frames: a message of the limit passes, a larger one and an "
          "empty one do not",
          "[runtime]") {
  constexpr size_t overhead = 4; // Of the two messages around the text.
  auto good = with(message_frame(rejection(limit - overhead)));
  const auto x = next_message<v1::ToAgent>(good);
  REQUIRE(x);
  REQUIRE(*x);
  CHECK((*x)->ByteSizeLong() == limit);
  auto large = with(frame_header(limit + 1));
  const auto why = next_message<v1::ToAgent>(large);
  REQUIRE_FALSE(why);
  CHECK(why.error().text == "announces a message of 101 bytes");
  auto empty = with(std::string(4, '\0'));
  CHECK_FALSE(next_message<v1::ToAgent>(empty));
}

TEST_CASE("message_frames: a content that is no message is said so",
          "[runtime]") {
  auto uut = with(frame_header(3) + "\xff\xff\xff");
  const auto why = next_message<v1::ToAgent>(uut);
  REQUIRE_FALSE(why);
  CHECK(why.error().code == errc::not_actorrun);
  CHECK(why.error().text == "sends what is no message of ours");
}

} // namespace actorrun::test::message_frames_test
