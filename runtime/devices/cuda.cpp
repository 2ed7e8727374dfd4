#include "runtime/devices/cuda.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/shared_library.hpp"

#include <cstdlib>

namespace actorrun::detail {

namespace {

std::string cuda_library_name() {
  const auto* name = std::getenv(cuda_variable);
  return name != nullptr && *name != '\0' ? name : cuda_name;
}

bool find_all(const shared_library& from, cuda::functions& out) {
  return from.find("cuInit", out.init)
         && from.find("cuDeviceGetCount", out.device_count)
         && from.find("cuDeviceGet", out.device_at)
         && from.find("cuDeviceGetName", out.name)
         && from.find("cuDeviceGetPCIBusId", out.pci_address)
         && from.find("cuDevicePrimaryCtxRetain", out.retain_context)
         && from.find("cuDevicePrimaryCtxRelease_v2", out.release_context)
         && from.find("cuCtxSetCurrent", out.use_context)
         && from.find("cuCtxSynchronize", out.finish)
         && from.find("cuMemGetInfo_v2", out.memory_info)
         && from.find("cuMemAlloc_v2", out.allocate)
         && from.find("cuMemFree_v2", out.free)
         && from.find("cuMemAllocHost_v2", out.allocate_on_host)
         && from.find("cuMemFreeHost", out.free_on_host)
         && from.find("cuMemcpyHtoD_v2", out.copy_to_gpu)
         && from.find("cuMemcpyDtoH_v2", out.copy_from_gpu)
         && from.find("cuMemcpyDtoD_v2", out.copy_on_gpu)
         && from.find("cuGetErrorString", out.error_string);
}

} // namespace

result<cuda::functions> open_cuda() {
  const auto name = cuda_library_name();
  const auto library = shared_library::load(name);
  if (!library)
    return system_failure("CUDA's driver library cannot be loaded: "
                          + library.error().text);
  auto out = cuda::functions{};
  if (!find_all(*library, out))
    return system_failure(formatted(
      "{} is too old or not CUDA's; actorrun needs a driver from 450 on",
      name));
  if (const auto code = out.init(0); code != cuda::success)
    return system_failure("CUDA cannot be used: " + text_of(out, code));
  return out;
}

std::string text_of(const cuda::functions& library, int code) {
  const char* text = nullptr;
  return library.error_string(code, &text) == cuda::success && text != nullptr
           ? text
           : formatted("CUDA's error {}", code);
}

} // namespace actorrun::detail
