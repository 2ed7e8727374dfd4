// Tests the report of a failed job on every agent's console, and the error file
// for the program that started the agent.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/log_scene.hpp"

#include <regex>
#include <string>

namespace actorrun::test::report_test {

namespace {

/// The report, from its first line to its last; empty if there is none.
std::string report_in(const std::string& output) {
  const auto cause = output.find("\nRoot Cause (first observed failure):\n");
  const auto start = output.rfind("\n=", output.rfind("\nFailures:", cause));
  const auto end = output.find("\n==", cause);
  if (cause == output.npos || start == output.npos || end == output.npos)
    return {};
  return output.substr(start + 1, end - start);
}

/// Whether the text has a line that matches, as a whole.
bool has_line(const std::string& text, const std::string& pattern) {
  for (const auto& x : lines_of(text))
    if (std::regex_match(x, std::regex{pattern}))
      return true;
  return false;
}

/// A job whose agent has an error file of its own.
struct report_scene : log_scene {
  std::string own_file() const { return folder() + "/own.json"; }

  std::string output_of(words arguments, int expected_code) {
    auto& x
      = run(std::move(arguments), {{"TORCHELASTIC_ERROR_FILE", own_file()}});
    CHECK(x.wait() == expected_code);
    return x.output();
  }

  words script(const std::string& text, const words& options = {}) {
    auto out = words{"--standalone", "--nproc-per-node=2"};
    out.insert(out.end(), options.begin(), options.end());
    out.insert(out.end(), {"--no-python", "sh", "-c", text});
    return out;
  }

  json own_message() const {
    const auto x = json::parse(content_of(own_file()), nullptr, false);
    REQUIRE(x.is_object());
    return x["message"];
  }
};

// Writes an error file as torch's @record does, from the shell.
const auto torch_file = std::string{
  R"(printf '{"message": {"message": "ValueError: no data", "extraInfo": )"
  R"({"py_callstack": "Traceback\\n  main\\nValueError: no data\\n", )"
  R"("timestamp": "1785587650"}}}' > $TORCHELASTIC_ERROR_FILE; )"};

} // namespace

TEST_CASE_METHOD(scene, "report: every agent reports the same root cause",
                 "[report]") {
  auto& a = agent({});
  auto& b = agent({});
  const auto workers = await_world(4);
  order_exit(workers[3].pid, 41);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 1);
  const auto report = report_in(a.output());
  CHECK(report_in(b.output()) == report);
  CHECK(has_line(report, ".*stamping_worker FAILED"));
  CHECK(has_line(report, "  <NO_OTHER_FAILURES>"));
  CHECK(has_line(report, R"(  rank      : 3 \(local_rank: [01]\))"));
  CHECK(has_line(report, R"(  exitcode  : 41 \(pid: )"
                           + std::to_string(workers[3].pid) + R"(\))"));
}

TEST_CASE_METHOD(report_scene,
                 "report: last lines replace a missing error file",
                 "[report]") {
  const auto output
    = output_of(script("test $RANK = 0 && exec sleep 60; "
                       "echo Traceback >&2; echo ValueError >&2; exit 3",
                       {"--tee=2"}),
                1);
  const auto report = report_in(output);
  CHECK(has_line(report, "sh FAILED"));
  CHECK(has_line(report, "  error_file: <N/A>"));
  CHECK(report.find("\n  traceback : Traceback\n  ValueError\n")
        != report.npos);
  CHECK(has_line(report, "  output    : the traceback is the end of standard "
                         "error"));
  CHECK_FALSE(std::filesystem::exists(own_file()));
}

// The first to end is not the first to fail.
TEST_CASE_METHOD(report_scene,
                 "report: a script with a syntax error has not begun, and is"
                 " started again as asked (U17)",
                 "[report]") {
  auto code = -1;
  read({"python3", "-c", "pass"}, &code);
  if (code != 0) {
    actorrun::test::skip("python3", "there is no python3");
    return;
  }
  const auto path = write("bad.py", "print('never')\n\ndef f(:\n    pass\n");
  const auto output
    = output_of({"--standalone", "--max-restarts=2", "-t2", path}, 1);
  CHECK(count_of(output, "never") == 0);
  CHECK(count_of(output,
                 "exited with code 1, probably before its program began: "
                 "SyntaxError: invalid syntax (bad.py, line 3)")
        >= 3); // Of each generation.
  CHECK(count_of(output, "coordinator forms generation 3") == 1);
  CHECK(count_of(output, "coordinator forms generation 4") == 0);
  CHECK(has_line(
    report_in(output),
    "  cause     : it probably ended before its program began: SyntaxError: "
    "invalid syntax \\(bad.py, line 3\\)"));
}

