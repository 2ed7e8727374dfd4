// Workers of a host that a fork server makes.
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun::test::process_host_server_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

struct server_fixture : fixture {
  // The child that runs the program and is no worker; 0 if there is none.
  pid_t server_pid() {
    auto found = pid_t{0};
    const auto workers = all<ports::process_started>();
    for (const auto& task : fs::directory_iterator{"/proc/self/task"}) {
      auto file = std::ifstream{task.path() / "children"};
      for (auto pid = pid_t{}; file >> pid;) {
        auto name = std::string{};
        std::getline(std::ifstream{"/proc/" + std::to_string(pid) + "/comm"},
                     name);
        if (name == "fork_server_pro" && state_of(pid) != 'Z'
            && std::ranges::find(workers, pid, &ports::process_started::pid)
                 == workers.end())
          found = pid;
      }
    }
    return found;
  }

  pid_t pid_of_started_server() {
    auto pid = pid_t{0};
    soon([&] { return (pid = server_pid()) != 0; });
    return pid;
  }
};

} // namespace

TEST_CASE_METHOD(server_fixture,
                 "fork server: its workers are the agent's children",
                 "[runtime]") {
  start({served(0, {"self", std::to_string(::getpid())}),
         served(1, {"exit", "7"})});
  REQUIRE(wait_for_events(4));
  auto exits = all<ports::process_exited>();
  std::ranges::sort(exits, {}, &ports::process_exited::local_rank);
  CHECK(exits[0].exit_code == 0);
  CHECK(exits[1].exit_code == 7);
  CHECK(exits[1].pid == pid_of(1));
}

TEST_CASE_METHOD(server_fixture,
                 "fork server: the C library is sound in a worker",
                 "[runtime]") {
  start({served(0, {"thread"})});
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: code 0");
}

TEST_CASE_METHOD(server_fixture,
                 "fork server: arguments and environment arrive as given",
                 "[runtime]") {
  const auto here = folder{};
  const auto large = std::string(300'000, 'x');
  auto spec = served(0, {"tell", here / "told", "", large, "z"});
  spec.environment = {"A=1", "B="};
  start({spec});
  REQUIRE(wait_for_events(2));
  CHECK(content_of(here / "told")
        == "A=1\nB=\n" FORK_SERVER_PROGRAM "\ntell\n" + (here / "told") + "\n\n"
             + large + "\nz\n");
}

TEST_CASE_METHOD(server_fixture, "fork server: too much text is reported",
                 "[runtime]") {
  start({served(0, {"exit", "0", std::string(fork_text_max, 'x')}),
         served(1, {"exit", "0"})});
  REQUIRE(wait_for_events(3));
  const auto failures = all<ports::process_not_started>();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].error == E2BIG);
  CHECK(failures[0].subject == FORK_SERVER_PROGRAM);
}

TEST_CASE_METHOD(server_fixture, "fork server: one serves all batches",
                 "[runtime]") {
  auto first = pid_t{0};
  for (auto i = 1U; i <= 3; ++i) {
    start({served(0, {"exit", "0"}), served(1, {"exit", "0"})},
          generation_id{i});
    REQUIRE(wait_for_events(size_t{4} * i));
    uut->release(generation_id{i});
    on_thread([] {});
    const auto now = server_pid();
    CHECK(now != 0);
    CHECK((first == 0 || first == now));
    first = now;
  }
  uut.reset();
  CHECK(server_pid() == 0);
  CHECK(!has_children());
}

TEST_CASE_METHOD(server_fixture, "fork server: many workers all run",
                 "[runtime]") {
  constexpr auto count = 100U;
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < count; ++i)
    specs.push_back(served(i, {"exit", std::to_string(i)}));
  start(std::move(specs));
  REQUIRE(wait_for_events(size_t{2} * count));
  const auto exits = all<ports::process_exited>();
  REQUIRE(exits.size() == count);
  for (const auto& x : exits)
    CHECK(x.exit_code == static_cast<int>(x.local_rank));
}

TEST_CASE_METHOD(server_fixture,
                 "fork server: output of the server appears once",
                 "[runtime]") {
  const auto here = folder{};
  const auto saved = unique_fd{::dup(STDOUT_FILENO)};
  const auto file = unique_fd{
    ::open((here / "out").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)};
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < 3; ++i) {
    auto& spec = specs.emplace_back(served(i, {"print", "w", ""}));
    spec.environment.push_back("SERVER_PRINTS=1");
  }
  std::cout.flush();
  ::dup2(file.get(), STDOUT_FILENO);
  start(std::move(specs));
  const auto told = wait_for_events(6);
  ::dup2(saved.get(), STDOUT_FILENO);
  REQUIRE(told);
  CHECK(content_of(here / "out") == "once www");
}

