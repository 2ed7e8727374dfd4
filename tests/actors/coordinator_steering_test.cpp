// Tests how a coordinator answers operators that steer.
#include "actors/steering.hpp"
#include "tests/actors/coordinator_fixture.hpp"

#include <memory>
#include <optional>

namespace actorrun::test::coordinator_steering_test {

namespace {

struct steering_fixture : coordinator_fixture {
  steering_fixture() : coordinator_fixture{{1, 2, 1}} {}

  /// The answer to an operator.
  v1::OperatorReply ask(const v1::OperatorRequest& what,
                        bool may_steer = true) {
    auto out = std::make_shared<std::optional<v1::OperatorReply>>();
    tell_anonymously(uut, operator_question{
                            what,
                            [out](v1::OperatorReply x) { *out = std::move(x); },
                            "alice (pid 7)", may_steer});
    run();
    REQUIRE(out->has_value());
    return **out;
  }
};

v1::OperatorRequest drain(const std::string& node) {
  auto out = v1::OperatorRequest{};
  out.mutable_drain()->set_node(node);
  return out;
}

} // namespace

TEST_CASE_METHOD(steering_fixture, "coordinator: a drained agent gets notice",
                 "[actor]") {
  run_two_leased();
  const auto reply = ask(drain("node-2"));
  CHECK(reply.done().text()
        == "node node-2 leaves in 60.0 s at the latest, or when its workers"
           " have ended");
  CHECK(b.told() == "drain in 60000 ms");
  CHECK(a.told().empty());
  const auto now = status();
  CHECK(now.agents(1).drain_left_ms() == 60'000);
  CHECK_FALSE(now.agents(0).has_drain_left_ms());
}

TEST_CASE_METHOD(steering_fixture,
                 "coordinator: a drain that waits is shown, and can be taken "
                 "back",
                 "[actor]") {
  run_two_leased();
  auto request = v1::OperatorRequest{};
  request.mutable_resize()->set_agent_count_min(2);
  request.mutable_resize()->set_agent_count_max(2);
  ask(request);
  request = drain("node-2");
  request.mutable_drain()->set_wait_for_replacement(true);
  CHECK(ask(request).has_done());
  const auto waits = status().agents(1);
  CHECK(waits.state() == "running");
  CHECK(waits.reason().find("drain waits for a replacement, asked by") == 0);
  CHECK(waits.has_drain_asked_age_ms());
  auto cancel = v1::OperatorRequest{};
  cancel.mutable_cancel_drain()->set_node("node-2");
  CHECK(ask(cancel).done().text().starts_with("node node-2 stays"));
  const auto stays = status().agents(1);
  CHECK(stays.reason().empty());
  CHECK_FALSE(stays.has_drain_asked_age_ms());
  CHECK(ask(cancel).has_refusal());
  // Of the new numbers, of the drain, and that there is none.
  CHECK(b.told() == "charter 2; charter 3; charter 4");
}

TEST_CASE_METHOD(steering_fixture,
                 "coordinator: before a change that can wait, all workers come "
                 "to one step",
                 "[actor]") {
  run_two_leased();
  const auto report = [&](const auto& from, const std::string& id,
                          v1::SafePointState state, uint64_t step) {
    auto x = v1::SafePointReport{};
    x.set_agent_id(id);
    x.set_generation(1);
    x.set_state(state);
    x.set_step(step);
    x.set_round(state == v1::SAFE_POINT_STEPPING ? 0 : 1); // No order yet.
    send(from.handle, uut, x);
  };
  report(a, "1", v1::SAFE_POINT_STEPPING, 0);
  ask(drain("node-2"));
  CHECK(b.told() == "drain in 60000 ms; hold of 1");
  CHECK(a.told() == "hold of 1");
  report(a, "1", v1::SAFE_POINT_HELD, 8);
  report(a, "2", v1::SAFE_POINT_HELD, 90); // Of another agent.
  report(b, "2", v1::SAFE_POINT_HELD, 9);
  CHECK(a.told() == "stop_at 9 of 1");
  CHECK(b.told() == "stop_at 9 of 1");
  CHECK(status().waiting_for().ends_with("the workers go on to step 9"));
  report(a, "1", v1::SAFE_POINT_REACHED, 9);
  CHECK(a.told().empty());
  report(b, "2", v1::SAFE_POINT_REACHED, 9);
  CHECK(a.told().starts_with("revoked 1"));
}

TEST_CASE_METHOD(steering_fixture, "coordinator: a refusal says why",
                 "[actor]") {
  run_two_leased();
  const auto reply = ask(drain("node-9"));
  CHECK(reply.refusal().code() == uint32_t(errc::bad_argument));
  CHECK(reply.refusal().text().find("no node node-9") != std::string::npos);
}

TEST_CASE_METHOD(steering_fixture,
                 "coordinator: whoever may not steer is refused", "[actor]") {
  run_two_leased();
  CHECK(ask(drain("node-2"), false).has_refusal());
  CHECK(b.told().empty());
}

TEST_CASE_METHOD(steering_fixture,
                 "coordinator: texts of operators are one line", "[actor]") {
  run_two_leased();
  auto request = v1::OperatorRequest{};
  request.mutable_exclude()->set_host("n9");
  request.mutable_exclude()->set_reason("bad\n\x1b[31mdisk"
                                        + std::string(999, 'x'));
  CHECK(ask(request).has_done());
  const auto now = status();
  REQUIRE(now.excluded_hosts_size() == 1);
  CHECK(now.excluded_hosts(0).host() == "n9");
  CHECK(now.excluded_hosts(0).reason().starts_with(
    "host n9 is excluded by alice (pid 7): bad diskxxx"));
  CHECK(now.excluded_hosts(0).reason().size() < 256);
}

TEST_CASE_METHOD(steering_fixture, "coordinator: agents log as they are told",
                 "[actor]") {
  run_two_leased();
  auto request = v1::OperatorRequest{};
  request.mutable_log_level()->set_level("DEBUG");
  CHECK(ask(request).has_done());
  CHECK(a.told() == "log DEBUG");
  CHECK(b.told() == "log DEBUG");
}

TEST_CASE_METHOD(steering_fixture,
                 "coordinator: a job ends as an operator asks", "[actor]") {
  run_two_leased();
  auto request = v1::OperatorRequest{};
  request.mutable_stop()->set_reason("enough");
  CHECK(ask(request).has_done());
  CHECK(status().outcome().reason()
        == "the job was stopped by alice (pid 7): enough");
  CHECK(ask(request).has_refusal());
}

TEST_CASE_METHOD(
  steering_fixture,
  "coordinator: a node whose machine goes is drained in its words", "[actor]") {
  run_two_leased();
  auto notice = v1::NodeNotice{};
  notice.set_agent_id("2");
  notice.set_words("spot:\n\x1b[31mterminate" + std::string(999, 'x'));
  send(a.handle, uut, notice); // Not of this agent.
  CHECK(b.told().empty());
  send(b.handle, uut, notice);
  CHECK(b.told() == "drain in 60000 ms");
  CHECK(a.told().empty());
  const auto now = status();
  CHECK(now.agents(1).state() == "draining");
  CHECK(now.agents(1).reason().starts_with(
    "leaves, as the notice on node-2 (\"spot: terminatexxx"));
  send(b.handle, uut, notice);
  CHECK(b.told().empty());
}

} // namespace actorrun::test::coordinator_steering_test
