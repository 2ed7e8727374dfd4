// Parses the command line of a worker, the same for all workers of a job.
#pragma once

#include <cstdint>
#include <string>

namespace training {

/// Maximum steps and batch size that make sense for so small a model.
inline constexpr uint64_t steps_max = 1'000'000'000;
inline constexpr uint32_t batch_max = 65'536;

struct options {
  std::string text = "/usr/share/common-licenses/GPL-3";
  std::string checkpoint = "elastic_training.checkpoint";
  std::string progress; ///< Empty: no progress file.
  uint64_t steps = 2'000;
  uint64_t checkpoint_every = 20; ///< Steps; lost if all workers are.
  uint64_t progress_every = 5;    ///< Steps.
  /// Samples of one step, over all workers. Does not depend on the world size,
  /// so the loss curve is the same for any number of workers.
  uint32_t batch = 256;
  float learning_rate = 0.003F;
  uint32_t steps_per_second = 0; ///< Maximum; 0 means no limit.
  uint64_t seed = 1;
};

/// Ends the process, naming the argument, if one is unknown or wrong; for
/// `--help` prints the options and ends it with success.
options parse_options(int argc, char** argv);

} // namespace training
