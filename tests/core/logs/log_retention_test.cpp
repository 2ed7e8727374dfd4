#include "actors/core/logs/log_retention.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test::log_retention_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t mib = 1024 * 1024;

/// `<index>@<limit>`, with `!` if not all of it was shown; "-": nothing.
std::string choice(const std::vector<log_extent>& files) {
  const auto x = choose_discard(files);
  return !x ? "-"
            : std::to_string(x->index) + "@" + std::to_string(x->limit)
                + (x->is_unseen ? "!" : "");
}

} // namespace

TEST_CASE("log_retention: a file is rotated when enough of it was shown",
          "[core]") {
  CHECK_FALSE(is_due_for_rotation({0, 99, 1'000}, 100));
  CHECK(is_due_for_rotation({0, 100, 1'000}, 100));
  CHECK_FALSE(is_due_for_rotation({50, 149, 1'000}, 100));
  CHECK(is_due_for_rotation({50, 150, 1'000}, 100));
  CHECK_FALSE(is_due_for_rotation({0, mib, mib}, 0));
}

TEST_CASE("log_retention: the file with the most bytes shown is cut first",
          "[core]") {
  CHECK(choice({}) == "-");
  const auto all = [](uint64_t shown) { return log_extent{0, shown, shown}; };
  CHECK(choice({all(mib), all(3 * mib), all(2 * mib)})
        == "1@" + std::to_string(3 * mib - discard_keeps));
  // Bytes that are gone already do not count.
  CHECK(choice({{2 * mib, 3 * mib, 3 * mib}, all(2 * mib)})
        == "1@" + std::to_string(2 * mib - discard_keeps));
}

TEST_CASE("log_retention: text that is not shown is cut last, and by half",
          "[core]") {
  CHECK(choice({{0, 0, 9 * mib}, {0, mib, mib}})
        == "1@" + std::to_string(mib - discard_keeps));
  CHECK(choice({{0, 0, 2 * mib}, {0, 10, 9 * mib + 10}})
        == "1@" + std::to_string(9 * mib / 2 + 10) + "!");
}

TEST_CASE("log_retention: small amounts are not cut", "[core]") {
  const auto least = discard_keeps + discard_min;
  CHECK(choice({{5, least + 4, least + 4}}) == "-");
  CHECK(choice({{5, least + 5, least + 5}})
        == "0@" + std::to_string(discard_min + 5));
  CHECK(choice({{5, 5, discard_min + 4}}) == "-");
  CHECK(choice({{5, 5, discard_min + 5}})
        == "0@" + std::to_string(discard_min / 2 + 5) + "!");
}

TEST_CASE("log_retention: free space is checked at intervals", "[core]") {
  auto uut = space_ledger{};
  CHECK(uut.may_ask(time_point{0s}));
  uut.asked(time_point{5s}, true);
  CHECK_FALSE(uut.may_ask(time_point{5'099ms}));
  CHECK(uut.may_ask(time_point{5'100ms}));
  CHECK(uut.next() == time_point{5'100ms});
  uut.asked(time_point{6s}, false);
  CHECK_FALSE(uut.may_ask(time_point{6'999ms}));
  CHECK(uut.may_ask(time_point{7s}));
}

TEST_CASE("log_retention: losses are reported once, and the total at the end",
          "[core]") {
  auto uut = space_ledger{};
  CHECK_FALSE(uut.is_news());
  CHECK_FALSE(uut.is_more_than_reported());
  uut.gave_up(10);
  CHECK(uut.is_news());
  CHECK_FALSE(uut.is_news());
  CHECK_FALSE(uut.is_more_than_reported());
  uut.gave_up(5);
  CHECK_FALSE(uut.is_news());
  CHECK(uut.byte_count() == 15);
  CHECK(uut.is_more_than_reported());
  CHECK_FALSE(uut.is_more_than_reported());
}

} // namespace actorrun::test::log_retention_test
