#include "cli/commands.hpp"

#include "actors/core/protocol/node_end.hpp"
#include "actors/core/text.hpp"
#include "cli/asked_job.hpp"
#include "cli/ended_jobs.hpp"
#include "cli/init_process.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/secret_file.hpp"
#include "cli/options/service_variables.hpp"
#include "cli/options/signal_options.hpp"
#include "cli/program.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/ending_view.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/failure_view.hpp"
#include "cli/report/report_file.hpp"
#include "cli/report/status_view.hpp"
#include "cli/signals.hpp"
#include "cli/slurm_address.hpp"
#include "cli/slurm_time_limit.hpp"
#include "messages/formatted.hpp"
#include "runtime/host_agents.hpp"
#include "runtime/launcher.hpp"
#include "runtime/past_logs.hpp"
#include "runtime/program_end.hpp"
#include "runtime/program_support.hpp"
#include "runtime/status.hpp"
#include "runtime/system_config.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

/// Says what is wrong with the variables.
service_options service_of_process(const char* program) {
  auto out = read_service_variables(this_process().variable, ::getpid());
  say(out.warnings, program);
  return std::move(out.options);
}

/// Waits for the end of the job, and passes each signal before it to `on_signal`,
/// which returns whether to go on waiting.
template <class Handler>
void await(signal_inbox& inbox, Handler on_signal) {
  for (;;) {
    const auto x = inbox.next();
    if (x.signal == 0 || !on_signal(x))
      return;
  }
}

} // namespace

// With etcd, a refused connection has other causes: etcd names the address of the
// last coordinator.
int fail_to_find(const failure& why, const job_options& job) {
  if (job.backend != rendezvous_backend::etcd
      || why.code != errc::connection_refused)
    return cli::fail(why, "actorctl");
  std::cerr << error_line(why.text, "actorctl")
            << "  why: it has not begun or is over, changes hands just now,"
               " or has another --rdzv-id or etcd_prefix\n"
               "  try: again in a few seconds, and etcdctl get --prefix "
            << job.etcd.prefix << "\n";
  return static_cast<int>(exit_code_of(why.code));
}

int fail(const failure& why, std::string_view program) {
  std::cerr << explain(why, program);
  return static_cast<int>(exit_code_of(why.code));
}

int code_after_output(int code, std::string_view program) {
  return std::cout.flush()
           ? code
           : fail(system_failure("standard output does not take all of it"),
                  program);
}

namespace {

/// What is printed of an end.
struct ending_print {
  std::string name;          ///< What the failure report calls the program.
  bool is_quiet = false;     ///< Another agent says it on the same console.
  bool prints_report = true; ///< Else the failure is logged only.
};

void report_ending(const core::ending& how, const log& lines,
                   program_console& console, const ending_print& print) {
  if (has_stood_by(how)) {
    lines.warn(sentence_of(how));
    return;
  }
  if (how.why)
    fail(*how.why, "actorrun", console);
  if (how.why && (!how.result || how.why->code != errc::worker_unkillable))
    return;
  if (!how.result) {
    lines.info(sentence_of(how));
    return;
  }
  auto job = how;
  job.why.reset();
  switch (how.result->kind) {
    case core::outcome::verdict::unmet:
      fail(*trouble_of(job), "actorrun", console);
      break;
    case core::outcome::verdict::failed:
      if (print.is_quiet) {
        lines.debug(sentence_of(job));
        break;
      }
      lines.error(sentence_of(job));
      if (print.prints_report)
        console.say(core::output_stream::err, failure_view(print.name, how));
      break;
    case core::outcome::verdict::stopped:
      lines.info(sentence_of(job));
      break;
    case core::outcome::verdict::succeeded:
      lines.debug(sentence_of(job));
      break;
  }
}

/// Logs where the files of a failed job are.
void report_log_folder(const core::ending& how, const launcher& node,
                       const log& lines) {
  if (!how.why
      && (!how.result || how.result->kind != core::outcome::verdict::failed))
    return;
  if (const auto folder = node.log_folder(); !folder.empty())
    lines.info("this node's workers have left files in " + folder);
}

void report_bindings(const launcher& node, program_console& console) {
  for (const auto& line : node.binding_report())
    console.say(core::output_stream::err, formatted("actorrun: {}\n", line));
}

/// Writes the files that the program which started us may have asked for.
void record_ending(const core::ending& how, const run_arguments& arguments,
                   const std::string& log_folder, const log& lines) {
  using namespace std::chrono;
  const auto* path = std::getenv("TORCHELASTIC_ERROR_FILE");
  const auto now
    = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  const auto done = leave_error_file(path == nullptr ? "" : path, how,
                                     own_host_name(), now.count());
  if (!done)
    lines.warn(done.error().text);
  const auto left
    = leave_report_file(arguments.report_file, how, own_host_name(), log_folder,
                        arguments.has_class_codes);
  if (!left)
    lines.warn(left.error().text);
}

/// The same where no job has begun.
int fail_before_start(const failure& why, const std::string& report_file) {
  const auto code = fail(why, "actorrun");
  if (const auto left = leave_report_file(
        report_file, {.result = {}, .why = why}, own_host_name(), "");
      !left)
    std::cerr << warn(left.error().text);
  return code;
}

/// Takes events for the program that has started us.
class event_reader {
public:
  /// @param descriptor None: it does not want any.
  explicit event_reader(std::optional<int> descriptor)
    : to_(descriptor ? open_line_output(*descriptor) : nullptr) {}

