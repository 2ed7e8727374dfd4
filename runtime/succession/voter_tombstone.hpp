// Writes and reads what a machine says at the port of an agent that votes, when that
// has ended: the tombstone of decision 0061.
//
//   hello       a server hello with the verdict `gone`: what a client of ours reads
//   size        2, in network order, of what follows
//   tombstone   sealed with the job's key, and with the agent's id as a label
#pragma once

#include "actors/core/succession/succession_messages.hpp"
#include "runtime/network/keys.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Empty if it is longer than a statement may be: then nothing is said, and
/// promises must lapse.
std::string voter_statement(const job_key& key, const agent_id& who,
                            const core::tombstone& left);

/// How many bytes the statement that begins so has; 0: it is none; none: more bytes are
/// needed to know.
std::optional<size_t> statement_size(std::string_view begin);

/// None: this agent's machine has not said it. @pre it is a whole statement
std::optional<core::tombstone> read_voter_statement(const job_key& key,
                                                    const agent_id& who,
                                                    std::string_view said);

} // namespace actorrun::detail
