#include "tests/sim/history.hpp"

#include <cstdio>

namespace actorrun::sim {

void history::add(core::time_point now, const std::string& who,
                  const std::string& what) {
  if (!on())
    return;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
                    now.time_since_epoch())
                    .count();
  char time[32];
  std::snprintf(time, sizeof time, "%6lld.%03lld ", (long long)(us / 1000),
                (long long)(us % 1000));
  auto line = time + who + ": " + what;
  if (mode_ == mode::everything) {
    std::puts(line.c_str());
    std::fflush(stdout); // An assertion may fail next.
    return;
  }
  lines_.push_back(std::move(line));
  if (lines_.size() > line_count_max)
    lines_.pop_front();
}

std::string history::text() const {
  auto text = std::string{};
  for (const auto& line : lines_)
    text += line + "\n";
  return text;
}

namespace {

using core::to_string;
using std::string;

string in(generation_id generation) {
  return " " + to_string(generation);
}

string text_of(const core::collateral& others) {
  return others.empty() ? "" : " +" + std::to_string(others.count());
}

string text_of(const std::optional<core::claim>& held) {
  return held ? ", has " + to_string(held->plan.generation) + " "
                  + to_string(held->state)
              : string{};
}

struct event_writer {
  string operator()(const core::timer_fired& x) const {
    return "timer_fired " + to_string(x.timer);
  }

  // membership
  string operator()(const core::agent_started&) const {
    return "agent_started";
  }
  string operator()(const core::coordinator_found&) const {
    return "coordinator_found";
  }
  string operator()(const core::coordinator_not_found& x) const {
    return "coordinator_not_found " + string{to_string(x.why.code)};
  }
  string operator()(const core::coordinator_disconnected&) const {
    return "coordinator_disconnected";
  }
  string operator()(const core::second_way_found&) const {
    return "second_way_found";
  }
  string operator()(const core::join_accepted&) const {
    return "join_accepted";
  }
  string operator()(const core::join_rejected& x) const {
    return "join_rejected " + string{to_string(x.why.code)};
  }
  string operator()(const core::control_checked&) const {
    return "control_checked";
  }
  string operator()(const core::lease_granted&) const {
    return "lease_granted";
  }
  string operator()(const core::fence_fired& x) const {
    return "fence_fired" + in(x.generation);
  }
  string operator()(const core::generation_formed& x) const {
    return "generation_formed" + in(x.plan.generation);
  }
  string operator()(const core::charter_changed& x) const {
    return "charter_changed " + std::to_string(x.job.revision);
  }
  string operator()(const core::generation_revoked& x) const {
    return "generation_revoked" + in(x.generation);
  }
  string operator()(const core::job_ended& x) const {
    return "job_ended " + to_string(x.result.kind);
  }
  string operator()(const core::group_started& x) const {
    return "group_started" + in(x.generation);
  }
  string operator()(const core::group_failed& x) const {
    return "group_failed" + in(x.generation) + " " + to_string(x.failure);
  }
  string operator()(const core::group_succeeded& x) const {
    return "group_succeeded" + in(x.generation);
  }
  string operator()(const core::group_stopped& x) const {
    return "group_stopped" + in(x.generation) + text_of(x.others);
  }
  string operator()(const core::group_safe_point& x) const {
    return "group_safe_point " + to_string(x.report) + in(x.generation);
  }
  string operator()(const core::safe_point_ordered& x) const {
    return "safe_point_ordered " + to_string(x.order) + in(x.generation);
  }
  string operator()(const core::start_ahead_ordered& x) const {
    return "start_ahead_ordered" + in(x.generation);
  }
  string operator()(const core::group_parked& x) const {
    return "group_parked" + in(x.generation);
  }
  string operator()(const core::leave_requested& x) const {
    return "leave_requested " + std::to_string(x.signal);
  }
  string operator()(const core::drain_ordered&) const {
    return "drain_ordered";
  }
  string operator()(const core::notice_received&) const {
    return "notice_received";
  }
  string operator()(const core::limit_near&) const { return "limit_near"; }

  // rendezvous
  string operator()(const core::coordinator_started& x) const {
    return x.successor ? "successor started" : "coordinator_started";
  }
  string operator()(const core::agent_joined& x) const {
    return "agent_joined " + x.offering.agent.value + text_of(x.held);
  }
  string operator()(const core::member_ended& x) const {
    return "member_ended " + to_string(x.agent);
  }

  string operator()(const core::outcome_written&) const {
    return "outcome_written";
  }
  string operator()(const core::leases_renewed& x) const {
    auto text = string{"leases_renewed"};
    for (const auto& renewal : x.renewals)
      text += " " + renewal.agent.value;
    return text;
  }
  string operator()(const core::agent_disconnected& x) const {
    return "agent_disconnected " + x.agent.value;
  }
  string operator()(const core::agent_lost& x) const {
    return "agent_lost " + x.agent.value + " (" + x.evidence + ")";
  }
  string operator()(const core::fitness_reported& x) const {
    return "fitness_reported " + x.agent.value
           + (x.unfit.empty() ? ": fit" : ": " + x.unfit);
  }
  string operator()(const core::gpus_reported& x) const {
    return "gpus_reported " + x.agent.value + ": " + x.trouble;
  }
  string operator()(const core::agent_leaving& x) const {
    return "agent_leaving " + x.agent.value;
  }
  string operator()(const core::agent_left& x) const {
    return "agent_left " + x.agent.value;
  }
  string operator()(const core::workers_started& x) const {
    return "workers_started " + x.agent.value + in(x.generation);
  }
  string operator()(const core::worker_failed& x) const {
    return "worker_failed " + x.agent.value + in(x.generation) + " "
           + to_string(x.failure);
  }
  string operator()(const core::workers_succeeded& x) const {
    return "workers_succeeded " + x.agent.value + in(x.generation);
  }
  string operator()(const core::safe_point_reported& x) const {
    return "safe_point_reported " + x.agent.value + " " + to_string(x.report)
           + in(x.generation);
  }
  string operator()(const core::workers_stopped& x) const {
    return "workers_stopped " + x.agent.value + in(x.generation)
           + text_of(x.others);
  }
  string operator()(const core::drain_withdrawal_requested& x) const {
    return "drain_withdrawal_requested " + x.node;
  }
  string operator()(const core::drain_requested& x) const {
    return "drain_requested " + x.node + (x.waits ? " (waits)" : "");
  }
  string operator()(const core::resize_requested& x) const {
    return "resize_requested " + std::to_string(x.agent_count_min) + ":"
           + std::to_string(x.agent_count_max);
  }
  string operator()(const core::restart_requested&) const {
    return "restart_requested";
  }
  string operator()(const core::exclusion_requested& x) const {
    return "exclusion_requested " + x.host;
  }
  string operator()(const core::log_level_requested& x) const {
    return "log_level_requested " + x.level;
  }
  string operator()(const core::node_noticed& x) const {
    return "node_noticed " + x.agent.value;
  }
  string operator()(const core::lead_requested& x) const {
    return "lead_requested " + x.node;
  }
  string operator()(const core::inclusion_requested& x) const {
    return "inclusion_requested " + x.host;
  }
  string operator()(const core::stop_requested& x) const {
    return "stop_requested " + std::to_string(x.signal);
  }
};

} // namespace

std::string to_string(const core::membership_event& x) {
  return std::visit(event_writer{}, x);
}

std::string to_string(const core::rendezvous_event& x) {
  return std::visit(event_writer{}, x);
}

} // namespace actorrun::sim
