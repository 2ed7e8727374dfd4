// Control groups of workers: where they are found, and that nothing leaves them.
#include "runtime/os/control_group.hpp"
#include "runtime/processes/worker_cgroup.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace actorrun::test::worker_cgroup_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

// A /proc with one process, which is ours.
std::string folder_in(const std::string& group, const std::string& mounts) {
  const auto proc = folder{};
  fs::create_directories(proc.path / "self");
  std::ofstream{proc / "self/cgroup"} << "4:memory:/m\n0::" << group << '\n';
  std::ofstream{proc / "self/mountinfo"} << mounts;
  return unified_folder(proc.path);
}

constexpr auto version_1
  = "33 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n";

/// Skips the test, with a text, where no group can be made.
bool can_make_groups() {
  const auto home = cgroup_home{unified_folder()};
  if (home.path().empty())
    WARN("skipped: no control group can be made here: " << home.obstacle());
  return !home.path().empty();
}

// Its child leaves session and group, is adopted, and heeds no SIGTERM.
ports::process_spec escaping(uint32_t rank, const std::string& file,
                             const std::string& last) {
  return shell(rank, "setsid -f sh -c 'trap \"\" TERM HUP; echo $$ > " + file
                       + "; exec sleep 1000'; " + last);
}

std::string group_of(pid_t pid) {
  const auto text = content_of("/proc/" + std::to_string(pid) + "/cgroup");
  const auto begin = text.find("0::");
  return text.substr(begin, text.find('\n', begin) - begin);
}

} // namespace

TEST_CASE("control groups: ours is found below its mount",
          "[runtime][cgroup]") {
  CHECK(folder_in("/a/b", "31 1 0:9 / /cg rw - cgroup2 none rw\n")
        == "/cg/a/b");
  CHECK(folder_in("/", "31 1 0:9 / /cg rw - cgroup2 none rw\n") == "/cg");
  CHECK(folder_in("/a/b", "31 1 0:9 /a /cg rw - cgroup2 none rw\n") == "/cg/b");
  CHECK(folder_in("/a", "31 1 0:9 /a /c\\040g rw - cgroup2 none rw\n")
        == "/c g");
}

TEST_CASE("control groups: none is found where none shows ours",
          "[runtime][cgroup]") {
  CHECK(folder_in("/a", version_1).empty());
  CHECK(folder_in("/a", "").empty());
  CHECK(folder_in("/ab", "31 1 0:9 /a /cg rw - cgroup2 none rw\n").empty());
  CHECK(folder_in("/../x", "31 1 0:9 / /cg rw - cgroup2 none rw\n").empty());
  CHECK(unified_folder("/nowhere").empty());
}

