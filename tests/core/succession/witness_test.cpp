// Tests how a witness finds the leader of its job, and how a leader counts witnesses.
#include "actors/core/succession/witness.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>

namespace actorrun::test::witness_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

const auto w1 = agent_id{"node8-1-abcd"};
const auto w2 = agent_id{"node9-2-abcd"};
const auto n1 = agent_id{"node1-1-abcd"};

struct fixture {
  using millis = std::chrono::milliseconds;

  witness uut{{.seed_count = 2, .first_limit = 2s, .limit = 5s}};
  arm_timer armed{};

  std::string at(millis t, const witness_event& event) {
    auto trace = std::string{};
    for (const auto& x : uut.step(event, time_point{t})) {
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed = *timer;
      trace += (trace.empty() ? "" : "; ") + to_string(x);
    }
    return trace;
  }

  std::string fire() {
    const auto due
      = std::chrono::duration_cast<millis>(armed.due.time_since_epoch());
    return at(due, timer_fired{armed.timer});
  }

  /// Fires until it gives up. @returns when, in ms
  int64_t end_of_wait() {
    for (auto i = 0; i < 100; ++i)
      if (const auto due = armed.due; fire() == "give_up_watch")
        return std::chrono::duration_cast<millis>(due.time_since_epoch())
          .count();
    return -1;
  }
};

std::vector<voter_candidate> agents(std::vector<agent_id> ids) {
  auto out = std::vector<voter_candidate>{};
  for (auto& x : ids)
    out.push_back({.agent = x, .host = "10.0.0.1"});
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture,
                 "witness: it asks at one seed after the other until a leader "
                 "answers",
                 "[core]") {
  CHECK(at(0ms, witness_started{}) == "ask_for_leader at seed 0; arm_timer");
  CHECK(armed.due == time_point{300ms});
  CHECK(fire() == "ask_for_leader at seed 1; arm_timer");
  CHECK(fire() == "ask_for_leader at seed 0; arm_timer");
  CHECK(at(700ms, leader_confirmed{}) == "");
  CHECK(fire() == "ask_for_leader; arm_timer");
}

TEST_CASE_METHOD(fixture, "witness: one question at a time", "[core]") {
  at(0ms, witness_started{});
  const auto first = armed;
  fire();
  CHECK(at(301ms, timer_fired{first.timer}) == ""); // It is stale.
}

TEST_CASE_METHOD(fixture,
                 "witness: where no one answers any more it asks at the seeds, "
                 "too",
                 "[core]") {
  at(0ms, witness_started{});
  at(10ms, leader_confirmed{});
  for (auto i = 0; i < 3; ++i)
    CHECK(fire() == "ask_for_leader; arm_timer");
  CHECK(fire() == "ask_for_leader at seed 1; arm_timer"); // 1,200 ms
  at(1'210ms, leader_confirmed{});
  CHECK(fire() == "ask_for_leader; arm_timer");
}

TEST_CASE_METHOD(fixture, "witness: another leader hears of it at once",
                 "[core]") {
  at(0ms, witness_started{});
  at(10ms, leader_confirmed{});
  CHECK(at(20ms, leader_changed{}) == "ask_for_leader");
  CHECK(armed.due == time_point{300ms});
  CHECK(fire() == "ask_for_leader; arm_timer");
}

TEST_CASE_METHOD(fixture, "witness: it waits for the first answer in its time",
                 "[core]") {
  at(0ms, witness_started{});
  CHECK(end_of_wait() == 2'100);
}

TEST_CASE_METHOD(fixture,
                 "witness: it waits for a leader that is lost in another time",
                 "[core]") {
  at(0ms, witness_started{});
  at(1'000ms, leader_confirmed{});
  CHECK(end_of_wait() == 6'000);
  CHECK(fire() == ""); // It asks no more.
}

TEST_CASE("witness list: whoever asks is here for its lease", "[core]") {
  auto uut = witness_list{};
  uut.note(w1, "10.0.0.8:41000", time_point{0ms});
  const auto here = uut.beside({}, time_point{999ms});
  REQUIRE(here.size() == 1);
  CHECK(here[0]
        == voter_candidate{.agent = w1,
                           .host = "10.0.0.8",
                           .is_witness = true,
                           .endpoint = "10.0.0.8:41000"});
  CHECK(uut.contains(w1));
  CHECK(uut.beside({}, time_point{1'000ms}).empty());
  uut.note(w1, "10.0.0.8:41001", time_point{1'000ms});
  CHECK(uut.beside({}, time_point{1'999ms}).at(0).endpoint == "10.0.0.8:41001");
}

TEST_CASE("witness list: what has an agent's id is no witness", "[core]") {
  auto uut = witness_list{};
  uut.note(n1, "10.0.0.9:41000", time_point{0ms});
  uut.note(w1, "10.0.0.8:41000", time_point{0ms});
  const auto here = uut.beside(agents({n1}), time_point{0ms});
  REQUIRE(here.size() == 1);
  CHECK(here[0].agent == w1);
}

TEST_CASE("witness list: of more than can vote the first count", "[core]") {
  auto uut = witness_list{};
  for (size_t i = 0; i < witnesses_max; ++i)
    uut.note({"w" + std::to_string(i)}, "10.0.0.8:1", time_point{1ms});
  uut.note(w2, "10.0.0.9:1", time_point{2ms});
  CHECK(uut.beside({}, time_point{2ms}).size() == witnesses_max);
  CHECK_FALSE(uut.contains(w2));
  // Those that have been here for longer may come again, …
  uut.note({"w0"}, "10.0.0.8:2", time_point{900ms});
  CHECK(uut.contains({"w0"}));
  // … and those that have gone make room.
  uut.note(w2, "10.0.0.9:1", time_point{1'100ms});
  CHECK(uut.contains(w2));
  CHECK(uut.beside({}, time_point{1'100ms}).size() == 2);
}

TEST_CASE("witness list: two agents and a witness are three voters", "[core]") {
  auto here = std::vector<voter_candidate>{{.agent = n1, .host = "10.0.0.1"},
                                           {.agent = w2, .host = "10.0.0.2"}};
  CHECK(choose_voters(here, n1, {n1}).size() == 1);
  here.push_back(witness_at(w1, "10.0.0.8:41000"));
  CHECK(choose_voters(here, n1, {n1}).size() == 3);
  here.back() = witness_at(w1, "10.0.0.2:41000"); // On the host of an agent.
  CHECK(choose_voters(here, n1, {n1}).size() == 1);
}

} // namespace actorrun::test::witness_test
