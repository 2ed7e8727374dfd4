#include "actorrun/cli/commands.hpp"

#include "actorrun/cli/diagnostics.hpp"
#include "actorrun/cli/exit_code.hpp"
#include "actorrun/cli/signals.hpp"
#include "actorrun/cli/status_view.hpp"
#include "actorrun/runtime/detail/logging.hpp"
#include "actorrun/runtime/detail/system_config.hpp"
#include "actorrun/runtime/launcher.hpp"
#include "actorrun/runtime/status.hpp"

#include <caf/actor_system.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

/// How long a job may take to say how it stands.
constexpr auto status_limit = std::chrono::seconds{3};

// Each link of a coordinator is a descriptor; the usual soft limit of 1,024 is
// for programs that use select(2).
void raise_descriptor_limit() {
  auto limit = rlimit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// One arena for the few threads there are: each more costs a start-up and
// memory that stays.
void keep_memory_small() {
  ::mallopt(M_ARENA_MAX, 1);
}

log open_log(const char* program) {
  const auto* level = std::getenv("LOGLEVEL");
  return detail::open_console(program, level == nullptr ? "INFO" : level);
}

void say(const std::vector<std::string>& warnings, const char* program) {
  for (const auto& x : warnings)
    std::cerr << warn(x, program);
}

// CAF joins its threads one by one, and a thread of the system's resolver that
// waits for a dead name server would hold us; all that must be tidied up has
// been by now.
[[noreturn]] void leave(int code) {
  std::cout.flush();
  std::cerr.flush();
  ::_exit(code);
}

/// Waits for the end; a signal before it goes to `on_signal`.
template <class Handler>
void await(signal_inbox& inbox, Handler on_signal) {
  while (const auto signal = inbox.wait())
    if (!on_signal(signal))
      return;
}

} // namespace

int fail(const failure& why, std::string_view program) {
  std::cerr << explain(why, program);
  return static_cast<int>(exit_code_of(why.code));
}

int exit_code_of(const core::ending& how) {
  if (how.why)
    return static_cast<int>(exit_code_of(how.why->code));
  if (!how.result)
    return exit_code_of_signal(how.signal);
  switch (how.result->kind) {
    case core::outcome::verdict::succeeded:
      return static_cast<int>(exit_code::succeeded);
    case core::outcome::verdict::stopped:
      return exit_code_of_signal(how.result->signal);
    case core::outcome::verdict::unmet:
      return static_cast<int>(exit_code::rendezvous_failed);
    case core::outcome::verdict::failed:
      break;
  }
  const auto& first = how.result->first_failure;
  if (!first || !is_permanent(*first))
    return static_cast<int>(exit_code::workers_failed);
  return static_cast<int>(first->code == ENOENT || first->code == ENOTDIR
                            ? exit_code::program_not_found
                            : exit_code::program_not_executable);
}

namespace {

void tell_ending(const core::ending& how, const log& lines) {
  if (how.why) {
    std::cerr << explain(*how.why);
  } else if (!how.result) {
    lines.info("left the job on signal " + std::to_string(how.signal)
               + "; no worker of this node is left");
  } else if (how.result->kind == core::outcome::verdict::unmet) {
    std::cerr << explain({errc::rendezvous_timed_out, how.result->reason});
  } else if (how.result->kind == core::outcome::verdict::failed) {
    lines.error("job failed, no restart is left; first failure: "
                + how.result->reason);
  } else if (how.result->kind == core::outcome::verdict::stopped) {
    lines.info("job stopped: " + how.result->reason);
  } else {
    lines.debug("job succeeded");
  }
}

} // namespace

int run(const run_arguments& arguments) {
  say(arguments.warnings, "actorrun");
  auto agent = arguments.agent;
  auto command = worker_command(arguments.program, files_of_this_machine());
  if (!command)
    return fail(command.error(), "actorrun");
  agent.workers.command = std::move(*command);
  auto inbox = signal_inbox{};
  raise_descriptor_limit();
  keep_memory_small();
  // What workers leave behind comes to us, to be ended with their epoch.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto lines = open_log("actorrun");
  auto config = detail::system_config{};
  caf::actor_system system{config};
  auto node = launcher::start(
    system, arguments.job, agent,
    {lines, [&](const core::ending&) { inbox.wake_up(); }, {}});
  if (!node)
    leave(fail(node.error(), "actorrun"));
  await(inbox, [&](int signal) {
    lines.info("got signal " + std::to_string(signal) + ": stops the workers");
    (*node)->leave(signal);
    return true;
  });
  const auto how = (*node)->wait();
  tell_ending(how, lines);
  node->reset();
  leave(exit_code_of(how));
}

int host_coordinator(const coordinator_arguments& arguments) {
  say(arguments.warnings, "actorctl");
  auto inbox = signal_inbox{};
  raise_descriptor_limit();
  keep_memory_small();
  const auto lines = open_log("actorctl");
  auto config = detail::system_config{};
  caf::actor_system system{config};
  auto node = launcher::start_coordinator(
    system, arguments.job,
    {lines, [&](const core::ending&) { inbox.wake_up(); }, {}});
  if (!node)
    leave(fail(node.error(), "actorctl"));
  auto signal = 0;
  await(inbox, [&](int x) {
    signal = x;
    return false;
  });
  if (signal != 0) {
    lines.info("coordinator stops on signal " + std::to_string(signal)
               + "; the agents keep their workers and wait for it to return");
    node->reset();
    leave(exit_code_of_signal(signal));
  }
  const auto how = (*node)->wait();
  tell_ending(how, lines);
  node->reset();
  leave(exit_code_of(how));
}

int show_status(const status_arguments& arguments) {
  auto config = detail::system_config{};
  caf::actor_system system{config};
  auto found = std::vector<v1::JobStatus>{};
  if (arguments.remote) {
    auto status
      = ask_status(system, arguments.remote->rendezvous, arguments.remote->job,
                   arguments.remote->secret, status_limit);
    if (!status)
      leave(fail(status.error(), "actorctl"));
    found.push_back(std::move(*status));
  } else {
    auto jobs = find_local_jobs();
    if (!jobs)
      leave(fail(jobs.error(), "actorctl"));
    for (const auto& job : *jobs) {
      auto status = ask_status(system, job, status_limit);
      if (status)
        add_job(found, std::move(*status));
      else if (status.error().code != errc::connection_refused)
        std::cerr << warn("process " + std::to_string(job.pid)
                            + " does not say how its job stands: "
                            + status.error().text,
                          "actorctl");
    }
  }
  if (!arguments.job.empty())
    std::erase_if(found,
                  [&](const auto& x) { return x.job_id() != arguments.job; });
  std::cout << (arguments.json ? to_json(found) : to_text(found));
  if (found.empty() && !arguments.job.empty()) {
    std::cerr << "actorctl: error: no job '" << arguments.job
              << "' of this user runs on this host\n"
                 "  try: actorctl status, which lists those that do\n";
    leave(static_cast<int>(exit_code::rendezvous_failed));
  }
  leave(0);
}

} // namespace actorrun::cli
