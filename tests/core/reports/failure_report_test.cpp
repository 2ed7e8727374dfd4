#include "actors/core/reports/failure_report.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::failure_report_test {

using namespace actorrun::core;

namespace {

std::string time_of(int64_t wall_ms) {
  return "2026-08-01_12:34:" + std::to_string(wall_ms / 1'000);
}

worker_failure failure_of(uint32_t rank, failure_kind kind, int code,
                          const std::string& host = "node-a") {
  auto x = worker_failure{.agent = {"a"},
                          .host = host,
                          .global_rank = rank,
                          .local_rank = rank % 4,
                          .pid = 4700 + rank,
                          .kind = kind,
                          .code = code};
  x.details.wall_ms = 56'789;
  return x;
}

worker_failure exited(uint32_t rank, int code = 1) {
  return failure_of(rank, failure_kind::exited, code);
}

worker_failure killed(uint32_t rank, int signal) {
  return failure_of(rank, failure_kind::signalled, signal);
}

worker_failure with_traceback(worker_failure x, const std::string& traceback) {
  x.details.error_file = "/logs/0/error.json";
  x.details.traceback = traceback;
  return x;
}

std::string report(const worker_failure& first,
                   const std::vector<worker_failure>& others = {},
                   uint32_t unlisted = 0) {
  return failure_report("train.py",
                        {.kind = outcome::verdict::failed,
                         .first_failure = first,
                         .other_failures = others,
                         .unlisted_failure_count = unlisted},
                        time_of);
}

/// The lines of the root cause's block after `exitcode`.
std::string root_of(const worker_failure& x) {
  const auto text = report(x);
  const auto start = text.rfind("  error_file: ");
  const auto end = text.rfind("\n=");
  REQUIRE(start != std::string::npos);
  REQUIRE(end > start);
  return text.substr(start, end - start);
}

std::string exit_code_line(const worker_failure& x) {
  const auto text = report(x);
  const auto start = text.rfind("  exitcode  : ");
  return text.substr(start, text.find('\n', start) - start);
}

const auto border = std::string(60, '=') + "\n";
const auto rule = std::string(60, '-') + "\n";

} // namespace

// The lines that torch's ChildFailedError prints for these failures, from its
// second line on.
TEST_CASE("failure report: it has torchrun's layout", "[core]") {
  const auto first
    = with_traceback(exited(1), "Traceback (most recent call last):\n"
                                "  File \"train.py\", line 3, in main\n"
                                "ValueError: no data\n");
  auto second = killed(6, SIGTERM);
  second.host = "node-b";
  CHECK(
    report(first, {second})
    == border + "train.py FAILED\n" + rule
         + "Failures:\n"
           "[1]:\n"
           "  time      : 2026-08-01_12:34:56\n"
           "  host      : node-b\n"
           "  rank      : 6 (local_rank: 2)\n"
           "  exitcode  : -15 (pid: 4706)  (SIGTERM)\n"
           "  error_file: <N/A>\n"
           "  traceback : Signal 15 (SIGTERM) received by PID 4706\n"
           "  output    : standard error was not kept: it went to the console "
           "of node-b; -t 2 keeps it, and shows its end here\n"
         + rule
         + "Root Cause (first observed failure):\n"
           "[0]:\n"
           "  time      : 2026-08-01_12:34:56\n"
           "  host      : node-a\n"
           "  rank      : 1 (local_rank: 1)\n"
           "  exitcode  : 1 (pid: 4701)\n"
           "  error_file: /logs/0/error.json\n"
           "  traceback : Traceback (most recent call last):\n"
           "    File \"train.py\", line 3, in main\n"
           "  ValueError: no data\n"
           "  \n"
         + border);
}

TEST_CASE("failure report: a single failure has no others", "[core]") {
  CHECK(report(exited(0)).find("Failures:\n  <NO_OTHER_FAILURES>\n---")
        != std::string::npos);
}

TEST_CASE("failure report: failures that are not listed are counted",
          "[core]") {
  CHECK(report(exited(0), {killed(1, 9)}, 3)
          .find("\n  and 3 more that are not listed\n---")
        != std::string::npos);
  CHECK(report(exited(0), {}, 1)
          .find("Failures:\n  and 1 more that are not listed\n---")
        != std::string::npos);
}

TEST_CASE("failure report: there is none without a failure", "[core]") {
  CHECK(failure_report("x", {}, time_of) == "");
}

TEST_CASE("failure report: the lines are as long as the longest, or 60",
          "[core]") {
  auto x = with_traceback(exited(0), "s");
  x.details.error_file = "/" + std::string(60 - 15, 'e');
  CHECK(report(x).starts_with(std::string(60, '=') + "\n"));
  x.details.error_file.pop_back();
  CHECK(report(x).starts_with(std::string(59, '=') + "\n"));
  CHECK(report(x).ends_with("\n" + std::string(59, '=') + "\n"));
  // It counts characters, not bytes.
  x.details.error_file = "/";
  for (int i = 0; i < 60 - 15; ++i)
    x.details.error_file += "ü";
  CHECK(report(x).starts_with(std::string(60, '=') + "\n"));
  x.details.error_file = "/e";
  CHECK(report(x).starts_with(std::string(33, '=') + "\n")); // time
}

TEST_CASE("failure report: exit codes are counted as torchrun does", "[core]") {
  CHECK(exit_code_line(exited(0, 7)) == "  exitcode  : 7 (pid: 4700)");
  CHECK(exit_code_line(killed(0, SIGKILL))
        == "  exitcode  : -9 (pid: 4700)  (SIGKILL)");
  CHECK(exit_code_line(killed(0, 40)) == "  exitcode  : -40 (pid: 4700)");
  CHECK(reported_exit_code(failure_of(0, failure_kind::not_started, ENOENT))
        == 127);
  CHECK(reported_exit_code(failure_of(0, failure_kind::not_started, ENOTDIR))
        == 127);
  CHECK(reported_exit_code(failure_of(0, failure_kind::not_started, EACCES))
        == 126);
  CHECK(reported_exit_code(failure_of(0, failure_kind::not_started, EAGAIN))
        == 126);
}

TEST_CASE(
  "failure report: without a traceback it links to torch's page on errors",
  "[core]") {
  const auto where = std::string{
    "\n  output    : standard error was not kept: it went to the console of "
    "node-a; -t 2 keeps it, and shows its end here"};
  CHECK(root_of(exited(0))
        == "  error_file: <N/A>\n"
           "  traceback : To enable traceback see: "
           "https://pytorch.org/docs/stable/elastic/errors.html"
             + where);
  CHECK(root_of(killed(0, SIGSEGV))
        == "  error_file: <N/A>\n"
           "  traceback : Signal 11 (SIGSEGV) received by PID 4700"
             + where);
  CHECK(root_of(killed(0, 40))
        == "  error_file: <N/A>\n"
           "  traceback : Signal 40 (<N/A>) received by PID 4700"
             + where);
}

TEST_CASE("failure report: it says once how to keep standard error", "[core]") {
  const auto count = [](const std::string& text) {
    auto out = 0;
    for (auto i = text.find("-t 2 keeps it"); i != text.npos;
         i = text.find("-t 2 keeps it", i + 1))
      ++out;
    return out;
  };
  const auto text = report(exited(0), {exited(1), killed(2, SIGSEGV)});
  CHECK(count(text) == 1);
  CHECK(text.find("-t 2 keeps it") > text.find("Root Cause"));
  const auto known = with_traceback(exited(0), "stack");
  CHECK(count(report(known, {exited(1), exited(2)})) == 1);
  CHECK(count(report(known)) == 0);
}

TEST_CASE("failure report: a program that has not begun is the cause (U17)",
          "[core]") {
  auto x = exited(0);
  x.code = 1;
  x.details.is_from_stderr = true;
  x.details.traceback = "  File \"/x/bad.py\", line 3\n"
                        "    def f(:\n"
                        "SyntaxError: invalid syntax";
  CHECK(root_of(x).find(
          "\n  cause     : it probably ended before its program began: "
          "SyntaxError: invalid syntax (bad.py, line 3)\n")
        != std::string::npos);
}

TEST_CASE("failure report: the end of standard error replaces a traceback",
          "[core]") {
  auto x = exited(0);
  x.details.traceback = "first\nlast";
  x.details.is_from_stderr = true;
  CHECK(root_of(x)
        == "  error_file: <N/A>\n"
           "  traceback : first\n"
           "  last\n"
           "  output    : the traceback is the end of standard error");
  x.details.traceback.clear();
  CHECK(root_of(x)
        == "  error_file: <N/A>\n"
           "  traceback : To enable traceback see: "
           "https://pytorch.org/docs/stable/elastic/errors.html\n"
           "  output    : nothing was written to standard error");
}

TEST_CASE("failure report: a message is printed once", "[core]") {
  auto x = with_traceback(exited(0), "stack\nValueError: no data\n");
  x.details.message = "ValueError: no data";
  CHECK(root_of(x).find("message") == std::string::npos);
  x.details.message = "the error file /logs/0/error.json is empty";
  CHECK(root_of(x).ends_with(
    "\n  message   : the error file /logs/0/error.json is empty"));
}

TEST_CASE("failure report: text of workers cannot control a console",
          "[core]") {
  auto x = with_traceback(exited(0), "\x1b[2Jred \x07\xff");
  x.details.error_file = "/logs/\x1b]0;x\x07/error.json";
  CHECK(root_of(x)
        == "  error_file: /logs//error.json\n"
           "  traceback : red \\x07\ufffd");
}

TEST_CASE("failure report: it contains facts of the machine", "[core]") {
  auto x = killed(0, SIGKILL);
  x.details.out_of_memory = true;
  CHECK(root_of(x).find("\n  cause     : killed by the kernel: out of memory\n")
        != std::string::npos);
  x = killed(0, SIGABRT);
  x.dumped = true;
  CHECK(root_of(x).find("\n  cause     : core dumped\n") != std::string::npos);
  x.kind = failure_kind::exited;
  CHECK(root_of(x).find("cause") == std::string::npos);
}

TEST_CASE("failure report: an expired timer is reported with its scope",
          "[core]") {
  auto x = failure_of(0, failure_kind::timer_expired, SIGKILL);
  x.details.scope = "train_step";
  x.details.lateness = std::chrono::milliseconds{1200};
  x.details.limit = std::chrono::seconds{30};
  x.details.where = "rank 0 waits in futex\nrank 1 reads";
  CHECK(reported_exit_code(x) == -SIGKILL);
  CHECK(exit_code_line(x) == "  exitcode  : -9 (pid: 4700)  (SIGKILL)");
  const auto root = root_of(x);
  CHECK(root.find("\n  traceback : Signal 9 (SIGKILL) received by PID 4700\n")
        != std::string::npos);
  CHECK(root.find("\n  cause     : its timer expired: scope \"train_step\" "
                  "was not left within 30 s\n"
                  "  stuck     : rank 0 waits in futex\n"
                  "  rank 1 reads\n")
        != std::string::npos);
  x.details.where.clear();
  CHECK(root_of(x).find("stuck") == std::string::npos);
}

TEST_CASE("failure report: a worker that never ran is reported with its error",
          "[core]") {
  auto x = failure_of(0, failure_kind::not_started, ENOENT);
  x.pid = 0;
  x.details.subject = "/opt/train";
  CHECK(exit_code_line(x) == "  exitcode  : 127 (pid: 0)");
  CHECK(root_of(x)
        == "  error_file: <N/A>\n"
           "  traceback : The worker never ran.\n"
           "  cause     : could not be started: No such file or directory: "
           "/opt/train");
  x.details.subject.clear();
  x.code = 9999;
  CHECK(root_of(x).ends_with("could not be started: error 9999"));
}

TEST_CASE("failure report: an unknown time is left out", "[core]") {
  auto x = exited(0);
  x.details.wall_ms = 0;
  CHECK(report(x).find("  time      : <N/A>\n") != std::string::npos);
}

TEST_CASE(
  "failure report: a worker that cannot be killed is reported with its place",
  "[core]") {
  auto x = failure_of(0, failure_kind::unkillable, SIGKILL);
  x.details.where = "uninterruptible in rpc_wait_bit_killable";
  CHECK(reported_exit_code(x) == -SIGKILL);
  const auto root = root_of(x);
  CHECK(
    root.find("\n  cause     : it outlived SIGKILL and hangs in the kernel; "
              "its node is out of the job\n"
              "  stuck     : uninterruptible in rpc_wait_bit_killable")
    != std::string::npos);
  CHECK(root.find("\n  output ") == std::string::npos);
  x.details.scope = "train_step";
  x.details.lateness = std::chrono::milliseconds{1200};
  CHECK(root_of(x).find("; its timer had expired: scope \"train_step\" was "
                        "not left by its deadline (1.2 s late)\n")
        != std::string::npos);
}

TEST_CASE("failure report: U10 the name of a script is one printable line",
          "[core]") {
  const auto text = failure_report(
    "a\x1b[31mb\n/c.py",
    {.kind = outcome::verdict::failed, .first_failure = exited(1)}, time_of);
  CHECK(text.find("\nab /c.py FAILED\n") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("failure report: T6 a line of 300,000 characters is not shown whole",
          "[core]") {
  const auto text
    = report(with_traceback(exited(1), "Traceback\n" + std::string(300'000, 'x')
                                         + "\nValueError: no data\n"));
  CHECK(text.size() < 3'000);
  CHECK(text.find("xx… (299000 more bytes)\n  ValueError: no data\n")
        != std::string::npos);
}

} // namespace actorrun::test::failure_report_test
