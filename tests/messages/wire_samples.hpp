// One message of every wire type, with a value in every field. Each type of the
// block needs a `fill` here; without it the tests do not compile.
#pragma once

#include "messages/type_ids.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace actorrun::test {

inline void fill(v1::DeathDetails& x) {
  x.set_wall_ms(1'700'000'000'000);
  x.set_out_of_memory(true);
  x.set_subject("/bin/none");
  x.set_error_file("/logs/error.json");
  x.set_message("what a worker wrote \xff"); // No UTF-8.
  x.set_traceback(std::string{"\0\n\xc3", 3});
  x.set_is_from_stderr(true);
  x.set_limit_ns(500'000'000);
}

inline void fill(v1::WorkerFailure& x) {
  x.set_agent_id("a");
  x.set_host("node-a");
  x.set_global_rank(9);
  x.set_local_rank(1);
  x.set_pid(4711);
  x.set_kind(v1::FAILURE_SIGNALLED);
  x.set_code(11);
  x.set_dumped(true);
  x.set_age_ns(INT64_MAX);
  fill(*x.mutable_details());
}

inline void fill(v1::Collateral& x) {
  fill(*x.add_listed());
  fill(*x.add_listed());
  x.set_unlisted_count(7);
}

inline void fill(v1::GenerationPlan& x) {
  x.set_generation(UINT64_MAX);
  x.set_agent_id("a");
  x.set_node_rank(1);
  x.set_slot_count(2);
  x.set_first_global_rank(3);
  x.set_first_role_rank(4);
  x.set_role_world_size(5);
  x.set_node_count(6);
  x.set_world_size(7);
  x.set_master_address("10.0.0.1");
  x.set_master_port(29'500);
  x.set_restart_count(8);
}

inline void fill(v1::Settings& x) {
  x.set_agent_count_min(2);
  x.set_agent_count_max(8);
  x.set_restart_count_max(3);
  x.set_ranked(true);
  x.set_lease_ms(1'200);
}

inline void fill(v1::Outcome& x) {
  x.set_verdict(v1::VERDICT_FAILED);
  fill(*x.mutable_first_failure());
  x.set_signal(15);
  x.set_reason("why");
  fill(*x.mutable_others());
  x.set_end_class(v1::END_NODE);
  x.set_given_up("--on-failure=node:stop");
  x.set_is_without_progress(true);
}

inline void fill(v1::EndCount& x) {
  x.set_end_class("node");
  x.set_count(2);
}

inline void fill(v1::Offer& x) {
  x.set_agent_id("a");
  x.set_host("node-a");
  x.set_address("10.0.0.1");
  x.set_role("default");
  x.set_slot_count(2);
  x.set_master_port(29'500);
  x.set_liveness_port(7'000);
  x.set_node_rank(0);
  x.set_voter_port(41'000);
}

inline void fill(v1::Charter& x) {
  x.set_revision(5);
  fill(*x.mutable_settings());
  x.set_resized(true);
  x.set_restart_count(1);
  auto& host = *x.add_excluded();
  host.set_host("n2");
  host.set_reason("bad disk");
  host.set_by("alice");
  x.set_lease_ms(1'200);
  x.set_newest_generation(7);
  x.set_charged_generation(6);
}

inline void fill(v1::CharterChanged& x) {
  fill(*x.mutable_charter());
}

inline void fill(v1::VotersChanged& x) {
  auto& voter = *x.add_voters();
  voter.set_agent_id("a");
  voter.set_address("10.0.0.1:41000");
  x.set_voter_count(3);
}

inline void fill(v1::Claim& x) {
  fill(*x.mutable_plan());
  x.set_state(v1::SHARE_FAILED);
  fill(*x.mutable_failure());
  x.add_pids(100);
  x.add_pids(-1);
  x.set_drain_left_ms(1'500);
  x.set_notice("spot");
}

inline void fill(v1::JoinRequest& x) {
  fill(*x.mutable_offer());
  fill(*x.mutable_settings());
  fill(*x.mutable_claim());
  fill(*x.mutable_charter());
}

inline void fill(v1::JoinAccepted& x) {
  x.set_keep_alive_interval_ns(300'000'000);
  x.set_fence_ns(900'000'000);
  x.set_waiting_for("waiting for 1 more node");
  fill(*x.mutable_charter());
  x.set_coordinator_host("n1");
  x.set_coordinator_pid(4711);
  x.set_age_ns(40'000'000);
}

inline void fill(v1::JoinRejected& x) {
  x.set_code(12);
  x.set_text("the job runs with other settings");
}

inline void fill(v1::KeepAlive& x) {
  x.set_agent_id("a");
  x.set_sent_ns(INT64_MAX);
}

inline void fill(v1::LeaseGranted& x) {
  x.set_sent_ns(INT64_MIN);
  x.set_age_ns(UINT64_MAX);
}

inline void fill(v1::GenerationFormed& x) {
  fill(*x.mutable_plan());
  x.set_reason("agent b left");
  fill(*x.mutable_charter());
}

inline void fill(v1::GenerationRevoked& x) {
  x.set_generation(7);
  x.set_reason("agent b left");
  fill(*x.mutable_failure());
}

inline void fill(v1::LeaveNotice& x) {
  x.set_agent_id("a");
  x.set_signal(15);
  x.set_done(true);
}

inline void fill(v1::NodeNotice& x) {
  x.set_agent_id("a");
  x.set_words("spot: terminate at 12:02");
}

inline void fill(v1::WorkersStarted& x) {
  x.set_agent_id("a");
  x.set_generation(7);
  x.add_pids(100);
  x.add_pids(101);
}

inline void fill(v1::WorkerFailed& x) {
  x.set_agent_id("a");
  x.set_generation(7);
  fill(*x.mutable_failure());
}

inline void fill(v1::WorkersSucceeded& x) {
  x.set_agent_id("a");
  x.set_generation(7);
}

inline void fill(v1::WorkersStopped& x) {
  x.set_agent_id("a");
  x.set_generation(7);
  x.set_master_port(29'501);
  fill(*x.mutable_others());
  x.set_step(17);
}

inline void fill(v1::JobEnded& x) {
  fill(*x.mutable_outcome());
}

inline void fill(v1::StatusRequest&) {}

inline void fill(v1::GpuStatus& x) {
  x.set_index(1);
  x.set_name("NVIDIA H200");
  x.set_uuid("GPU-0f");
  x.set_memory_used(1);
  x.set_memory_total(UINT64_MAX);
  x.set_utilisation(0);
  x.set_temperature(54);
  x.set_trouble("XID 79");
}

inline void fill(v1::WorkerVitals& x) {
  x.set_local_rank(1);
  x.set_pid(100);
  x.set_age_ms(0);
  x.set_cpu_percent(101);
  x.set_memory(UINT64_MAX);
  x.set_thread_count(3);
  x.set_process_count(2);
  x.set_state('S');
  x.set_output_size(0);
  x.set_output_age_ms(12);
  x.set_timer_scope("step");
  x.set_timer_age_ms(0);
}

inline void fill(v1::NodeVitals& x) {
  x.set_load_1_percent(0);
  x.set_load_5_percent(100);
  x.set_load_15_percent(UINT32_MAX);
  x.set_cpu_count(64);
  x.set_memory_total(UINT64_MAX);
  x.set_memory_available(0);
  fill(*x.add_workers());
  fill(*x.add_workers());
  x.set_truncated(true);
  x.set_age_ms(7);
}

inline void fill(v1::NodeStatusRequest& x) {
  x.set_request(1);
}

inline void fill(v1::NodeStatus& x) {
  x.set_agent_id("a");
  fill(*x.add_gpus());
  fill(*x.add_gpus());
  x.set_gpu_trouble("driver not loaded");
  fill(*x.mutable_vitals());
  x.set_request(UINT64_MAX);
}

inline void fill(v1::NodeFitness& x) {
  x.set_agent_id("a");
  x.set_unfit("its check `nvidia-smi` has failed (exit code 9): no devices");
}

inline void fill(v1::CheckOrder& x) {
  x.set_beside(true);
}

inline void fill(v1::WorkersSilent& x) {
  x.set_agent_id("a");
  x.set_generation(7);
  x.set_silent_ns(300'000'000'000);
  x.set_can_tell(true);
  x.set_limit_ns(299'000'000'000);
  x.set_ends(true);
}

inline void fill(v1::WorkerPaces& x) {
  x.set_agent_id("a");
  x.set_generation(7);
  auto& worker = *x.add_workers();
  worker.set_rank(5);
  worker.set_compute_ns(121'000'000);
  worker.set_least_ns(119'000'000);
  x.set_distance(6);
  x.set_windows(5);
  x.set_action(v1::STRAGGLER_DRAIN);
}

inline void fill(v1::WorkersSaved& x) {
  x.set_agent_id("a");
  x.set_generation(7);
  x.set_saving_ns(12'000'000'000);
  x.set_age_ns(61'000'000'000);
  x.set_saving_since_ns(3'000'000'000);
}

inline void fill(v1::EndHungWorker& x) {
  x.set_generation(7);
  x.set_local_rank(1);
  x.set_silent_ns(300'000'000'000);
  x.set_limit_ns(299'000'000'000);
  x.set_where("rank 2 is the odd one out");
}

inline void fill(v1::DrainNotice& x) {
  x.set_deadline_ms(30'000);
  x.set_reason("an operator drains the node");
  x.set_at_safe_point(true);
  x.set_stays(true);
}

inline void fill(v1::SafePointOrder& x) {
  x.set_generation(7);
  x.set_action(v1::SAFE_POINT_STOP_AT);
  x.set_step(UINT64_MAX);
  x.set_reason("1 more joined");
  x.set_round(3);
}

inline void fill(v1::StartAhead& x) {
  x.set_generation(UINT64_MAX);
  x.set_restart_count(3);
}

inline void fill(v1::SafePointReport& x) {
  x.set_agent_id("a");
  x.set_generation(7);
  x.set_state(v1::SAFE_POINT_HELD);
  x.set_step(UINT64_MAX);
  x.set_round(3);
  x.set_left_ms(2'000);
}

inline void fill(v1::LogLevelOrder& x) {
  x.set_level("debug");
}

inline void fill(v1::LogSelection& x) {
  x.add_ranks(0);
  x.add_ranks(7);
  x.set_outputs(v1::LOG_OUTPUTS_ERR);
  x.set_previous(true);
  x.set_follow(true);
  x.set_since_ms(1'700'000'000'000);
  x.set_tail(0);
  x.set_grep("^loss");
  x.set_generation(3);
}

inline void fill(v1::LogReading& x) {
  x.set_reading(1);
  fill(*x.mutable_what());
  x.set_credit(65'536);
}

inline void fill(v1::LogCredit& x) {
  x.set_reading(1);
  x.set_size(1'024);
}

inline void fill(v1::LogLine& x) {
  x.set_rank(9);
  x.set_generation(7);
  x.set_is_err(true);
  x.set_text("what a worker wrote \xff"); // No UTF-8.
  x.set_truncated(true);
  x.set_wall_ms(1'700'000'000'000);
  x.set_host("node-a");
}

inline void fill(v1::LogChunk& x) {
  x.set_agent_id("a");
  x.set_reading(1);
  fill(*x.add_lines());
  fill(*x.add_lines());
  x.set_trouble("lines are missing");
  x.set_is_end(true);
}

inline void fill(v1::StacksRequest& x) {
  x.set_request(UINT64_MAX);
  x.add_ranks(3);
}

inline void fill(v1::WorkerStack& x) {
  x.set_rank(9);
  x.set_local_rank(1);
  x.set_pid(100);
  x.set_host("node-a");
  x.set_source("kernel");
  x.add_frames("futex_wait");
  x.set_trouble("not allowed");
  x.set_behind("rank 9 is behind");
}

inline void fill(v1::StacksReport& x) {
  x.set_agent_id("a");
  x.set_request(1);
  fill(*x.add_workers());
  x.set_truncated(true);
}

inline void fill(v1::DepartedNode& x) {
  x.set_agent_id("b");
  x.set_host("node-b");
  x.set_reason("its lease has expired");
  x.set_age_ms(12);
  x.set_node_rank(1);
}

inline void fill(v1::GenerationStatus& x) {
  x.set_generation(7);
  x.set_node_count(2);
  x.set_world_size(4);
  x.set_reason("node-b was lost");
  x.set_age_ms(100);
  x.set_running_age_ms(90);
  x.set_revoked_age_ms(0);
  x.set_regroup_us(12'345);
  x.set_end_reason("rank 2 exited with 7");
  x.set_cost_restart(true);
  x.set_end_class("program");
  x.set_end_evidence("exit code 7");
}

inline void fill(v1::TimeSpent& x) {
  x.set_cause("training");
  x.set_worker_us(2'000'000);
  x.set_node_us(1'000'000);
}

inline void fill(v1::ExcludedHost& x) {
  x.set_host("node-c");
  x.set_reason("bad memory");
  x.set_age_ms(5);
}

inline void fill(v1::AgentStatus& x) {
  x.set_agent_id("a");
  x.set_host("node-a");
  x.set_address("10.0.0.1");
  x.set_role("default");
  x.set_slot_count(2);
  x.set_connected(true);
  x.set_leaving(true);
  x.set_generation(7);
  x.set_node_rank(1);
  x.set_first_global_rank(2);
  x.set_share(v1::SHARE_RUNNING);
  x.add_pids(100);
  fill(*x.add_gpus());
  x.set_gpu_trouble("driver not loaded");
  fill(*x.mutable_vitals());
  x.set_state("running");
  x.set_reason("drained");
  x.set_since_ms(10);
  x.set_lease_age_ms(30);
  x.set_drain_left_ms(2'000);
  x.set_drain_asked_age_ms(12'000);
  x.set_checks(v1::CHECK_STATE_FAILED);
  x.set_unfit_age_ms(41'000);
  x.set_generation_count(3);
  x.set_host_failure_count(2);
  x.set_unfit("its check `gpu` has failed (exit code 1): GPU is lost");
}

inline void fill(v1::Leadership& x) {
  x.set_leader("a");
  x.set_term(3);
  x.set_by("voters");
  x.add_voters("a");
  x.add_deputies("b");
  x.set_age_ms(5);
  x.set_reason("a was silent");
}

inline void fill(v1::JobStatus& x) {
  x.set_job_id("job-1");
  x.set_phase("running");
  x.set_generation(7);
  fill(*x.mutable_settings());
  x.set_restart_count(1);
  x.set_waiting_for("nothing");
  fill(*x.add_agents());
  fill(*x.add_agents());
  x.set_world_size(4);
  x.set_master_address("10.0.0.1");
  x.set_master_port(29'500);
  fill(*x.mutable_last_failure());
  fill(*x.mutable_outcome());
  x.set_coordinator_pid(4711);
  x.set_coordinator_host("node-a");
  x.set_truncated(true);
  x.set_gpus_truncated(true);
  x.set_vitals_truncated(true);
  x.set_sequence(99);
  x.set_age_ms(1);
  x.set_phase_age_ms(2);
  x.set_waiting_age_ms(3);
  x.set_waiting_left_ms(4);
  fill(*x.add_generations());
  fill(*x.add_departed_nodes());
  fill(*x.add_excluded_hosts());
  x.set_is_healthy(true);
  x.set_wall_ms(1'700'000'000'000);
  fill(*x.mutable_leadership());
  fill(*x.add_time());
  x.set_alike_end_count(3);
  x.set_loop("3 ends alike");
  fill(*x.add_ends());
}

// -- all of them --------------------------------------------------------------

using block = caf::id_block::actorrun;

inline constexpr size_t wire_type_count = block::end - block::begin;

/// Calls `f` with a sample of every type of the block.
template <class F>
void for_each_wire_type(F f) {
  const auto call = [&]<size_t I>() {
    auto x = typename caf::type_by_id<block::begin + I>::type{};
    fill(x);
    f(x);
  };
  [&]<size_t... I>(std::index_sequence<I...>) {
    (call.template operator()<I>(), ...);
  }
  (std::make_index_sequence<wire_type_count>{});
}

} // namespace actorrun::test
