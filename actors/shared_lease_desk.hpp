// Shares a lease desk between the coordinator and the links to its agents.
#pragma once

#include "actors/core/protocol/lease_desk.hpp"
#include "actors/core/protocol/life_signs.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace actorrun {

/// How long ago it was confirmed that a coordinator leads; none: it leads no more.
/// Null: it always leads.
using leadership_age = std::function<std::optional<core::duration>()>;

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

  /// @param age How long ago it was confirmed that the coordinator leads; none: it
  ///            leads no more, and no agent is answered. Called on any thread;
  ///            null: always 0.
  /// @param silence_max As in `core::life_signs`.
  explicit shared_lease_desk(leadership_age age = {},
                             core::duration silence_max = core::duration::max())
    : age_(std::move(age)), signs_(silence_max) {}

  /// No keep-alive is heard until what it returns is gone.
  held hold() { return {guard_, desk_}; }

  /// @see core::lease_desk::hear. Waits for `hold`, which decides and does not
  /// wait itself.
  /// @returns the age of the answer; none: there is no answer
  std::optional<core::duration>
  hear(const agent_id& agent, core::time_point sent, core::time_point now) {
    auto desk = hold(); // First: the right to answer may end while it waits.
    const auto age = age_ ? age_() : core::duration::zero();
    return age && !signs_.are_missing(now) && desk->hear(agent, sent, now)
             ? age
             : std::nullopt;
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
  leadership_age age_;
  std::mutex guard_;
  core::lease_desk desk_;
  core::life_signs signs_;
};

} // namespace actorrun
