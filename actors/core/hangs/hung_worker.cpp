#include "actors/core/hangs/hung_worker.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core {

hung_worker find_hung_worker(std::vector<worker_snapshot> seen,
                             uint32_t fallback) {
  const auto has_frame = [](const auto& x) { return !x.frame.empty(); };
  if (!std::ranges::all_of(seen, has_frame))
    for (auto& x : seen)
      x.frame.clear();
  const auto odd = odd_one_out(seen);
  const auto rank = odd.value_or(fallback);
  return {
    rank, odd.has_value(),
    std::string{beginning_of(stuck_summary(seen, rank), failure_where_max)}};
}

std::string sentence_of(const job_hang& what, const hung_worker& who,
                        const std::string& host, time_point now) {
  const auto name = "rank " + std::to_string(who.global_rank) + " on " + host;
  return "no worker has shown a sign of life for "
         + duration_text(now - what.since) + " (" + std::string{hang_scope}
         + ": " + duration_text(what.limit) + "); "
         + (who.differs ? name + " is the odd one out"
                        : "where they are names none of them; the node of "
                            + name + " fell silent first");
}

} // namespace actorrun::core
