#include "actors/core/failure.hpp"
#include "actors/core/hangs/hung_worker.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::hung_worker_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

const auto hang = job_hang{{7}, time_point{1s}, 5min, {"b"}, true, 1};

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
  CHECK(sentence_of(hang, x, "n2", time_point{5min + 2s})
        == "no worker has shown a sign of life for 5 min 1 s (--hang-timeout: "
           "5 min 0 s); rank 2 on n2 is the odd one out");
}

TEST_CASE(
  "hung worker: where none differs, one of the node that was silent first",
  "[core]") {
  const auto x = find_hung_worker({at(0, "at a"), at(1, "at a")}, 1);
  CHECK(x.global_rank == 1);
  CHECK_FALSE(x.differs);
  CHECK(sentence_of(hang, x, "n2", time_point{5min + 2s})
        == "no worker has shown a sign of life for 5 min 1 s (--hang-timeout: "
           "5 min 0 s); where they are names none of them; the node of rank 1 "
           "on n2 "
           "fell silent first");
}

TEST_CASE("hung worker: frames count only if they are known of all", "[core]") {
  const auto all
    = std::vector<worker_snapshot>{{0, "in futex", "step (a.py:1)"},
                                   {1, "in futex", "load (a.py:9)"},
                                   {2, "in futex", "step (a.py:1)"}};
  CHECK(find_hung_worker(all, 0).global_rank == 1);
  auto some = all;
  some[1].frame.clear();
  const auto x = find_hung_worker(some, 0);
  CHECK_FALSE(x.differs);
  CHECK(x.where == "ranks 0-2 in futex");
}

TEST_CASE("hung worker: what NCCL says counts more than where they are",
          "[core]") {
  auto all = std::vector<worker_snapshot>{
    at(0, "at load"), at(1, "at all_reduce"), at(2, "at all_reduce")};
  all[1].behind = "rank 1 of communicator #0-0 has not launched AllReduce 7, "
                  "which 2 others have";
  const auto x = find_hung_worker(all, 2);
  CHECK(x.global_rank == 1);
  CHECK(x.where
        == "NCCL: " + all[1].behind
             + "\nrank 0 is the odd one out\nranks 1-2 at all_reduce\n"
               "rank 0 at load");
  CHECK(sentence_of(hang, x, "n2", time_point{5min + 2s})
        == "no worker has shown a sign of life for 5 min 1 s (--hang-timeout: "
           "5 min 0 s); rank 1 on n2 is behind: rank 1 of communicator #0-0 "
           "has not launched AllReduce 7, which 2 others have (NCCL)");
}

TEST_CASE("hung worker: what could not be seen is not told", "[core]") {
  CHECK(find_hung_worker({}, 3).where.empty());
  auto many = std::vector<worker_snapshot>{};
  for (uint32_t i = 0; i < 100; ++i)
    many.push_back(at(i, "at function_" + std::to_string(i)));
  CHECK(find_hung_worker(many, 3).where.size() <= failure_where_max);
}

} // namespace actorrun::test::hung_worker_test
