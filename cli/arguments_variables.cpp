#include "actorrun/cli/arguments_variables.hpp"

#include "actorrun/cli/arguments_values.hpp"

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

} // namespace

void warn_of_variables(const surroundings& world,
                       std::vector<std::string>& warnings) {
  for (const auto& x : idle_variables)
    if (const auto value = world.variable(x.name); value && x.asks(*value))
      warnings.push_back(std::string{x.name} + " has no effect: " + x.instead);
}

} // namespace actorrun::cli
