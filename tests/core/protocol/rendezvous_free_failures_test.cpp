// Tests failures that cost no restart if a check shows that their node was at fault.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_free_failures_test {

namespace {

constexpr auto sick = "its check `gpu` has failed (exit code 9): no devices";

fitness_reported unfit(const std::string& agent) {
  return {{agent}, sick};
}

fitness_reported fit(const std::string& agent) {
  return {{agent}, ""};
}

/// Three nodes that are checked after a failure, of which two suffice.
struct fixture : rendezvous_fixture {
  void begin(uint32_t restart_count_max, bool is_free = true,
             uint32_t exclude_after = 0) {
    settings = {2, 3, restart_count_max};
    replace(settings, {.exclude_after = exclude_after,
                       .node_failures_are_free = is_free});
    for (const auto* agent : {"a", "b", "c"}) {
      auto x = join(agent);
      x.offering.is_checked_after_failure = true;
      at(0s, x);
    }
    for (const auto* agent : {"a", "b", "c"})
      at(0s, started(agent, 1));
    REQUIRE(uut.current_phase() == phase::running);
  }

  /// A worker of `b` fails, and all stop.
  std::string fail() {
    at(1s, failed("b", 1));
    at(1s, stopped("a", 1));
    at(1s, stopped("b", 1));
    return at(1s, stopped("c", 1));
  }

