// Summarizes where stuck workers are, from what the kernel shows of them.
#pragma once

#include "actors/core/process_stat.hpp"
#include "messages/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// The number of the system call that a thread is in, as `/proc/<pid>/syscall`
/// has it; nothing if it is in none, runs, or the text is none.
std::optional<int64_t> parse_syscall(std::string_view text);

/// What is known about one thread.
struct thread_snapshot {
  process_stat stat{};
  std::string wchan{};   ///< The kernel's function it waits in; may be empty.
  std::string syscall{}; ///< The name of the system call; may be empty.
};

/// In a few words: `in futex_wait_queue`, `running`, `stopped (SIGSTOP)`,
/// `uninterruptible in nfs_wait_bit_killable`. Printable, one line.
std::string place_of(const thread_snapshot& x);

/// In bytes. Names of functions, of threads and of files are cut to this.
inline constexpr size_t place_name_max = 120;

/// The innermost frame of the first thread in the output of `py-spy dump`, as
/// `train_step (train.py:41)`; of the main thread, if one has that name. Empty
/// if there is none. Printable, one line.
std::string innermost_frame(std::string_view dump);

/// What is known about one worker.
struct worker_snapshot {
  uint32_t global_rank = 0;
  std::string place{};  ///< Of its first thread: `place_of`.
  std::string frame{};  ///< `innermost_frame`; empty: it is not known.
  std::string behind{}; ///< As in `worker_stack`.
};

/// A few lines: the odd one out, if there is one, then where each rank is.
///
///     rank 2 is the odd one out
///     rank 2 running at train_step (train.py:41)
///     ranks 0-1,3 in do_epoll_wait at all_reduce (dist.py:7)
///
/// @param overdue Its global rank; its group comes first.
std::string stuck_summary(const std::vector<worker_snapshot>& workers,
                          uint32_t overdue);

/// The rank that is alone where it is, while at least two others are in one
/// other place and none elsewhere. Frames count first; if they scatter, places
/// alone.
std::optional<uint32_t>
odd_one_out(const std::vector<worker_snapshot>& workers);

} // namespace actorrun::core
