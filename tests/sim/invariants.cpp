#include "tests/sim/invariants.hpp"

#include "actors/core/failure_text.hpp"

#include <algorithm>

namespace actorrun::sim {

using core::to_string;

void invariants::report(const std::string& text) {
  if (!breach_ && !is_left_off_)
    breach_ = text;
}

// -- the coordinators ---------------------------------------------------------

void invariants::coordinator_began(int coordinator, generation_id newest) {
  floors_[coordinator] = newest;
}

void invariants::joined(int coordinator, generation_id newest) {
  floors_[coordinator] = later(floors_[coordinator], newest);
}

bool invariants::announced(int coordinator, const core::announce_generation& x,
                           const core::job_settings& job) {
  for (const auto& plan : x.plans)
    if (unkillable_.contains({coordinator, plan.own.agent}))
      report("unkillable: generation " + to_string(plan.generation)
             + " forms with " + plan.own.agent.value + ", whose workers hang");
  if (x.plans.empty()) {
    report("a generation without agents was announced");
    return false;
  }
  if (x.plans.front().generation <= floors_[coordinator]
      && find(x.plans.front()) != nullptr) {
    const auto* known = find(x.plans.front());
    for (const auto& plan : x.plans)
      if (find(plan) != known)
        report("I1: generation " + to_string(plan.generation)
               + " was announced anew in another shape");
    return false;
  }
  for (const auto& plan : x.plans)
    if (excluded_[coordinator].contains(offers_.at(plan.own.agent).host))
      report("steering: generation " + to_string(plan.generation)
             + " forms with " + plan.own.agent.value
             + ", whose host is excluded");
  for (const auto& plan : x.plans)
    if (drained_.contains({coordinator, plan.own.agent}))
      report("steering: generation " + to_string(plan.generation)
             + " counts on " + plan.own.agent.value + ", which is drained");
  for (const auto& plan : x.plans)
    if (leaving_.contains({coordinator, plan.own.agent}))
      report("I8: generation " + to_string(plan.generation) + " counts on "
             + plan.own.agent.value + ", which leaves");
  auto record = std::make_unique<generation_record>();
  record->coordinator = coordinator;
  record->number = x.plans.front().generation;
  for (const auto& plan : x.plans)
    record->plans.emplace(plan.own.agent, plan);
  const auto& floor = floors_[coordinator];
  if (record->number <= floor || number_of(record->number) <= number_of(floor))
    report("I4: generation " + to_string(record->number) + " of term "
           + std::to_string(term_of(record->number)) + " follows generation "
           + to_string(floor) + " of term " + std::to_string(term_of(floor)));
  floors_[coordinator] = record->number;
  if (record->number <= newest_ && clocks_agree_)
    report("I4: generation " + std::to_string(record->number.value)
           + " was formed after generation " + std::to_string(newest_.value));
  has_formed_.insert(coordinator);
  for (const auto& plan : x.plans)
    if (came_done_[coordinator].contains(plan.own.agent))
      report("I6: the job has succeeded, and " + plan.own.agent.value
             + " is to run it again");
  if (x.plans.size() < job.agent_count_min
      || x.plans.size() > job.agent_count_max)
    report("I3: generation " + to_string(record->number) + " has "
           + std::to_string(x.plans.size()) + " agents");
  check_ranks(*record);
  const auto& survivors = x.plans.front().survivors;
  if (!survivors.empty() && !job.ranked && !core::contains(survivors, 0))
    report("survivors: rank 0 of generation " + to_string(record->number)
           + " is none of them");
  generations_.push_back(std::move(record));
  return true;
}

void invariants::came_out(generation_id number) {
  newest_ = std::max(newest_, number);
}

void invariants::check_ranks(const generation_record& generation) {
  const auto& common = generation.plans.begin()->second;
  auto ranks = std::set<uint32_t>{};
  auto nodes = std::set<uint32_t>{};
  auto slots = uint32_t{0};
  for (const auto& [agent, plan] : generation.plans) {
    if (plan.generation != common.generation
        || plan.world_size != common.world_size
        || plan.node_count != common.node_count
        || plan.master_address != common.master_address
        || plan.master_port != common.master_port
        || plan.restart_count != common.restart_count)
      report("I1: the plans of generation " + to_string(generation.number)
             + " differ");
    if (plan.own.node_rank == 0 && plan.master_address != agent.value)
      report("I1: MASTER_ADDR is not where node rank 0 is");
    nodes.insert(plan.own.node_rank);
    slots += plan.own.slot_count;
    for (uint32_t i = 0; i < plan.own.slot_count; ++i)
      ranks.insert(plan.own.first_global_rank + i);
  }
  check_roles(generation);
  const auto dense = [](const std::set<uint32_t>& xs, uint32_t n) {
    return xs.size() == n && !xs.empty() && *xs.rbegin() == n - 1;
  };
  if (!dense(ranks, common.world_size) || slots != common.world_size
      || !dense(nodes, common.node_count)
      || generation.plans.size() != common.node_count)
    report("I1: the ranks of generation " + to_string(generation.number)
           + " are not 0..W-1");
}

// Every node has as many workers as it has offered, and ranks follow each other
// from node to node: in the job, and in each role.
void invariants::check_roles(const generation_record& generation) {
  auto by_rank = std::map<uint32_t, const core::placement*>{};
  auto sizes = std::map<std::string, uint32_t>{};
  for (const auto& [agent, plan] : generation.plans) {
    by_rank.emplace(plan.own.node_rank, &plan.own);
    sizes[offers_.at(agent).role] += offers_.at(agent).slot_count;
  }
  auto next = uint32_t{0};
  auto next_of = std::map<std::string, uint32_t>{};
  for (const auto& [rank, x] : by_rank) {
    const auto& offered = offers_.at(x->agent);
    if (x->slot_count != offered.slot_count)
      report("I1: " + x->agent.value + " was given other workers than it has");
    if (x->first_global_rank != next)
      report("I1: global ranks do not follow the ranks of the nodes");
    if (x->first_role_rank != next_of[offered.role]
        || x->role_world_size != sizes[offered.role])
      report("I1: the ranks of a role are not 0..R-1");
    next += x->slot_count;
    next_of[offered.role] += x->slot_count;
  }
}

// Those that stay keep their order, and move only to close gaps.
void invariants::kept_ranks(const std::map<agent_id, uint32_t>& before,
                            const std::map<agent_id, uint32_t>& after,
                            bool has_survivors) {
  if (job_.ranked)
    return;
  const auto had_first = [&](const auto& x) {
    const auto i = before.find(x.first);
    return x.second == 0 && i != before.end() && i->second == 0;
  };
  if (has_survivors && std::none_of(after.begin(), after.end(), had_first))
    return;
  auto pairs = std::vector<std::pair<uint32_t, uint32_t>>{};
  for (const auto& [agent, rank] : before)
    if (const auto i = after.find(agent); i != after.end())
      pairs.emplace_back(rank, i->second);
  std::sort(pairs.begin(), pairs.end());
  auto gaps = uint32_t{0};
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0 && pairs[i].second <= pairs[i - 1].second)
      return report("ranks: agents that stay have changed their order");
    gaps += pairs[i].first != pairs[i].second;
  }
  if (gaps > 0 && pairs.size() < after.size()
      && after.size() > pairs.back().first)
    report("ranks: an agent that stays was moved for a newcomer");
}

