#include "actors/core/timers/table.hpp"
#include "actors/translate.hpp"
#include "messages/type_ids.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

namespace actorrun::test::translate_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

// Every value differs from its default and from all others, so that a field
// that is left out or mixed up shows.

offer an_offer() {
  return {.agent = {"a"},
          .host = "node-a",
          .address = "10.0.0.1",
          .role = "trainer",
          .slot_count = 8,
          .master_port = 65'535,
          .leased = true};
}

generation_plan a_plan() {
  return {.generation = {UINT64_MAX},
          .own = {.agent = {"a"},
                  .node_rank = 1,
                  .slot_count = 2,
                  .first_global_rank = 3,
                  .first_role_rank = 4,
                  .role_world_size = 5,
                  .lead_slot = 1},
          .node_count = 6,
          .world_size = 7,
          .master_address = "10.0.0.2",
          .master_port = 29'500,
          .restart_count = 8,
          .survivors = {{0, 1}, {4, 6}}};
}

worker_failure a_failure() {
  return {.agent = {"a"},
          .host = "node-a",
          .global_rank = 9,
          .local_rank = 10,
          .pid = 4'194'304,
          .kind = failure_kind::signalled,
          .code = SIGSEGV,
          .dumped = true,
          .age = 12ms,
          .details = {.wall_ms = 1'700'000'000'000,
                      .out_of_memory = true,
                      .subject = "/bin/none",
                      .error_file = "/logs/error.json",
                      .message = "RuntimeError: \xff",
                      .traceback = "line 1\nline 2\n",
                      .is_from_stderr = true,
                      .scope = "step \xff",
                      .lateness = 1200ms,
                      .limit = 500ms,
                      .where = "rank 9 waits in futex\n"}};
}

/// As long as a text may be, or longer.
std::string of_size(size_t size) {
  return std::string(size, 'x');
}

/// Every text and list at its maximum.
worker_failure a_huge_failure() {
  auto x = a_failure();
  constexpr auto much = size_t{100'000};
  x.agent = {of_size(much)};
  x.host = of_size(much);
  x.pid = INT64_MIN;
  x.code = INT32_MIN;
  x.global_rank = x.local_rank = UINT32_MAX;
  x.age = duration::max();
  x.details = {.wall_ms = INT64_MIN,
               .out_of_memory = true,
               .subject = of_size(much),
               .error_file = of_size(much),
               .message = of_size(much),
               .traceback = of_size(much),
               .is_from_stderr = true,
               .scope = of_size(much),
               .lateness = duration::max(),
               .limit = duration::max(),
               .where = of_size(much)};
  return x;
}

template <class T>
T through_the_wire(const T& x) {
  return from_wire(to_wire(x));
}

} // namespace

TEST_CASE("translate: an offer arrives as it was sent", "[actors]") {
  CHECK(through_the_wire(an_offer()) == an_offer());
  CHECK(through_the_wire(offer{}) == offer{});
  auto ranked = an_offer();
  ranked.node_rank = 0;
  CHECK(through_the_wire(ranked) == ranked);
}

