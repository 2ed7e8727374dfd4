#include "actorrun/actors/translate.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <cstdint>

using namespace actorrun;
using namespace actorrun::core;

namespace {

// Every value differs from its default and from all others, so that a field
// that is left out or mixed up shows.

offer an_offer() {
  return {.agent = {"a"},
          .host = "node-a",
          .address = "10.0.0.1",
          .role = "trainer",
          .slot_count = 8,
          .master_port = 65'535,
          .leased = true};
}

epoch_plan a_plan() {
  return {.epoch = {UINT64_MAX},
          .own = {.agent = {"a"},
                  .node_rank = 1,
                  .slot_count = 2,
                  .first_global_rank = 3,
                  .first_role_rank = 4,
                  .role_world_size = 5},
          .node_count = 6,
          .world_size = 7,
          .master_address = "10.0.0.2",
          .master_port = 29'500,
          .restart_count = 8};
}

worker_failure a_failure() {
  return {.agent = {"a"},
          .host = "node-a",
          .global_rank = 9,
          .local_rank = 10,
          .pid = 4'194'304,
          .kind = failure_kind::signalled,
          .code = SIGSEGV,
          .dumped = true};
}

template <class T>
T through_the_wire(const T& x) {
  return from_wire(to_wire(x));
}

} // namespace

TEST_CASE("translate: an offer arrives as it was sent", "[actors]") {
  CHECK(through_the_wire(an_offer()) == an_offer());
  CHECK(through_the_wire(offer{}) == offer{});
}

TEST_CASE("translate: whether an agent has a lease is not on the wire",
          "[actors]") {
  auto x = an_offer();
  x.leased = false;
  CHECK(through_the_wire(x).leased);
}

TEST_CASE("translate: settings arrive as they were sent", "[actors]") {
  const auto x = job_settings{2, 8, 3};
  CHECK(through_the_wire(x) == x);
  CHECK(through_the_wire(job_settings{}) == job_settings{});
}

TEST_CASE("translate: a plan arrives as it was sent", "[actors]") {
  CHECK(through_the_wire(a_plan()) == a_plan());
  CHECK(through_the_wire(epoch_plan{}) == epoch_plan{});
}

TEST_CASE("translate: every kind of failure arrives as it was sent",
          "[actors]") {
  for (auto kind : {failure_kind::exited, failure_kind::signalled,
                    failure_kind::not_started}) {
    auto x = a_failure();
    x.kind = kind;
    CHECK(through_the_wire(x) == x);
  }
}

TEST_CASE("translate: every share state arrives as it was sent", "[actors]") {
  for (auto state :
       {share_state::idle, share_state::starting, share_state::running,
        share_state::succeeded, share_state::failed, share_state::stopping})
    CHECK(through_the_wire(state) == state);
}

TEST_CASE("translate: a claim arrives as it was sent", "[actors]") {
  const auto failed = claim{a_plan(), share_state::failed, a_failure()};
  CHECK(through_the_wire(failed) == failed);
  const auto running = claim{a_plan(), share_state::running, {}};
  CHECK(through_the_wire(running) == running);
}

TEST_CASE("translate: every outcome arrives as it was sent", "[actors]") {
  using verdict = outcome::verdict;
  for (auto kind : {verdict::succeeded, verdict::failed, verdict::stopped,
                    verdict::unmet}) {
    auto x = outcome{
      .kind = kind, .first_failure = {}, .signal = SIGTERM, .reason = "why"};
    CHECK(through_the_wire(x) == x);
    x.first_failure = a_failure();
    CHECK(through_the_wire(x) == x);
  }
}

TEST_CASE("translate: numbers on the wire mean the same as in the core",
          "[actors]") {
  CHECK(to_wire(share_state::idle) == v1::SHARE_IDLE);
  CHECK(to_wire(share_state::starting) == v1::SHARE_STARTING);
  CHECK(to_wire(share_state::running) == v1::SHARE_RUNNING);
  CHECK(to_wire(share_state::succeeded) == v1::SHARE_SUCCEEDED);
  CHECK(to_wire(share_state::failed) == v1::SHARE_FAILED);
  CHECK(to_wire(share_state::stopping) == v1::SHARE_STOPPING);
  CHECK(to_wire(a_failure()).kind() == v1::FAILURE_SIGNALLED);
  auto end = outcome{};
  end.kind = outcome::verdict::unmet;
  CHECK(to_wire(end).verdict() == v1::VERDICT_UNMET);
}

// A newer process, or a broken one, may send what we have no name for.
TEST_CASE("translate: an enumerator from elsewhere becomes one of ours",
          "[actors]") {
  for (auto [sent, taken] :
       {std::pair{-1, share_state::idle}, std::pair{6, share_state::stopping},
        std::pair{INT32_MAX, share_state::stopping},
        std::pair{INT32_MIN, share_state::idle}})
    CHECK(from_wire(static_cast<v1::ShareState>(sent)) == taken);
  for (auto [sent, taken] : {std::pair{-1, failure_kind::exited},
                             std::pair{3, failure_kind::not_started},
                             std::pair{256, failure_kind::not_started}}) {
    auto x = to_wire(a_failure());
    x.set_kind(static_cast<v1::FailureKind>(sent));
    CHECK(from_wire(x).kind == taken);
  }
  for (auto [sent, taken] : {std::pair{-1, outcome::verdict::succeeded},
                             std::pair{4, outcome::verdict::unmet},
                             std::pair{260, outcome::verdict::unmet}}) {
    auto x = v1::Outcome{};
    x.set_verdict(static_cast<v1::Verdict>(sent));
    CHECK(from_wire(x).kind == taken);
  }
}

TEST_CASE("translate: what a message does not say has the default",
          "[actors]") {
  const auto held = from_wire(v1::Claim{});
  CHECK(held.plan.epoch == epoch_id{0});
  CHECK(held.state == share_state::idle);
  CHECK_FALSE(held.failure);
  const auto how = from_wire(v1::Outcome{});
  CHECK(how.kind == outcome::verdict::succeeded);
  CHECK_FALSE(how.first_failure);
}
