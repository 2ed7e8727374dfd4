#include "text.hpp"

#include "fail.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace training {

namespace {

std::string read_file(const std::string& path) {
  // Checked first: a folder opens like a file and fails only at the read.
  auto error = std::error_code{};
  const auto size = std::filesystem::file_size(path, error);
  if (error)
    fail("cannot read the text " + path
         + " (--text=FILE names another): " + error.message());
  if (size > text_size_max)
    fail("the text " + path + " is larger than 64 MiB");
  auto bytes = std::string(size, '\0');
  auto file = std::ifstream{path, std::ios::binary};
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size)))
    fail("cannot read the text " + path);
  return bytes;
}

// The finaliser of SplitMix64: maps adjacent to independent numbers.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111eb;
  return x ^ (x >> 31U);
}

} // namespace

text load_text(const std::string& path, size_t sample_size) {
  const auto bytes = read_file(path);
  if (bytes.size() < sample_size)
    fail("the text " + path + " is shorter than one sample");
  auto used = std::array<bool, 256>{};
  for (const auto byte : bytes)
    used[static_cast<uint8_t>(byte)] = true;
  auto result = text{};
  auto symbol_of = std::array<uint8_t, 256>{};
  for (auto byte = size_t{0}; byte < used.size(); ++byte)
    if (used[byte])
      symbol_of[byte] = static_cast<uint8_t>(result.symbol_count++);
  if (result.symbol_count < 2)
    fail("the text " + path + " has only one character, over and over");
  result.symbols.reserve(bytes.size());
  for (const auto byte : bytes)
    result.symbols.push_back(symbol_of[static_cast<uint8_t>(byte)]);
  result.fingerprint = fingerprint_of(std::as_bytes(std::span{bytes}));
  return result;
}

std::span<const uint8_t> draw_sample(const text& from, size_t size,
                                     uint64_t seed, uint64_t step,
                                     uint32_t index) {
  const auto starts = from.symbols.size() - size + 1;
  const auto number = mix(mix(mix(seed + 1) + step) + index);
  return std::span{from.symbols}.subspan(number % starts, size);
}

uint64_t fingerprint_of(std::span<const std::byte> bytes, uint64_t start) {
  for (const auto byte : bytes)
    start = (start ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  return start;
}

} // namespace training
