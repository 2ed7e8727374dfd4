#include "cli/report/ending_view.hpp"

#include "actors/core/shortage.hpp"
#include "actors/core/text.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"
#include "messages/formatted.hpp"

#include <cerrno>

namespace actorrun::cli {

namespace {

using verdict = core::outcome::verdict;

/// A start that another one cannot help has its own codes, as in shells.
int exit_code_of_failure(const core::outcome& result) {
  const auto& first = result.first_failure;
  if (first && first->kind == core::failure_kind::not_started
      && core::is_shortage(first->code))
    return static_cast<int>(exit_code::machine_refused);
  if (!first || !is_permanent(*first))
    return static_cast<int>(exit_code::workers_failed);
  return static_cast<int>(first->code == ENOENT || first->code == ENOTDIR
                            ? exit_code::program_not_found
                            : exit_code::program_not_executable);
}

std::string why_not_restarted(const core::outcome& x) {
  if (!x.given_up.empty())
    return "and is not restarted: " + core::printable(x.given_up);
  return x.first_failure && is_permanent(*x.first_failure)
           ? "another start cannot help"
           : "no restart is left";
}

/// Of a node that was drained.
std::string left_text(const core::ending& how) {
  if (!how.notice)
    return "left the job, as an operator has asked";
  return "left the job, as its machine is about to go"
         + (how.notice->empty() ? std::string{} : ": " + *how.notice);
}

} // namespace

bool has_stood_by(const core::ending& how) {
  return how.result && how.why && how.why->code == errc::job_over;
}

std::optional<failure> trouble_of(const core::ending& how) {
  if (how.why && !has_stood_by(how))
    return how.why;
  if (how.result && how.result->kind == verdict::unmet)
    return failure{errc::rendezvous_timed_out,
                   "gave up: " + how.result->reason};
  return std::nullopt;
}

// A job that failed for a class has one, also where a start that cannot help has a code
// of shells: whoever asks for classes compares these.
int exit_code_of(const core::ending& how, bool by_class) {
  const auto code = exit_code_of(how);
  if (!by_class || how.why || !how.result
      || how.result->kind != verdict::failed)
    return code;
  return static_cast<int>(how.result->is_without_progress
                            ? exit_code::no_progress
                            : exit_code_of(how.result->what));
}

int exit_code_of(const core::ending& how) {
  if (has_stood_by(how))
    return static_cast<int>(exit_code::stood_by);
  if (how.why)
    return static_cast<int>(exit_code_of(how.why->code));
  if (!how.result && how.signal == 0)
    return static_cast<int>(exit_code::succeeded);
  if (!how.result)
    return exit_code_of_signal(how.signal);
  switch (how.result->kind) {
    case verdict::succeeded:
      return static_cast<int>(exit_code::succeeded);
    case verdict::stopped:
      return exit_code_of_signal(how.result->signal);
    case verdict::unmet:
      return static_cast<int>(exit_code::rendezvous_failed);
    case verdict::failed:
      break;
  }
  return exit_code_of_failure(*how.result);
}

// With workers that cannot be killed, a job that has failed has still done so.
std::string verdict_of(const core::ending& how) {
  if (has_stood_by(how))
    return "stood_by";
  if (how.why && (!how.result || how.result->kind != verdict::failed))
    return "error";
  return how.result ? core::to_string(how.result->kind) : "left";
}

int signal_of(const core::ending& how) {
  return how.result && how.result->kind == verdict::stopped ? how.result->signal
                                                            : how.signal;
}

std::string sentence_of(const core::ending& how) {
  if (has_stood_by(how))
    return how.why->text;
  if (const auto x = trouble_of(how))
    return sentence_of(*x);
  if (!how.result && how.signal == 0)
    return left_text(how) + "; no worker of this node is left";
  if (!how.result)
    return formatted(
      "left the job on signal {}; no worker of this node is left", how.signal);
  const auto& first = how.result->first_failure;
  switch (how.result->kind) {
    case verdict::failed:
      return formatted("job failed, {}; {}: {}", why_not_restarted(*how.result),
                       first ? "first failure" : "it ended because",
                       how.result->reason);
    case verdict::stopped:
      return "job stopped: " + how.result->reason;
    case verdict::succeeded:
    case verdict::unmet:
      break;
  }
  return "job succeeded";
}

std::string remedy_of(const core::ending& how) {
  const auto x = trouble_of(how);
  return x ? remedy_of(*x) : std::string{};
}

} // namespace actorrun::cli