bool may_be_placed(const core::agent_record& x) {
  const auto is_draining = x.drain && x.drain->due;
  return x.connected && !x.leaving && !x.shadowed && !x.excluded && !x.stands_by
         && !is_draining && x.offering.unfit.empty();
}

namespace {

uint32_t candidate_count(const core::rendezvous& brain) {
  auto n = uint32_t{0};
  for (const auto& [agent, x] : brain.agents())
    n += may_be_placed(x);
  return n;
}

} // namespace

// Who goes before its work is done is missed by others.
void invariants::check_departures(debt& owed, int coordinator,
                                  const core::rendezvous& after) const {
  for (const auto& agent : owed.members) {
    const auto i = after.agents().find(agent);
    const auto is_gone = i == after.agents().end() || i->second.leaving;
    if (is_gone && owed.working.contains(agent)
        && !unkillable_.contains({coordinator, agent}))
      owed.departed.insert(agent);
    owed.working.erase(agent);
    if (!is_gone && i->second.share != core::share_state::succeeded)
      owed.working.insert(agent);
  }
}

// A successor was told of a failure while it listened. Of the agents that are
// missing only the one that failed may be known.
std::optional<invariants::debt>
invariants::debt_of_recovery(uint32_t spent,
                             const core::rendezvous& after) const {
  if (after.budget().charged() == after.generation()
      && paid_to_.contains(after.generation()))
    return std::nullopt; // Its predecessor has paid, and said so.
  auto out = debt{spent, {}, false, {}, {}};
  for (const auto& [agent, x] : after.agents()) {
    if (x.member_of != after.generation())
      continue;
    if (x.leaving)
      return std::nullopt;
    out.members.insert(agent);
  }
  const auto missing_count
    = after.common_plan().node_count - out.members.size();
  if (missing_count > 1
      || (missing_count == 1
          && out.members.contains(after.last_failure()->agent)))
    return std::nullopt;
  return out;
}

// A check of the node is to show what its failure costs.
bool invariants::is_awaited(const core::rendezvous& after,
                            const agent_id& agent) const {
  const auto i = after.agents().find(agent);
  return node_failures_are_free_ && i != after.agents().end()
         && i->second.offering.unfit == core::being_checked;
}

// What was not paid for at once costs a restart exactly if the node is well, or gone,
// and no generation begins that this may leave without a restart.
uint32_t invariants::check_deferred(int coordinator, uint32_t spent_before,
                                    const core::rendezvous& after) {
  using phase = core::rendezvous::phase;
  auto& awaited = deferred_[coordinator];
  auto settled_count = uint32_t{0};
  auto cost = uint32_t{0};
  for (auto i = awaited.begin(); i != awaited.end();) {
    if (is_awaited(after, *i)) {
      ++i;
      continue;
    }
    const auto record = after.agents().find(*i);
    cost += record == after.agents().end()
            || record->second.offering.unfit.empty();
    ++settled_count;
    i = awaited.erase(i);
  }
  const auto spent = after.budget().restart_count();
  if (after.result()) {
    awaited.clear();
    return settled_count;
  }
  if (settled_count > 0 && spent != spent_before + cost)
    report("I5: " + std::to_string(settled_count) + " failures cost "
           + std::to_string(spent - spent_before)
           + " restarts, where checks have shown " + std::to_string(cost));
  const auto runs = after.current_phase() == phase::starting
                    || after.current_phase() == phase::running;
  if (runs && spent + awaited.size() > after.settings().restart_count_max
      && !awaited.empty())
    report("I5: a generation runs for which there may be no restart");
  return settled_count;
}

