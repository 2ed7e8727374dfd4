// Asks and steers a job as host programs do, through the real socket; what the job
// answers is up to the test.

#include "runtime/jobs.hpp"
#include "runtime/network/operator_socket.hpp"
#include "tests/runtime/run_dir.hpp"
#include "tests/support/catch.hpp"

#include <mutex>
#include <string>

namespace actorrun::test::jobs_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;

namespace {

constexpr auto timeout = 5s;

/// The coordinator of job `train` on this host.
struct fixture : detail::test::run_dir {
  fixture() {
    auto opened = operator_socket::open(
      loop, {"train"}, [this](const operator_question& x) { answer(x); },
      socket_role::coordinator);
    REQUIRE(opened);
    socket = std::move(*opened);
    reply.mutable_status()->set_job_id("train");
    const auto found = find_local_job("train", timeout);
    REQUIRE(found);
    job = *found;
  }

  void answer(const operator_question& x) {
    const auto lock = std::lock_guard{mutex};
    asked = x.what;
    asked.clear_number();
    if (!is_silent)
      x.reply(reply);
  }

  void set(const v1::OperatorReply& x) {
    const auto lock = std::lock_guard{mutex};
    reply = x;
  }

  void will_do(const std::string& text) {
    auto x = v1::OperatorReply{};
    x.mutable_done()->set_text(text);
    set(x);
  }

  void will_refuse(errc code, const std::string& text) {
    auto x = v1::OperatorReply{};
    x.mutable_refusal()->set_code(static_cast<uint32_t>(code));
    x.mutable_refusal()->set_text(text);
    set(x);
  }

  /// What the job was asked, on one line.
  std::string heard() {
    const auto lock = std::lock_guard{mutex};
    const auto& x = asked;
    const auto number = [](auto y) { return " " + std::to_string(y); };
    if (x.has_drain())
      return "drain " + x.drain().node() + number(x.drain().deadline_ms())
             + (x.drain().wait_for_replacement() ? " when replaced" : "");
    if (x.has_cancel_drain())
      return "cancel " + x.cancel_drain().node();
    if (x.has_resize())
      return "resize" + number(x.resize().agent_count_min())
             + number(x.resize().agent_count_max());
    if (x.has_restart())
      return "restart " + x.restart().reason();
    if (x.has_stop())
      return "stop " + x.stop().reason();
    if (x.has_exclude())
      return "exclude " + x.exclude().host() + " " + x.exclude().reason();
    if (x.has_include())
      return "include " + x.include().host();
    if (x.has_log_level())
      return "level " + x.log_level().level() + " " + x.log_level().node();
    return "something else";
  }

  std::mutex mutex;
  v1::OperatorReply reply;
  v1::OperatorRequest asked;
  bool is_silent = false;
  reactor loop;
  std::optional<operator_socket> socket;
  local_job job;
};

} // namespace

TEST_CASE_METHOD(fixture, "jobs: each order is one call", "[runtime]") {
  will_do("it is\x1b[31m done");
  const auto done = drain(job, "b", 60s);
  REQUIRE(done);
  CHECK(done->starts_with("it is"));
  CHECK(done->find('\x1b') == std::string::npos);
  CHECK(heard() == "drain b 60000");
  CHECK(drain(job, "b", 0s)); // 0 would be the default.
  CHECK(heard() == "drain b 1");
  CHECK(drain_when_replaced(job, "b", 2s));
  CHECK(heard() == "drain b 2000 when replaced");
  CHECK(cancel_drain(job, "b"));
  CHECK(heard() == "cancel b");
  CHECK(resize(job, 2, 5));
  CHECK(heard() == "resize 2 5");
  CHECK(restart(job, "new data"));
  CHECK(heard() == "restart new data");
  CHECK(stop(job, "enough"));
  CHECK(heard() == "stop enough");
  CHECK(exclude(job, "b", "its disk"));
  CHECK(heard() == "exclude b its disk");
  CHECK(include(job, "b"));
  CHECK(heard() == "include b");
  CHECK(set_log_level(job, "DEBUG", "b"));
  CHECK(heard() == "level DEBUG b");
}

