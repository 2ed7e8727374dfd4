#include "actors/core/protocol/coordinator_loss.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::coordinator_loss_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using kind = coordinator_source::kind;

constexpr auto lost_at = time_point{100s};

coordinator_loss loss() {
  return {.why = failure{errc::connection_refused, "n1:29400 refuses"},
          .since = lost_at,
          .until = lost_at + 600s,
          .workers_until = lost_at + 880ms};
}

coordinator_source source(kind from, uint32_t voters = 0) {
  return {from, "n1:29400", voters};
}

std::string told(const coordinator_loss& x, const coordinator_source& next) {
  return text_of(x, next, lost_at);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("coordinator_loss: it is told when an attempt has failed, or after a "
          "moment",
          "[core]") {
  auto x = loss();
  CHECK(is_to_be_told(x, lost_at));
  x.why.reset();
  CHECK_FALSE(is_to_be_told(x, lost_at + 249ms));
  CHECK(is_to_be_told(x, lost_at + 250ms));
}

TEST_CASE("coordinator_loss: one line says what happens, until when, and what "
          "helps",
          "[core]") {
  CHECK(
    told(loss(), source(kind::endpoint))
    == "the coordinator is lost (n1:29400 refuses). The workers of this node "
       "run on for 880.0 ms, and are killed then unless a coordinator has "
       "answered: others may take their place. This node looks for it at "
       "n1:29400 for 10 min 0 s, and then ends with exit code 5. What helps "
       "now: start the same command again on its host, n1:29400; the nodes "
       "that look for it come back by themselves. Next time, "
       "--rdzv-conf=succession=on with three hosts or more, or "
       "--rdzv-backend=etcd, lets the others go on without that host");
}

TEST_CASE("coordinator_loss: of workers it says what is so", "[core]") {
  auto x = loss();
  SECTION("a machine proves the end") {
    x.why->code = errc::coordinator_gone;
    const auto text = told(x, source(kind::endpoint));
    CHECK(has(text, "the workers of this node run on while that host answers"));
    CHECK_FALSE(has(text, "killed"));
  }
  SECTION("they are being killed") {
    x.workers_until = lost_at;
    CHECK_FALSE(has(told(x, source(kind::endpoint)), "workers"));
  }
  SECTION("there are none") {
    x.workers_until.reset();
    CHECK_FALSE(has(told(x, source(kind::endpoint)), "workers"));
  }
}

TEST_CASE("coordinator_loss: what helps depends on who may lead next",
          "[core]") {
  auto x = loss();
  x.why.reset();
  x.workers_until.reset();
  CHECK(told(x, source(kind::voters, 3))
        == "the coordinator is lost: the 3 agents that vote elect another one, "
           "within a second if most of them reach each other. If none is found "
           "within 10 min 0 s, this node ends with exit code 5; if most of "
           "them are lost for good, a person can say so: actorctl elect "
           "--accept-loss=HOST,…");
  CHECK(
    has(told(x, source(kind::voters, 1)),
        "start the same command again on its host, n1:29400; the nodes that "
        "look for it come back by themselves. Too few agents vote to elect "
        "another one: that takes agents on three hosts or more, or on two and "
        "a witness on a third. If the host of the last one is lost for good, a "
        "person can say so: actorctl elect "
        "--accept-loss=HOST"));
  CHECK(
    has(told(x, source(kind::registry)),
        "etcd elects another one, when the lease of the last one has ended at "
        "the latest"));
  CHECK(has(told(x, source(kind::ranked)), "again on the node of rank 0; "));
  CHECK(has(told(x, {}), "looks for it for 10 min 0 s"));
  CHECK(has(told(x, {}), "again on its host; "));
}

TEST_CASE("coordinator_loss: a status says in few words what is waited for",
          "[core]") {
  CHECK(wait_for(source(kind::endpoint))
        == "the coordinator is lost; to bring it back, start the same command "
           "again on its host, n1:29400");
  CHECK(wait_for(source(kind::voters, 5))
        == "the coordinator is lost; the 5 agents that vote elect another one, "
           "within a second if most of them reach each other");
}

} // namespace actorrun::test::coordinator_loss_test
