// A worker that records its environment and its life: a file per process, whose
// last line is updated every 5 ms. Tests read from it when the process began
// and how long it lived, however it ended. One that lives through changes has a
// file per generation.
#include "runtime/worker/live.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr auto tick_ns = 5'000'000L;

// Tests time out long before; no process of a test stays forever.
constexpr auto life_ns = 120'000'000'000L;

struct options {
  std::string folder;
  bool ignore_term = false;
  bool child = false; // A second process, in the same process group.
  bool stray = false; // A second process, in a group of its own, orphaned.
  bool peers = false; // Fail when a connection to a peer breaks.
  bool live = false;  // Live through changes …
  bool deaf = false;  // … but never park, …
  bool lies = false;  // … or go on with the old generation when parked, …
  bool dies = false;  // … or end then.
  long slow_stop_ns = 0; // Delay between the stop signal and the end.
};

volatile std::sig_atomic_t stop_signal = 0;

long now_ns() {
  auto time = timespec{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000L + time.tv_nsec;
}

std::string variable(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string open_descriptors() {
  auto out = std::string{};
  auto* folder = ::opendir("/proc/self/fd");
  auto numbers = std::vector<int>{};
  while (const auto* entry = ::readdir(folder))
    if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != ::dirfd(folder))
      numbers.push_back(std::atoi(entry->d_name));
  ::closedir(folder);
  std::sort(numbers.begin(), numbers.end());
  for (auto x : numbers)
    out += (out.empty() ? "" : ",") + std::to_string(x);
  return out;
}

// The runs of the ranks that have survived: `0-2,5-5`.
std::string text_of(const actorrun::worker::ranks& xs) {
  auto out = std::string{};
  for (const auto& [first, last] : xs.runs())
    out += (out.empty() ? "" : ",") + std::to_string(first) + "-"
           + std::to_string(last);
  return out;
}

// One file, `w.<pid>`: complete lines of key=value, then the moving stamp.
class record {
public:
  record(const std::string& folder, const char* kind,
         const actorrun::worker::generation* generation = nullptr,
         bool is_later = false) {
    const auto pid = std::to_string(::getpid());
    auto text = "kind=" + std::string{kind} + "\npid=" + pid
                + "\nfds=" + open_descriptors() + "\n";
    for (const auto* name :
         {"RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
          "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT",
          "ACTORRUN_GENERATION", "ACTORRUN_FENCING_TOKEN", "ACTORRUN_JOB_ID"})
      text += std::string{name} + "=" + variable(name) + "\n";
    if (generation != nullptr)
      text += "survivors=" + text_of(generation->survivors()) + "\n";
    text += "start=" + std::to_string(now_ns()) + "\nlast=";
    const auto draft = folder + "/draft." + pid;
    fd_ = ::open(draft.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    if (::write(fd_, text.data(), text.size()) != ssize_t(text.size()))
      std::abort();
    place_ = off_t(text.size());
    stamp();
    const auto suffix = is_later ? "." + variable("ACTORRUN_GENERATION") : "";
    ::rename(draft.c_str(), (folder + "/w." + pid + suffix).c_str());
  }

  void stamp() {
    char text[32];
    const auto size = std::snprintf(text, sizeof text, "%020ld\n", now_ns());
    if (::pwrite(fd_, text, size_t(size), place_) != size)
      std::abort();
  }

private:
  int fd_ = -1;
  off_t place_ = 0;
};

// Every worker is connected to rank 0, like collective libraries, and fails as
// they do: with an error when a peer is gone.
class peers {
public:
  void open() {
    const auto world = std::atoi(variable("WORLD_SIZE").c_str());
    const auto port = uint16_t(std::atoi(variable("MASTER_PORT").c_str()));
    if (variable("RANK") == "0")
      listen(port, world - 1);
    else
      connect(port);
  }

  bool broken() {
    auto byte = char{};
    for (auto fd : fds_) {
      const auto n = ::recv(fd, &byte, 1, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return true;
    }
    return false;
  }

private:
  void listen(uint16_t port, int count) {
    const auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0
        || ::listen(fd, 64) != 0)
      std::exit(98);
    for (auto i = 0; i < count; ++i)
      fds_.push_back(::accept(fd, nullptr, nullptr));
  }

  void connect(uint16_t port) {
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, variable("MASTER_ADDR").c_str(), &address.sin_addr);
    for (;;) {
      const auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address)
          == 0)
        return fds_.push_back(fd);
      ::close(fd);
      const auto pause = timespec{0, tick_ns};
      ::nanosleep(&pause, nullptr);
    }
  }

  std::vector<int> fds_;
};

