#include "actors/core/logs/line_cursor.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace actorrun::test::line_cursor_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// A stream that is written, and read as the log tailer does.
struct fixture : line_sink {
  line_cursor uut;
  std::string stream;
  std::vector<std::string> lines; ///< Since the last call.
  size_t room = SIZE_MAX;         ///< Lines until there is no more room.
  uint64_t read_count = 0;        ///< Bytes ever read.

  bool put(std::string_view text, std::string_view end) override {
    lines.push_back(std::string{text}.append(end));
    return lines.size() < room;
  }

  void write(std::string_view text) { stream += text; }

  /// Reads until nothing is left to do.
  /// @returns the lines found
  std::vector<std::string> look(duration t) {
    lines.clear();
    for (auto more = true; more;) {
      const auto before = uut.reached();
      const auto wanted = uut.next();
      REQUIRE(wanted.offset >= uut.begin());
      if (wanted.offset >= stream.size())
        break;
      auto bytes = std::string_view{stream}.substr(wanted.offset, wanted.size);
      read_count += bytes.size();
      for (auto begin = uut.begin(); uut.take(bytes, time_point{t}, *this);
           begin = uut.begin()) {
        bytes.remove_prefix(uut.begin() - begin);
        room = lines.size() + 1; // One at a time.
      }
      more = uut.reached() > before || uut.next().offset != wanted.offset;
    }
    return lines;
  }

  std::vector<std::string> write_and_poll(duration t, std::string_view text) {
    write(text);
    return look(t);
  }

  /// In ms; -1 if nothing is due.
  int64_t due() const {
    if (!uut.due())
      return -1;
    return (uut.due()->time_since_epoch()) / 1ms;
  }
};

using shown = std::vector<std::string>;

} // namespace

// -- lines --------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "line_cursor: an empty stream has no lines",
                 "[core]") {
  CHECK(look(0s).empty());
  CHECK(uut.next().offset == 0);
  CHECK(uut.next().size == read_size);
  CHECK(uut.begin() == 0);
  CHECK(uut.reached() == 0);
}

TEST_CASE_METHOD(fixture, "line_cursor: each line comes once and in order",
                 "[core]") {
  CHECK(write_and_poll(0s, "a\nbb\n\nc\n")
        == shown{"a\n", "bb\n", "\n", "c\n"});
  CHECK(look(1s).empty());
  CHECK(write_and_poll(2s, "d\n") == shown{"d\n"});
  CHECK(uut.begin() == stream.size());
  CHECK(uut.reached() == stream.size());
}

TEST_CASE_METHOD(fixture, "line_cursor: an unfinished line waits for its end",
                 "[core]") {
  CHECK(write_and_poll(0s, "a\nhal") == shown{"a\n"});
  CHECK(uut.begin() == 2);
  CHECK(uut.reached() == 5);
  CHECK(uut.next().offset == 2); // It is read again; no text is kept.
  CHECK(look(1h).empty());
  CHECK(due() == -1);
  CHECK(write_and_poll(1h, "f").empty());
  CHECK(write_and_poll(2h, "\nx") == shown{"half\n"});
}

TEST_CASE_METHOD(fixture, "line_cursor: bytes pass unchanged", "[core]") {
  const auto odd = std::string{"\0\xff\xfe\x80 \t\x1b[1m\v", 11} + "\n";
  CHECK(write_and_poll(0s, odd) == shown{odd});
}

TEST_CASE_METHOD(fixture, "line_cursor: both line ends are kept", "[core]") {
  CHECK(write_and_poll(0s, "a\r\nb\n\r\nc\r\n")
        == shown{"a\r\n", "b\n", "\r\n", "c\r\n"});
}

TEST_CASE_METHOD(fixture, "line_cursor: a line end may arrive in two halves",
                 "[core]") {
  CHECK(write_and_poll(0s, "a\r").empty());
  CHECK(write_and_poll(10ms, "\nb\n") == shown{"a\r\n", "b\n"});
}

