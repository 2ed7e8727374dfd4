// Mutated messages against a real coordinator and a real link actor. CTest sends some
// thousands; ACTORRUN_FUZZ_COUNT=10000000 and a sanitizer make it a night's work.

#include "tests/messages/wire_samples.hpp"
#include "tests/runtime/memory.hpp"
#include "tests/runtime/network/remote_links_fixture.hpp"
#include "tests/support/sanitizer.hpp"

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace actorrun::test::link_fuzz_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

constexpr auto count_by_default = 30'000;
constexpr auto frames_per_link = 500;

int frame_count() {
  const auto* x = std::getenv("ACTORRUN_FUZZ_COUNT");
  return x == nullptr ? count_by_default : std::atoi(x);
}

/// A peer that has the key and sends what it likes.
struct fuzz_fixture : remote_links_fixture {
  fuzz_fixture() {
    actorrun::test::for_each_wire_type([this]<class T>(T x) {
      if constexpr (requires { x.set_agent_id("a"); })
        x.set_agent_id("a");
      if constexpr (can_have<v1::ToCoordinator, T>)
        if constexpr (!std::is_same_v<T, v1::StatusRequest>)
          samples.push_back(frame_of(x));
    });
  }

  ~fuzz_fixture() { close(); }

  /// What has passed may have ended the job, as it should.
  void begin_job_if_closed() {
    if (!has_closed.exchange(false))
      return;
    begin_job();
    ++job_count;
  }

  /// A new link to the coordinator.
  void open() {
    close();
    begin_job_if_closed();
    uut.emplace(std::make_unique<remote_agent>(server.system, agent_setup()));
    uut->peer->begin({uut->outbox, {}});
    send(join_frame());
  }

  void close() {
    if (uut) {
      uut->outbox->end();
      uut->peer->end();
    }
    uut.reset();
  }

  /// As the link does: the first bad frame ends it, and what is not handled holds up
  /// the next.
  void send(const std::string& frame) {
    if (!uut->take(frame))
      return open();
    uut->outbox->take();
    if (++passed_count % 100 == 0)
      await_handled();
  }

  void await_handled() {
    auto handled = inbox<bool>{};
    auto question = operator_question{};
    question.what.mutable_explain();
    question.reply = [&](const v1::OperatorReply&) { handled.put(true); };
    tell_anonymously(coordinator, std::move(question));
    // A coordinator whose job is over answers nothing.
    while (!handled.take(10ms) && !has_closed) {
    }
    if (has_closed)
      open();
  }

  template <class Message>
  std::string frame_of(const Message& x) {
    return message_frame(envelope_with<v1::ToCoordinator>(x));
  }

  std::string join_frame() {
    auto x = join_request();
    x.mutable_offer()->set_slot_count(1 + random() % 3);
    if (random() % 2 == 0)
      x.mutable_claim()->mutable_plan()->set_generation(random() % 5);
    return frame_of(x);
  }

  std::string good_frame() {
    switch (random() % 10) {
      case 0:
        return join_frame();
      case 1: {
        auto x = v1::KeepAlive{};
        x.set_agent_id("a");
        return frame_of(x);
      }
      case 2: {
        auto x = v1::WorkersStopped{};
        x.set_agent_id("a");
        x.set_generation(random() % 5);
        return frame_of(x);
      }
      case 3: {
        auto x = v1::WorkerFailed{};
        x.set_agent_id("a");
        x.mutable_failure()->mutable_details()->set_message("why");
        return frame_of(x);
      }
      default:
        return samples[random() % samples.size()];
    }
  }

  static std::string with_header(const std::string& content) {
    return content.empty() ? std::string(frame_header_size, '\0')
                           : frame_header(content.size()) + content;
  }

  std::string mutated(const std::string& frame) {
    auto content = frame.substr(frame_header_size);
    for (auto i = random() % 3; i > 0 && !content.empty(); --i)
      switch (random() % 4) {
        case 0:
          content[random() % content.size()] = static_cast<char>(random());
          break;
        case 1:
          content[random() % content.size()]
            ^= static_cast<char>(1 << random() % 8);
          break;
        case 2:
          content.insert(random() % content.size(),
                         std::string(random() % 9, '\1'));
          break;
        default:
          content.resize(random() % content.size());
      }
    return with_header(content);
  }

  /// Whether a StatusRequest of a good peer is answered.
  bool is_answered() {
    const auto there = connect();
    join(there);
    auto answered = inbox<bool>{};
    client.system.spawn([&](caf::event_based_actor* self) {
      ask(self, there, std::chrono::seconds{10}, v1::StatusRequest{})
        .then([&](const v1::JobStatus&) { answered.put(true); },
              [&](const caf::error&) { answered.put(false); });
    });
    return answered.take() == true;
  }

  std::mt19937 random{20'261'123};
  std::vector<std::string> samples;
  std::optional<link_side_in_memory> uut;
  int passed_count = 0;
  int job_count = 1;
};

} // namespace

TEST_CASE_METHOD(
  fuzz_fixture,
  "remote links: mutated messages neither crash, nor deafen, nor "
  "fatten a coordinator",
  "[runtime]") {
  using actorrun::test::has_address_sanitizer;
  const auto count = frame_count();
  auto before = 0.0;
  REQUIRE(samples.size() == 16); // Of as many types.
  for (auto i = 0; i < count; ++i) {
    if (i % frames_per_link == 0)
      open();
    if (i == count / 5)
      before = resident_size();
    send(mutated(good_frame()));
  }
  close();
  CAPTURE(passed_count, job_count, before, resident_size());
  CHECK(passed_count > count / 20);
  if (!has_address_sanitizer)
    CHECK(resident_size() < before + 16);
  // Whatever came: it answers, or the job is over and the next one does.
  begin_job_if_closed();
  if (!is_answered()) {
    REQUIRE(has_closed);
    begin_job_if_closed();
    CHECK(is_answered());
  }
}

} // namespace actorrun::test::link_fuzz_test
