#include "runtime/processes/forked_starts.hpp"

#include "runtime/processes/forked_child.hpp"
#include "runtime/processes/program.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Timeout for workers that a server may have made before it was killed.
constexpr int last_report_max_ms = 1000;

std::string name_of(const ports::process_spec& spec) {
  return spec.arguments.empty() ? std::string{} : spec.arguments[0];
}

std::string subject_of(const ports::process_spec& spec, int error) {
  const auto unanswered = error == ECONNRESET || error == ETIMEDOUT;
  auto name = name_of(spec);
  if (spec.method == ports::start_method::fork_server && unanswered)
    name += " (as a fork server)";
  return detail::subject_of(name, {}, 0);
}

unique_fd open_pidfd(pid_t pid) {
  return unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

// The pid of the worker; 0 if there is none.
pid_t last_word(int handshake) {
  auto fd = pollfd{.fd = handshake, .events = POLLIN, .revents = 0};
  while (::poll(&fd, 1, last_report_max_ms) == 1)
    if (const auto report = take_report(handshake))
      return report->pid;
  return 0;
}

} // namespace

forked_starts::forked_starts(reactor& loop, warden& guard, start_thread& files,
                             core::duration answer_max)
  : loop_(loop), guard_(guard), files_(files), answer_max_(answer_max) {}

// A server is destroyed with its last request; then it is known what it has
// made.
forked_starts::~forked_starts() {
  for (auto& [which, x] : starts_)
    x.what.server.reset();
  for (auto& [which, x] : starts_) {
    if (!x.handshake)
      continue;
    if (x.pid == 0)
      x.pid = last_word(x.handshake.get());
    loop_.unwatch(x.handshake.get());
    loop_.cancel(x.timeout);
    x.place.reset();
    if (x.pid != 0)
      end_process(x.pid, x.pidfd);
  }
}

forked_starts::id forked_starts::start(order what, callback done) {
  const auto which = ++last_;
  starts_.emplace(which,
                  pending{.what = std::move(what), .done = std::move(done)});
  waiting_.push_back(which);
  pump();
  return starts_.contains(which) ? which : 0;
}

// -- starts in progress -------------------------------------------------------

// A start that fails at once makes room for the next.
void forked_starts::pump() {
  if (std::exchange(pumps_, true))
    return;
  while (under_way_count_ < forks_under_way_max && !waiting_.empty()) {
    const auto which = waiting_.front();
    waiting_.pop_front();
    ++under_way_count_;
    begin(which, starts_.at(which));
  }
  pumps_ = false;
}

void forked_starts::begin(id which, pending& x) {
  x.place = guard_.enlist(x.what.fire_count,
                          x.what.batch ? x.what.batch->cgroup : nullptr);
  if (!x.place)
    return fail(which, x, EAGAIN);
  const auto& spec = x.what.spec;
  files_.open(x.what.batch, spec.out, spec.err,
              [=, this](const open_outputs& files) { go_on(which, files); });
}

void forked_starts::go_on(id which, const open_outputs& outputs) {
  const auto i = starts_.find(which);
  if (i == starts_.end())
    return; // It was given up.
  auto& x = i->second;
  const auto& spec = x.what.spec;
  if (outputs.error != 0)
    return conclude(which, x, not_started(outputs.error, outputs.subject));
  auto line = child_handshake::open();
  if (!line)
    return fail(which, x, errno);
  const auto files = child_files{outputs.out, outputs.err, spec.descriptors};
  if (const auto error = make(x, files, line->child.get()))
    return fail(which, x, error);
  x.handshake = std::move(line->agent);
  loop_.watch(x.handshake.get(), EPOLLIN,
              [=, this](uint32_t) { on_report(which); });
  x.timeout = loop_.after(answer_max_, [=, this] { on_timeout(which); });
}

