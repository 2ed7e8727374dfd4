#include "runtime/worker/detail/uncaught.hpp"

#include "runtime/worker/detail/call_stack.hpp"
#include "runtime/worker/detail/error_writer.hpp"
#include "runtime/worker/detail/program_map.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>

#include <cxxabi.h>
#include <unistd.h>

namespace actorrun::recording {

namespace {

std::terminate_handler previous = nullptr;
auto afterwards = uncaught::aborts;

std::string demangled(const char* name) {
  auto status = 0;
  const auto text = std::unique_ptr<char, decltype(&std::free)>{
    abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free};
  return text ? text.get() : name;
}

/// The type of what is being handled, as it was thrown.
std::string type_of_exception() {
  constexpr auto wrapper = std::string_view{"std::_Nested_exception<"};
  const auto* type = abi::__cxa_current_exception_type();
  auto name = type == nullptr ? "unknown" : demangled(type->name());
  if (name.starts_with(wrapper) && name.ends_with('>'))
    name = name.substr(wrapper.size(), name.size() - wrapper.size() - 1);
  return name;
}

void put_demangled(fixed_text& out, std::string_view name) {
  out.put(std::string_view{demangled(std::string{name}.c_str())}.substr(
    0, symbol_name_max));
}

// -- the exception ------------------------------------------------------------

/// How far causes of causes are followed.
constexpr auto causes_max = 16;

/// What an exception says of itself.
struct confession {
  std::string message; ///< `<type>: <text>`
  std::string causes;  ///< A line for each.
};

confession confess(const std::exception_ptr& what, int depth = 0);

template <class Exception>
std::string causes_of(const Exception& x, int depth) {
  try {
    std::rethrow_if_nested(x);
  } catch (...) {
    if (depth == causes_max)
      return "\n  ...";
    const auto next = confess(std::current_exception(), depth + 1);
    return "\n  caused by: " + next.message + next.causes;
  }
  return "";
}

std::string text_of(const char* text) {
  return text == nullptr ? "" : text;
}

// Only here something is caught, and only after the stack has been looked at.
confession confess(const std::exception_ptr& what, int depth) {
  try {
    std::rethrow_exception(what);
  } catch (const std::exception& x) {
    return {type_of_exception() + ": " + text_of(x.what()),
            causes_of(x, depth)};
  } catch (const std::nested_exception& x) {
    return {type_of_exception() + ": it has no text", causes_of(x, depth)};
  } catch (const std::string& x) {
    return {"std::string: " + x, ""};
  } catch (const char* x) {
    return {"char const*: " + text_of(x), ""};
  } catch (int x) {
    return {"int: " + std::to_string(x), ""};
  } catch (...) {
    return {type_of_exception() + ": it has no text", ""};
  }
}

confession confess() {
  const auto what = std::current_exception();
  return what ? confess(what)
              : confession{"std::terminate: called without an exception", ""};
}

// -- the stack ----------------------------------------------------------------

constexpr std::string_view throwing_functions[] = {
  "__cxa_throw",
  "__cxa_rethrow",
  "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
  "_ZSt9terminatev",
  "__cxa_pure_virtual",
};

// The frames of the C++ library between the `throw` and us are of no use. Where
// a function that must not throw is in the way there is more of it.
void drop_own_frames(call_stack& stack) {
  constexpr auto searched_max = size_t{16};
  auto dropped = size_t{0};
  for (size_t i = 0; i < std::min(stack.count, searched_max); ++i) {
    const auto name = find_place(stack.frames[i].within()).function.name;
    if (std::find(std::begin(throwing_functions), std::end(throwing_functions),
                  name)
        != std::end(throwing_functions))
      dropped = i + 1;
  }
  stack.drop(dropped);
}

void put_line(fixed_text& out, const frame& x) {
  put_frame(out, x, put_demangled);
}

char stack_space[stack_max];

std::string_view stack_text(const call_stack& stack, const confession& said) {
  auto text = fixed_text{stack_space};
  put_stack(text, stack, put_line);
  text.put(std::string_view{said.message}.substr(0, message_max))
    .put(std::string_view{said.causes}.substr(0, message_max))
    .put("\n");
  return {stack_space, text.size()};
}

// -- the handler --------------------------------------------------------------

[[noreturn]] void leave(std::string_view shown) {
  while (!shown.empty()) {
    const auto n = ::write(STDERR_FILENO, shown.data(), shown.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    shown.remove_prefix(static_cast<size_t>(n));
  }
  // Another thread may hold it for ever.
  if (::ftrylockfile(stdout) == 0) {
    std::fflush(stdout);
    ::funlockfile(stdout);
  }
  ::_exit(1);
}

// Called by `throw` itself: there is no handler, so the search for a handler
// has reached the end of the stack, and nothing has been unwound. Any `catch`
// on the way, even one that throws again, would have made it the stack of that
// place.
[[noreturn]] void on_terminate() {
  const auto which = is_recording() ? take_turn() : turn::taken;
  auto shown = std::string_view{};
  if (which == turn::ours
      || (!is_recording() && afterwards == uncaught::exits)) {
    static auto stack = call_stack{};
    map_program();
    walk(stack);
    drop_own_frames(stack);
    drop_start_up(stack);
    const auto said = confess();
    shown = stack_text(stack, said);
    if (which == turn::ours) {
      write_error(said.message, shown);
      end_turn();
    }
  } else if (is_recording()) {
    await_turn();
  }
  if (afterwards == uncaught::exits)
    leave(shown);
  if (previous != nullptr)
    previous();
  std::abort();
}

} // namespace

void catch_uncaught(uncaught how) {
  afterwards = how;
  const auto before = std::set_terminate(on_terminate);
  if (before != on_terminate)
    previous = before;
}

} // namespace actorrun::recording
