// Reads from the journal of a coordinator that has died what its successor on the
// same host must know.
#pragma once

#include "actors/core/protocol/exclusions.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Longest wait for the journal of a predecessor; a file system that hangs costs
/// the start of a coordinator no more.
inline constexpr auto predecessor_timeout = std::chrono::milliseconds{1'000};

/// The hosts that the last coordinator of the job on this host had excluded, if it
/// has ended without an outcome; else none. What other users have written is not
/// read. Blocks for `predecessor_timeout` at
/// most.
/// @param folder Of the journals.
/// @param host   This one, as it is called in journals.
/// @retval errc::system_failure  the folder or a journal could not be read in time
result<std::vector<core::excluded_host>>
exclusions_of_predecessor(const std::string& folder, const job_id& job,
                          const std::string& host);

} // namespace actorrun::detail
