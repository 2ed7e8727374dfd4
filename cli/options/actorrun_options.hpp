// Describes the command line of `actorrun`, with the options of all pages of this
// folder.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/run_settings.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace actorrun::cli {

/// An App, and where the values of its options go. Options of torchrun that have no
/// meaning here are among them: they accept values that ask for nothing and refuse
/// all others.
struct run_program {
  /// @param cpu_count For `--nproc-per-node=cpu`.
  explicit run_program(const std::function<uint32_t()>& cpu_count = {});
  run_program(const run_program&) = delete;
  run_program& operator=(const run_program&) = delete;

  run_settings settings;
  std::shared_ptr<CLI::App> app;
};

} // namespace actorrun::cli
