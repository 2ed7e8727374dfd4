#include "actors/core/job_settings.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::job_settings_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("job_settings: they read as they are typed", "[core]") {
  CHECK(to_string(job_settings{}) == "--nnodes=1 --max-restarts=0");
  CHECK(to_string(job_settings{2, 8, 3}) == "--nnodes=2:8 --max-restarts=3");
  CHECK(to_string(job_settings{2, 2, 0, true})
        == "--nnodes=2 --max-restarts=0 --rdzv-backend=static");
}

TEST_CASE("job_settings: a difference names both sides", "[core]") {
  const auto plain = job_settings{2, 2};
  const auto ranked = job_settings{2, 2, 0, true};
  const auto brief = job_settings{2, 2, 0, false, 1'200ms};
  const auto longer = job_settings{2, 2, 0, false, 3'200ms};
  CHECK(describe(plain, plain) == to_string(plain));
  CHECK(describe(brief, brief) == to_string(brief));
  CHECK(describe(plain, ranked)
        == to_string(plain) + " without --rdzv-backend=static");
  CHECK(describe(ranked, plain) == to_string(ranked));
  CHECK(describe(plain, brief)
        == to_string(plain)
             + " without --rdzv-backend=etcd or --rdzv-conf=succession=on");
  CHECK(describe(longer, brief)
        == to_string(longer)
             + " and a lease of 3200 ms (keep_alive_interval x"
               " keep_alive_max_attempt + fence_guard)");
}

} // namespace actorrun::test::job_settings_test
