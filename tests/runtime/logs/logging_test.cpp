#include "runtime/program_support.hpp"
#include "tests/runtime/logs/console_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <regex>
#include <string>

namespace actorrun::test::logging_test {

using namespace actorrun::detail;
using namespace actorrun::detail::console_test;

namespace {

// The output of one line at each level.
std::string lines_at(const ends& to, const char* level, size_t count) {
  const auto console
    = std::make_shared<posix_console>(to.writing.get(), to.writing.get());
  const auto uut = open_log(console, "prog", level);
  uut.debug("d");
  uut.info("i");
  uut.warn("w");
  uut.error("e");
  auto text = std::string{};
  for (size_t lines = 0; lines < count; lines += text.back() == '\n')
    text += read_text(to.reading.get(), 1);
  CHECK(readable(to.reading.get()) == 0);
  return std::regex_replace(
    text, std::regex{"[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}"}, "TIME");
}

} // namespace

TEST_CASE("logging: a line has program, time and level", "[runtime]") {
  CHECK(lines_at(make_pipe(), "info", 3)
        == "[prog TIME info] i\n[prog TIME warning] w\n[prog TIME error] e\n");
}

TEST_CASE("logging: levels have torchrun's names", "[runtime]") {
  CHECK(lines_at(make_pipe(), "DEBUG", 4).starts_with("[prog TIME debug] d"));
  CHECK(lines_at(make_pipe(), "warning", 2).starts_with("[prog TIME warning]"));
  CHECK(lines_at(make_pipe(), "Error", 1) == "[prog TIME error] e\n");
  CHECK(lines_at(make_pipe(), "CRITICAL", 0).empty());
  CHECK(lines_at(make_pipe(), "", 3).starts_with("[prog TIME info] i"));
}

TEST_CASE("logging: an unknown level is reported and means INFO", "[runtime]") {
  const auto lines = lines_at(make_pipe(), "loud", 4);
  CHECK(
    lines.starts_with("[prog TIME warning] LOGLEVEL: \"loud\" is not a level"));
  CHECK(lines.find("\n[prog TIME info] i\n") != lines.npos);
}

TEST_CASE("logging: a terminal gets colours", "[runtime]") {
  ::setenv("TERM", "xterm", 1);
  CHECK(lines_at(make_terminal(), "info", 3)
        == "[prog TIME \033[32minfo\033[m] i\r\n"
           "[prog TIME \033[33m\033[1mwarning\033[m] w\r\n"
           "[prog TIME \033[31m\033[1merror\033[m] e\r\n");
}

TEST_CASE("logging: it does not wait for a console that is not read",
          "[runtime]") {
  constexpr auto line_count = size_t{10'000};
  const auto pipe = make_pipe();
  const auto console
    = std::make_shared<posix_console>(pipe.writing.get(), pipe.writing.get());
  const auto uut = open_log(console, "prog", "info");
  const auto filler = std::string(200, 'x');
  for (size_t i = 0; i < line_count; ++i)
    uut.info(filler); // Hangs here if it waits.
  CHECK(!console->is_flushed());
  auto text = std::string{};
  auto shown = size_t{0};
  auto lost = size_t{0};
  while (shown + lost < line_count) {
    const auto size = std::max(readable(pipe.reading.get()), size_t{1});
    const auto more = read_text(pipe.reading.get(), size);
    REQUIRE(!more.empty());
    text += more;
    for (const auto& line : take_lines(text)) {
      if (line.starts_with("\xE2\x80\xA6 "))
        lost += std::stoul(line.substr(4));
      else
        ++shown;
    }
  }
  CHECK(shown + lost == line_count);
  CHECK(lost > 0);
  CHECK(shown > 1'000);
}

} // namespace actorrun::test::logging_test
