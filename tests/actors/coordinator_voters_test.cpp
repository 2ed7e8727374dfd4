// Tests that what an elected coordinator has decided is not seen before voters have
// stored what it follows from (decision 0061, rule 7).
#include "tests/actors/coordinator_fixture.hpp"

#include <memory>
#include <optional>

namespace actorrun::test::coordinator_voters_test {

namespace {

/// What its coordinator says to the voters.
struct voters {
  core::charter job;
  uint64_t change = 0;   ///< The latest.
  bool lead = true;      ///< They have elected no other coordinator.
  core::duration age{0}; ///< Since they have confirmed that.
};

struct elected_fixture : coordinator_fixture {
  explicit elected_fixture(const core::coordinator_started& beginning = {})
    : elected_fixture{beginning, std::make_shared<voters>()} {}

  /// They have stored the latest charter, or an earlier one.
  void store() { store(asked->change); }
  void store(uint64_t change) {
    tell_anonymously(uut, core::charter_written{change});
    run();
  }

  bool shows_end() {
    auto out = std::make_shared<bool>(false);
    tell_anonymously(
      uut, electors_question{
             {{"1"}}, [out](const electors_answer& x) { *out = x.has_ended; }});
    run();
    return *out;
  }

  /// Generation 1 runs.
  void run_two_elected() {
    a = local();
    b = local();
    join(a, "1");
    join(b, "2");
    store();
    started(a, "1", 1);
    started(b, "2", 1);
    a.told();
    b.told();
  }

  std::shared_ptr<voters> asked;

private:
  static leadership_age age_of(const std::shared_ptr<voters>& x) {
    return [x] { return x->lead ? std::optional{x->age} : std::nullopt; };
  }

  elected_fixture(const core::coordinator_started& beginning,
                  std::shared_ptr<voters> to)
    : coordinator_fixture{{2, 2, 1},
                          std::make_shared<shared_lease_desk>(age_of(to)),
                          [&](rendezvous_coordinator_config& config) {
                            config.beginning = beginning;
                            config.age_of_leadership = age_of(to);
                            config.write_job = [to](const core::charter& job,
                                                    uint64_t change) {
                              to->job = job;
                              to->change = change;
                            };
                          }},
      asked{std::move(to)} {}
};

struct ended_before : elected_fixture {
  ended_before() : elected_fixture{beginning()} {}

  static core::coordinator_started beginning() {
    auto out = core::coordinator_started{.successor = true};
    out.known.revision = 3;
    out.known.decided = core::outcome{.kind = core::outcome::verdict::stopped,
                                      .signal = 15,
                                      .reason = "alice has stopped it"};
    return out;
  }
};

} // namespace

TEST_CASE_METHOD(elected_fixture,
                 "coordinator: a generation is announced when voters have "
                 "stored its number",
                 "[actors]") {
  a = local();
  b = local();
  REQUIRE(asked->change == 1);
  CHECK(join(a, "1").empty());
  store();
  CHECK(a.told() == "accepted");
  CHECK(join(b, "2").empty());
  REQUIRE(asked->change == 2);
  CHECK(asked->job.newest == generation_id{1});
  store(1);
  CHECK(a.told().empty());
  CHECK(b.told().empty());
  store();
  CHECK(a.told() == "formed 1: ranks 0-1 of 4");
  CHECK(b.told() == "accepted; formed 1: ranks 2-3 of 4");
}

TEST_CASE_METHOD(elected_fixture,
                 "coordinator: an agent that comes back over another link gets "
                 "nothing twice",
                 "[actors]") {
  a = remote();
  const auto again = remote();
  CHECK(join(a, "1").empty());
  CHECK(join(again, "1").empty());
  store();
  CHECK(a.told().starts_with("accepted")); // Over the first link.
  CHECK(again.told().starts_with("accepted"));
}

TEST_CASE_METHOD(elected_fixture,
                 "coordinator: keep-alives are answered while a write is due",
                 "[actors]") {
  a = remote();
  join(a, "1");
  store();
  CHECK(a.told().starts_with("accepted"));
  b = remote();
  CHECK(join(b, "2").empty()); // A generation is about to be announced.
  asked->age = 40ms;
  keep_alive(a, "1", 5);
  CHECK(a.told() == "granted 5, 40 ms old");
}

TEST_CASE_METHOD(elected_fixture,
                 "coordinator: an operator is answered when voters know what "
                 "was ordered",
                 "[actors]") {
  run_two_elected();
  auto request = v1::OperatorRequest{};
  request.mutable_resize()->set_agent_count_min(1);
  request.mutable_resize()->set_agent_count_max(2);
  auto reply = std::make_shared<std::optional<v1::OperatorReply>>();
  tell_anonymously(uut, operator_question{request,
                                          [reply](v1::OperatorReply x) {
                                            *reply = std::move(x);
                                          },
                                          "alice (pid 7)", true});
  run();
  CHECK(asked->job.settings.agent_count_min == 1);
  CHECK_FALSE(reply->has_value());
  store();
  REQUIRE(reply->has_value());
  CHECK((*reply)->has_done());
}

TEST_CASE_METHOD(elected_fixture,
                 "coordinator: an outcome is told when voters have stored it",
                 "[actors]") {
  run_two_elected();
  tell_anonymously(uut, core::stop_requested{15});
  run();
  REQUIRE(asked->job.decided);
  CHECK(asked->job.decided->kind == core::outcome::verdict::stopped);
  CHECK(a.told().empty());
  CHECK_FALSE(shows_end()); // Elections go on: they store it.
  store();
  CHECK(a.told().starts_with("ended stopped"));
  CHECK(b.told().starts_with("ended stopped"));
  CHECK(shows_end());
  const auto last = asked->change;
  leave(a, "1", true);
  leave(b, "2", true);
  CHECK(closed->size() == 1); // Nothing more has to be stored.
  CHECK(asked->change == last);
}

TEST_CASE_METHOD(elected_fixture,
                 "coordinator: the job is not closed before its outcome is "
                 "stored",
                 "[actors]") {
  run_two_elected();
  tell_anonymously(uut, core::stop_requested{15});
  run();
  leave(a, "1", true);
  leave(b, "2", true);
  CHECK(closed->empty());
  store();
  store(); // Once is enough.
  CHECK(closed->size() == 1);
}

TEST_CASE_METHOD(elected_fixture,
                 "coordinator: what was not stored in time is never told",
                 "[actors]") {
  run_two_elected();
  tell_anonymously(uut, core::stop_requested{15});
  run();
  asked->lead = false;
  store();
  CHECK(a.told().empty());
  asked->lead = true;
  store();
  CHECK(a.told().empty());
}

TEST_CASE_METHOD(ended_before,
                 "coordinator: one that is elected after the end of the job "
                 "tells the same outcome",
                 "[actors]") {
  a = local();
  auto x = request("1");
  claim(x, 1, v1::SHARE_RUNNING);
  send(a.handle, uut, x);
  CHECK(a.told().empty());
  store();
  CHECK(a.told() == "accepted; ended stopped: alice has stopped it");
  leave(a, "1", true);
  CHECK(asked->job.decided->signal == 15);
}

} // namespace actorrun::test::coordinator_voters_test