// In a generation that a failure has ended, and from which no agent went, the
// failure costs a restart, or the job.
void invariants::check_cost(int coordinator,
                            const core::rendezvous_event& event,
                            uint32_t spent_before,
                            generation_id generation_before,
                            const core::rendezvous& after) {
  using phase = core::rendezvous::phase;
  auto& owed = owed_[coordinator];
  const auto is_stopping = after.current_phase() == phase::stopping;
  if (!owed) {
    const auto* x = std::get_if<core::worker_failed>(&event);
    if (x != nullptr && is_stopping && x->generation == generation_before
        && !was_stopping_[coordinator]) {
      owed = debt{spent_before, {}, false, {}, {}};
      for (const auto& [agent, record] : after.agents()) {
        if (record.member_of != generation_before)
          continue;
        owed->members.insert(agent);
        // Its peers miss it before it has gone.
        if (record.is_draining()
            && record.share != core::share_state::succeeded) {
          owed->departed.insert(agent);
          owed->is_exempt |= agent != x->agent;
        }
      }
    }
    if (was_gathering_[coordinator] && is_stopping && after.last_failure())
      owed = debt_of_recovery(spent_before, after);
  } else {
    if (is_stopping) // A check has shown that an older one costs a restart.
      owed->spent += after.budget().restart_count() - spent_before;
    check_departures(*owed, coordinator, after);
    for (const auto& agent : owed->members) {
      const auto i = after.agents().find(agent);
      if (i == after.agents().end() || i->second.leaving
          || i->second.is_draining())
        owed->is_exempt = true;
    }
  }
  was_gathering_[coordinator] = after.current_phase() == phase::gathering;
  const auto was_stopping
    = std::exchange(was_stopping_[coordinator], is_stopping);
  // One that is checked may yet be fit.
  const auto is_any_checked
    = std::ranges::any_of(after.agents(), [](const auto& x) {
        return !x.second.offering.unfit.empty() && !x.second.leaving;
      });
  if (was_stopping && !is_stopping && !after.result() && !is_any_checked
      && hung_in_[coordinator] == generation_before
      && candidate_count(after) < after.settings().agent_count_min)
    report("unkillable: too few nodes are left, and the job waits for others");
  if (!owed || is_stopping)
    return;
  const auto& first = after.result() && after.result()->first_failure
                        ? after.result()->first_failure
                        : after.last_failure();
  if (first && first->kind != core::failure_kind::not_started
      && first->kind != core::failure_kind::unkillable
      && (after.budget().restart_count() > owed->spent
          || (after.result()
              && after.result()->kind == core::outcome::verdict::failed)))
    for (const auto& agent : owed->departed)
      if (agent != first->agent)
        report("I5: " + agent.value + " had gone, and the failure of "
               + first->agent.value + " cost something");
  const auto has_cost = after.budget().restart_count() > owed->spent
                        || after.current_phase() == phase::ended;
  const auto has_time
    = !owed->is_exempt && !has_cost && first && is_awaited(after, first->agent);
  if (has_time)
    deferred_[coordinator].insert(first->agent);
  else if (!owed->is_exempt && !has_cost)
    report("I5: the failure of generation " + to_string(generation_before)
           + " cost nothing");
  owed.reset();
}

// The phase fits what the agents do. Whoever takes no part any more, or was
// stopped, has ended the generation.
void invariants::check_phase(const core::rendezvous& after) {
  using core::share_state;
  using phase = core::rendezvous::phase;
  auto candidates = uint32_t{0};
  auto holding = uint32_t{0};
  auto starting = uint32_t{0};
  auto unfinished = uint32_t{0};
  auto members = uint32_t{0};
  auto is_broken = false;
  auto is_excluded = false;
  auto is_stepping = false; ///< Then some changes wait for a safe point.
  for (const auto& [agent, x] : after.agents()) {
    candidates += may_be_placed(x);
    holding += x.holds.value != 0;
    if (x.member_of != after.generation() || after.generation().value == 0)
      continue;
    starting += x.share == share_state::starting;
    unfinished += x.share != share_state::succeeded;
    is_broken |= x.share == share_state::failed || x.share == share_state::idle
                 || x.share == share_state::stopping
                 || (x.leaving && x.share != share_state::succeeded);
    is_excluded |= x.excluded && x.share != share_state::succeeded;
    is_stepping |= x.steps_in == after.generation();
    ++members;
  }
  const auto fits = [&] {
    const auto& asked = after.settings();
    switch (after.current_phase()) {
      case phase::gathering:
        return holding > 0 || candidates < asked.agent_count_min
               || after.waiting_for().starts_with("listening")
               || after.waiting_for().starts_with("the next start waits")
               || after.waiting_for().starts_with("waiting for the check of ");
      case phase::last_call:
        // Workers of an older generation may have turned up since.
        return holding > 0
               || (candidates >= asked.agent_count_min
                   && candidates < asked.agent_count_max);
      case phase::starting:
        return starting > 0 && unfinished > 0 && !is_broken && !is_excluded
               && members <= asked.agent_count_max;
      case phase::running:
        return starting == 0 && unfinished > 0 && !is_broken
               && (is_stepping || unfinished < after.common_plan().node_count
                   || (!is_excluded && members <= asked.agent_count_max));
      case phase::stopping:
        return holding > 0;
      case phase::ended:
        return after.result().has_value();
    }
    return false;
  };
  if (!fits())
    report("phase: the coordinator is " + to_string(after.current_phase())
           + " in spite of its agents");
}

