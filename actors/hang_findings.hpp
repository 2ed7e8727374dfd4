// Turns what agents have seen of a job that hangs into an order and a sentence.
#pragma once

#include "actors/core/hangs/hung_worker.hpp"
#include "actors/core/hangs/job_silence.hpp"
#include "actors/operator_stacks.hpp"

#include "messages/operator.pb.h"
#include "messages/rendezvous.pb.h"

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun {

/// @param ns Of a peer: it is cut to 24 days.
core::duration silence_from_wire(uint64_t ns);

v1::WorkersSilent to_wire(const core::silence_report& x);
core::silence_report from_wire(const v1::WorkersSilent& x);

/// At most `core::failure_where_max` bytes.
std::string where_from_wire(const std::string& x);

/// The worker that is the cause, and where it is.
struct hang_finding {
  core::hung_worker who;
  agent_id agent;
  std::string host;
  uint32_t local_rank = 0;
};

/// @param seen  Where the workers are; those that could not be seen are left out.
/// @param nodes Those with workers.
/// @returns none if no such node is left
std::optional<hang_finding> find_cause(const core::job_hang& what,
                                       const v1::Stacks& seen,
                                       const operator_stacks::node_map& nodes);

v1::EndHungWorker end_of(const core::job_hang& what, const hang_finding& x,
                         core::time_point now);

} // namespace actorrun
