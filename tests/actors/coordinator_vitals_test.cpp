// Tests how the coordinator asks its agents how they are doing, and what it
// shows of that.
#include "tests/actors/coordinator_fixture.hpp"
#include "tests/support/fake_node_vitals.hpp"

#include <cstdint>
#include <string>

namespace actorrun::test::coordinator_vitals_test {

namespace {

struct vitals_fixture : coordinator_fixture {
  static v1::NodeStatus node_of(const std::string& id,
                                const core::node_vitals& x,
                                uint64_t number = 0) {
    auto out = v1::NodeStatus{};
    out.set_agent_id(id);
    out.set_request(number);
    add_vitals(out, x);
    return out;
  }

  /// Two agents of which the coordinator knows nothing; none answers.
  void run_two_silent() {
    run_two();
    a.status->reset();
    b.status->reset();
  }

  void reply(const agent_recorder& from, const v1::NodeStatus& x) {
    send(from.handle, uut, x);
  }

  /// The memory of an agent's first worker; 0: not known.
  static uint64_t memory_of(const v1::JobStatus& x, int agent) {
    const auto& vitals = x.agents(agent).vitals();
    return vitals.workers_size() == 0 ? 0 : vitals.workers(0).memory();
  }
};

} // namespace

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: the status has how nodes and workers are doing",
                 "[actors]") {
  run_two();
  *a.status = node_of("1", vitals_of({100, 101}, 7));
  *b.status = node_of("2", {});
  const auto seen = status();
  const auto& vitals = seen.agents(0).vitals();
  CHECK(vitals.load_1_percent() == 52);
  CHECK(vitals.cpu_count() == 64);
  CHECK(vitals.memory_total() == 8'192);
  CHECK(vitals.memory_available() == 4'096);
  CHECK(vitals.age_ms() == 0);
  REQUIRE(vitals.workers_size() == 2);
  CHECK(vitals.workers(1).pid() == 101);
  CHECK(vitals.workers(1).memory() == 7);
  CHECK_FALSE(vitals.workers(1).has_cpu_percent());
  CHECK(seen.agents(1).has_vitals());
  CHECK_FALSE(seen.agents(1).vitals().has_cpu_count());
  CHECK_FALSE(seen.vitals_truncated());
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: an agent that never answers costs half a second "
                 "and its vitals",
                 "[actors]") {
  run_two_silent();
  *a.status = node_of("1", vitals_of({100, 101}, 7));
  const auto seen = ask_status(uut);
  advance(499ms);
  CHECK_FALSE(seen->has_value());
  advance(1ms);
  REQUIRE(seen->has_value());
  CHECK(memory_of(**seen, 0) == 7);
  CHECK((*seen)->agents(0).vitals().age_ms() == 500);
  CHECK_FALSE((*seen)->agents(1).has_vitals());
  CHECK((*seen)->agents(1).pids_size() == 2);
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: operators that ask during a round wait for the "
                 "same answers",
                 "[actors]") {
  run_two_silent();
  const auto first = ask_status(uut);
  advance(300ms);
  const auto second = ask_status(uut);
  CHECK(a.asked->size() == 1);
  reply(a, node_of("1", vitals_of({100}, 7), 1));
  CHECK_FALSE(first->has_value());
  reply(b, node_of("2", vitals_of({200}, 8), 1));
  REQUIRE(first->has_value());
  REQUIRE(second->has_value());
  CHECK(memory_of(**first, 1) == 8);
  CHECK(memory_of(**second, 1) == 8);
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: operators that ask within half a second get the "
                 "last answers",
                 "[actors]") {
  run_two();
  *a.status = node_of("1", vitals_of({100}, 7));
  CHECK(memory_of(status(), 0) == 7);
  *a.status = node_of("1", vitals_of({100}, 8));
  advance(499ms);
  const auto again = status();
  CHECK(memory_of(again, 0) == 7);
  CHECK(again.agents(0).vitals().age_ms() == 499);
  CHECK(a.asked->size() == 1);
  advance(1ms);
  CHECK(memory_of(status(), 0) == 8);
  CHECK(*a.asked == std::vector<uint64_t>{1, 2});
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: an agent answers for itself only", "[actors]") {
  run_two_silent();
  const auto seen = ask_status(uut);
  reply(a, node_of("1", vitals_of({100}, 7), 1));
  const auto dropped = dropped_message_count.load();
  reply(a, node_of("2", vitals_of({200}, 9), 1));
  CHECK(dropped_message_count == dropped + 1);
  CHECK_FALSE(seen->has_value()); // It still waits for the other.
  advance(500ms);
  REQUIRE(seen->has_value());
  CHECK(memory_of(**seen, 0) == 7);
  CHECK_FALSE((*seen)->agents(1).has_vitals());
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: of an agent that answers twice the first answer "
                 "counts",
                 "[actors]") {
  run_two_silent();
  const auto seen = ask_status(uut);
  reply(a, node_of("1", vitals_of({100}, 7), 1));
  const auto dropped = dropped_message_count.load();
  reply(a, node_of("1", vitals_of({100}, 8), 1));
  CHECK(dropped_message_count == dropped + 1);
  CHECK_FALSE(seen->has_value());
  reply(b, node_of("2", {}, 1));
  REQUIRE(seen->has_value());
  CHECK(memory_of(**seen, 0) == 7);
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: answers that were not asked for are ignored",
                 "[actors]") {
  run_two_silent();
  for (const auto number : {uint64_t{0}, uint64_t{1}, UINT64_MAX})
    reply(a, node_of("1", vitals_of({100}, 9), number));
  reply(a, node_of("9", vitals_of({100}, 9), 1));
  const auto seen = ask_status(uut);
  reply(a, node_of("1", vitals_of({100}, 9), 2)); // The next round's.
  advance(500ms);
  REQUIRE(seen->has_value());
  CHECK_FALSE((*seen)->agents(0).has_vitals());
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: an answer that comes late is shown by the next "
                 "status",
                 "[actors]") {
  run_two_silent();
  const auto first = ask_status(uut);
  advance(600ms);
  CHECK(first->has_value());
  reply(b, node_of("2", vitals_of({200}, 8), 1));
  const auto second = status();
  CHECK(memory_of(second, 1) == 8);
  CHECK(b.asked->size() == 1); // The round has just ended.
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: operators get their answer when the job ends",
                 "[actors]") {
  run_two_silent();
  const auto seen = ask_status(uut);
  succeeded(a, "1", 1);
  succeeded(b, "2", 1);
  leave(a, "1", true);
  CHECK_FALSE(seen->has_value());
  leave(b, "2", true);
  CHECK(closed->size() == 1);
  CHECK(seen->has_value());
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: an agent whose link breaks is not awaited",
                 "[actors]") {
  run_two_silent();
  *a.status = node_of("1", vitals_of({100}, 7));
  const auto seen = ask_status(uut);
  CHECK_FALSE(seen->has_value());
  end(b.handle);
  REQUIRE(seen->has_value());
  CHECK(memory_of(**seen, 0) == 7);
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: only processes that the agent has reported as "
                 "its workers are shown",
                 "[actors]") {
  run_two();
  *a.status = node_of("1", vitals_of({99, 101, 102}, 7));
  const auto seen = status();
  REQUIRE(seen.agents(0).vitals().workers_size() == 1);
  CHECK(seen.agents(0).vitals().workers(0).local_rank() == 1);
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: a status that is larger than a message comes in "
                 "pages of one moment",
                 "[actors]") {
  a = local();
  constexpr auto slot_count = 2'200;
  auto pids = std::vector<int64_t>{};
  for (auto i = 0; i < slot_count; ++i)
    pids.push_back(1'000'000 + i);
  const auto id = [](int i) { return std::to_string(1'000 + i); };
  for (auto i = 0; i < 4; ++i) {
    auto offered = request("1");
    offered.mutable_offer()->set_agent_id(id(i));
    offered.mutable_offer()->set_slot_count(slot_count);
    send(a.handle, uut, offered);
  }
  for (auto i = 0; i < 2; ++i) {
    auto x = v1::WorkersStarted{};
    x.set_agent_id(id(i));
    x.set_generation(1);
    x.mutable_pids()->Assign(pids.begin(), pids.end());
    send(a.handle, uut, x);
  }
  const auto first = ask_status(uut);
  for (auto i = 0; i < 4; ++i)
    reply(a, node_of(id(i), vitals_of(pids, 1), 1));
  REQUIRE(first->has_value());
  CHECK((*first)->page().count() > 1);
  // What happens meanwhile is in no page.
  const auto seen = whole(first, [&] { leave(a, id(3), true); });
  REQUIRE(seen.agents_size() == 4);
  CHECK_FALSE(seen.truncated());
  CHECK_FALSE(seen.vitals_truncated());
  CHECK(seen.agents(0).pids_size() == slot_count);
  CHECK(seen.agents(0).vitals().workers_size() == slot_count);
  CHECK(seen.agents(1).vitals().workers_size() == slot_count);
  CHECK(seen.agents(3).vitals().cpu_count() == 64);
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: a node that shows only some of its workers is "
                 "marked",
                 "[actors]") {
  run_two();
  auto some = vitals_of({100}, 7);
  some.truncated = true;
  *a.status = node_of("1", some);
  CHECK(status().vitals_truncated());
}

TEST_CASE_METHOD(vitals_fixture,
                 "coordinator: a bounded number of operators wait for a round",
                 "[actors]") {
  run_two_silent();
  auto waiting = std::vector<actor_fixture::answer>{};
  for (auto i = 0; i < 256; ++i)
    waiting.push_back(ask_status(uut));
  CHECK_FALSE(waiting.back()->has_value());
  CHECK(ask_status(uut)->has_value());
  advance(500ms);
  for (const auto& x : waiting)
    CHECK(x->has_value());
}

} // namespace actorrun::test::coordinator_vitals_test
