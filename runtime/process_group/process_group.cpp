#include "runtime/process_group/process_group.hpp"

#include "actors/core/logs/line_prefix.hpp"
#include "actors/core/text.hpp"
#include "actors/log_tailer.hpp"
#include "messages/formatted.hpp"
#include "runtime/diagnosis/worker_evidence.hpp"
#include "runtime/logs/inotify_log_files.hpp"
#include "runtime/logs/node_logs.hpp"
#include "runtime/options.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/task_thread.hpp"
#include "runtime/process_group/call_channel.hpp"
#include "runtime/processes/posix_process_host.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>

namespace actorrun::detail {

namespace {

using std::chrono::milliseconds;

/// Timeout for processes after SIGKILL.
constexpr auto kill_timeout = std::chrono::seconds{5};

/// Timeout for a console that is not read.
constexpr auto flush_timeout = std::chrono::seconds{30};
/// For a console to take the last lines before the end is reported.
constexpr auto console_timeout = std::chrono::seconds{1};

errc code_of(int error) {
  if (!core::is_permanent(
        {.kind = core::failure_kind::not_started, .code = error}))
    return errc::start_failed;
  return error == ENOENT || error == ENOTDIR ? errc::program_not_found
                                             : errc::program_not_executable;
}

core::time_point deadline(milliseconds timeout) {
  const auto now = std::chrono::steady_clock::now();
  return now + std::clamp(timeout, milliseconds{0}, timeout_max);
}

/// Returns the folders that were made before the start.
class ready_layout final : public ports::log_layout {
public:
  explicit ready_layout(core::generation_outputs outputs)
    : outputs_(std::move(outputs)) {}