int forked_starts::make(pending& x, const child_files& files, int handshake) {
  const auto& spec = x.what.spec;
  if (x.what.server)
    return x.what.server->order({spec.arguments, spec.environment}, files,
                                handshake);
  const auto agent = ::getpid();
  const auto pid = ::fork();
  if (pid == 0)
    run_forked_child({.agent = agent,
                      .handshake = handshake,
                      .files = files,
                      .environment = spec.environment,
                      .has_foreign_buffers = true},
                     spec.body);
  if (pid < 0)
    return errno;
  x.is_confirmed = true;
  x.pid = pid;
  x.pidfd = open_pidfd(pid);
  return x.pidfd ? 0 : errno;
}

void forked_starts::on_report(id which) {
  auto& x = starts_.at(which);
  const auto report = take_report(x.handshake.get());
  if (!report)
    return;
  auto error = report->error;
  if (report->pid != 0 && x.pid == 0) {
    x.pid = report->pid;
    x.pidfd = open_pidfd(x.pid);
    error = error == 0 && !x.pidfd ? errno : error;
  }
  x.ready = x.ready || report->ready;
  x.is_confirmed = x.is_confirmed || !report->ready;
  if (!x.done && (x.pid != 0 || error != 0)) {
    forget(which, x);
    pump();
  } else if (error != 0)
    fail(which, x, error);
  else if (may_run(x))
    let_run(which, x);
}

// Both have reported: a socket with an unread message must not be closed,
// because the child would see the close before the permission.
bool forked_starts::may_run(const pending& x) const {
  return x.ready
         && (x.is_confirmed || !x.what.server || !x.what.server->runs());
}

void forked_starts::let_run(id which, pending& x) {
  const auto group = x.place.cgroup();
  const auto cgroup_error = group < 0 ? 0 : join_cgroup(group, x.pid);
  if (const auto error = x.place.enter(x.pid))
    return fail(which, x, error);
  send_go(x.handshake.get());
  conclude(which, x,
           {.pid = std::exchange(x.pid, 0),
            .pidfd = std::move(x.pidfd),
            .cgroup_error = cgroup_error,
            .registration = std::move(x.place),
            .since = std::chrono::steady_clock::now()});
}

void forked_starts::server_ended() {
  auto able = std::vector<id>{};
  for (const auto& [which, x] : starts_)
    if (x.handshake && may_run(x))
      able.push_back(which);
  for (const auto which : able)
    let_run(which, starts_.at(which));
}

// -- the end of a start -------------------------------------------------------

void forked_starts::give_up(id which) {
  const auto i = starts_.find(which);
  if (i == starts_.end() || !i->second.done)
    return;
  auto& x = i->second;
  if (x.handshake && x.pid == 0)
    report(x, not_started(ECANCELED, name_of(x.what.spec)));
  else
    fail(which, x, ECANCELED);
}

// A server that does not answer is useless to other starts, too. Its end closes
// the socket, which shows what happened to the worker.
void forked_starts::on_timeout(id which) {
  auto& x = starts_.at(which);
  x.timeout = 0;
  if (x.pid != 0)
    return fail(which, x, ETIMEDOUT);
  if (x.done)
    report(x, not_started(ETIMEDOUT, subject_of(x.what.spec, ETIMEDOUT)));
  x.what.server->kill();
}

void forked_starts::fail(id which, pending& x, int error) {
  conclude(which, x, not_started(error, subject_of(x.what.spec, error)));
}

void forked_starts::conclude(id which, pending& x, started_process result) {
  const auto done = std::exchange(x.done, {});
  forget(which, x);
  done(std::move(result));
  pump();
}

void forked_starts::report(pending& x, started_process result) {
  std::exchange(x.done, {})(std::move(result));
}

// Kills the worker.
void forked_starts::forget(id which, pending& x) {
  if (const auto i = std::ranges::find(waiting_, which); i != waiting_.end())
    waiting_.erase(i);
  else
    --under_way_count_;
  if (x.handshake)
    loop_.unwatch(x.handshake.get());
  loop_.cancel(x.timeout);
  if (x.pid != 0) {
    x.place.reset();
    end_process(x.pid, x.pidfd);
  }
  starts_.erase(which);
}

} // namespace actorrun::detail
