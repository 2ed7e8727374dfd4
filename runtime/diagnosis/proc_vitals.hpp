// Samples how this node and its workers are doing, when it is asked.
#pragma once

#include "actors/ports/node_vitals.hpp"
#include "runtime/diagnosis/vitals_sampler.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace actorrun::detail {

/// Reads /proc on a detached thread that ends with its sample, and the log files
/// on another: a file system that hangs costs what is known of the output, and
/// the memory of one thread. No listener is called once this object is gone.
class proc_vitals final : public ports::node_vitals {
public:
  /// At most this many questions wait for a sample; others get the last one.
  static constexpr size_t waiting_max = 64;

  /// A sample is so long new enough for further questions.
  static constexpr auto fresh = std::chrono::milliseconds{200};

  /// Between two readings where there is no recent one to compare with.
  static constexpr auto gap = std::chrono::milliseconds{200};

  /// Longest wait for the file system of the logs.
  static constexpr auto output_timeout = std::chrono::milliseconds{100};

  /// Looks at the log files of workers; may block.
  using output_inspector
    = std::function<std::vector<output_facts>(const core::generation_outputs&)>;

  explicit proc_vitals(output_inspector inspect = inspect_outputs);
  ~proc_vitals() override;
  proc_vitals(const proc_vitals&) = delete;
  proc_vitals& operator=(const proc_vitals&) = delete;

  void follow(generation_id generation,
              const core::generation_outputs& outputs) override;
  void sample(generation_id generation, const std::vector<int64_t>& pids,
              listener on_answer) override;

  /// How often /proc was read for an answer.
  size_t sample_count() const;

private:
  struct shared;

  std::shared_ptr<shared> shared_;
};

} // namespace actorrun::detail
