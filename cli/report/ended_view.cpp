#include "cli/report/ended_view.hpp"

#include "actors/core/text.hpp"
#include "cli/report/journal_view.hpp"
#include "cli/report/text_table.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

namespace actorrun::cli {

namespace {

/// In bytes, of a text in a table.
constexpr size_t ended_text_size_max = 160;

std::string cell_text(const std::string& text) {
  return core::one_line(text, ended_text_size_max);
}

std::string joined(const std::vector<std::string>& texts) {
  auto out = std::string{};
  for (const auto& x : texts)
    out += (out.empty() ? "" : ", ") + x;
  return out;
}

} // namespace

ended_job ended_job_of(const core::journal::snapshot& x,
                       const std::string& journal) {
  const auto& end = x.ended_at ? *x.ended_at : x.latest;
  return {
    .job = cell_text(x.coordinator.job.value),
    .how = x.result ? core::to_string(x.result->kind)
           : x.left ? "moved"
                    : std::string{lost_job},
    .why = x.result ? cell_text(x.result->reason)
           : x.left ? "another node's coordinator leads it: "
                        + cell_text(x.left->reason)
                    : "its coordinator has vanished; its journal ends here",
    .began_ms = x.began.wall_ms,
    .ended_ms = end.wall_ms,
    .generation_count = x.forgotten_generation_count + x.generations.size(),
    .restart_count = x.restart_count,
    .restart_count_max = x.coordinator.settings.restart_count_max,
    .host = cell_text(x.coordinator.host),
    .pid = x.coordinator.pid,
    .journal = journal};
}

std::string ended_to_text(const std::vector<ended_job>& ended) {
  if (ended.empty())
    return {};
  auto rows = std::vector<text_row>{
    {"ENDED", "JOB", "HOW", "GENERATIONS", "RESTARTS", "WHY"}};
  for (const auto& x : ended)
    rows.push_back(
      {clock_text(x.ended_ms), x.job, x.how, std::to_string(x.generation_count),
       formatted("{} of {}", x.restart_count, x.restart_count_max), x.why});
  auto out = aligned(rows);
  if (const auto& logs = ended.front().logs; ended.size() == 1 && !logs.empty())
    out += "  logs: " + joined(logs) + "\n";
  return out;
}

nlohmann::ordered_json ended_to_json(const std::vector<ended_job>& ended) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& x : ended)
    out.push_back({{"job", x.job},
                   {"how", x.how},
                   {"why", x.why},
                   {"began_ms", x.began_ms},
                   {"ended_ms", x.ended_ms},
                   {"generations", x.generation_count},
                   {"restarts", x.restart_count},
                   {"restarts_max", x.restart_count_max},
                   {"coordinator", {{"host", x.host}, {"pid", x.pid}}},
                   {"journal", core::printable(x.journal)},
                   {"logs", x.logs}});
  return out;
}

} // namespace actorrun::cli
