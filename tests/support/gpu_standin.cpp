// STAND-IN for the drivers of GPUs: a library that has NVML's, CUDA's and Level
// Zero's functions and answers from the text file that ACTORRUN_GPU_STANDIN
// names. It is read anew at every call, so tests change the world by writing.
//
//   init 9                    nvmlInit fails with that code
//   gpu KEY=VALUE…            one GPU: uuid name pci used total util temp lost
//                             mig=1 parts=UUID,UUID pids=PID,PID
//   xid INDEX NUMBER          an event; who waits for events by then is told
//   cuda N, xpu N             what the other two drivers count; cuda -1: hangs
//
// Values have `_` where a blank is meant.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int insufficient_size = 7;
constexpr int timeout = 10;
constexpr int gpu_is_lost = 15;

/// A handle is the address of a place in here: GPU n is n, its part p is
/// `parts_first` + n * `parts_each` + p.
constexpr size_t parts_first = 64;
constexpr size_t parts_each = 8;
char handles[parts_first * (parts_each + 1)];

struct gpu {
  std::map<std::string, std::string> values;

  std::string text(const std::string& key) const {
    const auto i = values.find(key);
    auto out = i == values.end() ? std::string{} : i->second;
    std::replace(out.begin(), out.end(), '_', ' ');
    return out;
  }

  long long number(const std::string& key) const {
    return std::atoll(text(key).c_str());
  }

  bool has(const std::string& key) const { return values.contains(key); }

  std::vector<std::string> list(const std::string& key) const {
    auto out = std::vector<std::string>{};
    auto from = std::istringstream{text(key)};
    for (auto x = std::string{}; std::getline(from, x, ',');)
      out.push_back(x);
    return out;
  }
};

struct xid {
  size_t gpu = 0;
  unsigned long long number = 0;
};

struct world {
  int init = success;
  int cuda = 0;
  int xpu = 0;
  std::vector<gpu> gpus;
  std::vector<xid> xids;
};

std::string world_file() {
  const auto* path = std::getenv("ACTORRUN_GPU_STANDIN");
  return path == nullptr ? "" : path;
}

gpu read_gpu(std::istream& words) {
  auto out = gpu{};
  for (auto word = std::string{}; words >> word;) {
    const auto equals = word.find('=');
    out.values[word.substr(0, equals)]
      = equals == word.npos ? "" : word.substr(equals + 1);
  }
  return out;
}

world look() {
  auto out = world{};
  auto file = std::ifstream{world_file()};
  for (auto line = std::string{}; std::getline(file, line);) {
    auto words = std::istringstream{line};
    auto what = std::string{};
    words >> what;
    if (what == "init")
      words >> out.init;
    else if (what == "cuda")
      words >> out.cuda;
    else if (what == "xpu")
      words >> out.xpu;
    else if (what == "gpu")
      out.gpus.push_back(read_gpu(words));
    else if (what == "xid")
      words >> out.xids.emplace_back().gpu >> out.xids.back().number;
  }
  return out;
}

size_t place_of(const void* handle) {
  return static_cast<size_t>(static_cast<const char*>(handle) - handles);
}

/// What a handle stands for; `part` is empty for a whole GPU.
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

/// Waits until somebody writes to the file.
void await_change(int milliseconds) {
  const auto fd = ::inotify_init1(IN_CLOEXEC);
  const auto path = world_file();
  const auto folder = path.substr(0, path.rfind('/'));
  ::inotify_add_watch(fd, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
  auto ready = pollfd{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&ready, 1, milliseconds);
  ::close(fd);
}

/// Who waits for events: each is told of those that come after its making.
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

} // namespace

extern "C" {

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

struct standin_event {
  void* where;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

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
  *out = handles + index;
  return find(*out).code;
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

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                            standin_process* out) {
  return with(device, [&](const found& x) {
    const auto pids = x.what.list("pids");
    if (pids.size() > *count)
      return insufficient_size;
    *count = 0;
    for (const auto& pid : pids)
      out[(*count)++].pid = static_cast<unsigned>(std::atoll(pid.c_str()));
    return success;
  });
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
