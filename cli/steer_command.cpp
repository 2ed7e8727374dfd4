#include "cli/steer_command.hpp"

#include "cli/commands.hpp"
#include "cli/report/exit_code.hpp"
#include "messages/formatted.hpp"
#include "runtime/steer.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace actorrun::cli {

namespace {

constexpr auto program = "actorctl";

/// Longer than what a job takes to answer, however busy it is.
constexpr auto limit = std::chrono::seconds{6};

/// For the id of a job.
constexpr auto id_limit = std::chrono::seconds{2};

constexpr auto refused = 1;

/// The process to ask: the coordinator of the job, or else one of its agents, which
/// says where the coordinator is.
/// @param name Of the job; empty: the only one.
result<local_job> find_job(const std::string& name) {
  auto jobs = find_local_jobs();
  if (!jobs)
    return jobs.error();
  // A socket whose process has been killed stays behind.
  auto living = std::vector<local_job>{};
  auto ids = std::vector<std::string>{};
  for (auto& job : *jobs) {
    const auto status = ask_status(job, id_limit);
    if (!status || (!name.empty() && status->job_id() != name))
      continue;
    if (std::ranges::find(ids, status->job_id()) == ids.end())
      ids.push_back(status->job_id());
    living.push_back(std::move(job));
  }
  if (living.empty())
    return failure{
      errc::connection_refused,
      name.empty()
        ? "no job of this user runs on this host; a job elsewhere"
          " needs --rdzv-endpoint and --rdzv-id"
        : formatted("no job '{}' of this user runs on this host", name)};
  if (ids.size() == 1)
    return living.front(); // Coordinators come first.
  auto list = std::string{};
  for (const auto& id : ids)
    list += (list.empty() ? "" : ", ") + id;
  return bad_argument(
    formatted("several jobs run on this host: {}; say which with --job", list));
}

result<steering_answer> ask(const steer_arguments& x) {
  if (x.remote)
    return steer(*x.remote, x.request, limit);
  const auto job = find_job(x.job);
  return job ? steer(*job, x.request, limit) : job.error();
}

} // namespace

int steer_job(const steer_arguments& arguments) {
  const auto answer = ask(arguments);
  if (!answer)
    return fail(answer.error(), program);
  if (answer->is_done) {
    std::cout << answer->text << "\n";
    return 0;
  }
  std::cerr << program << ": refused: " << answer->text << "\n";
  return refused;
}

} // namespace actorrun::cli
