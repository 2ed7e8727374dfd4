#include "cli/report/log_view.hpp"

#include "actors/core/logs/line_prefix.hpp"
#include "actors/core/logs/terminal_line.hpp"
#include "actors/core/reports/hang_summary.hpp"
#include "messages/formatted.hpp"
#include "runtime/job_logs_json.hpp"

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

std::string to_text(const v1::Stacks& x) {
  if (x.workers().empty())
    return "no worker was seen\n";
  const auto seen = innermost_frames(x);
  auto out = core::stuck_summary(seen, seen.front().global_rank) + "\n";
  for (const auto& worker : x.workers()) {
    out += formatted(
      "\nrank {} (local rank {}, pid {}) on {}{}\n", worker.rank(),
      worker.local_rank(), worker.pid(), worker.host(),
      worker.source().empty() ? "" : ", seen by " + worker.source());
    for (const auto& frame : worker.frames())
      out += "  " + frame + "\n";
    if (!worker.trouble().empty())
      out += "  " + worker.trouble() + "\n";
  }
  if (x.truncated())
    out += "\nmore workers do not fit: name ranks\n";
  return out;
}

} // namespace actorrun::cli