TEST_CASE("line_cursor: the result does not depend on how bytes arrive",
          "[core]") {
  const auto text
    = std::string{"one\ntwo two\r\n\n\r\nbar 1\rbar 2\rlast\nx\n"};
  for (size_t step = 1; step <= text.size(); ++step) {
    auto x = fixture{};
    auto all = shown{};
    for (size_t i = 0; i < text.size(); i += step)
      for (auto& line : x.write_and_poll(0s, text.substr(i, step)))
        all.push_back(line);
    // The progress bar may also have been shown before.
    std::erase_if(all,
                  [](const auto& line) { return line.starts_with("bar"); });
    CAPTURE(step);
    CHECK(all == shown{"one\n", "two two\r\n", "\n", "\r\n", "last\n", "x\n"});
  }
}

TEST_CASE_METHOD(fixture, "line_cursor: without room the rest comes later",
                 "[core]") {
  room = 1;
  CHECK(write_and_poll(0s, "a\nb\r\nc\nd") == shown{"a\n", "b\r\n", "c\n"});
  CHECK(uut.begin() == 7);
  lines.clear();
  room = 1;
  CHECK(uut.take("d\ne\n", time_point{}, *this));
  CHECK(lines == shown{"d\n"});
  CHECK(uut.begin() == 9);
  CHECK(uut.reached() == 9);
}

// -- long lines ---------------------------------------------------------------

TEST_CASE("line_cursor: a line up to the maximum is whole", "[core]") {
  for (const size_t size : {read_size - 1, read_size, read_size + 1,
                            size_t{1024 * 1024}, line_max - 1, line_max}) {
    for (const auto* end : {"\n", "\r\n"}) {
      CAPTURE(size, end);
      auto x = fixture{};
      const auto line = std::string(size, 'x') + end;
      const auto seen = x.write_and_poll(0s, "a\n" + line + "b\n");
      REQUIRE(seen.size() == 3);
      CHECK((seen[1] == line));
      CHECK(seen[2] == "b\n");
    }
  }
}

TEST_CASE("line_cursor: a longer line comes in pieces, with nothing lost",
          "[core]") {
  struct row {
    size_t size;
    std::vector<size_t> pieces;
  };
  const row rows[] = {
    {line_max + 1, {line_max, 1}},
    {2 * line_max, {line_max, line_max}},
    {2 * line_max + 5, {line_max, line_max, 5}},
  };
  for (const auto& x : rows) {
    for (const auto* end : {"\n", "\r\n"}) {
      CAPTURE(x.size, end);
      auto f = fixture{};
      const auto seen = f.write_and_poll(0s, std::string(x.size, 'x') + end);
      REQUIRE(seen.size() == x.pieces.size());
      for (size_t i = 0; i < seen.size(); ++i)
        CHECK((seen[i]
               == std::string(x.pieces[i], 'x')
                    + (i + 1 < seen.size() ? "\n" : end)));
    }
  }
}

TEST_CASE_METHOD(fixture, "line_cursor: a piece does not wait for the line end",
                 "[core]") {
  CHECK(write_and_poll(0s, std::string(line_max, 'x')).empty());
  const auto seen = write_and_poll(0s, "y");
  REQUIRE(seen.size() == 1);
  CHECK((seen[0] == std::string(line_max, 'x') + "\n"));
  CHECK(write_and_poll(0s, "z\n") == shown{"yz\n"});
}

