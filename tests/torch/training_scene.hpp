// A scene whose workers train with PyTorch: `examples/pytorch_ddp`.
#pragma once

#include "tests/system/carried.hpp"
#include "tests/system/scene.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::test {

/// Longest wait for steps that include the import of torch by several
/// processes.
inline constexpr auto training_timeout = 2 * timeout;

/// What one worker prints at its start: `rank 0: pid 7, from step 20, world 2,
/// restarts 0`.
struct training_start {
  uint32_t rank = 0;
  pid_t pid = 0;
  uint32_t step = 0; ///< Steps done by the checkpoint.
  uint32_t world = 0;
  uint32_t restarts = 0;
};

/// What rank 0 prints at its end: `done: 60 steps, weights 60.7, world 2,
/// restarts 0`.
struct training_end {
  uint32_t steps = 0;
  double weights = 0; ///< The sum of their absolute values.
  uint32_t world = 0;
  uint32_t restarts = 0;
};

/// How one node takes part.
struct node_options {
  std::string nodes = "1";
  uint32_t slots = 2;
  uint32_t restart_count_max = 0;
  words training = {};  ///< Options of the script.
  words launcher = {};  ///< More options of actorrun.
  bool is_live = false; ///< Its workers live through changes.
};

struct training_scene : scene {
  /// The number of steps of a run, unless a test changes it.
  static constexpr uint32_t step_count = 60;

  /// Whether some Python here has torch. Prints a line if none has, which CTest
  /// takes for a skipped test.
  bool has_torch();

  /// @pre has_torch()
  const std::string& python() const { return torch_.python; }

  /// Environment of the training: the interpreter and our package for it, one
  /// thread each, loopback.
  std::map<std::string, std::string> variables() const;

  /// Starts an agent; the first one hosts the coordinator. All of them share a
  /// checkpoint and make `step_count` steps.
  program& node(const node_options& x);

  /// Starts a job of this node alone, with the same checkpoint and steps.
  program& alone(uint32_t slots, const words& training = {});

  /// Options that every launcher gets here.
  words launcher_options() const;

  /// The script and its options: train.py, or live.py.
  words script(const words& more = {}, bool is_live = false) const;

  /// The weights that one undisturbed process ends with.
  double undisturbed_weights(uint32_t steps = step_count);

  std::string checkpoint() const { return folder() + "/checkpoint.pt"; }

private:
  struct torch {
    std::string python;    ///< The interpreter that has torch.
    bool has_libuv = true; ///< Otherwise it cannot use an agent's store.
  };

  std::optional<torch> find_torch();

  torch torch_;
  bool has_host_ = false;
};

/// In the order in which they were printed.
std::vector<training_start> starts_in(const std::string& output);

/// Fails the test unless the text has exactly one match.
training_end end_in(const std::string& output);

/// Waits until `count` workers of one world have begun after step `step`, in
/// the output of all `nodes` together.
bool await_world_of(const std::vector<program*>& nodes, uint32_t count,
                    uint32_t step = 0);

/// Waits until rank 0 has done the given steps in a world of that size.
bool await_step(program& node, uint32_t step, uint32_t world);

/// Equal but for the order in which gradients were added up.
bool are_close(double a, double b);

} // namespace actorrun::test
