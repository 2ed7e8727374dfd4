// Tests how explanations of several generations are printed.
#include "cli/report/journal_view.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::journal_view_test {

using namespace actorrun::cli;
using namespace actorrun::core::journal;

namespace {

explanation end_of(uint64_t generation, const std::string& reason,
                   uint32_t global_rank = 2) {
  auto failure = core::worker_failure{};
  failure.global_rank = global_rank;
  failure.pid = int64_t(1000 + generation);
  return {.sentence = "Generation " + std::to_string(generation)
                      + " ended: " + reason + ".",
          .cause = culprit{.host = "n1", .reason = reason, .failure = failure},
          .generation = {generation}};
}

} // namespace

TEST_CASE("journal_view: ends in a row that are alike are told of once",
          "[cli]") {
  auto parts = std::vector<explanation>{};
  for (auto i = uint64_t{1}; i <= 30; ++i)
    parts.push_back(end_of(i, "exited with code 9"));
  parts.push_back({.sentence = "Generation 31 runs.", .generation = {31}});
  CHECK(to_text(parts)
        == "Generation 1 ended: exited with code 9.\n"
           "Generations 2 to 29 ended in the same way.\n"
           "Generation 30 ended: exited with code 9.\n"
           "Generation 31 runs.\n");
}

TEST_CASE("journal_view: three ends that are alike are few", "[cli]") {
  const auto parts
    = std::vector{end_of(1, "left"), end_of(2, "left"), end_of(3, "left")};
  CHECK(to_text(parts)
        == "Generation 1 ended: left.\nGeneration 2 ended: left.\n"
           "Generation 3 ended: left.\n");
}

TEST_CASE("journal_view: another rank or reason is another end", "[cli]") {
  const auto parts = std::vector{
    end_of(1, "exited with code 9"), end_of(2, "exited with code 9"),
    end_of(3, "exited with code 9", 5), end_of(4, "exited with code 9"),
    end_of(5, "exited with code 8")};
  auto all = std::string{};
  for (const auto& x : parts)
    all += to_text(x);
  CHECK(to_text(parts) == all);
}

TEST_CASE("journal_view: another message is another end", "[cli]") {
  auto parts = std::vector<explanation>{};
  auto all = std::string{};
  for (auto i = uint64_t{1}; i <= 5; ++i) {
    parts.push_back(end_of(i, "exited with code 1"));
    parts.back().cause->failure->details.message
      = "ValueError: " + std::to_string(i);
    all += to_text(parts.back());
  }
  CHECK(to_text(parts) == all);
}

} // namespace actorrun::test::journal_view_test
