// The state that a worker needs to resume: the content of a checkpoint.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace training {

struct training_state {
  uint64_t step = 0; ///< Steps done.
  float loss = 0;    ///< Mean of about the last twenty steps, in nats.
  std::vector<float> parameters;
  std::vector<float> first_moment;  ///< Adam's; as long as `parameters`.
  std::vector<float> second_moment; ///< Adam's; as long as `parameters`.
};

training_state first_state(std::vector<float> parameters);

/// Does one step of Adam. Equal input gives equal output, so the workers stay
/// equal without exchanging parameters.
/// @param gradient  mean over the samples of the step
/// @param loss      mean over the samples of the step, in nats
void advance(training_state& state, std::span<const float> gradient, float loss,
             float learning_rate);

} // namespace training
