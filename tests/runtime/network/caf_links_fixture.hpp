// Two actor systems, a coordinator on one side and an agent on the other, and
// connections between them that CAF did not make.
#pragma once

#include "actors/rendezvous_coordinator.hpp"
#include "runtime/network/caf_links.hpp"
#include "runtime/network/late_network.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/runtime/network/pipe_reader.hpp"
#include "tests/support/caf.hpp"
#include "tests/support/catch.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>

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

/// Passes bytes on between two pipes until one of them ends, or `cut`.
class joint : public std::enable_shared_from_this<joint> {
public:
  joint(reactor& loop, pipe_end a, pipe_end b)
    : loop_(loop), a_(std::move(a)), b_(std::move(b)) {}

  void start() {
    for (auto* x : {&a_, &b_})
      x->on_change([this] {
        loop_.post([self = shared_from_this()] { self->pass_on(); });
      });
  }

  void cut() {
    run_and_wait(loop_, [this] { close(); });
  }

private:
  void pass_on() {
    b_.write(a_.take());
    a_.write(b_.take());
    if (a_.is_over() || b_.is_over())
      close();
  }

  void close() {
    a_.close();
    b_.close();
  }

  reactor& loop_;
  pipe_end a_;
  pipe_end b_;
};

/// The coordinator's requests to the network, on its own thread.
class links_inbox final : public ports::agent_links {
public:
  void probe(const agent_id&, uint16_t, std::function<void()>) override {
    calls.put("probe");
  }
  void sever(const agent_id& x) override { calls.put("sever " + x.value); }
  void released(const agent_id& x) override {
    calls.put("released " + x.value);
  }

  inbox<std::string> calls;
};

/// A simulated process: it has its own actor system.
struct side {
  side() { system.await_actors_before_shutdown(false); }

  /// Returns when the network's thread has done what it was to do.
  void pass_network_thread() {
    auto passed = inbox<bool>{};
    network_of(system).backend().post([&] { passed.put(true); });
    REQUIRE(passed.take());
  }

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
struct caf_links_fixture {
  using found = std::shared_ptr<result<caf::strong_actor_ptr>>;

  caf_links_fixture() {
    begin_job();
    agent = client.keep(client.system.spawn(writer, &told));
  }

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
      [=](const caf::strong_actor_ptr& whom) {
        actorrun::test::notice_end(self, caf::actor_cast<caf::actor>(whom),
                                   [to] { to->put("down"); });
        to->put("monitors");
      },
    };
  }

  ~caf_links_fixture() {
    if (between)
      between->cut();
  }

  found attach_to(pipe_end link, core::duration limit = timeout) {
    attach(client.system, std::move(link), limit,
           [this](result<caf::strong_actor_ptr> x) {
             answers.put(
               std::make_shared<result<caf::strong_actor_ptr>>(std::move(x)));
           });
    auto out = answers.take();
    REQUIRE(out);
    return *out;
  }

  /// Lets both sides speak CAF over a new link.
  /// @returns the client's handle of the coordinator
  caf::strong_actor_ptr connect() {
    auto [of_server, a] = pipe_end::open();
    auto [of_client, b] = pipe_end::open();
    between = std::make_shared<joint>(loop, std::move(a), std::move(b));
    between->start();
    serve(server.system, std::move(of_server),
          caf::actor_cast<caf::strong_actor_ptr>(coordinator));
    const auto got = attach_to(std::move(of_client));
    REQUIRE(*got);
    return **got;
  }

  void join(const caf::strong_actor_ptr& there) {
    auto x = v1::JoinRequest{};
    x.mutable_offer()->set_agent_id("a");
    x.mutable_offer()->set_address("10.0.0.1");
    x.mutable_offer()->set_slot_count(1);
    x.mutable_settings()->set_agent_count_min(1);
    x.mutable_settings()->set_agent_count_max(1);
    actorrun::test::tell_as(agent, caf::actor_cast<caf::actor>(there), x);
  }

  // These outlive the actors, which write to them.
  std::atomic<bool> has_closed = false; ///< The coordinator's job is over.
  inbox<std::string> told;
  inbox<found> answers;
  std::shared_ptr<links_inbox> links = std::make_shared<links_inbox>();
  reactor loop;
  std::shared_ptr<joint> between; ///< Of `connect`.
  side server;
  side client;
  rendezvous_coordinator_actor coordinator;
  caf::actor agent;
};

} // namespace actorrun::detail::test
