#include "cli/report/report_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/worker_files.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::report_file_test {

using namespace actorrun::cli;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using kind = core::outcome::verdict;

core::worker_failure failure_on(const std::string& host, uint32_t rank) {
  auto out = core::worker_failure{.agent = {"a"},
                                  .host = host,
                                  .global_rank = rank,
                                  .local_rank = 1,
                                  .pid = 4711,
                                  .code = 7};
  out.details.wall_ms = 1'785'587'651'999;
  return out;
}

/// The second of two nodes, with two workers each, of a job that has failed on the
/// first one.
core::ending failed() {
  auto first = failure_on("node-a", 1);
  first.details.error_file = "/logs/error.json";
  first.details.message = "ValueError: no data";
  first.details.traceback = "Traceback\n  main\nValueError: no data";
  auto second = failure_on("node-b", 3);
  second.kind = core::failure_kind::signalled;
  second.code = SIGSEGV;
  second.dumped = true;
  second.details.is_from_stderr = true;
  second.details.traceback = "what(): lost \xff";
  auto out = core::ending{
    .result = core::outcome{.kind = kind::failed,
                            .first_failure = first,
                            .other_failures = {second},
                            .unlisted_failure_count = 2,
                            .reason = "rank 1 exited with code 7"},
    .why = {}};
  auto& last = out.last.emplace();
  last.generation = generation_of(5, 3);
  last.own.node_rank = 1;
  last.own.slot_count = 2;
  last.own.first_global_rank = 2;
  last.restart_count = 2;
  return out;
}

} // namespace

TEST_CASE("report file: it has the failures of all nodes, the root cause first"
          " (R1)",
          "[cli]") {
  const auto x = json::parse(report_json(failed(), "node-b", "/logs/run"));
  CHECK(x["version"] == 1);
  CHECK(x["verdict"] == "failed");
  CHECK(x["exit_code"] == 1);
  CHECK(x["signal"] == 0);
  CHECK(x["sentence"]
        == "job failed, no restart is left; first failure: rank 1 exited with"
           " code 7");
  CHECK(x["remedy"] == "");
  CHECK(x["generation"] == 3);
  CHECK(x["restarts"] == 2);
  CHECK(x["node_rank"] == 1);
  CHECK(x["ranks"] == json{2, 3});
  CHECK(x["log_dir"] == "/logs/run");
  CHECK(x["unlisted_failures"] == 2);
  REQUIRE(x["failures"].size() == 2);
  CHECK(x["failures"][0]
        == json{{"rank", 1},
                {"local_rank", 1},
                {"host", "node-a"},
                {"pid", 4711},
                {"exit_code", 7},
                {"error_file", "/logs/error.json"},
                {"error_file_is_here", false},
                {"message", "ValueError: no data"},
                {"traceback", "Traceback\n  main\nValueError: no data"},
                {"time_ms", 1'785'587'651'999},
                {"cause", ""},
                {"stuck", ""},
                {"last_output", ""}});
  const auto& second = x["failures"][1];
  CHECK(second["exit_code"] == -SIGSEGV);
  CHECK(second["cause"] == "core dumped");
  CHECK(second["traceback"] == "");
  CHECK(second["last_output"] == "what(): lost \xEF\xBF\xBD");
  CHECK(second["error_file_is_here"] == false); // There is none.
}

TEST_CASE("report file: an error file is here if its worker was", "[cli]") {
  const auto x = json::parse(report_json(failed(), "node-a", ""));
  CHECK(x["failures"][0]["error_file_is_here"] == true);
}

TEST_CASE("report file: a job that did not begin has one, too", "[cli]") {
  const auto x = json::parse(report_json(
    {.result = {}, .why = failure{errc::program_not_found, "no program \"x\""}},
    "node-a", ""));
  CHECK(x["verdict"] == "error");
  CHECK(x["exit_code"] == 127);
  CHECK(x["sentence"] == "no program \"x\"");
  CHECK(x["remedy"]
        == "check the path; a program of its own, no script, needs"
           " --no-python");
  CHECK(x["generation"] == 0);
  CHECK(x["node_rank"].is_null());
  CHECK(x["ranks"] == json::array());
  CHECK(x["failures"] == json::array());
}

TEST_CASE_METHOD(worker_files,
                 "report file: it is there as a whole, for its user alone",
                 "[cli]") {
  const auto place = path("report.json");
  REQUIRE(prepare_report_file(place));
  REQUIRE(leave_report_file(place, failed(), "node-a", ""));
  CHECK(json::parse(read("report.json")) //
        == json::parse(report_json(failed(), "node-a", "")));
  struct stat facts {};
  REQUIRE(::stat(place.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  // Nothing else is left.
  for (const auto& x : fs::directory_iterator{folder})
    CHECK(x.path().filename().string().find(".tmp") == std::string::npos);
  // That of an earlier run could be taken for one of this.
  REQUIRE(prepare_report_file(place));
  CHECK_FALSE(fs::exists(place));
}

TEST_CASE_METHOD(worker_files,
                 "report file: a place that cannot be used is refused at once",
                 "[cli]") {
  const auto why = [](const std::string& place) {
    const auto x = prepare_report_file(place);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::bad_argument);
    return x.error().text;
  };
  CHECK(why(path("no/report.json"))
        == "--report-file: " + path("no/report.json")
             + ": no file can be made in its folder: No such file or"
               " directory");
  CHECK(why("/dev/null")
        == "--report-file: /dev/null: it is there, and no regular file");
  CHECK(why(fs::path{path("x")}.parent_path().string())
          .ends_with("it is there, and no regular file"));
  CHECK(prepare_report_file(""));
  const auto left
    = leave_report_file(path("no/report.json"), failed(), "node-a", "");
  REQUIRE_FALSE(left);
  CHECK(left.error().code == errc::log_failed);
  CHECK(leave_report_file("", failed(), "node-a", ""));
}

} // namespace actorrun::test::report_file_test
