// Tests when a node begins a job that its host has a memo of.
#include "actors/core/succession/beginning.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <string>

namespace actorrun::test::beginning_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

const auto n1 = agent_id{"node1-1-abcd"};
const auto n2 = agent_id{"node2-2-abcd"};
const auto n3 = agent_id{"node3-3-abcd"};
const auto n4 = agent_id{"node4-4-abcd"};

endpoint_list three() {
  return {
    {n1, "10.0.0.1:41001"}, {n2, "10.0.0.2:41002"}, {n3, "[fd00::3]:41003"}};
}

struct fixture {
  using millis = std::chrono::milliseconds;

  beginning uut{three()};
  arm_timer armed{};

  std::string at(millis t, const beginning_event& event) {
    auto trace = std::string{};
    for (const auto& x : uut.step(event, time_point{t})) {
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed = *timer;
      trace += (trace.empty() ? "" : "; ") + to_string(x);
    }
    return trace;
  }

  std::string survey(millis t, std::string address,
                     std::vector<std::string> present = {},
                     endpoint_list voters = {}) {
    return at(t, host_surveyed{{{},
                                {"127.0.0.1", std::move(address)},
                                std::move(present),
                                std::move(voters)}});
  }

  /// As its machine says what it has left behind.
  std::string proof(millis t, const agent_id& of, endpoint_list knew = {}) {
    return at(t,
              process_examined{of, tombstone{.term = 1,
                                             .charter = written_charter{
                                               .endpoints = std::move(knew)}}});
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "beginning: all agents of the memo are asked for, "
                 "again and again",
                 "[core]") {
  CHECK(at(0ms, beginning_started{})
        == "survey_host; examine node1-1-abcd; examine node2-2-abcd; examine "
           "node3-3-abcd; arm_timer");
  CHECK(armed.due == time_point{200ms});
  const auto first = armed;
  survey(10ms, "10.0.0.1");
  CHECK(at(200ms, timer_fired{first.timer})
        == "survey_host; examine node2-2-abcd; examine node3-3-abcd; "
           "arm_timer");
  CHECK(at(201ms, timer_fired{first.timer}) == ""); // It is stale.
}

TEST_CASE_METHOD(fixture,
                 "beginning: it begins once all hosts have shown that their "
                 "agents have ended",
                 "[core]") {
  at(0ms, beginning_started{});
  CHECK(survey(1ms, "10.0.0.1") == "");
  CHECK(survey(2ms, "fd00::3") == "");
  CHECK(uut.awaited() == endpoint_list{{n2, "10.0.0.2:41002"}});
  CHECK(uut.is_waiting());
  CHECK(survey(3ms, "10.0.0.2") == "begin_job");
  CHECK_FALSE(uut.is_waiting());
  CHECK(survey(4ms, "10.0.0.2") == "");
  CHECK(at(200ms, timer_fired{armed.timer}) == "");
}

TEST_CASE_METHOD(fixture, "beginning: an agent that is on its host may live",
                 "[core]") {
  survey(1ms, "10.0.0.1");
  survey(1ms, "fd00::3");
  CHECK(survey(2ms, "10.0.0.2", {"x-9-abcd", "de2-2-abcd"}) == "");
  CHECK(uut.is_waiting());
  CHECK(survey(3ms, "10.0.0.2", {""}) == ""); // Any may be this one.
  CHECK(survey(4ms, "10.0.0.2", {"x-9-abcd"}) == "begin_job");
}

TEST_CASE_METHOD(fixture,
                 "beginning: a host says nothing of the agents of another one",
                 "[core]") {
  survey(1ms, "10.0.0.1");
  survey(1ms, "fd00::3");
  CHECK(survey(2ms, "10.0.0.20") == "");
  CHECK(survey(3ms, "10.0.0.2:41002") == "");
  CHECK(uut.awaited().size() == 1);
}

TEST_CASE_METHOD(fixture,
                 "beginning: tombstones are proofs, and their absence "
                 "is none",
                 "[core]") {
  CHECK(at(1ms, process_examined{n1}) == "");
  CHECK(uut.awaited().size() == 3);
  CHECK(proof(2ms, n1) == "");
  CHECK(at(3ms, process_examined{n2, tombstone{}}) == "");
  CHECK(proof(4ms, n3) == "begin_job");
}

TEST_CASE_METHOD(fixture, "beginning: whom the dead knew must have ended, too",
                 "[core]") {
  proof(1ms, n1, three());
  CHECK(uut.awaited().size() == 2);
  proof(2ms, n2, {{n4, "10.0.0.4:41004"}});
  CHECK(proof(3ms, n3) == "");
  CHECK(uut.awaited() == endpoint_list{{n4, "10.0.0.4:41004"}});
  CHECK(survey(4ms, "10.0.0.4") == "begin_job");
}

TEST_CASE_METHOD(fixture,
                 "beginning: so must those that memos of other hosts name",
                 "[core]") {
  survey(1ms, "10.0.0.1");
  survey(1ms, "fd00::3");
  CHECK(survey(2ms, "10.0.0.2", {}, {{n4, "10.0.0.4:41004"}}) == "");
  CHECK(uut.awaited() == endpoint_list{{n4, "10.0.0.4:41004"}});
  CHECK(proof(3ms, n4) == "begin_job");
}

TEST_CASE_METHOD(fixture,
                 "beginning: a memo on the same host may name another "
                 "agent of it",
                 "[core]") {
  auto own = beginning{{{n1, "10.0.0.1:41001"}}};
  const auto now = time_point{1ms};
  const auto more = endpoint_list{{n4, "10.0.0.1:41004"}};
  const auto out
    = own.step(host_surveyed{{{}, {"10.0.0.1"}, {"node4-4-abcd"}, more}}, now);
  CHECK(out.empty());
  CHECK(own.awaited() == more);
}

TEST_CASE_METHOD(fixture,
                 "beginning: those that live and look for a coordinator here "
                 "have none",
                 "[core]") {
  const auto seeks = [this](millis t, const agent_id& who) {
    return at(t, host_surveyed{{who, {}, {who.value}, three()}});
  };
  survey(1ms, "10.0.0.1");
  CHECK(seeks(1'000ms, n2) == "");
  CHECK(seeks(1'000ms, n4) == ""); // Was never named.
  CHECK(seeks(4'000ms, n3) == ""); // n2 may have found one meanwhile.
  CHECK(seeks(4'500ms, n2) == "begin_job");
}

TEST_CASE_METHOD(fixture,
                 "beginning: a seed that has begun nothing is not waited for, "
                 "and has not ended either",
                 "[core]") {
  survey(1ms, "10.0.0.1");
  proof(2ms, n3);
  CHECK(at(3ms, host_surveyed{{.newborn = n4}}) == ""); // Was never named.
  CHECK(at(4ms, host_surveyed{{.newborn = n2}}) == "begin_job");
  CHECK(uut.settled(time_point{4ms}) == std::set{n1, n3});
}

TEST_CASE_METHOD(fixture,
                 "beginning: one that is left without a coordinator is settled "
                 "for a while",
                 "[core]") {
  at(1ms, host_surveyed{{.seeker = n2}});
  CHECK(uut.settled(time_point{2ms}) == std::set{n2});
  CHECK(uut.settled(time_point{3'001ms}).empty());
}

TEST_CASE_METHOD(fixture,
                 "beginning: whom one that looks for a coordinator knows may "
                 "have one",
                 "[core]") {
  auto own = beginning{{{n1, "10.0.0.1:41001"}, {n2, "10.0.0.2:41002"}}};
  CHECK(own.step(host_surveyed{{{}, {"10.0.0.1"}}}, {}).empty());
  CHECK(own.step(host_surveyed{{n2, {}, {}, three()}}, {}).empty());
  CHECK(own.awaited().contains(n3));
}

TEST_CASE_METHOD(fixture, "beginning: a leader that is heard of is awaited",
                 "[core]") {
  at(1ms, voters_named{{{n4, "10.0.0.4:41004"}}});
  proof(2ms, n1);
  proof(2ms, n2);
  CHECK(proof(2ms, n3) == "");
  CHECK(uut.awaited().contains(n4));
}

TEST_CASE_METHOD(fixture, "beginning: who has found the job begins none",
                 "[core]") {
  CHECK(at(1ms, job_found{}) == "");
  CHECK_FALSE(uut.is_waiting());
  proof(2ms, n1);
  proof(2ms, n2);
  CHECK(proof(2ms, n3) == "");
}

TEST_CASE("beginning: an empty memo keeps no job from beginning", "[core]") {
  auto uut = beginning{{}};
  const auto out = uut.step(beginning_started{}, time_point{});
  REQUIRE(out.size() == 3);
  CHECK(to_string(out[2]) == "begin_job");
}

TEST_CASE("beginning: of more agents than are followed none is taken for dead",
          "[core]") {
  auto many = endpoint_list{};
  for (size_t i = 0; i < remembered_voters_max; ++i)
    many[{"n" + std::to_string(i)}] = "10.0.0.1:1";
  auto uut = beginning{many};
  auto one_more = uut;
  CHECK(uut.step(host_surveyed{{{}, {"10.0.0.1"}}}, {}).size() == 1);
  one_more.step(voters_named{{{n1, "10.0.0.9:1"}}}, {});
  CHECK(one_more.step(host_surveyed{{{}, {"10.0.0.1"}}}, {}).empty());
  CHECK(one_more.is_waiting());
  CHECK(one_more.waits_for({"f"}).find("more hosts than are followed")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "beginning: it says what it waits for, and what helps",
                 "[core]") {
  const auto text = uut.waits_for({"/run/b.memo", "/run/a.memo"});
  CHECK(text.find("at 10.0.0.1, 10.0.0.2 and fd00::3: ") != text.npos);
  CHECK(text.find("remove /run/a.memo and /run/b.memo and start") != text.npos);
  survey(1ms, "10.0.0.1");
  survey(1ms, "fd00::3");
  CHECK(uut.waits_for({"x"}).find("at 10.0.0.2: ") != text.npos);
}

TEST_CASE("beginning: the host of an endpoint", "[core]") {
  CHECK(host_of_endpoint("10.0.0.2:41000") == "10.0.0.2");
  CHECK(host_of_endpoint("[fd00::3]:41000") == "fd00::3");
  CHECK(host_of_endpoint("node-b:1") == "node-b");
}

} // namespace actorrun::test::beginning_test
