// Changes the group that runs, at a safe point of its workers if they have any.
#pragma once

#include "actors/core/protocol/generation_end.hpp"
#include "actors/core/protocol/group_change.hpp"
#include "actors/core/protocol/job_wait.hpp"
#include "actors/core/protocol/newcomers.hpp"
#include "actors/core/protocol/rendezvous_step.hpp"
#include "actors/core/protocol/safe_point_round.hpp"

#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// A change that can wait, as a node that joins, waits until all workers have come
/// to one step (`safe_point_round`), if they have safe points and do so in time. Then
/// the generation ends for it. They may also be asked for a step to save there, after
/// which they go on.
///
/// Of a drain that has begun, the node is told at once: its workers get notice, unless
/// there is a safe point to wait for.
class regrouping {
public:
  /// All must live as long as this.
  regrouping(rendezvous_step& step, const timeouts& limits,
             const job_course& job, agent_table& agents, job_orders& orders,
             const generation_costs& costs, const generation_recovery& recovery,
             newcomers& newcomers, generation_end& generation)
    : step_(step), limits_(limits), job_(job), agents_(agents), orders_(orders),
      costs_(costs), recovery_(recovery), newcomers_(newcomers),
      generation_(generation) {}

  /// All workers are on the way to one step.
  bool is_on_the_way() const { return job_.is_active() && round_.is_active(); }

  /// The same for people; none: they are not.
  std::optional<job_wait::round> way() const;

  /// What follows from the facts.
  /// @pre a generation is active
  void advance();

  /// The generation has ended.
  void end();

  // -- what agents report -------------------------------------------------------

  void on(const safe_point_reported& event);

  /// Its workers have all succeeded.
  void leave(const agent_id& agent);

  /// It is back after its link broke.
  void repeat_order(const agent_id& agent);

  /// The workers have had the time that they get.
  void on_late();

  // -- nodes that are to leave --------------------------------------------------

  /// An earlier coordinator has promised it, or none has.
  void follow_drain(agent_record& record) const;

  /// Those whose place another one can take.
  void begin_waiting_drains();

  /// @pre `record.drain`
  void begin_drain(agent_record& record);

  /// @pre `record.is_draining()`
  void notify(const agent_record& record);

private:
  using alarm = rendezvous_alarm;
  using phase = rendezvous_phase;

  group_change change() const {
    return change_of(agents_, orders_, newcomers_);
  }
  group_change change_now() const;
  std::string reason() const;
  void make(const group_change& x);
  void make_at_once(const group_change& x);
  void save_before_limit();
  void begin_round(duration time);
  void follow(safe_point_round::progress x);
  void conclude(const std::string& what_is_amiss);
  void conclude_refused();
  void call_off(std::string reason);
  void send_order(std::vector<agent_id> agents, std::string reason);

  rendezvous_step& step_;
  const timeouts& limits_;
  const job_course& job_;
  agent_table& agents_;
  job_orders& orders_;
  const generation_costs& costs_;
  const generation_recovery& recovery_;
  newcomers& newcomers_;
  generation_end& generation_;
  safe_point_round round_;
  save_request save_;
};

} // namespace actorrun::core
