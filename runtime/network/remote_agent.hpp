// An agent of another process, for the coordinator: checks and delivers what the agent
// says, and answers its keep-alives.
#pragma once

#include "actors/log.hpp"
#include "messages/ids.hpp"
#include "messages/version.hpp"
#include "runtime/network/link_actor.hpp"

#include <caf/actor.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace actorrun::detail {

struct remote_agent_setup {
  rendezvous_coordinator_actor coordinator;
  shared_text id;                      ///< The agent's, as in its hello.
  uint16_t version = protocol_version; ///< Of the protocol, that both know.
  /// Where the link comes from: a request to join is marked if it brings another
  /// address. Empty: none is marked.
  std::string peer_host{};
  /// Hears a keep-alive with this stamp; returns the age of the answer, none: there is
  /// none. Null: they go to the coordinator.
  std::function<std::optional<core::duration>(int64_t sent_ns)> hear{};
  /// Whether the agent was accepted: the questions of others are not passed on. May be
  /// null: always.
  std::function<bool()> is_member{};
  log lines{};
};

/// The first thing that an agent says is a request to join, with an address that it may
/// speak for; and all that it says bears the id that it has proved to be.
class remote_agent final : public link_peer {
public:
  /// @pre `system` outlives it
  remote_agent(caf::actor_system& system, remote_agent_setup setup);

  void begin(const link_opening& x) override;
  result<bool> take(std::string_view content) override;
  std::string take_answers() override;
  void end() override;

private:
  template <class T>
  result<bool> on(T x, uint64_t number);
  result<bool> join(v1::JoinRequest x);
  result<bool> ask(v1::StatusRequest x, uint64_t number);
  void answer(const v1::KeepAlive& x);
  template <class T>
  bool deliver(T x);

  caf::actor_system& system_;
  remote_agent_setup setup_;
  std::function<bool(const std::string& host)> may_speak_for_;
  /// A `node_agent_actor`. Null before the beginning, and after the end.
  caf::actor actor_;
  std::string answers_;
  size_t join_count_ = 0;
  /// Questions without an answer. The actor counts them down. Null: there was none.
  std::shared_ptr<std::atomic<size_t>> question_count_;
  bool has_said_strange_ = false;
};

} // namespace actorrun::detail
