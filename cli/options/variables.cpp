#include "cli/options/variables.hpp"

#include "cli/options/spelling.hpp"

#include <algorithm>
#include <string_view>

namespace actorrun::cli {

namespace {

struct idle_variable {
  const char* name;
  /// Whether torchrun would do something about this value.
  bool (*asks)(const std::string& value);
  const char* instead;
};

constexpr idle_variable idle_variables[] = {
  {"TORCHELASTIC_HEALTH_CHECK_PORT",
   [](const std::string& x) { return !x.empty(); },
   "there is no such port; actorctl status --json tells how a job stands"},
};

constexpr std::string_view prefix = "PET_";

/// Misspelled ones would be missed in silence.
void warn_of_unknown(const host_facts& world, const option_rules& rules,
                     std::vector<std::string>& warnings) {
  auto known = std::vector<std::string>{};
  for (const auto& rule : rules)
    for (const auto& name : rule.variables)
      if (name.starts_with(prefix))
        known.push_back(name);
  for (const auto& name : world.variables())
    if (name.starts_with(prefix)
        && std::find(known.begin(), known.end(), name) == known.end())
      warnings.push_back(name + " has no effect: no option reads it"
                         + guess(name, known));
}

} // namespace

void warn_of_variables(const host_facts& world, const option_rules& rules,
                       std::vector<std::string>& warnings) {
  warn_of_unknown(world, rules, warnings);
  for (const auto& x : idle_variables)
    if (const auto value = world.variable(x.name); value && x.asks(*value))
      warnings.push_back(std::string{x.name} + " has no effect: " + x.instead);
}

} // namespace actorrun::cli
