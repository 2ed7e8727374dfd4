// Kills processes that workers have left behind, when this program adopts
// orphans.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include <sys/types.h>

namespace actorrun::detail {

/// Whether orphaned descendants become children of this process: it is pid 1 or
/// a child subreaper.
bool adopts_orphans();

/// Sends SIGKILL to the children of this process that belong to one of
/// `sessions` without being its leader, and reaps those that have ended. Their
/// own orphans are adopted later, so call again until none is found. A
/// descendant with a session of its own cannot be attributed and is left alone.
/// @pre the leaders of `sessions` are not reaped, so their ids are not reused
/// @returns how many were found
size_t sweep_orphans(const std::set<pid_t>& sessions);

/// Reaps the children of this process that have ended and are what workers left
/// behind: in one of `sessions` without leading it, or in the control group
/// `home`. Other children, such as those of a host program, are left alone.
/// @param home A part of the path of the group; empty: there is none.
/// @param owns_all No other part of this program has children outside of its own
///                 session: then all that have ended there are reaped, too.
/// @pre as of `sweep_orphans`; with `owns_all`, `sessions` has all workers
/// @returns how many
size_t reap_orphans(const std::set<pid_t>& sessions, const std::string& home,
                    bool owns_all = false);

} // namespace actorrun::detail