void invariants::stepped(int coordinator, const core::rendezvous_event& event,
                         uint32_t spent_before, generation_id generation_before,
                         const core::rendezvous& after) {
  check_phase(after);
  const auto settled_count = check_deferred(coordinator, spent_before, after);
  check_cost(coordinator, event, spent_before, generation_before, after);
  const auto spent = after.budget().restart_count();
  auto carried = spent_before; // A claim may contain more.
  if (const auto* x = std::get_if<core::coordinator_started>(&event)) {
    known_spent_[coordinator] = x->known.restart_count;
    if (x->is_proved)
      carried = std::max(carried, x->known.restart_count);
  }
  if (const auto* x = std::get_if<core::agent_joined>(&event); x && x->told)
    carried = std::max({carried, x->told->restart_count,
                        known_spent_[coordinator], told_spent_[coordinator]});
  if (const auto* x = std::get_if<core::agent_joined>(&event); x && x->told)
    told_spent_[coordinator]
      = std::max(told_spent_[coordinator], x->told->restart_count);
  if (const auto* x = std::get_if<core::agent_joined>(&event); x && x->held)
    carried = std::max(carried, x->held->plan.restart_count);
  if (spent > after.settings().restart_count_max)
    report("I5: " + std::to_string(spent) + " restarts were spent");
  if (spent > carried + std::max(settled_count, 1U) || spent < spent_before)
    report("I5: the restart count went from " + std::to_string(spent_before)
           + " to " + std::to_string(spent));
  if (spent > spent_before && settled_count > 0)
    paid_to_.emplace(after.budget().charged(), spent);
  if (spent <= carried || settled_count > 0)
    return;
  if (!after.last_failure())
    return report("I5: a restart was spent without a failure");
  if (ended_by_operator_.contains({coordinator, generation_before}))
    report("steering: generation " + to_string(generation_before)
           + " was ended by an operator, and cost a restart");
  attributed(*after.last_failure());
  if (is_permanent(*after.last_failure()))
    report("I5: a restart was spent on what cannot be started");
  if (missed_a_peer_.contains(after.last_failure()->pid))
    report("I5: the death of an agent cost a restart");
  if (!paid_.emplace(coordinator, generation_before).second)
    report("I5: generation " + to_string(generation_before)
           + " cost two restarts");
  check_paid_once(generation_before, spent);
  check_first(coordinator, generation_before, *after.last_failure());
}

// One coordinator may pay again what the one before had paid and told no one. It
// may not add to that.
void invariants::check_paid_once(generation_id generation, uint32_t spent) {
  const auto is_it = [&](const auto& x) { return x->number == generation; };
  if (std::ranges::count_if(generations_, is_it) != 1)
    return; // Two generations that have this number have a price each.
  const auto [i, is_first] = paid_to_.emplace(generation, spent);
  if (!is_first && spent > i->second)
    report("I5: generation " + to_string(generation)
           + " cost a restart with each of two coordinators");
}

// -- the root cause ----------------------------------------------------------

namespace {

bool is_same(const core::worker_failure& a, const core::worker_failure& b) {
  return a.agent == b.agent && a.local_rank == b.local_rank;
}

/// The failures that an event reports in the generation that `brain` is about to
/// settle.
std::vector<core::worker_failure>
failures_in(const core::rendezvous& brain,
            const core::rendezvous_event& event) {
  const auto counts
    = [&brain](const agent_id& agent, generation_id generation) {
        const auto i = brain.agents().find(agent);
        return i != brain.agents().end() && generation == brain.generation()
               && i->second.holds == generation
               && i->second.member_of == generation;
      };
  if (const auto* x = std::get_if<core::worker_failed>(&event);
      x && counts(x->agent, x->generation))
    return {x->failure};
  if (const auto* x = std::get_if<core::workers_stopped>(&event);
      x && counts(x->agent, x->generation))
    return x->others.listed;
  if (const auto* x = std::get_if<core::agent_joined>(&event);
      x && x->held && x->held->failure
      && counts(x->offering.agent, x->held->plan.generation))
    return {*x->held->failure};
  return {};
}

} // namespace

