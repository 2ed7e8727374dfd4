#include "runtime/worker/detail/pipe_write.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <array>
#include <climits>
#include <csignal>
#include <optional>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace actorrun::test::pipe_write_test {

using namespace actorrun::worker;

namespace {

/// A pipe, with SIGPIPE at its deadly default.
struct fixture {
  fixture() {
    REQUIRE(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) == 0);
    REQUIRE(std::signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
  }

  ~fixture() {
    close_reader();
    ::close(ends[1]);
  }

  void close_reader() {
    if (ends[0] >= 0)
      ::close(ends[0]);
    ends[0] = -1;
  }

  std::string read() {
    auto place = std::array<char, PIPE_BUF>{};
    const auto count = ::read(ends[0], place.data(), place.size());
    return {place.data(), static_cast<size_t>(count < 0 ? 0 : count)};
  }

  bool is_pending() const {
    auto pending = sigset_t{};
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) == 1;
  }

  void check(pipe_outcome (*write)(int, std::string_view)) {
    CHECK(write(ends[1], "a line\n") == pipe_outcome::written);
    CHECK(read() == "a line\n");
    const auto piece = std::string(PIPE_BUF, 'x');
    while (write(ends[1], piece) == pipe_outcome::written) {
    }
    CHECK(write(ends[1], piece) == pipe_outcome::full);
    CHECK(read() == piece);
    close_reader();
    // The process survives.
    CHECK(write(ends[1], "b") == pipe_outcome::broken);
    auto before = sigset_t{};
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    CHECK(write(ends[1], "b") == pipe_outcome::broken);
    CHECK(!is_pending());
    // A pending SIGPIPE of the program must not be taken.
    ::pthread_kill(::pthread_self(), SIGPIPE);
    CHECK(write(ends[1], "b") == pipe_outcome::broken);
    CHECK(is_pending());
    auto taken = 0;
    ::sigwait(&pipe, &taken);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::array<int, 2> ends{-1, -1};
  sigset_t pipe{};
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "pipe_write: a reader that is gone does not end the process",
                 "[worker]") {
  check(write_to_pipe);
}

TEST_CASE_METHOD(fixture, "pipe_write: it works on an older system, too",
                 "[worker]") {
  check(write_guarded);
}

TEST_CASE_METHOD(fixture,
                 "pipe_write: the single call works, too, or is unsupported",
                 "[worker]") {
  if (!write_unsignalled(ends[1], "x")) {
    CHECK(read().empty());
    actorrun::test::skip("nosignal",
                         "this system has no write without SIGPIPE");
    return;
  }
  CHECK(read() == "x");
  check([](int fd, std::string_view text) {
    return write_unsignalled(fd, text).value();
  });
}

TEST_CASE_METHOD(fixture, "pipe_write: another file counts as a broken pipe",
                 "[worker]") {
  CHECK(write_to_pipe(-1, "x") == pipe_outcome::broken);
  CHECK(write_to_pipe(ends[0], "x") == pipe_outcome::broken);
}

} // namespace actorrun::test::pipe_write_test
