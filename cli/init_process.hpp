// Is the first process of a container in this program's place.
#pragma once

namespace actorrun::cli {

/// Does nothing unless this process has the pid 1. Then this program goes on in a child
/// process, where this returns, and its parent stays behind: it reaps what is left to
/// it, passes signals on, and ends with the code of the child.
///
/// The end of the first process ends all others of a container. So if that were the
/// agent, its wardens could not say that it has ended. If it is killed, the parent waits
/// until they have said so.
/// @pre there is no other thread
void live_below_init();

} // namespace actorrun::cli