void invariants::hear(known_failures& into, const core::worker_failure& failure,
                      core::time_point sent, core::time_point now) {
  // No agent has seen its end: the missing end is the failure.
  if (failure.kind == core::failure_kind::unkillable)
    return;
  if (const auto i = seen_.find(failure.pid);
      i != seen_.end() && sent - failure.age != i->second)
    report("root cause: the age of a death is wrong: " + to_string(failure));
  for (auto& x : into)
    if (is_same(x.failure, failure)) {
      x.way = std::min(x.way, now - sent);
      return;
    }
  into.push_back({failure, now - sent});
}

void invariants::told(int coordinator, const core::rendezvous& before,
                      const core::rendezvous_event& event,
                      core::time_point sent, core::time_point now) {
  if (const auto* x = std::get_if<core::workers_stopped>(&event);
      x && x->unkillable_count > 0) {
    const auto i = before.agents().find(x->agent);
    if (i != before.agents().end() && i->second.holds == x->generation) {
      unkillable_.emplace(coordinator, x->agent);
      if (i->second.member_of == x->generation)
        hung_in_[coordinator] = x->generation;
      auto& list = quarantined_[coordinator];
      const auto is_it = [&](const auto& y) { return y.first == x->agent; };
      if (std::none_of(list.begin(), list.end(), is_it))
        list.emplace_back(x->agent, offers_.at(x->agent).host);
    }
  }
  if (const auto* x = std::get_if<core::agent_leaving>(&event))
    leaving_.emplace(coordinator, x->agent);
  const auto note = [&](const agent_id& agent, generation_id generation,
                        const core::worker_failure& x) {
    reported_[{coordinator, generation}].emplace(agent, x.local_rank);
  };
  if (const auto* x = std::get_if<core::workers_succeeded>(&event))
    succeeded_[{coordinator, x->generation}].insert(x->agent);
  if (const auto* x = std::get_if<core::agent_joined>(&event);
      x && x->held && x->held->state == core::share_state::succeeded)
    succeeded_[{coordinator, x->held->plan.generation}].insert(
      x->offering.agent);
  if (const auto* x = std::get_if<core::agent_joined>(&event);
      x && x->held && x->held->state == core::share_state::succeeded
      && final_generations_[x->held->plan.generation].contains(
        x->offering.agent)
      && !has_formed_.contains(coordinator))
    came_done_[coordinator].insert(x->offering.agent);
  if (const auto* x = std::get_if<core::worker_failed>(&event))
    note(x->agent, x->generation, x->failure);
  if (const auto* x = std::get_if<core::workers_stopped>(&event))
    for (const auto& other : x->others.listed)
      note(x->agent, x->generation, other);
  if (const auto* x = std::get_if<core::agent_joined>(&event);
      x && x->held && x->held->failure)
    note(x->offering.agent, x->held->plan.generation, *x->held->failure);
  for (const auto& x : failures_in(before, event))
    hear(known_failures_[{coordinator, before.generation()}], x, sent, now);
}

namespace {

/// Who misses a peer may have died of its death, which is seen a little later. Who
/// was killed may have begun to end before that was seen.
core::duration lag_of(const core::worker_failure& x) {
  return misses_peer(x) ? core::duration{core::hearsay_lag} : -x.teardown;
}

} // namespace

// The coordinator must name the first of all failures reported to it. Only the
// delay of messages may mislead it, and never about what one agent reports in
// the order in which it happens.
void invariants::check_first(int coordinator, generation_id generation,
                             const core::worker_failure& first) {
  if (first.kind == core::failure_kind::unkillable)
    return; // It did not die, but ends the job even if another did.
  const auto i = seen_.find(first.pid);
  if (i == seen_.end())
    return; // It never ran, so its time of death is unknown.
  for (const auto& x : known_failures_[{coordinator, generation}]) {
    const auto j = seen_.find(x.failure.pid);
    if (j == seen_.end())
      continue;
    if (killed_in_stop_.contains(first.pid)
        && !killed_in_stop_.contains(x.failure.pid))
      report("root cause: " + to_string(first) + " was reported, but "
             + to_string(x.failure) + " had not been stopped");
    if (first.while_stopped != x.failure.while_stopped)
      continue;
    const auto is_in_order
      = x.failure.agent == first.agent && lag_of(x.failure) == lag_of(first);
    const auto exemption = is_in_order ? core::duration{0} : x.way;
    if (i->second + lag_of(first) > j->second + lag_of(x.failure) + exemption)
      report("root cause: " + to_string(first) + " was reported, but "
             + to_string(x.failure) + " had died before");
  }
}

// -- the end ------------------------------------------------------------------

namespace {

/// Agents that could take part in a generation together.
size_t able_count(const core::rendezvous& brain) {
  auto count = size_t{0};
  auto ranks = std::set<uint32_t>{};
  for (const auto& [agent, x] : brain.agents()) {
    if (!x.connected || x.leaving || x.excluded || x.is_draining()
        || !x.offering.unfit.empty())
      continue;
    ++count;
    ranks.insert(x.offering.node_rank.value_or(0));
  }
  return brain.settings().ranked ? ranks.size() : count;
}

} // namespace

