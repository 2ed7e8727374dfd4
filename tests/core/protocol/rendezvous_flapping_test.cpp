// One node's link is bad: it may lose its place, the others keep their work.
#include "tests/support/rendezvous_fixture.hpp"

#include <set>
#include <string>

namespace actorrun::test::rendezvous_flapping_test {

namespace {

/// One to three agents, `a`, `b` and `c`; the link of `c` flaps. What no test is
/// about happens at once.
struct fixture : rendezvous_fixture {
  explicit fixture(job_settings asked = {1, 3, 1}) : rendezvous_fixture{asked} {
    run();
  }

  /// The members stop their workers, and run those of the next generation.
  void follow(milliseconds t) {
    while (uut.current_phase() != phase::running) {
      const auto all = uut.agents();
      const auto generation = uut.generation();
      for (const auto& [id, x] : all)
        if (uut.current_phase() == phase::stopping && x.holds == generation)
          at(t, stopped(id.value, generation.value));
        else if (x.member_of == generation && x.share == share_state::starting)
          at(t, started(id.value, generation.value));
      REQUIRE(++steps < 1'000);
    }
  }

  /// It has ended its workers, because it had no answer, and is back in time.
  std::string be_cut_off(milliseconds t) {
    at(t, disconnect("c"));
    auto out = at(t, rejoin("c", plan_of("c"), share_state::idle));
    follow(t);
    return out;
  }

  bool has_place() const {
    const auto i = uut.agents().find({"c"});
    return i != uut.agents().end() && i->second.member_of == uut.generation();
  }

  /// Fires what is due by then.
  void pass_until(milliseconds t) {
    for (;;) {
      auto next = uint64_t{0};
      for (const auto& [timer, due] : armed)
        if (!fired.contains(timer) && this->due(timer) <= t
            && (next == 0 || this->due(timer) < this->due(next)))
          next = timer;
      if (next == 0)
        return;
      fired.insert(next);
      const auto due = this->due(next);
      keep(due);
      at(due, fire(next));
      follow(due);
    }
  }

  /// All that are here have been heard.
  void keep(milliseconds t) {
    for (const auto& [id, x] : uut.agents())
      if (x.connected)
        at(t, heard(t, id.value));
  }

  std::set<uint64_t> fired;
  int steps = 0;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "rendezvous: W1 a node that was cut off three times within a "
                 "minute stands by",
                 "[core]") {
  be_cut_off(10s);
  CHECK(has_place());
  be_cut_off(20s);
  CHECK(has_place());
  CHECK(uut.generation() == generation_id{3});
  CHECK(be_cut_off(30s) == "accept_agent c; revoke_generation 3: a b");
  CHECK_FALSE(has_place());
  CHECK(uut.generation() == generation_id{4});
  CHECK(uut.agents().at({"c"}).stands_by);
  CHECK(*uut.why_it_stands_by(uut.agents().at({"c"}))
        == "cost 3 generations within 20.0 s");
  CHECK(uut.waiting_for({"c"})
        == "stands by, because it has cost 3 generations within 20.0 s; may "
           "take part "
           "in 50 s if it stays reachable; to let it in at once: actorctl "
           "include node-c");
  SECTION("what its link does then costs nothing") {
    for (auto t = 31s; t < 70s; t += 1s) {
      at(t, disconnect("c"));
      at(t, join("c"));
      pass_until(t);
    }
    CHECK(uut.generation() == generation_id{4});
    SECTION("until it has been reachable for a while") {
      pass_until(73s);
      CHECK(uut.generation() == generation_id{4});
      pass_until(100s);
      CHECK(uut.generation() == generation_id{5});
      CHECK(has_place());
    }
  }
  SECTION("an operator may let it in at once") {
    CHECK(at(40s, inclusion_requested{"node-c", "alice"})
          == "report_return c; answer_operator done: host node-c may take part "
             "again; revoke_generation 4: a b");
    follow(40s);
    CHECK(has_place());
  }
  SECTION("where it is needed it has its place") {
    at(40s, resize_requested{2, 3, "alice"});
    at(41s, left("b"));
    follow(41s);
    CHECK(has_place());
    CHECK_FALSE(uut.agents().at({"c"}).stands_by);
  }
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: W1 a node that is lost and comes back costs three "
  "generations in a minute, and no more",
  "[core]") {
  for (auto t = 10s; t < 70s; t += 4s) {
    pass_until(t);
    at(t, disconnect("c"));
    at(t, lose("c"));
    follow(t);
    pass_until(t + 1s);
    at(t + 1s, join("c"));
    follow(t + 1s);
  }
  CHECK(uut.generation() == generation_id{4});
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: W9 a node whose agent crashes and is started again "
  "is the same node",
  "[core]") {
  auto last = std::string{"c"};
  for (auto i = 0; i < 15; ++i) {
    const auto t = 10'000ms + i * 1'500ms;
    pass_until(t);
    at(t, disconnect(last));
    at(t, lose(last));
    last = "c" + std::to_string(i);
    auto x = join(last);
    x.offering.host = "node-c";
    at(t, x);
    follow(t);
  }
  CHECK(uut.generation().value <= 5);
  CHECK(uut.agents().at({last}).stands_by);
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: W9 an agent that is started again before its death is proved is "
  "the same node",
  "[core]") {
  auto last = std::string{"c"};
  for (auto i = 0; i < 15; ++i) {
    const auto t = 10'000ms + i * 2'500ms;
    pass_until(t);
    at(t, disconnect(last));
    const auto next = "c" + std::to_string(i);
    auto x = join(next);
    x.offering.host = "node-c";
    at(t + 100ms, x);
    follow(t + 100ms);
    pass_until(t + 1s);
    at(t + 1s, lose(last));
    follow(t + 1s);
    last = next;
  }
  CHECK(uut.generation().value <= 5);
  CHECK(uut.agents().at({last}).stands_by);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: S11 a node that says again and again that it has "
                 "stopped costs three generations",
                 "[core]") {
  for (auto t = 10'000ms; t < 20s; t += 70ms) {
    at(t, stopped("c", uut.generation().value));
    follow(t);
  }
  CHECK(uut.generation() == generation_id{4});
  CHECK_FALSE(has_place());
  CHECK(uut.agents().at({"c"}).stands_by);
}

TEST_CASE("rendezvous: W1 a node that cannot be spared keeps its place",
          "[core]") {
  auto x = fixture{{3, 3, 1}};
  for (auto t = 10s; t < 60s; t += 10s)
    x.be_cut_off(t);
  CHECK(x.has_place());
  CHECK(x.uut.generation() == generation_id{6});
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: W1 the loss of a node is its doing, also if its "
                 "peers miss it first",
                 "[core]") {
  for (auto t = 10s; t < 30s; t += 10s) { // Its return is a cost, too.
    REQUIRE(has_place());
    const auto generation = uut.generation().value;
    at(t, failed("a", generation));
    at(t, stopped("a", generation));
    at(t, stopped("b", generation));
    at(t, disconnect("c"));
    at(t, lose("c"));
    at(t, join("c"));
    follow(t);
    pass_until(t + 5s);
  }
  CHECK_FALSE(has_place());
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(
  fixture, "rendezvous: a node that leaves as it is asked has cost nothing",
  "[core]") {
  for (auto t = 10s; t < 50s; t += 10s) {
    at(t, leaving("c", 15));
    at(t, stopped("c", uut.generation().value));
    at(t, left("c"));
    follow(t);
    pass_until(t + 1s);
    at(t + 1s, join("c"));
    pass_until(t + 9s);
  }
  CHECK(has_place());
}

} // namespace actorrun::test::rendezvous_flapping_test
