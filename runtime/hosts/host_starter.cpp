#include "runtime/hosts/host_starter.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Of a process whose exit code another part of this program has taken.
constexpr int unknown_exit_code = 255;

core::time_point now() {
  return std::chrono::steady_clock::now();
}

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

std::optional<pipe_ends> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return std::nullopt;
  return pipe_ends{unique_fd{fds[0]}, unique_fd{fds[1]}};
}

// Of our end alone: the other one has a description of its own.
void make_nonblocking(const unique_fd& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

/// ssh may be configured to send variables to the other side.
std::vector<std::string> environment_without_secret() {
  auto out = own_environment();
  std::erase_if(
    out, [](const auto& x) { return x.starts_with("ACTORRUN_SECRET="); });
  return out;
}

failure start_failure(const std::string& name, const std::string& path,
                      int error) {
  const auto code
    = error == ENOENT || error == ENOTDIR  ? errc::program_not_found
      : error == EAGAIN || error == ENOMEM ? errc::start_failed
                                           : errc::program_not_executable;
  return {code, formatted("cannot execute {}: {}",
                          subject_of(name, path.empty() ? name : path, error),
                          start_error_text(error))};
}

} // namespace

/// One overload per effect of `core::host_launch`.
struct host_starter::effect_runner {
  host_starter& self;

  void operator()(const core::give_order& x) { self.give(x); }

  void operator()(const core::end_agent& x) {
    self.send(x.host, core::to_line({core::agent_notice::kind::end, x.signal}));
  }

  void operator()(const core::forward_signal& x) {
    self.send(x.host,
              core::to_line({core::agent_notice::kind::forward, x.signal}));
  }

  void operator()(const core::assure_agent& x) {
    // What it has not taken yet will be as good.
    if (self.hosts_[x.host].to_write.empty())
      self.send(x.host, core::to_line({core::agent_notice::kind::alive}));
  }

  void operator()(const core::drop_host& x) { self.drop(x.host); }

  void operator()(const core::host_report& x) {
    using enum core::host_report::level;
    const auto& lines = self.options_.lines;
    if (x.how == info)
      lines.info(x.text);
    else if (x.how == warning)
      lines.warn(x.text);
    else
      lines.error(x.text);
  }

  void operator()(const core::end_launch& x) {
    self.ending_.set_value(x);
    if (self.options_.on_ended)
      self.options_.on_ended();
  }
};

host_starter::host_starter(std::shared_ptr<reactor> loop,
                           host_agents_options options)
  : shared_loop_(std::move(loop)), loop_(*shared_loop_),
    options_(std::move(options)), launch_(options_.settings, now()),
    hosts_(options_.starts.size()) {}

host_starter::~host_starter() {
  loop_.cancel(alarm_);
  for (auto& x : hosts_) {
    if (x.awaits_room)
      loop_.unwatch(x.in.get());
    if (!x.pidfd)
      continue;
    loop_.unwatch(x.pidfd.get());
    ::kill(-x.pid, SIGKILL);
    auto info = siginfo_t{};
    while (::waitid(P_PIDFD, static_cast<id_t>(x.pidfd.get()), &info, WEXITED)
             != 0
           && errno == EINTR) {
    }
  }
}

result<void> host_starter::start() {
  auto finder = program_finder{};
  spawner_.inspect_signals();
  for (core::host_index i = 0; i < hosts_.size(); ++i)
    if (auto ok = start_one(i, finder); !ok)
      return ok;
  arm();
  return {};
}

result<void> host_starter::start_one(core::host_index i,
                                     program_finder& finder) {
  const auto environment = environment_without_secret();
  const auto& command = options_.starts[i].command;
  const auto& program = finder.find(command.front(), environment);
  if (program.error != 0)
    return start_failure(command.front(), program.path, program.error);
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err)
    return failure{errc::start_failed,
                   formatted("there is no descriptor left for {} hosts: {}",
                             hosts_.size(), system_error_text(errno))};
  const auto files = child_files{.out = out->write.get(),
                                 .err = err->write.get(),
                                 .descriptors = {},
                                 .in = in->read.get()};
  auto child
    = spawner_.start(program.path, command, environment, nullptr, files);
  if (child.error != 0)
    return start_failure(command.front(), program.path, child.error);
  make_nonblocking(in->write);
  make_nonblocking(out->read);
  make_nonblocking(err->read);
  auto& x = hosts_[i];
  x.pid = child.pid;
  x.pidfd = std::move(child.pidfd);
  x.in = std::move(in->write);
  x.out = relay(i, std::move(out->read), core::output_stream::out);
  x.err = relay(i, std::move(err->read), core::output_stream::err);
  loop_.watch(x.pidfd.get(), EPOLLIN, [this, i](uint32_t) { on_exit(i); });
  return {};
}

