// Predicts the next character from the last eight, with a small network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace training {

/// Embedding of each of the last `context` symbols -> tanh -> softmax.
///
/// Holds no parameters: they are in one flat vector, which is all that the
/// optimiser, the all-reduce and the checkpoint need to know of the model.
class language_model {
public:
  static constexpr size_t context = 8;
  static constexpr size_t embedding = 16; ///< Numbers per input symbol.
  static constexpr size_t hidden = 128;   ///< Units of the hidden layer.
  static constexpr size_t input = context * embedding;
  static constexpr size_t sample_size = context + 1;
  static constexpr size_t symbol_count_max = 256;

  /// @pre 2 <= symbol_count <= `symbol_count_max`
  explicit language_model(uint32_t symbol_count);

  size_t parameter_count() const;

  /// Random, the same for the same seed.
  std::vector<float> first_parameters(uint64_t seed) const;

  /// Runs one sample forward and backward and adds its gradient.
  /// @param parameters  shape [`parameter_count()`]
  /// @param sample      shape [`sample_size`], each below the symbol count; the
  ///                    last is the one to predict
  /// @param gradient    shape [`parameter_count()`], added to
  /// @returns the loss of the sample in nats
  float add_gradient(std::span<const float> parameters,
                     std::span<const uint8_t> sample,
                     std::span<float> gradient) const;

private:
  using symbols = std::array<float, symbol_count_max>;

  // Values of the forward pass that the backward pass needs.
  struct activations {
    std::array<float, input> inputs;
    std::array<float, hidden> units;
    symbols probabilities;
  };

  activations forward(std::span<const float> parameters,
                      std::span<const uint8_t> sample) const;

  // Where each layer's numbers start in the flat vector.
  size_t embeddings_at() const { return 0; }
  size_t input_weights_at() const { return symbol_count_ * embedding; }
  size_t input_bias_at() const { return input_weights_at() + input * hidden; }
  size_t output_weights_at() const { return input_bias_at() + hidden; }
  size_t output_bias_at() const {
    return output_weights_at() + hidden * symbol_count_;
  }

  size_t symbol_count_;
};

} // namespace training
