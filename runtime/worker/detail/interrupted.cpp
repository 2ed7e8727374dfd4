#include "runtime/worker/detail/interrupted.hpp"

#include "runtime/worker/detail/careful.hpp"
#include "runtime/worker/detail/program_map.hpp"

#include <ucontext.h>

namespace actorrun::recording {

namespace {

// The frames in front of the interrupted one are ours.
void walk_and_drop_own(call_stack& stack) {
  survives([&stack] { walk(stack); });
  auto own = size_t{0};
  while (own < stack.count && !stack.frames[own].is_interrupted)
    ++own;
  if (own < stack.count)
    stack.drop(own);
}

} // namespace

interrupted::interrupted(void* context) {
  auto& x = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  instruction_ = reinterpret_cast<stored*>(&x.gregs[REG_RIP]);
  stack_ = reinterpret_cast<stored*>(&x.gregs[REG_RSP]);
#elif defined(__aarch64__)
  instruction_ = reinterpret_cast<stored*>(&x.pc);
  stack_ = reinterpret_cast<stored*>(&x.sp);
#else
  (void)x;
#endif
}

// At an address without code the caller cannot be found by unwind tables. So we
// simulate the return of an empty function first: the return address is where
// the call has put it.
bool interrupted::pretend_return() {
#if defined(__x86_64__)
  return survives([this] {
    *instruction_ = *reinterpret_cast<const stored*>(*stack_);
    *stack_ += sizeof(stored);
  });
#else
  return false;
#endif
}

void interrupted::find_stack(call_stack& out) {
  out = {};
  const auto at = instruction_ == nullptr ? 0 : *instruction_;
  if (instruction_ == nullptr || is_code(at)) {
    walk_and_drop_own(out);
  } else {
    const auto top = *stack_;
    if (pretend_return()) {
      walk_and_drop_own(out);
      if (out.count > 0)
        out.frames[0].is_interrupted = false;
    }
    *instruction_ = at;
    *stack_ = top;
    out.put_in_front({at, true});
  }
  if (out.count == 0)
    out.add({at, true});
  survives([&out] { drop_start_up(out); });
}

bool interrupted::is_next_to_stack(uintptr_t address) const {
  constexpr auto reach = uintptr_t{64} * 1'024;
  if (stack_ == nullptr)
    return false;
  const auto top = *stack_;
  return (address < top ? top - address : address - top) < reach;
}

} // namespace actorrun::recording
