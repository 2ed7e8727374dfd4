// Names the limit of this system behind an errno, and ends a program that lacks what
// it cannot do without.
#pragma once

#include <functional>
#include <string>

namespace actorrun::detail {

/// What has run out, and where that is set: `RLIMIT_NPROC: ulimit -u is 10`. Empty
/// for an errno that is about no such limit.
std::string limit_behind(int error);

/// `core::error_text` with the limit behind it, for a call that has a file, a socket or
/// memory as its result: `Too many open files (RLIMIT_NOFILE: ulimit -Hn is 1024)`.
/// There, EAGAIN is about no limit.
std::string system_error_text(int error);

/// Likewise for a call that has a process or a thread as its result.
std::string start_error_text(int error);

/// Prints one sentence on standard error and ends this program at once: with the code
/// of `exit_for_lack_with`, else by `std::abort`.
/// @param what `thread`, `descriptor`, …
[[noreturn]] void end_for_lack_of(const char* what, int error);

/// For programs of our own; a host program sees an abort.
/// @param last_words Gets the sentence, if it is set; it may lack anything.
void exit_for_lack_with(int code,
                        std::function<void(const std::string&)> last_words);

} // namespace actorrun::detail
