// The charts of docs/protocol.md and the states of the machines.
#include "actors/core/protocol/leadership.hpp"
#include "actors/core/protocol/membership.hpp"
#include "actors/core/protocol/rendezvous_phase.hpp"
#include "actors/core/succession/succession.hpp"
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <regex>
#include <sstream>

namespace actorrun::test::charts_test {

using namespace actorrun::core;

namespace {

using names = std::vector<std::string>;

std::string name_of(worker_group::phase x) {
  using enum worker_group::phase;
  switch (x) {
    case idle:
      return "idle";
    case preparing:
      return "preparing";
    case starting:
      return "starting";
    case running:
      return "running";
    case succeeded:
      return "succeeded";
    case failed:
      return "failed";
    case stopping:
      return "stopping";
    case stopped:
      return "stopped";
  }
  return "unknown";
}

template <class State>
std::string name_of(State x) {
  return to_string(x);
}

/// In their order, up to the first value that has no name.
template <class State>
names states_of() {
  auto out = names{};
  for (auto i = 0; i < 32; ++i) {
    auto name = name_of(State(i));
    if (name == "unknown")
      break;
    out.push_back(std::move(name));
  }
  return out;
}

/// From the heading that ends with this word to the next one.
std::string section(const std::string& machine) {
  auto in = std::ifstream{PROTOCOL_PAGE};
  auto text = std::ostringstream{};
  text << in.rdbuf();
  const auto page = text.str();
  const auto begin = page.find(": `" + machine + "`\n");
  REQUIRE(begin != std::string::npos);
  return page.substr(begin, page.find("\n#", begin) - begin);
}

/// `States: a, b.`
names listed_in(const std::string& section) {
  const auto begin = section.find("\nStates: ");
  REQUIRE(begin != std::string::npos);
  const auto list = section.substr(begin, section.find('.', begin) - begin);
  static const auto name = std::regex{"`([a-z_]+)`"};
  auto out = names{};
  for (auto i = std::sregex_iterator{list.begin(), list.end(), name};
       i != std::sregex_iterator{}; ++i)
    out.push_back((*i)[1]);
  return out;
}

/// Whether the text before the list has the word.
bool is_drawn(const std::string& section, const std::string& state) {
  const auto chart = section.substr(0, section.find("\nStates: "));
  return std::regex_search(chart, std::regex{"\\b" + state + "\\b"});
}

template <class State>
void check(const std::string& machine, const names& not_drawn = {}) {
  INFO(machine);
  const auto page = section(machine);
  CHECK(listed_in(page) == states_of<State>());
  for (const auto& x : states_of<State>()) {
    INFO(x);
    const auto is_exempt = std::ranges::count(not_drawn, x) > 0;
    CHECK(is_drawn(page, x) != is_exempt);
  }
}

} // namespace

TEST_CASE("charts: they have the states that the machines have", "[core]") {
  check<rendezvous_phase>("rendezvous::phase", {"ended"});
  check<membership::link>("membership::link");
  check<share_state>("core::share_state");
  check<worker_group::phase>("worker_group::phase");
  check<leadership::phase>("leadership::phase",
                           {"renewing", "checking", "writing", "retired"});
  check<succession::phase>("succession::phase");
}

} // namespace actorrun::test::charts_test
