// Decides when a node is checked, and whether it may take part.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

struct node_checks_options {
  std::vector<std::string> commands; ///< In this order; at least one.
  check_moments when{};
  duration limit = std::chrono::minutes{1}; ///< Of each, > 0.
};

// -- events ---------------------------------------------------------------------

struct checks_begun {};

/// The coordinator wants the node checked before its next generation.
struct check_ordered {
  bool beside = false; ///< Beside its workers, which go on meanwhile.
};

/// A command has ended, or could not be run.
struct check_ended {
  uint64_t run = 0;      ///< As in `run_check`.
  std::string trouble{}; ///< `exit code 3`; empty: it has succeeded.
  std::string words{};   ///< The last line that it has written; may be empty.
};

using check_event
  = std::variant<checks_begun, check_ordered, check_ended, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------

/// Run this command. It is killed, and all that it has started, when its time is over.
struct run_check {
  uint64_t run = 0; ///< Names this run.
  std::string command;
  duration limit{0};
};

/// Tell the job why this node can take no part; empty: it can.
struct report_fitness {
  std::string unfit;
};

/// Log it.
struct report_check {
  bool is_good = false;
  std::string text;
};

using check_effect
  = std::variant<arm_timer, run_check, report_fitness, report_check>;

/// `run_check 3 "nvidia-smi"; …`
std::string to_string(const check_effect& x);

/// The first pause of a node whose check has failed, and the longest: each is twice as
/// long as the one before.
inline constexpr auto recheck_min = std::chrono::seconds{10};
inline constexpr auto recheck_max = std::chrono::minutes{10};

/// A node whose check has failed takes no part, and is checked again after a pause,
/// until all its checks succeed.
///
///          begun, ordered              all succeed
///  idle -----------------> checking ----------------> fit <-----------+
///                           ^     ^                   | every,        | all
///                           |     |                   | ordered       | succeed
///                     pause |     | ordered           v beside        |
///        one fails          |     +--------------- beside ------------+
///  checking, beside ----> unfit                       |
///                                                     v one fails: unfit
///
/// A generation never waits for a check that may run beside its workers.
class node_checks {
public:
  enum class phase { idle, checking, fit, beside, unfit };

  /// @pre there is a command, and `limit > 0`
  explicit node_checks(node_checks_options options);

  /// Applies one event and returns its effects. Deterministic. O(1).
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<check_effect> step(const check_event& event, time_point now);

  phase current_phase() const { return phase_; }

  /// Why the node can take no part, one line for people; empty: it can.
  std::string unfit() const;

private:
  enum class alarm { again };

  void on(const checks_begun& event);
  void on(const check_ordered& event);
  void on(const check_ended& event);
  void on(const timer_fired& event);

  void begin(phase how);
  void run();
  void succeed();
  void fail(const check_ended& event);
  void report();

  node_checks_options options_;
  phase phase_ = phase::idle;
  size_t next_ = 0;          ///< The command that runs.
  uint64_t run_ = 0;         ///< The newest.
  bool was_ordered_ = false; ///< While one runs: all are to run again.
  duration pause_ = recheck_min;
  std::string trouble_; ///< Of the last one that has failed, since it did.
  std::string reported_;
  alarm_set<alarm, 1> alarms_;

  // Of the step that is taken.
  time_point now_{};
  std::vector<check_effect> out_;
};

std::string to_string(node_checks::phase x);

} // namespace actorrun::core
