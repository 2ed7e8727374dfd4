#include "actors/core/end_class.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::end_class_test {

using namespace actorrun::core;

namespace {

worker_failure failure_of(failure_kind kind, int code) {
  auto x = worker_failure{};
  x.kind = kind;
  x.code = code;
  return x;
}

/// `node: its GPUs: …`
std::string text_of(const end_finding& x) {
  return to_string(x.what) + ": " + x.evidence;
}

std::string found(const worker_failure& x) {
  return text_of(finding_of(x));
}

} // namespace

TEST_CASE("end_class: an exit code is the program's", "[core]") {
  CHECK(found(failure_of(failure_kind::exited, 7)) == "program: exit code 7");
  CHECK(found(failure_of(failure_kind::exited, 2)) == "program: exit code 2");
}

TEST_CASE("end_class: who prints its usage and ends with 2 was called wrongly",
          "[core]") {
  auto x = failure_of(failure_kind::exited, 2);
  x.details.traceback = "usage: train.py [-h]\ntrain.py: error: no --lr\n";
  CHECK(found(x) == "user: exit code 2, and it printed its usage");
  x.code = 1;
  CHECK(found(x) == "program: exit code 1");
  x.code = 2;
  x.details.traceback = "usage: train.py [-h]\n";
  CHECK(found(x) == "program: exit code 2");
  x.details.traceback = "train.py: error: no data\n";
  CHECK(found(x) == "program: exit code 2");
}

TEST_CASE("end_class: a program that is not there was typed wrongly; a machine "
          "that starts nothing is short of something",
          "[core]") {
  CHECK(found(failure_of(failure_kind::not_started, ENOENT))
        == "user: the program cannot be started");
  CHECK(found(failure_of(failure_kind::not_started, EAGAIN))
        == "node: the machine started no process");
}

TEST_CASE("end_class: signals by which a program crashes are its own",
          "[core]") {
  for (const auto signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS,
                            SIGTRAP, SIGXCPU, SIGXFSZ}) {
    CAPTURE(signal);
    CHECK(finding_of(failure_of(failure_kind::signalled, signal)).what
          == end_class::program);
  }
  CHECK(found(failure_of(failure_kind::signalled, SIGSEGV))
        == "program: SIGSEGV");
}

TEST_CASE("end_class: signals from outside say little", "[core]") {
  CHECK(found(failure_of(failure_kind::signalled, SIGTERM))
        == "preemption: SIGTERM that actorrun has not sent");
  CHECK(found(failure_of(failure_kind::signalled, SIGKILL))
        == "unknown: SIGKILL that actorrun has not sent");
  CHECK(found(failure_of(failure_kind::signalled, 40))
        == "unknown: signal 40 that actorrun has not sent");
}

TEST_CASE("end_class: memory that is short is the machine's", "[core]") {
  auto x = failure_of(failure_kind::signalled, SIGKILL);
  x.details.out_of_memory = true;
  CHECK(found(x) == "node: the kernel killed it for memory");
}

TEST_CASE("end_class: a worker that misses a peer lost a connection",
          "[core]") {
  auto x = failure_of(failure_kind::exited, 1);
  x.details.message = "RuntimeError: Connection closed by peer";
  CHECK(found(x) == "network: it lost its connection to a peer");
  CHECK(found(failure_of(failure_kind::signalled, SIGPIPE))
        == "network: it lost its connection to a peer");
}

TEST_CASE("end_class: who stood still hung, and in the kernel that is the "
          "machine's",
          "[core]") {
  auto x = failure_of(failure_kind::timer_expired, SIGKILL);
  x.details.scope = "train_step";
  CHECK(found(x) == "hang: its timer expired");
  x.details.scope = hang_scope;
  CHECK(found(x) == "hang: no worker showed a sign of life");
  CHECK(found(failure_of(failure_kind::unkillable, SIGKILL))
        == "node: it hangs in the kernel");
}

TEST_CASE("end_class: a fault of the machine outweighs what it explains",
          "[core]") {
  const auto with = [](end_class what, const char* gpus, const char* unfit) {
    return text_of(with_node_facts({what, "-"}, gpus, unfit));
  };
  for (const auto what : {end_class::program, end_class::network,
                          end_class::hang, end_class::unknown}) {
    CHECK(with(what, "GPU 1: XID 79", "") == "node: its GPUs: GPU 1: XID 79");
    CHECK(with(what, "", "its check has failed")
          == "node: its check has failed");
    CHECK(with(what, "GPU 1: XID 79", "its check has failed")
          == "node: its GPUs: GPU 1: XID 79");
    CHECK(with(what, "", "") == to_string(what) + ": -");
  }
  CHECK(with(end_class::user, "GPU 1: XID 79", "x") == "user: -");
  CHECK(with(end_class::preemption, "GPU 1: XID 79", "x") == "preemption: -");
  CHECK(with(end_class::node, "GPU 1: XID 79", "x") == "node: -");
}

TEST_CASE("end_class: classes have names", "[core]") {
  for (auto i = size_t{1}; i < end_class_count; ++i) {
    const auto what = static_cast<end_class>(i);
    CHECK(trouble_named(to_string(what)) == what);
  }
  CHECK(to_string(end_class::none) == "none");
  CHECK_FALSE(trouble_named("none"));
  CHECK_FALSE(trouble_named("nodes"));
  CHECK(to_string(static_cast<end_class>(99)) == "unknown");
}

} // namespace actorrun::test::end_class_test
