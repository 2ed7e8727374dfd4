#include "cli/report/failure_view.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/worker_files.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>

namespace actorrun::test::failure_view_test {

using namespace actorrun::cli;

namespace {

using verdict = core::outcome::verdict;

/// The local time of Tokyo, whatever the machine's time zone.
struct tokyo {
  tokyo() {
    if (const auto* x = std::getenv("TZ"))
      before = x;
    set("JST-9");
  }

  ~tokyo() { set(before.c_str()); }

  static void set(const char* zone) {
    if (*zone == '\0')
      ::unsetenv("TZ");
    else
      ::setenv("TZ", zone, 1);
    ::tzset();
  }

  std::string before;
};

core::ending ended(core::outcome how) {
  return {.result = std::move(how), .why = {}, .signal = 0};
}

core::ending failed_on(const std::string& host) {
  auto x = core::worker_failure{
    .agent = {"a"}, .host = host, .global_rank = 3, .pid = 4711, .code = 7};
  x.details.wall_ms = 1'785'587'651'999;
  return ended({.kind = verdict::failed, .first_failure = x});
}

std::string after_leaving(const worker_files& files, const core::ending& how,
                          const std::string& host = "node-a") {
  CHECK(leave_error_file(files.path("own.json"), how, host, 12'999));
  return files.read("own.json");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("failure view: times are local", "[cli]") {
  const auto zone = tokyo{};
  CHECK(local_time(0) == "1970-01-01_09:00:00");
  CHECK(local_time(1'785'587'651'999) == "2026-08-01_21:34:11");
  // Text from another node may be anything.
  CHECK(local_time(INT64_MAX) == "292278994-08-17_16:12:55");
  CHECK(local_time(INT64_MIN) == "-292275055-05-17_01:47:05");
}

TEST_CASE("failure view: a failed job has a report", "[cli]") {
  const auto zone = tokyo{};
  const auto text = failure_view("train.py", failed_on("node-a"));
  CHECK(contains(text, "\ntrain.py FAILED\n"));
  CHECK(contains(text, "\n  time      : 2026-08-01_21:34:11\n"));
  CHECK(contains(text, "\nRoot Cause (first observed failure):\n[0]:\n"));
}

TEST_CASE("failure view: no other ending has one", "[cli]") {
  CHECK(failure_view("x", ended({.kind = verdict::succeeded})) == "");
  CHECK(failure_view("x", ended({.kind = verdict::stopped})) == "");
  CHECK(failure_view("x", ended({.kind = verdict::unmet})) == "");
  CHECK(failure_view("x", ended({.kind = verdict::failed})) == "");
  CHECK(failure_view("x", {.result = {}, .why = {}, .signal = SIGTERM}) == "");
  auto lost = failed_on("node-a");
  lost.why = failure{errc::coordinator_lost, "it went"};
  CHECK(failure_view("x", lost) == "");
}

TEST_CASE("failure view: workers that cannot be killed do not hide the report",
          "[cli]") {
  auto how = failed_on("node-a");
  const auto report = failure_view("x", how);
  how.why = failure{errc::worker_unkillable, "they hang"};
  CHECK(failure_view("x", how) == report);
}

TEST_CASE_METHOD(worker_files,
                 "own error file: it describes the worker's failure", "[cli]") {
  auto how = failed_on("node-a");
  auto& details = how.result->first_failure->details;
  details.error_file
    = write("error.json", R"({"message": {"message": "E: here"}})");
  details.message = "E: told";
  CHECK(after_leaving(*this, how)
        == R"({"message": {"message": "E: here", "errorCode": 7}})");
  // On another host the same path is a different file.
  CHECK(contains(after_leaving(*this, how, "node-b"), "E: told"));
}

TEST_CASE_METHOD(worker_files,
                 "own error file: it describes the launcher's failure",
                 "[cli]") {
  CHECK(contains(
    after_leaving(*this, {.result = {},
                          .why = failure{errc::coordinator_lost, "it went"},
                          .signal = 0}),
    R"({"message": "coordinator_lost: it went", "extraInfo")"));
  CHECK(contains(
    after_leaving(*this, ended({.kind = verdict::unmet, .reason = "1 of 2"})),
    "rendezvous_timed_out: 1 of 2"));
  CHECK(
    contains(after_leaving(*this, {.result = {}, .why = {}, .signal = SIGTERM}),
             "SignalException: got signal 15"));
  CHECK(contains(
    after_leaving(*this, ended({.kind = verdict::stopped, .signal = SIGINT})),
    "SignalException: got signal 2"));
  CHECK(contains(read("own.json"), R"("timestamp": "12")"));
}

TEST_CASE_METHOD(worker_files, "own error file: success leaves none", "[cli]") {
  CHECK(leave_error_file(path("own.json"), ended({.kind = verdict::succeeded}),
                         "node-a", 0));
  CHECK_FALSE(std::filesystem::exists(path("own.json")));
  CHECK(leave_error_file("", failed_on("node-a"), "node-a", 0));
}

TEST_CASE_METHOD(worker_files,
                 "own error file: there is none if no worker has written one",
                 "[cli]") {
  CHECK(leave_error_file(path("own.json"), failed_on("node-a"), "node-a", 0));
  CHECK_FALSE(std::filesystem::exists(path("own.json")));
}

TEST_CASE_METHOD(worker_files,
                 "own error file: a file that cannot be written is reported",
                 "[cli]") {
  auto how = failed_on("node-a");
  how.result->first_failure->details.error_file = path("error.json");
  const auto done = leave_error_file(path("no/own.json"), how, "node-a", 0);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::log_failed);
}

} // namespace actorrun::test::failure_view_test
