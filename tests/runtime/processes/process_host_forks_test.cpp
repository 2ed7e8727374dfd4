// Workers of a host that are functions: made by a fork of this program.
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace actorrun::test::process_host_forks_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

TEST_CASE_METHOD(fixture, "forks: a function runs in a process of its own",
                 "[runtime]") {
  auto ran = false;
  start({function(0,
                  [&] {
                    ran = true;
                    return 7;
                  }),
         function(1, [] { return 256 + 3; })});
  REQUIRE(wait_for_events(4));
  CHECK(!ran);
  auto exits = all<ports::process_exited>();
  std::ranges::sort(exits, {}, &ports::process_exited::local_rank);
  CHECK(exits[0].exit_code == 7);
  CHECK(exits[0].pid == pid_of(0));
  CHECK(exits[1].exit_code == 3);
}

TEST_CASE_METHOD(fixture, "forks: a worker is alone, bound and clean",
                 "[runtime]") {
  const auto old = std::signal(SIGUSR1, [](int) {});
  const auto agent = ::getpid();
  start({function(0, [&] {
    auto death_signal = 0;
    ::prctl(PR_GET_PDEATHSIG, &death_signal);
    auto blocked = sigset_t{};
    ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
    struct sigaction usr1 = {};
    ::sigaction(SIGUSR1, nullptr, &usr1);
    const auto threads = fs::directory_iterator{"/proc/self/task"};
    auto name = std::string{};
    std::getline(std::ifstream{"/proc/self/comm"}, name);
    return ::getppid() != agent                               ? 1
           : ::getsid(0) != ::getpid()                        ? 2
           : death_signal != SIGKILL                          ? 3
           : sigisemptyset(&blocked) != 1                     ? 4
           : usr1.sa_handler != SIG_DFL                       ? 5
           : std::distance(begin(threads), end(threads)) != 1 ? 6
           : !name.starts_with("runtime_tests")               ? 7
                                                              : 0;
  })});
  const auto told = wait_for_events(2);
  std::signal(SIGUSR1, old);
  REQUIRE(told);
  CHECK(trace() == "started 0; exited 0: code 0");
}

TEST_CASE_METHOD(fixture, "forks: the environment is the one given",
                 "[runtime]") {
  REQUIRE(::setenv("FROM_PARENT", "1", 1) == 0);
  auto spec = function(0, [] {
    auto count = 0;
    for (auto** x = ::environ; *x != nullptr; ++x)
      ++count;
    const auto* rank = std::getenv("RANK");
    if (count != 2 || rank == nullptr || std::string{rank} != "3"
        || std::getenv("FROM_PARENT") != nullptr)
      return 1;
    ::setenv("RANK", "4", 1);
    ::setenv("MORE", "5", 1);
    return std::system("test $RANK$MORE = 45") == 0 ? 0 : 2;
  });
  spec.environment.push_back("RANK=3");
  start({spec});
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: code 0");
  ::unsetenv("FROM_PARENT");
}

TEST_CASE_METHOD(fixture, "forks: an exception that leaves it is its end",
                 "[runtime]") {
  auto spec = function(0, []() -> int { throw std::runtime_error{"x"}; });
  spec.err = discarded;
  start({spec, function(1, []() -> int { std::abort(); })});
  REQUIRE(wait_for_events(4));
  for (const auto& x : all<ports::process_exited>())
    CHECK(x.signal == SIGABRT);
}

// Otherwise the second process would write the first one's buffered bytes
// again.
TEST_CASE_METHOD(fixture, "forks: buffered bytes of the program stay its own",
                 "[runtime]") {
  const auto here = folder{};
  auto* const file = std::fopen((here / "parent").c_str(), "w");
  REQUIRE(file != nullptr);
  std::fputs("parent", file);
  std::fputs(" ", stdout);
  std::cout << " ";
  auto spec = function(0, [&] {
    std::fputs("child", stdout);
    // A file of the child on the descriptor that the stream takes for its own.
    auto fd = -1;
    do
      fd = ::open((here / "child").c_str(), O_CREAT | O_RDWR, 0600);
    while (fd >= 0 && fd < ::fileno(file));
    std::fflush(nullptr);
    return fd == ::fileno(file) ? static_cast<int>(::lseek(fd, 0, SEEK_END))
                                : 100;
  });
  spec.out = to_file(here / "out");
  start({spec});
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: code 0");
  CHECK(content_of(here / "out") == "child");
  CHECK(content_of(here / "parent").empty());
  std::fclose(file);
  CHECK(content_of(here / "parent") == "parent");
}