  uint32_t spent() const { return uut.budget().restart_count(); }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "free failures: one that its node's check explains costs no "
                 "restart",
                 "[core]") {
  begin(1);
  CHECK(fail()
        == "attribute_failure 1 of b: awaited; order_checks b; "
           "announce_generation 2: a=0+1 c=1+1");
  CHECK(spent() == 0);
  CHECK(at(2s, {fitness_reported{{"b"}, std::string{being_checked}}}) == "");
  CHECK(at(3s, unfit("b")) == "attribute_failure 1 of b: node");
  CHECK(last<attribute_failure>().text == sick);
  CHECK(last<attribute_failure>().host == "node-b");
  CHECK(spent() == 0);
  CHECK(at(9s, fit("b")).find("attribute") == std::string::npos);
  CHECK(spent() == 0);
}

TEST_CASE_METHOD(fixture,
                 "free failures: one of a node that is well costs a restart "
                 "when that is known",
                 "[core]") {
  begin(1);
  fail();
  for (const auto* agent : {"a", "c"})
    at(2s, started(agent, 2));
  CHECK(at(3s, fit("b")).starts_with("attribute_failure 1 of b: program; "));
  CHECK(spent() == 1);
  CHECK_FALSE(uut.result());
}

TEST_CASE_METHOD(fixture,
                 "free failures: where no restart is left, the job waits for "
                 "the check",
                 "[core]") {
  begin(0);
  CHECK(fail() == "attribute_failure 1 of b: awaited; order_checks b");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(uut.waiting_for()
        == "waiting for the check of agent b on host node-b: no restart is "
           "left, unless the node was at fault");
  CHECK_FALSE(uut.waits_until());
  SECTION("and goes on without the node if it was at fault") {
    CHECK(at(3s, unfit("b"))
          == "attribute_failure 1 of b: node; announce_generation 2: a=0+1 "
             "c=1+1");
    CHECK(spent() == 0);
  }
  SECTION("and fails if it was not") {
    CHECK(at(3s, fit("b"))
            .starts_with("attribute_failure 1 of b: program; end_job failed"));
    REQUIRE(uut.result());
    CHECK(uut.result()->first_failure->agent == agent_id{"b"});
  }
  SECTION("and fails if the node is lost before") {
    CHECK(at(3s, disconnect("b")).find("attribute") == std::string::npos);
    CHECK(at(3s, lose("b")).find("attribute_failure 1 of b: program")
          != std::string::npos);
    REQUIRE(uut.result());
    CHECK(uut.result()->kind == outcome::verdict::failed);
  }
  SECTION("also if newcomers would be enough") {
    at(3s, join("d"));
    CHECK(uut.current_phase() == phase::gathering);
  }
  SECTION("until it is stopped") {
    at(3s, stop_requested{15});
    CHECK(uut.result()->kind == outcome::verdict::stopped);
    CHECK(at(4s, fit("b")).find("attribute") == std::string::npos);
  }
}

TEST_CASE_METHOD(fixture,
                 "free failures: a node that comes back unchecked has shown "
                 "nothing",
                 "[core]") {
  begin(1);
  fail();
  at(2s, disconnect("b"));
  SECTION("it is well, as far as it knows") {
    CHECK(at(3s, join("b")).find("attribute_failure 1 of b: program")
          != std::string::npos);
    CHECK(spent() == 1);
  }
  SECTION("it is still checked") {
    auto x = join("b");
    x.offering.unfit = being_checked;
    CHECK(at(3s, x).find("attribute") == std::string::npos);
    CHECK(spent() == 0);
  }
  SECTION("its check has failed meanwhile") {
    auto x = join("b");
    x.offering.unfit = sick;
    CHECK(at(3s, x).find("attribute_failure 1 of b: node")
          != std::string::npos);
    CHECK(spent() == 0);
  }
}

TEST_CASE_METHOD(fixture, "free failures: two that are awaited count together",
                 "[core]") {
  begin(1);
  fail();
  for (const auto* agent : {"a", "c"})
    at(2s, started(agent, 2));
  at(2s, failed("c", 2));
  at(2s, stopped("a", 2));
  at(2s, stopped("c", 2));
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(uut.waiting_for().starts_with("waiting for the check of agent b"));
  SECTION("one was the node's: the job goes on") {
    at(3s, unfit("b"));
    CHECK(uut.waiting_for().starts_with("waiting for 1 more node"));
    CHECK(at(4s, fit("c")).find("attribute_failure 2 of c: program")
          != std::string::npos);
    CHECK(spent() == 1);
    CHECK_FALSE(uut.result());
  }
  SECTION("both were the program's: the job has failed") {
    at(3s, fit("b"));
    CHECK(spent() == 1);
    at(4s, fit("c"));
    REQUIRE(uut.result());
    CHECK(uut.result()->first_failure->agent == agent_id{"c"});
  }
}

TEST_CASE_METHOD(fixture, "free failures: what costs at once", "[core]") {
  SECTION("without the option") {
    begin(1, false);
    CHECK(fail().find("attribute") == std::string::npos);
    CHECK(spent() == 1);
  }
  SECTION("a program that cannot be started") {
    begin(1);
    auto x = failed("b", 1);
    x.failure.kind = failure_kind::not_started;
    x.failure.code = 2;
    at(1s, x);
    for (const auto* agent : {"a", "b"})
      at(1s, stopped(agent, 1));
    CHECK(at(1s, stopped("c", 1)).find("attribute") == std::string::npos);
    CHECK(uut.result());
  }
  SECTION("one of a node that has gone") {
    begin(1);
    at(1s, failed("b", 1));
    at(1s, stopped("a", 1));
    at(1s, stopped("b", 1));
    at(1s, leaving("b"));
    at(1s, left("b"));
    CHECK(at(1s, stopped("c", 1)).find("attribute") == std::string::npos);
    CHECK(spent() == 1);
  }
}

TEST_CASE_METHOD(fixture,
                 "free failures: only what cost a restart counts for "
                 "--exclude-after",
                 "[core]") {
  begin(2, true, 1);
  fail();
  SECTION("the node's does not") {
    at(3s, unfit("b"));
    CHECK(uut.excluded_hosts().empty());
  }
  SECTION("the program's does") {
    CHECK(at(3s, fit("b")).find("report_exclusion node-b")
          != std::string::npos);
  }
}

} // namespace actorrun::test::rendezvous_free_failures_test
