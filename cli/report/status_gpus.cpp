#include "cli/report/status_gpus.hpp"

#include "actors/core/text.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace actorrun::cli {

namespace {

using json = nlohmann::ordered_json;
using row = std::vector<std::string>;

std::string in_gib(uint64_t bytes) {
  constexpr auto gib = double(uint64_t{1} << 30);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", double(bytes) / gib);
  return text;
}

std::string memory_text(const v1::GpuStatus& x) {
  if (x.memory_total() == 0)
    return "-";
  return in_gib(x.memory_used()) + " of " + in_gib(x.memory_total()) + " GiB";
}

row row_of(const v1::AgentStatus& agent, const v1::GpuStatus& x) {
  return {agent.host(),
          std::to_string(x.index()),
          core::printable(x.name()),
          memory_text(x),
          x.has_utilisation() ? std::to_string(x.utilisation()) + " %" : "-",
          x.has_temperature() ? std::to_string(x.temperature()) + " C" : "-",
          x.trouble().empty() ? "good" : core::printable(x.trouble())};
}

json to_json(const v1::GpuStatus& x) {
  return {{"index", x.index()},
          {"name", core::printable(x.name())},
          {"uuid", core::printable(x.uuid())},
          {"memory_used", x.memory_used()},
          {"memory_total", x.memory_total()},
          {"utilisation_percent",
           x.has_utilisation() ? json(x.utilisation()) : json(nullptr)},
          {"temperature_celsius",
           x.has_temperature() ? json(x.temperature()) : json(nullptr)},
          {"trouble", x.trouble().empty()
                        ? json(nullptr)
                        : json(core::printable(x.trouble()))}};
}

} // namespace

std::vector<row> gpu_rows(const v1::JobStatus& job) {
  auto rows = std::vector<row>{
    {"HOST", "GPU", "NAME", "MEMORY", "USED", "HEAT", "STATE"}};
  for (const auto& agent : job.agents()) {
    for (const auto& x : agent.gpus())
      rows.push_back(row_of(agent, x));
    if (!agent.gpu_trouble().empty())
      rows.push_back({agent.host(), "-", "-", "-", "-", "-",
                      core::printable(agent.gpu_trouble())});
  }
  if (rows.size() == 1)
    rows.clear();
  return rows;
}

json gpus_to_json(const v1::AgentStatus& agent) {
  auto out = json::array();
  for (const auto& x : agent.gpus())
    out.push_back(to_json(x));
  return out;
}

} // namespace actorrun::cli
