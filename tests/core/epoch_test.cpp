#include "actorrun/actors/core/epoch.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

using namespace actorrun;
using namespace actorrun::core;

namespace {

worker_failure on_node_b(failure_kind kind, int code) {
  return {.agent = {"b"},
          .host = "node-b",
          .global_rank = 3,
          .local_rank = 1,
          .pid = 4711,
          .kind = kind,
          .code = code,
          .dumped = false};
}

constexpr auto every_kind
  = {failure_kind::exited, failure_kind::signalled, failure_kind::not_started};

} // namespace

TEST_CASE("epoch: a failure says who, where and how", "[core]") {
  struct row {
    failure_kind kind;
    int code;
    std::string how;
  };
  const row rows[] = {
    {failure_kind::exited, 7, "exited with code 7"},
    {failure_kind::exited, 255, "exited with code 255"},
    {failure_kind::signalled, SIGSEGV, "was killed by SIGSEGV (signal 11)"},
    {failure_kind::signalled, SIGKILL, "was killed by SIGKILL (signal 9)"},
    {failure_kind::signalled, 40, "was killed by signal 40"},
    {failure_kind::signalled, 999, "was killed by signal 999"},
    {failure_kind::not_started, ENOENT,
     "could not be started: No such file or directory"},
    {failure_kind::not_started, EACCES,
     "could not be started: Permission denied"},
    {failure_kind::not_started, 9999, "could not be started: error 9999"},
    {failure_kind::not_started, -1, "could not be started: error -1"},
    {failure_kind{99}, 1, "failed"},
  };
  for (const auto& x : rows)
    CHECK(to_string(on_node_b(x.kind, x.code))
          == "rank 3 (local rank 1, pid 4711) on node-b " + x.how);
}

TEST_CASE("epoch: a core dump is mentioned where there can be one", "[core]") {
  auto x = on_node_b(failure_kind::signalled, SIGABRT);
  x.dumped = true;
  CHECK(to_string(x)
        == "rank 3 (local rank 1, pid 4711) on node-b was killed by SIGABRT "
           "(signal 6), core dumped");
  x.kind = failure_kind::exited;
  CHECK(to_string(x)
        == "rank 3 (local rank 1, pid 4711) on node-b exited with code 6");
}

TEST_CASE("epoch: who never ran has no process id", "[core]") {
  auto x = on_node_b(failure_kind::not_started, ENOEXEC);
  x.pid = 0;
  CHECK(to_string(x)
        == "rank 3 (local rank 1) on node-b could not be started: "
           "Exec format error");
}

TEST_CASE("epoch: only a program that cannot be run fails for good", "[core]") {
  const auto permanent
    = std::vector{ENOENT, E2BIG, ENOEXEC, EACCES, ENOTDIR, ELOOP};
  for (const auto kind : every_kind)
    for (int code = 0; code <= 255; ++code) {
      CAPTURE(int(kind), code);
      const auto expected
        = kind == failure_kind::not_started
          && std::count(permanent.begin(), permanent.end(), code) == 1;
      CHECK(is_permanent(on_node_b(kind, code)) == expected);
    }
}

TEST_CASE("epoch: want of memory or processes may pass", "[core]") {
  for (const auto error : {EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, EINTR})
    CHECK_FALSE(is_permanent(on_node_b(failure_kind::not_started, error)));
}

TEST_CASE("epoch: shares and verdicts read as they are written", "[core]") {
  CHECK(to_string(share_state::idle) == "idle");
  CHECK(to_string(share_state::starting) == "starting");
  CHECK(to_string(share_state::running) == "running");
  CHECK(to_string(share_state::succeeded) == "succeeded");
  CHECK(to_string(share_state::failed) == "failed");
  CHECK(to_string(share_state::stopping) == "stopping");
  CHECK(to_string(share_state{99}) == "unknown");
  CHECK(to_string(outcome::verdict::succeeded) == "succeeded");
  CHECK(to_string(outcome::verdict::failed) == "failed");
  CHECK(to_string(outcome::verdict::stopped) == "stopped");
  CHECK(to_string(outcome::verdict::unmet) == "unmet");
  CHECK(to_string(outcome::verdict{99}) == "unknown");
}

TEST_CASE("epoch: a default offer is one leased worker of the default role",
          "[core]") {
  const auto x = offer{};
  CHECK(x.slot_count == 1);
  CHECK(x.role == "default");
  CHECK(x.leased);
  CHECK(x == offer{});
  auto y = x;
  y.master_port = 1;
  CHECK(x != y);
}
