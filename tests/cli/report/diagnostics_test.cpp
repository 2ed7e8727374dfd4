#include "cli/report/diagnostics.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace actorrun::test::diagnostics_test {

using namespace actorrun::cli;

namespace {

/// The printed lines, without their line ends.
std::vector<std::string> lines_of(const failure& problem) {
  std::vector<std::string> out;
  const auto text = explain(problem);
  REQUIRE(text.ends_with('\n'));
  for (size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start);
    out.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

const auto first_line = std::string{"actorrun: error: "};

} // namespace

TEST_CASE("diagnostics: every error has an explanation of its own, but for "
          "one whose text says what helps (P14)",
          "[cli]") {
  std::set<std::string> seen;
  CHECK(lines_of({errc::bad_argument, "there is no option '-x'"}).size() == 1);
  for (size_t i = 0; i <= size_t(errc::etcd_denied); ++i) {
    const auto code = errc(i);
    if (code == errc::bad_argument)
      continue;
    INFO(to_string(code));
    const auto lines = lines_of({code, ""});
    CHECK(lines.size() >= 2);
    CHECK(lines.size() <= 3);
    CHECK(lines.front().starts_with(first_line));
    CHECK(lines.front().size() > first_line.size() + 10);
    CHECK(lines.back().starts_with("  try: "));
    CHECK(lines.back().size() > 15);
    CHECK(seen.insert(lines.front()).second);
    CHECK(seen.insert(lines.back()).second);
  }
}

TEST_CASE(
  "diagnostics: what has run out is the cause, whatever was tried (U18)",
  "[cli]") {
  for (const auto code :
       {errc::cannot_listen, errc::log_failed, errc::system_failure}) {
    const auto text
      = std::string{"x: Too many open files (RLIMIT_NOFILE: ulimit"
                    " -Hn is 20)"};
    CHECK(lines_of({code, text})
          == std::vector{first_line + text,
                         std::string{"  try: raise the limit that is named, or"
                                     " start less on this host"}});
  }
}

TEST_CASE("diagnostics: the failure's own text comes first", "[cli]") {
  const auto lines = lines_of({errc::job_mismatch, "node1:29400 runs job b"});
  CHECK(lines.front() == first_line + "node1:29400 runs job b");
  CHECK(lines.back().find("--rdzv-id") != std::string::npos);
}

TEST_CASE("diagnostics: a message begins with the program's name", "[cli]") {
  CHECK(explain({errc::bad_argument, "x"}, "actorctl")
          .starts_with("actorctl: error: x\n"));
  CHECK(warn("x") == "actorrun: warning: x\n");
  CHECK(warn("x", "actorctl") == "actorctl: warning: x\n");
}

TEST_CASE("diagnostics: U10 a message is one printable line", "[cli]") {
  const auto text = std::string{"\"a\r\x1b[31mb\nc\x7f\" – é"};
  const auto shown = "\"a\\r\\x1b[31mb\\nc\\x7f\" – é";
  CHECK(warn(text) == std::string{"actorrun: warning: "} + shown + "\n");
  CHECK(lines_of({errc::bad_argument, text}).front() == first_line + shown);
  CHECK(error_line(text, "actorctl")
        == std::string{"actorctl: error: "} + shown + "\n");
}

TEST_CASE("diagnostics: docs/messages.md is what the programs say", "[cli]") {
  auto file = std::ifstream{DOCS_FOLDER "/messages.md"};
  auto page = std::stringstream{};
  page << file.rdbuf();
  INFO("build/release/bin/guide_files FOLDER writes it");
  CHECK(page.str() == messages_page());
}

} // namespace actorrun::test::diagnostics_test
