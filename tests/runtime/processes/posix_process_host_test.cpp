#include "runtime/processes/posix_process_host.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::posix_process_host_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;
using namespace std::chrono_literals;

TEST_CASE_METHOD(fixture, "process host: a worker's exit code is reported",
                 "[runtime]") {
  start({shell(5, "exit 7")});
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 5; exited 5: code 7");
  const auto exits = all<ports::process_exited>();
  CHECK(exits[0].pid == pid_of(5));
  CHECK(exits[0].generation == generation);
  CHECK(!exits[0].dumped);
}

TEST_CASE_METHOD(fixture,
                 "process host: a worker's death by signal is reported",
                 "[runtime]") {
  start({shell(0, "kill -9 $$"), shell(1, "exit 255")});
  REQUIRE(wait_for_events(4));
  auto exits = all<ports::process_exited>();
  std::ranges::sort(exits, {}, &ports::process_exited::local_rank);
  CHECK(exits[0].signal == SIGKILL);
  CHECK(exits[1].signal == 0);
  CHECK(exits[1].exit_code == 255);
}

TEST_CASE_METHOD(fixture,
                 "process host: a failed start is reported with its errno",
                 "[runtime]") {
  on_thread([] {}); // A warden being started would keep open files busy.
  const auto here = folder{};
  std::ofstream{here / "denied"} << "x";
  std::ofstream{here / "text"} << "x";
  ::chmod((here / "text").c_str(), 0755);
  start({worker(0, {"no-such-program"}), worker(1, {here / "denied"}),
         worker(2, {here / "text"}), worker(3, {}), worker(4, {"true"})});
  REQUIRE(wait_for_events(6));
  CHECK(trace()
        == "not started 3: EINVAL; not started 0: ENOENT; "
           "not started 1: EACCES; not started 2: ENOEXEC; started 4; "
           "exited 4: code 0");
}

TEST_CASE_METHOD(fixture,
                 "process host: a file that could not be used is named",
                 "[runtime]") {
  on_thread([] {}); // A warden being started would keep open files busy.
  const auto here = folder{};
  std::ofstream{here / "script"} << "#!/no/such/sh\n";
  ::chmod((here / "script").c_str(), 0755);
  auto large = worker(4, {"true"});
  large.environment.push_back(std::string(3'000'000, 'x'));
  const auto before = clock_type::now();
  start({worker(0, {"no-such-program"}), worker(1, {here / "script"}),
         worker(2, {here / "."}), worker(3, {std::string(5000, 'x')}), large,
         worker(5, {"/" + std::string(5000, 'x')})});
  REQUIRE(wait_for_events(6));
  const auto failures = all<ports::process_not_started>();
  REQUIRE(failures.size() == 6);
  CHECK(trace()
        == "not started 0: ENOENT; not started 1: ENOENT; not started 2: "
           "EACCES; not started 3: ENAMETOOLONG; not started 4: E2BIG; not "
           "started 5: ENAMETOOLONG");
  CHECK(failures[0].subject == "no-such-program");
  CHECK(failures[1].subject
        == (here / "script") + " (its interpreter /no/such/sh)");
  CHECK(failures[2].subject == here / ".");
  CHECK(failures[3].subject == std::string(5000, 'x'));
  CHECK(failures[4].subject
        == "true (3000025 bytes of arguments and environment)");
  for (const auto& x : failures) {
    CHECK(x.when >= before);
    CHECK(x.when <= clock_type::now());
  }
}

TEST_CASE_METHOD(fixture, "process host: of 300 processes none is lost",
                 "[runtime]") {
  constexpr auto count = 300U;
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < count; ++i)
    specs.push_back(shell(i, "exit " + std::to_string(i % 200)));
  start(std::move(specs));
  REQUIRE(wait_for_events(2 * count));
  const auto starts = all<ports::process_started>();
  const auto exits = all<ports::process_exited>();
  REQUIRE(starts.size() == count);
  REQUIRE(exits.size() == count);
  auto ranks = std::set<uint32_t>{};
  for (const auto& x : exits) {
    ranks.insert(x.local_rank);
    CHECK(x.exit_code == static_cast<int>(x.local_rank % 200));
    CHECK(x.signal == 0);
  }
  CHECK(ranks.size() == count);
}