TEST_CASE_METHOD(fixture, "line_cursor: a long line that grows is read twice",
                 "[core]") {
  const auto step = size_t{4'096};
  for (size_t i = 0; i < line_max; i += step)
    CHECK(write_and_poll(0s, std::string(step, 'x')).empty());
  CHECK(write_and_poll(0s, "\n").size() == 1);
  // Once to search its end and once to show it. From the beginning each time,
  // it would be two GiB.
  CHECK(read_count < 3 * line_max);
  CHECK(uut.next().size == read_size);
}

TEST_CASE_METHOD(fixture, "line_cursor: a short unfinished line is read again",
                 "[core]") {
  write_and_poll(0s, std::string(reread_max, 'x'));
  CHECK(uut.next().offset == 0);
  write_and_poll(0s, "x");
  CHECK(uut.next().offset == reread_max + 1);
  CHECK(uut.reached() == reread_max + 1);
  const auto seen = write_and_poll(0s, "yy\nz\n");
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].size() == reread_max + 4);
  CHECK(seen[1] == "z\n");
}

// -- the end of a stream ------------------------------------------------------

TEST_CASE_METHOD(fixture, "line_cursor: the last line needs no line end",
                 "[core]") {
  write_and_poll(0s, "a\nlast");
  CHECK_FALSE(uut.owes_flush());
  uut.flush_at(6);
  CHECK(uut.owes_flush());
  CHECK(look(0s) == shown{"last\n"});
  CHECK_FALSE(uut.owes_flush());
  CHECK(look(0s).empty());
  // Later text begins a new line.
  CHECK(write_and_poll(0s, " word\n") == shown{" word\n"});
}

TEST_CASE_METHOD(fixture, "line_cursor: a flush waits for all bytes before it",
                 "[core]") {
  uut.flush_at(8);
  CHECK(write_and_poll(0s, "a\nlas").size() == 1);
  CHECK(uut.owes_flush());
  CHECK(write_and_poll(0s, "t w") == shown{"last w\n"});
  CHECK_FALSE(uut.owes_flush());
  CHECK(write_and_poll(0s, "b").empty());
}

TEST_CASE_METHOD(fixture, "line_cursor: a flush adds nothing to whole lines",
                 "[core]") {
  uut.flush_at(2);
  CHECK(write_and_poll(0s, "a\nb") == shown{"a\n"});
  CHECK_FALSE(uut.owes_flush()); // Later text waits as usual.
  uut.flush_at(2);
  CHECK_FALSE(uut.owes_flush());
  CHECK(look(0s).empty());
}

TEST_CASE("line_cursor: a long last line is shown like others", "[core]") {
  for (const size_t size :
       {reread_max, reread_max + 1, line_max, line_max + 1, 2 * line_max + 1}) {
    for (const auto early : {true, false}) {
      CAPTURE(size, early);
      auto x = fixture{};
      x.write(std::string(size, 'x'));
      auto count = size_t{0};
      if (!early)
        for (const auto& line : x.look(0s))
          count += line.size() - 1;
      x.uut.flush_at(size);
      for (const auto& line : x.look(0s)) {
        CHECK(line.size() <= line_max + 1);
        count += line.size() - 1;
      }
      CHECK(count == size);
      CHECK_FALSE(x.uut.owes_flush());
    }
  }
}

TEST_CASE_METHOD(fixture, "line_cursor: discarded text is not shown",
                 "[core]") {
  write_and_poll(0s, "a\nbcd");
  uut.flush_at(5);
  uut.skip_to(5);
  CHECK_FALSE(uut.owes_flush());
  CHECK(uut.begin() == 5);
  CHECK(uut.reached() == 5);
  CHECK(write_and_poll(0s, "e\n") == shown{"e\n"});
  uut.flush_at(10);
  uut.skip_to(9);
  CHECK(uut.owes_flush()); // The flush is still to come.
}

TEST_CASE_METHOD(fixture, "line_cursor: after a break a new line begins",
                 "[core]") {
  write_and_poll(0s, "a\nbcd");
  uut.flush_at(9);
  uut.break_off();
  CHECK_FALSE(uut.owes_flush());
  CHECK(uut.begin() == 5);
  CHECK(write_and_poll(0s, "e\n") == shown{"e\n"});
}

} // namespace actorrun::test::line_cursor_test