  bool is_there() const { return to_ != nullptr; }

  void take(const std::string& lines) const { to_->add(lines); }

  /// The reader may be slow: it has a second.
  void finish(const log& lines) const {
    if (!to_)
      return;
    constexpr auto limit = std::chrono::seconds{1};
    const auto is_whole = to_->finish(limit);
    if (const auto count = to_->dropped_count(); count > 0)
      lines.warn(
        formatted("{} events are lost: the reader of --event-log-fd did"
                  " not keep up",
                  count));
    if (!is_whole)
      lines.warn("the last events are lost: the reader of --event-log-fd does"
                 " not read");
  }

private:
  std::unique_ptr<line_output> to_;
};

} // namespace

namespace {

/// Where events go; empty: nowhere.
std::function<void(const std::string&)>
event_printer(const run_arguments& arguments,
              const std::shared_ptr<program_console>& console,
              const event_reader& reader) {
  if (!arguments.logs_events && !reader.is_there())
    return nullptr;
  return [shows = arguments.logs_events, console,
          &reader](const std::string& event) {
    const auto line = event + "\n";
    if (shows)
      console->note(line);
    if (reader.is_there())
      reader.take(line);
  };
}

/// What signals have asked of a node so far.
struct requests {
  uint32_t end_count = 0; ///< How often it was told to end.
  bool is_cut = false;    ///< Its end does not wait for the console.
};

void obey(const received_signal& request, const run_arguments& arguments,
          launcher& node, const log& lines, requests& so_far) {
  using enum received_signal::origin;
  const auto signal = request.signal;
  if (request.from == forwarded
      || (request.from == system
          && contains(arguments.signals_to_forward, signal))) {
    lines.info(
      formatted("passes on {} to the workers", core::signal_name(signal)));
    node.notify(signal);
    return;
  }
  if (request.from == parent && so_far.end_count > 0)
    return; // It has asked for that, and did not wait for the end.
  if (request.from == parent)
    lines.warn("the program that has started this one is gone (--parent-fd):"
               " stops the workers");
  if (request.from == disconnected)
    lines.warn("the actorrun that has started this agent is gone, or the"
               " connection to it: stops the workers");
  if (node.awaits_console())
    so_far.is_cut = so_far.end_count > 0;
  else if (request.from != disconnected && request.from != parent)
    lines.info(formatted("{}: {}", core::signal_name(signal),
                         so_far.end_count > 0
                           ? "killing the workers"
                           : "stopping the workers; once more kills them"));
  node.leave(signal);
  ++so_far.end_count;
}

/// Tells the workers when the time limit is near. Null: that was not asked for.
std::unique_ptr<time_limit_watch>
watch_limit(const run_arguments& arguments, launcher& node, const log& lines) {
  if (!arguments.time_limit)
    return nullptr;
  return std::make_unique<time_limit_watch>(
    *arguments.time_limit,
    time_limit_watch::callbacks{
      .on_near
      = [&node](std::chrono::seconds left) { node.announce_limit(left); },
      .on_unknown =
        [lines](const std::string& why) {
          lines.warn("--notice-before has no effect: " + why);
        }});
}

/// The kernel does not say when the last one has gone.
constexpr auto launch_poll_interval = std::chrono::milliseconds{100};

/// The launcher may have been killed and started again: what it has started before
/// ends by itself, and until then nothing of the job is to run beside it. Ends this
/// program if it is told to meanwhile.
void await_earlier_launch(const job_id& job, const core::agent_order& order,
                          signal_inbox& inbox, program_console& console,
                          const log& lines) {
  if (order.is_new_job || order.launch.empty())
    return;
  auto has_said = false;
  while (is_earlier_launch_here(job, order.launch)) {
    if (!std::exchange(has_said, true))
      lines.warn(
        formatted("job {} is still on this host, as an actorrun has "
                  "started it before: waits until its workers are gone",
                  job.value));
    const auto x = inbox.next(launch_poll_interval);
    if (x.signal != 0 && x.from != received_signal::origin::forwarded) {
      await_console(console, inbox, 1);
      leave(exit_code_of_signal(x.signal));
    }
  }
  if (has_said)
    lines.info(formatted("the job {} of before has gone: goes on", job.value));
}

void hide_option_variables() {
  for (const auto& name : this_process().variables())
    if (name.starts_with(option_variable_prefix))
      ::unsetenv(name.c_str());
}

} // namespace

