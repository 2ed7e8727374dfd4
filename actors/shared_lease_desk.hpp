// Shares a lease desk between the coordinator and the links to its agents.
#pragma once

#include "actors/core/protocol/lease_desk.hpp"

#include <functional>
#include <mutex>
#include <utility>

namespace actorrun {

/// Agents are answered on the threads that their links are read on: a mailbox and
/// a scheduler thread for each keep-alive would cost a coordinator of ten thousand
/// nodes five cores.
class shared_lease_desk {
public:
  /// The desk, for one thread alone.
  class held {
  public:
    core::lease_desk* operator->() { return &desk_; }

  private:
    friend shared_lease_desk;
    held(std::mutex& guard, core::lease_desk& desk)
      : lock_(guard), desk_(desk) {}

    std::unique_lock<std::mutex> lock_;
    core::lease_desk& desk_;
  };

  /// @param may_answer If it returns false, no agent is answered any more. Called
  ///                   on any thread; null: always true.
  explicit shared_lease_desk(std::function<bool()> may_answer = {})
    : may_answer_(std::move(may_answer)) {}

  /// No keep-alive is heard until what it returns is gone.
  held hold() { return {guard_, desk_}; }

  /// @see core::lease_desk::hear. Waits for `hold`, which decides and does not
  /// wait itself.
  bool hear(const agent_id& agent, core::time_point sent,
            core::time_point now) {
    auto desk = hold(); // First: the right to answer may end while it waits.
    return (!may_answer_ || may_answer_()) && desk->hear(agent, sent, now);
  }

private:
  std::function<bool()> may_answer_;
  std::mutex guard_;
  core::lease_desk desk_;
};

} // namespace actorrun
