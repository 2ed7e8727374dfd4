#include "actors/core/hangs/hung_worker.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core {

hung_worker find_hung_worker(std::vector<worker_snapshot> seen,
                             uint32_t fallback) {
  const auto is_behind = [](const auto& x) { return !x.behind.empty(); };
  const auto all = seen;
  std::erase_if(
    seen, [](const auto& x) { return x.frame.empty() && x.place.empty(); });
  const auto has_frame = [](const auto& x) { return !x.frame.empty(); };
  if (!std::ranges::all_of(seen, has_frame))
    for (auto& x : seen)
      x.frame.clear();
  const auto odd = odd_one_out(seen);
  auto out = hung_worker{odd.value_or(fallback), odd.has_value()};
  if (const auto i = std::ranges::find_if(all, is_behind); i != all.end()) {
    out.differs = odd == i->global_rank;
    out.global_rank = i->global_rank;
    out.behind = i->behind;
  }
  const auto summary = stuck_summary(seen, out.global_rank);
  out.where = beginning_of(
    out.behind.empty() ? summary : "NCCL: " + out.behind + "\n" + summary,
    failure_where_max);
  return out;
}

std::string sentence_of(const job_hang& what, const hung_worker& who,
                        const std::string& host, time_point now) {
  const auto name = "rank " + std::to_string(who.global_rank) + " on " + host;
  return "no worker has shown a sign of life for "
         + duration_text(now - what.since) + " (" + std::string{hang_scope}
         + ": " + duration_text(what.limit) + "); "
         + (!who.behind.empty() ? name + " is behind: " + who.behind + " (NCCL)"
            : who.differs       ? name + " is the odd one out"
                          : "where they are names none of them; the node of "
                              + name + " fell silent first");
}

} // namespace actorrun::core
