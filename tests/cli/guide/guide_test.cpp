// Tests --help and the manual pages.
#include "cli/guide/guide.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <unistd.h>

namespace actorrun::test::guide_test {

using namespace actorrun::cli;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  auto out = std::vector<std::string>{};
  auto in = std::istringstream{text};
  for (auto line = std::string{}; std::getline(in, line);)
    out.push_back(line);
  return out;
}

program_guide small_guide() {
  auto out = program_guide{};
  out.name = "tool";
  out.purpose = "do a thing";
  out.text = "Does a thing.";
  out.usage = {"tool [OPTIONS] FILE"};
  out.options = {
    {"--text",
     't',
     "TEXT",
     "Group",
     "a text that is so long that it takes two lines here",
     {"A", "B"}},
    {"--hidden", 0, "N", "", ""},
    {"--on", 0, "", "Group", "a flag"},
    {"--a-long-name-for-an-option", 0, "VALUE", "More", ".x \\ y"},
  };
  out.examples = {{"tool -t x a", "An example:"}};
  return out;
}

/// The pages that are installed, by their names.
std::vector<std::pair<std::string, std::string>> pages() {
  return {{"actorrun", manual_page(actorrun_guide(), "1.2.3")},
          {"actorctl", manual_page(actorctl_guide(), "1.2.3")}};
}

/// A page without roff's requests.
std::string plain(const std::string& page) {
  auto out = std::regex_replace(page, std::regex{R"(\\f[BIR])"}, "");
  return std::regex_replace(out, std::regex{R"(\\-)"}, "-");
}

/// A command's output for a page; nothing if it is not installed.
std::optional<std::string> remarks(const std::string& program,
                                   const std::string& options,
                                   const std::string& page) {
  if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0)
    return std::nullopt;
  const auto file = std::filesystem::temp_directory_path()
                    / ("actorrun-" + std::to_string(::getpid()) + ".1");
  std::ofstream{file} << page;
  const auto command
    = program + " " + options + " " + file.string() + " 2>&1 >/dev/null";
  auto out = std::string{};
  if (auto* pipe = ::popen(command.c_str(), "r")) {
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
      out += static_cast<char>(c);
    ::pclose(pipe);
  }
  std::filesystem::remove(file);
  return out;
}

} // namespace

TEST_CASE("help: it has groups, wraps texts and hides options", "[cli]") {
  const auto shown = help_text(small_guide());
  CHECK(shown.starts_with("Does a thing.\n"
                          "\n"
                          "Usage: tool [OPTIONS] FILE\n"
                          "\n"
                          "Examples:\n"
                          "  tool -t x a\n"
                          "\n"
                          "Group:\n"
                          "  -t, --text TEXT               a text that is so "
                          "long that it takes two lines\n"
                          "                                here [A]\n"
                          "  --on                          a flag\n"
                          "\n"
                          "More:\n"
                          "  --a-long-name-for-an-option VALUE\n"
                          "                                .x \\ y\n"
                          "\n"
                          "Exit codes:\n"
                          "  0      the job succeeded"));
}

TEST_CASE("help: what is usual stands before all options (P14)", "[cli]") {
  const auto shown = brief_help(actorrun_guide());
  CHECK(has(shown, "\n  --nproc-per-node N|"));
  CHECK(has(shown, "\n  --dry-run "));
  CHECK_FALSE(has(shown, "--role"));
  CHECK(has(shown, "actorrun --help=all"));
  for (const auto& name : actorrun_guide().usual)
    CHECK(has(shown, name));
  CHECK(std::ranges::count(shown, '\n') < 100);
  const auto examples = shown.find("\nExamples:\n  actorrun --standalone ");
  REQUIRE(examples != shown.npos);
  CHECK(examples < shown.find("\n  -"));
  CHECK(std::ranges::count(shown.substr(0, examples), '\n') < 24);
}

TEST_CASE("help: the help of every command fits a terminal", "[cli]") {
  const auto program = actorctl_guide();
  auto texts = std::vector{help_text(actorrun_guide()),
                           brief_help(actorrun_guide()), help_text(program)};
  for (const auto& x : program.commands)
    texts.push_back(help_text(program, x));
  for (const auto& text : texts)
    for (const auto& line : lines_of(text)) {
      INFO(line);
      CHECK(line.size() <= 82); // An ellipsis counts three bytes.
      CHECK_FALSE(line.ends_with(' '));
    }
}

TEST_CASE("manual: texts are escaped for roff", "[cli]") {
  const auto page = manual_page(small_guide(), "1.2.3");
  CHECK(has(page, ".TH TOOL 1 \"\" \"actorrun 1.2.3\" \"User Commands\"\n"));
  CHECK(has(page, "tool \\- do a thing\n"));
  CHECK(has(page, "\\fBtool\\fR [\\fIOPTIONS\\fR] \\fIFILE\\fR\n"));
  CHECK(has(page, ".TP\n\\fB\\-t\\fR, \\fB\\-\\-text\\fR \\fITEXT\\fR\n"
                  "A text that is so long that it takes two lines here."
                  " Variables: A, B.\n"));
  CHECK(has(page, "\n\\&.x \\e y.\n"));
  CHECK_FALSE(has(page, "hidden"));
}

TEST_CASE("manual: examples stand before the description", "[cli]") {
  for (const auto& [name, page] : pages()) {
    INFO(name);
    const auto examples = page.find("EXAMPLES");
    REQUIRE(examples != page.npos);
    CHECK(examples < page.find("DESCRIPTION"));
  }
}

TEST_CASE("manual: it names every option, variable and exit code", "[cli]") {
  const auto guide = actorrun_guide();
  const auto page = plain(manual_page(guide, "1.2.3"));
  for (const auto& x : guide.options) {
    if (x.group.empty())
      continue;
    CHECK(has(page, x.name));
    for (const auto& name : x.variables)
      CHECK(has(page, name));
  }
  for (const auto* code : {"\n0\n", "\n7\n", "\n127\n", "\n128+n\n"})
    CHECK(has(page, code));
}

TEST_CASE("manual: it names the variables that operations.md names", "[cli]") {
  auto text = std::ostringstream{};
  text << std::ifstream{DOCS_FOLDER "/operations.md"}.rdbuf();
  const auto begin = text.str().find("Variables that the programs read:");
  const auto end = text.str().find("Variables that workers get", begin);
  REQUIRE(end != std::string::npos);
  const auto all = pages();
  const auto table = text.str().substr(begin, end - begin);
  auto count = 0;
  for (const auto& line : lines_of(table)) {
    const auto cell = line.substr(0, line.find('|', 1));
    const auto of_second = has(line, "| actorctl |");
    const auto of_both = has(line, "| both |") || of_second;
    static const auto name = std::regex{"`([A-Z_*]+)`"};
    for (auto i = std::sregex_iterator{cell.begin(), cell.end(), name};
         i != std::sregex_iterator{}; ++i, ++count) {
      INFO((*i)[1]);
      CHECK((of_second || has(all[0].second, (*i)[1])));
      CHECK((!of_both || has(all[1].second, (*i)[1])));
    }
  }
  CHECK(count > 15);
}

TEST_CASE("manual: groff and mandoc report no problem", "[cli]") {
  for (const auto& [name, page] : pages()) {
    INFO(name);
    if (const auto text = remarks("groff", "-man -Tutf8 -ww -z", page))
      CHECK(text->empty());
    else
      actorrun::test::skip("groff", "there is no groff");
    if (const auto text = remarks("mandoc", "-T lint -W error", page))
      CHECK(text->empty());
  }
}

} // namespace actorrun::test::guide_test
