// Tests the command lines of `actorctl logs` and `actorctl stacks`.
#include "cli/actorctl_arguments.hpp"
#include "cli/options/actorctl_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::log_arguments_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

template <class Command>
Command control(const words& line) {
  auto x = parse_control(line, world_with({}));
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  REQUIRE(std::holds_alternative<Command>(*x));
  return std::get<Command>(*x);
}

std::string refused_control(const words& line) {
  auto x = parse_control(line, world_with({}));
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

using ranks = std::vector<uint32_t>;

} // namespace

TEST_CASE("actorctl: ranks are numbers and ranges", "[cli]") {
  CHECK(*parse_ranks("3") == ranks{3});
  CHECK(*parse_ranks("5,0,2-4,3") == ranks{0, 2, 3, 4, 5});
  CHECK(parse_ranks("0-4095")->size() == 4096);
  for (const auto* bad : {"", ",", "a", "-1", "3-", "4-2", "1-2-3", "0-4096",
                          "1;2", "9999999999"})
    CHECK_FALSE(parse_ranks(bad));
}

TEST_CASE("actorctl: logs asks for all lines of all workers", "[cli]") {
  const auto x = control<logs_arguments>({"logs"});
  CHECK(x.what == core::log_selection{});
  CHECK(x.job.local.empty());
  CHECK_FALSE(x.job.remote);
  CHECK_FALSE(x.since);
  CHECK(x.node.empty());
}

TEST_CASE("actorctl: logs selects lines", "[cli]") {
  const auto x = control<logs_arguments>(
    {"logs", "-f", "--rank=0,2-3", "--node", "n1", "--tail=10", "--since=5m",
     "--grep=loss|nan", "--stderr", "job"});
  CHECK(x.what.follow);
  CHECK(x.what.ranks == ranks{0, 2, 3});
  CHECK(x.what.tail == 10U);
  CHECK(x.what.grep == "loss|nan");
  CHECK(x.what.outputs == core::std_streams::err);
  CHECK(x.since == 5min);
  CHECK(x.node == "n1");
  CHECK(x.job.local == "job");
  CHECK(control<logs_arguments>({"logs", "--stdout"}).what.outputs
        == core::std_streams::out);
  CHECK(control<logs_arguments>({"logs", "--stdout", "--stderr"}).what.outputs
        == core::std_streams::all);
  CHECK(control<logs_arguments>({"logs", "--previous"}).what.previous);
}

TEST_CASE("actorctl: logs refuses what makes no sense", "[cli]") {
  CHECK(has(refused_control({"logs", "--grep=("}), "--grep: the expression"));
  CHECK(has(refused_control({"logs", "--grep=(a)\\1"}), "refers back"));
  CHECK(has(refused_control({"logs", "--previous", "-f"}), "--previous"));
  CHECK(has(refused_control({"logs", "--rank=x"}), "ranks are written as"));
  CHECK(has(refused_control({"logs", "--tail=-1"}), "--tail"));
  CHECK(has(refused_control({"logs", "a", "b"}), "no place for the word"));
  CHECK(has(refused_control({"logs", "--rdzv-id=j"}), "by the word JOB"));
  CHECK(has(refused_control({"logs", "--rdzv-endpoint=n1", "job"}),
            "JOB is for jobs of this host"));
}

TEST_CASE("actorctl: stacks asks for some ranks, or all", "[cli]") {
  CHECK(control<stacks_arguments>({"stacks"}).ranks.empty());
  const auto x
    = control<stacks_arguments>({"stacks", "--rank=3,0-1", "--json", "j"});
  CHECK(x.ranks == ranks{0, 1, 3});
  CHECK(x.json);
  CHECK(x.job.local == "j");
  const auto remote = control<stacks_arguments>(
    {"stacks", "--rank=3", "--rdzv-endpoint=n1:5", "--rdzv-id=j"});
  REQUIRE(remote.job.remote);
  CHECK(remote.job.remote->job.value == "j");
  CHECK(has(refused_control({"stacks", "--rank=job"}), "is no rank"));
}

} // namespace actorrun::test::log_arguments_test