int refuse_to_run(const failure& why, const std::vector<std::string>& words) {
  const auto path = report_file_in(words);
  return fail_before_start(why, prepare_report_file(path) ? path : "");
}

int run(const run_arguments& arguments, const received_order* by_order) {
  live_below_init();
  say(arguments.warnings, "actorrun");
  const auto& report_file = arguments.report_file;
  if (const auto ok = prepare_report_file(report_file); !ok)
    return fail(ok.error(), "actorrun");
  if (!report_file.empty())
    end_without_resources(
      static_cast<int>(exit_code::machine_refused),
      [report_file](const std::string& why) {
        (void)leave_report_file(
          report_file, {.result = {}, .why = failure{errc::start_failed, why}},
          own_host_name(), "");
      });
  const auto service = service_of_process("actorrun");
  auto agent = arguments.agent;
  auto command = worker_command(arguments.program, files_of_this_machine());
  if (!command)
    return fail_before_start(command.error(), report_file);
  agent.workers.command = std::move(*command);
  if (arguments.hides_variables)
    hide_option_variables();
  fill_standard_descriptors();
  const auto events = event_reader{arguments.event_descriptor};
  auto inbox
    = signal_inbox{arguments.signals_to_handle, arguments.signals_to_forward};
  if (arguments.parent_descriptor)
    inbox.watch_parent(*arguments.parent_descriptor);
  if (by_order != nullptr)
    inbox.listen(by_order->connection, by_order->rest);
  prepare_descriptors(agent.workers.slot_count);
  keep_freed_memory(arguments.job.agent_count_max);
  // Orphans of workers become our children, so that they end with their generation.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto console = open_program_console();
  const auto lines = open_log(console, "actorrun");
  for (const auto& x : arguments.details)
    lines.debug(x);
  for (const auto& x : arguments.notices)
    lines.info(x);
  auto job = arguments.job;
  if (const auto text = find_address_by_slurm(job); !text.empty())
    lines.info(text);
  if (by_order != nullptr)
    await_earlier_launch(job.job, by_order->order, inbox, *console, lines);
  auto config = system_config{place_of_actors(job, agent)};
  caf::actor_system system{config};
  auto node = launcher::start(
    system, job, agent,
    {.lines = lines,
     .on_ended = [&](const core::ending&) { inbox.wake_up(); },
     .console = console,
     .on_event = event_printer(arguments, console, events),
     .http = arguments.http,
     .service = service,
     .is_new_job = by_order != nullptr && by_order->order.is_new_job,
     .launch = by_order != nullptr ? by_order->order.launch : std::string{},
     .owns_children = true,
     .preferred_master_port = arguments.preferred_master_port});
  auto asked = requests{};
  const auto end = [&](int code) {
    events.finish(lines);
    if (!asked.is_cut)
      await_console(*console, inbox, asked.end_count,
                    arguments.signals_to_forward);
    leave(code);
  };
  if (!node) {
    record_ending({.result = {}, .why = node.error(), .signal = 0}, arguments,
                  "", lines);
    end(fail(node.error(), "actorrun", *console));
  }
  if (arguments.reports_bindings)
    report_bindings(**node, *console);
  auto limit = watch_limit(arguments, **node, lines);
  await(inbox, [&](const received_signal& x) {
    obey(x, arguments, **node, lines, asked);
    return true;
  });
  const auto how = (*node)->wait();
  report_ending(how, lines, *console,
                {.name = arguments.title,
                 .is_quiet = by_order != nullptr && by_order->order.is_quiet,
                 .prints_report = arguments.prints_report});
  record_ending(how, arguments, (*node)->log_folder(), lines);
  report_log_folder(how, **node, lines);
  limit.reset();
  node->reset();
  end(exit_code_of(how, arguments.has_class_codes));
  return 0;
}

