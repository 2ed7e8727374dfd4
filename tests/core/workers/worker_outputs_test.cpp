#include "actors/core/workers/worker_outputs.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::worker_outputs_test {

using namespace actorrun::core;

namespace {

std::string to_text(const stream_target& x) {
  switch (x.where) {
    case stream_target::kind::inherited:
      return "console";
    case stream_target::kind::discarded:
      return "nowhere";
    case stream_target::kind::file:
      return x.path + (x.shown ? " and shown" : "");
  }
  return "?";
}

std::string to_text(const worker_outputs& x) {
  return to_text(x.out) + ", " + to_text(x.err);
}

} // namespace

TEST_CASE("outputs: by default all output goes to the console", "[core]") {
  const auto plan = plan_outputs({}, "a", 2);
  REQUIRE(plan.workers.size() == 2);
  for (const auto& x : plan.workers)
    CHECK(to_text(x) == "console, console");
  CHECK(plan.filtered_out.empty());
  CHECK(plan.filtered_err.empty());
}

TEST_CASE("outputs: every worker has an error file of its own", "[core]") {
  const auto plan = plan_outputs({}, "a", 2);
  CHECK(plan.workers[0].error_file == "a/0/error.json");
  CHECK(plan.workers[1].error_file == "a/1/error.json");
}

TEST_CASE("outputs: a redirected stream leaves the console", "[core]") {
  auto options = log_options{};
  options.redirects.everywhere = std_streams::out;
  CHECK(to_text(plan_outputs(options, "a", 1).workers[0])
        == "a/0/stdout.log, console");
  options.redirects.everywhere = std_streams::err;
  CHECK(to_text(plan_outputs(options, "a", 1).workers[0])
        == "console, a/0/stderr.log");
}

TEST_CASE("outputs: a teed stream is in its file and shown", "[core]") {
  auto options = log_options{};
  options.tees.everywhere = std_streams::err;
  options.redirects.everywhere = std_streams::out;
  CHECK(to_text(plan_outputs(options, "a", 1).workers[0])
        == "a/0/stdout.log, a/0/stderr.log and shown");
}

TEST_CASE("outputs: ranks may have choices of their own", "[core]") {
  auto options = log_options{};
  options.redirects.by_rank = {{0, std_streams::all}, {12, std_streams::err}};
  const auto plan = plan_outputs(options, "a", 13);
  CHECK(to_text(plan.workers[0]) == "a/0/stdout.log, a/0/stderr.log");
  CHECK(to_text(plan.workers[1]) == "console, console");
  CHECK(to_text(plan.workers[12]) == "console, a/12/stderr.log");
}

TEST_CASE("outputs: a rank that is not shown keeps its files", "[core]") {
  auto options = log_options{};
  options.tees.everywhere = std_streams::out;
  options.shown_ranks = std::set<uint32_t>{1};
  const auto plan = plan_outputs(options, "a", 2);
  CHECK(to_text(plan.workers[0]) == "a/0/stdout.log, nowhere");
  CHECK(to_text(plan.workers[1]) == "a/1/stdout.log and shown, console");
}

TEST_CASE("outputs: without a folder there are no files", "[core]") {
  auto options = log_options{};
  options.tees.everywhere = std_streams::all;
  options.stdout_filters = {"x"};
  options.shown_ranks = std::set<uint32_t>{0};
  const auto plan = plan_outputs(options, "", 2);
  CHECK(to_text(plan.workers[0]) == "console, console");
  CHECK(to_text(plan.workers[1]) == "nowhere, nowhere");
  CHECK(plan.workers[0].error_file.empty());
  CHECK(plan.filtered_out.empty());
}

TEST_CASE("outputs: lines that match a filter have a file per node", "[core]") {
  auto options = log_options{};
  options.stdout_filters = {"x"};
  CHECK(plan_outputs(options, "a", 1).filtered_out == "a/filtered_stdout.log");
  CHECK(plan_outputs(options, "a", 1).filtered_err.empty());
  options.stderr_filters = {"y"};
  CHECK(plan_outputs(options, "a", 1).filtered_err == "a/filtered_stderr.log");
}

TEST_CASE("outputs: sets of streams have torchrun's numbers", "[core]") {
  CHECK(contains(std_streams(1), output_stream::out));
  CHECK_FALSE(contains(std_streams(1), output_stream::err));
  CHECK(contains(std_streams(2), output_stream::err));
  CHECK(contains(std_streams(3), output_stream::out));
  CHECK_FALSE(contains(std_streams(0), output_stream::out));
}

} // namespace actorrun::test::worker_outputs_test
