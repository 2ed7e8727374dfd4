// The world of a stand-in for the drivers of GPUs, as described by the text
// file that ACTORRUN_GPU_STANDIN names. Every query reads it anew, so tests
// change the world by writing.
//
//   init 9                    nvmlInit fails with that code
//   hang                      calls that ask NVML for a GPU block until removed
//   gpu KEY=VALUE…            one GPU: uuid name pci used total util temp lost
//                             mig=1 parts=UUID,UUID pids=PID,PID
//                             denied=1 (to this process) private=1 (memory and
//                             processes are known for its parts only)
//                             health: retire=1 remap=1 lostrow=1 ecc=N, link: gen
//                             genmax width widthmax; each is unknown without it
//                             breaks=1: memory does not keep what is written
//   xid INDEX NUMBER          an event; sent to those who wait for events
//   cuda N, xpu N             what the other two drivers count; cuda -1: hangs
//
// In values `_` stands for a blank.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace gpu_standin {

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
  int init = 0;
  bool hangs = false;
  int cuda = 0;
  int xpu = 0;
  std::vector<gpu> gpus;
  std::vector<xid> xids;
};

// Read once: a program that sets other variables must not have it read meanwhile.
// Kept for ever: threads look while the process ends.
inline const std::string& world_file() {
  static const auto& result = *new auto([] {
    const auto* path = std::getenv("ACTORRUN_GPU_STANDIN");
    return std::string{path == nullptr ? "" : path};
  }());
  return result;
}

inline gpu read_gpu(std::istream& words) {
  auto out = gpu{};
  for (auto word = std::string{}; words >> word;) {
    const auto equals = word.find('=');
    out.values[word.substr(0, equals)]
      = equals == word.npos ? "" : word.substr(equals + 1);
  }
  return out;
}

inline world look() {
  auto out = world{};
  auto file = std::ifstream{world_file()};
  for (auto line = std::string{}; std::getline(file, line);) {
    auto words = std::istringstream{line};
    auto what = std::string{};
    words >> what;
    if (what == "init")
      words >> out.init;
    else if (what == "hang")
      out.hangs = true;
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

/// Waits until the file is written.
inline void await_change(int milliseconds) {
  const auto fd = ::inotify_init1(IN_CLOEXEC);
  const auto path = world_file();
  const auto folder = path.substr(0, path.rfind('/'));
  ::inotify_add_watch(fd, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
  auto ready = pollfd{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&ready, 1, milliseconds);
  ::close(fd);
}

} // namespace gpu_standin
