// A log tailer over real files and a real console: a test writes to the files
// of workers, and reads the other end of a pipe.
#pragma once

#include "actors/log_tailer.hpp"
#include "messages/caf.hpp"
#include "runtime/logs/inotify_log_files.hpp"
#include "runtime/logs/posix_console.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/logs/console_fixture.hpp"
#include "tests/support/catch.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>

namespace actorrun::detail::log_stream_test {

using namespace test_folders;
using namespace test_deadline;
using console_test::ends;
using console_test::make_pipe;
using core::output_stream;

inline constexpr auto generation = generation_id{1};

/// Reads a pipe to its end, all the time or on request.
class reader {
public:
  explicit reader(int fd) : fd_(fd) {}
  ~reader() {
    if (thread_.joinable())
      thread_.join();
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  void start() {
    thread_ = std::thread{[this] {
      auto part = std::string(256 * 1024, '\0');
      for (;;) {
        const auto count = ::read(fd_, part.data(), part.size());
        if (count <= 0)
          return;
        const auto lock = std::lock_guard{mutex_};
        text_.append(part, 0, size_t(count));
      }
    }};
  }

  std::string text() const {
    const auto lock = std::lock_guard{mutex_};
    return text_;
  }

private:
  int fd_;
  mutable std::mutex mutex_;
  std::string text_;
  std::thread thread_;
};

/// One node's tailer. Standard output and standard error of the console are one
/// pipe.
class fixture {
public:
  fixture() { options.prefix_template = "${local_rank}:"; }

  ~fixture() {
    caf::scoped_actor self{system};
    if (tailer)
      self->send_exit(tailer, caf::exit_reason::kill);
    tailer = nullptr;
    files.reset();
    console.reset();
    pipe.writing.reset(); // The reader sees the end.
  }

  fixture(const fixture&) = delete;
  fixture& operator=(const fixture&) = delete;

  /// Follows both streams of `count` workers.
  void follow(uint32_t worker_count) {
    options.tees.everywhere = core::std_streams::all;
    console
      = std::make_shared<posix_console>(pipe.writing.get(), pipe.writing.get());
    files = std::make_shared<inotify_log_files>(loop);
    tailer = spawn_log_tailer(system, {.options = options,
                                       .role = "role",
                                       .host = "host",
                                       .prefixes = {},
                                       .console = console,
                                       .files = files,
                                       .lines = {}});
    auto plan = core::generation_plan{};
    plan.generation = generation;
    plan.own.slot_count = worker_count;
    for (uint32_t i = 0; i < worker_count; ++i)
      std::filesystem::create_directory(folder_path() + "/"
                                        + std::to_string(i));
    tell_anonymously(
      tailer, follow_generation{plan, core::plan_outputs(options, folder_path(),
                                                         worker_count)});
  }

  std::string folder_path() const {
    return disk_path.empty() ? here.path() : disk_path;
  }

  std::string path(uint32_t rank,
                   output_stream stream = output_stream::out) const {
    return folder_path() + "/" + std::to_string(rank)
           + (stream == output_stream::out ? "/stdout.log" : "/stderr.log");
  }

  /// Appends as a worker does.
  void write(uint32_t rank, std::string_view text) const {
    const auto fd = open_log(rank);
    put(fd.get(), text);
  }

  unique_fd open_log(uint32_t rank) const {
    auto fd = unique_fd{::open(
      path(rank).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    REQUIRE(fd);
    return fd;
  }

  static bool put(int fd, std::string_view text) {
    while (!text.empty()) {
      const auto count = ::write(fd, text.data(), text.size());
      if (count <= 0)
        return false;
      text.remove_prefix(size_t(count));
    }
    return true;
  }

  /// A process that writes to the file of a worker. Its code may only call
  /// functions that are safe after a fork of a program with threads.
  pid_t fork_worker(uint32_t rank, const std::function<void(int)>& body) {
    const auto fd = open_log(rank);
    const auto pid = ::fork();
    if (pid == 0) {
      body(fd.get());
      ::_exit(0);
    }
    REQUIRE(pid > 0);
    return pid;
  }

  void drain(uint32_t rank) {
    caf::scoped_actor self{system};
    ask(self.ptr(), tailer, timeout, drain_worker{generation, rank})
      .receive([](const worker_drained&) {},
               [](const caf::error&) { FAIL("nothing is drained"); });
  }

  void close() { tell_anonymously(tailer, close_generation{generation}); }

  /// @returns whether all was shown in time
  bool flush(caf::timespan limit = timeout) {
    auto done = false;
    caf::scoped_actor self{system};
    ask(self.ptr(), tailer, limit, flush_logs{})
      .receive([&](const logs_flushed&) { done = true; },
               [](const caf::error&) {});
    return done && console->flush(clock_type::now() + timeout);
  }

  /// The console's output, once it has this length or the timeout is over.
  std::string shown(size_t size) {
    soon([&] { return out.text().size() >= size; });
    return out.text();
  }

  folder here;
  std::string disk_path; ///< Empty unless the folder is on a disk of its own.
  core::log_options options;
  ends pipe = make_pipe();
  reader out{pipe.reading.get()};
  reactor loop;
  system_config config;
  caf::actor_system system{config};
  std::shared_ptr<posix_console> console;
  std::shared_ptr<inotify_log_files> files;
  log_tailer_actor tailer;
};

} // namespace actorrun::detail::log_stream_test
