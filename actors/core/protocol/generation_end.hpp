// Ends a job's generations, and settles what that costs.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/deferred_failures.hpp"
#include "actors/core/protocol/generation_costs.hpp"
#include "actors/core/protocol/generation_failures.hpp"
#include "actors/core/protocol/generation_recovery.hpp"
#include "actors/core/protocol/job_course.hpp"
#include "actors/core/protocol/job_orders.hpp"
#include "actors/core/protocol/quarantine.hpp"
#include "actors/core/protocol/rendezvous_step.hpp"
#include "actors/core/protocol/restart_policy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// What kind of trouble the newest generation that is over has ended for.
struct settled_end {
  generation_id generation{}; ///< 0: none is over.
  end_finding finding{};
  /// Failures alike that have cost a restart, this one included; 0: this was none.
  uint32_t alike_count = 0;
  std::string alike{}; ///< As `end_row::text`.
};

/// The root cause of a generation's failures, and what it costs, is decided when
/// all workers have stopped (`generation_failures`), because the first report need
/// not be about the first death. Only then it is known, too, whose doing the end was.
class generation_end {
public:
  /// All must live as long as this.
  generation_end(rendezvous_step& step, job_course& job, agent_table& agents,
                 job_orders& orders, generation_costs& costs,
                 const generation_recovery& recovery, const quarantine& nodes,
                 const restart_rules& rules = {})
    : step_(step), job_(job), agents_(agents), orders_(orders), costs_(costs),
      recovery_(recovery), quarantine_(nodes),
      policy_(orders.settings().restart_count_max, rules) {}

  /// Of the last one, which is that of the next; empty: there was none.
  const end_reason& reason() const { return reason_; }
  void explain(end_reason x) { reason_ = std::move(x); }

  /// The root cause, as far as it is known, of the newest generation or job that a
  /// failure has ended.
  const std::optional<worker_failure>& last_failure() const {
    return last_failure_;
  }

  const restart_policy& budget() const { return policy_; }

  const settled_end& last_end() const { return last_end_; }

  /// No generation is to begin before: the last ones have ended alike.
  time_point next_start() const { return policy_.row().next_start(); }
  void start_now() { policy_.start_now(); }
  // -- failures of which a check shows what they cost ----------------------------

  /// What checks have found by now is settled.
  /// @pre the job has not ended
  void attribute_failures();

  /// No generation may be formed before: there may be no restart left for it.
  bool awaits_check() const {
    return !deferred_.empty()
           && policy_.restart_count() + deferred_.size()
                > policy_.restart_count_max();
  }

  /// `agent b on host n2`; empty: `awaits_check` is false.
  std::string awaited_check() const;

  // -- what an earlier coordinator has spent ------------------------------------

  void know_restarts(uint32_t count) { policy_.restore(count, {}); }
  void know(const charter& told);

  // -- a generation begins, and ends --------------------------------------------

  /// It is about to be formed, or was adopted.
  void begin();

  /// @param newcomers For whom it is ended; empty: not for any.
  /// @pre one is active
  void revoke(const end_reason& reason,
              const std::optional<worker_failure>& failure = {},
              std::vector<agent_id> newcomers = {});

  /// The failure that is reported first ends the generation.
  /// @pre one is active, and a failure was added
  void fail();

  /// The same for one that a coordinator has recovered: agents were lost while there
  /// was none, or were lost or wanted to leave while this one listened.
  void fail_recovered(const std::string& news);

  /// All workers have stopped.
  void conclude();

  // -- what has happened in it --------------------------------------------------

  void add(const agent_id& agent, collateral failures);
  void add_departure(const agent_record& record, const end_reason& reason);
  void note_unkillable() { failures_.note_unkillable(); }
  void note_step(uint64_t step) { policy_.note_step(step); }

  /// Excludes a host as the command line says, unless it is excluded already or too few
  /// nodes would be left.
  void exclude_by_rule(const std::string& host, const std::string& why);

  bool has_failed() const { return !failures_.empty(); }
  void forget_failures() { failures_.clear(); }

private:
  void add_drained();
  void update_cause();
  end_finding finding() const;
  void settle();
  void answer(const worker_failure& first, outcome how);
  void follow(restart_policy::answer what, const worker_failure& first,
              outcome how);
  void obey_rule();
  void apply_row(const worker_failure& first);
  bool exclude(const std::string& host, const std::string& reason);
  std::string host_of(const agent_id& agent) const;
  bool may_be_free(const worker_failure& first) const;
  void defer(const worker_failure& first, outcome how);
  void charge(const deferred_failure& x);
  bool is_checked_next(const agent_record& x, bool is_suspect) const;
  void count_failure(const worker_failure& x);
  void charge();
  void order_checks(const agent_id& suspect);

  rendezvous_step& step_;
  job_course& job_;
  agent_table& agents_;
  job_orders& orders_;
  generation_costs& costs_;
  const generation_recovery& recovery_;
  const quarantine& quarantine_;
  restart_policy policy_;
  deferred_failures deferred_;
  generation_failures failures_; ///< Of the current generation.
  end_reason reason_;
  time_point revoked_at_{};
  std::vector<agent_id> let_in_; ///< For whom it was revoked.
  std::optional<worker_failure> last_failure_;
  settled_end last_end_;
};

} // namespace actorrun::core
