// Decides when a generation may be ended for nodes that have come since it began.
#pragma once

#include "actors/core/protocol/generation_costs.hpp"
#include "actors/core/protocol/group_change.hpp"
#include "actors/core/protocol/job_course.hpp"
#include "actors/core/protocol/rendezvous_step.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace actorrun::core {

/// They wait for more of them, and for their own workers. If the generation has safe
/// points, it goes on until those are ready, or their time is over.
class newcomers {
public:
  /// All must live as long as this.
  newcomers(rendezvous_step& step, const timeouts& limits,
            const job_course& job, agent_table& agents,
            const job_orders& orders, const generation_costs& costs)
    : step_(step), limits_(limits), job_(job), agents_(agents), orders_(orders),
      costs_(costs) {}

  void add_arrival() { last_arrival_ = step_.now(); }
  time_point last_arrival() const { return last_arrival_; }

  /// So many may take part now: it is not that they have come.
  void admit(end_reason reason, uint32_t count) {
    admission_ = std::move(reason);
    admitted_count_ = count;
  }

  /// There are none.
  void forget_admission() { admission_ = {}; }

  /// `2 more joined`
  end_reason reason() const;

  /// Whether the generation that runs is to be changed for them now.
  /// @param x What there is to change.
  bool are_due(const group_change& x);

  /// The time for their workers is over.
  void on_late();

  /// They are not waited for any more, or there are none.
  void end();

private:
  using alarm = rendezvous_alarm;

  bool await_workers();

  rendezvous_step& step_;
  const timeouts& limits_;
  const job_course& job_;
  agent_table& agents_;
  const job_orders& orders_;
  const generation_costs& costs_;
  time_point last_arrival_{};
  std::optional<time_point> since_; ///< They could take part: do more come?
  end_reason admission_;
  uint32_t admitted_count_ = 0;
};

} // namespace actorrun::core
