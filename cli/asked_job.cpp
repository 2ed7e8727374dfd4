#include "cli/asked_job.hpp"

#include <utility>

namespace actorrun::cli {

result<located_job> locate(const asked_job& job,
                           std::chrono::milliseconds limit) {
  if (job.remote)
    return located_job{*job.remote};
  auto found = find_local_job(job.local, limit);
  if (!found)
    return found.error();
  return located_job{std::move(*found)};
}

} // namespace actorrun::cli
