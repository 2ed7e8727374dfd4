// Checks that the ledger is complete, and that the page matches it.
#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/workers/worker_environment.hpp"
#include "cli/compatibility/ledger.hpp"
#include "cli/options/actorrun_options.hpp"
#include "cli/options/torchrun_options.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

using names = std::set<std::string>;

names subjects_of(ledger_entries entries) {
  auto out = names{};
  for (const auto& x : entries) {
    INFO(x.subject);
    CHECK(out.insert(std::string{x.subject}).second);
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

ledger_entries every_part[5] = {
  option_entries(), read_variable_entries(), given_variable_entries(),
  file_entries(),   behaviour_entries(),
};

} // namespace

TEST_CASE("compatibility: every option has an entry, and only those", "[cli]") {
  auto expected = names{};
  for (const auto& x : describe(*run_program{}.app).options)
    expected.insert(x.name);
  CHECK(subjects_of(option_entries()) == expected);
}

TEST_CASE("compatibility: options are torchrun's or added", "[cli]") {
  for (const auto& x : option_entries()) {
    INFO(x.subject);
    const auto is_left_over = x.subject == "--metrics-cfg";
    CHECK((is_torchrun_option(x.subject) || is_left_over)
          == (x.is != verdict::added));
  }
}

TEST_CASE("compatibility: every variable of a worker has an entry", "[cli]") {
  CHECK(subjects_of(given_variable_entries()) == given_variables());
}

TEST_CASE("compatibility: every difference is explained", "[cli]") {
  for (const auto part : every_part) {
    CHECK_FALSE(subjects_of(part).empty());
    for (const auto& x : part) {
      INFO(x.subject);
      const auto speaks_for_itself
        = x.is == verdict::same || x.is == verdict::added;
      CHECK((speaks_for_itself || !x.text.empty()));
      for (const auto text : {x.subject, x.text})
        CHECK(text.find_first_of("|\n") == text.npos); // Would break the table.
    }
  }
}

TEST_CASE("compatibility: the page matches the table", "[cli]") {
  auto text = std::ostringstream{};
  text << std::ifstream{DOCS_FOLDER "/torchrun-compatibility.md"}.rdbuf();
  INFO("out of date? cmake --build BUILD --target compatibility_ledger");
  CHECK(text.str() == compatibility_page());
}
