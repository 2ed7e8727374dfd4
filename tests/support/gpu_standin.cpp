// STAND-IN for the drivers of GPUs: a library with functions of NVML, CUDA and
// Level Zero that answers from its world's file. With STANDIN_OF_535 it lists
// processes as drivers 535.43 to 535.86 do.
#include "tests/support/gpu_standin_world.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using namespace gpu_standin;

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int no_permission = 4;
constexpr int not_found = 6;
constexpr int insufficient_size = 7;
constexpr int timeout = 10;
constexpr int gpu_is_lost = 15;

/// Interval at which a caller that hangs reads the world again, in
/// milliseconds.
constexpr int hang_slice = 50;

/// A handle is the address of a place in here: GPU n is n, its part p is
/// `parts_first` + n * `parts_each` + p.
constexpr size_t parts_first = 64;
constexpr size_t parts_each = 8;
char handles[parts_first * (parts_each + 1)];

size_t place_of(const void* handle) {
  return static_cast<size_t>(static_cast<const char*>(handle) - handles);
}

/// The GPU that a handle stands for; `part` is empty for a whole GPU.
struct found {
  gpu what;
  std::string part;
  int code = success;
};

found find(const void* handle) {
  const auto all = look();
  const auto place = place_of(handle);
  const auto is_part = place >= parts_first;
  const auto index = is_part ? (place - parts_first) / parts_each : place;
  if (index >= all.gpus.size())
    return {.what = {}, .part = {}, .code = not_found};
  auto out = found{.what = all.gpus[index], .part = {}};
  if (is_part) {
    const auto parts = out.what.list("parts");
    const auto part = (place - parts_first) % parts_each;
    if (part >= parts.size())
      return {.what = {}, .part = {}, .code = not_found};
    out.part = parts[part];
  }
  if (out.what.has("lost"))
    out.code = gpu_is_lost;
  return out;
}

int put(const std::string& text, char* to, unsigned size) {
  if (text.size() >= size)
    return insufficient_size;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return success;
}

/// Runs `fn` with the GPU behind `handle`.
template <class Function>
int with(const void* handle, Function fn) {
  const auto x = find(handle);
  return x.code == success ? fn(x) : x.code;
}

/// A waiter for events: receives those that come after its creation.
struct event_set {
  size_t told = look().xids.size();

  bool take(xid& out) {
    const auto all = look().xids;
    if (told >= all.size())
      return false;
    out = all[told++];
    return true;
  }
};

struct standin_memory {
  unsigned long long total, free, used;
};

struct standin_use {
  unsigned gpu, memory;
};

