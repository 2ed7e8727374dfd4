#include "cli/report/ending_view.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::ending_view_test {

using namespace actorrun::cli;

namespace {

using kind = core::outcome::verdict;

core::ending ended(core::outcome how) {
  return {.result = std::move(how), .why = {}};
}

core::ending troubled(errc code, const std::string& text) {
  return {.result = {}, .why = failure{code, text}};
}

core::ending not_started(int error) {
  const auto x = core::worker_failure{.kind = core::failure_kind::not_started,
                                      .code = error};
  return ended({.kind = kind::failed, .first_failure = x, .reason = "no file"});
}

} // namespace

TEST_CASE("ending: each has its word, its code and its sentence", "[cli]") {
  struct row {
    core::ending how;
    std::string verdict;
    int code;
    int signal;
    std::string sentence;
  };
  auto over = ended({.kind = kind::succeeded});
  over.why = failure{errc::job_over, "this node stood by"};
  auto hanging = not_started(EIO);
  hanging.result->first_failure->kind = core::failure_kind::exited;
  auto unkillable = hanging;
  unkillable.why = failure{errc::worker_unkillable, "they hang"};
  auto lost = troubled(errc::coordinator_lost, "it is gone");
  const row rows[] = {
    {ended({.kind = kind::succeeded}), "succeeded", 0, 0, "job succeeded"},
    {ended({.kind = kind::stopped, .signal = SIGINT, .reason = "asked"}),
     "stopped", 130, SIGINT, "job stopped: asked"},
    {ended({.kind = kind::unmet, .reason = "1 of 2"}), "unmet", 3, 0,
     "gave up: 1 of 2"},
    {hanging, "failed", 1, 0,
     "job failed, no restart is left; first failure: no file"},
    {not_started(ENOENT), "failed", 127, 0,
     "job failed, another start cannot help; first failure: no file"},
    {not_started(EACCES), "failed", 126, 0,
     "job failed, another start cannot help; first failure: no file"},
    {not_started(EAGAIN), "failed", 6, 0,
     "job failed, no restart is left; first failure: no file"},
    {unkillable, "failed", 7, 0, "they hang"},
    {over, "stood_by", 8, 0, "this node stood by"},
    {lost, "error", 5, 0, "it is gone"},
    {troubled(errc::bad_argument, "bad\nword"), "error", 2, 0, "bad\\nword"},
    {{.result = {}, .why = {}, .signal = SIGTERM},
     "left",
     143,
     SIGTERM,
     "left the job on signal 15; no worker of this node is left"},
    {{},
     "left",
     0,
     0,
     "left the job, as an operator has asked; no worker of this node is left"},
    {{.result = {}, .why = {}, .notice = ""},
     "left",
     0,
     0,
     "left the job, as its machine is about to go; no worker of this node is"
     " left"},
    {{.result = {}, .why = {}, .notice = "spot"},
     "left",
     0,
     0,
     "left the job, as its machine is about to go: spot; no worker of this node"
     " is left"},
  };
  for (const auto& x : rows) {
    INFO(x.sentence);
    CHECK(verdict_of(x.how) == x.verdict);
    CHECK(exit_code_of(x.how) == x.code);
    CHECK(signal_of(x.how) == x.signal);
    CHECK(sentence_of(x.how) == x.sentence);
  }
}

TEST_CASE("ending: trouble has a remedy, workers that failed have none",
          "[cli]") {
  CHECK(remedy_of(troubled(errc::coordinator_lost, "x"))
        == "look at the node that --rdzv-endpoint names, then start the job"
           " again; with --rdzv-conf=succession=on and three hosts or more, or"
           " with etcd, it outlives that node");
  CHECK(remedy_of(ended({.kind = kind::unmet}))
        == "check the missing nodes; a larger join_timeout in --rdzv-conf waits"
           " longer, a smaller MIN in --nnodes needs fewer");
  CHECK(remedy_of(not_started(ENOENT)) == "");
  CHECK(remedy_of(ended({.kind = kind::succeeded})) == "");
  auto over = ended({.kind = kind::succeeded});
  over.why = failure{errc::job_over, "this node stood by"};
  CHECK(remedy_of(over) == "");
}

TEST_CASE("ending: a rule that ends a job is named", "[cli]") {
  auto how = not_started(ENOENT);
  how.result->given_up = "--on-failure=user:stop";
  CHECK(sentence_of(how)
        == "job failed, and is not restarted: --on-failure=user:stop; first "
           "failure: no file");
  how.result->first_failure.reset();
  CHECK(sentence_of(how)
        == "job failed, and is not restarted: --on-failure=user:stop; it ended "
           "because: no file");
}

TEST_CASE("ending: each class has a code where that is asked", "[cli]") {
  const auto code = [](core::end_class what) {
    auto how = not_started(ENOENT);
    how.result->what = what;
    CHECK(exit_code_of(how, false) == 127);
    return exit_code_of(how, true);
  };
  CHECK(code(core::end_class::program) == 40);
  CHECK(code(core::end_class::user) == 41);
  CHECK(code(core::end_class::node) == 42);
  CHECK(code(core::end_class::network) == 43);
  CHECK(code(core::end_class::preemption) == 44);
  CHECK(code(core::end_class::hang) == 45);
  CHECK(code(core::end_class::unknown) == 46);
  CHECK(code(core::end_class::none) == 46); // Of an older coordinator.
  auto how = not_started(ENOENT);
  how.result->what = core::end_class::program;
  how.result->is_without_progress = true;
  CHECK(exit_code_of(how, true) == 47);
  how.why = failure{errc::worker_unkillable, "they hang"};
  CHECK(exit_code_of(how, true) == 7);
  CHECK(exit_code_of(ended({.kind = kind::stopped, .signal = SIGINT}), true)
        == 130);
  CHECK(exit_code_of(ended({.kind = kind::succeeded}), true) == 0);
}

} // namespace actorrun::test::ending_view_test
