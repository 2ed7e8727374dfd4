// Checks that the tables of docs/torchrun-compatibility.md are complete.
#include "actors/core/workers/worker_environment.hpp"
#include "cli/options/actorrun_options.hpp"
#include "cli/options/torchrun_options.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace actorrun::test::compatibility_test {

using namespace actorrun::cli;

namespace {

using names = std::set<std::string>;

/// What torchrun has, or we have, and what becomes of it.
struct entry {
  std::string subject; ///< An option with dashes, a variable, a sentence.
  std::string verdict;
  std::string text; ///< May be empty.
};

/// The rows of the table below a heading.
std::vector<entry> table(const std::string& heading) {
  static const auto row = std::regex{R"(\| (.*?) \| (\w+) \|( (.*))? \|)"};
  auto in = std::ifstream{DOCS_FOLDER "/torchrun-compatibility.md"};
  auto out = std::vector<entry>{};
  auto is_inside = false;
  for (auto line = std::string{}; std::getline(in, line);) {
    if (line.starts_with("## "))
      is_inside = line == "## " + heading;
    if (!is_inside || !line.starts_with("| ")
        || line.ends_with("| actorrun | |"))
      continue;
    INFO(line);
    auto found = std::smatch{};
    REQUIRE(std::regex_match(line, found, row));
    auto subject = found[1].str();
    std::erase(subject, '`');
    out.push_back({subject, found[2], found[4]});
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

names subjects_of(const std::vector<entry>& entries) {
  auto out = names{};
  for (const auto& x : entries) {
    INFO(x.subject);
    CHECK(out.insert(x.subject).second);
  }
  return out;
}

/// The variables that a worker has, whatever the agent's environment.
names given_variables() {
  auto job = core::job_environment{};
  job.agent_store = true;
  job.virtual_local_rank = true;
  job.timer_file = "fifo";
  job.control_socket = "socket";
  job.steps_prefix = "steps";
  job.ras_address = "address";
  auto plan = core::generation_plan{};
  plan.own.slot_count = 2;
  auto out = names{};
  for (const auto is_ahead : {false, true}) {
    plan.is_ahead = is_ahead;
    for (const auto& x : core::worker_environment({}, job, plan, 0))
      out.insert(x.substr(0, x.find('=')));
  }
  return out;
}

} // namespace

TEST_CASE("compatibility: every option has an entry, and only those", "[cli]") {
  auto expected = names{};
  for (const auto& x : describe(*run_program{}.app).options)
    expected.insert(x.name);
  CHECK(subjects_of(table("Options")) == expected);
}

TEST_CASE("compatibility: options are torchrun's or added", "[cli]") {
  for (const auto& x : table("Options")) {
    INFO(x.subject);
    const auto is_left_over = x.subject == "--metrics-cfg";
    CHECK((is_torchrun_option(x.subject) || is_left_over)
          == (x.verdict != "added"));
  }
}

TEST_CASE("compatibility: every variable of a worker has an entry", "[cli]") {
  CHECK(subjects_of(table("Variables that workers get")) == given_variables());
}

TEST_CASE("compatibility: every difference is explained", "[cli]") {
  const auto verdicts
    = names{"same", "better", "different", "refused", "added"};
  for (const auto* heading :
       {"Options", "Variables that the launcher reads",
        "Variables that workers get", "Files and processes", "Behaviour"})
    for (const auto& x : table(heading)) {
      INFO(x.subject);
      CHECK(verdicts.contains(x.verdict));
      const auto speaks_for_itself
        = x.verdict == "same" || x.verdict == "added";
      CHECK((speaks_for_itself || !x.text.empty()));
    }
}

} // namespace actorrun::test::compatibility_test
