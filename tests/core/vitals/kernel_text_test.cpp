#include "actors/core/vitals/kernel_text.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <string>

namespace actorrun::test::kernel_text_test {

using namespace actorrun::core;

TEST_CASE("kernel_text: the load is read", "[core]") {
  CHECK(parse_load("0.52 1.00 12.34 1/345 6789\n")
        == node_load{52, 100, 1'234});
  CHECK(parse_load("0.00 0.01 0.05 ") == node_load{0, 1, 5});
  CHECK(parse_load("4096.00 1.00 1.00 1/1 1\n")
        == node_load{409'600, 100, 100});
}

TEST_CASE("kernel_text: a load that is cut off or odd is unknown", "[core]") {
  for (const auto* text :
       {"", " ", "0.52", "0.52 1.00", "0.52 1.00 12.3", "0.52 1.00 12.34",
        "0.5 1.00 12.34 1/1", "0.520 1.00 12.34 1/1", "a.52 1.00 12.34 1/1",
        "-1.00 1.00 12.34 1/1", "0,52 1,00 12,34 1/1", "1.-1 1.00 1.00 1/1"}) {
    INFO(text);
    CHECK_FALSE(parse_load(text));
  }
}

TEST_CASE("kernel_text: a huge load is the largest number", "[core]") {
  const auto x
    = parse_load("99999999999999999999999.00 42949672.95 42949673.00 1/1 1\n");
  REQUIRE(x);
  CHECK(x->of_1_minute == UINT32_MAX);
  CHECK(x->of_5_minutes == UINT32_MAX);
  CHECK(x->of_15_minutes == UINT32_MAX);
}

TEST_CASE("kernel_text: total and available memory are read", "[core]") {
  CHECK(parse_memory("MemTotal:       16384 kB\n"
                     "MemFree:         1000 kB\n"
                     "MemAvailable:    2048 kB\n")
        == node_memory{16'777'216, 2'097'152});
  CHECK(parse_memory("MemAvailable: 0 kB\nMemTotal:\t1 kB\n")
        == node_memory{1'024, 0});
}

TEST_CASE("kernel_text: memory that is cut off or odd is unknown", "[core]") {
  for (const auto* text :
       {"", "MemTotal: 1 kB\n", "MemTotal: 1 kB\nMemAvailable: 2 kB",
        "MemTotal: 1 kB\nMemAvailable: 2\n", "MemTotal: 1 kB\nMemAvailable: 2",
        "MemTotal: 1 MB\nMemAvailable: 2 kB\n",
        "MemTotal: x kB\nMemAvailable: 2 kB\n",
        "MemTotal: -1 kB\nMemAvailable: 2 kB\n",
        "XMemTotal: 1 kB\nMemAvailable: 2 kB\n",
        "MemTotal: 99999999999999999999999 kB\nMemAvailable: 2 kB\n",
        "MemTotal: 18014398509481984 kB\nMemAvailable: 2 kB\n"}) {
    INFO(text);
    CHECK_FALSE(parse_memory(text));
  }
}

TEST_CASE("kernel_text: process numbers are read up to a bound", "[core]") {
  using pids = std::vector<int64_t>;
  CHECK(parse_pids("", 9) == pids{});
  CHECK(parse_pids("12 34 5 ", 9) == pids{12, 34, 5});
  CHECK(parse_pids("12 34 5 ", 2) == pids{12, 34});
  CHECK(parse_pids("12 x 5", 9) == pids{12});
  CHECK(parse_pids("12 0 5", 9) == pids{12});
  CHECK(parse_pids("12 -3 5", 9) == pids{12});
  CHECK(parse_pids("12 4294967296", 9) == pids{12});
  CHECK(parse_pids("99999999999999999999999", 9) == pids{});
}

} // namespace actorrun::test::kernel_text_test
