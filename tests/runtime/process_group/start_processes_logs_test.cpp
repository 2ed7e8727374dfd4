#include "tests/runtime/process_group/start_processes_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::start_processes_logs_test {

using namespace actorrun::start_processes_test;

namespace {

const auto both = std::string{"echo to out; echo to err >&2"};

/// A layout that chooses where output goes and records its own plan.
struct fixed_layout final : ports::log_layout {
  explicit fixed_layout(core::generation_outputs x) : outputs(std::move(x)) {}

  result<core::generation_outputs>
  prepare(const core::generation_plan& plan) override {
    slot_count = plan.own.slot_count;
    return outputs;
  }

  core::generation_outputs outputs;
  uint32_t slot_count = 0;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "start_processes: each rank's streams go where its "
                 "masks say",
                 "[start_processes]") {
  auto x = shells({both, both, both, both});
  x.logs.redirects
    = {.by_rank
       = {{1, std_streams::out}, {2, std_streams::err}, {3, std_streams::all}}};
  auto out = std::make_unique<captured>(STDOUT_FILENO, here / "out");
  auto err = std::make_unique<captured>(STDERR_FILENO, here / "err");
  const auto result = run(std::move(x));
  const auto console_out = out->text();
  const auto console_err = err->text();
  out.reset();
  err.reset();
  CHECK(result.stdouts.at(0).empty());
  CHECK(result.stderrs.at(0).empty());
  CHECK(content_of(result.stdouts.at(1)) == "to out\n");
  CHECK(result.stderrs.at(1).empty());
  CHECK(result.stdouts.at(2).empty());
  CHECK(content_of(result.stderrs.at(2)) == "to err\n");
  CHECK(content_of(result.stdouts.at(3)) == "to out\n");
  CHECK(content_of(result.stderrs.at(3)) == "to err\n");
  // Ranks 0 and 2, raw; ranks 0 and 1.
  CHECK(console_out == "to out\nto out\n");
  CHECK(console_err == "to err\nto err\n");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: teed output is in the file, and "
                 "with its prefix on the console",
                 "[start_processes]") {
  auto x = shells({both, both, both});
  x.logs.tees.by_rank = {{0, std_streams::err}, {1, std_streams::all}};
  x.log_line_prefixes = {{1, "<one> "}};
  auto out = std::make_unique<captured>(STDOUT_FILENO, here / "out");
  auto err = std::make_unique<captured>(STDERR_FILENO, here / "err");
  auto group = start(std::move(x));
  const auto result = finish(*group);
  group.reset();
  const auto console_out = out->text();
  const auto console_err = err->text();
  out.reset();
  err.reset();
  CHECK(console_out == "<one> to out\n");
  CHECK((console_err == "[tester0]:to err\n<one> to err\n"
         || console_err == "<one> to err\n[tester0]:to err\n"));
  for (uint32_t rank = 0; rank < 3; ++rank) {
    CHECK(content_of(result.stdouts.at(rank)) == "to out\n");
    CHECK(content_of(result.stderrs.at(rank)) == "to err\n");
  }
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a teed line is on the console when "
                 "the end is reported",
                 "[start_processes]") {
  auto x = shells({"i=0; while test $i -lt 1000; do i=$((i+1)); echo line $i; "
                   "done; printf last"});
  x.logs.tees.everywhere = std_streams::all;
  auto out = std::make_unique<captured>(STDOUT_FILENO, here / "out");
  auto group = start(std::move(x));
  finish(*group);
  const auto text = out->text();
  out.reset();
  CHECK(std::ranges::count(text, '\n') == 1001);
  CHECK(text.ends_with("[tester0]:line 1000\n[tester0]:last\n"));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: ranks that are not shown lose only "
                 "the console",
                 "[start_processes]") {
  auto x = shells({both, both});
  x.logs.redirects = {};
  x.logs.tees.by_rank = {{1, std_streams::out}};
  x.logs.shown_ranks = {{0}};
  auto out = std::make_unique<captured>(STDOUT_FILENO, here / "out");
  auto err = std::make_unique<captured>(STDERR_FILENO, here / "err");
  auto group = start(std::move(x));
  const auto result = finish(*group);
  group.reset();
  const auto console_out = out->text();
  const auto console_err = err->text();
  out.reset();
  err.reset();
  CHECK(console_out == "to out\n"); // Rank 0's, raw.
  CHECK(console_err == "to err\n");
  CHECK(content_of(result.stdouts.at(1)) == "to out\n");
}

TEST_CASE_METHOD(fixture, "start_processes: the folder has torchrun's layout",
                 "[start_processes]") {
  auto x = shells({both, both});
  x.envs[0]
    = {{"TORCHELASTIC_RUN_ID", "job"}, {"TORCHELASTIC_RESTART_COUNT", "2"}};
  x.logs.redirects
    = {.by_rank = {{0, std_streams::all}, {1, std_streams::err}}};
  x.logs.tees = {.by_rank = {{1, std_streams::err}}};
  x.logs.stderr_filters = {"to"};
  auto out = std::make_unique<captured>(STDOUT_FILENO, here / "out");
  auto err = std::make_unique<captured>(STDERR_FILENO, here / "err");
  auto group = start(std::move(x));
  const auto result = finish(*group);
  group.reset();
  out.reset();
  err.reset();
  REQUIRE(std::distance(fs::directory_iterator{logs()}, {}) == 1);
  const auto run = fs::directory_iterator {
    logs()
    } -> path();
  const auto name = run.filename().string();
  CHECK(name.starts_with("job_"));
  CHECK(name.size() == std::string{"job_"}.size() + 8);
  CHECK(tree_of(run)
        == strings{"attempt_2/0/stderr.log", "attempt_2/0/stdout.log",
                   "attempt_2/1/stderr.log", "attempt_2/filtered_stderr.log"});
  CHECK(result.stdouts.at(0) == run / "attempt_2/0/stdout.log");
  CHECK(content_of(run / "attempt_2/filtered_stderr.log")
        == "[tester1]:to err\n");
}

TEST_CASE_METHOD(fixture, "start_processes: two groups do not share a folder",
                 "[start_processes]") {
  const auto first = run(shells({both}));
  const auto second = run(shells({both}));
  CHECK(first.stdouts.at(0) != second.stdouts.at(0));
  CHECK(content_of(first.stdouts.at(0)) == "to out\n");
  CHECK(content_of(second.stdouts.at(0)) == "to out\n");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: /dev/null for a folder means no "
                 "files",
                 "[start_processes]") {
  auto x = shells({"echo ${TORCHELASTIC_ERROR_FILE-unset}"});
  x.logs.folder = "/dev/null";
  x.logs.tees.everywhere = std_streams::all;
  auto out = std::make_unique<captured>(STDOUT_FILENO, here / "out");
  const auto result = run(std::move(x));
  const auto text = out->text();
  out.reset();
  CHECK(text == "\n");
  CHECK(result.stdouts.at(0).empty());
  CHECK(result.stderrs.at(0).empty());
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a folder that cannot be made is "
                 "named",
                 "[start_processes]") {
  std::ofstream{here / "file"} << "x";
  auto x = shells({"touch " + here / "started"});
  x.logs.folder = here / "file" + "/logs";
  const auto started = start_processes(std::move(x));
  REQUIRE_FALSE(started);
  CHECK(started.error().code == errc::log_failed);
  CHECK(started.error().text.find(here / "file") != std::string::npos);
  CHECK_FALSE(fs::exists(here / "started"));
}

TEST_CASE_METHOD(fixture, "start_processes: a layout of the caller is used",
                 "[start_processes]") {
  using kind = core::stream_target::kind;
  auto plan = core::generation_outputs{};
  plan.workers.resize(2);
  plan.workers[0].out = {.where = kind::file, .path = here / "first"};
  plan.workers[0].err = {.where = kind::discarded};
  plan.workers[1].out = {.where = kind::file, .path = here / "second"};
  plan.workers[1].error_file = here / "error";
  plan.workers[1].err = {.where = kind::discarded};
  auto x = shells({both, "echo $TORCHELASTIC_ERROR_FILE"});
  const auto layout = std::make_shared<fixed_layout>(plan);
  x.layout = layout;
  SECTION("it is asked once") {
    const auto result = run(std::move(x));
    CHECK(layout->slot_count == 2);
    CHECK(result.stdouts.at(0) == here / "first");
    CHECK(content_of(here / "first") == "to out\n");
    CHECK(content_of(here / "second") == here / "error" + "\n");
    CHECK_FALSE(fs::exists(logs()));
  }
  SECTION("it must plan for all ranks") {
    layout->outputs.workers.resize(1);
    const auto started = start_processes(std::move(x));
    REQUIRE_FALSE(started);
    CHECK(started.error().code == errc::log_failed);
    CHECK(started.error().text
          == "the log layout plans the output of 1 processes, not of 2");
  }
}

} // namespace actorrun::test::start_processes_logs_test
