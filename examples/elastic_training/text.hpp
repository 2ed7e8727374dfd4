// Reads the training text, as indices into its own set of characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace training {

/// Largest text that is read, in bytes.
inline constexpr size_t text_size_max = size_t{64} << 20U;

/// Symbol `i` stands for the i-th of the distinct bytes of the text, in
/// ascending order.
struct text {
  std::vector<uint8_t> symbols;
  uint32_t symbol_count = 0; ///< Distinct symbols, 2..256.
  uint64_t fingerprint = 0;  ///< Distinguishes texts.
};

/// Ends the process if the file cannot be read, is too long, or is shorter than
/// one sample of `sample_size` symbols.
text load_text(const std::string& path, size_t sample_size);

/// Draws one sample: `size` consecutive symbols. The choice depends only on the
/// arguments, so a step draws the same samples in every world size.
std::span<const uint8_t> draw_sample(const text& from, size_t size,
                                     uint64_t seed, uint64_t step,
                                     uint32_t index);

/// FNV-1a, 64 bit.
uint64_t fingerprint_of(std::span<const std::byte> bytes,
                        uint64_t start = 0xcbf29ce484222325);

} // namespace training
