#include "runtime/process_group/process_group.hpp"

#include "runtime/options.hpp"
#include "runtime/os/error_text.hpp"
#include "runtime/os/socket_address.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

namespace actorrun::detail {

namespace {

using std::chrono::milliseconds;

/// Longest wait for processes after SIGKILL.
constexpr auto kill_timeout = std::chrono::seconds{5};

/// Longest wait for a console that is not read.
constexpr auto flush_timeout = std::chrono::seconds{30};

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
  // What this program has not written yet shall stand before what they write.
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

result<void> process_group::await_starts() {
  tracker_->wait(std::nullopt, [this] {
    return tracker_->start_count() == plan_.own.slot_count
           || tracker_->has_ended();
  });
  for (const auto& [rank, record] : tracker_->records())
    // A start that was given up is the consequence of something else.
    if (record.error != 0 && record.error != ECANCELED)
      return start_failure(record, rank);
  return {};
}

failure process_group::start_failure(const process_tracker::record& record,
                                     uint32_t rank) const {
  auto text = "local rank " + std::to_string(rank) + " cannot be started: ";
  if (!record.subject.empty())
    text += record.subject + ": ";
  const auto* name = strerrorname_np(record.error);
  return {code_of(record.error), text + error_text(record.error) + " ("
                                   + (name == nullptr ? "?" : name) + ")"};
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
  if (tailer_) {
    self->send_exit(tailer_, caf::exit_reason::kill);
    self->wait_for(tailer_);
  }
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
    result_ = result_of(*tracker_->ending());
    files_.clear(); // They may be large.
  }
  return result_;
}

} // namespace actorrun::detail
