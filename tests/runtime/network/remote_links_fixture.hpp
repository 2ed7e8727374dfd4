// Two actor systems, a coordinator on one side and an agent on the other, and a link
// between them without a network.
#pragma once

#include "actors/rendezvous_coordinator.hpp"
#include "runtime/network/remote_agent.hpp"
#include "runtime/network/remote_coordinator.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/caf.hpp"
#include "tests/support/catch.hpp"

#include <caf/event_based_actor.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace actorrun::detail::test {

struct socket_pair {
  unique_fd server;
  unique_fd client;
};

inline socket_pair connected_sockets() {
  int fds[2];
  REQUIRE(
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds)
    == 0);
  return {unique_fd{fds[0]}, unique_fd{fds[1]}};
}

/// One end of a link without a network.
struct link_side_in_memory {
  explicit link_side_in_memory(std::unique_ptr<link_peer> x)
    : peer(std::move(x)) {}

  /// @returns what is wrong with the bytes that have come
  result<void> take(std::string_view bytes) {
    frames.add(bytes);
    for (;;) {
      const auto frame = frames.next();
      if (!frame)
        return frame.error();
      if (!*frame)
        return {};
      if (const auto got = peer->take(**frame); !got)
        return got.error();
    }
  }

  std::unique_ptr<link_peer> peer;
  std::shared_ptr<link_outbox> outbox = std::make_shared<link_outbox>();
  frame_splitter frames{message_frame_max};
};

/// Passes frames on between two ends until one of them ends, or `cut`.
class memory_link : public std::enable_shared_from_this<memory_link> {
public:
  memory_link(reactor& loop, std::unique_ptr<link_peer> server,
              std::unique_ptr<link_peer> client)
    : loop_(loop), server_(std::move(server)), client_(std::move(client)) {}

  void start() {
    run_and_wait(loop_, [this] {
      for (auto* x : {&server_, &client_}) {
        x->outbox->on_change([this] {
          loop_.post([self = shared_from_this()] { self->pass_on(); });
        });
        x->peer->begin({x->outbox, {}});
      }
    });
  }

  void cut() {
    run_and_wait(loop_, [this] { close(); });
  }

private:
  void pass_on() {
    if (is_closed_)
      return;
    const auto is_good = pass(client_, server_) && pass(server_, client_);
    if (!is_good || server_.outbox->is_over() || client_.outbox->is_over())
      close();
  }

  static bool pass(link_side_in_memory& from, link_side_in_memory& to) {
    const auto ok = to.take(from.peer->take_answers() + from.outbox->take());
    return bool{ok};
  }

  void close() {
    if (std::exchange(is_closed_, true))
      return;
    for (auto* x : {&server_, &client_}) {
      x->outbox->on_change(nullptr);
      x->outbox->end();
      x->peer->end();
    }
  }

  reactor& loop_;
  link_side_in_memory server_;
  link_side_in_memory client_;
  bool is_closed_ = false;
};

/// The coordinator's requests to the network, on its own thread.
class links_inbox final : public ports::agent_links {
public:
  void probe(const agent_id&, uint16_t, std::function<void()>) override {
    calls.put("probe");
  }
  void sever(const agent_id& x) override { calls.put("sever " + x.value); }
  inbox<std::string> calls;
};

/// A simulated process: it has its own actor system.
struct side {
  side() { system.await_actors_before_shutdown(false); }

  ~side() {
    for (const auto& x : kept)
      caf::anon_send_exit(x, caf::exit_reason::kill);
  }

  template <class Handle>
  Handle keep(Handle x) {
    kept.push_back(caf::actor_cast<caf::strong_actor_ptr>(x));
    return x;
  }

  system_config config;
  caf::actor_system system{config};
  std::vector<caf::strong_actor_ptr> kept;
};

/// A coordinator on one side, an agent of one slot on the other.
struct remote_links_fixture {
  remote_links_fixture() {
    begin_job();
    agent = client.keep(client.system.spawn(writer, &told));
  }

  ~remote_links_fixture() { cut(); }

  /// The coordinator is another one from now on.
  void begin_job() {
    auto setup = rendezvous_coordinator_config{};
    setup.settings = {1, 1, 0};
    setup.limits.keep_alive_interval = std::chrono::seconds{60};
    setup.links = links;
    setup.on_closed = [this](const core::outcome&) { has_closed = true; };
    coordinator = server.keep(
      spawn_rendezvous_coordinator(server.system, std::move(setup)));
  }

  static caf::behavior writer(caf::event_based_actor* self,
                              inbox<std::string>* to) {
    actorrun::test::ignore_errors(self); // Answers to nonsense.
    return {
      [=](const v1::JoinAccepted& x) {
        to->put("accepted, fence " + std::to_string(x.fence_ns()));
      },
      [=](const v1::GenerationFormed& x) {
        to->put("formed " + std::to_string(x.plan().generation()));
      },
      [=](const v1::GenerationRevoked& x) {
        to->put("revoked " + std::to_string(x.generation()));
      },
      [=](const v1::LeaseGranted& x) {
        to->put("granted " + std::to_string(x.sent_ns()));
      },
      [](const v1::NodeStatusRequest&) {},
      [=](const caf::strong_actor_ptr& whom) {
        actorrun::test::notice_end(self, caf::actor_cast<caf::actor>(whom),
                                   [to] { to->put("down"); });
        to->put("monitors");
      },
    };
  }

  void cut() {
    if (between)
      between->cut();
  }

  remote_agent_setup agent_setup() { return {coordinator, "a"}; }

  /// A new link.
  /// @returns the client's handle of the coordinator
  rendezvous_coordinator_actor connect() {
    between = std::make_shared<memory_link>(
      loop, std::make_unique<remote_agent>(server.system, agent_setup()),
      std::make_unique<remote_coordinator>(
        client.system, log{},
        [this](rendezvous_coordinator_actor x) { found.put(std::move(x)); }));
    between->start();
    const auto got = found.take();
    REQUIRE(got);
    return *got;
  }

  template <class T>
  void say(const rendezvous_coordinator_actor& there, const T& x) {
    actorrun::test::tell_as(agent, caf::actor_cast<caf::actor>(there), x);
  }

  static v1::JoinRequest join_request() {
    auto x = v1::JoinRequest{};
    x.mutable_offer()->set_agent_id("a");
    x.mutable_offer()->set_address("10.0.0.1");
    x.mutable_offer()->set_slot_count(1);
    x.mutable_offer()->set_liveness_port(7'000);
    x.mutable_settings()->set_agent_count_min(1);
    x.mutable_settings()->set_agent_count_max(1);
    return x;
  }

  void join(const rendezvous_coordinator_actor& there) {
    say(there, join_request());
  }

  // These outlive the actors, which write to them.
  std::atomic<bool> has_closed = false; ///< The coordinator's job is over.
  inbox<std::string> told;
  inbox<rendezvous_coordinator_actor> found;
  std::shared_ptr<links_inbox> links = std::make_shared<links_inbox>();
  side server;
  side client;
  reactor loop; ///< CAF keeps something of a system in each thread that spawns.
  std::shared_ptr<memory_link> between; ///< Of `connect`.
  rendezvous_coordinator_actor coordinator;
  caf::actor agent;
};

} // namespace actorrun::detail::test