struct standin_pci {
  char old_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct standin_process {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct standin_long_process {
  standin_process known;
  unsigned long long protected_memory;
};

struct standin_event {
  void* where;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

/// Whether only the parts of a GPU report this, and `x` is the whole.
bool is_secret(const found& x) {
  return x.part.empty() && x.what.has("private");
}

void set_pid(standin_process& x, unsigned pid) {
  x = {.pid = pid, .used_memory = 0, .gpu_instance = 0, .compute_instance = 0};
}

[[maybe_unused]] void set_pid(standin_long_process& x, unsigned pid) {
  set_pid(x.known, pid);
  x.protected_memory = 0;
}

template <class Process>
int put_processes(const void* device, unsigned* count, Process* out) {
  return with(device, [&](const found& x) {
    if (is_secret(x))
      return no_permission;
    const auto pids = x.what.list("pids");
    if (pids.size() > *count)
      return insufficient_size;
    *count = 0;
    for (const auto& pid : pids)
      set_pid(out[(*count)++], static_cast<unsigned>(std::atoll(pid.c_str())));
    return success;
  });
}

template <class Number>
int put_number(const void* device, const char* key, Number* out) {
  return with(device, [&](const found& x) {
    if (!x.what.has(key))
      return not_supported;
    *out = static_cast<Number>(x.what.number(key));
    return success;
  });
}

// -- CUDA -----------------------------------------------------------------------

/// A context is the handle of its GPU.
thread_local void* context = nullptr;

/// In bytes, that this process has of all GPUs.
std::atomic<size_t> allocated = 0;

/// Of each allocation the size comes first.
constexpr size_t size_room = 64;

size_t free_memory() {
  const auto x = find(context).what;
  const auto all = static_cast<size_t>(x.number("total") - x.number("used"));
  return all - std::min(all, allocated.load());
}

} // namespace

extern "C" {

int nvmlInit_v2() {
  return look().init;
}

const char* nvmlErrorString(int code) {
  return code == gpu_is_lost ? "GPU is lost" : "Stand-in Error";
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(look().gpus.size());
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  while (look().hangs)
    await_change(hang_slice);
  *out = handles + index;
  const auto x = find(*out);
  return x.what.has("denied") ? no_permission : x.code;
}

int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  return with(device, [&](const found& x) {
    return put(x.part.empty() ? x.what.text("uuid") : x.part, out, size);
  });
}

int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  return with(device, [&](const found& x) {
    return put(x.what.text("name"), out, size);
  });
}

int nvmlDeviceGetPciInfo_v3(void* device, standin_pci* out) {
  return with(device, [&](const found& x) {
    return put(x.what.text("pci"), out->bus_id, sizeof out->bus_id);
  });
}

int nvmlDeviceGetMemoryInfo(void* device, standin_memory* out) {
  return with(device, [&](const found& x) {
    if (is_secret(x))
      return no_permission;
    out->total = static_cast<unsigned long long>(x.what.number("total"));
    out->used = static_cast<unsigned long long>(x.what.number("used"));
    out->free = out->total - out->used;
    return success;
  });
}

int nvmlDeviceGetUtilizationRates(void* device, standin_use* out) {
  return with(device, [&](const found& x) {
    if (!x.what.has("util"))
      return not_supported;
    out->gpu = static_cast<unsigned>(x.what.number("util"));
    return success;
  });
}

int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* out) {
  return with(device, [&](const found& x) {
    if (!x.what.has("temp"))
      return not_supported;
    *out = static_cast<unsigned>(x.what.number("temp"));
    return success;
  });
}

int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count,
                                            standin_process* out) {
  return put_processes(device, count, out);
}

#ifdef STANDIN_OF_535
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                            standin_long_process* out) {
  return put_processes(device, count, out);
}
#else
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                            standin_process* out) {
  return put_processes(device, count, out);
}

int nvmlDeviceGetRunningProcessDetailList(void*, void*) {
  return not_supported;
}
#endif

int nvmlDeviceGetRetiredPagesPendingStatus(void* device, unsigned* out) {
  return put_number(device, "retire", out);
}

int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected,
                              unsigned* uncorrected, unsigned* is_pending,
                              unsigned* has_failed) {
  return with(device, [&](const found& x) {
    if (!x.what.has("remap") && !x.what.has("lostrow"))
      return not_supported;
    *corrected = *uncorrected = 1;
    *is_pending = static_cast<unsigned>(x.what.number("remap"));
    *has_failed = static_cast<unsigned>(x.what.number("lostrow"));
    return success;
  });
}

int nvmlDeviceGetTotalEccErrors(void* device, unsigned kind, unsigned counter,
                                unsigned long long* out) {
  constexpr unsigned uncorrected = 1;
  constexpr unsigned since_load = 0;
  return kind == uncorrected && counter == since_load
           ? put_number(device, "ecc", out)
           : not_supported;
}

int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* out) {
  return put_number(device, "width", out);
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* out) {
  return put_number(device, "widthmax", out);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* out) {
  return put_number(device, "gen", out);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* out) {
  return put_number(device, "genmax", out);
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  return with(device, [&](const found& x) {
    *current = *pending = static_cast<unsigned>(x.what.number("mig"));
    return success;
  });
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* out) {
  *out = parts_each;
  return success;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index,
                                        void** out) {
  *out = handles + parts_first + place_of(device) * parts_each + index;
  return find(*out).code;
}

