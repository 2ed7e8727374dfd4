// Shared by the tests of the process host: a host that records its reports, and
// ways to inspect processes from outside.
#pragma once

#include "runtime/os/reactor.hpp"
#include "runtime/processes/posix_process_host.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail::process_host_test {

using namespace std::chrono_literals;
using namespace test_deadline;
namespace fs = std::filesystem;

inline constexpr auto generation = generation_id{1};

using strings = std::vector<std::string>;

// R, S, T, Z … or '-' when there is no such process.
inline char state_of(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/stat"};
  auto text = std::string{};
  std::getline(file, text);
  const auto end = text.rfind(')');
  return end == std::string::npos ? '-' : text[end + 2];
}

// The zombie of an orphan remains where no process reaps it.
inline bool runs(pid_t pid) {
  const auto state = state_of(pid);
  return state != '-' && state != 'Z' && state != 'X';
}

inline bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG | __WALL) != -1;
}

struct folder {
  fs::path path;

  folder() {
    auto name = (fs::temp_directory_path() / "actorrun-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }

  ~folder() { fs::remove_all(path); }

  std::string operator/(const std::string& name) const { return path / name; }
};

inline std::string describe(const ports::process_started& x) {
  return "started " + std::to_string(x.local_rank);
}

inline std::string describe(const ports::process_not_started& x) {
  return "not started " + std::to_string(x.local_rank) + ": "
         + strerrorname_np(x.error);
}

inline std::string describe(const ports::process_exited& x) {
  const auto how = x.signal != 0 ? "signal " + std::to_string(x.signal)
                                 : "code " + std::to_string(x.exit_code);
  return "exited " + std::to_string(x.local_rank) + ": " + how;
}

inline ports::process_spec worker(uint32_t rank, strings command) {
  return {.local_rank = rank,
          .arguments = std::move(command),
          .environment = {"PATH=/bin:/usr/bin"}};
}

inline ports::process_spec shell(uint32_t rank, const std::string& script) {
  return worker(rank, {"sh", "-c", script});
}

// A worker that leaves a process behind, with its id in a file. With job
// control a background job has a group of its own.
inline ports::process_spec orphaning(uint32_t rank, const std::string& file) {
  return worker(rank, {"bash", "-c", "set -m; sleep 1000 & echo $! > " + file});
}

// A worker that is a function.
inline ports::process_spec function(uint32_t rank, std::function<int()> body) {
  auto result = worker(rank, {"function"});
  result.method = ports::start_method::fork;
  result.body = std::move(body);
  return result;
}

// A worker that this program's fork server makes: `what` selects its
// behaviour.
inline ports::process_spec served(uint32_t rank, strings what) {
  what.insert(what.begin(), FORK_SERVER_PROGRAM);
  auto result = worker(rank, std::move(what));
  result.method = ports::start_method::fork_server;
  return result;
}

// Descriptors that the loader uses are closed again; a leak remains.
inline bool has_descriptors(pid_t pid, const std::set<std::string>& expected) {
  return soon([&] {
    auto found = std::set<std::string>{};
    auto error = std::error_code{};
    const auto path = "/proc/" + std::to_string(pid) + "/fd";
    for (const auto& x : fs::directory_iterator{path, error})
      found.insert(x.path().filename());
    return found == expected;
  });
}

inline std::string content_of(const std::string& path) {
  auto file = std::ifstream{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

inline core::stream_target to_file(const std::string& path) {
  return {.where = core::stream_target::kind::file, .path = path};
}

inline const auto discarded
  = core::stream_target{.where = core::stream_target::kind::discarded};

// A host, and all facts that its listener received.
struct fixture {
  reactor loop;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<ports::process_event> events;
  std::vector<size_t> calls; // Facts per call of the listener.
  strings notes;
  std::unique_ptr<posix_process_host> uut
    = std::make_unique<posix_process_host>(loop, [this](const auto& text) {
        const auto lock = std::lock_guard{mutex};
        notes.push_back(text);
        changed.notify_all();
      });

  void start(std::vector<ports::process_spec> specs,
             generation_id x = generation, ports::fence_token decided = {}) {
    uut->start(x, decided, std::move(specs), [this](auto facts) {
      const auto lock = std::lock_guard{mutex};
      calls.push_back(facts.size());
      events.insert(events.end(), facts.begin(), facts.end());
      changed.notify_all();
    });
  }

  bool wait(const std::function<bool()>& holds) {
    auto lock = std::unique_lock{mutex};
    return changed.wait_for(lock, timeout, holds);
  }

  bool wait_for_events(size_t count) {
    return wait([&] { return events.size() >= count; });
  }

  template <class F>
  void on_thread(F fn) {
    auto done = std::promise<void>{};
    loop.post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::string trace() {
    const auto lock = std::lock_guard{mutex};
    auto result = std::string{};
    for (const auto& event : events) {
      result += result.empty() ? "" : "; ";
      result += std::visit([](const auto& x) { return describe(x); }, event);
    }
    return result;
  }

  template <class T>
  std::vector<T> all() {
    const auto lock = std::lock_guard{mutex};
    auto result = std::vector<T>{};
    for (const auto& event : events)
      if (const auto* x = std::get_if<T>(&event))
        result.push_back(*x);
    return result;
  }

  pid_t pid_of(uint32_t rank) {
    for (const auto& x : all<ports::process_started>())
      if (x.local_rank == rank)
        return x.pid;
    return 0;
  }
};

// Waits for a process to write its pid to a file.
inline pid_t read_pid(const std::string& file) {
  auto pid = pid_t{0};
  soon([&] {
    auto stream = std::ifstream{file};
    auto text = std::string{};
    if (!std::getline(stream, text) || stream.eof())
      return false; // Not a whole line yet.
    pid = std::stoi(text);
    return true;
  });
  return pid;
}

inline std::string tell_pid(const std::string& file) {
  return "sleep 1000 & echo $! > " + file + "; ";
}

} // namespace actorrun::detail::process_host_test
