// Tests what the command line says about restarts: which ends stop the job, exclude a
// host, or make the next start wait.
#include "tests/support/rendezvous_fixture.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::rendezvous_rules_test {

namespace {

restart_rules rule(end_class what, end_action action) {
  auto x = restart_rules{};
  x.actions[static_cast<size_t>(what)] = action;
  return x;
}

struct fixture : rendezvous_fixture {
  explicit fixture(const restart_rules& rules, job_settings asked = {2, 3, 9})
    : rendezvous_fixture{asked} {
    replace(asked, rules);
    run();
  }

  using rendezvous_fixture::failed;

  static worker_failed failed(const std::string& agent, uint64_t generation,
                              const worker_failure& x) {
    return {{agent}, {generation}, x};
  }

  void run_again(milliseconds t, uint64_t generation) {
    for (const auto* agent : {"a", "b", "c"})
      at(t, started(agent, generation));
  }

  /// All have stopped; what follows the last of them.
  std::string stop_all(milliseconds t, uint64_t generation,
                       std::optional<uint64_t> step = {}) {
    at(t, stopped("a", generation));
    at(t, stopped("b", generation));
    auto last = stopped("c", generation);
    last.step = step;
    return at(t, last);
  }

  /// `b` fails in this generation, and all stop.
  std::string fail_all(milliseconds t, uint64_t generation,
                       std::optional<uint64_t> step = {}) {
    at(t, failed("b", generation));
    return stop_all(t, generation, step);
  }

  std::string found() const {
    const auto& x = uut.last_end().finding;
    return to_string(x.what) + ": " + x.evidence;
  }
};

} // namespace

// -- classes --------------------------------------------------------------------

