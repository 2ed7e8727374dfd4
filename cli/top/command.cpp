#include "cli/top/command.hpp"

#include "cli/asked_job.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/status_view.hpp"
#include "cli/top/background_requests.hpp"
#include "cli/top/feed.hpp"
#include "cli/top/terminal.hpp"
#include "messages/formatted.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace actorrun::cli::top {

namespace {

using clock = core::time_point::clock;
using std::chrono::milliseconds;

/// Ages on the picture grow in such steps.
constexpr auto tick = milliseconds{1'000};

/// The least between two paintings.
constexpr auto paint_interval = milliseconds{50};

/// Between two looks for jobs that have begun on this host.
constexpr auto jobs_interval = milliseconds{2'000};

/// At most this many jobs of this host are watched.
constexpr size_t feed_count_max = 16;

/// Of a picture that is printed. One that no terminal shows is cut late, as
/// procps' `top -b` does it; spaces at the end of a line are not printed.
constexpr size_t printed_height_max = 10'000;
constexpr size_t piped_width = 512;

bool is_unicode() {
  return std::string_view{::nl_langinfo(CODESET)} == "UTF-8";
}

bool wants_colours() {
  const auto* no = std::getenv("NO_COLOR");
  return no == nullptr || *no == '\0';
}

std::string name_of(const top_arguments& x) {
  if (x.remote)
    return formatted("job {} on another host", x.remote->job.value);
  return x.job.empty() ? "jobs of this host" : "job " + x.job;
}

/// Those of this host that are meant, each once: by their coordinators, and those with
/// none here by label.
std::vector<feed_source> sources_of(const top_arguments& x) {
  if (x.remote)
    return {{.key = x.remote->job.value, .remote = x.remote}};
  auto out = std::vector<feed_source>{};
  const auto jobs = find_local_jobs();
  if (!jobs)
    return out;
  for (const auto& job : *jobs) {
    const auto is_known = std::ranges::any_of(
      out, [&](const auto& y) { return y.label == job.label; });
    if ((is_known && !job.is_coordinator)
        || (!x.job.empty() && !is_of_job(job, x.job)))
      continue;
    // One that was asked for by its number may be an agent.
    const auto is_meant = std::to_string(job.pid) == x.job;
    const auto pid = job.is_coordinator || is_meant ? job.pid : 0;
    out.push_back({.key = formatted("{} {}", job.label, pid),
                   .label = job.label,
                   .pid = pid,
                   .journal_folder = x.journal_folder});
  }
  return out;
}

/// Signals of the terminal and of those who end us, as a descriptor.
class signals {
public:
  signals() {
    auto set = ::sigset_t{};
    ::sigemptyset(&set);
    for (const auto x : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH})
      ::sigaddset(&set, x);
    // Threads that start later do not get them either.
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    ::signal(SIGPIPE, SIG_IGN);
  }

  ~signals() { ::close(fd_); }

  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

  int fd() const { return fd_; }

  /// 0: none.
  int take() {
    auto x = ::signalfd_siginfo{};
    return ::read(fd_, &x, sizeof x) == sizeof x ? static_cast<int>(x.ssi_signo)
                                                 : 0;
  }

private:
  int fd_;
};

/// The view on a terminal, and what it shows.
class session {
public:
  session(const top_arguments& arguments, terminal& on, signals& from)
    : arguments_(arguments), terminal_(on), signals_(from),
      model_(name_of(arguments), bound_actions(), clock::now()),
      requests_(arguments, inbox_) {}

  /// @returns the signal that ended it; 0: the operator did
  int run() {
    while (!is_done_) {
      look_for_jobs();
      paint();
      await();
      take_signals();
      take_input();
      take_news();
    }
    return signal_;
  }

private:
  struct watched_job {
    std::string job; ///< The key of its picture.
    std::unique_ptr<feed> source;
  };

  void look_for_jobs() {
    const auto now = clock::now();
    if (looked_ != core::time_point{}
        && (arguments_.remote || now - looked_ < jobs_interval))
      return;
    looked_ = now;
    for (auto& x : sources_of(arguments_)) {
      forget_former(x);
      if (find_feed(x.key) != feeds_.end())
        continue;
      make_room();
      if (feeds_.size() < feed_count_max)
        feeds_.push_back({x.key, std::make_unique<feed>(std::move(x), inbox_)});
    }
  }

  /// A job whose coordinator comes, or begins anew, is the one that had none here, or
  /// has lost all its processes: both have its label.
  void forget_former(const feed_source& x) {
    const auto is_former = [&](const auto& y) {
      return y.source->label() == x.label && y.job != x.key
             && (y.source->is_lost() || (x.pid != 0 && y.source->pid() == 0));
    };
    for (auto i = std::ranges::find_if(feeds_, is_former); i != feeds_.end();
         i = std::ranges::find_if(feeds_, is_former))
      forget(i);
  }

  /// A job that has ended gives its place to one that begins; the oldest first.
  void make_room() {
    if (feeds_.size() < feed_count_max)
      return;
    forget(std::ranges::find_if(
      feeds_, [](const auto& x) { return x.source->is_over(); }));
  }

  void forget(std::vector<watched_job>::iterator i) {
    if (i == feeds_.end())
      return;
    const auto job = i->job;
    feeds_.erase(i);
    take_news(); // Its own may be among them.
    step(job_forgotten{job});
  }

  void take_news() {
    for (auto& x : inbox_.take())
      step(x);
  }

  void paint() {
    const auto now = clock::now();
    if (!is_stale_ && now - painted_ < tick)
      return;
    if (now - painted_ < paint_interval)
      return;
    model_.step(time_passed{picture_.is_covered}, now);
    picture_ = view(model_, terminal_.space(), {is_unicode()});
    terminal_.paint(picture_);
    painted_ = now;
    is_stale_ = false;
  }

  void await() {
    const auto due = painted_ + (is_stale_ ? paint_interval : tick);
    const auto left = std::chrono::ceil<milliseconds>(due - clock::now());
    ::pollfd all[] = {{STDIN_FILENO, POLLIN, 0},
                      {inbox_.fd(), POLLIN, 0},
                      {signals_.fd(), POLLIN, 0}};
    ::poll(all, std::size(all),
           static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if ((all[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
      is_done_ = true; // The terminal is gone.
  }

  void take_signals() {
    while (const auto x = signals_.take()) {
      if (x != SIGWINCH) {
        signal_ = x;
        is_done_ = true;
        continue;
      }
      terminal_.resize();
      is_stale_ = true;
    }
  }

  void take_input() {
    while (auto x = terminal_.next_input())
      std::visit([this](const auto& y) { on(y); }, *x);
  }

  void on(const key_pressed& x) { step(x); }
  void on(const interrupt_pressed&) { is_done_ = true; }

  void on(const redraw_pressed&) {
    terminal_.forget();
    is_stale_ = true;
  }

  void on(const suspend_pressed&) {
    terminal_.suspend();
    ::kill(0, SIGTSTP);
    terminal_.resume();
    is_stale_ = true;
  }

  void on(const line_clicked& x) {
    if (x.line < picture_.rows.size() && picture_.rows[x.line])
      step(row_clicked{*picture_.rows[x.line]});
  }

  void step(const event& x) {
    is_stale_ = true;
    for (const auto& y : model_.step(x, clock::now()))
      std::visit([this](const auto& z) { obey(z); }, y);
  }

  void obey(const quit&) { is_done_ = true; }

  void obey(const steer_job& x) { requests_.run(x); }
  void obey(const open_text& x) { requests_.run(x); }
  void obey(const close_text&) { requests_.close_text(); }

  std::vector<watched_job>::iterator find_feed(const std::string& job) {
    return std::ranges::find(feeds_, job, &watched_job::job);
  }

  const top_arguments& arguments_;
  terminal& terminal_;
  signals& signals_;
  model model_;
  inbox inbox_;
  background_requests requests_;
  std::vector<watched_job> feeds_; ///< In the order in which they were found.
  screen picture_;
  core::time_point looked_{};
  core::time_point painted_{};
  bool is_stale_ = true;
  bool is_done_ = false;
  int signal_ = 0;
};

size printed_space() {
  auto x = ::winsize{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &x) == 0 && x.ws_col > 0)
    return {x.ws_col, printed_height_max};
  return {piped_width, printed_height_max};
}

/// Prints one picture, without keys and empty lines.
int print_once(const top_arguments& arguments) {
  auto shown = model{name_of(arguments), {}, clock::now()};
  auto found = std::vector<v1::JobStatus>{};
  if (arguments.remote) {
    auto status = ask_status(*arguments.remote, status_limit);
    if (!status)
      return fail_to_find(status.error(), *arguments.remote);
    found.push_back(std::move(*status));
  } else {
    auto here = ask_here(arguments.job, status_limit);
    if (!here)
      return fail(here.error(), operator_program);
    found = std::move(here->jobs);
    if (found.empty() && !here->are_all) // A warning says so.
      return static_cast<int>(exit_code::rendezvous_failed);
  }
  if (found.empty()) {
    std::cerr << error_line(
      formatted("no job{} of this user runs on this host",
                arguments.job.empty() ? "" : formatted(" '{}'", arguments.job)),
      operator_program)
              << "  try: actorctl status, which lists jobs\n";
    return static_cast<int>(exit_code::rendezvous_failed);
  }
  for (const auto& x : found)
    shown.step(
      status_came{formatted("{} {}", x.job_id(), x.coordinator_pid()), x},
      clock::now());
  auto picture = view(shown, printed_space(), {is_unicode()});
  picture.lines.pop_back(); // The keys.
  while (!picture.lines.empty() && plain_text(picture.lines.back()).empty())
    picture.lines.pop_back();
  for (const auto& x : picture.lines)
    std::cout << plain_text(x) << "\n";
  std::cout.flush();
  return static_cast<int>(exit_code_of(found, {}));
}

} // namespace

int run(const top_arguments& arguments) {
  if (std::setlocale(LC_CTYPE, "") == nullptr)
    std::setlocale(LC_CTYPE, "C.UTF-8");
  if (arguments.once)
    return print_once(arguments);
  if (const auto jobs = find_local_jobs(); !arguments.remote && !jobs)
    return fail(jobs.error(), operator_program);
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
    return fail({errc::bad_argument,
                 "top needs a terminal; actorctl top --once prints one picture,"
                 " and actorctl status --json is for programs"},
                operator_program);
  auto from = signals{};
  auto on = terminal::open(wants_colours());
  if (!on)
    return fail(on.error(), operator_program);
  auto watching = std::make_unique<session>(arguments, **on, from);
  const auto signal = watching->run();
  on->reset();
  // Feeds may wait for connections: no reason to let the operator wait.
  ::_exit(signal == 0 ? 0 : exit_code_of_signal(signal));
}

} // namespace actorrun::cli::top
