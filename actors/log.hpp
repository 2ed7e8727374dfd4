// Writes actors' decisions to the log: lines of the form
// `subject verb object: reason`.
#pragma once

#include <memory>
#include <string_view>

namespace spdlog {
class logger;
}

namespace actorrun {

/// Writes lines to a logger of the program's; silent without one. A copy is
/// cheap and writes to the same place.
class log {
public:
  log() = default;
  explicit log(std::shared_ptr<spdlog::logger> to) : to_(std::move(to)) {}

  /// For developers: what happens all the time.
  void debug(std::string_view line) const;
  /// For users: the course of the job.
  void info(std::string_view line) const;
  /// A fault that was handled.
  void warn(std::string_view line) const;
  /// A fault that ends the job.
  void error(std::string_view line) const;

private:
  std::shared_ptr<spdlog::logger> to_;
};

} // namespace actorrun
