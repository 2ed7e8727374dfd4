#include "cli/dry_run.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace actorrun::test::dry_run_test {

using namespace actorrun::cli;

namespace {

dry_run_arguments planned(words line, const variables& environment = {}) {
  line.insert(line.begin(), "--dry-run");
  auto x = parse(line, environment);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  REQUIRE(std::holds_alternative<dry_run_arguments>(*x));
  return std::get<dry_run_arguments>(std::move(*x));
}

option_origin origin_in(const dry_run_arguments& x, const std::string& name) {
  const auto i = std::ranges::find(x.options, name, &option_origin::name);
  return i == x.options.end() ? option_origin{} : *i;
}

std::string text_of(const words& line, const variables& environment = {}) {
  return plan_text(planned(line, environment), words{"python3", "-u", "a"});
}

} // namespace

TEST_CASE("dry run: each value has a source", "[cli]") {
  const auto x = planned({"--nproc-per-node=3", "--no-python", "a"},
                         {{"PET_MAX_RESTARTS", "2"}});
  CHECK(origin_in(x, "--nproc-per-node")
        == option_origin{"--nproc-per-node", "3", "command line"});
  CHECK(origin_in(x, "--no-python").value == "on");
  CHECK(origin_in(x, "--max-restarts")
        == option_origin{"--max-restarts", "2", "PET_MAX_RESTARTS"});
  CHECK(origin_in(x, "--shutdown-timeout")
        == option_origin{"--shutdown-timeout", "30", "default"});
  CHECK(origin_in(x, "--dry-run").name.empty());
  CHECK(origin_in(planned({"--no-pet", "a"}, {{"PET_MAX_RESTARTS", "2"}}),
                  "--max-restarts")
          .source
        == "default");
}

TEST_CASE("dry run: ranks and variables of one node are known", "[cli]") {
  const auto text = text_of({"--nproc-per-node=2", "a"});
  CHECK(has(text, "dry run: nothing is started\n"));
  CHECK(has(text, "python3 -u a"));
  CHECK(has(text, "0-1 of 2"));
  CHECK(has(text, "\n  RANK                             0\n"));
  CHECK(has(text, "WORLD_SIZE                       2\n"));
  CHECK_FALSE(has(text, "join_timeout"));
}

TEST_CASE("dry run: what the coordinator decides is not made up", "[cli]") {
  const auto text = text_of({"--nnodes=1:2", "--rdzv-endpoint=n1",
                             "--rdzv-id=j", "--rdzv-conf=join_timeout=7", "a"});
  CHECK(has(text, "1 to 2"));
  CHECK(has(text, "at n1:29400"));
  CHECK(has(text, "\n  RANK                             (told"));
  CHECK(has(text, "join_timeout          7.0 s     --rdzv-conf, command line"));
  CHECK(has(text, "last_call_timeout     30.0 s    default"));
}

TEST_CASE("dry run: it says what is odd", "[cli]") {
  const auto odd = [](const words& line, const variables& environment = {}) {
    const auto text = text_of(line, environment);
    return text.substr(text.find("\nwhat is odd\n"));
  };
  CHECK(has(odd({"a"}), "no output goes to files"));
  CHECK(has(odd({"--nproc-per-node=13", "a"}), "13 workers share 12 CPUs"));
  CHECK(has(odd({"--nproc-per-node=2", "a"}), "OMP_NUM_THREADS"));
  CHECK_FALSE(has(odd({"--nproc-per-node=2", "a"}, {{"OMP_NUM_THREADS", "4"}}),
                  "OMP_NUM_THREADS"));
  CHECK(has(odd({"--nnodes=2", "--rdzv-endpoint=n1", "--rdzv-id=j", "a"}),
            "nothing proves who"));
  CHECK(has(odd({"-t3", "a"}), "nothing\n"));
  const auto missing = plan_text(
    planned({"a"}), failure{errc::program_not_found, "there is no file a"});
  CHECK(has(missing, "what is odd\n  there is no file a\n"));
}

TEST_CASE("dry run: a list of hosts has the part of one", "[cli]") {
  const auto x = planned({"--hosts=n1:2,n2:3", "a"}, {{"HOME", "/h"}});
  REQUIRE(x.hosts);
  CHECK(x.hosts->hosts.size() == 2);
  const auto text = plan_text(x, words{"python3", "-u", "a"});
  CHECK(has(text, "n2  3"));
  CHECK(has(text, "in the order of the hosts"));
  CHECK(std::ranges::count(x.hosts->options, "--dry-run") == 0);
}

TEST_CASE("dry run: a line that is wrong is refused as always", "[cli]") {
  CHECK_FALSE(parse({"--dry-run", "--nnodes=0", "a"}));
  CHECK_FALSE(parse({"--dry-run"}));
}

} // namespace actorrun::test::dry_run_test
