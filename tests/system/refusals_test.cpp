// Refused agents and failed starts: exit code, one clear line, nothing left.
#include "tests/support/catch.hpp"
#include "tests/system/healthy.hpp"
#include "tests/system/scene.hpp"

#include <csignal>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::refusals_test {

namespace {

/// A foreign listener that never answers.
class rejection_listener {
public:
  explicit rejection_listener(uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto bound
      = ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    scene::require(bound == 0 && ::listen(fd_, 16) == 0, "a listener");
  }

  ~rejection_listener() { ::close(fd_); }

private:
  int fd_;
};

/// The lines of `text` that begin like errors.
size_t errors_in(const std::string& text) {
  return count_of(text, "actorrun: error: ");
}

struct running_job : scene {
  running_job() {
    agent({.nodes = "1:2", .restart_count_max = 1});
    before = await_world(2);
  }

  /// Starts a joiner; it must be refused and the job not be affected.
  std::string refused(const agent_options& x) {
    auto& joiner = agent(x);
    CHECK(joiner.wait() == 4);
    CHECK(errors_in(joiner.output()) == 1);
    CHECK(records().size() == 2);
    CHECK(alive(before[0].pid));
    return joiner.output();
  }

  worker_records before;
};

} // namespace

TEST_CASE_METHOD(running_job, "joiner: another job id is refused",
                 "[refusals]") {
  const auto text
    = refused({.nodes = "1:2", .restart_count_max = 1, .job = "other"});
  CHECK(count_of(text, "other") >= 1);
  CHECK(count_of(text, "--rdzv-id") >= 1);
}

TEST_CASE_METHOD(running_job, "joiner: another secret is refused",
                 "[refusals]") {
  const auto text = refused({.nodes = "1:2",
                             .restart_count_max = 1,
                             .environment = {{"ACTORRUN_SECRET", "sesame"}}});
  CHECK(count_of(text, "secret") >= 1);
  CHECK(count_of(text, "sesame") == 0);
}

TEST_CASE_METHOD(running_job, "joiner: another number of nodes is refused",
                 "[refusals]") {
  const auto text = refused({.nodes = "1:3", .restart_count_max = 1});
  CHECK(count_of(text, "--nnodes=1:3") >= 1);
  CHECK(count_of(text, "--nnodes=1:2") >= 1);
}

TEST_CASE_METHOD(running_job, "joiner: another restart budget is refused",
                 "[refusals]") {
  const auto text = refused({.nodes = "1:2", .restart_count_max = 5});
  CHECK(count_of(text, "--max-restarts=5") >= 1);
  CHECK(count_of(text, "--max-restarts=1") >= 1);
}

TEST_CASE_METHOD(scene, "secret: agents that share one meet", "[refusals]") {
  const auto secret = write("secret", "open sesame\n");
  REQUIRE(::chmod(secret.c_str(), 0600) == 0);
  auto& a = agent({.more = {"--secret-file=" + secret}});
  auto& b = agent({.environment = {{"ACTORRUN_SECRET", "open sesame"}}});
  await_world(4);
  await_status(is_healthy);
  int code = -1;
  read({ACTORCTL_PROGRAM, "status", "--rdzv-endpoint=" + endpoint(),
        "--rdzv-id=job", "--secret-file=" + secret},
       &code);
  CHECK(code == 0);
  read({ACTORCTL_PROGRAM, "status", "--rdzv-endpoint=" + endpoint(),
        "--rdzv-id=job"},
       &code);
  CHECK(code == 4);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "arguments: the error is named, exit code 2",
                 "[refusals]") {
  const auto wrong = std::vector<words>{
    {"--nnodes=0", "x"},
    {"--nnodes=3:2", "x"},
    {"--nnodes=a", "x"},
    {"--nproc-per-node=0", "x"},
    {"--nproc-per-node=gpu:1,1", "x"},
    {"--nproc-per-node=tpu", "x"},
    {"--numa-binding=core", "x"},
    {"--max-restarts=-1", "x"},
    {"--rdzv-conf=min_nodes=1", "x"},
    {"--rdzv-conf=join_timeout", "x"},
    {"--rdzv-backend=zookeeper", "x"},
    {"--nnodes=2", "x"}, // No endpoint.
    {"--no-such-option", "x"},
    {"--no-python", "-m", "x"},
    {},
  };
  for (const auto& line : wrong) {
    auto& x = run(line);
    INFO((line.empty() ? "nothing" : line[0]));
    CHECK(x.wait() == 2);
    CHECK(errors_in(x.output()) == 1);
    if (!line.empty()) {
      const auto option = line[0].substr(0, line[0].find('='));
      CHECK(count_of(x.output(), option) >= 1);
    }
  }
}

