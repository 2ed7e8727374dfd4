// Actors on one thread and in virtual time.
#pragma once

#include "actors/message_types.hpp"
#include "messages/type_ids.hpp"
#include "tests/support/caf.hpp"
#include "tests/support/virtual_time.hpp"

#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace actorrun::test {

using namespace std::chrono_literals;

struct virtual_time_config : caf::actor_system_config {
  virtual_time_config() {
    register_message_types(*this);
    virtual_time::install(*this);
  }
};

/// Actors run only in `run` and `advance`. A test must give the actors that it
/// spawns to `keep`, so that they end with the test.
class actor_fixture {
public:
  actor_fixture() : system{here_config_}, here_{system} {
    system.await_actors_before_shutdown(false);
  }

  ~actor_fixture() {
    // All at once: none shall notice the end of another.
    for (const auto& x : kept_)
      caf::anon_send_exit(x, caf::exit_reason::kill);
    kept_.clear();
    run();
  }

  actor_fixture(const actor_fixture&) = delete;
  actor_fixture& operator=(const actor_fixture&) = delete;

  /// Delivers all messages that are pending.
  void run() {
    while (here_.run() > 0)
      continue;
  }

  /// Advances the time; every timer fires exactly when it is due.
  void advance(caf::timespan by) {
    run();
    const auto end = here_.now() + by;
    while (here_.deliver_next(end))
      run();
    here_.set_now(end);
  }

  /// Advances the time as for a process that was stopped: timers fire at the
  /// end.
  void sleep_over(caf::timespan by) {
    run();
    here_.set_now(here_.now() + by);
    advance(caf::timespan{0});
  }

  /// Virtual time since the test began.
  caf::timespan now() { return here_.now() - began_; }

  template <class Handle>
  Handle keep(Handle x) {
    kept_.push_back(caf::actor_cast<caf::strong_actor_ptr>(x));
    return x;
  }

  /// Kills an actor.
  template <class Handle>
  void end(const Handle& x) {
    caf::anon_send_exit(x, caf::exit_reason::kill);
    run();
  }

  /// Sends in the name of `from`.
  template <class From, class To, class T>
  void send(const From& from, const To& to, T x) {
    tell_as(from, to, std::move(x));
    run();
  }

  /// What an actor answers to a request; empty until it has.
  using answer = std::shared_ptr<std::optional<v1::JobStatus>>;

  template <class Handle>
  answer ask_status(const Handle& of, const v1::StatusRequest& what = {}) {
    auto out = std::make_shared<std::optional<v1::JobStatus>>();
    keep(system.spawn([=](caf::event_based_actor* self) -> caf::behavior {
      ask(self, of, 60s, what).then([out](const v1::JobStatus& x) {
        *out = x;
      });
      return {};
    }));
    run();
    return out;
  }

private:
  virtual_time_config here_config_;

public:
  caf::actor_system system;

protected:
  virtual_time here_;

private:
  caf::actor_clock::time_point began_ = here_.now();
  std::vector<caf::strong_actor_ptr> kept_;
};

} // namespace actorrun::test
