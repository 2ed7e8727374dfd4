#include "cli/asked_job.hpp"

#include "cli/commands.hpp"
#include "cli/report/exit_code.hpp"

#include <iostream>
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

int fail_to_reach(const failure& why, const asked_job& job) {
  if (job.remote)
    return fail_to_find(why, *job.remote);
  if (why.code != errc::connection_refused)
    return fail(why, "actorctl");
  std::cerr << "actorctl: error: " << why.text
            << "\n  try: actorctl status, which lists those that do, or"
               " --rdzv-endpoint and --rdzv-id\n";
  return static_cast<int>(exit_code_of(why.code));
}

} // namespace actorrun::cli
