// Writes the journal of a coordinator, on a thread of its own: a slow disk slows
// no decision.
#pragma once

#include "actors/core/journal/snapshot.hpp"
#include "runtime/os/task_thread.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Limits what a journal can cost.
struct journal_limits {
  uint64_t file_size_max = uint64_t{8} << 20; ///< In bytes; two files are kept.
  size_t waiting_max = 20'000;                ///< Records that are not written.
  /// Writes nothing, and has no thread, before a generation runs or something else
  /// than a launch happens: a launch does not wait for its journal.
  bool after_launch = false;
};

/// At most this many records of a launch are held back.
inline constexpr size_t launch_records_max = 64;

/// What a journal has from a position on.
struct journal_part {
  uint64_t position = 0; ///< Of the first byte.
  std::string text{};    ///< Empty: it has no more yet.
};

/// In bytes, of a part that is read.
inline constexpr size_t journal_part_max = 256 * 1024;

/// Appends lines to a file, which it makes with its first record, with mode 0600.
/// A file that has become too long becomes `<path>.1`, and the next one begins with
/// all that is known. Where records were lost, because the disk was full or too
/// slow, the journal goes on with all that is known, too.
class journal_writer {
public:
  /// @param on_trouble Called once for each kind of trouble in a row, on the
  ///                   writer's thread.
  journal_writer(std::string path,
                 std::function<void(const std::string& what)> on_trouble,
                 const journal_limits& limits = {});

  /// If the job has ended, the last record says that its coordinator has, too.
  /// Waits for what has been written to it, for a second at most.
  ~journal_writer();

  journal_writer(const journal_writer&) = delete;
  journal_writer& operator=(const journal_writer&) = delete;

  /// Never blocks. Thread-safe, but records come in their order.
  void write(std::vector<core::journal::record> records);

  /// The coordinator leads no more, which is its last record, unless the job has
  /// ended. Never blocks.
  void leave(const std::string& reason);

  /// Reads what is written of it, on its thread. Never blocks.
  /// @param position Counted in bytes from the journal's beginning, also where one file
  ///                 has taken another one's place. What is not kept any more is left
  ///                 out; there is nothing beyond the end.
  /// @param take     Called once, unless the writer ends before; must not block.
  void read(uint64_t position, std::function<void(journal_part)> take);

  /// @returns false if not all is written in time
  bool flush(core::duration timeout);

private:
  class file;

  void start_thread();
  void post(std::vector<core::journal::record> records);

  std::shared_ptr<file> file_; ///< The writer's thread shares it.
  std::mutex mutex_;           ///< Of the two below.
  bool is_held_;
  std::vector<core::journal::record> held_;
  size_t waiting_max_;
  std::shared_ptr<std::atomic<size_t>> waiting_
    = std::make_shared<std::atomic<size_t>>(0);
  std::optional<task_thread> thread_;
};

} // namespace actorrun::detail
