// Translates what is said about logs and stacks between core structs and Protobuf
// messages.
#pragma once

#include "actors/core/logs/log_selection.hpp"
#include "actors/core/reports/worker_stack.hpp"

#include "messages/operator.pb.h"

#include <cstddef>
#include <string>
#include <vector>

namespace actorrun {

/// No more than `core::selected_ranks_max` ranks.
core::log_selection from_wire(const v1::LogSelection& x);

/// Without agent and reading.
v1::LogChunk to_wire(core::log_chunk x);

/// In bytes of credit, of all lines.
size_t cost_of(const google::protobuf::RepeatedPtrField<v1::LogLine>& lines);

/// For an operator.
v1::OperatorReply to_reply(v1::LogChunk x, const std::string& host);

/// Without agent and request; as many workers as there is room for in a message.
v1::StacksReport to_wire(const std::vector<core::worker_stack>& workers);

} // namespace actorrun
