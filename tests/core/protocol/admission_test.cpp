#include "actors/core/protocol/admission.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::admission_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  job_settings settings{.agent_count_min = 1, .agent_count_max = 2};
  timeouts limits;

  static agent_joined joined(const job_settings& settings) {
    auto x = agent_joined{};
    x.offering.agent = {"a"};
    x.offering.host = "host";
    x.offering.address = "10.0.0.1";
    x.offering.slot_count = 1;
    x.settings = settings;
    return x;
  }

  errc refusal(const agent_joined& event) const {
    const auto orders = job_orders{settings, limits.lease()};
    const auto agents = agent_table{settings};
    const auto recovery = generation_recovery{};
    const auto leases = lease_table{limits.lease()};
    const auto why
      = admission{agents, orders, recovery, leases, limits, time_point{}}
          .refusal(event);
    return why ? why->code : errc::none;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "admission: what an agent offers is looked at",
                 "[core]") {
  auto x = joined(settings);
  CHECK(refusal(x) == errc::none);
  x.offering.slot_count = 0;
  CHECK(refusal(x) == errc::bad_slot_count);
  x = joined(settings);
  x.offering.address = "10.0.0.1 or so";
  CHECK(refusal(x) == errc::bad_plan);
  x = joined(settings);
  x.settings.ranked = true;
  CHECK(refusal(x) == errc::settings_mismatch);
}

TEST_CASE_METHOD(fixture, "admission: a ranked node brings its rank",
                 "[core]") {
  settings = {.agent_count_min = 2, .agent_count_max = 2, .ranked = true};
  auto x = joined(settings);
  CHECK(refusal(x) == errc::settings_mismatch);
  x.offering.node_rank = 2;
  CHECK(refusal(x) == errc::settings_mismatch);
  x.offering.node_rank = 1;
  CHECK(refusal(x) == errc::none);
}

} // namespace actorrun::test::admission_test