TEST_CASE_METHOD(fixture, "forks: more than fit at the same time all run",
                 "[runtime]") {
  constexpr auto count = static_cast<uint32_t>(forks_under_way_max * 3 + 1);
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < count; ++i)
    specs.push_back(function(i, [i] { return static_cast<int>(i); }));
  start(std::move(specs));
  REQUIRE(wait_for_events(size_t{2} * count));
  const auto exits = all<ports::process_exited>();
  REQUIRE(exits.size() == count);
  for (const auto& x : exits)
    CHECK(x.exit_code == static_cast<int>(x.local_rank));
}

TEST_CASE_METHOD(fixture, "forks: descriptors that do not fit are reported",
                 "[runtime]") {
  on_thread([] {});
  auto spec = function(0, [] { return 0; });
  spec.descriptors = {0, 0, 0};
  spec.out = discarded;
  auto old = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  const auto lowest = static_cast<rlim_t>(unique_fd{::dup(0)}.get());
  auto failures = size_t{0};
  // From too few for the host to enough for the worker.
  for (auto more = rlim_t{1}; more < 30; ++more) {
    const auto few = rlimit{lowest + more, old.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    start({spec}, generation_id{more});
    const auto told = wait([&] { return !events.empty(); });
    ::setrlimit(RLIMIT_NOFILE, &old); // Sanitizers need some, too.
    REQUIRE(told);
    const auto failed = all<ports::process_not_started>();
    failures += failed.size();
    for (const auto& x : failed)
      CHECK(strerrorname_np(x.error) == std::string{"EMFILE"});
    if (failed.empty())
      REQUIRE(wait_for_events(2));
    uut->release(generation_id{more});
    on_thread([] {});
    events.clear();
  }
  CHECK(failures > 8); // Some at each step of a start.
  CHECK(failures < 29);
}

TEST_CASE_METHOD(fixture, "forks: a start without a function is reported",
                 "[runtime]") {
  start({function(0, {})});
  REQUIRE(wait_for_events(1));
  CHECK(trace() == "not started 0: EINVAL");
  CHECK(all<ports::process_not_started>()[0].subject == "no function");
}

TEST_CASE_METHOD(fixture,
                 "forks: a start that the fence overtakes does not "
                 "happen",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  on_thread([&] {
    start({function(1, [] { return 0; }), served(2, {"exit", "0"})},
          generation_id{2});
    uut->set_fence(clock_type::now());
    auto info = siginfo_t{};
    const auto id = static_cast<id_t>(pid_of(0));
    CHECK(::waitid(P_PID, id, &info, WEXITED | WNOWAIT) == 0);
  });
  REQUIRE(wait_for_events(4));
  const auto failures = all<ports::process_not_started>();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].error == ECANCELED);
  CHECK(failures[1].error == ECANCELED);
  CHECK(all<ports::process_started>().size() == 1);
}

TEST_CASE_METHOD(fixture, "forks: the warden guards them", "[runtime]") {
  start({function(0, [] { return ::pause(); }), served(1, {"pause"})});
  REQUIRE(wait_for_events(2));
  uut->set_fence(clock_type::now());
  REQUIRE(wait_for_events(4));
  for (const auto& x : all<ports::process_exited>())
    CHECK(x.signal == SIGKILL);
}

TEST_CASE_METHOD(fixture,
                 "forks: no process is left when the host is destroyed",
                 "[runtime]") {
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < 40; i += 2) {
    specs.push_back(function(i, [] { return ::pause(); }));
    specs.push_back(served(i + 1, {"pause"}));
  }
  start(std::move(specs));
  SECTION("all workers run") {
    REQUIRE(wait_for_events(40));
  }
  SECTION("some are starting") {
    REQUIRE(wait_for_events(1));
  }
  SECTION("none has been started") {}
  uut.reset();
  CHECK(!has_children());
}

} // namespace actorrun::test::process_host_forks_test
