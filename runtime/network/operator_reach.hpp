// Connects an operator to a process of a job.
#pragma once

#include "messages/result.hpp"
#include "runtime/jobs.hpp"
#include "runtime/network/operator_client.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// A connection, and when the first reply is due.
struct reached {
  operator_client whom;
  operator_client::time_point due;
};

/// Connects to a process of this host, or to the coordinator of a job on any host.
/// Blocks for at most `limit`, in the second case twice that.
/// @pre job options have a rendezvous
/// @retval as `connect_unix`, or `connect`, and as `find_coordinator` for a job that
///         uses etcd
result<reached> reach(const located_job& job, std::chrono::milliseconds limit);

/// Asks one question, and waits for the first reply.
result<v1::OperatorReply> ask(result<reached> there,
                              v1::OperatorRequest request);

/// A text of another process for terminals and JSON: one printable line of at most
/// 1 KiB, which is longer than any of ours.
std::string shown(std::string_view text);

/// Makes it such a text.
inline void clean(std::string& text) {
  text = shown(text);
}

/// What a reply refuses.
/// @param wanted Is not in it, for people.
failure refusal_in(const v1::OperatorReply& x, const std::string& wanted);

} // namespace actorrun::detail
