#include "cli/steer_command.hpp"

#include "cli/asked_job.hpp"
#include "cli/commands.hpp"
#include "cli/report/exit_code.hpp"

#include <chrono>
#include <iostream>
#include <variant>

namespace actorrun::cli {

namespace {

constexpr auto program = "actorctl";

/// Longer than what a job takes to answer, however busy it is.
constexpr auto limit = std::chrono::seconds{6};

/// For the id of a job.
constexpr auto id_limit = std::chrono::seconds{2};

constexpr auto refused = 1;

} // namespace

result<steering_answer> ask_job(const steer_arguments& arguments) {
  const auto job = locate(arguments.job, id_limit);
  if (!job)
    return job.error();
  return std::visit(
    [&](const auto& x) { return steer(x, arguments.request, limit); }, *job);
}

int steer_job(const steer_arguments& arguments) {
  const auto answer = ask_job(arguments);
  if (!answer)
    return fail_to_reach(answer.error(), arguments.job);
  if (answer->is_done) {
    std::cout << answer->text << "\n";
    return 0;
  }
  std::cerr << program << ": refused: " << answer->text << "\n";
  return refused;
}

} // namespace actorrun::cli
