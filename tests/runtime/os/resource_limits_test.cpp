// Texts that name the limit of the system behind an errno.
#include "actors/core/shortage.hpp"
#include "actors/core/text.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/folder.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/store/master_port.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>

namespace actorrun::test::resource_limits_test {

using namespace actorrun::detail;
using actorrun::detail::test_folders::folder;

namespace {

/// Sets a soft limit of this process for a while.
struct limited {
  limited(__rlimit_resource resource, rlim_t value) : which(resource) {
    ::getrlimit(which, &before);
    auto now = before;
    now.rlim_cur = value;
    ::setrlimit(which, &now);
  }

  limited(const limited&) = delete;
  limited& operator=(const limited&) = delete;
  ~limited() { ::setrlimit(which, &before); }

  __rlimit_resource which;
  rlimit before{};
};

constexpr auto no_descriptor
  = "Too many open files (RLIMIT_NOFILE: ulimit -Hn is 0)";

} // namespace

TEST_CASE("resource limits: a limit that is reached is named (U18)",
          "[runtime]") {
  {
    const auto few = limited{RLIMIT_NOFILE, 100};
    CHECK(system_error_text(EMFILE)
          == "Too many open files (RLIMIT_NOFILE: ulimit -Hn is 100)");
    CHECK(start_error_text(EMFILE) == system_error_text(EMFILE));
  }
  CHECK(system_error_text(ENFILE)
        == "Too many open files in system (fs.file-max, of the whole machine)");
  CHECK(system_error_text(ENOMEM).starts_with("Cannot allocate memory ("));
  // Of a process or thread it is a limit, of a socket it is not.
  CHECK(
    start_error_text(EAGAIN).starts_with("Resource temporarily unavailable ("));
  CHECK(system_error_text(EAGAIN) == "Resource temporarily unavailable");
}

TEST_CASE("resource limits: an errno that is about no limit is told alone"
          " (U18)",
          "[runtime]") {
  for (const auto error :
       {ENOENT, EACCES, ECONNREFUSED, EADDRINUSE, 0, 9'999}) {
    CHECK(system_error_text(error) == core::error_text(error));
    CHECK(start_error_text(error) == core::error_text(error));
  }
}

TEST_CASE("resource limits: what lacks something is still known by its text"
          " (U18)",
          "[runtime]") {
  for (const auto error : {EMFILE, ENFILE, ENOMEM, EAGAIN}) {
    CHECK(core::shortage_in(system_error_text(error)) == error);
    CHECK(core::shortage_in(start_error_text(error)) == error);
  }
}

TEST_CASE("resource limits: files, folders and ports name it (U18)",
          "[runtime]") {
  const auto here = folder{};
  std::ofstream{here / "file"} << "x";
  const auto any = listen_address("127.0.0.1", 0);
  REQUIRE(any);
  auto opened = opening{};
  auto read = std::string{};
  auto bound = std::string{};
  auto listening = std::string{};
  {
    const auto none = limited{RLIMIT_NOFILE, 0};
    opened = open_at(here / "new", O_RDWR | O_CREAT, 0600);
    read = open_regular_file(here / "file").error().text;
    bound = bind_port(*any).error().text;
    listening = open_listening(*any).error().text;
  }
  CHECK(opened.why == no_descriptor);
  CHECK(read.ends_with(no_descriptor));
  CHECK(bound.ends_with(no_descriptor));
  CHECK(listening.find(no_descriptor) != std::string::npos);
}

} // namespace actorrun::test::resource_limits_test