int nvmlEventSetCreate(void** out) {
  *out = new event_set;
  return success;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long, void*) {
  return find(device).code;
}

int nvmlEventSetWait_v2(void* set, standin_event* out, unsigned milliseconds) {
  auto& events = *static_cast<event_set*>(set);
  auto next = xid{};
  if (!events.take(next)) {
    await_change(static_cast<int>(milliseconds));
    if (!events.take(next))
      return timeout;
  }
  *out = {.where = handles + next.gpu,
          .type = 8,
          .data = next.number,
          .gpu_instance = 0,
          .compute_instance = 0};
  return success;
}

int nvmlEventSetFree(void* set) {
  delete static_cast<event_set*>(set);
  return success;
}

int cuInit(unsigned) {
  constexpr auto no_device = 100;
  while (look().cuda < 0)
    ::pause(); // A driver that hangs.
  return look().cuda > 0 ? success : no_device;
}

int cuDeviceGetCount(int* out) {
  *out = look().cuda;
  return success;
}

int cuGetErrorString(int, const char** out) {
  *out = "stand-in error";
  return success;
}

int cuDeviceGet(int* out, int index) {
  *out = index;
  return index < look().cuda ? success : not_found;
}

int cuDeviceGetName(char* out, int size, int device) {
  return nvmlDeviceGetName(handles + device, out, static_cast<unsigned>(size));
}

// NVML writes the domain with eight digits.
int cuDeviceGetPCIBusId(char* out, int size, int device) {
  constexpr size_t digits_more = 4;
  return put(find(handles + device).what.text("pci").substr(digits_more), out,
             static_cast<unsigned>(size));
}

int cuDevicePrimaryCtxRetain(void** out, int device) {
  *out = handles + device;
  return success;
}

int cuDevicePrimaryCtxRelease_v2(int) {
  return success;
}

int cuCtxSetCurrent(void* x) {
  context = x;
  return success;
}

int cuCtxSynchronize() {
  return success;
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = free_memory();
  *total = static_cast<size_t>(find(context).what.number("total"));
  return success;
}

int cuMemAlloc_v2(unsigned long long* out, size_t size) {
  constexpr auto out_of_memory = 2;
  if (size > free_memory())
    return out_of_memory;
  allocated += size;
  auto* place = static_cast<char*>(std::malloc(size + size_room));
  std::memcpy(place, &size, sizeof size);
  *out = reinterpret_cast<unsigned long long>(place + size_room);
  return success;
}

int cuMemFree_v2(unsigned long long x) {
  auto* place = reinterpret_cast<char*>(x) - size_room;
  auto size = size_t{0};
  std::memcpy(&size, place, sizeof size);
  allocated -= size;
  std::free(place);
  return success;
}

int cuMemAllocHost_v2(void** out, size_t size) {
  *out = std::malloc(size);
  return success;
}

int cuMemFreeHost(void* x) {
  std::free(x);
  return success;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t size) {
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return success;
}

int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t size) {
  std::memcpy(to, reinterpret_cast<const void*>(from), size);
  if (find(context).what.has("breaks"))
    static_cast<unsigned char*>(to)[size / 2] ^= 4U;
  return success;
}

int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from,
                    size_t size) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
              size);
  return success;
}

int zeInit(unsigned) {
  constexpr auto uninitialized = 0x78000001;
  return look().xpu > 0 ? success : uninitialized;
}

int zeDriverGet(unsigned* count, void** out) {
  out[0] = handles;
  *count = 1;
  return success;
}

int zeDeviceGet(void*, unsigned* count, void**) {
  *count = static_cast<unsigned>(look().xpu);
  return success;
}
}
