#include "runtime/worker/detail/call_stack.hpp"

#include "runtime/worker/detail/program_map.hpp"

#include <algorithm>

#include <unwind.h>

namespace actorrun::recording {

namespace {

/// Of a file's path the end is shown.
constexpr auto path_max = size_t{300};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* stack) {
  auto& out = *static_cast<call_stack*>(stack);
  auto is_interrupted = 0;
  const auto address = _Unwind_GetIPInfo(context, &is_interrupted);
  if (address == 0 && is_interrupted == 0) // Behind the outermost.
    return _URC_END_OF_STACK;
  if (out.count == frames_max) {
    out.is_cut = true;
    return _URC_END_OF_STACK;
  }
  out.add({address, is_interrupted != 0});
  return _URC_NO_REASON;
}

} // namespace

void call_stack::add(frame x) {
  if (count < frames_max)
    frames[count++] = x;
}

void call_stack::drop(size_t n) {
  std::copy(frames + n, frames + count, frames);
  count -= n;
}

void call_stack::put_in_front(frame x) {
  is_cut = is_cut || count == frames_max;
  count = std::min(count + 1, frames_max);
  std::copy_backward(frames, frames + count - 1, frames + count);
  frames[0] = x;
}

void drop_start_up(call_stack& stack) {
  const auto outermost
    = [&stack] { return find_place(stack.frames[stack.count - 1].within()); };
  if (stack.count == 0)
    return;
  const auto start = outermost();
  if (start.function.name != "_start")
    return;
  --stack.count;
  const auto library = stack.count == 0 ? start.file : outermost().file;
  if (library == start.file) // It is part of the program.
    return;
  while (stack.count > 0 && outermost().file == library)
    --stack.count;
}

void walk(call_stack& out) {
  _Unwind_Backtrace(visit, &out);
}

void put_stack(fixed_text& out, const call_stack& stack,
               void (*put_line)(fixed_text& out, const frame& x)) {
  out.put("Traceback (most recent call last):\n");
  if (stack.is_cut)
    out.put("  ...\n");
  for (auto i = stack.count; i-- > 0;) {
    put_line(out, stack.frames[i]);
    auto same = size_t{0};
    for (; i > 0 && stack.frames[i - 1].address == stack.frames[i].address; --i)
      ++same;
    if (same > 0)
      out.put("  [the same ").put_number(same).put(" times more]\n");
  }
}

void put_raw_name(fixed_text& out, std::string_view name) {
  out.put(name);
}

void put_frame(fixed_text& out, const frame& x, name_writer put_name) {
  const auto where = find_place(x.within());
  if (where.file.empty())
    return put_bare_frame(out, x);
  // What is looked up may lie one byte in front of what is shown.
  const auto beyond = x.address - x.within();
  out.put("  ");
  if (!where.function.name.empty()) {
    put_name(out, where.function.name);
    out.put("+").put_hex(where.function.offset + beyond).put(", ");
  }
  out.put(end_of(where.file, path_max));
  out.put("+").put_hex(where.offset + beyond).put("\n");
}

void put_bare_frame(fixed_text& out, const frame& x) {
  out.put("  ").put_hex(x.address).put("\n");
}

} // namespace actorrun::recording
