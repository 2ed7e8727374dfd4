#include "runtime/logs/node_logs.hpp"

#include "actors/log_tailer.hpp"
#include "messages/caf.hpp"
#include "runtime/logs/inotify_log_files.hpp"
#include "runtime/logs/posix_console.hpp"
#include "runtime/options.hpp"
#include "runtime/os/thread.hpp"

#include <caf/scoped_actor.hpp>

#include <chrono>
#include <utility>

#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Timeout for the tailer's end: a file system may hang.
constexpr auto end_max = std::chrono::seconds{1};

int64_t unix_now_ms() {
  using namespace std::chrono;
  return floor<milliseconds>(system_clock::now()).time_since_epoch().count();
}

/// So long after bytes were given up, a worker may have died of what it could not
/// write before.
constexpr auto full_disk_memory = std::chrono::seconds{2};

} // namespace

void end_tailer(caf::actor_system& system, const log_tailer_actor& tailer) {
  caf::scoped_actor self{system};
  self->monitor(tailer);
  self->send_exit(tailer, caf::exit_reason::kill);
  self->receive([](const caf::down_msg&) {}, caf::after(end_max) >> [] {});
}

result<std::unique_ptr<node_logs>>
node_logs::open(caf::actor_system& system, std::shared_ptr<reactor> loop,
                node_logs_config config) {
  auto x = std::unique_ptr<node_logs>{new node_logs{system, std::move(config)}};
  if (auto done = x->make_folders(); !done)
    return done.error();
  x->open_record();
  if (x->layout_ && (!x->folders_ || x->folders_->fills_files()))
    x->spawn_tailer(std::move(loop));
  return x;
}

// A job that asked for no files must not fail because there is no place for
// them.
result<void> node_logs::make_folders() {
  layout_ = config_.layout;
  if (layout_)
    return {};
  auto folders = torch_log_layout::open(config_.options, config_.job);
  if (folders) {
    layout_ = folders_ = std::move(*folders);
    if (const auto text = folders_->warning(); !text.empty())
      config_.lines.warn(text);
    return {};
  }
  if (!config_.options.folder.empty() || chooses_files(config_.options))
    return folders.error();
  config_.lines.warn("workers have no error files: " + folders.error().text);
  return {};
}

void node_logs::open_record() {
  if (layout_ && !config_.record_folder.empty())
    recorder_ = std::make_shared<log_recorder>(
      config_.record_folder,
      log_run{.job = config_.job,
              .host = config_.host,
              .agent = config_.agent,
              .pid = ::getpid(),
              .folder = folders_ ? folders_->folder() : std::string{},
              .began_ms = unix_now_ms()},
      files_);
  reader_ = std::make_shared<file_log_reader>(book_, recorder_);
}

void node_logs::spawn_tailer(std::shared_ptr<reactor> loop) {
  auto files = std::make_unique<inotify_log_files>(*loop, book_);
  auto console = config_.console;
  if (!console)
    console = own_console_ = std::make_shared<posix_console>();
  const auto blocked = signals_blocked{}; // Its thread takes none.
  tailer_ = spawn_log_tailer(system_,
                             {.options = config_.options,
                              .role = config_.role,
                              .host = config_.host,
                              .prefixes = {},
                              .console = std::move(console),
                              .files = keep(std::move(files), std::move(loop)),
                              .lines = config_.lines});
}

node_logs::~node_logs() {
  {
    const auto guard = std::lock_guard{waiter_->mutex};
    waiter_->call = {};
  }
  if (tailer_)
    end_tailer(system_, tailer_);
  if (recorder_)
    recorder_->end(unix_now_ms());
  if (folders_ || recorder_)
    files_->ask(end_max, [folders = folders_] {
      if (folders)
        folders->remove_if_unused();
      return true;
    });
}

void node_logs::waiter::operator()() {
  const auto guard = std::lock_guard{mutex};
  if (const auto fn = std::exchange(call, {}))
    fn();
}

// The actor ends with the answer, or when the tailer does.
void node_logs::flush(std::function<void()> on_flushed) {
  if (!tailer_) {
    on_flushed();
    return;
  }
  waiter_->call = std::move(on_flushed);
  const auto shown = [to = waiter_, own = own_console_] {
    if (own)
      own->call_when_flushed([to] { (*to)(); });
    else
      (*to)();
  };
  system_.spawn([shown, tailer = tailer_](caf::event_based_actor* self) {
    // Without a limit: a console that blocks has no deadline.
    ask(self, tailer, timeout_max, flush_logs{})
      .then([shown](const logs_flushed&) { shown(); },
            [shown](const caf::error&) { shown(); });
  });
}

std::function<bool(const std::string&)> node_logs::full_disks() const {
  return [book = book_](const std::string& path) {
    const auto since = std::chrono::steady_clock::now() - full_disk_memory;
    return book->of(path)->had_full_disk(since);
  };
}

std::string node_logs::folder() const {
  if (!folders_)
    return {};
  const auto found = files_->ask(end_max, [folders = folders_] {
    return folders->holds_files() ? folders->folder() : std::string{};
  });
  return found.value_or(std::string{});
}

} // namespace actorrun::detail
