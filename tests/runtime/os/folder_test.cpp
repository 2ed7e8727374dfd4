#include "runtime/os/folder.hpp"
#include "runtime/os/folder_path.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/refused_call.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::test::folder_test {

using namespace actorrun::detail;
using test_folders::content_of;

namespace fs = std::filesystem;

namespace {

constexpr auto writing = O_WRONLY | O_CREAT | O_APPEND | O_TRUNC;

// With each way to open a file.
void in_each_way(const std::function<void()>& fn) {
  fn();
  test_refused::with_refused(SYS_openat2, ENOSYS, fn);
  test_refused::with_refused(SYS_openat2, EPERM, fn);
}

struct fixture {
  test_folders::folder here;
  folder_handle uut;

  fixture() {
    fs::create_directories(here / "logs/a/b");
    std::ofstream{here / "victim"} << "precious";
    uut = open(here / "logs");
  }

  static folder_handle open(const std::string& path) {
    return {unique_fd{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)},
            path};
  }

  // Refused for reading and for writing; the victim's file is untouched.
  void refuses(const std::string& name, int error, const std::string& text) {
    in_each_way([&] {
      const auto x = uut.open_file(name, writing, 0600);
      CHECK(!x);
      CHECK(x.error == error);
      CHECK(x.why.find(text) != std::string::npos);
      CHECK(content_of(here / "victim") == "precious");
    });
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "folder: a file below it is made, kept and emptied",
                 "[runtime][folder]") {
  in_each_way([&] {
    const auto x = uut.open_file("a/b/log", writing, 0640);
    REQUIRE(x);
    CHECK(::write(x.fd.get(), "text", 4) == 4);
    CHECK((::fcntl(x.fd.get(), F_GETFL) & (O_APPEND | O_NONBLOCK)) == O_APPEND);
    CHECK(::fcntl(x.fd.get(), F_GETFD) == FD_CLOEXEC);
    CHECK(uut.open_file("a/b/log", O_WRONLY));
    CHECK(content_of(here / "logs/a/b/log") == "text");
    CHECK(uut.open_file("a/b/log", writing));
    CHECK(content_of(here / "logs/a/b/log").empty());
    CHECK(uut.open_file("a/none", O_RDONLY).error == ENOENT);
    CHECK(uut.open_file("none/log", O_RDONLY).error == ENOENT);
    for (const auto* name : {"../victim", "a/../../victim"})
      CHECK(!uut.open_file(name, O_RDONLY));
    CHECK(!uut.open_file(here / "victim", O_RDONLY));
  });
}

TEST_CASE_METHOD(fixture, "folder: a link at the end is named, not followed",
                 "[runtime][folder]") {
  fs::create_symlink(here / "victim", here / "logs/a/b/log");
  refuses("a/b/log", ELOOP, here / "logs/a/b/log is a symbolic link");
}

TEST_CASE_METHOD(fixture, "folder: a link on the way is named, not followed",
                 "[runtime][folder]") {
  fs::create_directory(here / "else");
  fs::rename(here / "victim", here / "else/victim");
  fs::create_hard_link(here / "else/victim", here / "victim");
  fs::create_symlink(here / "else", here / "logs/a/link");
  refuses("a/link/victim", ELOOP, here / "logs/a/link is a symbolic link");
  refuses("a/link/new", ELOOP, here / "logs/a/link is a symbolic link");
  CHECK(!fs::exists(here / "else/new"));
  CHECK(!uut.open_folder("a/link"));
  CHECK(!uut.open_parent("a/link/new"));
}

TEST_CASE_METHOD(fixture, "folder: one that was replaced is still the same",
                 "[runtime][folder]") {
  fs::create_directories(here / "else/a");
  fs::rename(here / "logs", here / "moved");
  fs::create_directory_symlink(here / "else", here / "logs");
  in_each_way([&] {
    CHECK(uut.open_file("a/log", writing, 0600));
    CHECK(fs::remove(here / "moved/a/log"));
    CHECK(fs::is_empty(here / "else/a"));
  });
}

TEST_CASE_METHOD(fixture, "folder: a FIFO is neither awaited nor written",
                 "[runtime][folder]") {
  REQUIRE(::mkfifo((here / "logs/fifo").c_str(), 0600) == 0);
  refuses("fifo", ENXIO, "logs/fifo is a FIFO");
  const auto reader
    = unique_fd{::open((here / "logs/fifo").c_str(), O_RDONLY | O_NONBLOCK)};
  refuses("fifo", EINVAL, "logs/fifo is a FIFO");
  CHECK(uut.open_file("fifo", O_RDONLY).error == EINVAL);
}

TEST_CASE_METHOD(fixture, "folder: a hard link is not written",
                 "[runtime][folder]") {
  fs::create_hard_link(here / "victim", here / "logs/log");
  refuses("log", EMLINK, "logs/log is a hard link");
  CHECK(uut.open_file("log", O_RDONLY));
}

TEST_CASE_METHOD(fixture, "folder: paths below a guarded one lead through it",
                 "[runtime][folder]") {
  const auto path = here / "logs/log";
  fs::create_symlink(here / "victim", path);
  CHECK(open_at(path, O_RDONLY));
  auto known = guard(std::move(uut));
  CHECK(open_at(path, writing).error == ELOOP);
  CHECK(place_of(path).name == "log");
  CHECK(!place_of(here / "logs2/log").base);
  CHECK(!place_of(here / "logs").base);
  CHECK(locate(here / "logs/a/b").name == "b");
  known.reset();
  CHECK(open_at(path, O_RDONLY));
}

TEST_CASE_METHOD(fixture, "folder: trees of folders are removed",
                 "[runtime][folder]") {
  CHECK(!holds_files(uut.fd()));
  fs::create_directory_symlink(here.path(), here / "logs/a/b/link");
  CHECK(holds_files(uut.fd()));
  remove_unless_used(uut.fd());
  CHECK(fs::exists(here / "logs/a/b"));
  fs::remove(here / "logs/a/b/link");
  remove_unless_used(uut.fd());
  CHECK(fs::is_empty(here / "logs"));
}

TEST_CASE_METHOD(fixture, "folder: one that others can write to is exposed",
                 "[runtime][folder]") {
  const auto exposed = [&](mode_t mode, const std::string& path) {
    ::chmod((here / "logs").c_str(), mode);
    auto x = folder_path{};
    CHECK(x.make(path));
    return x.exposed();
  };
  const auto logs = here / "logs";
  CHECK(exposed(0777, logs) == logs);
  CHECK(exposed(0777, logs + "/new/folder") == logs);
  CHECK(!fs::exists(logs + "/new"));
  CHECK(exposed(0777, logs + "/a").empty());
  CHECK(exposed(01777, logs).empty());
  CHECK(exposed(0755, logs).empty());
}

} // namespace actorrun::test::folder_test
