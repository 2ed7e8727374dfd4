#include "model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>

namespace training {

namespace {

// All weights are stored by input: row `i` holds the weights of input `i` for
// all outputs. So every loop below reads adjacent memory.

void add_scaled(float* to, const float* row, float factor, size_t size) {
  for (auto i = size_t{0}; i < size; ++i)
    to[i] += factor * row[i];
}

float dot(const float* a, const float* b, size_t size) {
  auto sum = 0.0F;
  for (auto i = size_t{0}; i < size; ++i)
    sum += a[i] * b[i];
  return sum;
}

// outputs = bias + sum over i of inputs[i] * row i
void apply_layer(std::span<const float> inputs, const float* weights,
                 const float* bias, float* outputs, size_t size) {
  std::copy_n(bias, size, outputs);
  for (auto i = size_t{0}; i < inputs.size(); ++i)
    add_scaled(outputs, weights + i * size, inputs[i], size);
}

void softmax(float* values, size_t size) {
  const auto largest = *std::max_element(values, values + size);
  auto sum = 0.0F;
  for (auto i = size_t{0}; i < size; ++i)
    sum += values[i] = std::exp(values[i] - largest);
  for (auto i = size_t{0}; i < size; ++i)
    values[i] /= sum;
}

} // namespace

language_model::language_model(uint32_t symbol_count)
  : symbol_count_(symbol_count) {
  assert(symbol_count >= 2 && symbol_count <= symbol_count_max);
}

size_t language_model::parameter_count() const {
  return output_bias_at() + symbol_count_;
}

std::vector<float> language_model::first_parameters(uint64_t seed) const {
  auto random = std::mt19937_64{seed};
  auto result = std::vector<float>(parameter_count());
  const auto fill = [&](size_t from, size_t count, float scale) {
    for (auto i = from; i < from + count; ++i) {
      const auto unit = static_cast<float>(random() >> 40U) * 0x1p-24F;
      result[i] = (2 * unit - 1) * scale;
    }
  };
  fill(embeddings_at(), symbol_count_ * embedding, 0.5F);
  fill(input_weights_at(), input * hidden, std::sqrt(3.0F / input));
  // Small, so that the first prediction is nearly uniform: loss = ln(symbols).
  fill(output_weights_at(), hidden * symbol_count_, 0.02F);
  return result; // The biases start at 0.
}

language_model::activations
language_model::forward(std::span<const float> parameters,
                        std::span<const uint8_t> sample) const {
  const auto* p = parameters.data();
  auto x = activations{};
  for (auto i = size_t{0}; i < context; ++i)
    std::copy_n(p + embeddings_at() + sample[i] * embedding, embedding,
                x.inputs.data() + i * embedding);
  apply_layer(x.inputs, p + input_weights_at(), p + input_bias_at(),
              x.units.data(), hidden);
  for (auto& unit : x.units)
    unit = std::tanh(unit);
  apply_layer(x.units, p + output_weights_at(), p + output_bias_at(),
              x.probabilities.data(), symbol_count_);
  softmax(x.probabilities.data(), symbol_count_);
  return x;
}

float language_model::add_gradient(std::span<const float> parameters,
                                   std::span<const uint8_t> sample,
                                   std::span<float> gradient) const {
  assert(parameters.size() == parameter_count());
  assert(gradient.size() == parameter_count());
  assert(sample.size() == sample_size);
  auto x = forward(parameters, sample);
  const auto target = sample.back();
  const auto loss = -std::log(std::max(x.probabilities[target], 1e-30F));

  // Cross entropy of a softmax: the error is the prediction minus the target.
  auto* errors = x.probabilities.data();
  errors[target] -= 1;
  const auto* p = parameters.data();
  auto* g = gradient.data();
  auto unit_errors = std::array<float, hidden>{};
  for (auto i = size_t{0}; i < hidden; ++i) {
    const auto row = output_weights_at() + i * symbol_count_;
    add_scaled(g + row, errors, x.units[i], symbol_count_);
    unit_errors[i]
      = dot(p + row, errors, symbol_count_) * (1 - x.units[i] * x.units[i]);
  }
  add_scaled(g + output_bias_at(), errors, 1, symbol_count_);

  for (auto i = size_t{0}; i < input; ++i) {
    const auto row = input_weights_at() + i * hidden;
    const auto entry = embeddings_at() + sample[i / embedding] * embedding;
    add_scaled(g + row, unit_errors.data(), x.inputs[i], hidden);
    g[entry + i % embedding] += dot(p + row, unit_errors.data(), hidden);
  }
  add_scaled(g + input_bias_at(), unit_errors.data(), 1, hidden);
  return loss;
}

} // namespace training