TEST_CASE_METHOD(fixture,
                 "process host: facts of a start are reported in portions",
                 "[runtime]") {
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < 130; ++i)
    specs.push_back(worker(i, {})); // Known at once, in one round.
  start(std::move(specs));
  REQUIRE(wait_for_events(130));
  CHECK(calls == std::vector<size_t>{64, 64, 2});
}

TEST_CASE_METHOD(fixture,
                 "process host: exits of one round are reported in one call",
                 "[runtime]") {
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < 8; ++i)
    specs.push_back(worker(i, {"sleep", "1000"}));
  start(std::move(specs));
  REQUIRE(wait_for_events(8));
  const auto starts = all<ports::process_started>();
  on_thread([&] { // The host sees nothing until all have ended.
    for (const auto& x : starts) {
      ::kill(x.pid, SIGTERM);
      auto info = siginfo_t{};
      const auto id = static_cast<id_t>(x.pid);
      CHECK(::waitid(P_PID, id, &info, WEXITED | WNOWAIT) == 0);
    }
  });
  const auto before = clock_type::now();
  REQUIRE(wait_for_events(16));
  CHECK(calls.back() == 8);
  const auto exits = all<ports::process_exited>();
  for (const auto& x : exits)
    CHECK(x.when == exits[0].when); // Seen at the same time.
  CHECK(exits[0].when <= clock_type::now());
  CHECK(exits[0].when >= before - timeout);
}

TEST_CASE_METHOD(fixture, "process host: the environment is the one given",
                 "[runtime]") {
  const auto here = folder{};
  auto spec = shell(0, "/usr/bin/env > " + (here / "env"));
  spec.environment.push_back("RANK=3");
  start({spec});
  REQUIRE(wait_for_events(2));
  auto lines = std::set<std::string>{};
  auto file = std::ifstream{here / "env"};
  for (auto line = std::string{}; std::getline(file, line);)
    lines.insert(line);
  lines.erase("_=/usr/bin/env"); // Some shells add these two.
  std::erase_if(lines, [](const auto& x) { return x.starts_with("PWD="); });
  CHECK(lines == std::set<std::string>{"PATH=/bin:/usr/bin", "RANK=3"});
}

TEST_CASE_METHOD(fixture, "process host: a signal reaches the whole group",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, tell_pid(here / "a") + "wait"),
         shell(1, tell_pid(here / "b") + "exit 3")});
  REQUIRE(wait_for_events(3)); // The second leader has ended.
  const auto a = read_pid(here / "a");
  const auto b = read_pid(here / "b");
  CHECK(runs(b)); // Its group is left alone until it is signalled.
  uut->signal(generation_id{2}, SIGKILL);
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(4));
  CHECK(soon([&] { return !runs(a) && !runs(b); }));
}

TEST_CASE_METHOD(fixture, "process host: a notice signal reaches only leaders",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, "trap 'echo got > " + (here / "got") + "' USR1; "
                    + tell_pid(here / "a") + "wait; wait"),
         shell(1, tell_pid(here / "b") + "exit 3")});
  REQUIRE(wait_for_events(3)); // The second leader has ended.
  const auto a = read_pid(here / "a");
  const auto b = read_pid(here / "b");
  uut->notify(generation_id{2}, SIGUSR1);
  uut->notify(generation, SIGUSR1); // Would end a `sleep`.
  CHECK(soon([&] { return content_of(here / "got") == "got\n"; }));
  CHECK(runs(a));
  CHECK(runs(b));
  CHECK(runs(pid_of(0)));
}

TEST_CASE_METHOD(fixture, "process host: a release ends remaining processes",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, "trap '' TERM; " + tell_pid(here / "a") + "exit 0")});
  REQUIRE(wait_for_events(2));
  const auto leader = pid_of(0);
  const auto left = read_pid(here / "a");
  CHECK(state_of(leader) == 'Z'); // Keeps the id of the group.
  CHECK(runs(left));
  uut->release(generation);
  CHECK(soon([&] { return !runs(left); }));
  CHECK(soon([&] { return state_of(leader) == '-'; }));
}

TEST_CASE_METHOD(fixture, "process host: generations follow each other",
                 "[runtime]") {
  for (auto i = 1U; i <= 5; ++i) {
    start({worker(0, {"true"}), worker(1, {"false"})}, generation_id{i});
    REQUIRE(wait_for_events(4 * i));
    uut->release(generation_id{i});
  }
  const auto exits = all<ports::process_exited>();
  REQUIRE(exits.size() == 10);
  CHECK(exits.back().generation == generation_id{5});
}