TEST_CASE("control groups: a folder that is none says why",
          "[runtime][cgroup]") {
  const auto here = folder{};
  CHECK(cgroup_home{""}.obstacle() == "there is no cgroup v2");
  const auto plain = cgroup_home{here.path}; // It has no cgroup.kill.
  CHECK(plain.path().empty());
  CHECK(plain.obstacle().find("has no cgroup.kill") != std::string::npos);
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("control groups: those of dead wardens are removed, others stay",
          "[runtime][cgroup]") {
  const auto here = folder{};
  const auto own = [&] {
    auto space = fs::read_symlink("/proc/self/ns/pid").string();
    return space.substr(5, space.size() - 6);
  }();
  const auto dead
    = "actorrun-" + own + "-" + std::to_string(::getpid()) + "-1-1";
  const auto foreign = "actorrun-1-" + std::to_string(::getpid()) + "-1-1";
  for (const auto& x : {dead + "/1", foreign, std::string{"actorrun-else"}})
    fs::create_directories(here.path / x);
  CHECK(is_stale_cgroup(dead));
  CHECK(!is_stale_cgroup(foreign));
  (void)cgroup_home{here.path};
  CHECK(!fs::exists(here.path / dead));
  CHECK(fs::exists(here.path / foreign));
  CHECK(fs::exists(here.path / "actorrun-else"));
}

TEST_CASE_METHOD(fixture, "cgroup: workers start in the group of their batch",
                 "[runtime][cgroup]") {
  if (!can_make_groups())
    return;
  const auto sleep = [] { return static_cast<int>(::sleep(1000)); };
  start({worker(0, {"sleep", "1000"}), function(1, sleep), served(2, {"leave"}),
         worker(3, {"sleep", "1000"})});
  REQUIRE(wait_for_events(4));
  const auto group = group_of(pid_of(0));
  CHECK(group.find("/actorrun-") != std::string::npos);
  for (auto rank : {1U, 2U, 3U})
    CHECK(group_of(pid_of(rank)) == group);
  const auto name = group.substr(group.rfind("/actorrun-"));
  const auto path = fs::path{unified_folder() + name};
  REQUIRE(fs::exists(path));
  uut.reset();
  CHECK(!fs::exists(path));
  CHECK(!fs::exists(path.parent_path()));
}

TEST_CASE_METHOD(fixture, "cgroup: what calls setsid ends with its batch",
                 "[runtime][cgroup]") {
  if (!can_make_groups())
    return;
  const auto here = folder{};
  start({escaping(0, here / "a", "exit 0")});
  REQUIRE(wait_for_events(2));
  const auto orphan = read_pid(here / "a");
  REQUIRE(runs(orphan));
  CHECK(::getsid(orphan) != pid_of(0));
  uut->release(generation);
  CHECK(soon([&] { return !runs(orphan); }));
}

TEST_CASE_METHOD(
  fixture,
  "cgroup: the last worker of a stopped batch has ended when all "
  "that it started has",
  "[runtime][cgroup]") {
  if (!can_make_groups())
    return;
  const auto here = folder{};
  start({escaping(0, here / "a", "sleep 1000")});
  REQUIRE(wait_for_events(1));
  const auto orphan = read_pid(here / "a");
  REQUIRE(runs(orphan));
  auto ran_at_the_end = true;
  uut->signal(generation, SIGTERM);
  REQUIRE(wait([&] {
    if (events.size() < 2)
      return false;
    ran_at_the_end = runs(orphan);
    return true;
  }));
  CHECK(!ran_at_the_end);
}

TEST_CASE("cgroup: what calls setsid ends with a killed agent",
          "[runtime][cgroup]") {
  if (!can_make_groups())
    return;
  const auto here = folder{};
  const auto agent = ::fork();
  if (agent == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto host = fixture{};
    host.start({escaping(0, here / "a", "sleep 1000")});
    for (;;)
      ::pause();
  }
  const auto orphan = read_pid(here / "a");
  CHECK(runs(orphan));
  const auto name = group_of(orphan).substr(3);
  const auto path = unified_folder() + name.substr(name.rfind("/actorrun-"));
  CHECK(fs::exists(path));
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  CHECK(soon([&] { return !runs(orphan); }));
  CHECK(soon([&] { return !fs::exists(path); }));
  CHECK(soon([&] {
    return !fs::exists(fs::path{path}.parent_path())
           || fs::path{path}.parent_path() == unified_folder();
  }));
}

TEST_CASE("cgroup: without one, only what calls setsid survives",
          "[runtime][cgroup]") {
  if (!can_make_groups())
    return;
  const auto here = folder{};
  const auto hidden = unified_folder();
  const auto agent = ::fork();
  if (agent == 0) {
    // An empty folder where the control groups were, for this process alone.
    if (::unshare(CLONE_NEWNS) != 0
        || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0
        || ::mount("none", hidden.c_str(), "tmpfs", 0, nullptr) != 0)
      ::_exit(77);
    auto host = fixture{};
    auto told = std::string{};
    host.uut->set_detail_handler([&](const auto& x) { told = x; });
    host.start({escaping(0, here / "a", tell_pid(here / "b") + "sleep 1000")});
    const auto started = host.wait_for_events(1);
    const auto orphan = read_pid(here / "a");
    const auto member = read_pid(here / "b");
    host.uut->release(generation);
    const auto member_ends = soon([&] { return !runs(member); });
    host.uut.reset();
    const auto survives = runs(orphan);
    ::kill(orphan, SIGKILL);
    const auto says_why = told.find("cgroup") != std::string::npos;
    ::_exit(started && member_ends && survives && says_why ? 0 : 1);
  }
  auto status = 0;
  REQUIRE(::waitpid(agent, &status, 0) == agent);
  if (status >> 8 == 77)
    WARN("skipped: no mount namespace can be made here");
  else
    CHECK(status == 0);
}

TEST_CASE_METHOD(
  fixture,
  "process host: adopted orphans that end are reaped while their "
  "generation runs",
  "[runtime][cgroup]") {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto here = folder{};
  start({shell(0, "i=0; while [ $i -lt 50 ]; do (true & ) ; i=$((i+1)); done; "
                  "echo $$ > "
                    + (here / "a") + "; exec sleep 1000")});
  const auto leader = read_pid(here / "a");
  REQUIRE(runs(leader));
  const auto zombies = [&] {
    auto count = 0;
    for (const auto& task : fs::directory_iterator{"/proc/self/task"}) {
      auto file = std::ifstream{task.path() / "children"};
      for (auto pid = pid_t{}; file >> pid;)
        count += state_of(pid) == 'Z' ? 1 : 0;
    }
    return count;
  };
  CHECK(soon([&] { return zombies() == 0; }));
  CHECK(runs(leader));
  uut.reset();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

} // namespace actorrun::test::worker_cgroup_test
