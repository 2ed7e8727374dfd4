#include "runtime/http/regroup_times.hpp"
#include "tests/support/catch.hpp"

#include <optional>

namespace actorrun::test::regroup_times_test {

using namespace actorrun::detail;

namespace {

void add(v1::JobStatus& job, uint64_t generation, std::optional<uint64_t> us) {
  auto& x = *job.add_generations();
  x.set_generation(generation);
  if (us)
    x.set_regroup_us(*us);
}

} // namespace

TEST_CASE("regroup times: each generation counts once", "[runtime]") {
  auto times = regroup_times{};
  auto job = v1::JobStatus{};
  add(job, 1, std::nullopt);
  add(job, 2, 50'000);
  times.look_at(job);
  times.look_at(job);
  CHECK(times.count() == 1);
  CHECK(times.count_up_to(0) == 1); // At the limit.
  add(job, 3, 50'001);
  add(job, 4, std::nullopt); // It does not run yet.
  times.look_at(job);
  CHECK(times.count_up_to(0) == 1);
  CHECK(times.count_up_to(1) == 2);
  job.mutable_generations(3)->set_regroup_us(400'000'000);
  times.look_at(job);
  CHECK(times.count() == 3);
  CHECK(times.count_up_to(regroup_times::limits.size() - 1) == 2);
  CHECK(times.sum() == Approx(400.100001));
}

} // namespace actorrun::test::regroup_times_test
