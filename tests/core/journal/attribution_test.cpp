// Tests what a journal says of failures that a check attributes to a node or to the
// program, and what it counts of nodes.
#include "actors/core/journal/story.hpp"
#include "tests/support/chronicle_fixture.hpp"

namespace actorrun::test::attribution_test {

namespace {

constexpr auto sick = "its check `gpu` has failed (exit code 9): no devices";

/// Nodes that are checked after a failure; a worker of `b` fails.
struct fixture : chronicle_fixture {
  void fail(uint32_t restart_count_max = 1) {
    settings = {2, 3, restart_count_max};
    replace(settings, {.node_failures_are_free = true});
    begin();
    for (const auto* agent : {"a", "b", "c"}) {
      auto x = join(agent);
      x.offering.is_checked_after_failure = x.offering.has_checks = true;
      note(0ms, x);
    }
    for (const auto* agent : {"a", "b", "c"})
      note(100ms, workers_started{{agent}, {1}, {1'000}});
    note(1s, failed("b", 1));
    note(1s, stopped("a", 1));
    note(1s, stopped("b", 1));
    CHECK(note(1s, stopped("c", 1)).find("stopped attributed")
          != std::string::npos);
  }

  const journal::snapshot& now() const { return chronicle.now(); }

  const journal::node_entry& node(const std::string& agent) const {
    return now().nodes.at({agent});
  }

  /// Of the first generation.
  std::string story() const {
    return journal::why_all(now(), time_point{9s}).front().sentence;
  }

  bool says(const std::string& part) const {
    INFO(story());
    return story().find(part) != std::string::npos;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "attribution: a check that runs is to show the cost",
                 "[core]") {
  fail();
  CHECK(says("a check of the node will show whether this costs a restart"));
  CHECK(now().restart_count == 0);
  CHECK(replayed() == now());
}

TEST_CASE_METHOD(fixture,
                 "attribution: a node at fault is named, with its check",
                 "[core]") {
  fail();
  CHECK(note(2s, fitness_reported{{"b"}, sick}).find("attributed")
        != std::string::npos);
  CHECK(says("this cost no restart, because the node is at fault: its check "
             "`gpu` has failed (exit code 9): no devices"));
  CHECK(now().restart_count == 0);
  CHECK(replayed() == now());
}

TEST_CASE_METHOD(fixture,
                 "attribution: a failure of the program costs its own "
                 "generation, and not the next one",
                 "[core]") {
  fail();
  REQUIRE(now().generations.size() == 2);
  note(2s, fitness_reported{{"b"}, ""});
  CHECK(says("this cost restart 1 of 1"));
  CHECK(now().restart_count == 1);
  const auto& first = now().generations.front();
  CHECK(first.restart_count > first.formed.restart_count);
  const auto& second = now().generations.back();
  CHECK(second.formed.restart_count == 1);
  CHECK(replayed() == now());
}

TEST_CASE_METHOD(fixture, "attribution: the end of a job names its failure",
                 "[core]") {
  fail(0);
  note(2s, fitness_reported{{"b"}, ""});
  REQUIRE(now().result);
  CHECK(now().generations.front().attributed->to == attribution::program);
  CHECK(says("--max-restarts is 0, so it is not restarted"));
}

TEST_CASE_METHOD(fixture, "attribution: nodes are counted, and since when",
                 "[core]") {
  fail();
  CHECK(node("a").generation_count == 2);
  CHECK(node("b").generation_count == 1);
  CHECK(node("a").now->has_checks);
  CHECK_FALSE(node("a").unfit_since);
  REQUIRE(node("b").unfit_since);
  CHECK(node("b").unfit_since->when == time_point{1s});
  note(2s, fitness_reported{{"b"}, sick});
  CHECK(node("b").unfit_since->when == time_point{2s});
  note(3s, fitness_reported{{"b"}, std::string{sick} + " again"});
  CHECK(node("b").unfit_since->when == time_point{2s});
  note(4s, fitness_reported{{"b"}, ""});
  CHECK_FALSE(node("b").unfit_since);
  CHECK(now().failures == std::vector<failing_host>{{"node-b", 1}});
}

} // namespace actorrun::test::attribution_test