namespace {

template <class Effect>
const Effect* find_in(const std::vector<core::rendezvous_effect>& effects) {
  for (const auto& x : effects)
    if (const auto* found = std::get_if<Effect>(&x))
      return found;
  return nullptr;
}

bool is_of_operator(const core::rendezvous_event& event) {
  const auto* stop = std::get_if<core::stop_requested>(&event);
  return (stop != nullptr && !stop->by.empty())
         || std::holds_alternative<core::drain_requested>(event)
         || std::holds_alternative<core::drain_withdrawal_requested>(event)
         || std::holds_alternative<core::resize_requested>(event)
         || std::holds_alternative<core::restart_requested>(event)
         || std::holds_alternative<core::exclusion_requested>(event)
         || std::holds_alternative<core::inclusion_requested>(event)
         || std::holds_alternative<core::log_level_requested>(event)
         || std::holds_alternative<core::lead_requested>(event);
}

} // namespace

// Each request has one answer, and what it says is true.
void invariants::answered(int coordinator, const core::rendezvous_event& event,
                          const std::vector<core::rendezvous_effect>& effects,
                          core::rendezvous::phase phase_before,
                          generation_id generation_before,
                          const core::job_settings& before,
                          const core::rendezvous& after) {
  using phase = core::rendezvous::phase;
  const auto* answer = find_in<core::answer_operator>(effects);
  // It is repeated until something follows.
  const auto is_notice = std::holds_alternative<core::node_noticed>(event);
  if ((answer != nullptr) != is_of_operator(event) && !is_notice)
    return report("steering: an operator's request has no answer, or an answer"
                  " no request");
  drained_.merge(drained_meanwhile_);
  auto has_formed = false;
  for (const auto& x : effects) {
    has_formed |= std::holds_alternative<core::announce_generation>(x);
    if (const auto* y = std::get_if<core::notify_drain>(&x); y && !y->stays)
      (has_formed ? drained_meanwhile_ : drained_)
        .emplace(coordinator, y->agent);
    // Should it come back, it is a new one.
    if (const auto* y = std::get_if<core::forget_agent>(&x))
      drained_.erase({coordinator, y->agent});
  }
  const auto was_active
    = phase_before == phase::starting || phase_before == phase::running;
  const auto is_active = after.current_phase() == phase::starting
                         || after.current_phase() == phase::running;
  for (const auto& x : effects)
    if (const auto* y = std::get_if<core::report_exclusion>(&x)) {
      excluded_[coordinator].insert(y->host);
      if (was_active && !is_active && !after.result())
        ended_by_operator_.emplace(coordinator, generation_before);
    }
  const auto is_done = answer != nullptr && answer->code == errc::none;
  const auto* size = std::get_if<core::resize_requested>(&event);
  auto expected = before;
  if (is_done && size != nullptr) {
    expected.agent_count_min = size->agent_count_min;
    expected.agent_count_max = size->agent_count_max;
  }
  const auto may_recover
    = std::holds_alternative<core::agent_joined>(event)
      || std::holds_alternative<core::coordinator_started>(event)
      || std::holds_alternative<core::timer_fired>(event);
  if (after.settings() != expected && !may_recover)
    report("steering: the job's settings are not those that were asked for");
  if (answer == nullptr)
    return;
  if (was_active && !is_active && !after.result())
    ended_by_operator_.emplace(coordinator, generation_before);
  if (!is_done) {
    if (was_active && !is_active)
      report("steering: what was refused has ended a generation");
    return;
  }
  if (const auto* x = std::get_if<core::exclusion_requested>(&event))
    excluded_[coordinator].insert(x->host);
  if (const auto* x = std::get_if<core::inclusion_requested>(&event))
    excluded_[coordinator].erase(x->host);
  const auto restarts = std::holds_alternative<core::restart_requested>(event);
  if (restarts && after.generation() == generation_before
      && after.current_phase() != phase::stopping)
    report("steering: the generation goes on that was to be ended");
  if (std::holds_alternative<core::stop_requested>(event) && !after.result())
    report("steering: the job goes on that was to be stopped");
  // Whoever steers must not take the job below its minimum.
  if (was_active && !after.result()
      && (std::holds_alternative<core::drain_requested>(event)
          || std::holds_alternative<core::exclusion_requested>(event)
          || size != nullptr)
      && find_in<core::revoke_generation>(effects) != nullptr
      && candidate_count(after) < after.settings().agent_count_min)
    report("steering: too few nodes are left");
  const auto* drained = find_in<core::notify_drain>(effects);
  // A machine that goes asks for no leave.
  if (drained == nullptr || !was_active || is_notice)
    return;
  auto drained_one = after.agents().at(drained->agent);
  drained_one.drain.reset();
  if (may_be_placed(drained_one)
      && candidate_count(after) < after.settings().agent_count_min)
    report("steering: a drain leaves too few nodes");
}

void invariants::host_came(int coordinator, const std::string& host) {
  std::erase_if(quarantined_[coordinator],
                [&](const auto& x) { return x.second == host; });
}

