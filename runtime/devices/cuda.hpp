// Loads CUDA's driver library, and declares the part of its binary interface that we
// call: no package has its header to build with.
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace actorrun::detail::cuda {

using context = struct context_tag*;
using address = unsigned long long; ///< On a GPU.

inline constexpr int success = 0;
inline constexpr size_t text_size_max = 96; ///< Of names and PCI addresses.

/// The functions; cuda.cpp has their names. Each returns `success` or an error.
struct functions {
  int (*init)(unsigned flags) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_at)(int* device, int index) = nullptr;
  int (*name)(char*, int size, int device) = nullptr;
  int (*pci_address)(char*, int size, int device) = nullptr;
  int (*retain_context)(context*, int device) = nullptr;
  int (*release_context)(int device) = nullptr;
  int (*use_context)(context) = nullptr;
  int (*finish)() = nullptr; ///< Waits for all that was begun.
  int (*memory_info)(size_t* free, size_t* total) = nullptr;
  int (*allocate)(address*, size_t) = nullptr;
  int (*free)(address) = nullptr;
  int (*allocate_on_host)(void**, size_t) = nullptr;
  int (*free_on_host)(void*) = nullptr;
  int (*copy_to_gpu)(address, const void*, size_t) = nullptr;
  int (*copy_from_gpu)(void*, address, size_t) = nullptr;
  int (*copy_on_gpu)(address to, address from, size_t) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
};

} // namespace actorrun::detail::cuda

namespace actorrun::detail {

/// Names another library than the driver's, for tests and unusual places.
inline constexpr const char* cuda_variable = "ACTORRUN_CUDA_LIBRARY";
inline constexpr const char* cuda_name = "libcuda.so.1";

/// Loads and initialises the library. Leaves threads and handlers in this program, and
/// may hang with a driver that hangs: only for a process of its own.
/// @retval errc::system_failure  there is none, or no driver, or it fails
result<cuda::functions> open_cuda();

/// The library's text for one of its errors.
std::string text_of(const cuda::functions& library, int code);

} // namespace actorrun::detail