TEST_CASE("rules: the class of a failure is known when all have stopped",
          "[core]") {
  auto x = fixture{{}};
  CHECK(x.uut.last_end().generation == generation_id{0});
  x.at(1s, x.failed("b", 1));
  CHECK(x.stop_all(1s, 1) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(x.uut.last_end().generation == generation_id{1});
  CHECK(x.found() == "program: exit code 7");
}

TEST_CASE("rules: trouble of the node's GPUs explains a failure there",
          "[core]") {
  auto x = fixture{{}};
  x.at(1s, gpus_reported{{"b"}, "GPU 1: XID 79"});
  x.at(1s, gpus_reported{{"z"}, "GPU 1: XID 79"});
  x.fail_all(1s, 1);
  CHECK(x.found() == "node: its GPUs: GPU 1: XID 79");
  x.run_again(2s, 2);
  x.at(2s, gpus_reported{{"b"}});
  x.fail_all(2s, 2);
  CHECK(x.found() == "program: exit code 7");
}

namespace {

restart_rules on_gpu_fault(gpu_fault_action x) {
  auto out = restart_rules{};
  out.on_gpu_fault = x;
  return out;
}

} // namespace

TEST_CASE("rules: a node with a GPU fault leaves once another one is here",
          "[core]") {
  auto x = fixture{{}};
  CHECK(x.at(1s, gpus_reported{{"b"}, "GPU 1: XID 79"}).empty());
  CHECK(x.uut.current_phase() == rendezvous_phase::running);
  const auto done = x.at(2s, x.join("d"));
  CHECK(done.find("notify_drain b") != std::string::npos);
  CHECK(done.find("report_rule: --on-gpu-fault: node node-b leaves in 60.0 s")
        != std::string::npos);
  CHECK(x.at(3s, gpus_reported{{"b"}, "GPU 2: XID 79"}).empty());
  x.at(4s, agent_leaving{{"b"}, 0});
  x.stop_all(4s, 1);
  CHECK(x.found() == "node: its GPUs: GPU 2: XID 79");
}

TEST_CASE("rules: a host with a GPU fault is excluded, once enough are here",
          "[core]") {
  auto x = fixture{on_gpu_fault(gpu_fault_action::exclude)};
  const auto done = x.at(1s, gpus_reported{{"b"}, "GPU 1: XID 79"});
  CHECK(done.starts_with("report_exclusion node-b"));
  CHECK(done.find("revoke_generation 1") != std::string::npos);
  CHECK(x.uut.excluded_hosts().at(0).reason == "--on-gpu-fault: GPU 1: XID 79");
  x.stop_all(1s, 1);
  CHECK(x.found() == "node: its GPUs: GPU 1: XID 79");
  CHECK(x.uut.budget().restart_count() == 0);
  CHECK(x.at(2s, gpus_reported{{"c"}, "GPU 0: XID 79"}).empty());
  CHECK(x.at(3s, x.join("d")).find("report_exclusion node-c")
        != std::string::npos);
}

TEST_CASE("rules: a GPU fault may be told and no more, and once it is over "
          "nothing follows",
          "[core]") {
  auto told = fixture{on_gpu_fault(gpu_fault_action::report)};
  CHECK(told.at(1s, gpus_reported{{"b"}, "GPU 1: XID 79"}).empty());
  CHECK(told.at(1s, told.join("d")).find("notify_drain") == std::string::npos);
  auto x = fixture{{}};
  CHECK(x.at(1s, gpus_reported{{"b"}, ""}).empty());
  CHECK(x.at(1s, gpus_reported{{"z"}, "GPU 1: XID 79"}).empty());
}

TEST_CASE(
  "rules: a GPU fault that is told while a coordinator listens is acted "
  "on later",
  "[core]") {
  auto x = fixture{{}};
  auto next = rendezvous_fixture{};
  next.at(0s, coordinator_started{.successor = true});
  next.at(0s, next.rejoin("a", x.plan_of("a"), share_state::running));
  next.at(0s, gpus_reported{{"a"}, "GPU 1: XID 79"});
  CHECK(next.at(0s, next.join("d")).find("notify_drain") == std::string::npos);
  next.at(0s, next.rejoin("b", x.plan_of("b"), share_state::running));
  CHECK(next.at(0s, next.rejoin("c", x.plan_of("c"), share_state::running))
          .find("notify_drain a")
        != std::string::npos);
}

TEST_CASE(
  "rules: a node with a GPU fault that hosts the coordinator stays, and "
  "it is said why",
  "[core]") {
  auto x = fixture{{}};
  x.replace({2, 3, 9}, {});
  for (const auto& joiner : {x.join_here("a"), x.join("b"), x.join("c")})
    x.at(0s, joiner);
  x.run_again(0s, 1);
  CHECK(x.at(1s, gpus_reported{{"a"}, "GPU 1: XID 79"}).empty());
  CHECK(x.at(2s, x.join("d"))
          .find("report_rule: --on-gpu-fault: node node-a hosts the"
                " coordinator, and the job would end with it")
        != std::string::npos);
  CHECK(x.uut.current_phase() == rendezvous_phase::running);
}

TEST_CASE("rules: a check that has failed explains a failure there, one that "
          "runs does not",
          "[core]") {
  auto x = fixture{{}};
  x.at(1s, x.failed("b", 1));
  x.at(1s, fitness_reported{{"b"}, "its check has failed"});
  x.stop_all(1s, 1);
  CHECK(x.found() == "node: its check has failed");
  auto y = fixture{{}};
  y.at(1s, y.failed("b", 1));
  y.at(1s, fitness_reported{{"b"}, std::string{being_checked}});
  y.stop_all(1s, 1);
  CHECK(y.found() == "program: exit code 7");
}

TEST_CASE("rules: the loss of a node explains failures elsewhere", "[core]") {
  auto x = fixture{{}};
  x.at(1s, x.failed("b", 1));
  x.at(1s, x.disconnect("c"));
  x.at(1s, x.lose("c"));
  x.at(1s, x.stopped("a", 1));
  x.at(1s, x.stopped("b", 1));
  CHECK(x.found() == "node: connection refused");
  CHECK(x.uut.last_end().alike_count == 0);
}

TEST_CASE("rules: a notice is a preemption, an operator's drain no trouble",
          "[core]") {
  auto x = fixture{{}};
  x.at(1s, node_noticed{{"c"}, "spot: terminate", 30s});
  x.at(1s, x.leaving("c"));
  x.at(1s, x.stopped("a", 1));
  x.at(1s, x.stopped("b", 1));
  x.at(1s, x.left("c"));
  CHECK(x.found() == "preemption: the notice on node-c (\"spot: terminate\")");
  auto y = fixture{{}};
  y.at(1s, drain_requested{"c", 30s, false, "alice"});
  y.at(1s, y.leaving("c"));
  y.at(1s, y.stopped("a", 1));
  y.at(1s, y.stopped("b", 1));
  y.at(1s, y.left("c"));
  CHECK(y.found() == "none: ");
}

// -- on-failure -----------------------------------------------------------------

TEST_CASE("rules: a class can end the job, whatever restarts are left",
          "[core]") {
  auto x = fixture{rule(end_class::program, end_action::stop)};
  CHECK(x.fail_all(1s, 1).starts_with("end_job failed: a b c"));
  const auto& how = x.uut.result().value();
  CHECK(how.what == end_class::program);
  CHECK(how.given_up == "--on-failure=program:stop");
  CHECK(how.first_failure->agent == agent_id{"b"});
  CHECK_FALSE(how.is_without_progress);
  CHECK(x.uut.budget().restart_count() == 0);
}

TEST_CASE("rules: a rule of another class changes nothing", "[core]") {
  auto x = fixture{rule(end_class::hang, end_action::stop)};
  CHECK(x.fail_all(1s, 1) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(x.uut.budget().restart_count() == 1);
}

TEST_CASE("rules: the loss of a node can end the job, too", "[core]") {
  auto x = fixture{rule(end_class::node, end_action::stop)};
  x.at(1s, x.disconnect("c"));
  x.at(1s, x.lose("c"));
  x.at(1s, x.stopped("a", 1));
  CHECK(x.at(1s, x.stopped("b", 1)).starts_with("end_job failed: a b"));
  const auto& how = x.uut.result().value();
  CHECK(how.reason == "agent c lost: connection refused");
  CHECK(how.given_up == "--on-failure=node:stop");
  CHECK(how.what == end_class::node);
  CHECK_FALSE(how.first_failure);
}

TEST_CASE("rules: a host can be excluded for one failure", "[core]") {
  auto x = fixture{rule(end_class::program, end_action::exclude)};
  CHECK(x.fail_all(1s, 1)
        == "report_exclusion node-b; announce_generation 2: a=0+1 c=1+1;"
           " tell_charter: a b c");
  CHECK(x.last<report_exclusion>().reason.starts_with(
    "--on-failure=program:exclude: rank 1"));
  CHECK(x.uut.budget().restart_count() == 1);
}

TEST_CASE("rules: a host that is needed is not excluded, and it is said",
          "[core]") {
  auto x = fixture{rule(end_class::program, end_action::exclude), {3, 3, 9}};
  CHECK(x.fail_all(1s, 1).starts_with(
    "report_rule: host node-b is not excluded: too few nodes would be left; "
    "--on-failure=program:exclude: rank 1"));
  CHECK(x.uut.excluded_hosts().empty());
  CHECK(x.uut.generation() == generation_id{2});
}

TEST_CASE("rules: the host of a lost node can be excluded", "[core]") {
  auto x = fixture{rule(end_class::node, end_action::exclude)};
  x.at(1s, x.disconnect("c"));
  x.at(1s, x.lose("c"));
  x.at(1s, x.stopped("a", 1));
  CHECK(x.at(1s, x.stopped("b", 1)).starts_with("report_exclusion node-c"));
  CHECK(x.uut.excluded_hosts().size() == 1);
  CHECK(x.uut.budget().restart_count() == 0);
}

TEST_CASE("rules: the host of a node that was cut off can be excluded, too",
          "[core]") {
  auto x = fixture{rule(end_class::network, end_action::exclude)};
  x.at(1s, x.disconnect("c"));
  x.at(1s, x.rejoin("c", x.plan_of("c"), share_state::idle));
  x.at(1s, x.stopped("a", 1));
  CHECK(x.at(1s, x.stopped("b", 1)).starts_with("report_exclusion node-c"));
  CHECK(x.uut.agents().contains({"c"}));
}

TEST_CASE("rules: a host that is excluded already is not excluded again",
          "[core]") {
  auto rules = rule(end_class::node, end_action::exclude);
  rules.on_gpu_fault = gpu_fault_action::exclude;
  auto x = fixture{rules};
  CHECK(x.at(1s, gpus_reported{{"b"}, "GPU 1: XID 79"})
          .starts_with("report_exclusion node-b"));
  x.at(1s, x.disconnect("b"));
  x.at(1s, x.lose("b"));
  x.at(1s, x.stopped("a", 1));
  CHECK(x.at(1s, x.stopped("c", 1)).find("exclu") == std::string::npos);
  CHECK(x.uut.excluded_hosts().size() == 1);
}

TEST_CASE("rules: what an operator asks for follows no rule", "[core]") {
  auto x = fixture{rule(end_class::unknown, end_action::stop)};
  x.at(1s, restart_requested{"alice", ""});
  CHECK(x.stop_all(1s, 1).starts_with("announce_generation 2"));
}

TEST_CASE("rules: a start that cannot help is repeated where that is asked",
          "[core]") {
  auto missing = rendezvous_fixture::failure_of("b");
  missing.kind = failure_kind::not_started;
  missing.code = ENOENT;
  auto x = fixture{rule(end_class::user, end_action::restart)};
  x.at(1s, x.failed("b", 1, missing));
  CHECK(x.stop_all(1s, 1) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  auto y = fixture{{}};
  y.at(1s, y.failed("b", 1, missing));
  CHECK(y.stop_all(1s, 1).starts_with("end_job failed: a b c"));
  CHECK(y.uut.result()->given_up.empty());
  CHECK(y.uut.result()->what == end_class::user);
}

// -- progress -------------------------------------------------------------------

TEST_CASE("rules: restarts that bring no new step end the job", "[core]") {
  auto x = fixture{{.idle_restarts_max = 2}};
  CHECK(x.fail_all(1s, 1, 10).starts_with("announce_generation 2"));
  x.run_again(2s, 2);
  CHECK(x.fail_all(2s, 2, 10).starts_with("announce_generation 3"));
  x.run_again(3s, 3);
  CHECK(x.fail_all(3s, 3).starts_with("end_job failed: a b c"));
  const auto& how = x.uut.result().value();
  CHECK(how.is_without_progress);
  CHECK(how.given_up
        == "2 restarts in a row got not past step 10"
           " (--restarts-without-progress=2)");
  CHECK(x.uut.budget().restart_count() == 2);
}

TEST_CASE("rules: a new step begins the count anew", "[core]") {
  auto x = fixture{{.idle_restarts_max = 2}};
  for (const auto step : {10, 10, 11, 11, 12}) {
    const auto generation = x.uut.generation().value;
    CHECK(x.fail_all(1s, generation, step).starts_with("announce_generation"));
    x.run_again(1s, generation + 1);
  }
}

TEST_CASE(
  "rules: where no worker says its step it is said that nothing follows",
  "[core]") {
  auto x = fixture{{.idle_restarts_max = 1}};
  CHECK(x.fail_all(1s, 1)
        == "report_rule: --restarts-without-progress has had no effect so"
           " far: no worker has said at which step it is (by safe points);"
           " announce_generation 2: a=0+1 b=1+1 c=2+1");
  for (const auto generation : {2, 3}) {
    x.run_again(2s, generation);
    CHECK(x.fail_all(2s, generation).starts_with("announce_generation"));
  }
}

// -- backoff --------------------------------------------------------------------

TEST_CASE("rules: the second end alike waits before the next start", "[core]") {
  auto x = fixture{{.backoff_min = 10s, .backoff_max = 15s}};
  CHECK(x.fail_all(1s, 1) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  x.run_again(2s, 2);
  const auto alike = "2 ends alike: rank 1 on node-b exited with code 7 after"
                     " 2.0 s";
  CHECK(x.fail_all(3s, 2)
        == "report_rule: " + std::string{alike}
             + "; next start in 10.0 s; arm_timer 5");
  CHECK(x.uut.current_phase() == rendezvous::phase::gathering);
  CHECK(x.uut.waiting_for() == "the next start waits: " + std::string{alike});
  CHECK(x.uut.waits_until() == time_point{13s});
  CHECK_FALSE(x.uut.gives_up_then());
  CHECK(x.uut.last_end().alike_count == 2);
  CHECK(x.uut.waiting_for({"a"}).ends_with("(10.0 s at most)"));
  CHECK(x.at(13s, x.fire(5)).starts_with("announce_generation 3"));
}

TEST_CASE("rules: an operator starts at once what waits", "[core]") {
  auto x = fixture{{.backoff_min = 10s, .backoff_max = 15s}};
  x.fail_all(1s, 1);
  x.run_again(2s, 2);
  x.fail_all(3s, 2);
  CHECK(x.at(4s, restart_requested{"alice", "fixed"})
        == "answer_operator done: the next generation starts now;"
           " announce_generation 3: a=0+1 b=1+1 c=2+1");
  CHECK(x.at(13s, x.fire(5)) == "");
}

TEST_CASE("rules: who waits for the next start misses no node", "[core]") {
  auto x = fixture{{.backoff_min = 10s, .backoff_max = 15s}};
  x.fail_all(1s, 1);
  x.run_again(2s, 2);
  x.fail_all(3s, 2);
  for (const auto* agent : {"b", "c"}) {
    x.at(4s, x.disconnect(agent));
    x.at(4s, x.lose(agent));
  }
  CHECK(x.uut.waiting_for().starts_with("waiting for 1 more node"));
  CHECK(x.uut.gives_up_then());
  CHECK(x.at(13s, x.fire(5)) == "");
  CHECK(x.uut.current_phase() == rendezvous::phase::gathering);
  x.at(14s, x.join("d"));
  CHECK(x.uut.current_phase() == rendezvous::phase::last_call);
}

TEST_CASE("rules: an end that the loss of a node explains is not in the row",
          "[core]") {
  auto x = fixture{{.backoff_min = 10s, .backoff_max = 15s}};
  x.fail_all(1s, 1);
  x.run_again(2s, 2);
  x.at(3s, x.failed("b", 2));
  x.at(3s, x.disconnect("c"));
  x.at(3s, x.lose("c"));
  x.at(3s, x.stopped("a", 2));
  CHECK(x.at(3s, x.stopped("b", 2)).find("announce_generation 3")
        != std::string::npos);
  for (const auto* agent : {"a", "b"})
    x.at(4s, x.started(agent, 3));
  x.at(4s, x.failed("b", 3));
  x.at(4s, x.stopped("a", 3));
  x.at(4s, x.stopped("b", 3));
  CHECK(x.uut.last_end().alike_count == 2);
  CHECK(x.uut.waiting_for().starts_with("the next start waits"));
}

} // namespace actorrun::test::rendezvous_rules_test
