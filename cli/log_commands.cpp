#include "cli/log_commands.hpp"

#include "cli/asked_job.hpp"
#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/log_view.hpp"
#include "messages/formatted.hpp"
#include "runtime/job_logs.hpp"
#include "runtime/job_logs_json.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <string_view>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

using std::chrono::milliseconds;

constexpr auto program = "actorctl";

/// Timeouts for the first answer; the coordinator asks all nodes for stacks.
constexpr auto logs_limit = milliseconds{5'000};
constexpr auto stacks_limit = milliseconds{6'000};

/// The job has no such worker or node.
constexpr auto no_such_worker = 1;

/// Written to by the handler of signals, and watched by the reading.
auto signal_pipe = std::array<int, 2>{-1, -1};
volatile std::sig_atomic_t is_stopped = 0;

extern "C" void note_stop(int) {
  is_stopped = 1;
  [[maybe_unused]] const auto done = ::write(signal_pipe[1], "", 1);
}

/// From now on these end the reading, also while standard output takes nothing.
bool catch_stops() {
  if (::pipe2(signal_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return false;
  struct sigaction how {};
  how.sa_handler = note_stop; // Without SA_RESTART: a write is interrupted.
  for (const auto signal : {SIGINT, SIGTERM})
    ::sigaction(signal, &how, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return true;
}

/// @returns false: there is no reader any more, or a signal has come
bool write_out(std::string_view text) {
  while (!text.empty() && is_stopped == 0) {
    const auto count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return false;
    text.remove_prefix(count < 0 ? 0 : static_cast<size_t>(count));
  }
  return is_stopped == 0;
}

void say(const std::string& trouble) {
  if (!trouble.empty())
    std::cerr << formatted("{}: note: {}\n", program, trouble);
}

int fail_to_look(const failure& why) {
  if (why.code != errc::bad_argument)
    return fail(why, program);
  std::cerr << formatted("{}: error: {}\n", program, why.text);
  return no_such_worker;
}

v1::LogOutputs to_wire(core::std_streams x) {
  switch (x) {
    case core::std_streams::out:
      return v1::LOG_OUTPUTS_OUT;
    case core::std_streams::err:
      return v1::LOG_OUTPUTS_ERR;
    default:
      return v1::LOG_OUTPUTS_BOTH;
  }
}

} // namespace

v1::ReadLogs request_of(const logs_arguments& x) {
  auto out = v1::ReadLogs{};
  out.set_node(x.node);
  auto& what = *out.mutable_what();
  what.mutable_ranks()->Assign(x.what.ranks.begin(), x.what.ranks.end());
  what.set_outputs(to_wire(x.what.outputs));
  what.set_previous(x.what.previous);
  what.set_follow(x.what.follow);
  if (x.what.tail)
    what.set_tail(*x.what.tail);
  what.set_grep(x.what.grep);
  if (x.since) {
    const auto now
      = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
    what.set_since_ms((now - *x.since).time_since_epoch().count());
  }
  return out;
}

int show_logs(const logs_arguments& arguments) {
  if (!catch_stops())
    return fail(system_failure("there is no pipe for signals"), program);
  const auto for_terminal = ::isatty(STDOUT_FILENO) != 0;
  auto is_reading = false;
  const auto show = [&](const v1::LogLines& x) {
    is_reading = true;
    say(x.trouble());
    return write_out(to_text(x, for_terminal));
  };
  const auto how = log_reading_options{
    .what = request_of(arguments), .limit = logs_limit, .stop = signal_pipe[0]};
  const auto job = locate(arguments.job, logs_limit);
  if (!job)
    return fail_to_reach(job.error(), arguments.job);
  const auto done
    = std::visit([&](const auto& x) { return read_logs(x, how, show); }, *job);
  if (done || is_stopped != 0)
    return 0;
  // The process that serves us ends with the job.
  if (is_reading && arguments.what.follow
      && done.error().code == errc::connection_failed) {
    say(done.error().text);
    return 0;
  }
  return fail_to_look(done.error());
}

int show_stacks(const stacks_arguments& arguments) {
  const auto job = locate(arguments.job, logs_limit);
  if (!job)
    return fail_to_reach(job.error(), arguments.job);
  const auto seen = std::visit(
    [&](const auto& x) {
      return read_stacks(x, arguments.ranks, stacks_limit);
    },
    *job);
  if (!seen)
    return fail_to_look(seen.error());
  say(seen->trouble());
  std::cout << (arguments.json ? to_json(*seen) : to_text(*seen));
  return 0;
}

} // namespace actorrun::cli
