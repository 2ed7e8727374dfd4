// Checks that jobs leave nothing behind.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include <unistd.h>

namespace actorrun::test::leaks_test {

namespace {

namespace fs = std::filesystem;

constexpr auto job_count = 50;

/// The inodes of the sockets of a process.
std::set<std::string> sockets_of(pid_t pid) {
  auto out = std::set<std::string>{};
  auto error = std::error_code{};
  for (const auto& x :
       fs::directory_iterator{"/proc/" + std::to_string(pid) + "/fd", error}) {
    const auto target = fs::read_symlink(x.path(), error).string();
    if (target.starts_with("socket:["))
      out.insert(target.substr(8, target.size() - 9));
  }
  return out;
}

/// The inodes of one of the tables in /proc/net.
std::set<std::string> inodes_in(const std::string& table) {
  constexpr auto inode_column = 9;
  auto out = std::set<std::string>{};
  auto lines = std::istringstream{content_of("/proc/net/" + table)};
  auto line = std::string{};
  std::getline(lines, line); // The heading.
  while (std::getline(lines, line)) {
    auto words = std::istringstream{line};
    auto word = std::string{};
    for (auto i = 0; i <= inode_column; ++i)
      words >> word;
    out.insert(word);
  }
  return out;
}

/// Number of sockets of `family` (a name in /proc/net) that the processes have.
size_t count_sockets(const std::vector<pid_t>& pids,
                     const std::string& family) {
  const auto known = inodes_in(family);
  auto count = size_t{0};
  for (auto pid : pids)
    for (const auto& x : sockets_of(pid))
      count += known.count(x);
  return count;
}

std::vector<pid_t> family_of(const program& x) {
  auto out = descendants(x.pid());
  out.push_back(x.pid());
  return out;
}

/// An agent's warden ends, too: at once, but after the agent.
bool no_process_is_left() {
  return eventually([] { return descendants(::getpid()).empty(); }, 1s);
}

bool is_empty(const std::string& folder) {
  auto error = std::error_code{};
  return fs::is_empty(folder, error) || error;
}

} // namespace

TEST_CASE_METHOD(scene, "one node: no socket of the network is open",
                 "[leaks]") {
  auto& x = run({"--standalone", "--nproc-per-node=2", "--no-agent-store",
                 "--no-python", "sleep", "617"});
  await_status([](const json& job) { return job["phase"] == "running"; });
  const auto family = family_of(x);
  REQUIRE(family.size() >= 3); // Agent and workers at the least.
  for (const auto* table : {"tcp", "tcp6", "udp", "udp6"})
    CHECK(count_sockets(family, table) == 0);
  x.signal(SIGTERM);
  CHECK(x.wait() == 143);
}

TEST_CASE_METHOD(scene, "one node: only the workers' store is open",
                 "[leaks]") {
  auto& x = run(
    {"--standalone", "--nproc-per-node=2", "--no-python", "sleep", "617"});
  await_status([](const json& job) { return job["phase"] == "running"; });
  CHECK(count_sockets({x.pid()}, "tcp") == 1);
  // A warden that has just been made has not yet closed what is its agent's.
  CHECK(eventually(
    [&] { return count_sockets(descendants(x.pid()), "tcp") == 0; }));
  for (const auto* table : {"tcp6", "udp", "udp6"})
    CHECK(count_sockets(family_of(x), table) == 0);
  x.signal(SIGTERM);
  CHECK(x.wait() == 143);
}

TEST_CASE_METHOD(scene, "two nodes: the check above sees open sockets",
                 "[leaks]") {
  auto& a = agent({});
  auto& b = agent({});
  await_world(4);
  CHECK(count_sockets(family_of(a), "tcp") >= 2);
  CHECK(count_sockets(family_of(b), "tcp") >= 1);
  for (auto* x : {&a, &b})
    for (auto pid : descendants(x->pid()))
      // A warden keeps sockets of its agent, for the time after it.
      CHECK((is_warden(pid) || sockets_of(pid).empty()));
}

TEST_CASE_METHOD(scene, "fifty jobs: no process, no socket, no file is left",
                 "[leaks]") {
  for (auto i = 0; i < job_count; ++i) {
    auto code = -1;
    read({ACTORRUN_PROGRAM, "--standalone", "--nproc-per-node=2", "--no-python",
          i % 5 == 4 ? "false" : "true"},
         &code);
    CHECK(code == (i % 5 == 4 ? 1 : 0));
    CHECK(no_process_is_left());
  }
  CHECK(is_empty(folder() + "/run"));
  CHECK(is_empty(folder() + "/tmp"));
  CHECK(count_of(content_of("/proc/net/unix"), folder()) == 0);
}

TEST_CASE_METHOD(scene, "jobs of two nodes: nothing is left either",
                 "[leaks]") {
  for (auto i = 0; i < job_count / 5; ++i) {
    const auto command = [&](const char* host) {
      return words{"--nnodes=2",
                   "--rdzv-id=loop",
                   "--rdzv-endpoint=" + endpoint(),
                   std::string{"--rdzv-conf=is_host="} + host,
                   "--no-python",
                   "true"};
    };
    // One port for all of them: the next job must get it back at once.
    auto& a = run(command("1"));
    auto& b = run(command("0"));
    CHECK(a.wait() == 0);
    CHECK(b.wait() == 0);
    CHECK(no_process_is_left());
  }
  CHECK(is_empty(folder() + "/run"));
  CHECK(is_empty(folder() + "/tmp"));
}

TEST_CASE_METHOD(scene, "killed agents: the next one cleans up", "[leaks]") {
  for (auto i = 0; i < 3; ++i) {
    auto& x = run({"--standalone", "--no-python", "sleep", "619"});
    await_status([](const json& job) { return job["phase"] == "running"; });
    x.signal(SIGKILL);
    CHECK(x.wait() == -SIGKILL);
    CHECK(no_process_is_left());
  }
  CHECK(status_of_all()["jobs"].empty());
  for (const auto& x : fs::directory_iterator{folder() + "/run"})
    CHECK(x.path().string().find(".agent.") == std::string::npos);
  CHECK(is_empty(folder() + "/tmp"));
}

} // namespace actorrun::test::leaks_test