std::unique_ptr<relayed_stream>
host_starter::relay(core::host_index i, unique_fd fd, core::output_stream to) {
  auto calls = relayed_stream::hooks{};
  if (to == core::output_stream::out)
    calls.on_line
      = [this, i](std::string_view line) { return on_line(i, line); };
  // The end of an agent on this host ends its connection.
  if (to == core::output_stream::out && !options_.starts[i].is_local)
    calls.on_life_sign = [this, i] { step_later(core::host_heard{i}); };
  else if (to == core::output_stream::out)
    calls.on_life_sign = [] {};
  calls.on_blocked = [this, to] { await_console(to); };
  calls.on_end = [this, i] { report_end(i); };
  return std::make_unique<relayed_stream>(
    loop_, *options_.console, to, std::move(fd),
    options_.settings.names[i] + ": ", std::move(calls));
}

// The shell of the other side may have something to say first.
bool host_starter::on_line(core::host_index i, std::string_view line) {
  auto greeting = core::parse_greeting(line);
  if (!greeting)
    return false;
  auto& x = hosts_[i];
  x.greeting = std::move(*greeting);
  // Not now: the stream is in the middle of this line.
  later([this, i] {
    auto& y = hosts_[i];
    y.out->pass_all();
    if (y.greeting->version == core::order_version) {
      step(core::host_greeted{i});
      return;
    }
    options_.lines.error(formatted("{} has actorrun {}, which another version "
                                   "cannot start",
                                   options_.settings.names[i],
                                   y.greeting->program));
    drop(i);
  });
  return true;
}

void host_starter::later(reactor::task fn) {
  loop_.at_end_of_round([fn = std::move(fn), alive = std::weak_ptr{alive_}] {
    if (!alive.expired())
      fn();
  });
}

// Not now: a stream is in the middle of its bytes.
void host_starter::step_later(core::host_event event) {
  later([this, event = std::move(event)] { step(event); });
}

void host_starter::give(const core::give_order& x) {
  const auto* there = x.coordinator && hosts_[*x.coordinator].greeting
                        ? &*hosts_[*x.coordinator].greeting
                        : nullptr;
  auto order = options_.order_of(x, there);
  auto bytes = order ? core::encoded(*order) : order.error();
  if (bytes) {
    send(x.host, *bytes);
    return;
  }
  options_.lines.error(formatted("{} cannot be told what to do: {}",
                                 options_.settings.names[x.host],
                                 bytes.error().text));
  drop(x.host);
}

void host_starter::send(core::host_index i, std::string_view bytes) {
  hosts_[i].to_write += bytes;
  write_some(i);
}

