// A warden after the death of its agent: a process of its own handles it, with a
// table that the test has filled in.

#include "runtime/os/socket.hpp"
#include "runtime/processes/agent_death.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <csignal>
#include <new>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::agent_death_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

constexpr auto token = std::string_view{"0123456789abcdef0123456789abcdef"};

/// A fork of the test that does nothing.
pid_t fork_idle() {
  const auto pid = ::fork();
  if (pid != 0)
    return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  for (;;)
    ::pause();
}

struct fixture {
  fixture() {
    auto* memory = ::mmap(nullptr, sizeof(warden_table), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    table = new (memory) warden_table;
    table->linger = core::duration{10s}.count();
    table->linger_max = core::duration{60s}.count();
  }

  ~fixture() {
    for (const auto pid : {warden, worker})
      if (pid > 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
      }
    ::munmap(table, sizeof(warden_table));
  }

  socket_address keep(kept_socket which, std::string_view statement,
                      std::string_view release = {}) {
    auto& place = sockets[size_t(which)];
    place = std::move(*open_listening(loopback(0)));
    auto& words = table->answers[size_t(which)];
    auto& text = words.statements[words.current.load() % 2];
    std::copy(statement.begin(), statement.end(), text.bytes.begin());
    text.size = statement.size();
    std::copy(release.begin(), release.end(), words.release.begin());
    words.release_size = release.size();
    return *local_address_of(place.get());
  }

  void start_worker() {
    worker = fork_idle();
    ::setpgid(worker, worker);
    table->groups[3] = worker;
  }

  /// @param user Whose process it is; 0: ours.
  void begin(companion other = {}, uid_t user = 0) {
    auto fds = std::array<int, kept_socket_count>{};
    std::transform(sockets.begin(), sockets.end(), fds.begin(),
                   [](const auto& x) { return x ? x.get() : -1; });
    warden = ::fork();
    if (warden == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (user != 0 && ::setresuid(user, user, user) != 0)
        ::_exit(1);
      handle_agent_death(*table, fds, other);
      ::_exit(0);
    }
    for (auto& x : sockets)
      x.reset();
  }

  /// Whether the warden has ended, or does in time.
  bool is_over(std::chrono::milliseconds limit = timeout) {
    const auto due = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < due) {
      if (::waitpid(warden, nullptr, WNOHANG) == warden) {
        warden = 0;
        return true;
      }
      ::poll(nullptr, 0, 1);
    }
    return false;
  }

  static std::string read_at(const socket_address& where, size_t size = 100) {
    const auto fd = connect_to(where);
    return fd ? read_up_to(fd.get(), size) : "refused";
  }

  warden_table* table = nullptr;
  std::array<unique_fd, kept_socket_count> sockets;
  pid_t warden = 0;
  pid_t worker = 0;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "agent_death: without a kept socket only the workers end",
                 "[runtime]") {
  start_worker();
  begin();
  auto status = 0;
  CHECK(::waitpid(std::exchange(worker, 0), &status, 0) > 0);
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(is_over());
}

TEST_CASE_METHOD(fixture,
                 "agent_death: the agent's statement comes when no worker runs",
                 "[runtime]") {
  const auto where = keep(kept_socket::agent, "the agent is gone");
  const auto long_text = std::string(socket_keeper::statement_size_max, 'x');
  const auto voter = keep(kept_socket::voter, long_text);
  start_worker();
  begin();
  CHECK(read_at(where) == "the agent is gone");
  CHECK(read_at(voter, long_text.size() + 1) == long_text);
  // Its zombie is left: no parent has reaped it.
  auto info = siginfo_t{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(worker), &info,
                   WEXITED | WNOHANG | WNOWAIT)
          == 0);
  CHECK(info.si_status == SIGKILL);
  CHECK(read_at(where) == "the agent is gone"); // To all who ask.
}

TEST_CASE_METHOD(fixture, "agent_death: it ends when no client asks any more",
                 "[runtime]") {
  table->linger = core::duration{200ms}.count();
  const auto where = keep(kept_socket::coordinator, "gone", token);
  begin();
  for (auto i = 0; i < 4; ++i) { // Longer than that together.
    const auto fd = connect_to(where);
    REQUIRE(fd);
    send_whole(fd.get(), "ARUN and so on");
    CHECK(read_up_to(fd.get(), 4) == "gone");
    CHECK_FALSE(is_over(100ms));
  }
  CHECK(is_over());
  CHECK(read_at(where) == "refused");
}