TEST_CASE_METHOD(report_scene,
                 "report: the oldest error file is the root cause, and those of"
                 " stopped workers are listed",
                 "[report]") {
  const auto at = "at=" + folder() + ";";
  const auto output = output_of(
    script(at
             + "write() { printf '{\"message\": {\"message\": \"E: of %s\","
               " \"extraInfo\": {\"py_callstack\": \"E: of %s\", \"timestamp\":"
               " \"%s\"}}}' $RANK $RANK $1 > $TORCHELASTIC_ERROR_FILE; };"
               " now=$(date +%s);"
               " case $RANK in"
               "  0) write $((now - 60)); touch $at/0; exec sleep 60;;"
               "  1) write $((now - 30)); touch $at/1; exec sleep 60;;"
               "  2) until test -e $at/0 -a -e $at/1; do sleep 0.05; done;"
               "     write $now; exit 7;;"
               "  *) exec sleep 60;; esac",
           {"--nproc-per-node=4"}),
    1);
  const auto report = report_in(output);
  REQUIRE_FALSE(report.empty());
  const auto root = report.substr(report.find("Root Cause"));
  CHECK(root.find("E: of 0") != root.npos);
  CHECK(has_line(root, R"(  exitcode  : -15 .*)"));
  const auto others = report.substr(0, report.find("Root Cause"));
  CHECK(others.find("E: of 1") < others.find("E: of 2"));
  CHECK(others.find("E: of 2") != others.npos);
  CHECK(count_of(report, "  rank      : ") == 3);
}

TEST_CASE_METHOD(report_scene, "report: a torch worker's error file is shown",
                 "[report]") {
  const auto output = output_of(
    script("test $RANK = 0 && exec sleep 60; " + torch_file + "exit 7"), 1);
  const auto report = report_in(output);
  CHECK(has_line(report, "  error_file: /.*error.*\\.json"));
  CHECK(report.find("\n  traceback : Traceback\n    main\n  ValueError: no "
                    "data\n  \n")
        != report.npos);
  // Copied for the agent unchanged, with the exit code.
  CHECK(content_of(own_file())
        == R"({"message": {"message": "ValueError: no data", "extraInfo": )"
           R"({"py_callstack": "Traceback\n  main\nValueError: no data\n", )"
           R"("timestamp": "1785587650"}, "errorCode": 7}})");
}

// An error that ends torchrun's agent.
TEST_CASE_METHOD(report_scene,
                 "report: a truncated error file costs no restart",
                 "[report]") {
  const auto torn = R"(printf '{"mess' > $TORCHELASTIC_ERROR_FILE; exit 1)";
  CHECK(report_in(output_of(
          script(std::string{"test $TORCHELASTIC_RESTART_COUNT = 1 || { "}
                   + torn + "; }",
                 {"--max-restarts=1"}),
          0))
        == "");
  const auto report = report_in(output_of(script(torn), 1));
  CHECK(has_line(report, "  message   : the error file /.* ends too early"));
}

TEST_CASE_METHOD(report_scene, "report: a C++ worker reports its exception",
                 "[report]") {
  const auto output
    = output_of({"--standalone", "--no-python", RECORD_EXAMPLE, "throw"}, 1);
  const auto report = report_in(output);
  CHECK(has_line(report, R"(  exitcode  : -6 \(pid: [0-9]+\)  \(SIGABRT\))"));
  CHECK(has_line(report, R"(    .*load_batch\(int\).*record_example\+0x.*)"));
  CHECK(has_line(report, "  std::runtime_error: shard 3 has no header"));
  CHECK(own_message()["message"]
        == "std::runtime_error: shard 3 has no header");
  CHECK(own_message()["errorCode"] == -6);
}

TEST_CASE_METHOD(report_scene,
                 "report: failures of the launcher have an error file",
                 "[report]") {
  output_of({"--nnodes=2", "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job",
             "--rdzv-conf=is_host=1,join_timeout=50ms", "--no-python", "true"},
            3);
  CHECK(own_message()["message"].get<std::string>().starts_with(
    "rendezvous_timed_out: "));
}

TEST_CASE_METHOD(report_scene, "report: success has no report", "[report]") {
  CHECK(report_in(output_of(script("exit 0"), 0)) == "");
  CHECK(content_of(own_file()) == "");
}

} // namespace actorrun::test::report_test