TEST_CASE_METHOD(fixture,
                 "process host: a release of running workers reports "
                 "their end",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  uut->release(generation);
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: signal 9");
  CHECK(soon([&] { return state_of(pid_of(0)) == '-'; }));
}

TEST_CASE_METHOD(fixture,
                 "process host: it leaves no process when it is destroyed",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, "trap '' TERM; " + tell_pid(here / "a") + "wait"),
         shell(1, "exit 0")});
  REQUIRE(wait_for_events(3));
  const auto left = read_pid(here / "a");
  uut.reset();
  CHECK(!has_children());
  CHECK(soon([&] { return !runs(left); }));
}

TEST_CASE_METHOD(fixture, "process host: a host that reaps takes the exit code",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"}), worker(1, {"sleep", "1000"})});
  REQUIRE(wait_for_events(2));
  const auto pid = pid_of(0);
  on_thread([&] {
    ::kill(pid, SIGTERM);
    CHECK(::waitpid(pid, nullptr, 0) == pid);
  });
  REQUIRE(wait_for_events(3));
  CHECK(trace() == "started 0; started 1; exited 0: code 255");
  CHECK(notes.size() == 1);
  uut->signal(generation, SIGTERM); // Spares other processes, reaches the rest.
  REQUIRE(wait_for_events(4));
  uut->release(generation);
}

TEST_CASE_METHOD(fixture, "process host: a host may ignore SIGCHLD",
                 "[runtime]") {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  start({worker(0, {"true"})});
  const auto told = wait_for_events(2);
  uut.reset();
  std::signal(SIGCHLD, old);
  REQUIRE(told);
  CHECK(trace() == "started 0; exited 0: code 255");
}

TEST_CASE_METHOD(fixture,
                 "process host: adopted orphans of a session are "
                 "ended with it",
                 "[runtime]") {
  const auto here = folder{};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  start({orphaning(0, here / "a")});
  REQUIRE(wait_for_events(2));
  const auto orphan = read_pid(here / "a");
  CHECK(::getpgid(orphan) == orphan);
  CHECK(runs(orphan));
  const auto own = ::fork(); // Not a process of the session.
  if (own == 0) {
    ::setsid();
    ::pause();
    ::_exit(0);
  }
  uut->release(generation);
  CHECK(soon([&] { return state_of(orphan) == '-'; }));
  CHECK(soon([&] { return state_of(pid_of(0)) == '-'; }));
  CHECK(runs(own));
  ::kill(own, SIGKILL);
  ::waitpid(own, nullptr, 0);
  uut.reset();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  CHECK(!has_children());
}

// A fence that is still killing may find the new process before that has seen the fence.
bool is_stopped_by_fence(const std::string& trace, uint32_t rank) {
  const auto worker = std::to_string(rank);
  return trace.find("not started " + worker + ": ECANCELED")
           != std::string::npos
         || trace.find("exited " + worker + ": signal 9") != std::string::npos;
}

TEST_CASE_METHOD(fixture,
                 "process host: a start that the fence overtakes "
                 "does not happen",
                 "[runtime]") {
  const auto here = folder{};
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  const auto first = pid_of(0);
  on_thread([&] {
    start({worker(1, {"touch", here / "ran"})}, generation_id{2});
    uut->set_fence(clock_type::now());
    auto info = siginfo_t{};
    const auto id = static_cast<id_t>(first);
    CHECK(::waitid(P_PID, id, &info, WEXITED | WNOWAIT) == 0);
  });
  REQUIRE(soon([&] { return is_stopped_by_fence(trace(), 1); }));
  // It may still be killing; then another one is started.
  const auto decided = uut->set_fence(core::time_point::max());
  auto next = 1U;
  CHECK(soon([&] {
    start({worker(++next, {"true"})}, generation_id{next + 1}, decided);
    const auto end = "exited " + std::to_string(next) + ": ";
    return soon([&] { return trace().find(end) != std::string::npos; })
           && trace().find(end + "code 0") != std::string::npos;
  }));
  CHECK(trace().find("exited 0: signal 9") != std::string::npos);
  CHECK(!fs::exists(here / "ran"));
}

