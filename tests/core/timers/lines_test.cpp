#include "actors/core/timers/lines.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace actorrun::test::lines_test {

using namespace actorrun::core;

namespace {

struct fixture {
  timer_lines uut;

  /// The lines that become complete, each followed by `;`; a cut one by `~;`.
  std::string feed(std::string_view bytes) {
    auto text = std::string{};
    while (const auto x = uut.next(bytes))
      text += std::string{x->text} + (x->is_cut ? "~;" : ";");
    CHECK(bytes.empty());
    return text;
  }
};

std::string request(int64_t pid) {
  return R"({"version": 1, "pid": )" + std::to_string(pid)
         + R"(, "scope_id": "s", "expiration_time": 5.5, "signal": 9})";
}

struct reader_fixture {
  timer_reader uut;

  /// The pids of the requests found.
  std::string feed(std::string_view bytes) {
    auto text = std::string{};
    auto found = timer_request{};
    while (uut.next(bytes, found))
      text += std::to_string(found.pid) + ";";
    CHECK(bytes.empty());
    return text;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "timer_lines: lines come out as they went in",
                 "[core]") {
  CHECK(feed("") == "");
  CHECK(feed("a\nbc\n\nd\n") == "a;bc;;d;");
  CHECK(feed("x\n") == "x;");
}

TEST_CASE_METHOD(fixture, "timer_lines: a line may come in pieces", "[core]") {
  CHECK(feed("a") == "");
  CHECK(feed("b") == "");
  CHECK(feed("c\nd") == "abc;");
  CHECK(feed("\n") == "d;");
  CHECK(feed("\n") == ";");
}

TEST_CASE_METHOD(fixture, "timer_lines: the length of a line is bounded",
                 "[core]") {
  const auto longest = std::string(timer_line_max, 'a');
  CHECK(feed(longest + "\n") == longest + ";");
  CHECK(feed("b" + longest + "\n") == longest + "~;");
  // The same in pieces.
  CHECK(feed(longest) == "");
  CHECK(feed("\n") == longest + ";");
  CHECK(feed("b") == "");
  CHECK(feed(longest) == "");
  CHECK(feed("\nx\n") == longest + "~;x;");
}

TEST_CASE_METHOD(fixture, "timer_lines: of a long line the end is kept",
                 "[core]") {
  for (const size_t piece : {1u, 7u, 1'000u, 4'096u, 5'000u, 100'000u}) {
    auto line = std::string(50'000, 'a') + "end";
    auto rest = std::string_view{line};
    while (!rest.empty()) {
      CHECK(feed(rest.substr(0, piece)) == "");
      rest.remove_prefix(std::min(piece, rest.size()));
    }
    CHECK(feed("\nb\n") == std::string(timer_line_max - 3, 'a') + "end~;b;");
  }
}

TEST_CASE_METHOD(fixture, "timer_lines: a line without an end is given up",
                 "[core]") {
  CHECK(!uut.finish());
  feed("a\nb");
  CHECK(uut.finish());
  CHECK(!uut.finish());
  CHECK(feed("c\n") == "c;");
  CHECK(!uut.finish());
}

TEST_CASE_METHOD(reader_fixture, "timer_reader: requests come out in order",
                 "[core]") {
  CHECK(feed(request(1) + "\n" + request(2) + "\n" + request(3)) == "1;2;");
  CHECK(feed("\n") == "3;");
  CHECK(uut.counts() == timer_line_counts{.requests = 3});
  CHECK(!uut.last_fault());
}

TEST_CASE_METHOD(reader_fixture,
                 "timer_reader: lines that are no requests are counted by kind",
                 "[core]") {
  CHECK(feed("hello\n" + request(1) + "\n\x01\x02\n" + request(2) + "\n"
             + std::string(5'000, 'x') + "\n" + request(3) + "\n\n{}\nte")
        == "1;2;3;");
  uut.finish();
  CHECK(
    uut.counts()
    == timer_line_counts{
      .requests = 3, .malformed = 3, .binary = 1, .oversized = 1, .torn = 1});
  REQUIRE(uut.last_fault());
  CHECK(uut.last_fault()->what == timer_fault::kind::no_pid);
  CHECK(feed(request(4) + "\n") == "4;");
}

TEST_CASE_METHOD(
  reader_fixture,
  "timer_reader: a writer that dies within a line costs no other", "[core]") {
  const auto whole = request(1);
  for (size_t length = 1; length < whole.size(); ++length)
    REQUIRE(feed(whole.substr(0, length) + request(2) + "\n") == "2;");
  CHECK(uut.counts().malformed == whole.size() - 1);
  CHECK(uut.counts().requests == whole.size() - 1);
}

TEST_CASE_METHOD(reader_fixture,
                 "timer_reader: a request behind an oversized line is found",
                 "[core]") {
  CHECK(feed(std::string(10'000, '\0') + request(2) + "\n") == "2;");
  CHECK(uut.counts().oversized == 1);
  CHECK(uut.last_fault()->what == timer_fault::kind::too_long);
  CHECK(to_string(*uut.last_fault()).find("4096") != std::string::npos);
}

TEST_CASE_METHOD(reader_fixture,
                 "timer_reader: the longest line may be a request", "[core]") {
  const auto fill = [](size_t size) {
    const auto bare = request(1).size();
    auto line = request(1);
    line.insert(line.find("\"s\"") + 1, size - bare, 's');
    return line;
  };
  CHECK(feed(fill(timer_line_max) + "\n") == "1;");
  CHECK(feed(fill(timer_line_max + 1) + "\n") == "");
  CHECK(uut.counts().oversized == 1);
}

TEST_CASE_METHOD(reader_fixture,
                 "timer_reader: the number of tried beginnings is bounded",
                 "[core]") {
  CHECK(feed("x{{{" + request(1) + "\n") == "1;");
  // With three braces in its scope its own is the fourth from the end; with four
  // it is the fifth.
  auto line = request(1);
  line.insert(line.find("\"s\"") + 1, "{{{");
  CHECK(feed("x" + line + "\n") == "1;");
  line.insert(line.find("\"{") + 1, "{");
  CHECK(feed("x" + line + "\n") == "");
  CHECK(feed(line + "\n") == "1;"); // A whole line needs no try.
}

} // namespace actorrun::test::lines_test
