#include "runtime/process_group/stack_end.hpp"

namespace actorrun::detail {

// Compiled without unwind tables: see the header. The result is used after the
// call, so that this frame is still there during it.
int call_at_stack_end(int (*function)(void*), void* data) {
  const volatile int code = function(data);
  return code;
}

} // namespace actorrun::detail
