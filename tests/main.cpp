// Defines the main of all test programs, and with Catch2 version 2 all of
// Catch2.
#define CATCH_CONFIG_RUNNER
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace actorrun::test {

namespace {

/// What was skipped so far, and in how many cases.
struct skip_ledger {
  size_t case_count = 0;
  std::string current; ///< The running case.
  std::set<std::string> skipped;
  std::map<std::string, size_t, std::less<>> by_lack;
};

skip_ledger& ledger() {
  static auto instance = skip_ledger{};
  return instance;
}

struct case_counter final : Catch::EventListenerBase {
  using Catch::EventListenerBase::EventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    ++ledger().case_count;
    ledger().current = info.name;
  }
};

CATCH_REGISTER_LISTENER(case_counter)

bool must_be_here(std::string_view lack) {
  const auto* text = std::getenv("ACTORRUN_NO_SKIP");
  auto rest = std::string_view{text == nullptr ? "" : text};
  while (!rest.empty()) {
    const auto end = rest.find(',');
    const auto name = rest.substr(0, end);
    if (name == lack || name == "all")
      return true;
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
  return false;
}

} // namespace

void skip(std::string_view lack, const std::string& why) {
  if (must_be_here(lack))
    FAIL("ACTORRUN_NO_SKIP forbids to skip this: " << why);
  auto& x = ledger();
  if (x.skipped.insert(x.current).second)
    ++x.by_lack[std::string{lack}];
  WARN("SKIPPED: " << why);
}

} // namespace actorrun::test

int main(int argc, char** argv) {
  const auto code = Catch::Session{}.run(argc, argv);
  const auto& x = actorrun::test::ledger();
  if (x.skipped.empty())
    return code;
  std::cout << "skipped, at least in part: " << x.skipped.size() << " of "
            << x.case_count << " cases, for lack of";
  for (const auto& [lack, count] : x.by_lack)
    std::cout << " " << lack << " (" << count << ")";
  std::cout << std::endl;
  return code == 0 && x.skipped.size() == x.case_count
           ? actorrun::test::skipped_code
           : code;
}
