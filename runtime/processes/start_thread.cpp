#include "runtime/processes/start_thread.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/processes/spawn.hpp"

#include <atomic>
#include <cassert>
#include <cerrno>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

size_t text_size(const ports::process_spec& spec) {
  size_t result = 0;
  for (const auto* list : {&spec.arguments, &spec.environment})
    for (const auto& x : *list)
      result += x.size() + 1;
  return result;
}

/// Leak detectors find it here.
void keep_for_ever(std::shared_ptr<void> what) {
  static auto& mutex = *new std::mutex{};
  static auto& all = *new std::vector<std::shared_ptr<void>>{};
  const auto lock = std::lock_guard{mutex};
  all.push_back(std::move(what));
}

} // namespace

std::string subject_of_failure(const ports::process_spec& spec,
                               const std::string& path, int error) {
  auto subject = subject_of(spec.arguments[0], path, error);
  if (error == E2BIG)
    subject
      += formatted(" ({} bytes of arguments and environment)", text_size(spec));
  if (error == EINVAL && !spec.binding.cpus.empty())
    subject += formatted(" (bound to the CPUs {})",
                         core::to_ranges(spec.binding.cpus));
  return subject;
}

/// Outlives a thread that hangs.
struct start_thread::home {
  explicit home(reactor& x) : loop(&x) {}

  // -- used on the thread ------------------------------------------------------

  /// @returns false if the host does not take it any more
  bool deliver(const std::shared_ptr<home>& self,
               std::function<void()> result) {
    const auto lock = std::lock_guard{mutex};
    if (loop == nullptr)
      return false;
    results.push_back(std::move(result));
    if (results.size() == 1)
      loop->post([self] { self->take_results(); });
    return true;
  }

  started_process execute(start_batch& in, order& what);

  unique_fd null{};
  spawner starter{};
  std::shared_ptr<void> places{};

  // -- used on the reactor's thread --------------------------------------------

  void take_results() {
    auto taken = std::deque<std::function<void()>>{};
    {
      const auto lock = std::lock_guard{mutex};
      taken.swap(results);
    }
    for (const auto& result : taken)
      result();
  }

  std::mutex mutex; // Guards the rest.
  reactor* loop;    ///< Null: it may be gone.
  std::deque<std::function<void()>> results{};
};

struct start_thread::order {
  ports::process_spec spec;
  warden::registration place;
  std::atomic<bool> is_taken = false; ///< By the thread, or abandoned.
};

start_thread::start_thread(reactor& loop)
  : home_(std::make_shared<home>(loop)) {}

start_thread::~start_thread() {
  assert(home_->loop == nullptr);
}

std::shared_ptr<start_batch> start_thread::begin_batch() {
  thread_.post([home = home_] { home->starter.inspect_signals(); });
  // A part of the home, which lives as long.
  return std::shared_ptr<start_batch>{
    new start_batch{home_->null}, [home = home_](start_batch* x) { delete x; }};
}

start_thread::id start_thread::execute(std::shared_ptr<start_batch> in,
                                       ports::process_spec spec,
                                       warden::registration place,
                                       callback done) {
  const auto which = ++last_;
  auto what = std::make_shared<order>();
  what->spec = std::move(spec);
  what->place = std::move(place);
  starts_.emplace(which, pending{what, std::move(done)});
  thread_.post([this, which, home = home_, in = std::move(in), what] {
    if (what->is_taken.exchange(true))
      return;
    // A function that owns it must be copyable.
    auto result = std::make_shared<started_process>(home->execute(*in, *what));
    if (home->deliver(
          home, [this, which, result] { conclude(which, std::move(*result)); }))
      return;
    // It hung. Its place is never given back: this thread must not do that.
    if (result->pid != 0)
      end_process(result->pid, result->pidfd);
    keep_for_ever(result);
    keep_for_ever(home);
  });
  return which;
}

started_process start_thread::home::execute(start_batch& in, order& what) {
  const auto& spec = what.spec;
  const auto& program = in.programs.find(spec.arguments[0], spec.environment);
  const auto failed = [&](int error, std::string subject) {
    auto result = not_started(error, std::move(subject));
    result.registration = std::move(what.place); // It goes where it came from.
    return result;
  };
  if (program.error != 0)
    return failed(program.error,
                  subject_of_failure(spec, program.path, program.error));
  const auto files = in.outputs.open(spec.out, spec.err);
  if (files.error != 0)
    return failed(files.error, files.subject);
  const auto since = std::chrono::steady_clock::now();
  auto child = starter.start(
    program.path, spec.arguments, spec.environment, &what.place,
    {files.out, files.err, spec.descriptors}, cpu_binding{spec.binding});
  if (child.error != 0)
    return failed(child.error,
                  subject_of_failure(spec, program.path, child.error));
  return {.pid = child.pid,
          .pidfd = std::move(child.pidfd),
          .cgroup_error = child.cgroup_error,
          .registration = std::move(what.place),
          .since = since};
}

void start_thread::conclude(id which, started_process result) {
  if (result.error != 0)
    result.registration.reset();
  const auto i = starts_.find(which);
  const auto done = std::move(i->second.done);
  starts_.erase(i);
  done(std::move(result));
}

void start_thread::give_up(id which) {
  const auto i = starts_.find(which);
  if (i == starts_.end() || i->second.what->is_taken.exchange(true))
    return;
  auto& what = *i->second.what;
  // Here, because the thread may be the last to release the order.
  auto result = not_started(ECANCELED, std::move(what.spec.arguments[0]));
  result.registration = std::move(what.place);
  conclude(which, std::move(result));
}

void start_thread::open(std::shared_ptr<start_batch> in,
                        core::stream_target out, core::stream_target err,
                        std::function<void(open_outputs)> done) {
  thread_.post([home = home_, in = std::move(in), out = std::move(out),
                err = std::move(err), done = std::move(done)] {
    auto files = std::make_shared<open_outputs>(in->outputs.open(out, err));
    home->deliver(home, [done, files] { done(std::move(*files)); });
  });
}

void start_thread::complain(std::shared_ptr<start_batch> in,
                            std::function<void(const std::string&)> note) {
  thread_.post([home = home_, in = std::move(in), note = std::move(note)] {
    if (auto text = in->outputs.complaint(); !text.empty())
      home->deliver(home, [note, text = std::move(text)] { note(text); });
  });
}

void start_thread::end(std::shared_ptr<void> places) {
  if (!thread_.end())
    home_->places = std::move(places);
  {
    const auto lock = std::lock_guard{home_->mutex};
    home_->loop = nullptr;
  }
  home_->take_results();
  starts_.clear(); // The thread keeps the order that hangs.
}

} // namespace actorrun::detail
