#include "tests/runtime/small_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace actorrun::test::store_weight_test {

namespace {

constexpr auto tolerance = 0.1;

/// What is charged suits the greedier of two mallocs.
constexpr auto surplus_max = 0.25;

/// With jemalloc and with glibc's malloc.
constexpr auto programs = std::array{STORE_WEIGHT_PROGRAM, STORE_WEIGHT_GLIBC};

/// What the program prints; fails the test if it fails.
/// @param before Of the shell.
std::string weigh(const std::string& program, const std::string& kind,
                  const std::string& before = {}) {
  const auto command = before + "exec " + program + " " + kind;
  auto* pipe = ::popen(command.c_str(), "re");
  REQUIRE(pipe);
  auto out = std::string{};
  auto part = std::array<char, 256>{};
  while (const auto size = std::fread(part.data(), 1, part.size(), pipe))
    out.append(part.data(), size);
  INFO(command);
  REQUIRE(::pclose(pipe) == 0);
  return out;
}

std::vector<std::string> kinds() {
  auto lines = std::istringstream{weigh(programs[0], "kinds")};
  auto out = std::vector<std::string>{};
  for (auto line = std::string{}; std::getline(lines, line);)
    out.push_back(line);
  return out;
}

bool cannot_weigh() {
  constexpr auto is_sanitized = actorrun::test::has_address_sanitizer
                                || actorrun::test::has_thread_sanitizer;
  if (is_sanitized)
    actorrun::test::skip("malloc",
                         "a sanitizer has a malloc of its own, which takes"
                         " more than glibc's");
  return is_sanitized;
}

} // namespace

TEST_CASE("store: what it charges is what its process grows by", "[runtime]") {
  if (cannot_weigh())
    return;
  const auto all = kinds();
  CHECK(all.size() > 10);
  for (const auto* program : programs)
    for (const auto& kind : all) {
      const auto text = weigh(program, kind);
      INFO(program << " " << kind << ": " << text);
      auto words = std::istringstream{text};
      auto word = std::string{};
      auto charged = 0.0;
      auto grown = 0.0;
      REQUIRE(words >> word >> charged >> word >> grown);
      CHECK(charged > (1 - tolerance) * grown);
      CHECK(charged < (1 + surplus_max) * grown);
    }
}

TEST_CASE("store_server: its memory goes back to the system", "[runtime]") {
  if (cannot_weigh())
    return;
  for (const auto* program : programs) {
    const auto text = weigh(program, "generation");
    INFO(program << " " << text);
    auto words = std::istringstream{text};
    auto word = std::string{};
    auto before = 0.0;
    auto full = 0.0;
    auto after = 0.0;
    REQUIRE(words >> word >> before >> word >> full >> word >> after);
    CHECK(full - before > 200e6);
    CHECK(after - before < tolerance * (full - before));
  }
}

// Without it the kernel would kill the process.
TEST_CASE("store_ports: a small control group has a small store", "[runtime]") {
  if (cannot_weigh())
    return;
  constexpr auto memory = size_t{64} << 20;
  const auto group = actorrun::test::small_group{memory};
  if (group.folder.empty()) {
    actorrun::test::skip("cgroup", "no control group may limit memory here");
    return;
  }
  const auto text = weigh(programs[0], "limit",
                          "echo $$ > " + group.folder + "/cgroup.procs && ");
  INFO(text);
  auto words = std::istringstream{text};
  auto word = std::string{};
  auto taken = size_t{0};
  REQUIRE(words >> word >> taken);
  CHECK(taken < memory / 4);
  CHECK(taken > (1 - tolerance) * memory / 4);
}

} // namespace actorrun::test::store_weight_test