TEST_CASE_METHOD(fixture, "agent_death: rejected peers do not keep it up",
                 "[runtime]") {
  table->linger = core::duration{300ms}.count();
  const auto where = keep(kept_socket::coordinator, "gone", token);
  begin();
  const auto due = std::chrono::steady_clock::now() + timeout;
  auto ended = false;
  while (!ended && std::chrono::steady_clock::now() < due) {
    const auto fd = connect_to(where);
    if (fd)
      send_whole(fd.get(), "GET / HTTP/1.1");
    ended = is_over(20ms);
  }
  CHECK(ended);
}

TEST_CASE_METHOD(fixture, "agent_death: it has a limit, however many ask",
                 "[runtime]") {
  table->linger_max = core::duration{300ms}.count();
  const auto where = keep(kept_socket::coordinator, "gone", token);
  begin();
  const auto fd = connect_to(where);
  send_whole(fd.get(), "ARUN and so on");
  CHECK(is_over());
}

TEST_CASE_METHOD(fixture,
                 "agent_death: a successor gets the coordinator's port",
                 "[runtime]") {
  const auto where = keep(kept_socket::coordinator, "gone", token);
  const auto other = keep(kept_socket::agent, "the agent is gone");
  begin();
  const auto guess = connect_to(where);
  CHECK(read_up_to(guess.get(), 4) == "gone");
  send_whole(guess.get(), std::string(token.size(), 'x'));
  CHECK_FALSE(is_ready(guess.get(), POLLIN, 50ms)); // It stays open.
  const auto fd = connect_to(where);
  CHECK(read_up_to(fd.get(), 4) == "gone");
  send_whole(fd.get(), "ARUN and so on");
  send_whole(fd.get(), token);
  CHECK(is_closed(fd.get()));
  CHECK(open_listening(where));
  CHECK(read_at(other) == "the agent is gone");
}

TEST_CASE_METHOD(fixture,
                 "agent_death: more clients than it keeps are all told",
                 "[runtime]") {
  const auto where = keep(kept_socket::coordinator, "gone", token);
  begin();
  auto kept = std::vector<unique_fd>{};
  for (auto i = 0; i < 200; ++i) {
    kept.push_back(connect_to(where));
    REQUIRE(read_up_to(kept.back().get(), 4) == "gone");
  }
}

TEST_CASE_METHOD(
  fixture,
  "agent_death: N2 the second warden kills, and speaks when the first "
  "is gone",
  "[runtime]") {
  const auto where = keep(kept_socket::agent, "the agent is gone");
  const auto first = fork_idle();
  const auto pidfd
    = unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, first, 0))};
  start_worker();
  begin({warden_role::second, pidfd.get()});
  auto status = 0;
  CHECK(::waitpid(std::exchange(worker, 0), &status, 0) > 0);
  CHECK(WTERMSIG(status) == SIGKILL);
  const auto early = connect_to(where); // The kernel takes it; none answers.
  REQUIRE(early);
  CHECK_FALSE(is_ready(early.get(), POLLIN, 50ms));
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  CHECK(read_up_to(early.get(), 100) == "the agent is gone");
}

TEST_CASE_METHOD(
  fixture,
  "agent_death: N2 the first warden ends the second before it gives "
  "the port away",
  "[runtime]") {
  const auto where = keep(kept_socket::coordinator, "gone", token);
  const auto second = fork_idle(); // It has the sockets, too.
  const auto pidfd
    = unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, second, 0))};
  begin({warden_role::first, pidfd.get()});
  const auto fd = connect_to(where);
  CHECK(read_up_to(fd.get(), 4) == "gone");
  send_whole(fd.get(), token);
  CHECK(is_closed(fd.get()));
  CHECK(open_listening(where));
  auto status = 0;
  CHECK(::waitpid(second, &status, 0) == second);
  CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE_METHOD(
  fixture,
  "agent_death: N10 the port is free after the lease, although a "
  "worker does not end",
  "[runtime]") {
  if (::geteuid() != 0)
    return actorrun::test::skip(
      "root", "another user's process stands for one that hangs");
  table->linger = core::duration{300ms}.count();
  start_worker(); // Before there are sockets that it could have.
  const auto where = keep(kept_socket::coordinator, "gone", token);
  (void)keep(kept_socket::agent, "the agent is gone");
  const auto begun = std::chrono::steady_clock::now();
  begin({}, 65'534); // Its signals do not reach our worker.
  const auto fd = connect_to(where);
  CHECK(read_up_to(fd.get(), 4) == "gone");
  send_whole(fd.get(), token);
  CHECK(is_closed(fd.get()));
  CHECK(std::chrono::steady_clock::now() - begun >= 300ms);
  CHECK(::kill(worker, 0) == 0);
  CHECK(open_listening(where));
}

} // namespace actorrun::test::agent_death_test