TEST_CASE_METHOD(scene, "program: a missing one is exit code 127",
                 "[refusals]") {
  auto& script = run({"--standalone", "no-such-script.py"});
  CHECK(script.wait() == 127);
  CHECK(count_of(script.output(), "no-such-script.py") >= 1);
  auto& command = run({"--standalone", "--no-python", "no-such-command"});
  CHECK(command.wait() == 127);
  CHECK(count_of(command.output(), "no-such-command") >= 1);
  write("plain", "text");
  auto& plain = run({"--standalone", "--no-python", "./plain"});
  CHECK(plain.wait() == 126);
  CHECK(count_of(plain.output(), "plain") >= 1);
}

TEST_CASE_METHOD(scene, "endpoint: a name without an address is exit code 3",
                 "[refusals]") {
  auto& x = agent(
    {.conf = ",read_timeout=1", .endpoint = "no-such-host.invalid:23456"});
  auto& y = agent(
    {.conf = ",read_timeout=1", .endpoint = "no-such-host.invalid:23456"});
  for (auto* agent : {&x, &y}) {
    CHECK(agent->wait() == 3);
    CHECK(errors_in(agent->output()) == 1);
    CHECK(count_of(agent->output(), "no-such-host.invalid") >= 1);
  }
}

TEST_CASE_METHOD(scene, "endpoint: the port of another program is exit code 6",
                 "[refusals]") {
  const auto taken = rejection_listener{port()};
  auto& x = agent({});
  CHECK(x.wait() == 6);
  CHECK(errors_in(x.output()) == 1);
  CHECK(count_of(x.output(), endpoint()) >= 1);
}

TEST_CASE_METHOD(scene, "endpoint: a silent program is exit code 3",
                 "[refusals]") {
  const auto taken = rejection_listener{port()};
  const auto options = agent_options{
    .conf = ",is_host=0,read_timeout=1,heartbeat_timeout=500ms"};
  auto& x = agent(options);
  CHECK(x.wait() == 3);
  CHECK(errors_in(x.output()) == 1);
  CHECK(count_of(x.output(), endpoint()) >= 1);
}

TEST_CASE_METHOD(scene, "endpoint: without an answer it is exit code 3",
                 "[refusals]") {
  auto& x = agent({.conf = ",is_host=0,read_timeout=1"});
  CHECK(x.wait() == 3);
  CHECK(errors_in(x.output()) == 1);
  CHECK(count_of(x.output(), endpoint()) >= 1);
}

TEST_CASE_METHOD(scene, "nodes: too few in time is exit code 3", "[refusals]") {
  auto& x = agent({.nodes = "3", .conf = ",join_timeout=1"});
  auto& y = agent({.nodes = "3", .conf = ",join_timeout=1"});
  for (auto* agent : {&x, &y}) {
    CHECK(agent->wait() == 3);
    CHECK(errors_in(agent->output()) == 1);
    CHECK(count_of(agent->output(), "2 of 3 nodes") >= 1);
  }
  CHECK(records().empty());
}

} // namespace actorrun::test::refusals_test