int make_secret(const secret_arguments& arguments) {
  if (const auto made = create_secret(arguments.path, arguments.replaces);
      !made)
    return fail(made.error(), "actorctl");
  std::cout << "made " << arguments.path
            << "; nodes that do not share this home need a copy of it\n";
  return 0;
}

namespace {

std::string stop_text(const job_options& job, int signal) {
  if (job.succession)
    return formatted("witness stops on signal {}; the job goes on without it",
                     signal);
  return formatted(
    "coordinator stops on signal {}; the agents keep their workers and {}",
    signal,
    job.backend == rendezvous_backend::etcd ? "one of them hosts the next"
                                            : "wait for it to return");
}

} // namespace

int host_coordinator(const coordinator_arguments& arguments) {
  live_below_init();
  say(arguments.warnings, "actorctl");
  const auto service = service_of_process("actorctl");
  fill_standard_descriptors();
  auto inbox = signal_inbox{default_signals(this_process())};
  prepare_descriptors(0);
  keep_freed_memory(arguments.job.agent_count_max);
  const auto console = open_program_console();
  const auto lines = open_log(console, "actorctl");
  auto config = system_config{};
  caf::actor_system system{config};
  auto node = launcher::start_coordinator(
    system, arguments.job,
    {.lines = lines,
     .on_ended = [&](const core::ending&) { inbox.wake_up(); },
     .http = arguments.http,
     .service = service},
    arguments.local_address);
  auto signal = 0;
  const auto end = [&](int code) {
    await_console(*console, inbox, signal != 0 ? 1 : 0);
    leave(code);
  };
  if (!node)
    end(fail(node.error(), "actorctl", *console));
  await(inbox, [&](const received_signal& x) {
    signal = x.signal;
    return false;
  });
  if (signal != 0) {
    const auto is_followed = arguments.job.backend == rendezvous_backend::etcd;
    lines.info(stop_text(arguments.job, signal));
    if (is_followed)
      node->reset();
    else
      (*node)->end_with_process();
    end(exit_code_of_signal(signal));
  }
  const auto how = (*node)->wait();
  report_ending(how, lines, *console, {.name = arguments.job.job.value});
  node->reset();
  end(exit_code_of(how));
  return 0;
}

namespace {

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch())
    .count();
}

std::set<std::string> ids_of(const std::vector<v1::JobStatus>& jobs) {
  auto out = std::set<std::string>{};
  for (const auto& x : jobs)
    out.insert(x.job_id());
  return out;
}

} // namespace

int show_status(const status_arguments& arguments) {
  auto found = std::vector<v1::JobStatus>{};
  auto is_silent = false;
  if (arguments.remote) {
    auto status = ask_status(*arguments.remote, status_limit);
    if (!status)
      leave(fail_to_find(status.error(), *arguments.remote));
    found.push_back(std::move(*status));
  } else {
    auto here = ask_here(arguments.job, status_limit);
    if (!here)
      leave(fail(here.error(), "actorctl"));
    found = std::move(here->jobs);
    // A warning says so; that there are no jobs would be wrong.
    is_silent = found.empty() && !here->are_all;
  }
  const auto ended
    = arguments.remote
        ? std::vector<ended_job>{}
        : find_ended_jobs(arguments.journal_folder, arguments.job,
                          ids_of(found), now_ms());
  const auto places = list_log_places(arguments.journal_folder);
  const auto is_unknown
    = found.empty() && !arguments.job.empty() && ended.empty() && !is_silent;
  if (arguments.json)
    std::cout << to_json(found, ended, places);
  else if (is_silent && !ended.empty())
    std::cout << "ended in the last day:\n" << ended_to_text(ended);
  else if (!is_unknown && !is_silent)
    std::cout << to_text(found, ended, arguments.wide, places);
  if (is_unknown) {
    std::cerr << error_line(
      formatted("no job '{}' of this user runs on this host", arguments.job),
      "actorctl")
              << "  try: actorctl status, which lists those that do\n";
  }
  const auto code = static_cast<int>(exit_code_of(
    found,
    arguments.job.empty() || is_silent ? std::vector<ended_job>{} : ended));
  leave(code_after_output(code, "actorctl"));
}

} // namespace actorrun::cli
