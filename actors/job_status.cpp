#include "actors/job_status.hpp"

#include "actors/core/journal/node_state.hpp"
#include "actors/core/journal/story.hpp"
#include "actors/core/journal/time_account.hpp"
#include "actors/core/text.hpp"
#include "actors/status_pages.hpp"
#include "actors/translate.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace actorrun {

namespace {

using namespace core;
using core::journal::node_entry;
using core::journal::snapshot;

/// In bytes, of texts that say why.
constexpr size_t shown_reason_size_max = 200;

/// Likewise, with the names of a host and an operator.
constexpr size_t exclusion_size_max = 320;

/// In place of the texts of old generations.
constexpr auto untold = "-";

std::string reason(const std::string& text) {
  return one_line(text, shown_reason_size_max);
}

void add_checks(v1::AgentStatus& out, const node_entry& x, time_point now) {
  const auto& unfit = x.now->unfit;
  out.set_checks(
    !unfit ? (x.now->has_checks ? v1::CHECK_STATE_GOOD : v1::CHECK_STATE_NONE)
    : *unfit == being_checked ? v1::CHECK_STATE_RUNNING
                              : v1::CHECK_STATE_FAILED);
  if (unfit)
    out.set_unfit(reason(*unfit));
  if (x.unfit_since)
    out.set_unfit_age_ms(to_ms(now - x.unfit_since->when));
}

v1::AgentStatus to_status(const node_entry& x, const snapshot& job,
                          time_point now) {
  const auto& known = *x.now;
  const auto* newest = job.newest_generation();
  auto out = v1::AgentStatus{};
  out.set_agent_id(known.agent.value);
  out.set_host(known.host);
  out.set_address(known.address);
  out.set_role(known.role);
  out.set_slot_count(known.slot_count);
  out.set_connected(known.connected);
  out.set_leaving(known.leaving);
  if (known.drained_at)
    out.set_drain_left_ms(to_ms(*known.drained_at - now));
  if (known.waits_to_drain)
    out.set_drain_asked_age_ms(to_ms(now - known.waits_to_drain->asked));
  if (newest != nullptr && known.generation == newest->formed.generation) {
    out.set_generation(known.generation.value);
    out.set_node_rank(known.node_rank);
    out.set_first_global_rank(known.first_rank);
    out.set_lead_slot(known.lead_slot);
    out.set_share(to_wire(known.share));
  }
  out.mutable_pids()->Assign(known.pids.begin(), known.pids.end());
  out.set_state(state_of(x, job));
  out.set_reason(reason_of(x, job));
  out.set_since_ms(to_ms(now - x.since.when));
  out.set_generation_count(x.generation_count);
  add_checks(out, x, now);
  const auto failed
    = std::ranges::find(job.failures, known.host, &failing_host::host);
  if (failed != job.failures.end())
    out.set_host_failure_count(failed->failure_count);
  return out;
}

v1::GenerationStatus to_status(const snapshot& job, size_t index,
                               time_point now) {
  const auto& x = job.generations[index];
  const auto has_texts = job.generations.size() - index <= generations_told_max;
  auto out = v1::GenerationStatus{};
  out.set_generation(x.formed.generation.value);
  out.set_node_count(x.formed.node_count);
  out.set_world_size(x.formed.world_size);
  if (!x.formed.reason.empty())
    out.set_reason(has_texts ? reason(x.formed.reason) : untold);
  out.set_age_ms(to_ms(now - x.formed_at.when));
  if (x.running_at)
    out.set_running_age_ms(to_ms(now - x.running_at->when));
  if (x.revoked_at)
    out.set_revoked_age_ms(to_ms(now - x.revoked_at->when));
  if (const auto time = regroup_time(job, index))
    out.set_regroup_us(static_cast<uint64_t>(std::max<int64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(*time).count(),
      0)));
  if (x.revoked_at || x.stopped_at) {
    const auto why = x.cause        ? to_string(*x.cause)
                     : x.revoked_at ? x.end_reason
                                    : "all its workers exited with 0";
    out.set_end_reason(has_texts ? reason(why) : untold);
  }
  out.set_cost_restart(x.restart_count > x.formed.restart_count);
  return out;
}

// All of them would fill the message.
outcome without_others(outcome x) {
  x.unlisted_failure_count += uint32_t(x.other_failures.size());
  x.other_failures.clear();
  return x;
}

void add_wait(v1::JobStatus& out, const snapshot& x, time_point now) {
  if (x.waiting_for.empty())
    return;
  out.set_waiting_for(x.waiting_for);
  out.set_waiting_age_ms(to_ms(now - x.waiting_since.when));
  if (x.waiting_until)
    out.set_waiting_left_ms(to_ms(*x.waiting_until - now));
}

void add_history(v1::JobStatus& out, const snapshot& x, time_point now) {
  for (size_t i = 0; i < x.generations.size(); ++i)
    *out.add_generations() = to_status(x, i, now);
  const auto skipped
    = x.departures.size() - std::min(x.departures.size(), departures_told_max);
  for (auto i = skipped; i < x.departures.size(); ++i) {
    const auto& gone = x.departures[i];
    auto& entry = *out.add_departed_nodes();
    entry.set_agent_id(reason(gone.last.agent.value));
    entry.set_host(reason(gone.last.host));
    entry.set_reason(reason(gone.reason));
    entry.set_age_ms(to_ms(now - gone.at.when));
    entry.set_node_rank(gone.last.node_rank);
  }
}

