// Reads from the journal of a coordinator that has died what its successor on the
// same host must know.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/protocol/charter.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::detail {

/// Longest wait for the journal of a predecessor; a file system that hangs costs
/// the start of a coordinator no more.
inline constexpr auto predecessor_timeout = std::chrono::milliseconds{1'000};

/// What the last coordinator of a job on this host knew when it was last heard of.
struct predecessor {
  /// Revision 0: only the lease and the number count. The others come from one that
  /// has ended without an outcome.
  core::charter job{};
  /// It has died before all agents knew this.
  std::optional<core::outcome> decided{};
};

/// None if there is no journal of it that this user, or root, has written and no
/// other may write. Blocks for
/// `predecessor_timeout` at most.
/// @param folder Of the journals.
/// @param host   This one, as it is called in journals.
/// @param told_within An agent looks for its coordinator for no longer: who has
/// died
///                    longer ago leaves no agent behind that must be told.
/// @retval errc::system_failure  the folder or a journal could not be read in time
result<std::optional<predecessor>>
find_predecessor(const std::string& folder, const job_id& job,
                 const std::string& host,
                 std::chrono::milliseconds told_within);

} // namespace actorrun::detail
