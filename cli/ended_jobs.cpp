#include "cli/ended_jobs.hpp"

#include "cli/report/log_places_view.hpp"
#include "runtime/journal.hpp"
#include "runtime/past_logs.hpp"

#include <optional>
#include <utility>

namespace actorrun::cli {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto reading_limit = std::chrono::milliseconds{100};

/// What a journal adds up to; none: it holds nothing that can be read.
std::optional<core::journal::snapshot> end_of(const std::string& path) {
  auto journal = journal_reading::open(path);
  if (!journal)
    return {};
  while (journal->next()) {
  }
  if (journal->known().number == 0)
    return {};
  return journal->known();
}

} // namespace

std::vector<ended_job> find_ended_jobs(const std::string& folder,
                                       const std::string& job,
                                       const std::set<std::string>& running,
                                       int64_t now_ms) {
  auto out = std::vector<ended_job>{};
  if (folder.empty())
    return out;
  const auto due = clock::now() + reading_limit;
  const auto oldest = now_ms - std::chrono::milliseconds{ended_age_max}.count();
  auto seen = std::set<std::string>{};
  const auto places = list_log_places(folder);
  for (const auto& x : list_journals(folder)) {
    if (x.changed_ms < oldest || out.size() == ended_count_max
        || clock::now() > due)
      break;
    if (running.contains(x.job.value) || (!job.empty() && x.job.value != job))
      continue;
    const auto known = end_of(x.path);
    if (!known || may_run(*known))
      continue;
    // A coordinator that has vanished may have had a successor.
    const auto is_newest = seen.insert(x.job.value).second;
    if (known->result || is_newest) {
      auto job_here = ended_job_of(*known, x.path);
      for (const auto& y :
           places_of(x.job.value, job_here.began_ms, job_here.ended_ms, places))
        job_here.logs.push_back(place_text(y));
      out.push_back(std::move(job_here));
    }
  }
  return out;
}

} // namespace actorrun::cli
