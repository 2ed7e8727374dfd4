// Describes the state of a program that a signal has interrupted.
#pragma once

#include "runtime/worker/detail/call_stack.hpp"

#include <cstdint>

namespace actorrun::recording {

/// The interrupted state as a signal handler gets it. Async-signal-safe.
class interrupted {
public:
  /// @param context As a handler with SA_SIGINFO gets it.
  explicit interrupted(void* context);

  /// The calls up to the interrupted one, without how `main` was called.
  /// @pre as `survives`; what faults is left out
  void find_stack(call_stack& out);

  /// Whether an address is where the stack continues: a thread that faults
  /// there has used up its stack.
  bool is_next_to_stack(uintptr_t address) const;

private:
  /// How the system stores a register.
  using stored [[gnu::may_alias]] = unsigned long;

  bool pretend_return();

  // What is written here the program goes on with. Null: this is a machine whose
  // registers we do not know.
  stored* instruction_ = nullptr;
  stored* stack_ = nullptr;
};

} // namespace actorrun::recording
