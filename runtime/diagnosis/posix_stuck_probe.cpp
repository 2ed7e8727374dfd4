#include "runtime/diagnosis/posix_stuck_probe.hpp"

#include "actors/core/hangs/ras_report.hpp"
#include "messages/formatted.hpp"
#include "runtime/diagnosis/proc_inspector.hpp"
#include "runtime/diagnosis/py_spy.hpp"
#include "runtime/diagnosis/ras_client.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/folder.hpp"
#include "runtime/os/thread.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// For threads other than the first ones, so that a kill that py-spy does not
/// hold up is soon.
constexpr auto threads_limit = 2ms;

/// What py-spy leaves for everything else.
constexpr auto answer_reserve = 20ms;

/// What py-spy leaves for NCCL's answer, which may wait a second for its own.
constexpr auto ras_reserve = 1500ms;

/// An older snapshot is not used again.
constexpr auto fresh_limit = 250ms;

/// A disk that does not answer may block the thread; then it is abandoned.
constexpr auto end_limit = 1s;

/// Files of a process may block a thread for ever, while the kernel holds its memory.
constexpr uint32_t seeing_count_max = 8;

struct question {
  std::vector<ports::probed_worker> workers{};
  uint32_t overdue = 0;
  core::time_point deadline{};
  std::function<void(std::string)> on_done{};
};

/// Makes a new file: the folder belongs to a worker, which may put links there.
void write_file(const std::string& path, std::string_view text) {
  constexpr auto mode = mode_t{0644};
  const auto x = open_at(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (x)
    (void)write_all(x.fd.get(),
                    text); // If it fails, the report has the summary.
}

std::vector<int64_t> pids_of(const std::vector<ports::probed_worker>& workers) {
  auto out = std::vector<int64_t>{};
  for (const auto& x : workers)
    out.push_back(x.pid);
  return out;
}

/// The overdue worker is inspected first.
void put_first(std::vector<ports::probed_worker>& workers, uint32_t overdue) {
  std::stable_partition(
    workers.begin(), workers.end(),
    [overdue](const auto& x) { return x.local_rank == overdue; });
}

} // namespace

// The thread and the probe share this: the thread may outlive the probe.
struct posix_stuck_probe::shared {
  shared(std::string path, std::optional<uint16_t> port)
    : search_path(std::move(path)), ras_port(port) {}

  void run();
  void answer(question x);
  const group_snapshot& snapshot_of(const question& x);

  const std::string search_path;
  const std::optional<uint16_t> ras_port;

  std::mutex mutex; // Guards what follows.
  std::condition_variable changed;
  std::deque<question> questions;
  bool running = false;      ///< The thread is there.
  bool is_over = false;      ///< No answer is wanted any more.
  uint32_t seeing_count = 0; ///< Threads that look at all workers.

  // The thread's own.
  std::vector<int64_t> seen_pids;
  core::time_point seen_at{};
  group_snapshot seen;
};

void posix_stuck_probe::shared::run() {
  auto guard = std::unique_lock{mutex};
  for (;;) {
    changed.wait(guard, [this] { return is_over || !questions.empty(); });
    if (is_over)
      break;
    auto x = std::move(questions.front());
    questions.pop_front();
    guard.unlock();
    answer(std::move(x));
    guard.lock();
    changed.notify_all();
  }
  running = false;
  changed.notify_all();
}

const group_snapshot&
posix_stuck_probe::shared::snapshot_of(const question& x) {
  auto pids = pids_of(x.workers);
  std::ranges::sort(pids);
  const auto now = steady_clock::now();
  if (pids != seen_pids || now > seen_at + fresh_limit) {
    seen = see_workers(x.workers, find_py_spy(search_path), x.deadline);
    seen_pids = std::move(pids);
    seen_at = steady_clock::now();
  }
  return seen;
}

void posix_stuck_probe::shared::answer(question x) {
  put_first(x.workers, x.overdue);
  const auto& snapshot = snapshot_of(x);
  const auto i = std::ranges::find(x.workers, x.overdue,
                                   &ports::probed_worker::local_rank);
  if (i == x.workers.end())
    return x.on_done("");
  const auto summary = core::stuck_summary(snapshot.workers, i->global_rank);
  x.on_done(summary);
  x.on_done = nullptr;
  if (!i->error_file.empty())
    write_file(stuck_file_of(i->error_file),
               summary + "\n\n" + snapshot.details);
}

// -- the probe ----------------------------------------------------------------

posix_stuck_probe::posix_stuck_probe(std::string search_path,
                                     std::optional<uint16_t> ras_port)
  : shared_(std::make_shared<shared>(std::move(search_path), ras_port)) {}

posix_stuck_probe::~posix_stuck_probe() {
  auto guard = std::unique_lock{shared_->mutex};
  shared_->is_over = true;
  shared_->questions.clear();
  shared_->changed.notify_all();
  shared_->changed.wait_for(guard, end_limit,
                            [this] { return !shared_->running; });
}

void posix_stuck_probe::look(std::vector<ports::probed_worker> workers,
                             uint32_t overdue, std::chrono::milliseconds limit,
                             std::function<void(std::string)> on_done) {
  {
    const auto guard = std::lock_guard{shared_->mutex};
    if (!shared_->running)
      shared_->running = run_aside([x = shared_] { x->run(); });
    if (shared_->running) {
      shared_->questions.push_back({std::move(workers), overdue,
                                    steady_clock::now() + limit,
                                    std::move(on_done)});
      shared_->changed.notify_all();
      return;
    }
  }
  on_done(""); // Where it hangs stays unknown; it is killed all the same.
}