// Operators find there each node with workers that hang, until it comes back.
void invariants::check_quarantine(int coordinator,
                                  const core::rendezvous& after) {
  const auto& listed = after.quarantined_nodes();
  if (listed.empty() && quarantined_.empty())
    return;
  const auto& real = quarantined_[coordinator];
  const auto is_same = [](const auto& x, const auto& y) {
    return x.agent == y.first && x.host == y.second && x.unkillable_count > 0;
  };
  if (!std::equal(listed.begin(), listed.end(), real.begin(), real.end(),
                  is_same))
    report("quarantine: the list of nodes with hanging workers is wrong");
}

// All failures of a generation, each once, in the order of the deaths. The time of
// a death is never before it, and later by the way of a message at most.
void invariants::explained(int coordinator, generation_id generation,
                           const core::worker_failure& first,
                           const std::vector<core::worker_failure>& others,
                           uint32_t unlisted_count, core::time_point now) {
  auto all = std::vector{first};
  all.insert(all.end(), others.begin(), others.end());
  const auto& heard = known_failures_[{coordinator, generation}];
  const auto& reported = reported_[{coordinator, generation}];
  auto seen = std::set<std::pair<agent_id, uint32_t>>{};
  for (const auto& x : all) {
    if (!reported.contains({x.agent, x.local_rank}))
      report("root cause: no agent has reported " + to_string(x));
    if (!seen.emplace(x.agent, x.local_rank).second)
      report("root cause: listed twice: " + to_string(x));
    if (const auto i = seen_.find(x.pid);
        i != seen_.end() && x.kind != core::failure_kind::unkillable) {
      const auto died = now - x.age;
      const auto known
        = std::find_if(heard.begin(), heard.end(),
                       [&](const auto& y) { return is_same(y.failure, x); });
      if (died < i->second
          || (known != heard.end() && died > i->second + known->way))
        report("root cause: the age is wrong of " + to_string(x));
    }
  }
  for (size_t i = 1; i < all.size(); ++i)
    if (std::pair{all[i].while_stopped, lag_of(all[i]) - all[i].age}
          < std::pair{all[i - 1].while_stopped,
                      lag_of(all[i - 1]) - all[i - 1].age}
        && first.kind != core::failure_kind::unkillable)
      report("root cause: failures are not listed in their order");
  if (unlisted_count > 0 && others.size() < core::other_failures_max)
    report("root cause: there is room in the list, and failures are left out");
  for (const auto& x : heard)
    if (unlisted_count == 0
        && !seen.contains({x.failure.agent, x.failure.local_rank}))
      report("root cause: not listed: " + to_string(x.failure));
}

// Who has several failures learns of them all.
void invariants::settled(int coordinator, generation_id generation,
                         bool is_explained) {
  const auto i = known_failures_.find({coordinator, generation});
  if (i != known_failures_.end() && i->second.size() > 1 && !is_explained)
    report("root cause: the failures of generation " + to_string(generation)
           + " are not put in order");
}

// All workers of a generation have succeeded, on every node that has a place there.
void invariants::check_success(int coordinator, generation_id generation) {
  const auto is_it = [&](const auto& x) { return x->number == generation; };
  const auto i
    = std::find_if(generations_.rbegin(), generations_.rend(), is_it);
  if (i == generations_.rend())
    return report("I6: a job without a generation has succeeded");
  for (const auto& [agent, plan] : (*i)->plans)
    if (!succeeded_[{coordinator, generation}].contains(agent))
      report("I6: the job has succeeded, and " + agent.value + " has not");
}

// A job fails if no restart is left or none can help, or if too few nodes are
// left beside those whose workers hang.
void invariants::check_give_up(int coordinator, const core::rendezvous& after,
                               const core::outcome& result) {
  if (result.kind != core::outcome::verdict::failed)
    return;
  const auto is_spent
    = after.budget().restart_count() >= after.settings().restart_count_max;
  const auto is_short
    = hung_in_[coordinator] == after.generation()
      && candidate_count(after) < after.settings().agent_count_min;
  if (!is_spent && !is_short && result.given_up.empty()
      && !is_permanent(*result.first_failure))
    report("I5: the job was given up with restarts left");
}

void invariants::charged(int coordinator, generation_id generation) {
  charged_[coordinator] = generation;
}

void invariants::ended_before(int coordinator, const core::outcome& result) {
  const auto is_it = [&](const auto& x) { return x.second == result; };
  if (std::ranges::none_of(outcomes_, is_it))
    report("rule 7: a coordinator ends the job in another way than the one "
           "before");
  outcomes_.emplace(coordinator, result);
}

