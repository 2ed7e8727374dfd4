// Sets up what a command-line program around a launcher needs: its
// console, its log and its error file.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/log.hpp"
#include "actors/ports/console.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace actorrun {

/// Opens `/dev/null` for each of 0, 1 and 2 that is closed, so that no other
/// file gets its number and is taken for a standard stream by this program or
/// by workers. Call it before anything is opened.
void fill_standard_descriptors();

/// Raises the limit of descriptors as far as the system allows, and enlarges
/// this process's table for a job. Later, with threads, each enlargement would
/// halt the thread that needs it for milliseconds.
/// @param worker_count Workers on this node.
/// @pre there is no other thread yet
void prepare_descriptors(size_t worker_count);

/// Makes a program that serves a large job keep the memory it has freed for five
/// seconds, instead of half a second: each message of a change asks again for what
/// the last one has freed. Does nothing in a small job, and in a program without
/// jemalloc.
/// @param node_count_max Of the job.
void keep_freed_memory(uint32_t node_count_max);

/// A console that a program shares with the workers whose lines it shows. No
/// writer ever waits.
class program_console : public ports::console {
public:
  /// Takes whole lines of this program for standard error. When the console is
  /// not read, lines are eventually dropped; their number appears instead.
  virtual void note(std::string_view lines) = 0;

  /// Takes lines that must not be dropped, whatever waits already.
  /// @param lines Few of them: the last words of a program.
  virtual void say(core::output_stream stream, std::string_view lines) = 0;

  /// Whether the stream was a terminal when the console was opened.
  virtual bool is_terminal(core::output_stream stream) const = 0;

  /// Whether all lines are written.
  virtual bool is_flushed() const = 0;

  /// Calls `fn` once when all lines are written: now, or on a thread of its
  /// own.
  virtual void call_when_flushed(std::function<void()> fn) = 0;
};

/// Opens the console of this program's standard output and standard error.
std::shared_ptr<program_console> open_program_console();

/// Lines for a reader of their own, who may be slow or gone: no writer ever waits.
class line_output {
public:
  virtual ~line_output() = default;

  /// @param lines Whole lines. Dropped, all of them, if a mebibyte waits already;
  ///              they go nowhere if the reader is gone.
  virtual void add(std::string_view lines) = 0;

  /// How many calls of `add` were dropped.
  virtual uint64_t dropped_count() const = 0;

  /// Waits for the reader, at most this long.
  /// @returns whether all that was not dropped is written, or no reader is left
  virtual bool finish(std::chrono::milliseconds limit) = 0;
};

/// Takes over a descriptor that is open for writing.
/// @param fd Closed; its file is held without it, where processes that are started
///           do not inherit it.
std::unique_ptr<line_output> open_line_output(int fd);

/// Logs lines on standard error, in colour on a terminal only: `[actorrun
/// 12:34:56.789 info] coordinator forms generation 2: …`.
/// @param to Never makes the caller wait; see `program_console::note`.
/// @param level torchrun's LOGLEVEL: DEBUG, INFO, WARNING, ERROR or CRITICAL,
///              in any case; anything else means INFO, and a line says so
///              unless it is empty.
log open_log(std::shared_ptr<program_console> to, std::string_view program,
             std::string_view level);

/// Writes a file of this user as a whole or not at all, with mode 0600.
/// @retval errc::system_failure  it cannot be written; the text says why
result<void> write_own_file(const std::string& path, std::string_view text);

/// The name of this host, as failures of its workers bear it.
std::string own_host_name();

/// Reports to the parent process why the job failed, as torch's `@record` does:
/// writes a copy of the failed worker's error file with the exit code in it, or
/// a file in the same form that describes the failure.
/// @param path `TORCHELASTIC_ERROR_FILE` of this program; what was there is
///             replaced, at once or not at all.
/// @param has_worker_file The worker's error file can be read on this machine.
/// @retval errc::log_failed  it cannot be written; the text says why
result<void> write_error_file(const std::string& path,
                              const core::worker_failure& first,
                              bool has_worker_file);

/// The same for a failure that is not a worker's.
/// @param message `<type>: <text>`
/// @param wall_ms Unix time of the failure
result<void> write_error_file(const std::string& path, std::string_view message,
                              int64_t wall_ms);

} // namespace actorrun
