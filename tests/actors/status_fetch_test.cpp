#include "actors/status_fetch.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/recorder.hpp"

#include <caf/event_based_actor.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::test::status_fetch_test {

namespace {

/// Stands in for a coordinator: a test gives its answers.
struct asked_coordinator {
  struct question {
    v1::StatusRequest what;
    caf::typed_response_promise<v1::JobStatus> answer;
  };

  rendezvous_coordinator_actor handle;
  caf::event_based_actor* self = nullptr;
  std::shared_ptr<std::deque<question>> open
    = std::make_shared<std::deque<question>>();
};

/// For a test that acts for an actor when it is not its turn: it has no context then.
template <class Pointer, class Handle>
Pointer pointer_to(const Handle& x) {
  return dynamic_cast<Pointer>(caf::actor_cast<caf::abstract_actor*>(x));
}

struct fetch_fixture : actor_fixture {
  fetch_fixture() {
    keep(agent.handle);
    run();
    asker = pointer_to<node_agent_actor::pointer>(agent.handle);
    uut.emplace(asker, 2s);
  }

  asked_coordinator coordinator() {
    auto out = asked_coordinator{};
    const auto actor = keep(system.spawn(
      [open = out.open](caf::event_based_actor* self) -> caf::behavior {
        return {[=](const v1::StatusRequest& x) -> caf::result<v1::JobStatus> {
          auto answer = self->make_response_promise<v1::JobStatus>();
          open->push_back({x, answer});
          return answer;
        }};
      }));
    out.handle = caf::actor_cast<rendezvous_coordinator_actor>(actor);
    out.self = pointer_to<caf::event_based_actor*>(actor);
    return out;
  }

  /// Asks, and writes down what comes under this name.
  void get(const asked_coordinator& from, const std::string& name,
           bool for_watch = false) {
    get(from, for_watch, [this, name](const shared_status& x) {
      came.write(name + " " + (x ? x->whole->phase() : "nothing"));
    });
    run();
  }

  void get(const asked_coordinator& from, bool for_watch,
           status_fetch::sink to) {
    asker->context(nullptr);
    uut->get(from.handle, for_watch, std::move(to));
  }

  /// Answers the oldest question.
  void answer(const asked_coordinator& from, v1::JobStatus x) {
    REQUIRE_FALSE(from.open->empty());
    auto to = from.open->front().answer;
    from.open->pop_front();
    from.self->context(nullptr);
    to.deliver(std::move(x));
    run();
  }

  void answer(const asked_coordinator& from, const std::string& phase) {
    auto x = v1::JobStatus{};
    x.set_phase(phase);
    answer(from, x);
  }

  recorder came;
  agent_recorder agent = record_agent(system);
  asked_coordinator first = coordinator();
  node_agent_actor::pointer asker = nullptr; ///< Asks; the agent.
  std::optional<status_fetch> uut{};
};

v1::JobStatus page(uint64_t snapshot, uint32_t index, uint32_t count) {
  auto out = v1::JobStatus{};
  out.mutable_page()->set_snapshot(snapshot);
  out.mutable_page()->set_index(index);
  out.mutable_page()->set_count(count);
  return out;
}

} // namespace

