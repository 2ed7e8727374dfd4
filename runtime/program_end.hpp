// Ends a program around a launcher in order where the system lacks something,
// and where it is the first process of a container.
#pragma once

#include <functional>
#include <string>

namespace actorrun {

/// From now on this program ends with `code` and one sentence if the system gives no
/// thread, no memory or no descriptor that it cannot do without.
/// @param last_words Gets that sentence before the end, on any thread. To be set while
///                   there is one thread only.
void end_without_resources(int code,
                           std::function<void(const std::string&)> last_words
                           = {});

/// Whether this process has become the parent of wardens: those of a launcher that has
/// ended, who end when they have said so to all who ask.
bool has_wardens();

} // namespace actorrun
