#include "cli/asked_job.hpp"

#include "cli/commands.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"
#include "messages/formatted.hpp"

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

result<local_answers> ask_here(const std::string& job,
                               std::chrono::milliseconds limit) {
  auto found = ask_local_jobs(job, limit);
  if (!found)
    return found.error();
  for (const auto& x : found->silent)
    std::cerr << warn(
      formatted("process {} does not report the status of its job: {}",
                x.from.pid, x.why.text),
      "actorctl");
  auto out = local_answers{{}, found->silent.empty()};
  for (auto& x : found->heard)
    out.jobs.push_back(std::move(x.status));
  return out;
}

int fail_to_reach(const failure& why, const asked_job& job) {
  if (job.remote)
    return fail_to_find(why, *job.remote);
  const auto* action = "";
  if (why.code == errc::connection_refused)
    action = "actorctl status, which lists those that do, or --rdzv-endpoint"
             " and --rdzv-id";
  else if (why.code == errc::connection_timed_out)
    action = "kill -CONT, if it is stopped; kill -9 ends one that hangs, and"
             " its workers";
  else if (why.code == errc::bad_argument)
    action = "name one as the last word, or by --job=JOB: by its id, or where"
             " two have one id, by its process";
  else
    return fail(why, "actorctl");
  std::cerr << error_line(why.text, "actorctl") << "  try: " << action << "\n";
  return static_cast<int>(exit_code_of(why.code));
}

} // namespace actorrun::cli
