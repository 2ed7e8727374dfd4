#include "actors/core/failure.hpp"
#include "actors/core/hangs/hung_worker.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

const auto hang = job_hang{{7}, 5min + 1s, 5min, {"b"}, true};

worker_snapshot at(uint32_t rank, const std::string& place) {
  return {rank, place, {}};
}

} // namespace

TEST_CASE("hung worker: the one that is elsewhere than all others", "[core]") {
  const auto x
    = find_hung_worker({at(0, "at all_reduce"), at(1, "at all_reduce"),
                        at(2, "at next (loader.py:7)"), at(3, "at all_reduce")},
                       1);
  CHECK(x.global_rank == 2);
  CHECK(x.differs);
  CHECK(x.where
        == "rank 2 is the odd one out\nrank 2 at next (loader.py:7)\n"
           "ranks 0-1,3 at all_reduce");
  CHECK(
    sentence_of(hang, x, "n2")
    == "no worker has shown a sign of life for 5.0 min (--hang-timeout: 5.0 "
       "min); rank 2 on n2 is the odd one out");
}

TEST_CASE(
  "hung worker: where none differs, one of the node that was silent first",
  "[core]") {
  const auto x = find_hung_worker({at(0, "at a"), at(1, "at a")}, 1);
  CHECK(x.global_rank == 1);
  CHECK_FALSE(x.differs);
  CHECK(
    sentence_of(hang, x, "n2")
    == "no worker has shown a sign of life for 5.0 min (--hang-timeout: 5.0 "
       "min); none is elsewhere than the others; the node of rank 1 on n2 fell "
       "silent first");
}

TEST_CASE("hung worker: what could not be seen is not told", "[core]") {
  CHECK(find_hung_worker({}, 3).where.empty());
  auto many = std::vector<worker_snapshot>{};
  for (uint32_t i = 0; i < 100; ++i)
    many.push_back(at(i, "at function_" + std::to_string(i)));
  CHECK(find_hung_worker(many, 3).where.size() <= failure_where_max);
}
