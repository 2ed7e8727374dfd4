// Shared by all parts of the benchmark.
#pragma once

#include "tests/bench/program.hpp"
#include "tests/bench/stamp_tracker.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::bench {

/// The paths, and the number of repetitions. Owns a folder for logs, stamps and
/// sockets, and removes it.
class setting {
public:
  /// The programs are searched next to this one.
  static result<setting> prepare(bool quick);

  setting(setting&& other) noexcept = default;
  setting& operator=(setting&&) = delete;
  ~setting();

  bool quick() const { return quick_; }

  /// Repetitions of a measurement.
  size_t repetitions() const { return quick_ ? 1 : 11; }

  /// Repetitions of measurements that take seconds.
  size_t stream_repetitions() const { return quick_ ? 1 : 5; }

  /// Group sizes for the launch of `/bin/true`.
  std::vector<uint32_t> launch_sizes() const;

  /// How long idle processes are observed.
  std::chrono::seconds rest_window() const {
    return std::chrono::seconds{quick_ ? 1 : 10};
  }

  /// How long the CPUs are kept busy.
  std::chrono::seconds saturated_window() const {
    return std::chrono::seconds{quick_ ? 2 : 20};
  }

  /// How long workers with timers must survive.
  std::chrono::seconds soak_window() const {
    return soak_window_.value_or(std::chrono::seconds{quick_ ? 2 : 15});
  }
  void set_soak_window(std::chrono::seconds x) { soak_window_ = x; }

  /// How many hollow agents meet, one number after the other.
  const std::vector<uint32_t>& hollow_counts() const { return hollow_counts_; }
  void set_hollow_counts(std::vector<uint32_t> x) {
    hollow_counts_ = std::move(x);
  }

  /// How many workers the launchers start that are compared with torchrun, one
  /// number after the other; empty: 4, and what else is compared.
  const std::vector<uint32_t>& torchrun_counts() const {
    return torchrun_counts_;
  }
  void set_torchrun_counts(std::vector<uint32_t> x) {
    torchrun_counts_ = std::move(x);
  }

  /// Whether their coordinator is killed, and nothing else is measured: to be started
  /// again, …
  bool restarts_hollow() const { return restarts_hollow_; }
  void restart_hollow() { restarts_hollow_ = true; }
  /// … or to be followed by another one.
  bool elects_hollow() const { return elects_hollow_; }
  void elect_hollow() { elects_hollow_ = true; }

  /// A program of actorrun.
  std::string tool(const std::string& name) const { return tools_ + name; }

  /// Whether that program is there; large ones are for one part only.
  result<void> need(const std::string& name) const;

  /// Hydra's launcher, if there is one.
  const std::optional<std::string>& hydra() const { return hydra_; }

  /// A Python that has torchrun, if there is one; `PYTHON_EXEC` is tried first.
  /// The first call searches it, which takes seconds.
  const std::optional<std::string>& python_with_torch();

  /// Torch's version, as it reports it: `2.6.0`. @pre python_with_torch()
  const std::string& torch_version() const { return torch_version_; }

  /// The path of a new file.
  std::string new_file();

  /// A new folder.
  std::string new_folder();

  /// A command with the benchmark's environment; its output goes to a new file.
  program::command command(std::vector<std::string> arguments,
                           std::vector<std::string> environment = {});

  /// A new tracker.
  result<stamp_tracker> new_tracker();

private:
  setting() = default;

  bool quick_ = false;
  std::optional<std::chrono::seconds> soak_window_;
  std::vector<uint32_t> hollow_counts_;
  std::vector<uint32_t> torchrun_counts_;
  bool restarts_hollow_ = false;
  bool elects_hollow_ = false;
  std::string tools_;
  std::string folder_;
  std::optional<std::string> hydra_;
  std::optional<std::string> python_;
  std::string torch_version_;
  bool has_inspected_python_ = false;
  uint32_t file_count_ = 0;
};

} // namespace actorrun::bench
