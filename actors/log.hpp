// Writes actors' decisions to the log: lines of the form
// `subject verb object: reason`.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace actorrun {

enum class log_level : uint8_t {
  debug,   ///< For developers: what happens all the time.
  info,    ///< For users: the course of the job.
  warning, ///< A fault that was handled.
  error,   ///< A fault that ends the job.
};

/// Passes lines to a function of the program's; silent without one. A copy is cheap
/// and writes to the same place.
class log {
public:
  log() = default;

  /// @param to Called on any thread, on several at a time; must not block. A line is
  ///           printable and without its end; one that has several continues them
  ///           with two spaces.
  template <std::invocable<log_level, std::string_view> Writer>
  log(Writer to) : to_(std::make_shared<const writer>(std::move(to))) {}

  void debug(std::string_view line) const { put(log_level::debug, line); }
  void info(std::string_view line) const { put(log_level::info, line); }
  void warn(std::string_view line) const { put(log_level::warning, line); }
  void error(std::string_view line) const { put(log_level::error, line); }

private:
  using writer = std::function<void(log_level, std::string_view)>;

  void put(log_level level, std::string_view line) const;

  std::shared_ptr<const writer> to_;
};

} // namespace actorrun
