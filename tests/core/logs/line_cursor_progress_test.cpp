#include "actors/core/logs/line_cursor.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::line_cursor_progress_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Progress bars; shown lines are joined by "|", without line ends.
struct fixture : line_sink {
  line_cursor uut;
  std::string stream;
  std::string lines;
  size_t count = 0; ///< Number of lines in `lines`.

  bool put(std::string_view text, std::string_view end) override {
    CHECK((end == "\n" || end == "\r\n"));
    lines += (count++ == 0 ? "" : "|") + std::string{text};
    return true;
  }

  std::string look(duration t) {
    lines.clear();
    count = 0;
    while (true) {
      const auto before = uut.reached();
      const auto wanted = uut.next();
      uut.take(std::string_view{stream}.substr(wanted.offset, wanted.size),
               time_point{t}, *this);
      if (uut.reached() == before && uut.next().offset == wanted.offset)
        return lines;
    }
  }

  std::string write(duration t, std::string_view text) {
    stream += text;
    return look(t);
  }

  /// In ms; -1 if nothing is due.
  int64_t due() const {
    return uut.due() ? uut.due()->time_since_epoch() / 1ms : -1;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "progress: a CR before each state, as tqdm does it",
                 "[core]") {
  CHECK(write(1'000ms, "\r 1%") == ""); // The state may be incomplete.
  CHECK(write(1'010ms, "\r 2%") == " 1%");
  CHECK(write(1'100ms, "\r 3%\r 4%\r 5%") == "");
  CHECK(due() == 1'260);
  CHECK(write(1'259ms, "") == "");
  CHECK(look(1'260ms) == " 4%"); // The newest complete state.
  CHECK(write(1'300ms, "\r100%\n") == "100%");
  CHECK(due() == -1);
}

TEST_CASE_METHOD(fixture, "progress: a CR after each state", "[core]") {
  CHECK(write(1'000ms, "1%\r") == ""); // A line end may follow.
  CHECK(write(1'010ms, "2%\r") == "1%");
  CHECK(write(1'100ms, "3%\r4%\r5%\r") == "");
  CHECK(look(1'260ms) == "4%");
  CHECK(write(1'300ms, "100%\r") == "");
  CHECK(write(1'310ms, "\n") == "100%");
  CHECK(write(1'320ms, "next\n") == "next");
}

TEST_CASE_METHOD(fixture, "progress: a state at rest is shown", "[core]") {
  CHECK(write(0ms, "\r10%") == "");
  CHECK(due() == 250);
  CHECK(look(249ms) == "");
  CHECK(look(250ms) == "10%");
  CHECK(due() == -1);
  CHECK(look(9s) == "");
  CHECK(write(10s, "\r20%") == ""); // 10% has been shown.
  CHECK(look(10'250ms) == "20%");
  CHECK(write(20s, "\n") == ""); // The final state has been shown, too.
}

TEST_CASE_METHOD(fixture,
                 "progress: growth defers a state that would be at rest",
                 "[core]") {
  write(0ms, "\r1");
  write(200ms, "0");
  CHECK(due() == 450);
  CHECK(look(449ms) == "");
  CHECK(look(450ms) == "10");
}

TEST_CASE_METHOD(fixture, "progress: a state at rest may continue", "[core]") {
  write(0ms, "\rsaving");
  CHECK(look(250ms) == "saving");
  CHECK(write(300ms, " done") == "");
  CHECK(write(400ms, "\n") == "saving done");
}

TEST_CASE_METHOD(
  fixture, "progress: a state at rest may continue with the CR at its end",
  "[core]") {
  write(0ms, "50%\r");
  CHECK(due() == 250);
  CHECK(look(250ms) == "50%");
  CHECK(write(5s, "51%\r") == "");
  CHECK(look(5'250ms) == "51%");
  CHECK(write(6s, "\n") == "");
  CHECK(write(6s, "\nend\n") == "|end"); // An empty line and another one.
}

TEST_CASE_METHOD(fixture, "progress: the final state comes at once and always",
                 "[core]") {
  CHECK(write(0ms, "a\rb\rc\n") == "c");
  CHECK(write(1ms, "d\re\r\n") == "e"); // A line end of two bytes.
  CHECK(write(2ms, "f\r\r\rg\n") == "g");
  CHECK(write(3ms, "h\r\r\n") == "h");
  CHECK(write(4ms, "\r\r\n") == "");
  CHECK(write(5ms, "i\n") == "i");
}

TEST_CASE_METHOD(fixture, "progress: at most one state in the interval",
                 "[core]") {
  size_t shown_count = 0;
  for (auto t = 0ms; t < 10'000ms; t += 1ms) {
    write(t, std::to_string(t.count()) + "\r");
    shown_count += count;
  }
  CHECK(shown_count == 40); // One each 250 ms.
}

TEST_CASE_METHOD(fixture, "progress: a bar without an end does not accumulate",
                 "[core]") {
  for (auto i = 0; i < 100'000; ++i)
    write(i * 1ms, "\rstep " + std::to_string(i));
  CHECK(uut.reached() - uut.begin() < 10'000);
  CHECK(uut.next().offset == uut.begin());
}

TEST_CASE_METHOD(fixture, "progress: the last state needs no line end",
                 "[core]") {
  write(0ms, "\r1%\r2%\r3%");
  uut.flush_at(stream.size());
  CHECK(look(1ms) == "3%");
  CHECK(due() == -1);
}

TEST_CASE_METHOD(fixture,
                 "progress: a last state that was shown is not repeated",
                 "[core]") {
  write(0ms, "\r1%\r2%");
  CHECK(look(500ms) == "2%");
  uut.flush_at(stream.size());
  CHECK(look(501ms) == "");
  CHECK_FALSE(uut.owes_flush());
}

TEST_CASE_METHOD(fixture, "progress: the last state may end with a CR",
                 "[core]") {
  write(0ms, "1%\r2%\r");
  uut.flush_at(stream.size());
  CHECK(look(1ms) == "2%");
}

TEST_CASE_METHOD(fixture, "progress: a plain line after a bar is a plain line",
                 "[core]") {
  CHECK(write(0ms, "\r1%\n") == "1%");
  CHECK(write(1ms, "half") == "");
  CHECK(due() == -1);
  CHECK(look(9s) == ""); // Not a bar: it waits for its line end.
  CHECK(write(9s, "\n") == "half");
}

TEST_CASE_METHOD(fixture,
                 "progress: a state too long to be kept is shown at once",
                 "[core]") {
  CHECK(write(0ms, "a\rb").size() == 1);
  const auto longest = std::string(reread_max - 2, 'x');
  CHECK(write(1ms, "\r" + longest + "\ry") == ""); // Waits for its time.
  CHECK(due() == 250);
  CHECK(write(2ms, "z") == longest);
}

TEST_CASE_METHOD(fixture, "progress: huge states are shown in pieces",
                 "[core]") {
  const auto huge = std::string(line_max + 3, 'x');
  CHECK(
    (write(0ms, "\r" + huge + "\n") == std::string(line_max, 'x') + "|xxx"));
}

} // namespace actorrun::test::line_cursor_progress_test
