// Translates between core structs and Protobuf messages. Decides nothing; the
// core checks what comes in where it needs it.
#pragma once

#include "actors/core/devices/status.hpp"
#include "actors/core/generation.hpp"
#include "actors/core/job_settings.hpp"
#include "actors/core/journal/story.hpp"
#include "actors/core/protocol/charter.hpp"
#include "actors/core/protocol/quarantine.hpp"
#include "actors/core/safe_point.hpp"
#include "actors/core/vitals/node_vitals.hpp"

#include "messages/job.pb.h"
#include "messages/operator.pb.h"
#include "messages/rendezvous.pb.h"
#include "messages/worker.pb.h"

namespace actorrun {

/// As fields have it: whole milliseconds, 0 or more.
inline uint64_t to_ms(core::duration x) {
  using std::chrono::milliseconds;
  const auto ms = std::chrono::duration_cast<milliseconds>(x).count();
  return static_cast<uint64_t>(std::max<int64_t>(ms, 0));
}

/// The age of an answer is at most an hour, whatever a peer says.
inline core::duration age_from_wire(uint64_t ns) {
  constexpr auto max = core::duration{std::chrono::hours{1}};
  return std::min(ns, uint64_t{max.count()}) * core::duration{1};
}

v1::Offer to_wire(const core::offer& x);
v1::Settings to_wire(const core::job_settings& x);
v1::Charter to_wire(const core::charter& x);
v1::GenerationPlan to_wire(const core::generation_plan& x);
/// Texts are cut to what may travel (`core::bounded`).
v1::WorkerFailure to_wire(const core::worker_failure& x);
/// All but the first are `core::brief`.
v1::Collateral to_wire(const core::collateral& xs);
v1::ParkedWorkers to_wire(const core::parked_share& x);
v1::Claim to_wire(const core::claim& x);
/// Fits into a message whatever `x` holds.
v1::Outcome to_wire(const core::outcome& x);
v1::ShareState to_wire(core::share_state x);
/// Without the generation and the reason.
v1::SafePointOrder to_wire(const core::safe_point_order& x);
/// Without the agent's id and the generation.
v1::SafePointReport to_wire(const core::safe_point_report& x);
/// Without the agent's id, without vitals. Texts are cut to what may travel.
v1::NodeStatus to_wire(const core::devices_status& x);
v1::WorkerVitals to_wire(const core::worker_vitals& x);
/// Without the workers.
v1::NodeVitals to_wire(const core::node_vitals& x);
/// Adds the vitals of a node, with as many workers as there is room for in a
/// message.
void add_vitals(v1::NodeStatus& out, const core::node_vitals& x);
/// Answers a keep-alive. @param age As in `core::lease_granted`.
v1::LeaseGranted grant(const v1::KeepAlive& x, core::duration age);
v1::QuarantinedNode to_wire(const core::quarantined_node& x);
v1::Cause to_wire(const core::journal::culprit& x);

/// `leased` is not on the wire: an agent that joins over a link has a lease.
core::offer from_wire(const v1::Offer& x);

/// A peer's reason, for our log: one printable line of at most 512 bytes.
std::string reason_line(std::string_view text);
core::job_settings from_wire(const v1::Settings& x);
/// No more hosts than can be excluded, texts cut, and no longer lease than there
/// is.
core::charter from_wire(const v1::Charter& x);
core::generation_plan from_wire(const v1::GenerationPlan& x);
core::worker_failure from_wire(const v1::WorkerFailure& x);
core::collateral from_wire(const v1::Collateral& xs);
core::parked_share from_wire(const v1::ParkedWorkers& x);
core::claim from_wire(const v1::Claim& x);
core::end_class from_wire(v1::EndClass x);
core::outcome from_wire(const v1::Outcome& x);

/// The highest that its workers have passed; none: none has.
inline std::optional<uint64_t> step_of(const v1::WorkersStopped& x) {
  return x.has_step() ? std::optional<uint64_t>{x.step()} : std::nullopt;
}
core::share_state from_wire(v1::ShareState x);
core::safe_point_order from_wire(const v1::SafePointOrder& x);
core::safe_point_report from_wire(const v1::SafePointReport& x);
/// No more than `core::gpus_per_node_max`, texts cut.
core::devices_status devices_from_wire(const v1::NodeStatus& x);
/// No more than `core::sampled_workers_max` workers.
core::node_vitals from_wire(const v1::NodeVitals& x);
/// Its sentence and evidence may hold anything.
core::journal::explanation from_wire(const v1::Explanation& x);

} // namespace actorrun
