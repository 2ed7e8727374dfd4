#include "runtime/journal/predecessor.hpp"

#include "messages/formatted.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/journal_reader.hpp"
#include "runtime/os/thread.hpp"

#include <algorithm>
#include <future>
#include <memory>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

bool is_recent(const core::journal::snapshot& x,
               std::chrono::milliseconds told_within) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(
    std::chrono::system_clock::now());
  const auto age = now.time_since_epoch().count() - x.latest.wall_ms;
  return age >= 0 && age <= told_within.count();
}

std::optional<predecessor> find(const std::string& folder, const job_id& job,
                                const std::string& host,
                                std::chrono::milliseconds told_within) {
  // What another user has written does not count: the folder may be shared.
  auto known = result<core::journal::snapshot>{failure{}};
  for (const auto& x : find_journals(folder))
    if (x.name.job == job && x.name.host == host)
      if (known = read_snapshot(x.path, {}, journal_owner::trusted); known)
        break;
  if (!known)
    return std::nullopt;
  auto out = predecessor{};
  if (const auto* generation = known->newest_generation())
    out.job.newest = generation->formed.generation;
  if (known->result) // Generations of another job are counted from 1.
    out.job.newest = generation_of(term_of(out.job.newest) + 1, 0);
  // Who has told all of them has ended with an empty table. If it was killed first,
  // whoever sees that starts it again.
  if (known->is_complete && known->nodes.empty())
    return out;
  out.job.lease = known->coordinator.lease.value_or(core::lease_max);
  if (known->result) {
    if (is_recent(*known, told_within))
      out.decided = std::move(known->result);
    return out;
  }
  out.job.revision = 1;
  out.job.settings = known->coordinator.settings;
  out.job.restart_count = known->restart_count;
  if (const auto* x = known->newest_generation();
      x != nullptr && x->stopped_at
      && x->restart_count > x->formed.restart_count)
    out.job.charged = x->formed.generation;
  out.job.excluded = std::move(known->excluded);
  out.job.is_resized = known->is_resized;
  return out;
}

} // namespace

result<std::optional<predecessor>>
find_predecessor(const std::string& folder, const job_id& job,
                 const std::string& host,
                 std::chrono::milliseconds told_within) {
  using answer = std::optional<predecessor>;
  const auto promise = std::make_shared<std::promise<answer>>();
  auto found = promise->get_future();
  const auto is_started = run_aside([promise, folder, job, host, told_within] {
    promise->set_value(find(folder, job, host, told_within));
  });
  if (!is_started
      || found.wait_for(predecessor_timeout) != std::future_status::ready)
    return failure{
      errc::system_failure,
      formatted(
        "{} could not be read within {} ms, so this coordinator does not"
        " know what an earlier one has left: the hosts that it had"
        " excluded, the numbers of nodes that it was given, its lease",
        folder, predecessor_timeout.count())};
  return found.get();
}

} // namespace actorrun::detail
