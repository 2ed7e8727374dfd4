#include "actors/core/logs/tail_search.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>

namespace actorrun::test::tail_search_test {

using namespace actorrun::core;

namespace {

struct search_result {
  uint64_t begin = 0;
  size_t read = 0; ///< In bytes.
};

search_result search(tail_search uut, const std::string& file) {
  auto read = size_t{0};
  while (const auto block = uut.next()) {
    REQUIRE(block->size <= tail_search::block_size);
    uut.take(std::string_view{file}.substr(block->offset, block->size));
    read += block->size;
  }
  return {uut.result(), read};
}

std::string tail(const std::string& file, uint32_t count,
                 tail_search::filter counts = {}) {
  return file.substr(
    search(tail_search{0, file.size(), count, std::move(counts)}, file).begin);
}

} // namespace

TEST_CASE("tail_search: finds the last lines", "[core]") {
  const auto [file, count, last]
    = GENERATE(table<std::string, uint32_t, std::string>({
      {"", 3, ""},
      {"a\nb\nc\n", 2, "b\nc\n"},
      {"a\nb\nc", 2, "b\nc"},
      {"a\nb\n\n", 1, "\n"},
      {"a\nb\n", 0, ""},
      {"a\nb\n", 2, "a\nb\n"},
      {"a\nb\n", 9, "a\nb\n"},
      {"\n", 1, "\n"},
    }));
  CHECK(tail(file, count) == last);
}

TEST_CASE("tail_search: lines that do not match do not count", "[core]") {
  const auto has_x
    = [](std::string_view line) { return line.find('x') != line.npos; };
  CHECK(tail("x1\na\nx2\nb\nx3\nc\n", 2, has_x) == "x2\nb\nx3\nc\n");
  CHECK(tail("a\nb\n", 2, has_x) == "");     // None.
  CHECK(tail("x\rb\nxc", 2, has_x) == "xc"); // The first was written over.
}

TEST_CASE("tail_search: reads one block of a large file", "[core]") {
  auto file = std::string{};
  for (int i = 0; i < 100'000; ++i)
    file += "line " + std::to_string(i) + "\n";
  const auto found = search(tail_search{0, file.size(), 10}, file);
  CHECK(file.substr(found.begin).starts_with("line 99990\n"));
  CHECK(found.read <= 2 * tail_search::block_size);
}

TEST_CASE("tail_search: lines may cross blocks", "[core]") {
  auto dice = std::mt19937{1};
  auto file = std::string{};
  auto begins = std::vector<size_t>{};
  for (int i = 0; i < 300; ++i) {
    begins.push_back(file.size());
    file += std::string(dice() % 3'000, i % 3 == 0 ? 'x' : 'a') + "\n";
  }
  for (const uint32_t count : {1U, 2U, 50U, 150U, 299U, 300U}) {
    INFO(count);
    CHECK(search(tail_search{0, file.size(), count}, file).begin
          == begins[300 - count]);
  }
  const auto has_x
    = [](std::string_view line) { return line.find('x') != line.npos; };
  auto matching = std::vector<size_t>{};
  for (size_t i = 0; i < begins.size(); ++i)
    if (file[begins[i]] == 'x')
      matching.push_back(begins[i]);
  CHECK(search(tail_search{0, file.size(), 20, has_x}, file).begin
        == matching[matching.size() - 20]);
}

TEST_CASE("tail_search: a file that became shorter ends the search", "[core]") {
  auto uut = tail_search{0, 100, 5};
  REQUIRE(uut.next());
  uut.take("short\n");
  CHECK_FALSE(uut.next());
  CHECK(uut.result() == 100);
}

} // namespace actorrun::test::tail_search_test