TEST_CASE_METHOD(server_fixture, "fork server: a worker's end is its own",
                 "[runtime]") {
  auto thrown = served(0, {"throw"});
  thrown.err = discarded;
  start({thrown, served(1, {"abort"}), served(2, {"exit", "0"})});
  REQUIRE(wait_for_events(6));
  for (const auto& x : all<ports::process_exited>())
    CHECK(x.signal == (x.local_rank < 2 ? SIGABRT : 0));
}

TEST_CASE_METHOD(server_fixture,
                 "fork server: workers outlive it, and the next batch has "
                 "a new one",
                 "[runtime]") {
  start({served(0, {"pause"})});
  REQUIRE(wait_for_events(1));
  const auto first = server_pid();
  ::kill(first, SIGKILL);
  REQUIRE(wait([&] { return !notes.empty(); }));
  CHECK(notes[0].starts_with("fork server " FORK_SERVER_PROGRAM " has ended"));
  CHECK(runs(pid_of(0)));
  start({served(1, {"exit", "3"})}, generation_id{2});
  REQUIRE(wait_for_events(3));
  CHECK(trace() == "started 0; started 1; exited 1: code 3");
  CHECK(server_pid() != 0);
  CHECK(server_pid() != first);
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(4));
  CHECK(all<ports::process_exited>()[1].signal == SIGTERM);
}

TEST_CASE_METHOD(server_fixture,
                 "fork server: its death ends pending "
                 "starts",
                 "[runtime]") {
  start({served(0, {"exit", "0"})});
  REQUIRE(wait_for_events(2));
  ::kill(server_pid(), SIGSTOP);
  auto specs = std::vector<ports::process_spec>{};
  constexpr auto count = static_cast<uint32_t>(2 * forks_under_way_max);
  for (auto i = 0U; i < count; ++i)
    specs.push_back(served(i, {"exit", "0"}));
  start(std::move(specs), generation_id{2});
  on_thread([] {});
  ::kill(server_pid(), SIGKILL);
  REQUIRE(wait_for_events(2 + count));
  const auto failures = all<ports::process_not_started>();
  REQUIRE(failures.size() == count);
  for (const auto& x : failures) {
    CHECK(x.error == ECONNRESET);
    CHECK(x.subject == FORK_SERVER_PROGRAM " (as a fork server)");
  }
}

TEST_CASE_METHOD(server_fixture, "fork server: a missing program is reported",
                 "[runtime]") {
  auto none = served(0, {});
  none.arguments = {"true"};
  auto missing = served(1, {});
  missing.arguments = {"no-such-program"};
  start({none, missing});
  REQUIRE(wait_for_events(2));
  auto failures = all<ports::process_not_started>();
  REQUIRE(failures.size() == 2);
  std::ranges::sort(failures, {}, &ports::process_not_started::local_rank);
  CHECK(failures[0].error == ECONNRESET);
  CHECK(failures[0].subject == "true (as a fork server)");
  CHECK(failures[1].error == ENOENT);
  CHECK(failures[1].subject == "no-such-program");
}

TEST_CASE_METHOD(server_fixture, "fork server: a stop does not wait for it",
                 "[runtime]") {
  auto specs = std::vector<ports::process_spec>{};
  constexpr auto count = static_cast<uint32_t>(2 * forks_under_way_max);
  for (auto i = 0U; i < count; ++i) {
    auto& spec = specs.emplace_back(served(i, {"exit", "0"}));
    spec.environment.push_back("SERVER_HANGS=1");
  }
  start(std::move(specs));
  on_thread([] {});
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(count));
  for (const auto& x : all<ports::process_not_started>())
    CHECK(x.error == ECANCELED);
  uut->release(generation);
  on_thread([] {});
  uut.reset();
  CHECK(!has_children());
}

TEST_CASE_METHOD(server_fixture,
                 "fork server: a start that was given up "
                 "leaves no process",
                 "[runtime]") {
  start({served(0, {"exit", "0"})});
  REQUIRE(wait_for_events(2));
  const auto server = server_pid();
  ::kill(server, SIGSTOP);
  start({served(0, {"pause"}), served(1, {"pause"})}, generation_id{2});
  uut->release(generation_id{2});
  REQUIRE(wait_for_events(4));
  CHECK(all<ports::process_not_started>().size() == 2);
  ::kill(server, SIGCONT); // It still makes them.
  start({served(0, {"exit", "5"})}, generation_id{3});
  REQUIRE(wait_for_events(6));
  CHECK(all<ports::process_exited>()[1].exit_code == 5);
  uut->release(generation_id{3});
  uut->release(generation);
  on_thread([] {});
  // Only the server and the wardens are left.
  CHECK(soon([&] {
    auto count = 0;
    for (const auto& task : fs::directory_iterator{"/proc/self/task"}) {
      auto file = std::ifstream{task.path() / "children"};
      for (auto pid = pid_t{}; file >> pid;)
        ++count;
    }
    return count == 3;
  }));
}

} // namespace actorrun::test::process_host_server_test
