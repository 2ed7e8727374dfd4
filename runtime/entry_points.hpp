// PUBLIC: registers functions that can be called in processes of their own.
#pragma once

#include "messages/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace actorrun {

/// The arguments of one call, or one return value, have at most this many bytes
/// as CBOR, and nest at most this deep.
inline constexpr size_t call_size_max = 64 * 1024 * 1024;
inline constexpr size_t return_size_max = 64 * 1024 * 1024;
inline constexpr size_t value_depth_max = 1'000;

/// The arguments of one worker. Text, numbers, truth values, vectors and maps
/// of them, and every type with a `to_json` are converted implicitly: `{"text",
/// 7, 0.5}`.
using argument_list = std::vector<nlohmann::json>;

/// The function behind a name. For internal use.
struct entry_function {
  /// Describes what is wrong with the arguments: `takes 2 arguments, not 3`.
  std::function<std::optional<std::string>(const argument_list&)> complaint;
  /// @pre `complaint` has none
  std::function<nlohmann::json(const argument_list&)> call;
};

/// A function that `start_processes` can run, known by its name in every
/// process of this program.
///
/// Define it at namespace scope, or in `main` before `run_as_worker`:
///
///     const auto trainer = actorrun::entry_point(
///       "trainer", [](std::string data, int steps) -> double { … });
///
/// Parameters are values or references to const, of any type that
/// `nlohmann::json` converts: of a type of your own, with `from_json`. The same
/// holds for the result, with `to_json`; `void` gives null. Values travel as
/// CBOR: all bytes of a text, NaN and every integer arrive as they were.
/// Arguments are also converted where they are given, to see that they can be.
class entry_point {
public:
  /// @param name 1..255 bytes; one function per name. `start_processes` reports
  ///             what is wrong with it.
  /// @param function With one signature: a lambda without `auto` parameters, a
  ///                 function, a class with one `operator()`.
  template <class Function>
  entry_point(std::string name, Function function) : name_(std::move(name)) {
    add(name_, wrap(std::function{std::move(function)}));
  }

  const std::string& name() const { return name_; }

private:
  template <class Result, class... Parameters>
  static entry_function wrap(std::function<Result(Parameters...)> function);
  static void add(const std::string& name, entry_function function);

  std::string name_;
};

/// Calls a function if this process was started to do that: the first thing
/// that `main` does in a program which starts functions by `spawn` or
/// `fork_server`. All functions are defined by then.
///
///     int main(int argc, char** argv) {
///       if (const auto code = actorrun::run_as_worker(argc, argv))
///         return *code;
///
/// @param argc, argv Those of `main`. A worker that is started by `spawn` gets
///                   the same, but for `argv[0]`.
/// @returns nothing if this process is not a worker: go on. Else what `main`
///          must return: 0, or 1 when the call was impossible and standard
///          error has the reason. Does not return when the function throws.
std::optional<int> run_as_worker(int argc, char** argv);

// -- conversions --------------------------------------------------------------

namespace entry_point_detail {

template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

template <class T>
constexpr bool is_number
  = std::is_integral_v<
      T> && !is_one_of<T, bool, char, wchar_t, char8_t, char16_t, char32_t>;

template <class T>
bool holds(const nlohmann::json& x) {
  using limits = std::numeric_limits<T>;
  const auto fits = [](uint64_t y) { return y <= uint64_t{limits::max()}; };
  if (x.is_number_unsigned())
    return fits(x.get<uint64_t>());
  if (!x.is_number_integer())
    return false;
  const auto y = x.get<int64_t>();
  return y < 0 ? y >= int64_t{limits::min()} : fits(static_cast<uint64_t>(y));
}

[[noreturn]] inline void refuse(const std::string& wanted,
                                const nlohmann::json& x) {
  throw std::invalid_argument{"must be " + wanted + ", not "
                              + (x.is_number() ? x.dump() : x.type_name())};
}

/// As `x.get<T>()`, which would cut numbers to size.
template <class T>
T convert(const nlohmann::json& x) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!x.is_boolean())
      refuse("a boolean", x);
  } else if constexpr (is_number<T>) {
    if (!holds<T>(x))
      refuse("an integer " + std::to_string(std::numeric_limits<T>::min())
               + ".." + std::to_string(std::numeric_limits<T>::max()),
             x);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!x.is_number())
      refuse("a number", x);
  }
  return x.get<T>();
}

/// Why the value at `index` is not a `T`; counted from 0, printed from 1.
template <class T>
std::optional<std::string> complaint(const argument_list& arguments,
                                     size_t index) {
  try {
    (void)convert<T>(arguments[index]);
    return std::nullopt;
  } catch (const std::exception& e) {
    return "argument " + std::to_string(index + 1) + " " + e.what();
  } catch (...) {
    return "argument " + std::to_string(index + 1) + " is refused";
  }
}

template <class Parameter>
constexpr bool is_passable
  = !std::is_lvalue_reference_v<
      Parameter> || std::is_const_v<std::remove_reference_t<Parameter>>;

} // namespace entry_point_detail

template <class Result, class... Parameters>
entry_function
entry_point::wrap(std::function<Result(Parameters...)> function) {
  namespace detail = entry_point_detail;
  static_assert((detail::is_passable<Parameters> && ...),
                "a worker has its own copy of each argument: take it by value "
                "or by reference to const");
  using indices = std::index_sequence_for<Parameters...>;
  auto complaint = [](const argument_list& arguments) {
    constexpr auto count = sizeof...(Parameters);
    auto found = std::optional<std::string>{};
    if (arguments.size() != count)
      found = "takes " + std::to_string(count) + " argument"
              + (count == 1 ? "" : "s") + ", not "
              + std::to_string(arguments.size());
    else
      [&]<size_t... I>(std::index_sequence<I...>) {
        ((found
          = found ? found
                  : detail::complaint<std::decay_t<Parameters>>(arguments, I)),
         ...);
      }
    (indices{});
    return found;
  };
  auto call = [f = std::move(function)](const argument_list& arguments) {
    return [&]<size_t... I>(std::index_sequence<I...>)->nlohmann::json {
      (void)arguments; // A function without parameters.
      if constexpr (std::is_void_v<Result>) {
        f(detail::convert<std::decay_t<Parameters>>(arguments[I])...);
        return nullptr;
      } else {
        return nlohmann::json(
          f(detail::convert<std::decay_t<Parameters>>(arguments[I])...));
      }
    }
    (indices{});
  };
  return {std::move(complaint), std::move(call)};
}

} // namespace actorrun
