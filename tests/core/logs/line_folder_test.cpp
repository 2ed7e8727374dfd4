#include "actors/core/logs/line_folder.hpp"
#include "actors/core/logs/line_label.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace actorrun::test::line_folder_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Ranks 0..N-1, each a member with its rank as id and `r<rank>:` as prefix.
struct fixture {
  line_folder uut;

  explicit fixture(uint32_t count = 3) {
    for (uint32_t i = 0; i < count; ++i)
      uut.add(i, i, "r" + std::to_string(i) + ":");
  }

  bool put(duration t, uint32_t rank, std::string_view text,
           std::string_view end = "\n") {
    return uut.put(rank, text, end, time_point{t});
  }

  std::string show(duration t) {
    auto batch = std::string{};
    CHECK(uut.show(time_point{t}, batch));
    return batch;
  }

  int64_t due() const {
    return uut.due() ? uut.due()->time_since_epoch() / 1ms : -1;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "line_folder: a line of all ranks is shown at once",
                 "[core]") {
  put(0ms, 2, "hello");
  put(1ms, 0, "hello");
  CHECK(show(1ms) == "");
  put(2ms, 1, "hello");
  CHECK(show(2ms) == "[×3 0-2] hello\n");
  CHECK(due() == -1);
}

TEST_CASE_METHOD(fixture,
                 "line_folder: a line waits for others for a limited time",
                 "[core]") {
  CHECK(due() == -1);
  put(5ms, 0, "a");
  put(6ms, 2, "a");
  put(7ms, 1, "b");
  CHECK(due() == 105);
  CHECK(show(104ms) == "");
  CHECK(show(105ms) == "[×2 0,2] a\n");
  CHECK(due() == 107);
  CHECK(show(107ms) == "r1:b\n");
  put(108ms, 1, "a"); // Too late.
  CHECK(show(300ms) == "r1:a\n");
}

TEST_CASE_METHOD(fixture, "line_folder: a rank keeps the order of its lines",
                 "[core]") {
  put(0ms, 0, "a");
  put(0ms, 0, "b");
  put(0ms, 1, "b");
  put(0ms, 1, "a"); // After b, so not the a of rank 0.
  CHECK(show(1s) == "r0:a\n[×2 0-1] b\nr1:a\n");
}

TEST_CASE_METHOD(fixture, "line_folder: repeated lines are counted, not lost",
                 "[core]") {
  for (const uint32_t rank : {0, 1})
    for (auto i = 0; i < 3; ++i)
      put(0ms, rank, "x");
  CHECK(show(1s) == "[×2 0-1] x\n[×2 0-1] x\n[×2 0-1] x\n");
}

TEST_CASE_METHOD(fixture, "line_folder: line ends must be equal, too",
                 "[core]") {
  put(0ms, 0, "x", "\n");
  put(0ms, 1, "x", "\r\n");
  put(0ms, 2, "x\r", "\n"); // Cannot happen, but must not be confused.
  CHECK(show(1s).find("×2") != 0);
  put(2s, 0, "", "\n");
  put(2s, 1, "", "\n");
  CHECK(show(3s) == "[×2 0-1] \n");
}

TEST_CASE_METHOD(fixture, "line_folder: nothing is shown before older lines",
                 "[core]") {
  put(0ms, 0, "first");
  for (const uint32_t rank : {0, 1, 2})
    put(1ms, rank, "all");
  CHECK(show(50ms) == ""); // Complete, but the first line is not due.
  CHECK(show(100ms) == "r0:first\n[×3 0-2] all\n");
}

TEST_CASE_METHOD(fixture,
                 "line_folder: no line waits for a rank that has retired",
                 "[core]") {
  uut.retire(2);
  uut.retire(2);
  put(0ms, 0, "x");
  put(0ms, 1, "x");
  CHECK(show(0ms) == "[×2 0-1] x\n");
  put(0ms, 2, "still");
  CHECK(show(99ms) == ""); // Others may write it, too.
  CHECK(show(100ms) == "r2:still\n");
  put(1s, 0, "bye");
  uut.retire(0);
  CHECK(show(1s) == ""); // Rank 1 may write it.
  uut.retire(1);
  CHECK(show(1s) == "r0:bye\n");
}

TEST_CASE_METHOD(fixture, "line_folder: lines stay when their rank goes",
                 "[core]") {
  put(0ms, 2, "bye");
  uut.remove(2);
  put(1ms, 0, "bye");
  uut.remove(1);
  CHECK(show(2ms) == "[×2 0,2] bye\n");
}

TEST_CASE_METHOD(fixture,
                 "line_folder: a rank that is added later joins no older line",
                 "[core]") {
  put(0ms, 0, "x");
  uut.add(7, 7, "r7:");
  put(1ms, 7, "x");
  CHECK(show(1s) == "r0:x\nr7:x\n");
}

TEST_CASE_METHOD(fixture, "line_folder: a pending request shortens the wait",
                 "[core]") {
  put(0ms, 0, "a");
  const auto mark = uut.newest_of(0);
  CHECK(mark == uut.newest());
  put(5ms, 1, "b");
  CHECK_FALSE(uut.has_shown(mark));
  uut.hurry(mark, time_point{5ms});
  CHECK(due() == 15);
  CHECK(show(15ms) == "r0:a\n");
  CHECK(uut.has_shown(mark));
  CHECK_FALSE(uut.has_shown(uut.newest_of(1)));
  CHECK(due() == 105); // b is not affected.
  uut.hurry(mark, time_point{20ms});
  CHECK(due() == 105);
  uut.hurry(uut.newest(), time_point{100ms}); // Later than it would be.
  CHECK(due() == 105);
}

TEST_CASE("line_folder: the number of waiting lines is bounded", "[core]") {
  auto x = fixture{2};
  for (size_t i = 1; i < fold_lines_max; ++i)
    REQUIRE(x.put(0ms, 0, std::to_string(i)));
  CHECK(x.show(0ms) == "");
  CHECK_FALSE(x.put(0ms, 0, "last"));
  CHECK(x.show(0ms) == "r0:1\n"); // As few as possible.
  CHECK(x.show(0ms) == "");
}

TEST_CASE("line_folder: the number of waiting bytes is bounded", "[core]") {
  auto x = fixture{2};
  CHECK(x.put(0ms, 0, std::string(fold_bytes_max - 3, 'x')));
  CHECK(x.show(0ms) == "");
  CHECK_FALSE(x.put(0ms, 0, "y"));
  CHECK(x.show(0ms).size() == fold_bytes_max + 1);
  CHECK(x.due() == 100); // y stays.
  CHECK_FALSE(x.put(0ms, 0, std::string(fold_bytes_max, 'z')));
  CHECK(x.show(0ms).size() == fold_bytes_max + 4 + 5);
}

TEST_CASE("line_folder: a batch is not much larger than its size", "[core]") {
  auto x = fixture{2};
  const auto text = std::string(batch_max / 2, 'x');
  for (auto i = 0; i < 3; ++i)
    x.put(0ms, 0, text);
  auto batch = std::string{};
  CHECK_FALSE(x.uut.show(time_point{1s}, batch));
  CHECK(batch.size() == 2 * (text.size() + 4));
  batch.clear();
  CHECK(x.uut.show(time_point{1s}, batch));
  CHECK(batch.size() == text.size() + 4);
}

// The shown lines, unfolded again, are for each rank the lines that it has put.
TEST_CASE("line_folder: any mixture keeps every rank's lines and their order",
          "[core]") {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    auto dice = std::mt19937{seed};
    const auto count = uint32_t(1 + dice() % 6);
    auto x = fixture{count};
    auto written = std::map<uint32_t, std::string>{};
    auto shown = std::string{};
    for (auto t = 0ms; t < 500ms; t += std::chrono::milliseconds{dice() % 9}) {
      const auto rank = uint32_t(dice() % count);
      const auto text = std::string(1, char('a' + dice() % 3));
      written[rank] += text;
      x.put(t, rank, text);
      if (dice() % 3 == 0)
        shown += x.show(t);
    }
    shown += x.show(1h);
    auto seen = std::map<uint32_t, std::string>{};
    auto in = std::istringstream{shown};
    for (std::string line; std::getline(in, line);) {
      if (line[0] == 'r') {
        seen[uint32_t(line[1] - '0')] += line[3];
        continue;
      }
      auto ranks = line.substr(line.find(' ') + 1);
      ranks = ranks.substr(0, ranks.find(']'));
      for (size_t i = 0; i < ranks.size(); i += 2) {
        const auto first = uint32_t(ranks[i] - '0');
        auto last = first;
        if (i + 1 < ranks.size() && ranks[i + 1] == '-') {
          last = uint32_t(ranks[i + 2] - '0');
          i += 2;
        }
        for (auto rank = first; rank <= last; ++rank)
          seen[rank] += line.back();
      }
    }
    CAPTURE(seed, shown);
    CHECK(seen == written);
  }
}

} // namespace actorrun::test::line_folder_test
