#include "cli/options/spelling.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::spelling_test {

using namespace actorrun::cli;

namespace {

const auto known = std::vector<std::string>{
  "--max-restarts", "--nproc-per-node", "--tee", "--module"};

} // namespace

TEST_CASE("nearest: the beginning of a word is that word", "[cli]") {
  CHECK(nearest("--max", known) == "--max-restarts");
  CHECK(nearest("--ma", known) == "--max-restarts");
  CHECK(nearest("--nprocs", known) == "--nproc-per-node");
  CHECK(nearest("--nproc_x", known) == "--nproc-per-node");
  CHECK(nearest("--nprocess", known).empty()); // Three letters too many.
  CHECK(nearest("join", {"join_timeout"}) == "join_timeout");
}

TEST_CASE("nearest: a typing error has a suggestion", "[cli]") {
  CHECK(nearest("--modul", known) == "--module");
  CHECK(nearest("--mdoule", known) == "--module");
  CHECK(nearest("-tee", known) == "--tee");
  CHECK(nearest("--max-restrats", known) == "--max-restarts");
}

TEST_CASE("nearest: a word that is far from all has no suggestion", "[cli]") {
  CHECK(nearest("--", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest("--something-else", known).empty());
  CHECK(nearest("--tee", {}).empty());
}

TEST_CASE("nearest: a suggestion ends a message", "[cli]") {
  CHECK(guess("--modul", known) == "; is --module meant?");
  CHECK(guess("--something-else", known).empty());
}

} // namespace actorrun::test::spelling_test
