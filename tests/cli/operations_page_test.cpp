// Checks that docs/operations.md and the other pages name the options that
// exist and those that are refused.
#include "cli/options/actorrun_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace actorrun::test::operations_page_test {

using namespace actorrun::cli;

namespace {

using names = std::set<std::string>;

std::string page(const std::string& name = "operations") {
  auto text = std::ostringstream{};
  text << std::ifstream{DOCS_FOLDER "/" + name + ".md"}.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

/// The text between two others; fails if one of them is missing.
std::string between(const std::string& text, const std::string& begin,
                    const std::string& end) {
  const auto from = text.find(begin);
  INFO(begin);
  REQUIRE(from != text.npos);
  const auto to = text.find(end, from + begin.size());
  REQUIRE(to != text.npos);
  return text.substr(from, to - from);
}

/// All words in `text` that begin with two dashes.
names options_in(const std::string& text) {
  auto out = names{};
  for (auto i = text.find("--"); i != text.npos; i = text.find("--", i)) {
    const auto end = text.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", i);
    if (end - i > 2 && text[i + 2] != '-') // Three begin a table's rule.
      out.insert(text.substr(i, end - i));
    i = end;
  }
  return out;
}

/// Options that begin the items of a list.
names listed_in(const std::string& text) {
  auto out = names{};
  for (auto lines = std::istringstream{text}; lines.good();) {
    auto line = std::string{};
    std::getline(lines, line);
    if (!line.starts_with("- `-"))
      continue;
    line.erase(std::min(line.find(':'), line.size()));
    line.erase(std::min(line.find(" (default"), line.size()));
    out.merge(options_in(line));
  }
  return out;
}

names names_of(const option_texts& options, bool in_help) {
  auto out = names{};
  for (const auto& x : options)
    if (x.group.empty() != in_help)
      out.insert(x.name);
  return out;
}

option_texts all_options() {
  return describe(*run_program{}.app).options;
}

} // namespace

TEST_CASE("operations page: it lists the options of actorrun", "[cli]") {
  const auto section = between(page(), "### `actorrun`", "### `actorctl`");
  CHECK(listed_in(section) == names_of(all_options(), true));
}

TEST_CASE("operations page: it lists the options that are refused", "[cli]") {
  const auto section = between(page(), "Always refused:", "### `actorctl`");
  CHECK(options_in(section) == names_of(all_options(), false));
}

TEST_CASE("operations page: every option exists", "[cli]") {
  auto known = names_of(all_options(), true);
  known.merge(names_of(all_options(), false));
  // Options of other programs.
  known.insert({"--cancel",      "--deadline",
                "--job",         "--node",
                "--reason",      "--wait-for-replacement",
                "--follow",      "--grep",
                "--previous",    "--rank",
                "--since",       "--stderr",
                "--stdout",      "--tail",
                "--force",       "--install",
                "--json",        "--name",
                "--once",        "--output",
                "--prefix",      "--scope",
                "--user",        "--yes",
                "--accept-loss", "--price-per-node-hour",
                "--at",          "--until",
                "--all"});
  known.insert(
    {"--local-rank", "--max-r", "--nproc"}); // Of a script; cut short.
  for (const auto* name :
       {"operations", "rendezvous", "logs", "reports", "troubleshooting"})
    for (const auto& x : options_in(page(name))) {
      INFO(name << ".md: " << x);
      CHECK(known.contains(x));
    }
}

} // namespace actorrun::test::operations_page_test
