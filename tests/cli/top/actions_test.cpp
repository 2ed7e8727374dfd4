#include "cli/top/actions.hpp"
#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

#include "messages/operator.pb.h"

#include <set>

namespace actorrun::test::actions_test {

using namespace actorrun::cli::top;

namespace {

const auto job = target{.job = "job1"};
const auto node = target{.job = "job1",
                         .agent = "n2-47",
                         .host = "n2",
                         .node_rank = 1,
                         .ranks = {2, 3}};
const auto worker = target{.job = "job1",
                           .agent = "n2-47",
                           .host = "n2",
                           .node_rank = 1,
                           .local_rank = 1,
                           .ranks = {3}};

} // namespace

TEST_CASE("top actions: each has a key of its own, a name and a row", "[cli]") {
  auto keys = std::set<char>{};
  for (const auto& x : bound_actions()) {
    CHECK(keys.insert(x.key).second);
    CHECK_FALSE(x.name.empty());
    CHECK((x.on.jobs || x.on.nodes || x.on.workers));
  }
}

TEST_CASE("top actions: a target is named as an operator would", "[cli]") {
  CHECK(name_of(job) == "job job1");
  CHECK(name_of(node) == "node 1 (n2)");
  CHECK(name_of(worker) == "rank 3 (n2)");
  auto spare = node;
  spare.node_rank.reset();
  spare.ranks.clear();
  CHECK(name_of(spare) == "node n2");
  spare.local_rank = 0;
  CHECK(name_of(spare) == "worker 0 (n2)");
  spare.host = "n\x1b[2J";
  CHECK(name_of(spare) == "worker 0 (n)");
}

TEST_CASE("top actions: a question says what is done and to whom", "[cli]") {
  CHECK(purpose_of(verb::drain, node, "", nullptr)
        == "drain node 1 (n2): its workers get notice, then it leaves");
  CHECK(purpose_of(verb::restart, job, "", nullptr)
        == "restart all workers of job job1");
  CHECK(purpose_of(verb::log_level, node, "debug", nullptr)
        == "log level debug for node 1 (n2)");
  CHECK(purpose_of(verb::log_level, job, "debug", nullptr)
        == "log level debug for all nodes and the coordinator");
}

TEST_CASE("top actions: a question says what is lost (P5)", "[cli]") {
  const auto now = two_nodes();
  CHECK(purpose_of(verb::restart, job, "", &now)
        == "Restart all 4 workers of job1? Work since the last checkpoint is"
           " lost.");
  CHECK(purpose_of(verb::drain, {.job = "job1", .agent = "n2-4711"}, "", &now)
        == "Drain node 1 (n2) of job1? Its workers get notice, and the others"
           " start again without it. Work that is not saved by then is lost.");
  CHECK(purpose_of(verb::log_level, job, "debug", &now)
        == "log level debug for all nodes and the coordinator");
}

TEST_CASE("top actions: what is asked of the job", "[cli]") {
  CHECK(request_of(verb::drain, node, "").drain().node() == "n2-47");
  CHECK(request_of(verb::restart, job, "").has_restart());
  const auto level = request_of(verb::log_level, job, "warning");
  CHECK(level.log_level().level() == "warning");
  CHECK(level.log_level().node().empty());
  for (const auto x : {verb::drain, verb::restart, verb::log_level})
    CHECK(is_steering(x));
  for (const auto x : {verb::show_log, verb::show_stack})
    CHECK_FALSE(is_steering(x));
}

TEST_CASE("top actions: a log is that of the worker, or of all of its node",
          "[cli]") {
  CHECK(log_of(worker).what.ranks == std::vector<uint32_t>{3});
  CHECK(log_of(worker).node == "n2-47");
  CHECK(log_of(node).what.ranks.empty());
  CHECK(log_of(node).node == "n2-47");
  CHECK(log_of(job).node.empty());
  CHECK(log_of(job).what.follow);
  CHECK(log_of(job).what.tail.has_value());
}

} // namespace actorrun::test::actions_test
