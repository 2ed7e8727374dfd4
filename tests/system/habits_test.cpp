// Scripts and users that do what torchrun lets them do.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <array>
#include <filesystem>
#include <optional>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::test::habits_test {

namespace {

sockaddr_in loopback(uint16_t port) {
  auto out = sockaddr_in{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

/// A program that listens at a port of loopback.
class occupier {
public:
  explicit occupier(uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto at = loopback(port);
    holds_ = ::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0
             && ::listen(fd_, 1) == 0;
  }

  occupier(const occupier&) = delete;
  occupier& operator=(const occupier&) = delete;
  ~occupier() { ::close(fd_); }

  bool holds() const { return holds_; }

private:
  int fd_;
  bool holds_ = false;
};

/// Asks as torch 1.13 does: whether there is a key, and how many there are.
/// @returns the number; none if the connection is closed or nothing comes
std::optional<uint64_t> key_count_at(uint16_t port) {
  const auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto limit = timeval{20, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const auto at = loopback(port);
  const auto requests = std::string{"\4\1\0\0\0\0\0\0\0"
                                    "\2\0\0\0\0\0\0\0/k\6",
                                    20};
  auto is_missing = char{};
  auto out = uint64_t{};
  const auto done
    = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0
      && ::send(fd, requests.data(), requests.size(), MSG_NOSIGNAL) > 0
      && ::recv(fd, &is_missing, 1, MSG_WAITALL) == 1 && is_missing == 1
      && ::recv(fd, &out, sizeof out, MSG_WAITALL) == sizeof out;
  ::close(fd);
  return done ? std::optional{out} : std::nullopt;
}

struct habits_scene : scene {
  /// A node of `static` that waits for the file `go`.
  program& node(uint32_t rank, const words& more = {}) {
    auto command = words{"--nnodes=2", "--node-rank=" + std::to_string(rank),
                         "--master-addr=127.0.0.1",
                         "--master-port=" + std::to_string(port())};
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(), {"--no-python", "sh", "-c",
                                   "echo $MASTER_ADDR:$MASTER_PORT > "
                                     + folder() + "/run.$RANK; until test -e "
                                     + folder() + "/go; do sleep 0.05; done"});
    return run(std::move(command));
  }

  bool both_run() {
    return eventually([this] {
      return std::filesystem::exists(folder() + "/run.0")
             && std::filesystem::exists(folder() + "/run.1");
    });
  }

  void end(program& a, program& b) {
    write("go", "");
    CHECK(a.wait() == 0);
    CHECK(b.wait() == 0);
  }
};

} // namespace

// -- the store at the coordinator's port --------------------------------------

TEST_CASE_METHOD(
  habits_scene,
  "habits: torch's clients at the port of static reach the store (T1)",
  "[habits]") {
  auto& a = node(0);
  auto& b = node(1);
  REQUIRE(both_run());
  for (auto i = 0; i < 3; ++i)
    CHECK(key_count_at(port()) == 0);
  end(a, b);
  CHECK(count_of(a.output(), "rejected") == 0);
  // Torch 2.14 compares a script's own address with these, as text.
  for (const auto* rank : {"0", "1"})
    CHECK(content_of(folder() + "/run." + rank) == endpoint() + "\n");
}

TEST_CASE_METHOD(habits_scene,
                 "habits: so they do from a node's host if there is a secret",
                 "[habits]") {
  const auto secret = write("secret", "swordfish\n");
  std::filesystem::permissions(secret, std::filesystem::perms{0600});
  auto& a = node(0, {"--secret-file=" + secret});
  auto& b = node(1, {"--secret-file=" + secret});
  REQUIRE(both_run());
  CHECK(key_count_at(port()) == 0);
  end(a, b);
}

TEST_CASE_METHOD(habits_scene,
                 "habits: where rank 0 serves the store there is a warning with"
                 " both addresses",
                 "[habits]") {
  auto& a = node(0, {"--no-agent-store"});
  auto& b = node(1, {"--no-agent-store"});
  REQUIRE(both_run());
  CHECK_FALSE(key_count_at(port()));
  CHECK_FALSE(key_count_at(port()));
  end(a, b);
  CHECK(count_of(a.output(), "has come to " + endpoint()
                               + " for torch's store, which is at 127.0.0.1:")
        == 1);
}

TEST_CASE_METHOD(scene, "habits: a coordinator alone has no store and says so",
                 "[habits]") {
  auto& host = coordinator({.nodes = "1:2"});
  REQUIRE(host.says("listens on"));
  auto& node = agent({.nodes = "1:2"});
  await_world(2);
  CHECK_FALSE(key_count_at(port()));
  CHECK(host.says("is a client of torch's store, which is not here but at"
                  " MASTER_ADDR and MASTER_PORT"));
  order_end();
  CHECK(node.wait() == 0);
}

// -- ports --------------------------------------------------------------------

TEST_CASE_METHOD(scene, "habits: a master port that is in use ends the start",
                 "[habits]") {
  const auto taken = occupier{port()};
  REQUIRE(taken.holds());
  for (const auto& more : {words{}, words{"--no-agent-store"}}) {
    auto line
      = words{"--master-port=" + std::to_string(port()), "--max-restarts=3",
              "--no-python", "touch", folder() + "/started"};
    line.insert(line.begin(), more.begin(), more.end());
    auto& x = run(std::move(line));
    CHECK(x.wait() == 6);
    INFO(x.output());
    CHECK(count_of(x.output(),
                   "actorrun: error: MASTER_PORT " + std::to_string(port()))
          == 1);
    CHECK(count_of(x.output(), "error") == 1);
    CHECK_FALSE(std::filesystem::exists(folder() + "/started"));
  }
}

TEST_CASE_METHOD(scene,
                 "habits: without options the workers meet at 29500, or at a"
                 " free port if that is in use",
                 "[habits]") {
  constexpr auto usual = uint16_t{29'500};
  const auto port_of_job = [&] {
    auto& x = run({"--no-python", "sh", "-c", "echo port $MASTER_PORT"});
    CHECK(x.wait() == 0);
    INFO(x.output());
    const auto start = x.output().find("port ");
    REQUIRE(start != std::string::npos);
    return std::stoi(x.output().substr(start + 5));
  };
  {
    const auto taken = occupier{usual};
    CHECK(port_of_job() != usual); // Whoever has it.
  }
  if (occupier{usual}.holds())
    CHECK(port_of_job() == usual);
}

// -- options ------------------------------------------------------------------

TEST_CASE_METHOD(scene,
                 "habits: keys that torch has and we do not are warnings",
                 "[habits]") {
  auto& x = run({"--rdzv-conf=\"use_libuv=0,endpoint_timeout=120\"",
                 "--no-python", "true"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "actorrun: warning: --rdzv-conf: the key") == 2);
}

TEST_CASE_METHOD(scene, "habits: an old launcher's name passes the local rank",
                 "[habits]") {
  const auto link = folder() + "/torch.distributed.launch";
  std::filesystem::create_symlink(ACTORRUN_PROGRAM, link);
  const auto rest = words{"--nproc_per_node=2", "--no_python", "echo", "told"};
  auto linked = rest;
  linked.insert(linked.begin(), link);
  auto asked = rest;
  asked.insert(asked.begin(), "--pass-local-rank");
  for (auto* x : {&start(linked), &run(asked)}) {
    CHECK(x->wait() == 0);
    for (const auto* line : {"--local-rank=0 told\n", "--local-rank=1 told\n"})
      CHECK(count_of(x->output(), line) == 1);
  }
}

TEST_CASE_METHOD(scene,
                 "habits: a link in a venv starts the Python beside it (U7)",
                 "[habits]") {
  std::filesystem::create_directories(folder() + "/venv/bin");
  write("venv/pyvenv.cfg", "");
  write("venv/bin/python3", "#!/bin/sh\necho \"the one beside it: $*\"\n",
        true);
  const auto link = folder() + "/venv/bin/torchrun";
  std::filesystem::create_symlink(ACTORRUN_PROGRAM, link);
  const auto script = write("s.py", "");
  auto& x = start({link, "--standalone", "--rdzv-id=job", script, "--lr=1"});
  CHECK(x.wait() == 0);
  CHECK(x.output() == "the one beside it: -u " + script + " --lr=1\n");
}

TEST_CASE_METHOD(scene, "habits: a caller that ignores SIGCHLD does no harm",
                 "[habits]") {
  auto& x = start({"bash", "-c", "trap '' CHLD; exec \"$@\"", "bash",
                   ACTORRUN_PROGRAM, "--nproc-per-node=2", "--no-python", "sh",
                   "-c", "(exit 3) || echo code $?"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "code 3\n") == 2);
  auto& y = start({"bash", "-c", "trap '' CHLD; exec \"$@\"", "bash",
                   ACTORRUN_PROGRAM, "--no-python", "sh", "-c", "exit 7"});
  CHECK(y.wait() != 0);
  CHECK(y.output().find("exitcode  : 7") != std::string::npos);
}

TEST_CASE_METHOD(scene,
                 "habits: one node with an endpoint is as quiet as without",
                 "[habits]") {
  auto& x = run({"--rdzv-backend=c10d", "--rdzv-endpoint=" + endpoint(),
                 "--no-python", "echo", "done"});
  CHECK(x.wait() == 0);
  CHECK(x.output() == "done\n");
  auto& y = run({"--no-python", "echo", "done"},
                {{"PET_NODE_RANK", "1"}, {"PET_MASTER_ADDR", "node0"}});
  CHECK(y.wait() == 0);
  CHECK(y.output() == "done\n");
}

} // namespace actorrun::test::habits_test
