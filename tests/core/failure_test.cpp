#include "actors/core/failure.hpp"
#include "actors/core/failure_text.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::failure_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

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

/// The text after the name of the worker.
std::string how(const worker_failure& x) {
  const auto text = to_string(x);
  const auto who = std::string{"rank 3 (local rank 1, pid 4711) on node-b "};
  REQUIRE(text.starts_with(who));
  return text.substr(who.size());
}

worker_failure with_message(failure_kind kind, int code, std::string message) {
  auto x = on_node_b(kind, code);
  x.details.message = std::move(message);
  return x;
}

/// As many bytes of text as asked for, of all lengths of characters.
std::string long_text(size_t size) {
  const auto piece = std::string{"aé€😀"};
  auto text = std::string{};
  while (text.size() + piece.size() <= size)
    text += piece;
  return text + std::string(size - text.size(), 'z');
}

constexpr auto every_kind
  = {failure_kind::exited, failure_kind::signalled, failure_kind::not_started,
     failure_kind::timer_expired, failure_kind::unkillable};

} // namespace

// -- one line -----------------------------------------------------------------

TEST_CASE("failure: its line names the worker, the node and the end",
          "[core]") {
  struct row {
    failure_kind kind;
    int code;
    std::string text;
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
    CHECK(how(on_node_b(x.kind, x.code)) == x.text);
}

TEST_CASE("failure: a core dump is mentioned where there can be one",
          "[core]") {
  auto x = on_node_b(failure_kind::signalled, SIGABRT);
  x.dumped = true;
  CHECK(how(x) == "was killed by SIGABRT (signal 6), core dumped");
  x.kind = failure_kind::exited;
  CHECK(how(x) == "exited with code 6");
}

TEST_CASE("failure: a worker that never ran has no process id", "[core]") {
  auto x = on_node_b(failure_kind::not_started, ENOEXEC);
  x.pid = 0;
  CHECK(to_string(x)
        == "rank 3 (local rank 1) on node-b could not be started: "
           "Exec format error");
}

TEST_CASE(
  "failure: a worker that outlives SIGKILL is reported with its timer, if "
  "it has one",
  "[core]") {
  auto x = on_node_b(failure_kind::unkillable, SIGKILL);
  CHECK(how(x) == "outlived SIGKILL: it hangs in the kernel");
  x.details.scope = "step";
  x.details.lateness = 1s;
  CHECK(how(x)
        == "outlived SIGKILL: it hangs in the kernel, and was killed by its "
           "timer: scope \"step\" was not left by its deadline (1.0 s late)");
  CHECK_FALSE(is_permanent(x));
}

TEST_CASE("failure: a timer whose limit is not known is named, and how late it"
          " was",
          "[core]") {
  auto x = on_node_b(failure_kind::timer_expired, SIGKILL);
  x.details.scope = "train\nstep";
  const auto say = [&](duration lateness) {
    x.details.lateness = lateness;
    return how(x);
  };
  const auto head
    = std::string{"was killed by its timer: scope \"train step\" was not left "
                  "by its deadline "};
  CHECK(say(-1ms) == head + "(0.0 ms late)");
  CHECK(say(0ms) == head + "(0.0 ms late)");
  CHECK(say(1250us) == head + "(1.2 ms late)");
  CHECK(say(1s - 1ns) == head + "(999.9 ms late)");
  CHECK(say(1s) == head + "(1.0 s late)");
  CHECK(say(90s) == head + "(90.0 s late)");
  // A journal may hold anything.
  for (const auto none : {duration{0}, duration{-1}, duration::min()}) {
    x.details.limit = none;
    CHECK(say(1s) == head + "(1.0 s late)");
  }
}

TEST_CASE("failure: a timer is named with its limit (P9)", "[core]") {
  auto x = death_details{.scope = "train.py#42"};
  const auto say = [&](duration limit, duration lateness = 0ms) {
    x.limit = limit;
    x.lateness = lateness;
    return overrun_text(x);
  };
  const auto head = std::string{"scope \"train.py#42\" was not left within "};
  CHECK(say(500ms) == head + "500 ms");
  CHECK(say(1ns) == head + "0.1 ms");
  CHECK(say(50us) == head + "0.1 ms");
  CHECK(say(2500us) == head + "2.5 ms");
  CHECK(say(999ms) == head + "999 ms");
  CHECK(say(1s) == head + "1 s");
  CHECK(say(1250ms) == head + "1.25 s");
  CHECK(say(1001ms) == head + "1.001 s");
  CHECK(say(1010ms) == head + "1.01 s");
  CHECK(say(30s) == head + "30 s");
  CHECK(say(100s) == head + "100 s");
  CHECK(say(2min) == head + "2 min");
  CHECK(say(2min + 30s) == head + "2 min 30 s");
  CHECK(say(90min) == head + "90 min");
  CHECK(say(2h) == head + "2 h");
  CHECK(say(150min) == head + "2 h 30 min");
  CHECK(say(duration::max()) == head + "2562047 h 47 min");
}

TEST_CASE("failure: how late a timer was is told if it is much of the limit"
          " (P9)",
          "[core]") {
  auto x = death_details{.scope = "step", .limit = 500ms};
  const auto say = [&](duration lateness) {
    x.lateness = lateness;
    return overrun_text(x);
  };
  const auto text = std::string{"scope \"step\" was not left within 500 ms"};
  CHECK(say(-1s) == text);
  CHECK(say(25ms) == text);
  CHECK(say(25ms + 1ns) == text + " (25.0 ms late)");
  CHECK(say(1200ms) == text + " (1.2 s late)");
  CHECK(say(duration::max()) == text + " (2562047 h 47 min late)");
}

TEST_CASE("failure: lack of memory is named", "[core]") {
  auto x = on_node_b(failure_kind::signalled, SIGKILL);
  x.details.out_of_memory = true;
  CHECK(how(x) == "was killed by the kernel for memory");
  x.details.message = "cgroup limit 512 MiB";
  CHECK(how(x) == "was killed by the kernel for memory (cgroup limit 512 MiB)");
}

TEST_CASE("failure: those that miss a peer say so", "[core]") {
  const auto misses
    = [](const std::string& message, const std::string& traceback = {}) {
        auto x = with_message(failure_kind::exited, 1, message);
        x.details.traceback = traceback;
        return misses_peer(x);
      };
  CHECK(misses("RuntimeError: Connection closed by peer [10.0.0.2]:4711"));
  CHECK(
    misses("", "ConnectionResetError: [Errno 104] Connection reset by peer"));
  CHECK(misses("DistBackendError: NCCL error: remote process exited or there "
               "was a network error"));
  CHECK(misses("", "BrokenPipeError: [Errno 32] Broken pipe"));
  CHECK_FALSE(misses("ValueError: shard 7 has no header"));
  CHECK_FALSE(misses("", ""));
  auto killed = with_message(failure_kind::signalled, SIGKILL, "broken pipe");
  CHECK_FALSE(misses_peer(killed)); // Another process has ended it.
}

TEST_CASE("failure: the file that could not be used is named", "[core]") {
  auto x = on_node_b(failure_kind::not_started, ENOENT);
  x.details.subject = "/opt/no such\nprogram";
  CHECK(how(x)
        == "could not be started: /opt/no such program: No such file or "
           "directory");
  x.details.message = "bad interpreter"; // More precise than the errno.
  CHECK(how(x)
        == "could not be started: /opt/no such program: bad interpreter");
}

TEST_CASE("failure: the message of the error file follows", "[core]") {
  CHECK(how(with_message(failure_kind::exited, 1, "RuntimeError: no data"))
        == "exited with code 1: RuntimeError: no data");
  CHECK(how(with_message(failure_kind::signalled, SIGABRT, "abort: x > 0"))
        == "was killed by SIGABRT (signal 6): abort: x > 0");
  CHECK(how(with_message(failure_kind::not_started, EIO, "the disk is gone"))
        == "could not be started: the disk is gone");
}

TEST_CASE("failure: it is one line, whatever the message contains", "[core]") {
  const auto say = [](std::string message) {
    return how(with_message(failure_kind::exited, 1, std::move(message)));
  };
  CHECK(say("a\n\tb\r\n") == "exited with code 1: a b");
  CHECK(say(" \n ") == "exited with code 1");
  CHECK(say("\x1b[31mred\x1b[0m") == "exited with code 1: red");
  CHECK(say("\xff") == "exited with code 1: \xef\xbf\xbd");
}

TEST_CASE("failure: a message is cut to fit a line", "[core]") {
  CHECK(one_line(std::string(line_message_max, 'x'), line_message_max)
        == std::string(line_message_max, 'x'));
  const auto cut
    = one_line(std::string(line_message_max + 1, 'x'), line_message_max);
  CHECK(cut == std::string(line_message_max - 3, 'x') + "…");
  CHECK(one_line("ab€cd", 7) == "ab€cd");
  CHECK(one_line("ab€cd", 6) == "ab…"); // No half character.
  CHECK(one_line("", 4).empty());
  // What is left out must not make a text seem complete.
  CHECK(one_line(std::string(400, '\n') + "end", 4).ends_with("…"));
}

// -- what it means ------------------------------------------------------------

TEST_CASE("failure: only a program that cannot be run fails for good",
          "[core]") {
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

TEST_CASE("failure: lack of memory or processes may be temporary", "[core]") {
  for (const auto error : {EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, EINTR, EIO})
    CHECK_FALSE(is_permanent(on_node_b(failure_kind::not_started, error)));
}

TEST_CASE("failure: it grows older", "[core]") {
  auto x = on_node_b(failure_kind::exited, 1);
  x.age = 3ms;
  CHECK(aged(x, 4ms).age == 7ms);
  CHECK(aged(x, 0ms) == x);
  CHECK(aged(collateral{{x, x}, 5}, 4ms).listed[1].age == 7ms);
  CHECK(aged(collateral{{x, x}, 5}, 4ms).unlisted_count == 5);
}

// -- bounds -------------------------------------------------------------------

namespace {

struct limits {
  size_t message;
  size_t traceback;
  size_t path;
  size_t scope;
  size_t where;
};

void check_bounds(worker_failure (*cut)(worker_failure), const limits& max) {
  auto x = on_node_b(failure_kind::exited, 1);
  x.details = {.wall_ms = 7,
               .out_of_memory = true,
               .subject = long_text(max.path),
               .error_file = long_text(max.path),
               .message = long_text(max.message),
               .traceback = long_text(max.traceback),
               .is_from_stderr = true,
               .scope = long_text(max.scope),
               .lateness = 8ms,
               .limit = 9ms,
               .where = long_text(max.where)};
  CHECK(cut(x) == x);
  auto longer = x;
  for (auto* text : {&longer.details.subject, &longer.details.error_file,
                     &longer.details.message, &longer.details.traceback,
                     &longer.details.scope, &longer.details.where})
    *text += '!';
  const auto y = cut(longer);
  CHECK(y.details.message == x.details.message);
  CHECK(y.details.scope == x.details.scope);
  CHECK(y.details.where == x.details.where);
  CHECK(y.details.traceback.size() <= max.traceback);
  CHECK(y.details.traceback == longer.details.traceback.substr(1));
  for (const auto& path : {y.details.subject, y.details.error_file}) {
    CHECK(path.size() <= max.path);
    CHECK(path.starts_with("…"));
    CHECK(path.ends_with("z!"));
  }
}

} // namespace

TEST_CASE("failure: its texts are cut to the limit of a message", "[core]") {
  check_bounds(&bounded,
               {failure_message_max, failure_traceback_max, failure_path_max,
                failure_scope_max, failure_where_max});
}

TEST_CASE("failure: its texts are cut shorter after the first failure",
          "[core]") {
  check_bounds(&brief, {brief_message_max, brief_traceback_max, brief_path_max,
                        brief_scope_max, brief_where_max});
}

TEST_CASE("failure: no character is cut in half", "[core]") {
  auto x = on_node_b(failure_kind::exited, 1);
  for (size_t shift = 0; shift < 10; ++shift) {
    const auto text = std::string(shift, '.') + long_text(20'000);
    x.details.message = x.details.traceback = text;
    const auto y = bounded(x);
    CAPTURE(shift);
    CHECK(y.details.message.size() > failure_message_max - 4);
    CHECK(one_line(y.details.message, 4'000).find("\xef\xbf\xbd")
          == std::string::npos);
    CHECK(y.details.traceback.size() > failure_traceback_max - 4);
    CHECK((y.details.traceback[0] & 0xC0) != 0x80);
  }
}

TEST_CASE("failure: those after the first are listed up to a limit", "[core]") {
  auto xs = collateral{};
  CHECK(xs.empty());
  for (size_t i = 0; i < other_failures_max; ++i)
    xs.add(on_node_b(failure_kind::exited, int(i)));
  CHECK(xs.listed.size() == other_failures_max);
  CHECK(xs.unlisted_count == 0);
  xs.add(on_node_b(failure_kind::exited, 99));
  CHECK(xs.listed.size() == other_failures_max);
  CHECK(xs.listed.back().code == int(other_failures_max) - 1);
  CHECK(xs.unlisted_count == 1);
  CHECK(xs.count() == other_failures_max + 1);
  CHECK_FALSE(xs.empty());
}

TEST_CASE("failure: two lists become one", "[core]") {
  auto xs = collateral{{on_node_b(failure_kind::exited, 1)}, 2};
  xs.add(collateral{{on_node_b(failure_kind::exited, 3)}, 4});
  REQUIRE(xs.listed.size() == 2);
  CHECK(xs.listed[1].code == 3);
  CHECK(xs.unlisted_count == 6);
  CHECK_FALSE(collateral{{}, 1}.empty());
}

TEST_CASE("failure: P1 a death by a signal in a stop says so", "[core]") {
  auto x = worker_failure{.host = "n1", .global_rank = 3, .pid = 7};
  x.kind = failure_kind::signalled;
  x.code = SIGSEGV;
  x.while_stopped = true;
  CHECK(
    to_string(x)
    == "rank 3 (local rank 0, pid 7) on n1 was killed by SIGSEGV (signal 11)"
       " while it was being stopped");
  x.details.out_of_memory = true;
  CHECK(what_happened(x)
        == "was killed by the kernel for memory while it was being stopped");
}

TEST_CASE(
  "failure: T6 a long traceback begins with a whole line, and says how many"
  " are missing",
  "[core]") {
  auto text = std::string{};
  for (auto i = 0; i < 1'000; ++i)
    text += "line " + std::to_string(1'000 + i) + "\n";
  CHECK(last_whole_lines(text, text.size()) == text);
  const auto once = last_whole_lines(text, 1'048);
  CHECK(once.starts_with("[901 earlier lines left out]\nline 1901\n"));
  CHECK(once.ends_with("line 1999\n"));
  const auto twice = last_whole_lines(once, 148);
  CHECK(twice.starts_with("[991 earlier lines left out]\nline 1991\n"));
  CHECK(last_whole_lines(std::string(100, 'x'), 60) == std::string(60, 'x'));
  CHECK(last_whole_lines(std::string(100, 'x') + "\n", 60).size() == 60);
}

} // namespace actorrun::test::failure_test
