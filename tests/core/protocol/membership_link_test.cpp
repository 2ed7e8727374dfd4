// How an agent finds its coordinator, loses it, and comes back.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_link_test {

using fixture = membership_fixture;

// -- looking for the coordinator ----------------------------------------------

TEST_CASE_METHOD(fixture,
                 "membership: an agent finds its coordinator and joins",
                 "[core]") {
  CHECK(at(0s, agent_started{}) == "arm_timer 1; seek_coordinator");
  CHECK(due(1) == 60s);
  uut.announce_address("10.0.0.7");
  CHECK(at(1s, coordinator_found{}) == "arm_timer 2; send_join");
  CHECK(due(2) == 6s);
  CHECK(last<send_join>().offering.agent == agent_id{"a"});
  CHECK(last<send_join>().offering.address == "10.0.0.7");
  CHECK_FALSE(last<send_join>().held);
  CHECK(uut.current_link() == link::joining);
  CHECK(at(1'300ms, accepted()) == "arm_timer 3; arm_timer 4");
  CHECK(due(3) == 1'600ms);
  CHECK(due(4) == 1'900ms); // The fence runs from the sending of the join.
  CHECK(uut.current_link() == link::joined);
  CHECK(at(6s, fire(2)) == "");
  CHECK(at(60s, fire(1)) == "");
}

TEST_CASE_METHOD(fixture, "membership: it tries again, less and less often",
                 "[core]") {
  seek();
  auto most = duration{20ms};
  for (uint64_t timer = 2; timer < 20; ++timer) {
    CHECK(at(0s, not_found(errc::connection_refused))
          == "arm_timer " + std::to_string(timer));
    CHECK(due(timer) <= most);
    CHECK(due(timer) > most * 3 / 4); // Agents must not all come at once.
    CHECK(at(0s, fire(timer)) == "seek_coordinator");
    most = std::min<duration>(most * 2, 1s);
  }
}

TEST_CASE("membership: agents come back at different times", "[core]") {
  auto delays = std::map<duration, int>{};
  for (int i = 0; i < 100; ++i) {
    auto offering = fixture::offering();
    offering.agent.value = "agent-" + std::to_string(i);
    auto uut = membership{offering, timeouts{}};
    uut.step(agent_started{}, time_point{});
    const auto effects
      = uut.step(fixture::not_found(errc::connection_refused), time_point{});
    ++delays[std::get<arm_timer>(effects.at(0)).due.time_since_epoch()];
  }
  CHECK(delays.size() > 50);
}

TEST_CASE_METHOD(fixture, "membership: with workers it tries more often",
                 "[core]") {
  run_alone();
  auto last_due = duration{};
  for (uint64_t timer = 7; timer < 20; ++timer) {
    at(0s, not_found(errc::connection_timed_out));
    CHECK(due(timer) >= last_due);
    last_due = due(timer);
  }
  CHECK(last_due <= 200ms);
  CHECK(last_due > 150ms);
}

TEST_CASE_METHOD(fixture,
                 "membership: once joined, it begins with short delays",
                 "[core]") {
  seek();
  for (int i = 0; i < 10; ++i)
    at(0s, not_found(errc::connection_refused));
  at(0s, coordinator_found{});
  at(0s, accepted());
  REQUIRE(at(0s, coordinator_disconnected{}) == "arm_timer 15; arm_timer 16");
  CHECK(due(15) == 600s);
  CHECK(due(16) <= 20ms);
  CHECK(due(16) > 15ms);
}

TEST_CASE("membership: only lasting errors end the first search", "[core]") {
  struct row {
    errc why;
    bool final;
  };
  const row rows[] = {
    {errc::unresolvable, false},         {errc::connection_refused, false},
    {errc::connection_timed_out, false}, {errc::connection_failed, false},
    {errc::not_actorrun, false},         {errc::protocol_mismatch, true},
    {errc::job_mismatch, true},          {errc::secret_mismatch, true},
    {errc::system_failure, false},       {errc::settings_mismatch, true},
    {errc::etcd_denied, true},           {errc::etcd_unreachable, false},
  };
  for (const auto& x : rows) {
    CAPTURE(to_string(x.why));
    auto agent = fixture{};
    agent.seek();
    CHECK(
      agent.at(0s, fixture::not_found(x.why))
      == (x.final ? "finish " + std::string{to_string(x.why)} : "arm_timer 2"));
    auto member = fixture{};
    member.run_alone();
    CHECK(member.at(0s, fixture::not_found(x.why)) == "arm_timer 7");
  }
}

TEST_CASE_METHOD(fixture, "membership: the first search is bounded", "[core]") {
  seek();
  at(1s, not_found(errc::unresolvable));
  CHECK(at(60s, fire(1)) == "finish unresolvable");
  CHECK(last<finish>().how.why == failure{errc::unresolvable, "as said"});
}

TEST_CASE_METHOD(fixture, "membership: an attempt may have no answer at all",
                 "[core]") {
  seek();
  CHECK(at(60s, fire(1)) == "finish connection_timed_out");
  CHECK(last<finish>().how.why->text == "the coordinator did not answer");
}

TEST_CASE_METHOD(fixture, "membership: a search may succeed at the last moment",
                 "[core]") {
  join();
  CHECK(at(60s, fire(1)) == "finish connection_timed_out");
}

TEST_CASE_METHOD(fixture, "membership: a coordinator may be gone for good",
                 "[core]") {
  run_alone();
  CHECK(due(5) == 600s); // As long as a coordinator waits for lost nodes.
  at(599s, not_found(errc::connection_refused));
  CHECK(at(600s, fire(5)) == "stop_group 1");
  CHECK(at(601s, stopped(1)) == "finish coordinator_lost");
  CHECK(
    last<finish>().how.why->text
    == "the coordinator is gone and did not come back within 10 min 0 s (as "
       "said)");
}

// -- what people are told of a loss -------------------------------------------

TEST_CASE_METHOD(fixture,
                 "membership: a lost coordinator is a loss until another "
                 "one accepts",
                 "[core]") {
  CHECK_FALSE(uut.loss());
  seek();
  CHECK_FALSE(uut.loss()); // It never had one.
  at(0s, coordinator_found{});
  at(0s, accepted());
  at(0s, formed(1));
  at(0s, started(1));
  CHECK_FALSE(uut.loss());
  at(100ms, coordinator_disconnected{});
  REQUIRE(uut.loss());
  CHECK_FALSE(uut.loss()->why);
  CHECK(uut.loss()->since == time_point{100ms});
  CHECK(uut.loss()->until == time_point{600'100ms});
  CHECK(uut.loss()->workers_until == time_point{900ms});
  at(200ms, not_found(errc::connection_refused));
  CHECK(uut.loss()->why->text == "as said");
  at(300ms, coordinator_found{});
  CHECK(uut.loss()); // It may refuse.
  at(300ms, accepted());
  CHECK_FALSE(uut.loss());
  at(400ms, coordinator_disconnected{});
  CHECK_FALSE(uut.loss()->why); // Of another loss.
  at(400ms, leave_requested{SIGTERM});
  CHECK_FALSE(uut.loss()); // It goes anyway.
}

TEST_CASE_METHOD(fixture,
                 "membership: a coordinator that is silent for a fence is lost",
                 "[core]") {
  be_in();
  at(900ms, fire(4));
  REQUIRE(uut.loss());
  CHECK(uut.loss()->why->text == "it has not answered for 900.0 ms");
  CHECK_FALSE(uut.loss()->workers_until);
}

TEST_CASE_METHOD(fixture, "membership: a silent coordinator is not waited for",
                 "[core]") {
  join();
  CHECK(at(5s, fire(2)) == "drop_link; arm_timer 3");
  CHECK(uut.current_link() == link::seeking);
  CHECK(at(5s, fire(3)) == "seek_coordinator");
  CHECK(at(5s, accepted()) == "");
  CHECK(at(60s, fire(1)) == "finish connection_timed_out");
  CHECK(last<finish>().how.why->text == "the coordinator does not answer");
}

TEST_CASE_METHOD(fixture, "membership: a link may break while joining",
                 "[core]") {
  join();
  CHECK(at(0s, coordinator_disconnected{}) == "arm_timer 3");
  CHECK(uut.current_link() == link::seeking);
  CHECK(at(5s, fire(2)) == "");
}

TEST_CASE_METHOD(fixture, "membership: a stale attempt does not count",
                 "[core]") {
  seek();
  at(0s, not_found(errc::connection_refused));
  at(0s, coordinator_found{});
  CHECK(at(1s, fire(2)) == ""); // Already found.
  CHECK(at(1s, not_found(errc::job_mismatch)) == "");
}

// -- being refused ------------------------------------------------------------

TEST_CASE_METHOD(fixture, "membership: an agent that is rejected ends",
                 "[core]") {
  join();
  CHECK(at(0s, rejected()) == "drop_link; finish settings_mismatch");
  CHECK(last<finish>().how.why == rejected().why);
  CHECK(at(0s, coordinator_found{}) == "");
}

TEST_CASE_METHOD(
  fixture, "membership: an agent that is rejected stops its workers first",
  "[core]") {
  come_back();
  CHECK(at(0s, join_rejected{{errc::duplicate_agent, "as said"}})
        == "drop_link; stop_group 1");
  CHECK(at(1s, stopped(1)) == "finish duplicate_agent");
}

TEST_CASE_METHOD(fixture,
                 "membership: an agent that is rejected awaits no answer any "
                 "more",
                 "[core]") {
  come_back();
  at(0s, join_rejected{{errc::duplicate_agent, "as said"}});
  CHECK(at(5s, fire(7)) == "");
}

TEST_CASE_METHOD(fixture,
                 "membership: an agent that leaves does so whatever rejects it",
                 "[core]") {
  run_alone();
  at(0s, leave_requested{SIGTERM});
  at(0s, coordinator_found{});
  CHECK(at(0s, rejected()) == "drop_link");
  CHECK(at(1s, stopped(1)) == "finish signal 15");
}

TEST_CASE_METHOD(fixture,
                 "membership: a coordinator that came back with other settings "
                 "may be corrected",
                 "[core]") {
  come_back();
  CHECK(at(0s, rejected()) == "drop_link; arm_timer 8");
  SECTION("in time") {
    at(20ms, fire(8));
    CHECK(at(20ms, coordinator_found{}) == "arm_timer 9; send_join 1 running");
    CHECK(at(30ms, accepted()).starts_with("arm_timer 10; arm_timer 11"));
  }
  SECTION("too late for its workers and the job") {
    // The link broke at 0 s.
    CHECK(at(60s, fire(5)) == "stop_group 1");
    CHECK(at(61s, stopped(1)) == "finish settings_mismatch");
  }
}

// -- coming back --------------------------------------------------------------

TEST_CASE("membership: an agent that comes back claims what it has", "[core]") {
  struct row {
    std::vector<membership_event> events; ///< After generation 1 was formed.
    std::string state;
  };
  const row rows[] = {
    {{}, "starting"},
    {{fixture::started(1)}, "running"},
    {{fixture::succeeded(1)}, "succeeded"},
    {{fixture::failed(1)}, "failed"},
    {{fixture::failed(1), fixture::stopped(1)}, "failed"},
    {{fixture::revoked(1)}, "stopping"},
    {{fixture::revoked(1), fixture::stopped(1)}, "idle"},
  };
  for (const auto& x : rows) {
    auto agent = fixture{};
    agent.be_in();
    agent.at(0s, fixture::formed(1));
    for (const auto& event : x.events)
      agent.at(0s, event);
    agent.at(0s, coordinator_disconnected{});
    CHECK(agent.at(0s, coordinator_found{})
          == "arm_timer 7; send_join 1 " + x.state);
    const auto& held = *agent.last<send_join>().held;
    CHECK(held.plan == fixture::plan(1));
    CHECK(held.failure.has_value() == (x.state == "failed"));
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: a short interruption leaves the workers alone",
                 "[core]") {
  run_alone();
  CHECK(at(20ms, fire(6)) == "seek_coordinator");
  CHECK(at(30ms, coordinator_found{}) == "arm_timer 7; send_join 1 running");
  CHECK(at(40ms, accepted()) == "arm_timer 8; arm_timer 9; set_fence");
  CHECK(fence() == 930ms);
  CHECK(uut.share() == share_state::running);
  CHECK(at(60s, fire(5)) == "");
}

TEST_CASE_METHOD(fixture, "membership: events without a link are not sent",
                 "[core]") {
  run_alone();
  CHECK(at(1ms, succeeded(1)) == "");
  CHECK(uut.share() == share_state::succeeded);
  CHECK(at(2ms, coordinator_found{}) == "arm_timer 7; send_join 1 succeeded");
}

TEST_CASE_METHOD(fixture,
                 "membership: without a link nothing is sent, whatever comes",
                 "[core]") {
  be_in();
  SECTION("a start") {
    at(0s, formed(1));
    at(0s, coordinator_disconnected{});
    CHECK(at(1ms, started(1)) == "");
    CHECK(uut.share() == share_state::running);
  }
  SECTION("a plan that is over") {
    at(0s, revoked(3));
    at(0s, coordinator_disconnected{});
    CHECK(at(1ms, formed(2)) == "");
  }
  SECTION("the end of workers, and of a generation that never began") {
    at(0s, formed(1));
    at(0s, formed(2));
    at(0s, revoked(2));
    at(0s, coordinator_disconnected{});
    CHECK(at(1ms, stopped(1)) == "");
  }
  SECTION("a keep-alive") {
    at(0s, coordinator_disconnected{});
    CHECK(at(300ms, fire(3)) == "");
  }
}

TEST_CASE_METHOD(
  fixture,
  "membership: a generation that was announced begins although the "
  "link broke",
  "[core]") {
  run();
  at(0s, formed(2));
  at(1ms, coordinator_disconnected{});
  CHECK(at(2ms, stopped(1)) == "set_fence; start_group 2");
}

TEST_CASE_METHOD(
  fixture,
  "membership: a generation that waits for old workers survives a "
  "broken link, and is begun once",
  "[core]") {
  run();
  at(0s, formed(2));
  at(1ms, coordinator_disconnected{});
  at(2ms, coordinator_found{});
  at(3ms, accepted());
  CHECK(at(4ms, formed(2)) == ""); // The coordinator repeats it.
  CHECK(at(5ms, stopped(1)) == "send_stopped 1; set_fence; start_group 2");
}

TEST_CASE_METHOD(fixture, "membership: a failure without a link stops the rest",
                 "[core]") {
  run_alone();
  CHECK(at(1ms, failed(1)) == "stop_group 1");
  CHECK(at(2ms, stopped(1)) == "");
  CHECK(at(3ms, coordinator_found{}) == "arm_timer 7; send_join 1 failed");
  CHECK(last<send_join>().held->failure
        == aged(failure_by(failure_kind::exited, 1), 2ms));
}

TEST_CASE("membership: events while joining are sent after the join",
          "[core]") {
  struct row {
    membership_event event;
    std::string sent;
  };
  const row rows[] = {
    {fixture::failed(1), "send_failed 1; stop_group 1"},
    {fixture::succeeded(1), "send_succeeded 1"},
    {fixture::stopped(1), "send_stopped 1"},
  };
  for (const auto& x : rows) {
    auto agent = fixture{};
    agent.come_back();
    CHECK(agent.at(0s, x.event) == x.sent);
  }
  auto agent = fixture{};
  agent.be_in();
  agent.at(0s, fixture::formed(1));
  agent.at(0s, coordinator_disconnected{});
  agent.at(0s, coordinator_found{});
  CHECK(agent.at(0s, fixture::started(1)) == "send_started 1");
}

TEST_CASE_METHOD(
  fixture, "membership: an agent that leaves without a link reports it later",
  "[core]") {
  run_alone();
  CHECK(at(0s, leave_requested{SIGTERM}) == "stop_group 1");
  CHECK(at(0s, coordinator_found{}) == "arm_timer 7; send_join 1 stopping");
  CHECK(at(0s, accepted())
        == "arm_timer 8; arm_timer 9; set_fence; send_leaving");
  CHECK(at(0s, stopped(1)) == "send_stopped 1; send_left; arm_timer 10");
}

TEST_CASE_METHOD(
  fixture,
  "membership: an agent that leaves without a link ends without a report",
  "[core]") {
  run_alone();
  at(0s, leave_requested{SIGTERM});
  CHECK(at(60s, fire(5)) == "");
  CHECK(at(61s, stopped(1)) == "finish signal 15");
}

// -- every event on every link ------------------------------------------------

namespace {

void bring(fixture& agent, membership::link x) {
  using link = membership::link;
  switch (x) {
    case link::seeking:
      agent.seek();
      break;
    case link::joining:
      agent.join();
      break;
    case link::joined:
      agent.be_in();
      break;
    case link::parting:
      agent.be_in();
      agent.at(0s, fixture::ended());
      break;
    case link::finished:
      agent.be_in();
      agent.at(0s, fixture::ended());
      agent.at(0s, coordinator_disconnected{});
      break;
  }
  REQUIRE(agent.uut.current_link() == x);
}

} // namespace

TEST_CASE("membership: every event has its answer on every link", "[core]") {
  struct row {
    const char* name;
    membership_event event;
    // seeking, joining, joined, parting, finished
    std::vector<std::string> answers;
  };
  const auto lost = std::string{"finish connection_timed_out"};
  const row rows[] = {
    {"found", coordinator_found{}, {"arm_timer 2; send_join", "", "", "", ""}},
    {"not found",
     fixture::not_found(errc::connection_refused),
     {"arm_timer 2", "", "", "", ""}},
    {"disconnected",
     coordinator_disconnected{},
     {"", "arm_timer 3", "arm_timer 5; arm_timer 6", "finish succeeded", ""}},
    {"accepted",
     fixture::accepted(),
     {"", "arm_timer 3; arm_timer 4; check_control", "", "", ""}},
    {"rejected",
     fixture::rejected(),
     {"", "drop_link; finish settings_mismatch", "", "", ""}},
    {"granted", fixture::granted(1s), {"", "", "", "", ""}},
    {"leave",
     leave_requested{2},
     {"finish signal 2", "finish signal 2",
      "send_leaving; send_left; arm_timer 5", "", ""}},
    {"seek timer", fixture::fire(1), {lost, lost, "", "", ""}},
    {"search timer",
     fixture::fire(2),
     {"", "drop_link; arm_timer 3", "", "", ""}},
    {"keep-alive timer",
     fixture::fire(3),
     {"", "", "arm_timer 5; check_control", "", ""}},
    {"fence timer",
     fixture::fire(4),
     {"", "", "drop_link; arm_timer 5; arm_timer 6", "", ""}},
    {"parting timer", fixture::fire(5), {"", "", "", "finish succeeded", ""}},
    {"no timer", fixture::fire(0), {"", "", "", "", ""}},
    {"never armed", fixture::fire(99), {"", "", "", "", ""}},
    {"started late", fixture::started(1), {"", "", "", "", ""}},
    {"failed late", fixture::failed(1), {"", "", "", "", ""}},
    {"succeeded late", fixture::succeeded(1), {"", "", "", "", ""}},
    {"stopped late", fixture::stopped(1), {"", "", "", "", ""}},
  };
  for (const auto& x : rows) {
    REQUIRE(x.answers.size() == 5);
    for (size_t i = 0; i < x.answers.size(); ++i) {
      auto agent = fixture{};
      bring(agent, membership::link(i));
      CAPTURE(x.name, to_string(membership::link(i)));
      CHECK(agent.at(1s, x.event) == x.answers[i]);
    }
  }
}

TEST_CASE("membership: links have their names as text", "[core]") {
  using link = membership::link;
  CHECK(to_string(link::seeking) == "seeking");
  CHECK(to_string(link::joining) == "joining");
  CHECK(to_string(link::joined) == "joined");
  CHECK(to_string(link::parting) == "parting");
  CHECK(to_string(link::finished) == "finished");
  CHECK(to_string(link{99}) == "unknown");
}

TEST_CASE_METHOD(fixture,
                 "membership: a coordinator that does not answer is left",
                 "[core]") {
  at(0s, agent_started{});
  at(1s, coordinator_found{});
  CHECK(at(6s, fire(2)) == "drop_link; arm_timer 3");
  CHECK(uut.current_link() == link::seeking);
  CHECK(at(60s, fire(1)) == "finish connection_timed_out");
  CHECK(last<finish>().how.why->text == "the coordinator does not answer");
}

TEST_CASE_METHOD(
  fixture,
  "membership: a member that was away for the end of the job ends "
  "at once",
  "[core]") {
  run_alone();
  CHECK(at(1s, not_found(errc::job_over)) == "stop_group 1");
  CHECK(at(2s, stopped(1)) == "finish job_over");
  CHECK(last<finish>().how.why->text == "as said");
}

TEST_CASE_METHOD(fixture,
                 "membership: the next link is sought when the last is gone",
                 "[core]") {
  seek();
  at(0s, coordinator_found{true});
  at(0s, accepted());
  REQUIRE(at(900ms, fire(4)) == "drop_link; arm_timer 5; arm_timer 6");
  CHECK(at(920ms, fire(6)) == "");
  CHECK(at(930ms, coordinator_disconnected{}) == "seek_coordinator");
  CHECK(uut.current_link() == membership::link::seeking);
  // That link is not missed twice.
  at(940ms, coordinator_found{true});
  CHECK(at(950ms, coordinator_disconnected{}) == "arm_timer 8");
}

TEST_CASE_METHOD(fixture,
                 "membership: a link that is gone in time delays no attempt",
                 "[core]") {
  seek();
  at(0s, coordinator_found{true});
  at(0s, accepted());
  at(900ms, fire(4));
  CHECK(at(901ms, coordinator_disconnected{}) == "");
  CHECK(at(920ms, fire(6)) == "seek_coordinator");
}

TEST_CASE_METHOD(fixture,
                 "membership: a coordinator in this process has no link that "
                 "would have to go",
                 "[core]") {
  join();
  REQUIRE(at(10s, fire(2)) == "drop_link; arm_timer 3");
  CHECK(at(10s, fire(3)) == "seek_coordinator");
}

TEST_CASE_METHOD(fixture,
                 "membership: nothing begins over a link that was given up",
                 "[core]") {
  seek();
  at(0s, coordinator_found{true});
  at(10s, fire(2)); // No answer in time. Then it comes:
  CHECK(at(10s, accepted()) == "");
  CHECK(at(10s, formed(1)) == "");
  CHECK(uut.share() == share_state::idle);
  // There is no link for the answer to this.
  CHECK(at(10s, generation_revoked{{1}}) == "");
}

TEST_CASE_METHOD(fixture,
                 "membership: a revocation over a link that was given up stops "
                 "the workers",
                 "[core]") {
  run_alone();
  CHECK(at(0s, generation_revoked{{1}}) == "stop_group 1");
  at(0s, stopped(1));
  CHECK(at(0s, generation_revoked{{1}}) == "");
}

TEST_CASE(
  "membership: N4 the nodes of a large job come back one after the other",
  "[core]") {
  const auto first_attempt = [](const std::string& name, uint32_t node_count) {
    auto x = membership_fixture::offering();
    x.agent = {name};
    auto uut = membership{x, {}};
    auto plan = membership_fixture::plan(1);
    plan.own.agent = {name};
    plan.node_count = node_count;
    plan.world_size = 2 * node_count;
    uut.step(agent_started{}, {});
    uut.step(coordinator_found{true}, {});
    uut.step(membership_fixture::accepted(), {});
    uut.step(generation_formed{plan}, {});
    uut.step(membership_fixture::started(1), {});
    auto due = duration{0};
    for (const auto& effect : uut.step(coordinator_disconnected{}, {}))
      if (const auto* timer = std::get_if<arm_timer>(&effect))
        due = timer->due.time_since_epoch(); // The last is for the attempt.
    return due;
  };
  auto in_window = std::map<int64_t, int>{};
  for (auto i = 0; i < 2'000; ++i) {
    const auto name = "node-" + std::to_string(i);
    CHECK(first_attempt(name, 2) <= 20ms);
    const auto due = first_attempt(name, 2'000);
    CHECK(due >= 15ms);
    CHECK(due < 220ms);
    ++in_window[due / 20ms];
  }
  for (const auto& [window, count] : in_window)
    CHECK(count < 300); // 200 would be even.
}

// -- what the next coordinator must know ----------------------------------------

TEST_CASE_METHOD(
  membership_fixture,
  "membership: N6 it tells the next coordinator what it was told", "[core]") {
  at(0s, agent_started{});
  at(0s, coordinator_found{});
  CHECK_FALSE(last<send_join>().told);
  auto job = charter{.revision = 3, .lease = 15'300ms, .newest = {7}};
  at(0s, join_accepted{300ms, 900ms, job});
  job.revision = 4;
  at(0s, charter_changed{job});
  at(0s, coordinator_disconnected{});
  at(1s, coordinator_found{});
  REQUIRE(last<send_join>().told);
  CHECK(*last<send_join>().told == job);
  // A successor that does not know as much does not make it forget.
  const auto less
    = charter{.revision = 1, .lease = 20s, .newest = generation_of(1, 8)};
  at(1s, join_accepted{300ms, 900ms, less});
  at(1s, coordinator_disconnected{});
  at(2s, coordinator_found{});
  CHECK(last<send_join>().told->revision == 4);
  CHECK(last<send_join>().told->lease == 20s);
  // V4: nor do numbers fall, whoever names them.
  CHECK(last<send_join>().told->newest == generation_of(1, 8));
  at(2s, join_accepted{300ms, 900ms,
                       charter{.revision = 5, .lease = 1s, .newest = {7}}});
  at(2s, coordinator_disconnected{});
  at(3s, coordinator_found{});
  CHECK(last<send_join>().told->revision == 5);
  CHECK(last<send_join>().told->newest == generation_of(1, 8));
}

TEST_CASE_METHOD(membership_fixture,
                 "membership: V4 no lower number is accepted, whoever gives it",
                 "[core]") {
  at(0s, agent_started{});
  at(0s, coordinator_found{});
  at(0s, accepted());
  at(0s, revoked(9)); // Which it had not begun.
  at(0s, coordinator_disconnected{});
  at(1s, coordinator_found{});
  CHECK(last<send_join>().told->newest == generation_id{9});
  at(1s, accepted());
  CHECK(at(1s, formed(9)) == "send_stopped 9");
  CHECK(at(1s, formed(10)).find("start_group 10") != std::string::npos);
}

TEST_CASE_METHOD(membership_fixture,
                 "membership: V5 a claim that is refused is no reason to end",
                 "[core]") {
  at(0s, agent_started{});
  at(0s, coordinator_found{});
  at(0s, accepted());
  at(0s, coordinator_disconnected{});
  at(1s, coordinator_found{});
  at(1s, join_rejected{{errc::bad_plan, "of a time to come"}});
  CHECK(uut.current_link() == link::seeking);
}

TEST_CASE_METHOD(membership_fixture,
                 "membership: W3 who is told to ask again does", "[core]") {
  at(0s, agent_started{});
  at(0s, coordinator_found{});
  at(0s, join_rejected{{errc::connection_failed, "it has just begun"}});
  CHECK(uut.current_link() == link::seeking);
}

} // namespace actorrun::test::membership_link_test
