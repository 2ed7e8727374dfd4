// Decides how the agents of a job are started on many hosts, and how they end: which
// host has the coordinator, whom the job is begun without, and with which result all
// is over.
#pragma once

#include "actors/core/hosts/agent_order.hpp"
#include "actors/core/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// Of hosts, by their place in the list.
using host_index = size_t;

struct host_settings {
  std::vector<std::string> names; ///< At least one.
  /// With fewer hosts there is no job; 1..`names.size()`.
  size_t count_min = 1;
  /// Where the coordinator is, if that is known from the start.
  std::optional<host_index> coordinator{};
  /// Otherwise: whether the first host that can be reached has it. If not, its place
  /// is not known.
  bool chooses_coordinator = true;
  /// No agent gets an order before the coordinator's has answered.
  bool awaits_coordinator = true;
  std::string connector = "ssh"; ///< What reaches hosts; for texts.
  /// Exit codes of agents that could not take part, whatever the others did.
  std::vector<int> start_failures{};
  /// Exit code of agents that stood by while the job succeeded, which is 0 of the job.
  int stood_by_code = -1;
  duration grace = std::chrono::seconds{30}; ///< Of the workers.
};

/// A host that has not answered by then cannot be reached.
inline constexpr duration host_answer_max = std::chrono::seconds{60};

/// An agent has so much longer than its workers' grace to end, before the connection
/// to it is given up.
inline constexpr duration host_end_margin = std::chrono::seconds{5};

/// After a second signal the workers have no grace.
inline constexpr duration host_hurry_max = std::chrono::seconds{5};

/// The exit code of ssh when the connection has failed, and of most programs like it.
inline constexpr int connection_failed_code = 255;

/// @name What happens
/// @{

/// The agent has answered.
struct host_greeted {
  host_index host = 0;
};

/// Its process here, or that of the remote shell, has ended.
struct host_ended {
  host_index host = 0;
  int code = 0;   ///< 0..255; meaningless if `signal` is not 0.
  int signal = 0; ///< That has killed it.
};

/// A sign of life has come from the agent, or cannot come because its output is not
/// read here.
struct host_heard {
  host_index host = 0;
};

/// This program got a signal.
struct signal_arrived {
  int signal = 0;
  bool ends = true; ///< Else it is for the workers.
};

/// It is `due()` or later.
struct time_passed {};

using host_event = std::variant<host_greeted, host_ended, host_heard,
                                signal_arrived, time_passed>;

/// @}
/// @name What has to be done
/// @{

struct give_order {
  host_index host = 0;
  /// Where the coordinator is; none: it is not known to us.
  std::optional<host_index> coordinator{};
};

/// Ask the agent to leave.
struct end_agent {
  host_index host = 0;
  int signal = 0;
};

/// Pass a signal on to its workers.
struct forward_signal {
  host_index host = 0;
  int signal = 0;
};

/// Show it that this side is alive.
struct assure_agent {
  host_index host = 0;
};

/// Give up the connection; `host_ended` follows.
struct drop_host {
  host_index host = 0;
};

/// For people.
struct host_report {
  enum class level : uint8_t { info, warning, error };
  level how = level::info;
  std::string text;
};

/// All agents have ended. Comes once, and last.
struct end_launch {
  enum class reason : uint8_t {
    code,             ///< `value` is the job's exit code.
    signal,           ///< `value` is the signal that ended it.
    unmet,            ///< Too few hosts.
    coordinator_lost, ///< The agent that had it has died.
  };
  reason why = reason::code;
  int value = 0;

  friend bool operator==(const end_launch&, const end_launch&) = default;
};

using host_effect
  = std::variant<give_order, end_agent, forward_signal, assure_agent, drop_host,
                 host_report, end_launch>;

/// @}

/// Deterministic: the same events at the same times give the same effects.
///
///     starting --greeted--> greeted --order--> working --ended--> ended
///
/// No agent gets an order before it is known where the coordinator is, so that the
/// first host may be one that cannot be reached. All are dismissed when the job
/// cannot go on: too few hosts are left, or the coordinator's has died.
class host_launch {
public:
  using effects = std::vector<host_effect>;

  /// @param now The agents are being started.
  host_launch(host_settings settings, time_point now);

  effects step(const host_event& event, time_point now);

  /// When `time_passed` is wanted for a decision; `time_point::max()`: never.
  time_point due() const { return std::min(answers_due_, end_due_); }

  /// The same, for the signs of life.
  time_point signs_due() const { return signs_due_; }

private:
  enum class phase : uint8_t { starting, greeted, working, ended };

  struct member {
    phase where = phase::starting;
    bool is_late = false; ///< It has not answered in time.
    /// Of an agent that has ended by itself.
    std::optional<int> code{};
    /// Its last sign of life. None: it gives none, and only the end of its connection
    /// shows its own.
    std::optional<time_point> heard{};
  };

  void on(const host_greeted& x, time_point now, effects& out);
  void on(const host_ended& x, time_point now, effects& out);
  void on(const host_heard& x, time_point now, effects& out);
  void on(const signal_arrived& x, time_point now, effects& out);
  void on(const time_passed& x, time_point now, effects& out);

  void give_orders(time_point now, effects& out);
  void exchange_signs(time_point now, effects& out);
  void miss(const host_ended& x, time_point now, effects& out);
  void lose(const host_ended& x, time_point now, effects& out);
  void follow(host_index ended, time_point now, effects& out);
  void end_all(int signal, time_point now, effects& out);
  void drop_all(effects& out);
  void give_up_late(effects& out);
  void finish(effects& out);
  end_launch verdict() const;
  size_t count_left() const;
  bool has_hung_up() const;
  size_t count_done() const;
  std::string names_of_left() const;

  host_settings settings_;
  std::vector<member> hosts_;
  std::optional<host_index> coordinator_;
  time_point answers_due_;
  time_point end_due_ = time_point::max();
  time_point signs_due_ = time_point::max(); ///< Of life.
  bool is_ending_ = false;
  bool is_over_ = false;
  /// Why the job cannot go on.
  std::optional<end_launch> cause_;
  /// The agents were told to end because of it, so what they say is no news.
  bool is_cause_final_ = false;
  bool has_lost_ = false;        ///< An agent, or the connection to it.
  std::optional<int> last_code_; ///< Of the agents that ended by themselves.
  uint32_t signal_count_ = 0;
  int first_signal_ = 0;
};

} // namespace actorrun::core
