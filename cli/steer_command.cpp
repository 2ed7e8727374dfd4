#include "cli/steer_command.hpp"

#include "cli/commands.hpp"
#include "cli/report/exit_code.hpp"
#include "runtime/steer.hpp"

#include <chrono>
#include <iostream>

namespace actorrun::cli {

namespace {

constexpr auto program = "actorctl";

/// Longer than what a job takes to answer, however busy it is.
constexpr auto limit = std::chrono::seconds{6};

/// For the id of a job.
constexpr auto id_limit = std::chrono::seconds{2};

constexpr auto refused = 1;

result<steering_answer> ask(const steer_arguments& x) {
  if (x.job.remote)
    return steer(*x.job.remote, x.request, limit);
  const auto job = find_local_job(x.job.local, id_limit);
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
