#include "cli/steer_command.hpp"

#include "cli/asked_job.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/steer_question.hpp"
#include "messages/formatted.hpp"
#include "runtime/status.hpp"

#include <chrono>
#include <iostream>
#include <string>

#include <unistd.h>

namespace actorrun::cli {

namespace {

/// For the id of a job.
constexpr auto id_limit = std::chrono::seconds{2};

constexpr auto refused = 1;

/// Asks the operator, and not a script.
bool is_agreed(const std::string& question) {
  std::cerr << question << " [y/N] " << std::flush;
  auto answer = std::string{};
  if (!std::getline(std::cin, answer))
    std::cerr << "\n"; // The end of the input.
  return agrees(answer);
}

/// @returns false: the operator does not want it
result<bool> is_wanted(const steer_arguments& arguments,
                       const located_job& job) {
  if (arguments.is_confirmed || !may_lose_work(arguments.request)
      || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0)
    return true;
  const auto status = ask_status(job, status_limit);
  if (!status)
    return status.error();
  const auto question = question_before(arguments.request, *status);
  return question.empty() || is_agreed(question);
}

} // namespace

result<steering_answer> ask_job(const steer_arguments& arguments) {
  const auto job = locate(arguments.job, id_limit);
  if (!job)
    return job.error();
  return steer(*job, arguments.request, answer_limit);
}

// The job that the question is about is the one that is asked.
int steer_job(const steer_arguments& arguments) {
  const auto job = locate(arguments.job, id_limit);
  if (!job)
    return fail_to_reach(job.error(), arguments.job);
  const auto wanted = is_wanted(arguments, *job);
  if (!wanted)
    return fail_to_reach(wanted.error(), arguments.job);
  if (!*wanted) {
    std::cerr << formatted("{}: nothing was done\n", operator_program);
    return static_cast<int>(exit_code::declined);
  }
  const auto answer = steer(*job, arguments.request, answer_limit);
  if (!answer)
    return fail_to_reach(answer.error(), arguments.job);
  if (answer->is_done) {
    std::cout << answer->text << "\n";
    return 0;
  }
  std::cerr << operator_program << ": refused: " << answer->text << "\n";
  return refused;
}

} // namespace actorrun::cli
