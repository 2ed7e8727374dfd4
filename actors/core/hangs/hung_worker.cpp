#include "actors/core/hangs/hung_worker.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

namespace actorrun::core {

hung_worker find_hung_worker(const std::vector<worker_snapshot>& seen,
                             uint32_t fallback) {
  const auto odd = odd_one_out(seen);
  const auto rank = odd.value_or(fallback);
  return {
    rank, odd.has_value(),
    std::string{beginning_of(stuck_summary(seen, rank), failure_where_max)}};
}

std::string sentence_of(const job_hang& what, const hung_worker& who,
                        const std::string& host) {
  const auto name = "rank " + std::to_string(who.global_rank) + " on " + host;
  return "no worker has shown a sign of life for "
         + duration_text(what.silent_for) + " (" + std::string{hang_scope}
         + ": " + duration_text(what.limit) + "); "
         + (who.differs ? name + " is the odd one out"
                        : "none is elsewhere than the others; the node of "
                            + name + " fell silent first");
}

} // namespace actorrun::core
