// Tests hosts that are excluded by a list which outlives the job.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_listed_hosts_test {

namespace {

struct fixture : rendezvous_fixture {
  void begin(bool keeps_list = true, bool is_successor = false) {
    auto x = coordinator_started{.successor = is_successor};
    x.listed = {{.host = "node-b", .reason = "bad disk", .by = "the list"}};
    x.keeps_list = keeps_list;
    CHECK(at(0s, x).find("list_exclusion") == std::string::npos);
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "listed hosts: they get no place, and say what to type",
                 "[core]") {
  begin();
  at(0s, join("a"));
  at(0s, join("b"));
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(uut.waiting_for({"b"})
        == "host node-b is excluded by the list: bad disk; to let it in again:"
           " actorctl include node-b");
  at(0s, join("c"));
  CHECK(at(3s, fire(4)) == "announce_generation 1: a=0+1 c=1+1");
}

TEST_CASE_METHOD(fixture,
                 "listed hosts: the list follows what operators decide",
                 "[core]") {
  begin();
  for (const auto* agent : {"a", "b", "c", "d"})
    at(0s, join(agent));
  at(3s, fire(4));
  CHECK(at(4s, inclusion_requested{"node-b", "alice"})
          .ends_with("unlist_exclusion node-b"));
  CHECK(at(5s, exclusion_requested{"node-x", "alice", "gone bad"})
          .ends_with("list_exclusion node-x"));
  CHECK(last<list_exclusion>().what.reason == "gone bad");
  CHECK(last<list_exclusion>().what.by == "alice");
  CHECK(at(6s, exclusion_requested{"node-x", "bob", ""}).find("list_exclusion")
        == std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "listed hosts: a coordinator without a list writes none",
                 "[core]") {
  begin(false);
  at(0s, join("a"));
  at(0s, join("c"));
  CHECK(
    at(1s, exclusion_requested{"node-x", "alice", ""}).find("list_exclusion")
    == std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "listed hosts: agents of an earlier coordinator do not let "
                 "them in",
                 "[core]") {
  begin(true, true);
  auto x = join("a");
  x.told = charter{.revision = 3, .settings = settings};
  at(1s, x);
  auto y = join("c");
  y.told = x.told;
  at(1s, y);
  REQUIRE(uut.excluded_hosts().size() == 1);
  CHECK(uut.excluded_hosts().front().host == "node-b");
}

} // namespace actorrun::test::rendezvous_listed_hosts_test