void add_time(v1::JobStatus& out, const snapshot& x, time_point now) {
  const auto all = core::journal::account_of(x, now).all;
  for (size_t i = 0; i < core::journal::time_cause_count; ++i) {
    if (all.node_us[i] == 0)
      continue;
    auto& entry = *out.add_time();
    entry.set_cause(to_string(core::journal::time_cause(i)));
    entry.set_worker_us(all.worker_us[i]);
    entry.set_node_us(all.node_us[i]);
  }
}

v1::Leadership to_status(const core::journal::leadership_entry& x,
                         time_point now) {
  auto out = v1::Leadership{};
  out.set_leader(reason(x.chosen.agent.value));
  out.set_term(x.term);
  out.set_by(core::to_string(x.chosen.by));
  for (const auto& who : x.voters)
    out.add_voters(reason(who.value));
  for (const auto& who : x.deputies)
    out.add_deputies(reason(who.value));
  out.set_age_ms(to_ms(now - x.at.when));
  out.set_reason(reason(core::to_string(x.chosen.change(), x.chosen.agent)));
  return out;
}

} // namespace

status_room::status_room(const v1::JobStatus& x)
  : size_(x.ByteSizeLong()), part_count_(part_count_of(x)) {}

bool status_room::take(size_t size, size_t count) {
  size_ += size + status_overhead;
  part_count_ += count;
  return size_ <= status_size_max && part_count_ <= status_part_count_max;
}

core::journal::moment moment_of(time_point now) {
  using namespace std::chrono;
  const auto wall = floor<milliseconds>(system_clock::now());
  return {now, wall.time_since_epoch().count()};
}

v1::JobStatus status_of(const snapshot& x, core::journal::moment now) {
  auto out = v1::JobStatus{};
  out.set_job_id(x.coordinator.job.value);
  out.set_phase(to_string(x.phase));
  *out.mutable_settings() = to_wire(x.coordinator.settings);
  out.set_restart_count(x.restart_count);
  out.set_coordinator_pid(x.coordinator.pid);
  out.set_coordinator_host(x.coordinator.host);
  if (const auto* newest = x.newest_generation()) {
    out.set_generation(newest->formed.generation.value);
    out.set_world_size(newest->formed.world_size);
    out.set_master_address(newest->formed.master_address);
    out.set_master_port(newest->formed.master_port);
  }
  if (const auto* failure = last_failure_of(x))
    *out.mutable_last_failure() = to_wire(*failure);
  if (x.result)
    *out.mutable_outcome() = to_wire(without_others(*x.result));
  for (const auto& node : x.quarantined)
    *out.add_quarantined_nodes() = to_wire(node);
  for (const auto& host : x.excluded) {
    auto& entry = *out.add_excluded_hosts();
    entry.set_host(reason(host.host));
    entry.set_reason(one_line(to_string(host), exclusion_size_max));
    entry.set_age_ms(to_ms(now.when - host.since));
  }
  out.set_sequence(x.number);
  out.set_age_ms(to_ms(now.when - x.began.when));
  out.set_phase_age_ms(to_ms(now.when - x.phase_since.when));
  out.set_is_healthy(is_healthy(x));
  out.set_wall_ms(now.wall_ms);
  if (x.leadership)
    *out.mutable_leadership() = to_status(*x.leadership, now.when);
  if (x.hang) {
    out.set_hang(reason(x.hang->text));
    out.set_hang_age_ms(to_ms(now.when - x.hang->since));
  }
  add_wait(out, x, now.when);
  add_history(out, x, now.when);
  add_time(out, x, now.when);
  auto room = status_room{out};
  for (const auto& [id, entry] : x.nodes) {
    auto agent = to_status(entry, x, now.when);
    if (!room.take(agent.ByteSizeLong())) {
      out.set_truncated(true);
      break;
    }
    *out.add_agents() = std::move(agent);
  }
  return out;
}

uint32_t global_rank(const v1::AgentStatus& x, uint32_t local_rank) {
  auto place = core::placement{};
  place.first_global_rank = x.first_global_rank();
  place.lead_slot = x.lead_slot();
  return place.global_rank(local_rank);
}

void forget_ages(v1::JobStatus& x) {
  x.clear_age_ms();
  x.clear_phase_age_ms();
  x.clear_waiting_age_ms();
  x.clear_waiting_left_ms();
  x.clear_hang_age_ms();
  x.clear_wall_ms();
  x.clear_time();
  if (x.has_leadership())
    x.mutable_leadership()->clear_age_ms();
  for (auto& generation : *x.mutable_generations()) {
    generation.clear_age_ms();
    generation.clear_running_age_ms();
    generation.clear_revoked_age_ms();
  }
  for (auto& node : *x.mutable_departed_nodes())
    node.clear_age_ms();
  for (auto& host : *x.mutable_excluded_hosts())
    host.clear_age_ms();
  for (auto& agent : *x.mutable_agents()) {
    agent.clear_since_ms();
    agent.clear_lease_age_ms();
    agent.clear_drain_left_ms();
    agent.clear_drain_asked_age_ms();
    agent.clear_unfit_age_ms();
    if (!agent.has_vitals())
      continue;
    agent.mutable_vitals()->clear_age_ms();
    for (auto& worker : *agent.mutable_vitals()->mutable_workers()) {
      worker.clear_age_ms();
      worker.clear_output_age_ms();
      worker.clear_timer_age_ms();
    }
  }
}

} // namespace actorrun
