// Where actors say what they decided: lines of the form
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

  /// What happens all the time, for who looks for a fault.
  void debug(std::string_view line) const;
  /// What a user wants to follow.
  void info(std::string_view line) const;
  /// What went wrong and has been answered.
  void warn(std::string_view line) const;
  /// What ended the job.
  void error(std::string_view line) const;

private:
  std::shared_ptr<spdlog::logger> to_;
};

} // namespace actorrun
