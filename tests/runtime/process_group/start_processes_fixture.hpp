// Shared by the tests of start_processes: a folder for the logs, default
// options, and ways to read the results.
#pragma once

#include "runtime/start_processes.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun::start_processes_test {

using namespace detail::test_deadline;
using namespace std::chrono_literals;
using core::std_streams;
using detail::process_host_test::folder;
using detail::process_host_test::has_children;
using detail::process_host_test::read_pid;
using detail::process_host_test::runs;
using detail::process_host_test::tell_pid;

using strings = std::vector<std::string>;
namespace fs = std::filesystem;

inline std::string content_of(const fs::path& path) {
  auto file = std::ifstream{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Everything below a folder, by relative path.
inline strings tree_of(const fs::path& path) {
  auto result = strings{};
  for (const auto& x : fs::recursive_directory_iterator{path})
    if (!x.is_directory())
      result.push_back(fs::relative(x.path(), path));
  std::ranges::sort(result);
  return result;
}

/// Redirects a standard stream of this program to a file while it lives.
class captured {
public:
  captured(int stream, const std::string& path)
    : stream_(stream), path_(path),
      saved_(::fcntl(stream, F_DUPFD_CLOEXEC, 10)) {
    const auto file = detail::unique_fd{
      ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
    REQUIRE(::dup2(file.get(), stream_) == stream_);
  }

  ~captured() { ::dup2(saved_.get(), stream_); }

  captured(const captured&) = delete;
  captured& operator=(const captured&) = delete;

  std::string text() const { return content_of(path_); }

private:
  int stream_;
  std::string path_;
  detail::unique_fd saved_;
};

struct fixture {
  folder here;

  std::string logs() const { return here.path / "logs"; }

  /// One shell per script; all output in files.
  process_options shells(const strings& scripts) const {
    auto x = process_options{.name = "tester", .entrypoint = "sh"};
    for (uint32_t rank = 0; rank < scripts.size(); ++rank) {
      x.args[rank] = {"-c", scripts[rank]};
      x.envs[rank] = {};
    }
    x.logs.folder = logs();
    x.logs.redirects.everywhere = std_streams::all;
    return x;
  }

  /// One call per list of arguments; all output in files.
  process_options calls(const entry_point& function, start_method method,
                        const std::vector<argument_list>& arguments) const {
    auto x = process_options{.name = "tester", .entrypoint = function};
    for (uint32_t rank = 0; rank < arguments.size(); ++rank) {
      x.args[rank] = arguments[rank];
      x.envs[rank] = {};
    }
    x.logs.folder = logs();
    x.logs.redirects.everywhere = std_streams::all;
    x.method = method;
    return x;
  }
};

inline std::unique_ptr<process_context> start(process_options options) {
  auto started = start_processes(std::move(options));
  INFO((started ? std::string{} : started.error().text));
  REQUIRE(started);
  return std::move(*started);
}

inline processes_result finish(process_context& group) {
  auto result = group.wait(timeout);
  REQUIRE(result);
  return std::move(*result);
}

inline processes_result run(process_options options) {
  return finish(*start(std::move(options)));
}

/// `0: rank 0 … exited with code 7`, or nothing.
inline std::string failures_of(const processes_result& x) {
  auto text = std::string{};
  for (const auto& [rank, failure] : x.failures) {
    text += (text.empty() ? "" : "; ") + std::to_string(rank) + ": ";
    switch (failure.kind) {
      case core::failure_kind::exited:
        text += "code ";
        break;
      case core::failure_kind::signalled:
        text += "signal ";
        break;
      case core::failure_kind::not_started:
        text += "not started ";
        break;
      case core::failure_kind::timer_expired:
        text += "timer ";
        break;
      case core::failure_kind::unkillable:
        text += "unkillable ";
    }
    text += std::to_string(failure.code);
  }
  return text;
}

} // namespace actorrun::start_processes_test
