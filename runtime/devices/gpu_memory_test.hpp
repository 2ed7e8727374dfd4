// Tests the memory of one GPU, and measures how fast it copies.
#pragma once

#include "messages/result.hpp"
#include "runtime/devices/cuda.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace actorrun::detail {

/// In bytes per second; 0: not measured.
struct copy_rates {
  double to_gpu = 0;
  double from_gpu = 0;
  double within = 0;
};

struct gpu_memory_findings {
  uint64_t tested = 0; ///< In bytes.
  uint64_t free = 0;   ///< That there was.
  copy_rates rates{};
};

/// `126.9 GiB of memory keep what is written (54.1 GB/s to the GPU, …)`
std::string to_string(const gpu_memory_findings& x);

/// In bytes: copied at once.
inline constexpr size_t memory_block_size = size_t{64} * 1'024 * 1'024;

/// Fills nine tenths of the free memory with a pattern, each block with another part of
/// it, reads all of it back and compares. What others allocate meanwhile is left out.
/// Takes seconds, more with much memory.
/// @param index As CUDA numbers its devices.
/// @param block_size In bytes, a multiple of 8.
/// @retval errc::system_failure  memory does not keep what is written, or CUDA fails
result<gpu_memory_findings>
test_gpu_memory(const cuda::functions& library, int index,
                size_t block_size = memory_block_size);

} // namespace actorrun::detail
