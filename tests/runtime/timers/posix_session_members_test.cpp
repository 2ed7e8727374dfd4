#include "runtime/timers/posix_session_members.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <limits>
#include <string>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::posix_session_members_test {

using namespace actorrun::detail;

namespace {

// A child with a session of its own, as workers have, and a child of its own.
struct family {
  family() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    worker = ::fork();
    REQUIRE(worker >= 0);
    if (worker == 0) {
      ::setsid();
      const auto own = ::fork();
      if (own != 0 && ::write(ends[1], &own, sizeof own) < 0)
        ::_exit(1);
      for (;;)
        ::pause();
    }
    REQUIRE(::read(ends[0], &grandchild, sizeof grandchild)
            == sizeof grandchild);
    ::close(ends[0]);
    ::close(ends[1]);
  }

  ~family() {
    ::kill(-worker, SIGKILL); // Both are in its process group.
    reap();
  }

  void reap() {
    if (worker > 0)
      ::waitpid(worker, nullptr, 0);
    worker = 0;
  }

  pid_t worker = 0;
  pid_t grandchild = 0;
};

} // namespace

TEST_CASE("posix_session_members: a worker and its children belong to it",
          "[runtime]") {
  auto uut = posix_session_members{};
  const auto some = family{};
  CHECK(uut.worker_of(some.worker) == some.worker);
  CHECK(uut.worker_of(some.grandchild) == some.worker);
}

TEST_CASE("posix_session_members: other processes do not belong to a worker",
          "[runtime]") {
  auto uut = posix_session_members{};
  for (const auto pid :
       {int64_t{1}, int64_t{::getpid()}, int64_t{::getppid()}, int64_t{0},
        int64_t{-1}, std::numeric_limits<int64_t>::max(),
        int64_t{std::numeric_limits<pid_t>::max()}})
    CHECK(uut.worker_of(pid) == std::nullopt);
}

TEST_CASE("posix_session_members: a worker that has ended has no members",
          "[runtime]") {
  auto uut = posix_session_members{};
  auto some = family{};
  ::kill(some.worker, SIGKILL);
  auto info = siginfo_t{};
  REQUIRE(::waitid(P_PID, id_t(some.worker), &info, WEXITED | WNOWAIT) == 0);
  CHECK(uut.worker_of(some.worker) == std::nullopt);
  CHECK(uut.worker_of(some.grandchild) == std::nullopt);
  CHECK(uut.birth_of(some.worker) == std::nullopt);
  ::kill(some.grandchild, SIGKILL);
}

TEST_CASE("posix_session_members: a process has one start time", "[runtime]") {
  auto uut = posix_session_members{};
  const auto own = uut.birth_of(::getpid());
  REQUIRE(own);
  CHECK(uut.birth_of(::getpid()) == own);
  const auto some = family{};
  const auto its = uut.birth_of(some.worker);
  REQUIRE(its);
  CHECK(*its >= *own);
  for (const auto pid : {int64_t{0}, int64_t{-1}, int64_t{1} << 40})
    CHECK(uut.birth_of(pid) == std::nullopt);
}

TEST_CASE(
  "posix_session_members: a name with blanks and brackets hides nothing",
  "[runtime]") {
  auto uut = posix_session_members{};
  const auto before = uut.birth_of(::getpid());
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  for (const auto* odd : {") Z 1 2 3", "a) b (c", ")))) X", "   "}) {
    ::prctl(PR_SET_NAME, odd);
    CHECK(uut.birth_of(::getpid()) == before);
  }
  ::prctl(PR_SET_NAME, name);
}

} // namespace actorrun::test::posix_session_members_test
