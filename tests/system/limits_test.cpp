// Limits of this system: too few processes and descriptors for a job.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::limits_test {

namespace {

class unique_descriptor {
public:
  explicit unique_descriptor(int fd) : fd_(fd) {}
  unique_descriptor(unique_descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}
  ~unique_descriptor() { ::close(fd_); }

private:
  int fd_;
};

int connect_to_loopback(uint16_t port) {
  const auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto where = sockaddr_in{};
  where.sin_family = AF_INET;
  where.sin_port = ::htons(port);
  where.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  (void)::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where);
  return fd;
}

/// A user that has no processes.
constexpr auto other_user = "54321";

struct limits_scene : scene {
  /// Starts a job in a shell of another user that has set a limit.
  program& limited(const std::string& limit, const words& arguments) {
    ::chmod(folder().c_str(), 0777);
    auto line = words{"setpriv",
                      std::string{"--reuid="} + other_user,
                      std::string{"--regid="} + other_user,
                      "--clear-groups",
                      "bash", // Other shells lack -u.
                      "-c",
                      "ulimit " + limit + "; exec \"$0\" \"$@\"",
                      ACTORRUN_PROGRAM,
                      "--standalone"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return start(std::move(line), {{"ACTORRUN_RUN_DIR", folder() + "/other"},
                                   {"HOME", folder() + "/other"}});
  }

  /// As the other user, who may do that; root may not everywhere.
  void allow_processes(const program& x, const std::string& count) {
    auto code = 1;
    read({"setpriv", std::string{"--reuid="} + other_user,
          std::string{"--regid="} + other_user, "--clear-groups", "prlimit",
          "--pid=" + std::to_string(x.pid()), "--nproc=" + count + ":"},
         &code);
    REQUIRE(code == 0);
  }

  static void set_descriptor_limit(const program& x, rlim_t limit) {
    auto now = rlimit{};
    REQUIRE(::prlimit(x.pid(), RLIMIT_NOFILE, nullptr, &now) == 0);
    now.rlim_cur = std::min(limit, now.rlim_max);
    REQUIRE(::prlimit(x.pid(), RLIMIT_NOFILE, &now, nullptr) == 0);
  }

  static bool can_be_another() {
    if (::geteuid() == 0 && ::access("/usr/bin/setpriv", X_OK) == 0)
      return true;
    actorrun::test::skip("root", "only root can become another user");
    return false;
  }
};

} // namespace

TEST_CASE_METHOD(
  limits_scene,
  "limits: U8 without threads for the launcher it ends with 6 and "
  "a sentence",
  "[limits]") {
  if (!can_be_another())
    return;
  for (const auto* limit : {"-u 1", "-u 2", "-u 3"}) {
    CAPTURE(limit);
    auto& x = limited(limit, {"--no-python", "true"});
    CHECK(x.wait() == 6);
    const auto text = x.output();
    CHECK(count_of(text, "RLIMIT_NPROC: ulimit -u is") == 1);
    CHECK(count_of(text, "terminate") == 0);
  }
}

TEST_CASE_METHOD(limits_scene,
                 "limits: U8 workers for which there is no process are started "
                 "when there is one",
                 "[limits]") {
  if (!can_be_another())
    return;
  auto& x = limited("-Su 20", {"--nproc-per-node=24", "--max-restarts=1",
                               "--no-python", "true"});
  REQUIRE(x.says("RLIMIT_NPROC: ulimit -u is 20"));
  CHECK(x.says("which costs no restart"));
  allow_processes(x, "1000");
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "generation 2") == 0);
}

TEST_CASE_METHOD(
  limits_scene,
  "limits: U18 what cannot be written to is said in one line, and "
  "the job runs",
  "[limits]") {
  auto& x = run({"--standalone", "--no-python", "echo", "done"},
                {{"ACTORRUN_RUN_DIR", "/proc/none"}});
  CHECK(x.wait() == 0);
  CHECK(x.says("done\n"));
  CHECK(count_of(x.output(), "[actorrun ") == 1);
  CHECK(count_of(x.output(), "/proc/none") == 1);
  for (const auto* what :
       {"workers have no timers", "no worker can live through a change",
        "actorctl cannot reach this job"})
    CHECK(count_of(x.output(), what) == 1);
}

TEST_CASE_METHOD(
  limits_scene,
  "limits: U18 a lack of descriptors is called that, wherever it is met",
  "[limits]") {
  for (const auto limit : {10, 12, 14, 16, 18, 20, 22, 24}) {
    CAPTURE(limit);
    auto& x = agent({.nodes = "1:2",
                     .command = {"true"},
                     .prefix = {"bash", "-c",
                                "ulimit -n " + std::to_string(limit)
                                  + "; exec \"$0\" \"$@\""}});
    if (x.wait() != 0)
      CHECK(x.says("RLIMIT_NOFILE"));
    CHECK(count_of(x.output(), "Bad file descriptor") == 0);
  }
}

TEST_CASE_METHOD(
  limits_scene,
  "limits: S5 workers for which there is no descriptor are started "
  "when there is one",
  "[limits]") {
  auto& x = agent({.nodes = "1:2", .restart_count_max = 1});
  const auto before = await_world(2);
  set_descriptor_limit(x, 10);
  order_exit(before[0].pid, 3);
  CHECK(x.says("RLIMIT_NOFILE: ulimit -Hn is 10"));
  CHECK(x.says("which costs no restart"));
  set_descriptor_limit(x, 10'000);
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 1);
  order_end();
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(limits_scene,
                 "limits: S5 peers that take all descriptors cost no restart",
                 "[limits]") {
  auto& x
    = agent({.nodes = "1:1000",
             .restart_count_max = 1,
             .prefix = {"bash", "-c", "ulimit -n 64; exec \"$0\" \"$@\""}});
  const auto before = await_world(2);
  auto peers = std::vector<unique_descriptor>{};
  for (auto i = 0; i < 100; ++i)
    peers.emplace_back(connect_to_loopback(port()));
  order_exit(before[0].pid, 3);
  peers.clear();
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 1);
  order_end();
  CHECK(x.wait() == 0);
}

} // namespace actorrun::test::limits_test
