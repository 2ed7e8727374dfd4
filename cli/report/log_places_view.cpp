#include "cli/report/log_places_view.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace actorrun::cli {

namespace {

constexpr size_t named_places_max = 4;

/// Clocks of hosts differ, and an agent may have begun before its coordinator.
constexpr int64_t place_slack_ms = 5'000;

template <class F>
std::vector<log_place> chosen_places(const std::vector<log_place>& all,
                                     F is_chosen) {
  auto out = std::vector<log_place>{};
  for (const auto& x : all)
    if (!x.folder.empty() && is_chosen(x))
      out.push_back(x);
  std::ranges::stable_sort(out, {}, &log_place::host);
  return out;
}

} // namespace

std::vector<log_place> places_of(const v1::JobStatus& job,
                                 const std::vector<log_place>& all) {
  return chosen_places(all, [&](const auto& x) {
    return std::ranges::any_of(
      job.agents(), [&](const auto& y) { return y.agent_id() == x.agent; });
  });
}

std::vector<log_place> places_of(const std::string& job, int64_t from_ms,
                                 int64_t to_ms,
                                 const std::vector<log_place>& all) {
  return chosen_places(all, [&](const auto& x) {
    return x.job.value == job && x.began_ms <= to_ms
           && x.changed_ms + place_slack_ms >= from_ms;
  });
}

std::string place_text(const log_place& x) {
  return core::printable(x.host + ":" + x.folder);
}

std::string places_line(const std::vector<log_place>& places) {
  if (places.empty())
    return {};
  auto out = std::string{"  logs: "};
  const auto count = std::min(places.size(), named_places_max);
  for (size_t i = 0; i < count; ++i)
    out += (i == 0 ? "" : ", ") + place_text(places[i]);
  if (places.size() > count)
    out += formatted(" and {} more", places.size() - count);
  return out + "\n";
}

nlohmann::ordered_json folder_of(const std::string& agent,
                                 const std::vector<log_place>& all) {
  const auto i = std::ranges::find(all, agent, &log_place::agent);
  return i == all.end() || i->folder.empty()
           ? nlohmann::ordered_json{}
           : nlohmann::ordered_json(core::printable(i->folder));
}

} // namespace actorrun::cli