void posix_stuck_probe::see(
  std::vector<ports::probed_worker> workers, std::chrono::milliseconds limit,
  std::function<void(std::vector<core::worker_stack>)> on_done) {
  auto task = [to = shared_, workers, due = steady_clock::now() + limit,
               on_done] {
    const auto stacks_due = to->ras_port ? due - ras_reserve : due;
    auto seen = see_stacks(workers, find_py_spy(to->search_path), stacks_due);
    if (to->ras_port)
      add_lagging(seen, ask_ras(*to->ras_port, due - answer_reserve));
    const auto guard = std::lock_guard{to->mutex};
    --to->seeing_count;
    if (!to->is_over)
      on_done(std::move(seen));
  };
  auto trouble = "earlier readings of stacks on this node still hang";
  {
    const auto guard = std::lock_guard{shared_->mutex};
    if (shared_->seeing_count < seeing_count_max) {
      if (run_aside(std::move(task))) {
        ++shared_->seeing_count;
        return;
      }
      trouble = "the system gives no thread to read its stack with";
    }
  }
  on_done(ports::without_stacks(workers, trouble));
}

std::string posix_stuck_probe::summarize(int64_t pid) {
  const auto snapshot = see_hanging_thread(pid);
  return snapshot.stat == core::process_stat{} ? "" : core::place_of(snapshot);
}

std::string search_path_of_this_process() {
  const auto* path = std::getenv("PATH");
  return path == nullptr ? "" : path;
}

// -- inspecting ---------------------------------------------------------------

group_snapshot see_workers(const std::vector<ports::probed_worker>& workers,
                           const std::string& py_spy,
                           core::time_point deadline) {
  auto out = group_snapshot{};
  // Of all at nearly the same time; what takes longer comes later.
  for (const auto& x : workers)
    out.workers.push_back(
      {x.global_rank, core::place_of(see_process(x.pid)), {}});
  const auto threads_due
    = std::min<core::time_point>(deadline, steady_clock::now() + threads_limit);
  auto details = std::vector<std::string>{};
  for (const auto& x : workers)
    details.push_back(describe_process(x.pid, threads_due));
  const auto stacks = py_spy.empty() ? std::vector<std::string>(workers.size())
                                     : python_stacks(py_spy, pids_of(workers),
                                                     deadline - answer_reserve);
  for (size_t i = 0; i < workers.size(); ++i) {
    auto& seen = out.workers[i];
    seen.frame = core::innermost_frame(stacks[i]);
    out.details += formatted("rank {} (local rank {}, pid {}): {}\n{}",
                             workers[i].global_rank, workers[i].local_rank,
                             workers[i].pid, seen.place, details[i]);
    if (!stacks[i].empty())
      out.details += "  py-spy:\n" + stacks[i];
    out.details += "\n";
  }
  return out;
}

std::vector<core::worker_stack>
see_stacks(const std::vector<ports::probed_worker>& workers,
           const std::string& py_spy, core::time_point deadline) {
  auto out = std::vector<core::worker_stack>{};
  // Of all at nearly the same time; what takes longer comes later.
  for (const auto& x : workers) {
    const auto seen = see_process(x.pid);
    auto& added = out.emplace_back(
      core::worker_stack{x.global_rank, x.local_rank, x.pid});
    if (seen.stat == core::process_stat{}) {
      added.trouble = "the process has ended";
      continue;
    }
    added.source = "kernel";
    added.frames = core::kernel_frames(seen, kernel_stack_of(x.pid));
  }
  if (py_spy.empty())
    return out;
  auto pids = std::vector<int64_t>{};
  for (const auto& x : out)
    if (x.trouble.empty())
      pids.push_back(x.pid);
  const auto dumps = python_stacks(py_spy, pids, deadline - answer_reserve);
  for (auto& x : out) {
    const auto i = std::ranges::find(pids, x.pid);
    if (i == pids.end())
      continue;
    auto frames
      = core::python_frames(dumps[static_cast<size_t>(i - pids.begin())]);
    if (frames.empty())
      continue;
    frames.push_back("in the kernel: " + x.frames.front());
    x.frames = std::move(frames);
    x.source = "py-spy";
  }
  return out;
}

void add_lagging(std::vector<core::worker_stack>& to, std::string_view answer) {
  for (const auto& x : core::find_lagging(answer)) {
    const auto i = std::ranges::find(to, x.pid, &core::worker_stack::pid);
    if (i != to.end())
      i->behind = x.words;
  }
}

std::string stuck_file_of(const std::string& error_file) {
  constexpr auto prefix = std::string_view{"error"};
  constexpr auto suffix = std::string_view{".json"};
  const auto slash = error_file.rfind('/');
  const auto begin = slash == error_file.npos ? 0 : slash + 1;
  const auto name = std::string_view{error_file}.substr(begin);
  if (!name.starts_with(prefix) || !name.ends_with(suffix))
    return error_file + ".stuck.txt";
  const auto middle
    = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  return error_file.substr(0, begin) + "stuck" + std::string{middle} + ".txt";
}

} // namespace actorrun::detail
