// Shares a lease desk between the coordinator and the links to its agents.
#pragma once

#include "actors/core/protocol/lease_desk.hpp"
#include "actors/core/protocol/life_signs.hpp"

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
  /// @param silence_max As in `core::life_signs`.
  explicit shared_lease_desk(std::function<bool()> may_answer = {},
                             core::duration silence_max = core::duration::max())
    : may_answer_(std::move(may_answer)), signs_(silence_max) {}

  /// No keep-alive is heard until what it returns is gone.
  held hold() { return {guard_, desk_}; }

  /// @see core::lease_desk::hear. Waits for `hold`, which decides and does not
  /// wait itself.
  bool hear(const agent_id& agent, core::time_point sent,
            core::time_point now) {
    auto desk = hold(); // First: the right to answer may end while it waits.
    return (!may_answer_ || may_answer_()) && !signs_.are_missing(now)
           && desk->hear(agent, sent, now);
  }

  /// Whoever decides has had its turn.
  void give_sign(core::time_point now) {
    const auto lock = std::lock_guard{guard_};
    signs_.give(now);
  }

  /// Whether it is to be asked for a sign. @see core::life_signs::is_wanted
  bool wants_sign(core::time_point now) {
    const auto lock = std::lock_guard{guard_};
    return signs_.is_wanted(now);
  }

private:
  std::function<bool()> may_answer_;
  std::mutex guard_;
  core::lease_desk desk_;
  core::life_signs signs_;
};

} // namespace actorrun
