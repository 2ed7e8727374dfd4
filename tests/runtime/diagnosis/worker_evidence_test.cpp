#include "runtime/diagnosis/worker_evidence.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/worker_files.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include <sys/stat.h>

namespace actorrun::test::worker_evidence_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;

namespace {

struct fixture : worker_files {
  fixture() {
    set_kills(0);
    uut.begin();
  }

  void set_kills(int count) {
    write("proc/vmstat", "oom_kill " + std::to_string(count) + "\n");
  }

  core::worker_outputs outputs() const {
    return {.out = {core::stream_target::kind::file, path("stdout.log"), false},
            .err = {core::stream_target::kind::file, path("stderr.log"), false},
            .error_file = path("error.json")};
  }

  core::death_details killed_by(int signal) {
    return uut.examine({.generation = {1}, .signal = signal}, {});
  }

  core::death_details exited() {
    return uut.examine({.generation = {1}, .exit_code = 1}, outputs());
  }

  std::string shortened; ///< The file of which bytes were given up.
  worker_evidence uut = [this] {
    write("proc/vmstat", "oom_kill 0\n");
    return worker_evidence{
      [this](const std::string& file) { return file == shortened; },
      oom_counter{path("proc")}};
  }();
};

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

std::string lines(int first, int last) {
  auto out = std::string{};
  for (auto i = first; i <= last; ++i)
    out += "line " + std::to_string(i) + "\n";
  return out;
}

std::string without_last_end(std::string text) {
  text.pop_back();
  return text;
}

} // namespace

TEST_CASE_METHOD(fixture, "evidence: a kill by the kernel explains a SIGKILL",
                 "[runtime]") {
  CHECK_FALSE(killed_by(SIGKILL).out_of_memory);
  set_kills(1);
  CHECK_FALSE(killed_by(SIGTERM).out_of_memory);
  CHECK(killed_by(SIGKILL).out_of_memory);
  CHECK_FALSE(killed_by(SIGKILL).out_of_memory);
  set_kills(2);
  uut.begin(); // The kill was an earlier generation's.
  CHECK_FALSE(killed_by(SIGKILL).out_of_memory);
}

TEST_CASE_METHOD(fixture, "evidence: an error file counts most", "[runtime]") {
  write("error.json", R"({"message": {"message": "E: x", "extraInfo": )"
                      R"({"py_callstack": "stack\nE: x\n"}}})");
  write("stderr.log", "last words\n");
  const auto x = exited();
  CHECK(x.error_file == path("error.json"));
  CHECK(x.message == "E: x");
  CHECK(x.traceback == "stack\nE: x\n");
  CHECK_FALSE(x.is_from_stderr);
}