void invariants::ended(int coordinator, const core::rendezvous& after,
                       const core::outcome& result, core::time_point now) {
  // A check of its node may have been awaited while others went on.
  const auto charged = charged_[coordinator];
  const auto& heard = known_failures_[{coordinator, charged}];
  const auto is_charged
    = result.first_failure && std::ranges::any_of(heard, [&](const auto& x) {
        return is_same(x.failure, *result.first_failure)
               && x.failure.pid == result.first_failure->pid;
      });
  const auto generation = is_charged ? charged : after.generation();
  if (result.kind == core::outcome::verdict::unmet
      && result.reason.find("nothing shows") == std::string::npos
      && able_count(after) >= after.settings().agent_count_min)
    report("I8: a job with enough nodes ended for want of nodes");
  if (result.kind == core::outcome::verdict::succeeded) {
    check_success(coordinator, generation);
    for (const auto& [agent, x] : succeeded_)
      if (agent.second == generation)
        final_generations_[generation].insert(x.begin(), x.end());
  }
  const auto [i, first] = outcomes_.emplace(coordinator, result);
  if (first && result.first_failure) {
    check_give_up(coordinator, after, result);
    explained(coordinator, generation, *result.first_failure,
              result.other_failures, result.unlisted_failure_count, now);
  }
  if (!first && i->second != result)
    report("I6: the job ended twice");
  if (result.first_failure) {
    attributed(*result.first_failure);
    check_first(coordinator, generation, *result.first_failure);
  }
  for (const auto& x : result.other_failures)
    attributed(x);
  if (result.first_failure
      && result.first_failure->kind != core::failure_kind::unkillable
      && missed_a_peer_.contains(result.first_failure->pid))
    report("I5: the death of an agent ended the job as a failure");
  if ((result.kind == core::outcome::verdict::failed)
      != (result.first_failure.has_value() || !result.given_up.empty()))
    report("I6: an outcome and its cause do not fit");
}

// -- the agents ---------------------------------------------------------------

invariants::generation_record*
invariants::find(const core::generation_plan& plan) {
  for (auto i = generations_.rbegin(); i != generations_.rend(); ++i) {
    const auto own = (*i)->plans.find(plan.own.agent);
    if (own != (*i)->plans.end() && own->second == plan)
      return i->get();
  }
  return nullptr;
}

void invariants::came_to_step(generation_id generation, uint64_t step) {
  for (const auto& x : generations_)
    if (x->number == generation)
      for (const auto& [rank, next] : x->steps)
        if (next != step)
          report("safe point: rank " + std::to_string(rank) + " of generation "
                 + to_string(generation) + " is at step " + std::to_string(next)
                 + ", the others wait at step " + std::to_string(step));
}

invariants::generation_record*
invariants::begun(const core::generation_plan& plan) {
  auto* record = find(plan);
  if (record == nullptr) {
    report("I1: " + plan.own.agent.value + " begins generation "
           + to_string(plan.generation) + ", which no coordinator has formed");
    return nullptr;
  }
  auto& newest = begun_[plan.own.agent];
  if (plan.generation <= newest)
    report("I4: " + plan.own.agent.value + " begins generation "
           + to_string(plan.generation) + " after generation "
           + to_string(newest));
  else if (number_of(plan.generation) <= number_of(newest))
    report("P8: " + plan.own.agent.value + " begins generation "
           + to_string(plan.generation) + " after generation "
           + to_string(newest) + " of an earlier term");
  newest = plan.generation;
  return record;
}

void invariants::finished(const agent_id& agent, const core::ending& how) {
  if (!how.result)
    return;
  const auto said = [&](const auto& x) { return x.second == *how.result; };
  if (std::none_of(outcomes_.begin(), outcomes_.end(), said))
    report("I6: " + agent.value + " finished with an outcome of its own");
}

void invariants::told_end(const agent_id& agent, const core::outcome& result) {
  if (told_ && *told_ != result)
    report("S5: " + agent.value + " is told that the job has ended otherwise");
  told_ = result;
}

void invariants::attributed(const core::worker_failure& failure) {
  if (failure.kind != core::failure_kind::unkillable && failure.pid != 0
      && ordered_deaths_.contains(failure.pid))
    report("I9: a death that we ordered was called a failure: "
           + to_string(failure));
}

// -- the workers --------------------------------------------------------------

void invariants::born(generation_record& generation) {
  ++generation.running_count;
  went_on(generation);
}

void invariants::went_on(generation_record& generation) {
  if (generation.running_count == 0)
    return;
  running_.insert(&generation);
  if (running_.size() > 1)
    report("I2: workers of generation " + to_string((*running_.begin())->number)
           + " and of generation " + to_string((*running_.rbegin())->number)
           + " run at the same time");
}

void invariants::died(generation_record& generation, int64_t pid,
                      bool ordered) {
  if (ordered)
    ordered_deaths_.insert(pid);
  stood_still(generation);
}

void invariants::died_parked(int64_t pid, bool ordered) {
  if (ordered)
    ordered_deaths_.insert(pid);
}

void invariants::took_part(const core::generation_plan& plan, uint32_t slot,
                           generation_id last) {
  const auto rank = plan.own.global_rank(slot);
  if (last.value == 0 && core::contains(plan.survivors, rank))
    report("survivors: rank " + std::to_string(rank) + " of generation "
           + to_string(plan.generation) + " was started for it");
  if (last.value != 0 && core::contains(plan.survivors, rank)
      && last_of_survivors_.emplace(plan.generation, last).first->second
           != last)
    report("survivors: those of generation " + to_string(plan.generation)
           + " come from two generations");
  if (last >= plan.generation)
    report("I4: a worker of generation " + to_string(last)
           + " begins generation " + to_string(plan.generation));
}

void invariants::stood_still(generation_record& generation) {
  if (--generation.running_count == 0)
    running_.erase(&generation);
}

} // namespace actorrun::sim
