#include "state.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace training {

namespace {

// Adam's constants, as its authors recommend.
constexpr auto first_decay = 0.9F;
constexpr auto second_decay = 0.999F;
constexpr auto epsilon = 1e-8F;

// The number of steps that the reported loss averages.
constexpr auto loss_window = uint64_t{20};

} // namespace

training_state first_state(std::vector<float> parameters) {
  auto result = training_state{};
  result.first_moment.resize(parameters.size());
  result.second_moment.resize(parameters.size());
  result.parameters = std::move(parameters);
  return result;
}

void advance(training_state& state, std::span<const float> gradient, float loss,
             float learning_rate) {
  assert(gradient.size() == state.parameters.size());
  ++state.step;
  const auto steps = static_cast<float>(state.step);
  const auto rate = learning_rate * std::sqrt(1 - std::pow(second_decay, steps))
                    / (1 - std::pow(first_decay, steps));
  for (auto i = size_t{0}; i < gradient.size(); ++i) {
    auto& first = state.first_moment[i];
    auto& second = state.second_moment[i];
    first += (1 - first_decay) * (gradient[i] - first);
    second += (1 - second_decay) * (gradient[i] * gradient[i] - second);
    state.parameters[i] -= rate * first / (std::sqrt(second) + epsilon);
  }
  // A plain mean at first, then an exponential one.
  const auto weight = static_cast<float>(std::min(state.step, loss_window));
  state.loss += (loss - state.loss) / weight;
}

} // namespace training
