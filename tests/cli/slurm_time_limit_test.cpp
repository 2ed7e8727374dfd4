#include "cli/slurm_time_limit.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::slurm_time_limit_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

/// In seconds; -1: no limit, -2: no time.
int64_t seconds_in(std::string_view text) {
  const auto x = parse_slurm_time(text);
  return !x ? -2 : *x ? (*x)->count() : -1;
}

std::string left_in(std::string_view answer) {
  const auto x = time_left_in(answer);
  return !x ? x.error().text : *x ? std::to_string((*x)->count()) : "no limit";
}

} // namespace

TEST_CASE("slurm time limit: times are read as squeue writes them", "[cli]") {
  CHECK(seconds_in("0:00") == 0);
  CHECK(seconds_in("2:05") == 125);
  CHECK(seconds_in("1:00:00") == 3'600);
  CHECK(seconds_in("1-02:03:04") == 93'784);
  CHECK(seconds_in("UNLIMITED") == -1);
  CHECK(seconds_in("NOT_SET") == -1);
  for (const auto* text : {"", "5", "1:2:3:4", "a:05", "1-", "-1:00", "INVALID",
                           "1:9999999999999999999"})
    CHECK(seconds_in(text) == -2);
}

TEST_CASE("slurm time limit: the earlier of job and step counts", "[cli]") {
  CHECK(left_in("2:00\n1:00 0:10\n") == "50");
  CHECK(left_in("0:30\n1:00 0:10\n") == "30");
  CHECK(left_in("2:00\nUNLIMITED 0:10\n") == "120");
  CHECK(left_in("UNLIMITED\n1:00 0:10\n") == "50");
  CHECK(left_in("UNLIMITED\nUNLIMITED 0:10\n") == "no limit");
  CHECK(left_in("2:00\n1:00 1:10\n") == "0");
}

TEST_CASE("slurm time limit: another answer is quoted", "[cli]") {
  CHECK(left_in("") == "squeue says nothing about the job");
  CHECK(left_in("sh: 1: squeue: not found\n")
        == "squeue says \"sh: 1: squeue: not found\"");
  CHECK(left_in("2:00\n") == "squeue says \"2:00\"");
  CHECK(left_in("2:00\nx y z\n") == "squeue says \"2:00\"");
}

} // namespace actorrun::test::slurm_time_limit_test
