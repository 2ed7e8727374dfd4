// The coordinator and agents of other processes: links, probes and leases.

#include "actors/operator_questions.hpp"
#include "tests/actors/coordinator_fixture.hpp"

namespace actorrun::test::coordinator_links_test {

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent of another process gets a lease",
                 "[actors]") {
  a = remote();
  CHECK(join(a, "1") == "accepted, every 300 ms, fence 900 ms");
  CHECK(links->told().empty());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: a keep-alive is answered with its own stamp",
                 "[actors]") {
  a = remote();
  join(a, "1");
  keep_alive(a, "1", 12'345);
  CHECK(a.told() == "granted 12345");
  keep_alive(a, "2", 12'346); // An unknown agent gets no grant.
  CHECK(a.told().empty());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent is lost when its lease has run out",
                 "[actors]") {
  run_two_leased();
  advance(300ms);
  keep_alive(a, "1", 1);
  keep_alive(b, "2", 1);
  advance(1'199ms);
  keep_alive(a, "1", 2);
  a.told();
  CHECK(status().agents_size() == 2);
  advance(1ms);
  CHECK(a.told() == "revoked 1: agent 2 lost: silent for 1200 ms");
  CHECK(links->told() == "sever 2");
  keep_alive(b, "2", 2);
  CHECK(b.told() == "granted 1"); // The earlier answer, and no other.
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: what links answer renews leases, until they end",
                 "[actors]") {
  const auto hear = [this](const std::string& id, int64_t stamp) {
    return leases->hear({id}, core::time_point{core::duration{stamp}},
                        system.clock().now());
  };
  CHECK_FALSE(hear("1", 1));
  run_two_leased();
  advance(600ms);
  CHECK(hear("1", 1));
  advance(600ms);
  CHECK(a.told() == "revoked 1: agent 2 lost: silent for 1200 ms");
  CHECK_FALSE(hear("2", 1));
  CHECK(hear("1", 2));
  CHECK(status().agents(0).lease_age_ms() == 0);
  advance(1'199ms);
  CHECK(leases->hold()->heard({"1"}));
  advance(1ms);
  CHECK_FALSE(hear("1", 3));
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: no agent is answered after its end",
                 "[actors]") {
  run_two_leased();
  caf::anon_send_exit(uut, caf::exit_reason::kill);
  run();
  CHECK_FALSE(leases->hold()->heard({"1"}));
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: one that was stopped itself does not call its "
                 "agents silent",
                 "[actors]") {
  run_two_leased();
  sleep_over(60s);
  CHECK(a.told().empty());
  keep_alive(a, "1", 1);
  keep_alive(b, "2", 1);
  advance(300ms);
  CHECK(a.told() == "granted 1");
  CHECK(status().agents_size() == 2);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: when a link breaks, the agent keeps its place",
                 "[actors]") {
  run_two_leased();
  end(b.handle);
  CHECK(links->told() == "probe 2 at 7000");
  CHECK(a.told().empty());
  const auto seen = status();
  REQUIRE(seen.agents_size() == 2);
  CHECK(seen.agents(0).connected());
  CHECK_FALSE(seen.agents(1).connected());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: a machine proves that an agent has ended",
                 "[actors]") {
  run_two_leased();
  end(b.handle);
  CHECK(links->told() == "probe 2 at 7000");
  CHECK(a.told().empty());
  links->answer_gone();
  run();
  CHECK(a.told()
        == "revoked 1: agent 2 lost: its host confirms that the agent and its "
           "workers are dead");
  CHECK(links->told() == "sever 2");
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: evidence against an agent that is back is ignored",
  "[actors]") {
  run_two_leased();
  end(b.handle);
  b = remote();
  auto again = request("2");
  claim(again, 1, v1::SHARE_RUNNING);
  send(b.handle, uut, again);
  CHECK(b.told() == "accepted, every 300 ms, fence 900 ms");
  links->answer_gone();
  run();
  CHECK(a.told().empty());
  CHECK(status().agents_size() == 2);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent without a port is not probed",
                 "[actors]") {
  a = remote();
  auto hidden = request("1");
  hidden.mutable_offer()->set_liveness_port(0);
  send(a.handle, uut, hidden);
  end(a.handle);
  CHECK(links->told().empty());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent may join again before the end of its "
                 "last link is known",
                 "[actors]") {
  run_two_leased();
  CHECK(join(b, "2")
        == "accepted, every 300 ms, fence 900 ms; formed 1: ranks 2-3 of 4");
  links->told();
  CHECK(status().agents(1).connected());
  end(b.handle);
  CHECK(links->told() == "probe 2 at 7000");
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: the next link of an agent takes the place of the "
  "last, whose end is no news then",
  "[actors]") {
  run_two_leased();
  const auto last = b;
  b = remote();
  CHECK(join(b, "2")
        == "accepted, every 300 ms, fence 900 ms; formed 1: ranks 2-3 of 4");
  end(last.handle);
  CHECK(links->told().empty());
  CHECK(status().agents(1).connected());
  const auto before = dropped_message_count.load();
  failed(a, "1", 1);
  CHECK(dropped_message_count == before);
  CHECK_FALSE(b.told().empty());
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: an agent that comes back too late learns that it was lost",
  "[actors]") {
  run_two_leased();
  end(b.handle);
  advance(300ms);
  keep_alive(a, "1", 1);
  advance(900ms); // The lease of `2` began when it joined.
  CHECK(a.told() == "granted 1; revoked 1: agent 2 lost: silent for 1200 ms");
  b = remote();
  auto again = request("2");
  claim(again, 1, v1::SHARE_STOPPING);
  send(b.handle, uut, again);
  CHECK(b.told()
        == "accepted, every 300 ms, fence 900 ms; revoked 1: the generation is "
           "over");
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: the end of an agent that was rejected is ignored", "[actors]") {
  a = remote();
  auto wrong = request("1");
  wrong.mutable_settings()->set_restart_count_max(9);
  send(a.handle, uut, wrong);
  CHECK(a.told().starts_with("rejected: settings_mismatch"));
  end(a.handle);
  CHECK(links->told().empty());
}

namespace {

/// Whose coordinator is missed after 0.4 s.
struct impatient_fixture : coordinator_fixture {
  impatient_fixture()
    : coordinator_fixture({2, 2, 1},
                          std::make_shared<shared_lease_desk>(nullptr, 400ms)) {
  }
};

} // namespace

TEST_CASE_METHOD(impatient_fixture,
                 "coordinator: N5 whatever it decides or answers is a sign of "
                 "life",
                 "[actors]") {
  run_two_leased();
  const auto is_missed
    = [this] { return leases->wants_sign(system.clock().now()); };
  CHECK_FALSE(is_missed());
  advance(250ms);
  CHECK(is_missed());
  started(a, "1", 1);
  CHECK_FALSE(is_missed());
  advance(250ms);
  CHECK(is_missed());
  auto answer_count = 0;
  tell_anonymously(uut,
                   operator_question{.what = own_node_request(),
                                     .reply = [&](const v1::OperatorReply&) {
                                       ++answer_count;
                                     }});
  run();
  CHECK(answer_count == 1);
  CHECK_FALSE(is_missed());
}

} // namespace actorrun::test::coordinator_links_test
