#include "actors/core/text.hpp"
#include "cli/commands.hpp"
#include "cli/options/host_options.hpp"
#include "cli/program.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/signals.hpp"
#include "messages/formatted.hpp"
#include "runtime/host_agents.hpp"
#include "runtime/node_check.hpp"
#include "runtime/program_support.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace actorrun::cli {

namespace {

/// It must not ask for anything: there is no terminal for an answer. A connection
/// that is silent is noticed within 15 s.
constexpr const char* secure_shell[] = {"ssh",
                                        "-x",
                                        "-T",
                                        "-o",
                                        "BatchMode=yes",
                                        "-o",
                                        "ConnectTimeout=10",
                                        "-o",
                                        "ServerAliveInterval=5"};

/// Each host has three pipes and a process.
constexpr size_t descriptors_per_host = 4;

// The name that the user knows, if it leads there: a folder that is mounted on
// demand may have another one on each host.
result<std::string> own_directory() {
  const auto path = std::unique_ptr<char, decltype(&::free)>{
    ::get_current_dir_name(), &::free};
  if (!path)
    return system_failure("cannot find the working directory: "
                          + core::error_text(errno));
  return std::string{path.get()};
}

std::vector<agent_start> starts_of(const hosts_arguments& arguments,
                                   const std::string& program,
                                   const std::string& own_name) {
  auto shell = arguments.remote_shell;
  if (shell.empty())
    shell.assign(std::begin(secure_shell), std::end(secure_shell));
  auto out = std::vector<agent_start>{};
  for (const auto& host : arguments.hosts) {
    if (is_this_host(host.name, own_name)) {
      out.push_back({.command = {program, agent_word}, .is_local = true});
      continue;
    }
    auto command = shell;
    command.push_back(host.name);
    command.push_back(agent_command(program));
    out.push_back({.command = std::move(command)});
  }
  return out;
}

core::host_settings settings_of(const hosts_arguments& arguments) {
  auto out = core::host_settings{};
  for (const auto& host : arguments.hosts)
    out.names.push_back(host.name);
  out.count_min = arguments.nodes.min;
  out.coordinator = arguments.coordinator;
  out.chooses_coordinator = arguments.place == meeting_place::first_reached;
  out.awaits_coordinator = arguments.place != meeting_place::given;
  out.connector
    = arguments.remote_shell.empty() ? "ssh" : arguments.remote_shell[0];
  out.grace = arguments.grace;
  out.stood_by_code = static_cast<int>(exit_code::stood_by);
  for (const auto x :
       {exit_code::bad_arguments, exit_code::refused,
        exit_code::machine_refused, exit_code::program_not_executable,
        exit_code::program_not_found})
    out.start_failures.push_back(static_cast<int>(x));
  return out;
}

/// Makes the orders; lives as long as the agents.
struct order_maker {
  hosts_arguments arguments;
  std::string directory;
  std::string own_name;
  std::string launch;

  result<core::agent_order>
  operator()(const core::give_order& which,
             const core::agent_greeting* coordinator) const {
    auto known = std::optional<known_coordinator>{};
    if (which.coordinator && coordinator != nullptr)
      known = known_coordinator{
        *which.coordinator, coordinator_endpoint(arguments, *which.coordinator,
                                                 *coordinator, own_name)};
    return core::agent_order{.words = agent_words(arguments, which.host, known),
                             .variables = arguments.variables,
                             .directory = directory,
                             .secret = arguments.secret,
                             .is_new_job = arguments.is_new_job,
                             .is_quiet = which.coordinator
                                         && *which.coordinator != which.host,
                             .launch = launch};
  }
};

int exit_code_of(const core::end_launch& how) {
  using enum core::end_launch::reason;
  switch (how.why) {
    case code:
      return how.value;
    case signal:
      return exit_code_of_signal(how.value);
    case coordinator_lost:
      return static_cast<int>(exit_code::coordinator_lost);
    case unmet:
      break;
  }
  return static_cast<int>(exit_code::rendezvous_failed);
}

} // namespace

int run_on_hosts(const hosts_arguments& arguments) {
  say(arguments.warnings, "actorrun");
  const auto program = own_program_file();
  if (!program)
    return fail(program.error(), "actorrun");
  auto directory = own_directory();
  if (!directory)
    return fail(directory.error(), "actorrun");
  fill_standard_descriptors();
  // Agents would take an actorrun that stands still for lost, and end.
  ::signal(SIGTSTP, SIG_IGN);
  auto inbox
    = signal_inbox{arguments.signals_to_handle, arguments.signals_to_forward};
  if (arguments.parent_descriptor)
    inbox.watch_parent(*arguments.parent_descriptor);
  prepare_descriptors(arguments.hosts.size() * descriptors_per_host);
  const auto console = open_program_console();
  const auto lines = open_log(console, "actorrun");
  const auto own_name = own_host_name();
  auto agents = host_agents::start(
    {.settings = settings_of(arguments),
     .starts = starts_of(arguments, *program, own_name),
     .order_of = order_maker{arguments, *std::move(directory), own_name,
                             this_process().random_id()},
     .console = console,
     .lines = lines,
     .on_ended = [&] { inbox.wake_up(); }});
  if (!agents) {
    const auto code = fail(agents.error(), "actorrun", *console);
    await_console(*console, inbox, 0);
    leave(code);
  }
  uint32_t end_count = 0;
  for (auto x = inbox.next(); x.signal != 0; x = inbox.next()) {
    const auto is_parents = x.from == received_signal::origin::parent;
    if (is_parents && end_count > 0)
      continue; // It has asked for that, and did not wait for the end.
    const auto ends
      = is_parents || !contains(arguments.signals_to_forward, x.signal);
    end_count += ends ? 1 : 0;
    const auto name = core::signal_name(x.signal);
    lines.info(is_parents ? "the program that has started this one is gone"
                            " (--parent-fd): ends the agents of all hosts"
               : ends
                 ? formatted("got {}: ends the agents of all hosts", name)
                 : formatted("passes on {} to the workers of all hosts", name));
    (*agents)->signal(x.signal, ends);
  }
  const auto how = (*agents)->wait();
  agents->reset();
  await_console(*console, inbox, end_count, arguments.signals_to_forward);
  leave(exit_code_of(how));
}

int run_by_order() {
  fill_standard_descriptors();
  const auto told = receive_order(ACTORRUN_VERSION);
  if (!told)
    return fail(told.error(), "actorrun");
  for (const auto& [name, value] : told->order.variables)
    ::setenv(name.c_str(), value.c_str(), 1);
  ::unsetenv("ACTORRUN_SECRET");
  if (::chdir(told->order.directory.c_str()) != 0)
    return fail(bad_argument(formatted(
                  "this host has not the folder in which the job was started: "
                  "{}: {}",
                  told->order.directory, core::error_text(errno))),
                "actorrun");
  ::setenv("PWD", told->order.directory.c_str(), 1);
  const auto command = parse_run(
    told->order.words, facts_of_agent(this_process(), told->order.secret));
  if (!command)
    return fail(command.error(), "actorrun");
  const auto signs = life_signs{};
  if (const auto* arguments = std::get_if<run_arguments>(&*command))
    return run(*arguments, &*told);
  return fail(bad_argument("the order has no job"), "actorrun");
}

} // namespace actorrun::cli
