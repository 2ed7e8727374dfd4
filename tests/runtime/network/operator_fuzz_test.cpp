// Mutated requests against a real coordinator. CTest sends some thousands;
// ACTORRUN_FUZZ_COUNT=10000000 and a sanitizer make it a night's work.

#include "runtime/network/operator_sessions.hpp"
#include "tests/runtime/memory.hpp"
#include "tests/runtime/network/operator_fixture.hpp"
#include "tests/support/sanitizer.hpp"

#include <cstdlib>
#include <random>
#include <string>

namespace actorrun::test::operator_fuzz_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

constexpr auto count_by_default = 20'000;
constexpr auto frames_per_session = 50;

int frame_count() {
  const auto* x = std::getenv("ACTORRUN_FUZZ_COUNT");
  return x == nullptr ? count_by_default : std::atoi(x);
}

struct fuzz_fixture : remote_links_fixture {
  ~fuzz_fixture() {
    run_and_wait(loop, [this] { sessions.clear(); });
  }

  raw_operator connect() {
    auto pair = connected_sockets();
    run_and_wait(loop, [&] {
      sessions.add(std::move(pair.server), {}, {}, {},
                   [this](const failure&) { ++cut_count; });
    });
    return raw_operator{std::move(pair.client)};
  }

  std::string good_frame() {
    switch (random() % 3) {
      case 0:
        return message_frame(status_request(random()));
      case 1:
        return message_frame(watch_request(random(), uint32_t(random())));
      default: // As a later version may have it.
        return frame_with("\x08\x05\x9a\x06\x01\x78");
    }
  }

  std::string mutated(std::string frame) {
    for (auto i = random() % 3; i > 0; --i)
      switch (random() % 4) {
        case 0:
          frame[random() % frame.size()] = static_cast<char>(random());
          break;
        case 1:
          frame[random() % frame.size()]
            ^= static_cast<char>(1 << random() % 8);
          break;
        case 2: // The size in the header is right all the same.
          frame = frame_with(frame.substr(4)
                             + std::string(random() % 9, char(random())));
          break;
        default:
          frame = frame_with(frame.substr(4, random() % frame.size()));
      }
    return frame;
  }

  /// Sends as long as the other side listens, and reads what it says.
  void send_some(int count) {
    const auto uut = connect();
    for (auto i = 0; i < count; ++i) {
      const auto frame = mutated(good_frame());
      if (::send(uut.connection.get(), frame.data(), frame.size(), MSG_NOSIGNAL)
          < 0)
        return;
      char buffer[4096];
      while (::recv(uut.connection.get(), buffer, sizeof buffer, 0) > 0) {
      }
    }
  }

  std::mt19937_64 random{20'261'123};
  std::atomic<int> cut_count = 0;
  operator_sessions sessions{loop, questions_to(coordinator)};
};

} // namespace

TEST_CASE_METHOD(
  fuzz_fixture,
  "operator_session: mutated requests neither crash, nor deafen, "
  "nor fatten a coordinator",
  "[runtime]") {
  using actorrun::test::has_address_sanitizer;
  const auto count = frame_count();
  auto before = 0.0;
  for (auto i = 0; i < count; i += frames_per_session) {
    if (i / frames_per_session == count / frames_per_session / 5)
      before = heap_size();
    send_some(frames_per_session);
  }
  CAPTURE(cut_count.load(), before, heap_size());
  CHECK(cut_count > 0);
  if (!has_address_sanitizer)
    CHECK(heap_size() < before + 256);
  // Whatever came: a good operator is answered.
  auto uut = connect();
  uut.send(status_request(7));
  const auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 7);
  CHECK(got->status().phase() == "gathering");
}

} // namespace actorrun::test::operator_fuzz_test