  result<core::generation_outputs>
  prepare(const core::generation_plan&) override {
    return outputs_;
  }

private:
  core::generation_outputs outputs_;
};

} // namespace

// -- start --------------------------------------------------------------------

process_group::process_group(process_options options)
  : options_(std::move(options)),
    own_(options_.system == nullptr ? std::make_unique<own_system>() : nullptr),
    system_(own_ ? own_->system : *options_.system), host_(local_host_name()),
    plan_(plan_of(options_)) {}

result<std::unique_ptr<process_group>>
process_group::start(process_options options) {
  if (auto ok = check(options); !ok)
    return ok.error();
  auto group
    = std::unique_ptr<process_group>{new process_group{std::move(options)}};
  if (auto ok = group->make_outputs(); !ok)
    return ok.error();
  auto files = make_call_files(group->options_);
  if (!files)
    return files.error();
  group->files_ = std::move(*files);
  // Output that this program has buffered comes before theirs.
  std::cout.flush();
  std::fflush(stdout);
  group->spawn_tailer();
  group->spawn_owner();
  if (auto ok = group->await_starts(); !ok)
    return ok.error();
  for (auto& x : group->files_)
    x.call.reset();
  return group;
}

result<void> process_group::make_outputs() {
  auto layout = options_.layout;
  if (!layout) {
    auto opened = torch_log_layout::open(options_.logs, {run_id_of(options_)});
    if (!opened)
      return opened.error();
    layout = folders_ = std::move(*opened);
    if (const auto text = folders_->warning(); !text.empty())
      options_.lines.warn(text);
  }
  auto outputs = layout->prepare(plan_);
  if (!outputs)
    return outputs.error();
  if (outputs->workers.size() != plan_.own.slot_count)
    return failure{
      errc::log_failed,
      formatted("the log layout plans the output of {} processes, not of {}",
                outputs->workers.size(), plan_.own.slot_count)};
  outputs_ = std::move(*outputs);
  return {};
}

std::vector<std::string> process_group::prefixes() const {
  auto result = std::vector<std::string>{};
  for (uint32_t rank = 0; rank < plan_.own.slot_count; ++rank) {
    const auto own = options_.log_line_prefixes.find(rank);
    result.push_back(own != options_.log_line_prefixes.end()
                       ? own->second
                       : core::line_prefix(options_.logs.prefix_template,
                                           {.role = options_.name,
                                            .host = host_,
                                            .local_rank = rank,
                                            .global_rank = rank}));
  }
  return result;
}

void process_group::spawn_tailer() {
  tailer_ = spawn_log_tailer(
    system_, {.options = options_.logs,
              .role = options_.name,
              .host = host_,
              .prefixes = prefixes(),
              .console = console_,
              .files = keep(std::make_unique<inotify_log_files>(*loop_), loop_),
              .lines = options_.lines});
}

worker_supervisor_config process_group::supervisor_config() {
  auto host = std::shared_ptr<ports::process_host>{
    new posix_process_host(*loop_, [lines = options_.lines](
                                     const std::string& x) { lines.warn(x); }),
    [loop = loop_, gone = host_gone_](ports::process_host* x) {
      delete x;
      gone->set_value();
    }};
  auto workers = core::worker_settings{};
  workers.role = options_.name;
  workers.slot_count = plan_.own.slot_count;
  workers.stop_signal = options_.stop_signal;
  workers.grace_period = options_.grace_period;
  auto processes
    = make_processes(options_, own_environment(), outputs_, files_);
  return {.workers = std::move(workers),
          .job = {},
          .environment = {},
          .processes_of = [processes = std::move(processes)](
                            const auto&, const auto&) { return processes; },
          .host = host_,
          .processes
          = std::make_shared<noting_process_host>(std::move(host), tracker_),
          .ports = nullptr,
          .layout = std::make_shared<ready_layout>(outputs_),
          .evidence = std::make_shared<worker_evidence>(),
          .files = std::make_shared<task_thread>("actorrun-files"),
          .tailer = tailer_,
          .lines = options_.lines};
}

void process_group::spawn_owner() {
  owner_ = spawn_process_owner(
    system_, {.supervisor = supervisor_config(),
              .plan = plan_,
              .on_ended = [tracker = tracker_](group_ending x) {
                tracker->note(std::move(x));
              }});
}

result<void> process_group::await_starts() {
  tracker_->wait(std::nullopt, [this] {
    return tracker_->start_count() == plan_.own.slot_count
           || tracker_->has_ended();
  });
  for (const auto& [rank, record] : tracker_->records())
    // An abandoned start is the consequence of another failure.
    if (record.error != 0 && record.error != ECANCELED)
      return start_failure(record, rank);
  return {};
}

failure process_group::start_failure(const process_tracker::record& record,
                                     uint32_t rank) const {
  const auto* name = strerrorname_np(record.error);
  return {code_of(record.error),
          formatted("local rank {} cannot be started: {}{} ({})", rank,
                    record.subject.empty() ? "" : record.subject + ": ",
                    core::error_text(record.error),
                    name == nullptr ? "?" : name)};
}

// -- end ----------------------------------------------------------------------

process_group::~process_group() {
  caf::scoped_actor self{system_};
  if (owner_) {
    close(options_.stop_signal, options_.grace_period);
    flush_logs();
    self->send_exit(owner_, caf::exit_reason::kill);
    self->wait_for(owner_);
    host_gone_->get_future().wait();
  }
  if (tailer_)
    end_tailer(system_, tailer_);
  if (folders_)
    folders_->remove_if_unused();
}

void process_group::flush_logs() {
  const auto due = std::chrono::steady_clock::now() + flush_timeout;
  caf::scoped_actor self{system_};
  ask(self.ptr(), tailer_, flush_timeout, actorrun::flush_logs{})
    .receive([](logs_flushed) {}, [](const caf::error&) {});
  console_->flush(due);
}

bool process_group::close(int signal, milliseconds timeout) {
  if (!owner_)
    return true;
  const auto known = signal >= 1 && signal <= SIGRTMAX;
  const auto limit = known ? std::clamp(timeout, milliseconds{0}, timeout_max)
                           : milliseconds{0};
  if (!tracker_->ending())
    tell_anonymously(owner_, close_group{known ? signal : SIGKILL, limit});
  return tracker_->wait(deadline(limit) + kill_timeout,
                        [this] { return tracker_->has_ended(); });
}

std::map<uint32_t, pid_t> process_group::pids() const {
  auto result = std::map<uint32_t, pid_t>{};
  for (const auto& [rank, record] : tracker_->records())
    if (record.pid != 0)
      result.emplace(rank, record.pid);
  return result;
}

std::optional<processes_result>
process_group::wait(std::optional<milliseconds> timeout) {
  auto until = std::optional<core::time_point>{};
  if (timeout)
    until = deadline(*timeout);
  if (!tracker_->wait(until, [this] { return tracker_->has_ended(); }))
    return std::nullopt;
  const auto guard = std::lock_guard{mutex_};
  if (!result_) {
    // A file has its lines from a thread of its own, as it may be far away.
    const auto due = deadline(console_timeout);
    console_->flush(until ? std::min(*until, due) : due);
    result_ = result_of(*tracker_->ending());
    files_.clear(); // They may be large.
  }
  return result_;
}

// -- the result ---------------------------------------------------------------

processes_result process_group::result_of(group_ending ending) const {
  auto result = processes_result{};
  result.was_closed = ending.was_closed;
  result.unlisted_failure_count = ending.unlisted_failure_count;
  if (!ending.failures.empty())
    result.first_failed = ending.failures.front().local_rank;
  for (auto& x : ending.failures)
    result.failures.emplace(x.local_rank, std::move(x));
  for (uint32_t rank = 0; rank < outputs_.workers.size(); ++rank) {
    result.stdouts[rank] = outputs_.workers[rank].out.path;
    result.stderrs[rank] = outputs_.workers[rank].err.path;
  }
  add_returns(result);
  return result;
}

void process_group::add_returns(processes_result& result) const {
  for (const auto& [rank, record] : tracker_->records()) {
    if (!files_.empty())
      add_return(result, rank, record);
    else if (record.has_succeeded)
      result.return_values.emplace(rank, nullptr);
  }
}

void process_group::add_return(processes_result& result, uint32_t rank,
                               const process_tracker::record& record) const {
  using stage = function_return::stage;
  auto returned = read_return(files_[rank].returned.get());
  if (!returned)
    add_problem(result, rank, record,
                "what the function returned is lost: " + returned.error().text);
  else if (returned->reached == stage::not_begun)
    add_problem(result, rank, record,
                "the function was never called: the program ended before main "
                "called actorrun::run_as_worker(argc, argv), or could not call "
                "it");
  else if (returned->reached == stage::returned && record.has_succeeded)
    result.return_values.emplace(rank, std::move(returned->value));
}

// A worker that has exited with 0 without calling its function has failed. For
// a worker that exited with another code this may be the reason; for one that
// was killed it is not.
void process_group::add_problem(processes_result& result, uint32_t rank,
                                const process_tracker::record& record,
                                std::string problem) const {
  if (const auto i = result.failures.find(rank); i != result.failures.end()) {
    auto& [key, failed] = *i;
    if (failed.kind == core::failure_kind::exited
        && failed.details.message.empty())
      failed.details.message = std::move(problem);
  } else if (record.has_succeeded) {
    result.failures.emplace(
      rank, core::worker_failure{.agent = plan_.own.agent,
                                 .host = host_,
                                 .global_rank = rank,
                                 .local_rank = rank,
                                 .pid = record.pid,
                                 .kind = core::failure_kind::exited,
                                 .code = 0,
                                 .details = {.message = std::move(problem)}});
    result.first_failed = result.first_failed.value_or(rank);
  }
}

} // namespace actorrun::detail
