#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/timers/notify_socket.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace actorrun::test::notify_socket_test {

using namespace actorrun::detail;
using test_deadline::soon;

namespace {

namespace fs = std::filesystem;

struct fixture {
  fixture() {
    if (const auto* x = std::getenv("ACTORRUN_RUN_DIR"))
      before = x;
    ::setenv("ACTORRUN_RUN_DIR", (place / "run").c_str(), 1);
  }

  ~fixture() {
    if (before.empty())
      ::unsetenv("ACTORRUN_RUN_DIR");
    else
      ::setenv("ACTORRUN_RUN_DIR", before.c_str(), 1);
  }

  std::unique_ptr<notify_socket> open() {
    auto out = notify_socket::open(loop);
    INFO((out ? "" : out.error().text));
    REQUIRE(out);
    return std::move(*out);
  }

  /// @param fd Sent along; -1: none.
  static void send(const notify_socket& to, std::string text, int fd = -1) {
    const auto address = unix_address(to.path());
    REQUIRE(address);
    const auto from
      = unique_fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    REQUIRE(::connect(from.get(), address->get(), address->size) == 0);
    auto bytes = iovec{text.data(), text.size()};
    auto message = msghdr{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    if (fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      auto* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof fd);
      std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    CHECK(::sendmsg(from.get(), &message, 0) == ssize_t(text.size()));
  }

  test_folders::folder place;
  std::string before;
  reactor loop;
};

std::string text_of(const std::optional<ports::notice>& x) {
  return x ? std::string{x->text} : "none";
}

} // namespace

TEST_CASE_METHOD(fixture,
                 "notify_socket: it is private to the user and removed with "
                 "its owner",
                 "[runtime]") {
  auto uut = open();
  const auto path = uut->path();
  CHECK(fs::is_socket(path));
  CHECK((fs::status(path).permissions() & fs::perms::all)
        == (fs::perms::owner_read | fs::perms::owner_write));
  const auto other = open();
  CHECK(other->path() != path);
  uut.reset();
  CHECK_FALSE(fs::exists(path));
  CHECK(fs::exists(other->path()));
}

TEST_CASE_METHOD(fixture, "notify_socket: the system identifies the sender",
                 "[runtime]") {
  auto uut = open();
  CHECK(uut->next() == std::nullopt);
  send(*uut, "WATCHDOG=1");
  const auto child = ::fork();
  if (child == 0) {
    send(*uut, "READY=1\nWATCHDOG=1");
    ::_exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const auto own = uut->next();
  REQUIRE(own);
  CHECK(own->sender == ::getpid());
  CHECK(own->text == "WATCHDOG=1");
  const auto its = uut->next();
  REQUIRE(its);
  CHECK(its->sender == child);
  CHECK(its->text == "READY=1\nWATCHDOG=1");
  CHECK_FALSE(uut->next());
}

TEST_CASE_METHOD(fixture,
                 "notify_socket: messages that are too long are skipped",
                 "[runtime]") {
  auto uut = open();
  send(*uut, std::string(core::notice_size_max, 'x'));
  send(*uut, std::string(core::notice_size_max + 1, 'x'));
  send(*uut, "");
  send(*uut, "last");
  CHECK(text_of(uut->next()) == std::string(core::notice_size_max, 'x'));
  CHECK(text_of(uut->next()) == "");
  CHECK(text_of(uut->next()) == "last");
  CHECK(text_of(uut->next()) == "none");
}

TEST_CASE_METHOD(fixture, "notify_socket: descriptors sent along are closed",
                 "[runtime]") {
  auto uut = open();
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
  send(*uut, "BARRIER=1", ends[1]);
  ::close(ends[1]);
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == -1); // Still in the socket.
  CHECK(text_of(uut->next()) == "BARRIER=1");
  CHECK(::read(ends[0], &byte, 1) == 0); // Closed everywhere.
  ::close(ends[0]);
}

TEST_CASE_METHOD(fixture, "notify_socket: it reports readable data once",
                 "[runtime]") {
  auto uut = open();
  auto calls = std::atomic<int>{0};
  uut->call_when_ready([&] { ++calls; });
  send(*uut, "a");
  CHECK(soon([&] { return calls == 1; }));
  send(*uut, "b");
  for (auto i = 0; i < 3; ++i)
    run_and_wait(loop, [] {});
  CHECK(calls == 1);
}

TEST_CASE_METHOD(
  fixture, "notify_socket: sockets of dead processes are removed, others kept",
  "[runtime]") {
  auto uut = open();
  const auto dead = ::fork();
  if (dead == 0)
    ::_exit(0);
  REQUIRE(::waitpid(dead, nullptr, 0) == dead);
  // Processes that share the folder may not see the owner of a socket.
  const auto used = place / "run/" + std::to_string(dead) + ".1.notify";
  const auto left = place / "run/" + std::to_string(dead) + ".2.notify";
  auto sockets = std::vector<unique_fd>{};
  for (const auto& x : {used, left}) {
    const auto address = unix_address(x);
    REQUIRE(address);
    sockets.emplace_back(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(sockets.back().get(), address->get(), address->size) == 0);
  }
  sockets.pop_back();
  uut.reset();
  CHECK(fs::exists(used));
  CHECK_FALSE(fs::exists(left));
}

// As in a container that shares the folder, where every agent may be process 1.
TEST_CASE_METHOD(fixture,
                 "notify_socket: one of a process with the same pid is left "
                 "alone while it is used",
                 "[runtime]") {
  auto uut = open();
  const auto own = fs::path{uut->path()}.stem().string();
  const auto next = std::stoi(own.substr(own.find('.') + 1)) + 1;
  const auto pid = std::to_string(::getpid());
  const auto bound = [&](const std::string& name) {
    const auto address = unix_address(place / "run/" + name);
    REQUIRE(address);
    auto fd = unique_fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    REQUIRE(::bind(fd.get(), address->get(), address->size) == 0);
    return fd;
  };
  const auto inode_of = [&](const std::string& name) {
    struct stat info {};
    ::stat((place / "run/" + name).c_str(), &info);
    return info.st_ino;
  };
  const auto plain = pid + "." + std::to_string(next) + ".notify";
  const auto used = pid + "-12345678.1.notify";
  const auto left = pid + "-12345678.2.notify";
  const auto a = bound(plain);
  const auto b = bound(used);
  bound(left).reset();
  const auto inode = inode_of(plain);
  const auto other = open();
  uut.reset();
  CHECK(inode_of(plain) == inode);
  CHECK(fs::exists(place / "run/" + used));
  CHECK_FALSE(fs::exists(place / "run/" + left));
  CHECK(fs::exists(other->path()));
}

TEST_CASE_METHOD(fixture,
                 "notify_socket: a folder whose path is too long is "
                 "refused",
                 "[runtime]") {
  const auto deep = place / std::string(120, 'x');
  fs::create_directory(deep);
  fs::permissions(deep, fs::perms::owner_all);
  ::setenv("ACTORRUN_RUN_DIR", deep.c_str(), 1);
  const auto out = notify_socket::open(loop);
  REQUIRE_FALSE(out);
  CHECK(out.error().code == errc::cannot_listen);
  CHECK(out.error().text.find("ACTORRUN_RUN_DIR") != std::string::npos);
}

} // namespace actorrun::test::notify_socket_test
