#include "actors/job_status.hpp"
#include "actors/status_desk.hpp"
#include "messages/type_ids.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/chronicle_fixture.hpp"

#include <caf/event_based_actor.hpp>

namespace actorrun::test::status_desk_test {

using namespace actorrun::core;

namespace {

struct desk_fixture : actor_fixture {
  desk_fixture() { tell_news(); }

  /// Tells the desk what the journal has got since the last call.
  void tell_news() {
    const auto first = journal.records.begin() + int64_t(told);
    tell(job_recorded{{first, journal.records.end()}});
    told = journal.records.size();
  }

  template <class T>
  void tell(T x) {
    tell_anonymously(uut, std::move(x));
    run();
  }

  using picture = std::shared_ptr<shared_status>;

  /// Null as long as there is no answer.
  picture ask(bool for_watch = false, uint64_t number = 0) {
    auto out = std::make_shared<shared_status>();
    keep(system.spawn([=, this](caf::event_based_actor* self) -> caf::behavior {
      ask_without_limit(self, uut, status_wanted{number, for_watch})
        .then([out](const status_shown& x) { *out = x.what; });
      return {};
    }));
    run();
    return out;
  }

  /// Records a job of so many nodes.
  void gather(int count) {
    for (auto i = 0; i < count; ++i)
      journal.note(0ms, journal.join("n" + std::to_string(i)));
    tell_news();
  }

  std::shared_ptr<shared_lease_desk> leases
    = std::make_shared<shared_lease_desk>();
  chronicle_fixture journal;
  size_t told = 0;
  status_desk_actor uut = keep(spawn_status_desk(system, leases));
};

} // namespace

TEST_CASE_METHOD(desk_fixture, "status desk: it shows what was recorded",
                 "[actors]") {
  journal.run_noted();
  tell_news();
  const auto seen = ask();
  REQUIRE(*seen);
  auto shown = *(*seen)->whole;
  auto expected = status_of(journal.chronicle.now(), journal.moment_at(0ms));
  forget_ages(shown);
  forget_ages(expected);
  CHECK(shown.SerializeAsString() == expected.SerializeAsString());
  CHECK(shown.agents_size() == 3);
}

TEST_CASE_METHOD(desk_fixture, "status desk: viewers share a picture",
                 "[actors]") {
  journal.run_noted();
  tell_news();
  const auto first = ask(true);
  const auto second = ask(true);
  REQUIRE(*first);
  CHECK(*first == *second);
  advance(100ms); // Nothing has happened, but a picture must not grow old.
  const auto third = ask(true);
  REQUIRE(*third);
  CHECK(*third != *first);
  CHECK((*third)->news == (*first)->news);
}

TEST_CASE_METHOD(desk_fixture,
                 "status desk: an answer is never older than its question",
                 "[actors]") {
  journal.run_noted();
  tell_news();
  const auto before = ask();
  journal.note(1s, journal.failed("a", 1));
  tell_news();
  auto after = ask();
  advance(10ms); // Pictures are this far apart at most with so few nodes.
  REQUIRE(*after);
  CHECK((*before)->whole->phase() == "running");
  CHECK((*after)->whole->phase() == "stopping");
  CHECK((*after)->news != (*before)->news);
}

TEST_CASE_METHOD(desk_fixture,
                 "status desk: all that ask at about the same time wait for "
                 "one picture",
                 "[actors]") {
  gather(2'000);
  const auto first = ask();
  REQUIRE(*first);
  journal.note(1s, journal.join("late"));
  tell_news();
  const auto second = ask();
  const auto third = ask();
  CHECK_FALSE(*second);
  advance(199ms);
  CHECK_FALSE(*second);
  advance(1ms);
  REQUIRE(*second);
  CHECK(*second == *third);
  CHECK((*second)->whole->agents_size() == 2'001);
}

TEST_CASE_METHOD(desk_fixture,
                 "status desk: pages are kept for a while, and not for ever",
                 "[actors]") {
  gather(2'000);
  const auto first = ask();
  REQUIRE(*first);
  REQUIRE((*first)->pages->size() > 1);
  const auto number = (*first)->number;
  CHECK(*ask(false, number) == *first);
  for (auto i = 0; i < 4; ++i) {
    CHECK(*ask(false, number) == *first);
    journal.note(1s, journal.join("late-" + std::to_string(i)));
    tell_news();
    ask();
    advance(1s);
  }
  const auto gone = ask(false, number);
  advance(1s);
  REQUIRE(*gone);
  CHECK(*gone != *first);
}

TEST_CASE_METHOD(desk_fixture, "status desk: at its end, who waits is answered",
                 "[actors]") {
  gather(2'000);
  ask();
  journal.note(1s, journal.join("late"));
  tell_news();
  const auto waiting = ask();
  CHECK_FALSE(*waiting);
  tell(desk_closed{});
  REQUIRE(*waiting);
  CHECK((*waiting)->whole->agents_size() == 2'001);
}

} // namespace actorrun::test::status_desk_test
