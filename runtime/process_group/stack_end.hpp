// Calls a function whose exceptions cannot be caught outside of it.
#pragma once

namespace actorrun::detail {

/// Calls `function` as if it were the first of its thread. An exception that it
/// does not catch is `std::terminate` at the place of the throw, with the whole
/// stack still there to look at: neither a `catch` nor a `noexcept` of our
/// callers unwinds it.
int call_at_stack_end(int (*function)(void*), void* data);

} // namespace actorrun::detail
