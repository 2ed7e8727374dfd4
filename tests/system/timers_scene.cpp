#include "tests/system/timers_scene.hpp"

#include <algorithm>
#include <regex>

namespace actorrun::test {

double timers_scene::worst_lateness(const std::string& text) {
  static const auto pattern = std::regex{R"(is overdue by ([0-9.]+) ms)"};
  auto worst = -1.0;
  for (auto i = std::sregex_iterator{text.begin(), text.end(), pattern};
       i != std::sregex_iterator{}; ++i)
    worst = std::max(worst, std::stod((*i)[1]));
  return worst;
}

bool has_line(const std::string& text, const std::string& pattern) {
  const auto whole = std::regex{pattern};
  const auto lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(),
                     [&](const auto& x) { return std::regex_match(x, whole); });
}

} // namespace actorrun::test