// Orders of a test, as files: an exit code for one process, or the end for
// all.
bool told_to_end(const options& x, int& code) {
  const auto order = x.folder + "/exit." + std::to_string(::getpid());
  if (auto* file = std::fopen(order.c_str(), "r")) {
    if (std::fscanf(file, "%d", &code) != 1)
      code = 99;
    std::fclose(file);
    return true;
  }
  code = 0;
  return ::access((x.folder + "/end").c_str(), F_OK) == 0;
}

// What must not happen: it says that it has left the generation, and goes on.
void stamp_for_ever(record self) {
  std::thread{[self]() mutable {
    for (;;) {
      self.stamp();
      const auto pause = timespec{0, tick_ns};
      ::nanosleep(&pause, nullptr);
    }
  }}.detach();
}

int live_through_changes(const options& x) {
  auto is_later = false;
  for (auto& generation : actorrun::worker::generations()) {
    auto self
      = record{x.folder, "worker", &generation, std::exchange(is_later, true)};
    while (!generation.is_over() || x.deaf) {
      self.stamp();
      if (auto code = 0; told_to_end(x, code))
        return code;
      const auto pause = timespec{0, tick_ns};
      ::nanosleep(&pause, nullptr);
    }
    if (x.lies)
      stamp_for_ever(self);
    if (x.dies)
      std::thread{[] {
        const auto pause = timespec{0, 20 * tick_ns};
        ::nanosleep(&pause, nullptr);
        ::_exit(3);
      }}.detach();
  }
  return 0;
}

int live(const options& x, const char* kind, peers* links) {
  auto self = record{x.folder, kind};
  if (links != nullptr)
    links->open();
  const auto due = now_ns() + life_ns;
  auto stop_due = 0L;
  for (auto code = 0; now_ns() < due;) {
    self.stamp();
    if (told_to_end(x, code))
      return code;
    if (links != nullptr && links->broken())
      return 1;
    if (stop_signal != 0 && stop_due == 0)
      stop_due = now_ns() + x.slow_stop_ns;
    if (stop_due != 0 && now_ns() >= stop_due)
      return 0;
    const auto pause = timespec{0, tick_ns};
    ::nanosleep(&pause, nullptr);
  }
  return 97;
}

void start_second_process(const options& x) {
  if (::fork() != 0)
    return;
  if (x.stray) {
    ::setpgid(0, 0);
    if (::fork() != 0)
      ::_exit(0);
  }
  ::_exit(live(x, x.stray ? "stray" : "child", nullptr));
}

options parse(int argc, char** argv) {
  auto out = options{};
  for (auto i = 1; i < argc; ++i) {
    const auto word = std::string{argv[i]};
    out.ignore_term |= word == "--ignore-term";
    out.child |= word == "--child";
    out.stray |= word == "--stray";
    out.peers |= word == "--peers";
    out.live |= word.starts_with("--live");
    out.deaf |= word == "--live-deaf";
    out.lies |= word == "--live-lies";
    out.dies |= word == "--live-dies";
    if (word.starts_with("--folder="))
      out.folder = word.substr(9);
    if (word.starts_with("--say="))
      std::puts(word.substr(6).c_str());
    if (word.starts_with("--slow-stop-ms="))
      out.slow_stop_ns = std::stol(word.substr(15)) * 1'000'000;
  }
  return out;
}

} // namespace

int main(int argc, char** argv) {
  const auto x = parse(argc, argv);
  std::fflush(stdout); // A second process must not print it again.
  if (x.ignore_term)
    ::signal(SIGTERM, SIG_IGN);
  if (x.slow_stop_ns > 0)
    ::signal(SIGTERM, [](int signal) { stop_signal = signal; });
  if (x.child || x.stray)
    start_second_process(x);
  if (x.live)
    return live_through_changes(x);
  auto links = peers{};
  return live(x, "worker", x.peers ? &links : nullptr);
}
