// What all parts of the benchmark share.
#pragma once

#include "program.hpp"
#include "stamp_board.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::bench {

/// Where things are and how thoroughly we measure. Owns a folder for logs,
/// stamps and sockets, and removes it.
class setting {
public:
  /// The programs are looked for beside this one.
  static result<setting> prepare(bool quick);

  setting(setting&& other) noexcept = default;
  setting& operator=(setting&&) = delete;
  ~setting();

  bool quick() const { return quick_; }

  /// How often everything is measured.
  size_t repetitions() const { return quick_ ? 1 : 11; }

  /// Group sizes for the launch of `/bin/true`.
  std::vector<uint32_t> launch_sizes() const;

  /// How long processes at rest are watched.
  std::chrono::seconds rest_window() const {
    return std::chrono::seconds{quick_ ? 1 : 10};
  }

  /// How long the CPUs are kept busy.
  std::chrono::seconds saturated_window() const {
    return std::chrono::seconds{quick_ ? 2 : 20};
  }

  /// A program of ours.
  std::string tool(const std::string& name) const { return tools_ + name; }

  /// Hydra's launcher, if there is one.
  const std::optional<std::string>& hydra() const { return hydra_; }

  /// A command with our environment; what it prints goes to a file of its own.
  program::command command(std::vector<std::string> arguments,
                           std::vector<std::string> environment = {});

  /// A board of its own.
  result<stamp_board> new_board();

private:
  setting() = default;

  bool quick_ = false;
  std::string tools_;
  std::string folder_;
  std::optional<std::string> hydra_;
  uint32_t file_count_ = 0;
};

} // namespace actorrun::bench