TEST_CASE_METHOD(fixture,
                 "process host: a start decided before the fence fired "
                 "does not happen, however late it is ordered",
                 "[runtime]") {
  const auto here = folder{};
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  const auto decided = uut->set_fence(clock_type::now());
  REQUIRE(wait_for_events(2)); // The fence has fired.
  uut->set_fence(core::time_point::max());
  start({worker(1, {"touch", here / "ran"})}, generation_id{2}, decided);
  CHECK(soon([&] { return is_stopped_by_fence(trace(), 1); }));
  CHECK(!fs::exists(here / "ran"));
}

TEST_CASE_METHOD(fixture,
                 "process host: past the fence nothing starts, even if the "
                 "warden has not noticed yet",
                 "[runtime]") {
  start({worker(0, {"true"})});
  REQUIRE(wait_for_events(2));
  auto wardens = std::array{pid_t{}, pid_t{}};
  REQUIRE(soon([&] {
    on_thread([&] { wardens = {uut->warden_pid(), uut->second_warden_pid()}; });
    return wardens[1] != 0;
  }));
  for (const auto pid : wardens)
    REQUIRE(::kill(pid, SIGSTOP) == 0);
  start({worker(1, {"true"})}, generation_id{2},
        uut->set_fence(clock_type::now()));
  REQUIRE(wait_for_events(3));
  CHECK(trace().find("not started 1: ECANCELED") != std::string::npos);
  for (const auto pid : wardens)
    ::kill(pid, SIGCONT);
}

TEST_CASE_METHOD(fixture,
                 "process host: U12 a stopped worker gets the stop signal",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, "trap 'echo saved > " + here / "saved"
                    + "; exit 0' TERM; kill -STOP $$; while :; do sleep 0.01; "
                      "done")});
  REQUIRE(wait_for_events(1));
  REQUIRE(soon([&] { return state_of(pid_of(0)) == 'T'; }));
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: code 0");
  CHECK(content_of(here / "saved") == "saved\n");
}

TEST_CASE_METHOD(
  fixture,
  "process host: T4 a stop signal to the worker alone spares what "
  "it has started until it has ended",
  "[runtime]") {
  const auto here = folder{};
  // As a script whose data loader is needed to save.
  start({shell(0, "sh -c 'trap \"exit 1\" TERM; while [ ! -e " + here / "asked"
                    + " ]; do sleep 0.01; done; echo batch > " + here / "saved"
                    + "; exec sleep 1000' & echo $! > " + here / "loader"
                    + "; trap 'touch " + here / "asked" + "; while [ ! -s "
                    + here / "saved"
                    + " ]; do sleep 0.01; done; exit 0' TERM; touch "
                    + here / "ready" + "; while :; do sleep 0.01; done")});
  REQUIRE(wait_for_events(1));
  REQUIRE(soon([&] { return fs::exists(here / "ready"); }));
  const auto loader = read_pid(here / "loader");
  uut->signal(generation, SIGTERM, {}, ports::signal_scope::worker);
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: code 0");
  CHECK(content_of(here / "saved") == "batch\n");
  uut->release(generation);
  CHECK(soon([&] { return !runs(loader); }));
}

TEST_CASE_METHOD(fixture,
                 "process host: S5 what could not be started is added to its "
                 "generation later",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  start({worker(1, {"sleep", "1000"})});
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; started 1");
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(4));
}

TEST_CASE_METHOD(fixture, "process host: a dead warden is logged and replaced",
                 "[runtime]") {
  start({worker(0, {"true"})});
  REQUIRE(wait_for_events(2));
  uut->release(generation);
  auto first = pid_t{};
  on_thread([&] { first = uut->warden_pid(); });
  REQUIRE(first > 0);
  ::kill(first, SIGKILL);
  REQUIRE(wait([&] { return !notes.empty(); }));
  start({worker(0, {"sleep", "1000"})}, generation_id{2});
  REQUIRE(wait_for_events(3));
  auto second = pid_t{};
  on_thread([&] { second = uut->warden_pid(); });
  CHECK(second > 0);
  CHECK(second != first);
  uut->set_fence(clock_type::now());
  CHECK(wait_for_events(4));
}

} // namespace actorrun::test::posix_process_host_test
