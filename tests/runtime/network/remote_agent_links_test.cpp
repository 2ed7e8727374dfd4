#include "actors/rendezvous_coordinator.hpp"
#include "runtime/network/remote_agent_links.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

/// A coordinator that listens, and agents that speak no further than the
/// handshake.
struct fixture {
  fixture() {
    system.await_actors_before_shutdown(false);
    auto setup = rendezvous_coordinator_config{};
    setup.settings = {1, 1, 0};
    coordinator = spawn_rendezvous_coordinator(system, setup);
    const auto where
      = uut.listen(loopback(0), an_agent().mine,
                   [this](int, const nonce_bytes&) { return coordinator; });
    REQUIRE(where);
    port
      = static_cast<uint16_t>(std::stoi(where->substr(where->rfind(':') + 1)));
  }

  ~fixture() {
    uut.close();
    caf::anon_send_exit(coordinator, caf::exit_reason::kill);
  }

  /// A connection of the agent, past its handshake.
  unique_fd link() {
    auto done = inbox<result<connected>>{};
    const auto attempt
      = connect(home, {"127.0.0.1", port}, an_agent(), timeout,
                [&](result<connected> x) { done.put(std::move(x)); });
    auto got = done.take();
    REQUIRE(got);
    REQUIRE(*got);
    return std::move((*got)->connection);
  }

  /// Whether the coordinator's CAF greets on this connection.
  static bool is_served(const unique_fd& x) {
    return is_ready(x.get(), POLLIN) && !read_up_to(x.get(), 1).empty();
  }

  /// Returns when timers that are due in `delay` have run.
  void pass(std::chrono::milliseconds delay) {
    auto passed = inbox<bool>{};
    home.post([&] { home.after(delay, [&] { passed.put(true); }); });
    REQUIRE(passed.take());
  }

  system_config config;
  caf::actor_system system{config};
  reactor home;
  remote_agent_links uut{system, home, {}};
  rendezvous_coordinator_actor coordinator;
  uint16_t port = 0;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: a new link of an agent ends the last, "
                 "and is served when that is released",
                 "[runtime]") {
  const auto first = link();
  CHECK(is_served(first));
  const auto second = link();
  CHECK(is_closed(first.get()));
  uut.released({an_agent().id});
  CHECK(is_served(second));
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: a link whose release is never reported "
                 "does not hold up the next for ever",
                 "[runtime]") {
  const auto first = link();
  CHECK(is_served(first));
  const auto second = link();
  CHECK(is_served(second));
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: a link that was served on a release "
                 "outlives the time after which it would have been",
                 "[runtime]") {
  const auto first = link();
  CHECK(is_served(first));
  const auto second = link();
  uut.released({an_agent().id});
  CHECK(is_served(second));
  pass(2 * release_limit);
  CHECK_FALSE(is_ready(second.get(), POLLRDHUP, 0ms));
}
