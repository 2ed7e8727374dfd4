#include "actors/core/logs/line_label.hpp"
#include "actors/core/logs/tail_output.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::tail_output_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Two streams that are shown, and their text.
struct fixture {
  tail_output uut;
  tail_stream streams[2];

  explicit fixture(bool folds = false, std::vector<std::string> filters = {})
    : uut{tail_kind::out, folds, std::move(filters)} {
    for (uint64_t i = 0; i < 2; ++i) {
      streams[i].number = i + 1;
      streams[i].global_rank = uint32_t(i);
      streams[i].prefix = "r" + std::to_string(i) + ":";
      uut.add(streams[i], time_point{});
    }
  }

  bool feed(size_t i, std::string_view bytes, duration t = 0s) {
    return uut.feed(streams[i], bytes, time_point{t});
  }

  std::string take() {
    const auto result = std::string{uut.batch()};
    uut.batch_taken();
    return result;
  }

  std::string show(duration t) {
    CHECK(uut.show(time_point{t}));
    return take();
  }

  int64_t due() const {
    return uut.due() ? uut.due()->time_since_epoch() / 1ms : -1;
  }
};

struct folding : fixture {
  folding() : fixture(true) {}
};

} // namespace

TEST_CASE_METHOD(fixture, "tail_output: lines of all streams get their prefix",
                 "[core]") {
  CHECK_FALSE(feed(0, "a\nb"));
  CHECK_FALSE(feed(1, "c\n"));
  CHECK(take() == "r0:a\nr1:c\n");
  CHECK(uut.batch().empty());
}

TEST_CASE_METHOD(fixture, "tail_output: the size of a batch is bounded",
                 "[core]") {
  const auto line = std::string(batch_max / 2, 'x') + "\n";
  CHECK(feed(0, line + line + line));
  CHECK(streams[0].cursor.begin() == 2 * line.size());
  CHECK(take().size() == 2 * (line.size() + 3));
  CHECK_FALSE(feed(0, line));
}

TEST_CASE_METHOD(fixture,
                 "tail_output: no stream has its turn while the console "
                 "is full",
                 "[core]") {
  CHECK(uut.is_ready(time_point{}));
  feed(0, "a\n");
  uut.batch_refused();
  CHECK(uut.is_blocked());
  CHECK_FALSE(uut.is_ready(time_point{1h}));
  uut.schedule().next(time_point{});
  uut.schedule().read_some(1, 1, false, time_point{});
  CHECK(due() == -1);
  uut.unblock();
  CHECK(uut.is_ready(time_point{1h}));
  CHECK(due() == 2);
  CHECK(take() == "r0:a\n");
}

TEST_CASE("tail_output: lines that match a filter are kept separately",
          "[core]") {
  auto x = fixture{false, {"loss"}};
  x.streams[0].filter_path = "/log/filtered";
  x.feed(0, "loss 1\nother\n");
  x.feed(1, "loss 2\n"); // Has no file for matches.
  CHECK(x.uut.filtered() == "r0:loss 1\n");
  x.uut.filtered_taken();
  CHECK(x.uut.filtered().empty());
  CHECK(x.take() == "r0:loss 1\nr0:other\nr1:loss 2\n");
}

TEST_CASE_METHOD(fixture,
                 "tail_output: awaited lines are shown when they are taken",
                 "[core]") {
  auto& x = streams[0];
  CHECK(uut.is_shown(x));
  uut.expect(x, 4, time_point{});
  CHECK_FALSE(uut.is_shown(x));
  feed(0, "a\nhalf");
  CHECK_FALSE(uut.is_shown(x)); // Not taken yet.
  take();
  CHECK(uut.is_shown(x)); // The half line is not part of it.
  uut.expect_end(x, 6, time_point{});
  CHECK_FALSE(uut.is_shown(x));
  feed(0, "half");
  CHECK(take() == "r0:half\n");
  CHECK(uut.is_shown(x));
}

TEST_CASE_METHOD(fixture, "tail_output: the end of a worker goes first",
                 "[core]") {
  uut.expect_end(streams[1], 5, time_point{});
  CHECK(uut.schedule().next(time_point{}) == 2u);
}

TEST_CASE_METHOD(folding, "tail_output: equal lines are folded", "[core]") {
  feed(0, "a\nb\n");
  feed(1, "a\n");
  CHECK(uut.batch().empty());
  CHECK(show(0ms) == "[×2 0-1] a\n");
  CHECK(due() == 100);
  CHECK(show(100ms) == "r0:b\n");
}

TEST_CASE_METHOD(folding, "tail_output: an awaited line waits less for others",
                 "[core]") {
  auto& x = streams[0];
  feed(0, "a\n");
  uut.expect(x, 4, time_point{50ms});
  CHECK(due() == 60);
  feed(0, "b\n", 52ms);
  CHECK_FALSE(uut.is_shown(x));
  feed(0, "c\n", 53ms); // Written later.
  CHECK(show(60ms) == "r0:a\n");
  CHECK_FALSE(uut.is_shown(x));
  CHECK(due() == 62);
  CHECK(show(62ms) == "r0:b\n");
  CHECK(uut.is_shown(x));
  CHECK(due() == 153);
}

TEST_CASE_METHOD(folding,
                 "tail_output: no line waits for a worker that has ended",
                 "[core]") {
  uut.expect_end(streams[1], 0, time_point{});
  feed(0, "a\n");
  CHECK(show(0ms) == "r0:a\n");
  uut.remove(streams[1]);
  feed(0, "b\n");
  CHECK(show(0ms) == "r0:b\n");
}

TEST_CASE("tail_output: filters apply to folded lines, too", "[core]") {
  auto x = fixture{true, {"a"}};
  x.streams[0].filter_path = x.streams[1].filter_path = "/log/filtered";
  x.feed(0, "a\n");
  x.feed(1, "a\n");
  CHECK(x.uut.filtered() == "r0:a\nr1:a\n");
}

TEST_CASE("tail_output: files that are not shown are polled seldom", "[core]") {
  auto uut = tail_output{tail_kind::watched, false, {}};
  auto x = tail_stream{};
  x.kind = tail_kind::watched;
  uut.add(x, time_point{1s});
  CHECK_FALSE(uut.is_ready(time_point{1'099ms}));
  CHECK(uut.due() == time_point{1'100ms});
  uut.schedule().next(time_point{1'100ms});
  uut.schedule().read_some(x.number, 1, false, time_point{1'100ms});
  CHECK(uut.due() == time_point{1'200ms});
}

} // namespace actorrun::test::tail_output_test