TEST_CASE("translate: texts of a peer are one printable line each",
          "[actors]") {
  auto x = to_wire(an_offer());
  x.set_host("node\n\x1b[31mERROR: all is lost");
  x.set_role("r\r\n");
  CHECK(from_wire(x).host == "node ERROR: all is lost");
  CHECK(from_wire(x).role == "r");
  x.set_host(std::string(1'000, 'h'));
  CHECK(from_wire(x).host.size() <= 255);
  auto lost = v1::WorkerFailure{};
  lost.set_host("a\nb");
  lost.set_agent_id("c\x1b[2Jd");
  CHECK(from_wire(lost).host == "a b");
  CHECK(from_wire(lost).agent.value == "cd");
  CHECK(reason_line("one\ntwo\x1b]0;title\x07") == "one two");
}

TEST_CASE("translate: a port that is none is 0", "[actors]") {
  auto x = to_wire(an_offer());
  x.set_master_port(65'536 + 80);
  CHECK(from_wire(x).master_port == 0);
  auto plan = v1::GenerationPlan{};
  plan.set_master_port(65'536 + 80);
  CHECK(from_wire(plan).master_port == 0);
}

TEST_CASE("translate: whether an agent has a lease is not on the wire",
          "[actors]") {
  auto x = an_offer();
  x.leased = false;
  CHECK(through_the_wire(x).leased);
}

TEST_CASE("translate: settings arrive as they were sent", "[actors]") {
  const auto x = job_settings{2, 8, 3};
  CHECK(through_the_wire(x) == x);
  CHECK(through_the_wire(job_settings{}) == job_settings{});
  CHECK(through_the_wire(job_settings{2, 2, 0, true})
        == job_settings{2, 2, 0, true});
  const auto led = job_settings{.lease = std::chrono::milliseconds{1'200}};
  CHECK(through_the_wire(led) == led);
}

TEST_CASE("translate: a plan arrives as it was sent", "[actors]") {
  CHECK(through_the_wire(a_plan()) == a_plan());
  CHECK(through_the_wire(generation_plan{}) == generation_plan{});
}

TEST_CASE("translate: every kind of failure arrives as it was sent",
          "[actors]") {
  for (auto kind : {failure_kind::exited, failure_kind::signalled,
                    failure_kind::not_started, failure_kind::timer_expired,
                    failure_kind::unkillable}) {
    auto x = a_failure();
    x.kind = kind;
    CHECK(through_the_wire(x) == x);
  }
}

TEST_CASE("translate: what a peer calls the limit of a timer is bounded (P9)",
          "[actors]") {
  auto x = to_wire(a_failure());
  const auto limit = [&](int64_t count) {
    x.mutable_details()->set_limit_ns(count);
    return from_wire(x).details.limit;
  };
  CHECK(limit(0) == std::nullopt);
  CHECK(limit(-1) == std::nullopt);
  CHECK(limit(INT64_MIN) == std::nullopt);
  CHECK(limit(1) == 1ns);
  CHECK(limit(INT64_MAX) == 24h * 365);
  x.mutable_details()->clear_limit_ns();
  CHECK(from_wire(x).details.limit == std::nullopt);
}

TEST_CASE("translate: every share state arrives as it was sent", "[actors]") {
  for (auto state :
       {share_state::idle, share_state::starting, share_state::running,
        share_state::succeeded, share_state::failed, share_state::stopping})
    CHECK(through_the_wire(state) == state);
}

TEST_CASE("translate: a claim arrives as it was sent", "[actors]") {
  const auto failed = claim{a_plan(), share_state::failed, a_failure()};
  CHECK(through_the_wire(failed) == failed);
  const auto running = claim{a_plan(), share_state::running, {}};
  CHECK(through_the_wire(running) == running);
  auto draining = running;
  draining.drain_left = 59s;
  CHECK(from_wire(to_wire(draining)) == draining);
  draining.notice = "spot";
  CHECK(through_the_wire(draining) == draining);
  auto long_words = to_wire(draining);
  long_words.set_notice(std::string(500, 'x'));
  CHECK(from_wire(long_words).notice->size() <= notice_words_max);
  auto parked = claim{a_plan(), share_state::idle, {}};
  parked.parked = {{7}, {0, 1}};
  CHECK(through_the_wire(parked) == parked);
}

TEST_CASE("translate: every outcome arrives as it was sent", "[actors]") {
  using verdict = outcome::verdict;
  for (auto kind : {verdict::succeeded, verdict::failed, verdict::stopped,
                    verdict::unmet}) {
    auto x = outcome{
      .kind = kind, .first_failure = {}, .signal = SIGTERM, .reason = "why"};
    CHECK(through_the_wire(x) == x);
    x.first_failure = a_failure();
    CHECK(through_the_wire(x) == x);
    x.other_failures = {a_failure(), a_failure()};
    x.unlisted_failure_count = UINT32_MAX;
    CHECK(through_the_wire(x) == x);
  }
}

TEST_CASE("translate: what failed after the first arrives as it was sent",
          "[actors]") {
  auto x = collateral{{a_failure(), a_failure()}, 3};
  x.listed[1].local_rank = 11;
  CHECK(through_the_wire(x) == x);
  CHECK(through_the_wire(collateral{}) == collateral{});
}

// -- bounds -------------------------------------------------------------------

TEST_CASE("translate: a failure's texts are cut on both sides of the wire",
          "[actors]") {
  const auto huge = a_huge_failure();
  const auto sent = to_wire(huge);
  CHECK(sent.details().message() == of_size(failure_message_max));
  CHECK(sent.details().traceback() == of_size(failure_traceback_max));
  CHECK(sent.details().subject().size() == failure_path_max);
  CHECK(sent.details().error_file().size() == failure_path_max);
  CHECK(sent.host().size() == 255);
  CHECK(sent.agent_id().size() == 320);
  auto foreign = v1::WorkerFailure{};
  foreign.set_host(huge.host);
  foreign.set_agent_id(huge.agent.value);
  foreign.mutable_details()->set_message(huge.details.message);
  foreign.mutable_details()->set_traceback("first" + huge.details.traceback);
  foreign.mutable_details()->set_subject(huge.details.subject);
  foreign.mutable_details()->set_error_file(huge.details.error_file);
  const auto taken = from_wire(foreign);
  CHECK(taken.details.message == of_size(failure_message_max));
  CHECK(taken.details.traceback == of_size(failure_traceback_max));
  CHECK(taken.details.subject.size() == failure_path_max);
  CHECK(taken.details.error_file.size() == failure_path_max);
  CHECK(taken.host.size() == 255);
  CHECK(taken.agent.value.size() == 320);
}

TEST_CASE("translate: ages are neither negative nor overflow", "[actors]") {
  const auto age_of = [](int64_t ns) {
    auto x = v1::WorkerFailure{};
    x.set_age_ns(ns);
    return from_wire(x).age;
  };
  constexpr auto year = duration{std::chrono::hours{24 * 365}};
  CHECK(age_of(-1) == 0ns);
  CHECK(age_of(INT64_MIN) == 0ns);
  CHECK(age_of(0) == 0ns);
  CHECK(age_of(year.count()) == year);
  CHECK(age_of(year.count() + 1) == year);
  CHECK(age_of(INT64_MAX) == year);
}

TEST_CASE("translate: lists are cut to their limit, and counted", "[actors]") {
  auto x = v1::Collateral{};
  for (size_t i = 0; i < other_failures_max; ++i)
    *x.add_listed() = to_wire(a_failure());
  CHECK(from_wire(x).listed.size() == other_failures_max);
  CHECK(from_wire(x).unlisted_count == 0);
  *x.add_listed() = to_wire(a_failure());
  x.set_unlisted_count(5);
  CHECK(from_wire(x).listed.size() == other_failures_max);
  CHECK(from_wire(x).unlisted_count == 6);
}

TEST_CASE("translate: only the first of a list has all its text", "[actors]") {
  const auto x = to_wire(collateral{{a_huge_failure(), a_huge_failure()}, 0});
  CHECK(x.listed(0).details().traceback().size() == failure_traceback_max);
  CHECK(x.listed(1).details().traceback().size() == brief_traceback_max);
  CHECK(x.listed(1).details().message().size() == brief_message_max);
}

TEST_CASE("translate: a report of failures always fits into a message",
          "[actors]") {
  auto others = collateral{};
  for (size_t i = 0; i <= other_failures_max; ++i)
    others.add(a_huge_failure());
  others.unlisted_count = UINT32_MAX;
  auto how = outcome{};
  how.kind = outcome::verdict::failed;
  how.first_failure = a_huge_failure();
  how.other_failures = others.listed;
  how.unlisted_failure_count = UINT32_MAX;
  how.signal = INT32_MIN;
  how.reason = of_size(100'000);
  auto end = v1::JobEnded{};
  *end.mutable_outcome() = to_wire(how);
  CHECK(end.ByteSizeLong() <= v1::message_size_max);
  CHECK(end.outcome().others().listed_size() == int(other_failures_max));
  auto stopped = v1::WorkersStopped{};
  stopped.set_agent_id(of_size(320));
  stopped.set_generation(UINT64_MAX);
  stopped.set_master_port(65'535);
  stopped.set_unkillable_count(UINT32_MAX);
  *stopped.mutable_others() = to_wire(others);
  CHECK(stopped.ByteSizeLong() <= v1::message_size_max);
}

TEST_CASE("translate: a reason is text that Protobuf takes", "[actors]") {
  auto how = outcome{};
  how.reason = "exit \xff\n2";
  auto end = v1::JobEnded{};
  *end.mutable_outcome() = to_wire(how);
  auto read = v1::JobEnded{};
  REQUIRE(read.ParseFromString(end.SerializeAsString()));
  CHECK(read.outcome().reason() == "exit \xef\xbf\xbd 2");
}

TEST_CASE("translate: safe points", "[actors]") {
  using order = safe_point_order;
  for (const auto& x :
       {order{order::kind::hold}, order{order::kind::stop_at, 7},
        order{order::kind::go_on}})
    CHECK(from_wire(to_wire(x)) == x);
  using report = safe_point_report;
  for (const auto& x :
       {report{report::kind::stepping}, report{report::kind::held, UINT64_MAX},
        report{report::kind::reached, 7}, report{report::kind::refused},
        report{.what = report::kind::wanted, .left = 90s}})
    CHECK(from_wire(to_wire(x)) == x);
  // Of another version: the least that it may mean.
  auto strange = v1::SafePointOrder{};
  strange.set_action(static_cast<v1::SafePointAction>(9));
  CHECK(from_wire(strange).what == order::kind::go_on);
  auto answer = v1::SafePointReport{};
  answer.set_state(static_cast<v1::SafePointState>(9));
  CHECK(from_wire(answer).what == report::kind::refused);
  answer.set_left_ms(UINT64_MAX);
  CHECK(from_wire(answer).left == drain_time_max);
}

TEST_CASE("translate: numbers on the wire mean the same as in the core",
          "[actors]") {
  CHECK(to_wire(share_state::idle) == v1::SHARE_IDLE);
  CHECK(to_wire(share_state::starting) == v1::SHARE_STARTING);
  CHECK(to_wire(share_state::running) == v1::SHARE_RUNNING);
  CHECK(to_wire(share_state::succeeded) == v1::SHARE_SUCCEEDED);
  CHECK(to_wire(share_state::failed) == v1::SHARE_FAILED);
  CHECK(to_wire(share_state::stopping) == v1::SHARE_STOPPING);
  for (auto [ours, wire] :
       {std::pair{failure_kind::exited, v1::FAILURE_EXITED},
        std::pair{failure_kind::signalled, v1::FAILURE_SIGNALLED},
        std::pair{failure_kind::not_started, v1::FAILURE_NOT_STARTED},
        std::pair{failure_kind::timer_expired, v1::FAILURE_TIMER_EXPIRED},
        std::pair{failure_kind::unkillable, v1::FAILURE_UNKILLABLE}}) {
    auto x = a_failure();
    x.kind = ours;
    CHECK(to_wire(x).kind() == wire);
  }
  auto end = outcome{};
  end.kind = outcome::verdict::unmet;
  CHECK(to_wire(end).verdict() == v1::VERDICT_UNMET);
}

// A newer or broken process may send a number without a name here.
TEST_CASE("translate: an unknown enumerator becomes a known one", "[actors]") {
  for (auto [sent, taken] :
       {std::pair{-1, share_state::idle}, std::pair{6, share_state::stopping},
        std::pair{INT32_MAX, share_state::stopping},
        std::pair{INT32_MIN, share_state::idle}})
    CHECK(from_wire(static_cast<v1::ShareState>(sent)) == taken);
  for (auto [sent, taken] : {std::pair{-1, failure_kind::exited},
                             std::pair{5, failure_kind::unkillable},
                             std::pair{256, failure_kind::unkillable}}) {
    auto x = to_wire(a_failure());
    x.set_kind(static_cast<v1::FailureKind>(sent));
    CHECK(from_wire(x).kind == taken);
  }
  for (auto [sent, taken] : {std::pair{-1, outcome::verdict::succeeded},
                             std::pair{4, outcome::verdict::unmet},
                             std::pair{260, outcome::verdict::unmet}}) {
    auto x = v1::Outcome{};
    x.set_verdict(static_cast<v1::Verdict>(sent));
    CHECK(from_wire(x).kind == taken);
  }
}

TEST_CASE("translate: a field that a message lacks has its default",
          "[actors]") {
  const auto held = from_wire(v1::Claim{});
  CHECK(held.plan.generation == generation_id{0});
  CHECK(held.state == share_state::idle);
  CHECK_FALSE(held.failure);
  const auto how = from_wire(v1::Outcome{});
  CHECK(how.kind == outcome::verdict::succeeded);
  CHECK_FALSE(how.first_failure);
}

TEST_CASE("translate: devices arrive as they were sent", "[actors]") {
  const auto sent = devices_status{.gpus = {{.index = 3,
                                             .name = "N",
                                             .uuid = "GPU-a",
                                             .memory_used = 1,
                                             .memory_total = 2,
                                             .utilisation = 4,
                                             .temperature = 5,
                                             .trouble = "XID 79"},
                                            {.index = 4}},
                                   .trouble = "no answer"};
  CHECK(devices_from_wire(to_wire(sent)) == sent);
}

TEST_CASE("translate: devices are cut to the limits of the wire", "[actors]") {
  auto sent = devices_status{};
  sent.gpus.resize(gpus_per_node_max + 1);
  sent.gpus[0].name = std::string(1'000, 'n');
  sent.gpus[0].trouble = std::string(1'000, 't');
  sent.trouble = std::string(1'000, 'x');
  const auto wire = to_wire(sent);
  CHECK(wire.gpus_size() == int(gpus_per_node_max));
  CHECK(wire.gpus(0).name().size() <= 96);
  CHECK(wire.gpus(0).trouble().size() <= 256);
  CHECK(wire.gpu_trouble().size() <= 256);
  auto foreign = v1::NodeStatus{};
  for (size_t i = 0; i <= gpus_per_node_max; ++i)
    foreign.add_gpus()->set_name(std::string(1'000, 'n'));
  const auto taken = devices_from_wire(foreign);
  CHECK(taken.gpus.size() == gpus_per_node_max);
  CHECK(taken.gpus[0].name.size() == 96);
}

TEST_CASE("translate: vitals arrive as they were sent", "[actors]") {
  auto all = worker_vitals{.local_rank = 1, .pid = 42, .process_count = 3};
  all.age = 12ms;
  all.cpu_percent = 101;
  all.memory = UINT64_MAX;
  all.thread_count = 7;
  all.state = 'R';
  all.output_size = 0;
  all.output_age = 0ms;
  all.timer_scope = "step";
  all.timer_age = 5ms;
  const auto sent = node_vitals{.load = node_load{1, 2, 3},
                                .cpu_count = 64,
                                .memory = node_memory{8, 4},
                                .workers = {{.pid = 41}, all},
                                .truncated = true};
  auto wire = v1::NodeStatus{};
  add_vitals(wire, sent);
  CHECK(from_wire(wire.vitals()) == sent);
  auto nothing = v1::NodeStatus{};
  add_vitals(nothing, {});
  CHECK(from_wire(nothing.vitals()) == node_vitals{});
}

TEST_CASE("translate: a scope of any bytes is sent as text", "[actors]") {
  auto sent = node_vitals{.workers = {{.pid = 41}}};
  sent.workers[0].timer_scope = "a\xff\nb";
  sent.workers[0].timer_age = 0ms;
  auto wire = v1::NodeStatus{};
  add_vitals(wire, sent);
  CHECK(wire.vitals().workers(0).timer_scope() == "a\xef\xbf\xbd b");
}

TEST_CASE("translate: vitals of more workers than fit are cut off",
          "[actors]") {
  auto sent = node_vitals{};
  for (size_t i = 0; i < sampled_workers_max; ++i)
    sent.workers.push_back({.local_rank = uint32_t(i), .pid = INT64_MAX});
  auto wire = v1::NodeStatus{};
  wire.add_gpus()->set_name(std::string(30'000, 'n'));
  add_vitals(wire, sent);
  CHECK(wire.vitals().truncated());
  CHECK(wire.vitals().workers_size() > 1'000);
  CHECK(wire.ByteSizeLong() <= v1::message_size_max);
}

TEST_CASE("translate: of foreign vitals no more is taken than can be true",
          "[actors]") {
  auto foreign = v1::NodeVitals{};
  foreign.set_load_1_percent(5);
  foreign.set_memory_total(4);
  foreign.set_memory_available(8);
  for (size_t i = 0; i <= sampled_workers_max; ++i) {
    auto& worker = *foreign.add_workers();
    worker.set_state(i == 0 ? 0x1b : 'S');
    worker.set_age_ms(UINT64_MAX);
    worker.set_timer_scope(i == 0 ? std::string(9'000, 's') : "a\x1b[2J\nb");
    worker.set_timer_age_ms(1);
  }
  const auto taken = from_wire(foreign);
  CHECK_FALSE(taken.load); // Of three averages, one.
  CHECK(taken.memory == node_memory{4, 4});
  REQUIRE(taken.workers.size() == sampled_workers_max);
  CHECK_FALSE(taken.workers[0].state);
  CHECK(taken.workers[1].state == 'S');
  CHECK(taken.workers[0].timer_scope.size() == last_scope_size_max);
  CHECK(taken.workers[1].timer_scope == "a b");
  CHECK(taken.workers[0].age > std::chrono::hours{24 * 365});
}

} // namespace actorrun::test::translate_test