TEST_CASE_METHOD(fixture, "evidence: an error file says when the worker failed",
                 "[runtime]") {
  const auto torch = [&](int64_t seconds) {
    write("error.json", R"({"message": {"message": "E: x", "extraInfo": )"
                        R"({"py_callstack": "x", "timestamp": ")"
                          + std::to_string(seconds) + R"("}}})");
  };
  const auto now = now_ms();
  torch(now / 1'000 - 60);
  CHECK(exited().wall_ms == (now / 1'000 - 60) * 1'000);
  const auto age = uut.age_of((now / 1'000 - 60) * 1'000);
  CHECK(age >= 60s);
  CHECK(age < 90s);
  // It has whole seconds; the file's own time is better where the two agree.
  torch(now / 1'000);
  CHECK(exited().wall_ms >= now - 20);
  write("error.json", R"({"message": "x", "timestamp": )"
                        + std::to_string(now / 1'000 - 30) + "}");
  CHECK(exited().wall_ms == (now / 1'000 - 30) * 1'000);
}

TEST_CASE_METHOD(fixture,
                 "evidence: of an error file with a time that cannot be the "
                 "rest counts",
                 "[runtime]") {
  const auto now = now_ms();
  for (const auto* odd :
       {"0", "12", "-5", "1e300", "\"soon\"", "99999999999"}) {
    CAPTURE(odd);
    write("error.json",
          std::string{R"({"message": "E: x\nline", "timestamp": )"} + odd
            + "}");
    const auto x = exited();
    CHECK(x.wall_ms >= now - 20); // That of the file itself.
    CHECK(x.error_file == path("error.json"));
    CHECK(x.message == "E: x");
    CHECK(x.traceback == "E: x\nline");
  }
}

TEST_CASE_METHOD(fixture,
                 "evidence: of a stopped worker only the error file counts",
                 "[runtime]") {
  const auto recalled = [&] {
    return uut.recall({.generation = {1}, .signal = SIGKILL}, outputs());
  };
  set_kills(1);
  write("stderr.log", "last words\n");
  CHECK(recalled().error_file == "");
  CHECK(recalled().traceback == "");
  CHECK_FALSE(recalled().out_of_memory);
  write("error.json", R"({"message": "E: x"})");
  CHECK(recalled().error_file == path("error.json"));
  CHECK(recalled().message == "E: x");
  CHECK(killed_by(SIGKILL).out_of_memory); // Still of another worker.
}

TEST_CASE_METHOD(fixture, "evidence: last lines replace a missing error file",
                 "[runtime]") {
  write("stderr.log", "Traceback\nValueError\n");
  const auto x = exited();
  CHECK(x.error_file == "");
  CHECK(x.message == "");
  CHECK(x.traceback == "Traceback\nValueError");
  CHECK(x.is_from_stderr);
}

TEST_CASE_METHOD(fixture, "evidence: an invalid error file is reported",
                 "[runtime]") {
  write("error.json", "{\"mess");
  write("stderr.log", "last words\n");
  const auto x = exited();
  CHECK(x.error_file == path("error.json"));
  CHECK(x.message
        == "the error file " + path("error.json") + " ends too early");
  CHECK(x.traceback == "last words");
  CHECK(x.is_from_stderr);
}

TEST_CASE_METHOD(
  fixture, "evidence: a disk on which the agent had to make room was full",
  "[runtime]") {
  const auto full = "no space is left on the disk of its log files";
  write("stderr.log", "");
  CHECK(exited().message == "");
  shortened = path("stdout.log");
  CHECK(exited().message == full);
  write("stderr.log", "Traceback (most recent call last):\n");
  CHECK(exited().message == full);
  CHECK(exited().traceback == "Traceback (most recent call last):");
  shortened = path("other.log");
  CHECK(exited().message == "");
  shortened = path("stderr.log");
  CHECK(exited().message == full);
  CHECK(uut.examine({.generation = {1}, .exit_code = 1}, {}).message == "");
}

TEST_CASE_METHOD(fixture,
                 "evidence: no output differs from output that was not kept",
                 "[runtime]") {
  write("stderr.log", "");
  CHECK(exited().traceback == "");
  CHECK(exited().is_from_stderr);
  const auto x = uut.examine({.generation = {1}, .exit_code = 1}, {});
  CHECK(x.traceback == "");
  CHECK_FALSE(x.is_from_stderr);
}

TEST_CASE_METHOD(fixture, "evidence: a death is dated by the wall clock",
                 "[runtime]") {
  const auto before = now_ms();
  const auto when = std::chrono::steady_clock::now() - 1h;
  const auto old
    = uut.examine({.generation = {1}, .exit_code = 1, .when = when}, {});
  const auto fresh = uut.examine({.generation = {1}, .exit_code = 1}, {});
  const auto after = now_ms();
  constexpr auto hour_ms = int64_t{3'600'000};
  CHECK(old.wall_ms >= before - hour_ms - 1);
  CHECK(old.wall_ms <= after - hour_ms);
  CHECK(fresh.wall_ms >= before);
  CHECK(fresh.wall_ms <= after);
}

TEST_CASE_METHOD(fixture,
                 "evidence: a worker that never ran is explained by its file",
                 "[runtime]") {
  const auto spec = ports::process_spec{.arguments = {"./train", "x"}};
  auto x = uut.examine({.generation = {1}, .error = ENOENT}, spec);
  CHECK(x.subject == "./train");
  CHECK(x.wall_ms > 0);
  x = uut.examine({.generation = {1}, .error = ENOENT, .subject = "/bin/nosh"},
                  spec);
  CHECK(x.subject == "/bin/nosh");
  CHECK(uut.examine({.generation = {1}, .error = EAGAIN}, ports::process_spec{})
          .subject
        == "");
}

TEST_CASE_METHOD(fixture, "last lines: their number is bounded", "[runtime]") {
  const auto last = static_cast<int>(last_words_lines_max);
  CHECK(last_words(write("x", lines(1, last)))
        == without_last_end(lines(1, last)));
  CHECK(last_words(write("x", lines(0, last)))
        == without_last_end(lines(1, last)));
}

TEST_CASE_METHOD(fixture, "last lines: only whole lines are shown",
                 "[runtime]") {
  const auto half = std::string(last_words_size_max / 2 - 1, 'x') + "\n";
  CHECK(last_words(write("x", half + half)) == without_last_end(half + half));
  CHECK(last_words(write("x", "y\n" + half + half))
        == without_last_end(half + half));
  CHECK(last_words(write("x", "y" + half + half)) == without_last_end(half));
  const auto endless = std::string(10 * last_words_size_max, 'x');
  CHECK(last_words(write("x", endless))
        == std::string(last_words_size_max + 1, 'x'));
}

TEST_CASE_METHOD(fixture, "last lines: any bytes can be shown", "[runtime]") {
  CHECK(last_words(write("x", "\x1b[31m 1%\r 2%\r\n\xff\x01\n"))
        == " 2%\n\ufffd\\x01");
  const auto wild
    = last_words(write("x", std::string(10 * last_words_size_max, '\xff')));
  CHECK(wild.size() <= core::failure_traceback_max);
  CHECK(wild.size() > core::failure_traceback_max - 3);
  CHECK(wild.starts_with("\ufffd"));
}

TEST_CASE_METHOD(fixture, "last lines: a rotation does not cut them",
                 "[runtime]") {
  write("x.1", lines(1, 5));
  CHECK(last_words(write("x", lines(6, 7))) == without_last_end(lines(1, 7)));
  CHECK(last_words(write("x", "")) == without_last_end(lines(1, 5)));
  const auto hole = std::string(last_words_size_max, '\0');
  CHECK(last_words(write("x", hole + lines(6, 7)))
        == without_last_end(lines(1, 7)));
}

TEST_CASE_METHOD(fixture, "last lines: other kinds of files have none",
                 "[runtime]") {
  CHECK(last_words(path("missing")) == "");
  REQUIRE(::mkfifo(path("fifo").c_str(), 0600) == 0);
  CHECK(last_words(path("fifo")) == "");
  CHECK(last_words("/dev/zero") == "");
}

} // namespace actorrun::test::worker_evidence_test