void host_starter::write_some(core::host_index i) {
  auto& x = hosts_[i];
  while (x.in && !x.to_write.empty()) {
    const auto n = ::write(x.in.get(), x.to_write.data(), x.to_write.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      break;
    if (n < 0) // Its end is about to be noticed.
      x.to_write.clear();
    else
      x.to_write.erase(0, static_cast<size_t>(n));
  }
  const auto waits = x.in && !x.to_write.empty();
  if (waits && !x.awaits_room)
    loop_.watch(x.in.get(), EPOLLOUT, [this, i](uint32_t) { write_some(i); });
  if (!waits && x.awaits_room)
    loop_.unwatch(x.in.get());
  x.awaits_room = waits;
}

/// A remote shell may have helpers, such as a ProxyCommand. Those of an agent are
/// not ours to kill: its warden ends the workers.
void host_starter::drop(core::host_index i) {
  auto& x = hosts_[i];
  x.is_dropped = true;
  if (x.pidfd)
    ::kill(options_.starts[i].is_local ? x.pid : -x.pid, SIGKILL);
  else
    drain_later(i);
}

void host_starter::on_exit(core::host_index i) {
  auto& x = hosts_[i];
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(x.pidfd.get());
  const auto is_reaped = ::waitid(P_PIDFD, id, &info, WEXITED | WNOHANG) == 0;
  // Where SIGCHLD is ignored, or another part of this program reaps all children.
  const auto is_lost = !is_reaped && errno == ECHILD;
  if (!is_lost && (!is_reaped || info.si_pid == 0))
    return;
  loop_.unwatch(x.pidfd.get());
  x.pidfd.reset();
  x.ended = core::host_ended{.host = i};
  if (is_lost)
    x.ended->code = unknown_exit_code;
  else if (info.si_code == CLD_EXITED)
    x.ended->code = info.si_status;
  else
    x.ended->signal = info.si_status;
  x.to_write.clear();
  write_some(i);
  x.in.reset();
  drain_later(i);
  report_end(i);
}

void host_starter::drain_later(core::host_index i) {
  loop_.after(drain_max, [this, i, alive = std::weak_ptr{alive_}] {
    if (alive.expired())
      return;
    auto& x = hosts_[i];
    if (x.is_reported)
      return;
    const auto waits = x.out->is_blocked() || x.err->is_blocked();
    if (waits && !x.is_dropped) {
      drain_later(i); // For a console that is not read.
      return;
    }
    x.out->cut();
    x.err->cut();
    report_end(i);
  });
}

void host_starter::report_end(core::host_index i) {
  auto& x = hosts_[i];
  if (!x.ended || x.is_reported || !x.out->is_ended() || !x.err->is_ended()
      || x.out->is_blocked() || x.err->is_blocked())
    return;
  x.is_reported = true;
  later([this, i] { step(*hosts_[i].ended); });
}

// The call comes on another thread, maybe when this object is gone: a host may have
// been dropped while the console took nothing.
void host_starter::await_console(core::output_stream which) {
  options_.console->call_when_ready(
    which, [this, which, loop = shared_loop_, alive = std::weak_ptr{alive_}] {
      loop->post([this, which, alive] {
        if (!alive.expired())
          on_console_ready(which);
      });
    });
}

void host_starter::on_console_ready(core::output_stream which) {
  for (core::host_index i = 0; i < hosts_.size(); ++i) {
    auto& x = hosts_[i];
    auto& stream = which == core::output_stream::out ? x.out : x.err;
    // A host that comes later has no streams yet.
    if (!stream || !stream->is_blocked())
      continue;
    if (!stream->resume()) {
      await_console(which);
      return;
    }
    report_end(i);
  }
}

void host_starter::signal(int number, bool ends) {
  step(core::signal_arrived{number, ends});
}

void host_starter::step(const core::host_event& event) {
  for (const auto& effect : launch_.step(event, now()))
    std::visit(effect_runner{*this}, effect);
  arm();
}

void host_starter::arm() {
  loop_.cancel(alarm_);
  alarm_ = 0;
  const auto due = std::min(launch_.due(), launch_.signs_due());
  if (due != core::time_point::max())
    alarm_ = loop_.after(std::max(due - now(), core::duration{0}), [this] {
      alarm_ = 0;
      // Their signs of life wait for the console, too.
      for (core::host_index i = 0; i < hosts_.size(); ++i)
        if (const auto& x = hosts_[i].out;
            x && x->is_blocked() && !options_.starts[i].is_local)
          launch_.step(core::host_heard{i}, now());
      step(core::time_passed{});
    });
}

} // namespace actorrun::detail

namespace actorrun {

host_agents::host_agents() = default;

result<std::unique_ptr<host_agents>>
host_agents::start(host_agents_options options) {
  auto out = std::unique_ptr<host_agents>{new host_agents};
  out->loop_ = std::make_shared<detail::reactor>();
  auto done = result<void>{};
  detail::run_and_wait(*out->loop_, [&] {
    out->starter_
      = std::make_unique<detail::host_starter>(out->loop_, std::move(options));
    out->ending_ = out->starter_->ending();
    done = out->starter_->start();
  });
  if (!done)
    return done.error();
  return out;
}

host_agents::~host_agents() {
  detail::run_and_wait(*loop_, [&] { starter_.reset(); });
}

void host_agents::signal(int number, bool ends) {
  loop_->post([this, number, ends] { starter_->signal(number, ends); });
}

core::end_launch host_agents::wait() {
  return ending_.get();
}

} // namespace actorrun