TEST_CASE_METHOD(fetch_fixture, "status fetch: one question, one answer",
                 "[actors]") {
  get(first, "a");
  REQUIRE(first.open->size() == 1);
  CHECK_FALSE(first.open->front().what.for_watch());
  CHECK(first.open->front().what.snapshot() == 0);
  CHECK(came.is_empty());
  answer(first, "running");
  CHECK(came.told() == "a running");
  CHECK(first.open->empty());
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: who asks meanwhile waits for a newer status, "
                 "together with others",
                 "[actors]") {
  get(first, "a");
  get(first, "b");
  get(first, "c");
  CHECK(first.open->size() == 1);
  answer(first, "starting");
  CHECK(came.told() == "a starting");
  CHECK(first.open->size() == 1);
  answer(first, "running");
  CHECK(came.told() == "b running; c running");
  CHECK(first.open->empty());
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: what is on its way will do for a viewer",
                 "[actors]") {
  get(first, "a");
  get(first, "viewer", true);
  answer(first, "running");
  CHECK(came.told() == "a running; viewer running");
  CHECK(first.open->empty());
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: a question is for a viewer if all that wait "
                 "for it are viewers",
                 "[actors]") {
  get(first, "viewer", true);
  CHECK(first.open->front().what.for_watch());
  get(first, "a");
  get(first, "viewer 2", true);
  answer(first, "starting");
  CHECK(came.told() == "viewer starting; viewer 2 starting");
  CHECK_FALSE(first.open->front().what.for_watch());
  answer(first, "running");
  CHECK(came.told() == "a running");
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: after another coordinator has taken over, that "
                 "one is asked",
                 "[actors]") {
  const auto second = coordinator();
  get(first, "viewer", true);
  get(second, "viewer 2", true);
  CHECK(second.open->empty());
  SECTION("the first one has answered") {
    answer(first, "starting");
    CHECK(came.told() == "viewer starting");
  }
  SECTION("the first one has ended") {
    end(first.handle);
    advance(2s);
    CHECK(came.told() == "viewer nothing");
  }
  REQUIRE(second.open->size() == 1);
  CHECK(second.open->front().what.for_watch());
  answer(second, "running");
  CHECK(came.told() == "viewer 2 running");
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: a viewer does not make others viewers",
                 "[actors]") {
  const auto second = coordinator();
  get(first, "a");
  get(second, "b");
  get(second, "viewer", true);
  answer(first, "starting");
  REQUIRE(second.open->size() == 1);
  CHECK_FALSE(second.open->front().what.for_watch());
  answer(second, "running");
  CHECK(came.told() == "a starting; b running; viewer running");
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: a coordinator that is silent costs its time, "
                 "for each page",
                 "[actors]") {
  get(first, "a");
  advance(1'999ms);
  answer(first, page(1, 0, 2));
  advance(1'999ms);
  CHECK(came.is_empty());
  get(first, "b");
  advance(1ms);
  CHECK(came.told() == "a nothing");
  REQUIRE(first.open->size() == 2); // The silent one's, and that for the other.
  CHECK(first.open->back().what.snapshot() == 0); // It begins anew.
  answer(first, page(1, 1, 2));                   // Too late.
  CHECK(came.is_empty());
  answer(first, "running");
  CHECK(came.told() == "b running");
}

TEST_CASE_METHOD(fetch_fixture, "status fetch: pages are put together",
                 "[actors]") {
  get(first, "a", true);
  auto x = page(7, 0, 2);
  x.set_phase("running");
  answer(first, x);
  REQUIRE(first.open->size() == 1);
  CHECK(first.open->front().what.snapshot() == 7);
  CHECK(first.open->front().what.page() == 1);
  CHECK(first.open->front().what.for_watch());
  CHECK(came.is_empty());
  get(first, "viewer", true); // Joins in the middle.
  answer(first, page(7, 1, 2));
  CHECK(came.told() == "a running; viewer running");
  get(first, "b");
  CHECK(first.open->front().what.snapshot() == 0); // Nothing is left of it.
  answer(first, "stopping");
  CHECK(came.told() == "b stopping");
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: pages that do not belong together are nothing, "
                 "and the next question is asked",
                 "[actors]") {
  get(first, "a");
  get(first, "b");
  answer(first, page(7, 0, 3));
  answer(first, page(8, 1, 3));
  CHECK(came.told() == "a nothing");
  answer(first, page(7, 3, 3));
  CHECK(came.told() == "b nothing");
  CHECK(first.open->empty());
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: who gets an answer may ask again at once",
                 "[actors]") {
  get(first, false, [this](const shared_status& x) {
    came.write("a " + x->whole->phase());
    uut->get(first.handle, false, [this](const shared_status& y) {
      came.write("again " + y->whole->phase());
    });
  });
  run();
  SECTION("alone") {
    answer(first, "starting");
    CHECK(came.told() == "a starting");
    answer(first, "running");
    CHECK(came.told() == "again running");
  }
  SECTION("while another waits") {
    get(first, "b");
    answer(first, "starting");
    answer(first, "running");
    CHECK(came.told() == "a starting; b running");
    answer(first, "stopping");
    CHECK(came.told() == "again stopping");
  }
  CHECK(first.open->empty());
}

TEST_CASE_METHOD(fetch_fixture,
                 "status fetch: a bounded number waits; others get nothing at "
                 "once",
                 "[actors]") {
  constexpr auto waiting_max = 1'024;
  auto count = 0;
  const auto ask = [&](bool for_watch) {
    get(first, for_watch,
        [&count](const shared_status& x) { count += x ? 1 : 0; });
  };
  for (auto i = 0; i < waiting_max; ++i) // The first one, and viewers.
    ask(i != 0);
  for (auto i = 0; i < waiting_max; ++i)
    ask(false);
  get(first, "viewer", true);
  get(first, "late");
  CHECK(came.told() == "viewer nothing; late nothing");
  answer(first, "starting");
  CHECK(count == waiting_max);
  answer(first, "running");
  CHECK(count == 2 * waiting_max);
  get(first, "a");
  answer(first, "stopping");
  CHECK(came.told() == "a stopping");
}

} // namespace actorrun::test::status_fetch_test
