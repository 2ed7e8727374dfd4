// Mutated frames against a real coordinator behind the filter. CTest sends some
// thousands; ACTORRUN_FUZZ_COUNT=10000000 and a sanitizer make it a night's work.

#include "runtime/network/frame_dialect.hpp"
#include "runtime/network/frame_filter.hpp"
#include "tests/messages/wire_samples.hpp"
#include "tests/runtime/memory.hpp"
#include "tests/runtime/network/caf_links_fixture.hpp"
#include "tests/runtime/network/frame_writer.hpp"
#include "tests/support/sanitizer.hpp"

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace actorrun;
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
struct fuzz_fixture : caf_links_fixture {
  fuzz_fixture() { take_samples(); }

  /// Keeps one of each message that the filter takes from an agent.
  void take_samples() {
    samples.clear();
    actorrun::test::for_each_wire_type([this](const auto& x) {
      auto fresh = frame_filter{ends()};
      auto passed = std::string{};
      const auto greeted
        = fresh.arriving(client_greeting_of_ours() + join_frame(), passed);
      auto own = x;
      if constexpr (requires { own.set_agent_id("a"); })
        own.set_agent_id("a");
      auto frame = frame_of(own);
      if (greeted && fresh.arriving(frame, passed))
        samples.push_back(std::move(frame));
    });
  }

  link_ends ends() {
    return {link_side::server, "a", node_name(server.system), coordinator.id()};
  }

  /// What has passed may have ended the job, as it should.
  void begin_job_if_closed() {
    if (!has_closed.exchange(false))
      return;
    begin_job();
    take_samples();
    ++job_count;
  }

  /// A new link to the coordinator that has been greeted.
  void open() {
    close();
    begin_job_if_closed();
    auto [ours, theirs] = pipe_end::open();
    serve(server.system, std::move(theirs),
          caf::actor_cast<caf::strong_actor_ptr>(coordinator));
    peer = std::move(ours);
    is_open = true;
    filter.emplace(ends());
    dialect.emplace();
    send(client_greeting_of_ours());
    send(join_frame());
  }

  /// Returns when the coordinator's system has forgotten the link.
  void close() {
    if (!std::exchange(is_open, false))
      return;
    peer.close();
    server.pass_network_thread();
  }

  /// Of few systems: CAF keeps something for each that it has ever met.
  std::string client_greeting_of_ours() {
    auto name = node_name(client.system);
    name[20] = static_cast<char>(random() % 8);
    return write_frame({.kind = frame_kind::client_handshake, .content = name});
  }

  /// As the link does: the first bad frame ends it.
  void send(const std::string& frame) {
    auto passed = std::string{};
    const auto ok = filter->arriving(frame, passed);
    if (!passed.empty()) {
      ++passed_count;
      write(dialect->from_wire(passed));
    }
    if (!ok)
      open();
  }

  void write(std::string_view bytes) {
    constexpr auto unread_max = size_t{64} << 10;
    peer.write(bytes);
    peer.take();
    if (!peer.has_room(unread_max))
      server.pass_network_thread();
  }

  template <class Message>
  std::string frame_of(const Message& x) {
    return write_frame({.source = 1 + random() % 40,
                        .destination = coordinator.id(),
                        .content = content_of(
                          x.GetTypeName() == "" ? "" : dotted(x.GetTypeName()),
                          x.SerializeAsString())});
  }

  static std::string dotted(std::string name) {
    for (auto i = name.find('.'); i != name.npos; i = name.find('.', i))
      name.replace(i, 1, "::");
    return name;
  }

  std::string join_frame() {
    auto x = v1::JoinRequest{};
    x.mutable_offer()->set_agent_id("a");
    x.mutable_offer()->set_address("10.0.0.1");
    x.mutable_offer()->set_slot_count(1 + random() % 3);
    x.mutable_settings()->set_agent_count_min(1);
    x.mutable_settings()->set_agent_count_max(1);
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
      case 4:
        return client_greeting_of_ours();
      case 5:
        return write_frame({.kind = frame_kind::sign_of_life});
      default:
        return samples[random() % samples.size()];
    }
  }

  std::string mutated(std::string frame) {
    for (auto i = random() % 4; i > 0; --i)
      switch (random() % 4) {
        case 0:
          frame[random() % frame.size()] = static_cast<char>(random());
          break;
        case 1:
          frame[random() % frame.size()]
            ^= static_cast<char>(1 << random() % 8);
          break;
        case 2: // The size in the header is right all the same.
          frame.insert(frame_header_size, std::string(random() % 9, '\1'));
          frame.replace(4, 4,
                        network_order(frame.size() - frame_header_size, 4));
          break;
        default:
          frame.resize(frame_header_size
                       + random() % (frame.size() - frame_header_size + 1));
          frame.replace(4, 4,
                        network_order(frame.size() - frame_header_size, 4));
      }
    return frame;
  }

  /// Whether a StatusRequest of a good peer is answered.
  bool is_answered() {
    const auto there = connect();
    auto answered = inbox<bool>{};
    client.system.spawn([&](caf::event_based_actor* self) {
      ask(self, caf::actor_cast<rendezvous_coordinator_actor>(there),
          std::chrono::seconds{10}, v1::StatusRequest{})
        .then([&](const v1::JobStatus&) { answered.put(true); },
              [&](const caf::error&) { answered.put(false); });
    });
    return answered.take() == true;
  }

  std::mt19937 random{20'261'123};
  std::vector<std::string> samples;
  pipe_end peer;
  bool is_open = false;
  std::optional<frame_filter> filter;
  std::optional<frame_dialect> dialect;
  int passed_count = 0;
  int job_count = 1;
};

} // namespace

TEST_CASE_METHOD(fuzz_fixture,
                 "frame_filter: mutated frames neither crash, nor deafen, nor "
                 "fatten a coordinator",
                 "[runtime]") {
  using actorrun::test::has_address_sanitizer;
  const auto count = frame_count();
  auto before = 0.0;
  REQUIRE(samples.size() >= 11); // Of as many types.
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
  if (!is_answered()) {
    REQUIRE(has_closed);
    begin_job_if_closed();
    CHECK(is_answered());
  }
}