TEST_CASE_METHOD(fixture, "jobs: errc::bad_argument when the job refuses",
                 "[runtime]") {
  will_refuse(errc::bad_argument, "there is no node b");
  const auto got = drain(job, "b", 60s);
  REQUIRE_FALSE(got);
  CHECK(got.error() == failure{errc::bad_argument, "there is no node b"});
}

TEST_CASE_METHOD(fixture,
                 "jobs: errc::connection_timed_out, connection_refused",
                 "[runtime]") {
  is_silent = true;
  CHECK(stop(job, "", 100ms).error().code == errc::connection_timed_out);
  CHECK(status_of(job, 100ms).error().code == errc::connection_timed_out);
  CHECK(explain(job, 100ms).error().code == errc::connection_timed_out);
  socket.reset();
  CHECK(stop(job, "").error().code == errc::connection_refused);
  CHECK(status_of(job).error().code == errc::connection_refused);
  CHECK(find_local_job("train", 1s).error().code == errc::connection_refused);
}

TEST_CASE_METHOD(fixture, "jobs: the status has what people see", "[runtime]") {
  auto x = v1::OperatorReply{};
  auto& status = *x.mutable_status();
  status.set_job_id("train");
  status.set_phase("running");
  status.set_is_healthy(true);
  const auto token = generation_of(1'700'000'000'000, 3).value;
  status.set_generation(token);
  status.set_world_size(6);
  status.set_restart_count(1);
  status.set_waiting_for("");
  status.mutable_settings()->set_agent_count_min(1);
  status.mutable_settings()->set_agent_count_max(4);
  status.mutable_settings()->set_restart_count_max(2);
  auto& member = *status.add_agents();
  member.set_agent_id("a-1-0");
  member.set_host("a");
  member.set_slot_count(2);
  member.set_generation(token);
  member.set_share(v1::SHARE_RUNNING);
  member.set_node_rank(1);
  member.set_state("running");
  member.add_pids(71);
  member.add_pids(72);
  auto& other = *status.add_agents();
  other.set_agent_id("b-2-0");
  other.set_state("standby");
  other.set_reason("one too many");
  status.mutable_last_failure()->set_host("b");
  status.mutable_last_failure()->set_code(7);
  set(x);

  const auto got = status_of(job);
  REQUIRE(got);
  CHECK(got->job == "train");
  CHECK(got->phase == "running");
  CHECK(got->is_healthy);
  CHECK(got->generation == 3);
  CHECK(got->world_size == 6);
  CHECK(got->node_count_min == 1);
  CHECK(got->node_count_max == 4);
  CHECK(got->restart_count == 1);
  CHECK(got->restart_count_max == 2);
  REQUIRE(got->nodes.size() == 2);
  CHECK(got->nodes[0].agent == "a-1-0");
  CHECK(got->nodes[0].host == "a");
  CHECK(got->nodes[0].slot_count == 2);
  CHECK(got->nodes[0].node_rank == 1U);
  CHECK(got->nodes[0].state == "running");
  CHECK(got->nodes[0].pids == std::vector<int64_t>{71, 72});
  CHECK_FALSE(got->nodes[1].node_rank);
  CHECK(got->nodes[1].state == "standby");
  CHECK(got->nodes[1].reason == "one too many");
  REQUIRE(got->last_failure);
  CHECK(got->last_failure->code == 7);
  CHECK_FALSE(got->outcome);

  status.mutable_outcome()->set_reason("all workers have ended");
  set(x);
  const auto over = status_of(job);
  REQUIRE(over);
  REQUIRE(over->outcome);
  CHECK(over->outcome->kind == core::outcome::verdict::succeeded);
  CHECK(over->outcome->reason == "all workers have ended");
}

TEST_CASE_METHOD(fixture, "jobs: a job explains itself in sentences",
                 "[runtime]") {
  auto x = v1::OperatorReply{};
  auto& part = *x.mutable_explanations()->add_parts();
  part.set_sentence("rank 3 ran out of memory\x1b[2J");
  part.add_evidence("exit code 137");
  set(x);
  const auto got = explain(job);
  REQUIRE(got);
  REQUIRE(got->size() == 1);
  CHECK(got->front().sentence.starts_with("rank 3 ran out of memory"));
  CHECK(got->front().sentence.find('\x1b') == std::string::npos);
  CHECK(got->front().evidence == std::vector<std::string>{"exit code 137"});
}

} // namespace actorrun::test::jobs_test
