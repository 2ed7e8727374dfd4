// Finds the coordinator for an agent, and keeps one link to it.
#pragma once

#include "actors/core/protocol/membership_step.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::core {

///            link up            accepted            last word sent
///  seeking ----------> joining ----------> joined -----------------> parting
///     ^                   |                  |                          |
///     +--- link down, no answer, fence ------+       cut by the other side
///                                                                       v
///                                                                   finished
///
/// There is one link at a time: the handle of a coordinator looks alike on all
/// links to it. The next is sought when the last is known to be gone.
///
/// A link that does not answer may be a network that is cut, or one that works
/// again while TCP waits ever longer before it repeats what was lost, or forgets
/// flows. So before the fence falls a second connection is tried. If the
/// coordinator answers there, the link is given up for it.
class coordinator_link {
public:
  enum class state { seeking, joining, joined, parting, finished };

  /// @param own Differs from agent to agent, and so do the times of attempts.
  coordinator_link(membership_step& step, timeouts limits, const agent_id& own);

  bool is(state x) const { return state_ == x; }
  state current() const { return state_; }

  /// Messages that are sent while joining arrive after the join request.
  bool is_connected() const { return is(state::joining) || is(state::joined); }

  /// Whether a coordinator has accepted it, at least once.
  bool was_accepted() const { return was_accepted_; }

  /// Sends this if there is a link.
  template <class Message>
  void send(Message x) {
    if (is_connected())
      step_.add(std::move(x));
  }

  // -- seeking ------------------------------------------------------------------

  void begin();

  /// Since when it has no coordinator, and when it gives up; none: it has one, or
  /// has given up.
  struct search {
    time_point since{};
    time_point until{};
  };
  std::optional<search> current_search() const;

  /// Why the last attempt has failed, if one has since the last acceptance.
  const std::optional<failure>& last_failure() const { return last_failure_; }

  /// An attempt to find the coordinator, or to join it, has failed.
  /// @returns whether there is no use in another
  bool miss(const failure& why);

  /// @param workers_run A new coordinator is to learn of them at once.
  /// @param node_count Of the last generation, which all seek; 0: before the first.
  void try_later(bool workers_run, uint32_t node_count);
  void try_now();
  failure why_given_up(bool has_succeeded) const;

  // -- joining ------------------------------------------------------------------

  /// @param second_way_after The answer may have met a cut by then; 0: no matter.
  void join(bool is_remote, duration second_way_after);
  void accept();

  /// Drops the link.
  /// @returns whether the coordinator, or another, may accept it later
  bool refuse(const failure& why);

  // -- the end of a link --------------------------------------------------------

  void drop();

  /// @returns whether it was one that had been dropped before
  bool forget_dropped();

  /// The coordinator is sought from now on.
  void lose();

  /// Says the last word. If there is a lease, the coordinator acknowledges it by
  /// cutting the link: an agent that did not wait for that might end before its
  /// last messages have been sent.
  /// @returns whether nothing is waited for
  bool part(bool has_lease);
  void finish() { state_ = state::finished; }

  // -- the second way -----------------------------------------------------------

  bool has_second_way() const { return has_second_way_; }
  void try_second_way();
  void forget_second_way();

private:
  using alarm = membership_step::alarm;

  /// A link that was given up, as long as it is not known to be gone.
  enum class dropped_link {
    none,
    ends,
    awaited, ///< The next attempt waits for its end.
  };

  membership_step& step_;
  timeouts limits_;
  size_t own_;
  state state_ = state::seeking;
  bool is_remote_ = false; ///< The last coordinator's process is another.
  dropped_link dropped_ = dropped_link::none;
  bool has_second_way_ = false; ///< It is being tried.
  bool was_accepted_ = false;
  std::optional<failure> last_failure_; ///< To find the coordinator.
  uint32_t attempts_ = 0;
};

std::string to_string(coordinator_link::state x);

} // namespace actorrun::core
