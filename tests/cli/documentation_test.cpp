// Checks that links between pages lead somewhere.
#include "tests/support/catch.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace actorrun::test::documentation_test {

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  auto text = std::ostringstream{};
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

/// The name of a heading in links: `#exit-codes` for `## Exit codes`.
std::string anchor_of(const std::string& heading) {
  auto out = std::string{};
  for (const unsigned char c : heading)
    if (c == ' ')
      out += '-';
    else if (std::isalnum(c) || c == '-' || c == '_' || c >= 0x80)
      out += static_cast<char>(std::tolower(c));
  return out;
}

std::set<std::string> anchors_in(const fs::path& file) {
  static const auto heading = std::regex{"^#+ (.*)$"};
  auto out = std::set<std::string>{};
  auto lines = std::istringstream{content_of(file)};
  auto found = std::smatch{};
  for (auto line = std::string{}; std::getline(lines, line);)
    if (std::regex_match(line, found, heading))
      out.insert(anchor_of(found[1]));
  return out;
}

/// Checks the links of a page to files, and to headings in them.
void check_links(const fs::path& page) {
  static const auto link = std::regex{R"(\]\(([^)# ]*)(#([^)]*))?\))"};
  const auto text = content_of(page);
  REQUIRE_FALSE(text.empty());
  for (auto i = std::sregex_iterator{text.begin(), text.end(), link};
       i != std::sregex_iterator{}; ++i) {
    const auto target = (*i)[1].str();
    if (target.starts_with("http"))
      continue;
    INFO(page.filename() << " links to " << i->str());
    const auto file = target.empty() ? page : page.parent_path() / target;
    REQUIRE(fs::exists(file));
    if ((*i)[3].matched)
      CHECK(anchors_in(file).contains((*i)[3].str()));
  }
}

} // namespace

TEST_CASE("documentation: links lead to files and headings", "[cli]") {
  check_links(README_PAGE);
  auto count = 0;
  for (const auto& x : fs::recursive_directory_iterator{DOCS_FOLDER}) {
    if (x.path().extension() != ".md")
      continue;
    check_links(x.path());
    ++count;
  }
  CHECK(count > 10);
}

} // namespace actorrun::test::documentation_test
