#include "actors/core/timers/progress_notice.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <random>
#include <string>

namespace actorrun::test::progress_notice_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("progress_notice: signs of life, of trouble and of the end",
          "[core]") {
  CHECK(read_notice("WATCHDOG=1") == progress_notice{.is_alive = true});
  CHECK(read_notice("WATCHDOG=1\n") == progress_notice{.is_alive = true});
  CHECK(read_notice("WATCHDOG=trigger") == progress_notice{.is_stuck = true});
  CHECK(read_notice("STOPPING=1") == progress_notice{.is_stopping = true});
  CHECK(read_notice("READY=1\nSTATUS=generation 3\nWATCHDOG=1\nMAINPID=1")
        == progress_notice{.is_alive = true});
}

TEST_CASE("progress_notice: the interval is in microseconds", "[core]") {
  const auto of = [](const std::string& text) {
    return read_notice("WATCHDOG_USEC=" + text).interval;
  };
  CHECK(of("1500000") == duration{1500ms});
  CHECK(of("0") == duration{0});
  CHECK(of("9223372036854775") == duration{9223372036854775us});
  for (const auto* bad : {"9223372036854776", "18446744073709551616", "", "-1",
                          "+1", " 1", "1 ", "1.5", "0x10", "1s"})
    CHECK(of(bad) == std::nullopt);
  CHECK(
    read_notice("WATCHDOG_USEC=1\nWATCHDOG_USEC=2\nWATCHDOG_USEC=x").interval
    == duration{2us});
}

TEST_CASE("progress_notice: everything else is ignored", "[core]") {
  const auto nothing = progress_notice{};
  for (const auto* text :
       {"", "\n", "\n\n", "WATCHDOG", "WATCHDOG=", "WATCHDOG=0", "WATCHDOG=11",
        "WATCHDOG=1 ", " WATCHDOG=1", "watchdog=1", "XWATCHDOG=1", "READY=1",
        "STOPPING=0", "WATCHDOG=1\r"})
    CHECK(read_notice(text) == nothing);
  CHECK(read_notice(std::string_view{"WATCHDOG=1\n\0", 12}) == nothing);
}

TEST_CASE("progress_notice: the length of a datagram is bounded", "[core]") {
  auto text = std::string{"WATCHDOG=1\n"};
  text.resize(notice_size_max, 'x');
  CHECK(read_notice(text).is_alive);
  CHECK_FALSE(read_notice(text + "x").is_alive);
}

TEST_CASE("progress_notice: any bytes are harmless", "[core]") {
  auto random = std::mt19937{7};
  const auto words
    = std::string{"WATCHDOG=1\nWATCHDOG_USEC=99999999999999999999"
                  "\nSTOPPING=1\nWATCHDOG=trigger"};
  for (auto i = 0; i < 20'000; ++i) {
    auto text = words.substr(random() % words.size());
    for (auto j = random() % 4; j > 0; --j)
      text[random() % text.size()] = char(random());
    const auto x = read_notice(text);
    CHECK((!x.interval || *x.interval >= duration::zero()));
  }
}

} // namespace actorrun::test::progress_notice_test
