#include "cli/report/log_view.hpp"

#include "actors/core/logs/line_prefix.hpp"
#include "actors/core/logs/terminal_line.hpp"
#include "actors/core/reports/hang_summary.hpp"
#include "messages/formatted.hpp"
#include "runtime/job_logs_json.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace actorrun::cli {

namespace {

/// As the console's, but for the rank: it is unique in the job.
constexpr auto label_template = "[rank${rank}]:";

/// Behind a line that was cut.
constexpr auto cut_mark = " [...]";

} // namespace

std::string to_text(const v1::LogLines& x, bool for_terminal) {
  auto out = std::string{};
  for (const auto& line : x.lines()) {
    auto origin = core::line_origin{};
    origin.global_rank = line.rank();
    out += core::line_prefix(label_template, origin);
    out += for_terminal ? core::terminal_line(line.text()) : line.text();
    if (line.truncated())
      out += cut_mark;
    out += '\n';
  }
  return out;
}

namespace {

/// Of workers that are at one place: what they have in common.
std::string place_of(const v1::WorkerStack& x) {
  auto out = std::string{};
  for (const auto& frame : x.frames())
    out += "  " + frame + "\n";
  if (!x.trouble().empty())
    out += "  " + x.trouble() + "\n";
  if (!x.behind().empty())
    out += "  NCCL: " + x.behind() + "\n";
  return out;
}

/// `rank 3 (local rank 3, pid 4711) on n1`
std::string who_text(const v1::WorkerStack& x) {
  return formatted("rank {} (local rank {}, pid {}) on {}", x.rank(),
                   x.local_rank(), x.pid(), x.host());
}

/// Workers with equal stacks that were seen by the same means.
struct stack_group {
  std::string source;
  std::string place;
  std::vector<const v1::WorkerStack*> members;
};

std::vector<stack_group> groups_of(const v1::Stacks& x) {
  auto out = std::vector<stack_group>{};
  for (const auto& worker : x.workers()) {
    const auto place = place_of(worker);
    const auto i = std::ranges::find_if(out, [&](const auto& y) {
      return y.source == worker.source() && y.place == place;
    });
    if (i != out.end())
      i->members.push_back(&worker);
    else
      out.push_back({worker.source(), place, {&worker}});
  }
  return out;
}

std::string heading_of(const stack_group& x) {
  const auto seen = x.source.empty() ? "" : ", seen by " + x.source;
  if (x.members.size() == 1)
    return who_text(*x.members.front()) + seen;
  auto ranks = std::vector<uint32_t>{};
  for (const auto* worker : x.members)
    ranks.push_back(worker->rank());
  return formatted("ranks {}: {} equal stacks{}, as that of {}",
                   core::to_ranges(ranks), ranks.size(), seen,
                   who_text(*x.members.front()));
}

} // namespace

std::string to_text(const v1::Stacks& x) {
  if (x.workers().empty())
    return "no worker was seen\n";
  const auto seen = innermost_frames(x);
  auto out = core::stuck_summary(seen, seen.front().global_rank) + "\n";
  for (const auto& group : groups_of(x))
    out += "\n" + heading_of(group) + "\n" + group.place;
  if (x.truncated())
    out += "\nmore workers do not fit: name ranks\n";
  return out;
}

} // namespace actorrun::cli
