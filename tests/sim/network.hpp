// Simulates links that delay, break and fall silent.
#pragma once

#include "tests/sim/dice.hpp"
#include "tests/sim/os_process.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace actorrun::sim {

enum class side : size_t { agent, coordinator };

inline side other(side x) {
  return x == side::agent ? side::coordinator : side::agent;
}

/// The path between an agent's host and the coordinator's. Messages sent during
/// a silence arrive after it, as with TCP.
struct path {
  /// Silent for messages *from* that side.
  std::array<bool, 2> silent{};

  /// A firewall answers each attempt to connect with a reset.
  bool resets = false;

  bool is_silent(side from) const { return silent[size_t(from)]; }
  bool works() const { return !silent[0] && !silent[1] && !resets; }
};

/// Hosts between which nothing arrives, in one direction.
using host_pairs = std::set<std::pair<uint32_t, uint32_t>>;

/// From one host to another, each of which may be cut off, from all or from the other.
struct route {
  const path* agents;
  const path* coordinators; ///< Seen from there, the agent is the other side.
  const host_pairs* cut = nullptr; ///< Null: there is none between two hosts.
  std::array<uint32_t, 2> hosts{}; ///< By side.

  bool is_cut(side from) const {
    return cut != nullptr
           && cut->contains({hosts[size_t(from)], hosts[size_t(other(from))]});
  }
  bool is_silent(side from) const {
    return agents->is_silent(from) || coordinators->is_silent(other(from))
           || is_cut(from);
  }
  bool works() const {
    return agents->works() && coordinators->works() && !is_cut(side::agent)
           && !is_cut(side::coordinator);
  }
  bool resets() const { return agents->resets || coordinators->resets; }
};

/// One connection. Messages of a direction arrive in order, each after a
/// random delay.
class link {
public:
  struct end {
    os_process* owner;
    action on_closed; ///< Called when the other side closes it, or it breaks.
  };

  /// @param delay_max Longest delay of a message.
  link(event_queue& queue, dice& roll, const route& way,
       core::duration delay_max, bool duplicates, end agent, end coordinator);

  void send(side from, action deliver);

  /// Closes it for `by`, or because its process is gone: the other side learns
  /// of it after the messages sent before.
  void close(side by);

  /// As `close`. What has arrived for `by` until then is still delivered, and
  /// then `by` learns that the link is gone.
  /// @param is_quick `by` learns it at once.
  void hang_up(side by, bool is_quick = false);

  /// Breaks it: pending messages are lost, both sides learn of it after a
  /// while.
  void cut();

  /// Delivers again after a silence.
  /// @param late TCP waits up to so long before it repeats what was lost.
  void wake(core::duration late = {});

  /// The network has forgotten this connection: nothing arrives any more, and neither
  /// side learns of it.
  void stall() { is_stalled_ = true; }

  /// Messages that have arrived there, where the process sleeps.
  uint32_t waiting(side at) const { return ends_[size_t(at)].waiting; }

  /// Ends the simulation: pending messages hold the link that holds them.
  void discard();

private:
  struct message {
    core::time_point ready;
    action deliver;
    bool last; ///< The sender closed the link.
  };

  struct state {
    end what;
    bool open = true;
    bool hung_up = false; ///< By this side, which still reads.
    std::deque<message> incoming;
    core::time_point newest{};
    uint32_t waiting = 0; ///< Messages that its process has yet to read.
  };

  void transmit(side to, message what);
  void arrive(side to);
  void notice(side at);

  event_queue& queue_;
  dice& roll_;
  route route_;
  core::duration delay_max_;
  bool duplicates_;
  bool broken_ = false;
  bool is_stalled_ = false;
  core::time_point resumes_{}; ///< Before that nothing arrives.
  std::array<state, 2> ends_;
};

} // namespace actorrun::sim
