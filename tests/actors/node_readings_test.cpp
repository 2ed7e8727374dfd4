#include "actors/core/logs/log_fanout.hpp"
#include "actors/node_readings.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_log_reader.hpp"

#include <limits>
#include <memory>
#include <string>

namespace actorrun::test::node_readings_test {

namespace {

using key = node_readings::key;

/// Its owner delivers at once what was read.
struct readings_fixture {
  void begin(const key& whose, uint32_t credit = 40'000) {
    const auto name
      = std::to_string(whose.first) + "/" + std::to_string(whose.second);
    uut.begin(whose, {.follow = false}, credit,
              [to = lines, name](const v1::LogChunk& x) {
                auto text = name + ":";
                for (const auto& line : x.lines())
                  text += " " + line.text();
                to.write(text + x.trouble() + (x.is_end() ? " end" : ""));
              });
  }

  recorder lines;
  std::shared_ptr<fake_log_reader> reader = std::make_shared<fake_log_reader>();
  node_readings uut{reader, [this](const log_lines_read& x) { uut.on(x); }};
};

/// The least and the most credit of a reading.
constexpr auto least = uint32_t{core::log_line_cost_max};
constexpr auto most = core::log_fanout::share_max;

/// Of the coordinator, and of an operator.
constexpr auto coordinators = key{0, 7};
constexpr auto operators = key{5, 7};

} // namespace

TEST_CASE("node readings: without a reader each ends with a reason",
          "[actors]") {
  auto lines = recorder{};
  auto uut = node_readings{nullptr, [](const log_lines_read&) {}};
  uut.begin(operators, {}, 40'000, [lines](const v1::LogChunk& x) {
    lines.write(x.trouble() + (x.is_end() ? " end" : ""));
  });
  CHECK(lines.told() == "this process reads no log files end");
  CHECK(uut.empty());
  uut.add_credit(operators, 0);
  uut.lose_coordinator();
  uut.clear();
  CHECK(lines.told().empty());
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: each reading gets its lines, in order",
                 "[actors]") {
  begin(coordinators);
  begin(operators);
  reader->read(2, "one");
  reader->read(1, "two");
  reader->read(2, "three");
  CHECK(lines.told() == "5/7: one; 0/7: two; 5/7: three");
  CHECK_FALSE(uut.empty());
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: the last lines end a reading, and only that",
                 "[actors]") {
  begin(coordinators);
  begin(operators);
  reader->read(1, "last", true);
  CHECK(lines.told() == "0/7: last end");
  reader->read(1, "late");
  CHECK(lines.told().empty());
  reader->read(2, "more", true);
  CHECK(lines.told() == "5/7: more end");
  CHECK(uut.empty());
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: a number in use is refused, and free "
                 "afterwards",
                 "[actors]") {
  begin(operators);
  begin(operators);
  CHECK(lines.told() == "5/7:there is a reading with this number end");
  reader->read(1, "first");
  CHECK(lines.told() == "5/7: first");
  uut.add_credit(operators, 0);
  begin(operators);
  reader->read(1, "of the one before");
  reader->read(2, "second");
  CHECK(lines.told() == "5/7: second");
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: operators with the same number are apart",
                 "[actors]") {
  begin({5, 1});
  begin({6, 1});
  begin({5, 2});
  reader->told();
  uut.add_credit({6, 1}, 100);
  uut.add_credit({6, 2}, 100);
  CHECK(reader->told() == "credit 2 100");
}

TEST_CASE_METHOD(readings_fixture, "node readings: credit is fitted",
                 "[actors]") {
  const auto [given, used]
    = GENERATE(std::pair{0u, least}, std::pair{least - 1, least},
               std::pair{least, least}, std::pair{least + 1, least + 1},
               std::pair{most, most}, std::pair{most + 1, most},
               std::pair{std::numeric_limits<uint32_t>::max(), most});
  begin(operators, given);
  CHECK(reader->told() == "begin 1, credit " + std::to_string(used));
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: a reader that is full refuses, for now",
                 "[actors]") {
  reader->is_full = true;
  begin(operators);
  CHECK(lines.told() == "5/7:too many operators read logs of this node end");
  CHECK(uut.empty());
  reader->is_full = false;
  begin(operators);
  reader->read(1, "hello");
  CHECK(lines.told() == "5/7: hello");
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: credit of 0 ends a reading, once",
                 "[actors]") {
  begin(operators);
  reader->told();
  uut.add_credit(operators, 1);
  uut.add_credit(operators, 0);
  uut.add_credit(operators, 0);
  uut.add_credit(operators, 1);
  CHECK(reader->told() == "credit 1 1; end 1");
  CHECK(uut.empty());
  reader->read(1, "late", true);
  CHECK(lines.told().empty());
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: a coordinator that is lost takes only its own "
                 "with it",
                 "[actors]") {
  begin({0, 1});
  begin({5, 1});
  begin({0, 2});
  reader->told();
  uut.lose_coordinator();
  CHECK(reader->told() == "end 1; end 3");
  uut.lose_coordinator();
  CHECK(reader->told().empty());
  reader->read(1, "late");
  reader->read(2, "hello");
  CHECK(lines.told() == "5/1: hello");
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: an end may begin the same reading again",
                 "[actors]") {
  auto again = recorder{};
  uut.begin(operators, {}, 40'000, [&, again](const v1::LogChunk& x) {
    again.write(x.lines(0).text());
    begin(operators);
  });
  reader->read(1, "first", true);
  CHECK(again.told() == "first");
  reader->read(2, "second");
  CHECK(lines.told() == "5/7: second");
}

TEST_CASE_METHOD(readings_fixture,
                 "node readings: all end, and none begins after that",
                 "[actors]") {
  begin(coordinators);
  begin(operators);
  reader->told();
  uut.clear();
  CHECK(reader->told() == "end 1; end 2");
  CHECK(uut.empty());
  CHECK(reader.use_count() == 1);
  begin(operators);
  CHECK(lines.told() == "5/7:this process reads no log files end");
}

} // namespace actorrun::test::node_readings_test
