// Walks and prints call stacks.
#pragma once

#include "runtime/worker/detail/fixed_text.hpp"

#include <cstddef>
#include <cstdint>

namespace actorrun::recording {

/// The innermost calls are kept.
inline constexpr size_t frames_max = 128;

struct frame {
  uintptr_t address = 0;
  /// Of the instruction that was interrupted; else of the one after a call.
  bool is_interrupted = false;

  /// An address within the instruction.
  uintptr_t within() const { return address - (is_interrupted ? 0 : 1); }
};

struct call_stack {
  frame frames[frames_max]; ///< Innermost first.
  size_t count = 0;
  bool is_cut = false; ///< There were more.

  void add(frame x);

  /// Forgets the innermost `n`.
  void drop(size_t n);

  /// Adds a frame in front; drops the outermost if there is no room.
  void put_in_front(frame x);
};

/// Walks up the stack of the calling thread. Async-signal-safe where the C
/// library finds unwind tables without a lock (2.35 and later); a stack that is
/// destroyed may end it in a fault.
void walk(call_stack& out);

/// Drops the frames of the C library around `main`. As `find_place`.
void drop_start_up(call_stack& stack);

/// Writes a stack with the innermost call last; of a function that calls itself
/// one line is enough.
/// @param put_line Writes a frame as one line.
void put_stack(fixed_text& out, const call_stack& stack,
               void (*put_line)(fixed_text& out, const frame& x));

/// Writes a name that the compiler made, in whatever form.
using name_writer = void (*)(fixed_text& out, std::string_view name);

/// One line: `  step(int)+0x1f, /opt/train+0x4f21`. Async-signal-safe as
/// `find_place`, if `put_name` is.
void put_frame(fixed_text& out, const frame& x, name_writer put_name);

/// The same without knowing more than the address.
void put_bare_frame(fixed_text& out, const frame& x);

/// Writes the name as it is.
void put_raw_name(fixed_text& out, std::string_view name);

} // namespace actorrun::recording
