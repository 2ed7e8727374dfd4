#include "cli/log_commands.hpp"

#include "actors/core/text.hpp"
#include "cli/asked_job.hpp"
#include "cli/commands.hpp"
#include "cli/ended_jobs.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/values.hpp"
#include "cli/program.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/log_view.hpp"
#include "messages/formatted.hpp"
#include "runtime/job_logs.hpp"
#include "runtime/job_logs_json.hpp"
#include "runtime/journal.hpp"
#include "runtime/past_logs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

using std::chrono::milliseconds;

/// Timeouts for the first answer; the coordinator asks all nodes for stacks.
constexpr auto logs_limit = milliseconds{5'000};
constexpr auto stacks_limit = milliseconds{6'000};

/// A job that is followed may be away for so long, while its coordinator is replaced.
constexpr auto return_limit = std::chrono::seconds{30};
constexpr auto return_interval = milliseconds{250};

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

/// For a standard output that another program has made non-blocking.
void await_room() {
  auto places
    = std::array{pollfd{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0},
                 pollfd{.fd = signal_pipe[0], .events = POLLIN, .revents = 0}};
  ::poll(places.data(), places.size(), -1);
}

/// @returns why not all was written, as an errno; 0: all was, or a signal has come
int write_out(std::string_view text) {
  while (!text.empty() && is_stopped == 0) {
    const auto count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0)
      text.remove_prefix(static_cast<size_t>(count));
    else if (errno == EAGAIN)
      await_room();
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

void say(const std::string& trouble) {
  if (!trouble.empty())
    std::cerr << formatted("{}: note: {}\n", operator_program, trouble);
}

int fail_to_look(const failure& why) {
  if (why.code != errc::bad_argument)
    return fail(why, operator_program);
  std::cerr << error_line(why.text, operator_program);
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

namespace {

/// Goes on where the other side has gone: it may have been a coordinator, which gets a
/// successor.
class log_follower {
public:
  explicit log_follower(const logs_arguments& arguments)
    : arguments_(arguments), how_{.what = request_of(arguments),
                                  .limit = logs_limit,
                                  .stop = signal_pipe[0]} {}

  int run() {
    for (;;) {
      const auto done = read();
      if (done && is_stopped == 0)
        say_if_nothing();
      if (write_error_ != 0 && write_error_ != EPIPE)
        return fail(
          core::system_failure("cannot write to standard output", write_error_),
          operator_program);
      if (done || is_stopped != 0)
        return 0;
      if (may_be_past(done.error()))
        return show_past(done.error());
      if (!has_begun_ || !arguments_.what.follow)
        return fail_to_read(done.error());
      if (is_reading_)
        begin_search(done.error());
      if (has_ended()) {
        say("the job has ended; its last lines may be left out");
        return 0;
      }
      if (clock::now() >= due_)
        return fail({errc::connection_failed,
                     formatted("the job has not come back for {} s: its"
                               " coordinator is gone, or it has ended",
                               return_limit.count())},
                    operator_program);
      wait();
    }
  }

private:
  using clock = std::chrono::steady_clock;

  result<void> read() {
    is_found_ = false;
    const auto job = locate(arguments_.job, logs_limit);
    if (!job)
      return job.error();
    is_found_ = true;
    if (const auto* local = std::get_if<local_job>(&*job))
      pid_ = local->is_coordinator ? local->pid : 0;
    return read_logs(*job, how_, [&](const auto& x) { return show(x); });
  }

  bool show(const v1::LogLines& x) {
    if (has_begun_ && !std::exchange(is_reading_, true))
      say("the job is back; lines that were written meanwhile are left out");
    has_begun_ = is_reading_ = true;
    say(x.trouble());
    has_shown_ |= !x.trouble().empty() || !x.lines().empty();
    write_error_ = write_out(to_text(x, for_terminal_));
    return write_error_ == 0 && is_stopped == 0;
  }

  void say_if_nothing() const {
    const auto& what = arguments_.what;
    const auto is_chosen = !what.ranks.empty() || !arguments_.node.empty()
                           || !what.grep.empty() || arguments_.since
                           || what.outputs != core::std_streams::all
                           || what.tail == 0U;
    if (!has_shown_)
      say(is_chosen
            ? "the workers have written no line that the options ask for"
            : "the workers have written no line");
  }

  /// Whether no process of the job runs here, and none was found before.
  bool may_be_past(const failure& why) const {
    return !has_begun_ && !is_found_ && !arguments_.job.remote
           && !arguments_.journal_folder.empty()
           && why.code == errc::connection_refused;
  }

  /// Reads the files themselves.
  int show_past(const failure& why) {
    auto which = past_log_options{.folder = arguments_.journal_folder,
                                  .job = arguments_.job.local,
                                  .newest = {}};
    if (const auto all = list_log_places(which.folder);
        which.job.empty() && !all.empty())
      which.job = all.front().job.value;
    const auto journal = journal_of(which);
    if (journal && !journal->known().generations.empty())
      which.newest = journal->known().generations.back().formed.generation;
    const auto done = which.job.empty() ? result<void>{why} : read_past(which);
    if (write_error_ != 0 && write_error_ != EPIPE)
      return fail(
        core::system_failure("cannot write to standard output", write_error_),
        operator_program);
    if (done || is_stopped != 0) {
      if (done && arguments_.what.follow && is_stopped == 0)
        say("no process of the job runs here, so nothing follows");
      return 0;
    }
    if (done.error().code != errc::connection_refused)
      return fail_to_look(done.error());
    if (!journal)
      return fail_to_reach(why, arguments_.job);
    std::cerr << error_line(formatted("job {} has ended, and no log file of it"
                                      " is known on this host",
                                      core::printable(which.job)),
                            operator_program)
              << formatted("  why: {}\n", hosts_text(journal->known()));
    return static_cast<int>(exit_code_of(errc::connection_refused));
  }

  result<void> read_past(const past_log_options& which) {
    auto done
      = read_past_logs(which, how_, [&](const auto& x) { return show(x); });
    if (done && is_stopped == 0)
      say_if_nothing();
    return done;
  }

  /// The newest of the job, if it is here.
  static std::optional<journal_reading>
  journal_of(const past_log_options& which) {
    const auto all = list_journals(which.folder);
    const auto i
      = std::ranges::find(all, job_id{which.job}, &journal_place::job);
    if (which.job.empty() || i == all.end())
      return {};
    auto out = journal_reading::open(i->path);
    if (!out)
      return {};
    while (out->next()) {
    }
    return std::move(*out);
  }

  /// Says where the workers of a job were, of which no file is known.
  static std::string hosts_text(const core::journal::snapshot& x) {
    constexpr size_t named_hosts_max = 8;
    auto hosts = std::set<std::string>{};
    for (const auto& [_, node] : x.nodes)
      hosts.insert(core::printable(node.now->host));
    for (const auto& y : x.departures)
      hosts.insert(core::printable(y.last.host));
    auto names = std::string{};
    auto count = size_t{0};
    for (const auto& host : hosts)
      if (count++ < named_hosts_max)
        names += (names.empty() ? "" : ", ") + host;
    if (hosts.size() > named_hosts_max)
      names += formatted(" and {} more", hosts.size() - named_hosts_max);
    return formatted(
      "its workers were on {}; those who wrote to files (actorrun -t 3 or -r "
      "3) left them there, and actorctl logs {} reads them on these hosts",
      names.empty() ? "no host that is known" : names,
      core::printable(x.coordinator.job.value));
  }

  int fail_to_read(const failure& why) const {
    return is_found_ ? fail_to_look(why) : fail_to_reach(why, arguments_.job);
  }

  void begin_search(const failure& why) {
    is_reading_ = false;
    due_ = clock::now() + return_limit;
    how_.what.mutable_what()->set_tail(0);
    say(formatted("{}; for {} s it is looked for again", why.text,
                  return_limit.count()));
  }

  /// Whether its journal, which is here if the coordinator was, tells its end.
  bool has_ended() const {
    const auto folder = own_journal_folder(this_process().variable);
    const auto now
      = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
    const auto jobs
      = find_ended_jobs(folder, "", {}, now.time_since_epoch().count());
    return std::ranges::any_of(
      jobs, [&](const auto& x) { return x.pid == pid_ && x.how != lost_job; });
  }

  static void wait() {
    auto stop = pollfd{.fd = signal_pipe[0], .events = POLLIN, .revents = 0};
    ::poll(&stop, 1, static_cast<int>(return_interval.count()));
  }

  const logs_arguments& arguments_;
  log_reading_options how_;
  const bool for_terminal_ = ::isatty(STDOUT_FILENO) != 0;
  int write_error_ = 0;
  int64_t pid_ = 0;         ///< Of a coordinator of this host.
  bool is_found_ = false;   ///< The last time.
  bool has_begun_ = false;  ///< The job has answered once.
  bool is_reading_ = false; ///< It answers now.
  bool has_shown_ = false;  ///< A line, or why there is none.
  clock::time_point due_{}; ///< Of the search.
};

} // namespace

int show_logs(const logs_arguments& arguments) {
  if (!catch_stops())
    return fail(system_failure("there is no pipe for signals"),
                operator_program);
  return log_follower{arguments}.run();
}

int show_stacks(const stacks_arguments& arguments) {
  const auto job = locate(arguments.job, logs_limit);
  if (!job)
    return fail_to_reach(job.error(), arguments.job);
  const auto seen = read_stacks(*job, arguments.ranks, stacks_limit);
  if (!seen)
    return fail_to_look(seen.error());
  say(seen->trouble());
  std::cout << (arguments.json ? actorrun::to_json(*seen) : to_text(*seen));
  return 0;
}

} // namespace actorrun::cli
