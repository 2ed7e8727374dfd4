// Owns the error file of this program and the right to write it.
#pragma once

#include <cstddef>
#include <string_view>

namespace actorrun::recording {

/// Bytes of the texts in an error file; of messages the beginning is kept, of
/// stacks the end.
inline constexpr size_t message_max = size_t{8} * 1'024;
inline constexpr size_t stack_max = size_t{160} * 1'024;

/// Remembers where to write, for this process; its forked children may call it
/// for themselves. To be called before there are other threads.
/// @param path Not empty; a relative one counts from the present directory.
/// @returns false if it is too long
bool open_error_file(std::string_view path);

/// True in the program that called `open_error_file`, and not in what it has
/// forked since. All that follows is async-signal-safe.
bool is_recording();

/// Writes the error file, in torch's form, at once or not at all; what was
/// there is replaced. If that fails, a line on standard error says so.
/// @param message `<type>: <text>`
void write_error(std::string_view message, std::string_view stack);

/// The right to write: the first thread that fails has it.
enum class turn {
  ours,
  ours_again, ///< This thread has failed once more, while it wrote.
  taken,      ///< By another thread, or it is over.
};

turn take_turn();
void end_turn();

/// Waits for at most 2 s until the other thread has written: returning to the
/// fault now would end the program.
void await_turn();

} // namespace actorrun::recording
