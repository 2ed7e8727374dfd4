#include "actorrun/runtime/detail/gpu_monitor.hpp"

#include "actorrun/actors/core/device_health.hpp"
#include "actorrun/runtime/detail/gpu_inventory.hpp"
#include "actorrun/runtime/detail/nvml_library.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace actorrun::detail {

namespace {

using namespace std::chrono_literals;
using nvml::functions;
using std::chrono::steady_clock;

/// How long the driver is waited for before we look whether we are still
/// wanted: NVML cannot be woken.
constexpr auto event_slice = 1000ms;

/// Between two looks whether memory is free; the driver has no event for it.
constexpr auto memory_interval = 20ms;

/// Runs `fn` on a thread that gets no signals and that nobody waits for.
/// @returns false if there can be none
bool run_aside(std::function<void()> fn) {
  auto all = sigset_t{};
  auto old = sigset_t{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  auto is_started = true;
  try {
    std::thread{std::move(fn)}.detach();
  } catch (const std::system_error&) {
    is_started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return is_started;
}

/// The session of a process; 0 if there is no such process.
pid_t session_of(int64_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/stat"};
  auto line = std::string{};
  std::getline(file, line);
  const auto name_end = line.rfind(')'); // The name may have anything in it.
  if (name_end == line.npos)
    return 0;
  auto state = ' ';
  auto parent = 0;
  auto group = 0;
  auto session = 0;
  return std::sscanf(line.c_str() + name_end + 1, " %c %d %d %d", &state,
                     &parent, &group, &session)
             == 4
           ? session
           : 0;
}

/// Those of the processes on GPUs that belong to ended workers.
std::vector<int64_t> leftovers(const functions& library,
                               const std::set<pid_t>& ended) {
  auto out = gpu_processes(library);
  std::erase_if(out, [&](int64_t pid) {
    return !ended.contains(static_cast<pid_t>(pid))
           && !ended.contains(session_of(pid));
  });
  return out;
}

std::string complaint_about(const std::vector<int64_t>& pids,
                            std::chrono::milliseconds patience) {
  auto out = std::string{"GPU memory of ended workers is still held after "};
  out += std::to_string(patience.count()) + " ms, by process";
  for (const auto pid : pids)
    out += " " + std::to_string(pid);
  return out + "; starts the workers all the same";
}

} // namespace

// What is asked for is kept here and not with the threads, so that it is gone
// when the monitor is. Callbacks run under the lock: none outlives it.
struct gpu_monitor::shared {
  std::mutex mutex;
  std::condition_variable stopped;
  bool is_over = false;
  listener on_event{};
  std::vector<listener> samples{}; ///< Not empty: a look is under way.
  std::map<uint64_t, freed_handler> waiting{};
  uint64_t last_wait = 0;
  std::map<uint32_t, std::string> marks{}; ///< What is known against GPUs.

  bool over() {
    const auto guard = std::lock_guard{mutex};
    return is_over;
  }

  /// @returns whether it is over
  bool pause(std::chrono::milliseconds how_long) {
    auto guard = std::unique_lock{mutex};
    return stopped.wait_for(guard, how_long, [this] { return is_over; });
  }

  /// Adds what is known to what is seen, and remembers what is new.
  /// @returns what is new, for people
  std::string settle(core::devices_status& now) {
    auto news = std::string{};
    for (auto& gpu : now.gpus) {
      auto& mark = marks[gpu.index];
      if (mark.empty() && !gpu.trouble.empty()) {
        mark = gpu.trouble;
        news += (news.empty() ? "GPU " : "; GPU ") + std::to_string(gpu.index)
                + ": " + mark;
      }
      gpu.trouble = mark;
    }
    return news;
  }

  void tell(core::devices_status now, const std::string& event) {
    const auto guard = std::lock_guard{mutex};
    const auto news = settle(now);
    const auto text
      = event + (event.empty() || news.empty() ? "" : "; ") + news;
    if (on_event)
      on_event(std::move(now), text);
  }

  void note_xid(const functions& library, uint32_t index, uint64_t xid) {
    const auto finding = core::read_xid(xid);
    if (finding.verdict == core::gpu_verdict::nothing)
      return;
    if (finding.verdict == core::gpu_verdict::marked) {
      const auto guard = std::lock_guard{mutex};
      marks[index] = finding.text;
    }
    tell(look_at_gpus(library),
         "GPU " + std::to_string(index) + ": " + finding.text);
  }

  void answer(core::devices_status now) {
    const auto guard = std::lock_guard{mutex};
    const auto news = settle(now);
    if (on_event && !news.empty())
      on_event(now, news);
    for (const auto& x : std::exchange(samples, {}))
      x(now, {});
  }

  void freed(uint64_t which, std::string complaint) {
    const auto guard = std::lock_guard{mutex};
    const auto found = waiting.extract(which);
    if (!found.empty())
      found.mapped()(std::move(complaint));
  }
};

namespace {

/// The driver's reports of all GPUs, while it gives any.
class event_source {
public:
  explicit event_source(const functions& library) : library_(library) {
    if (library.event_set_create == nullptr || library.event_register == nullptr
        || library.event_wait == nullptr || library.event_set_free == nullptr
        || library.event_set_create(&set_) != nvml::success)
      return;
    auto count = 0u;
    library.device_count(&count);
    for (auto i = 0u; i < count; ++i) {
      auto x = nvml::device{};
      if (library.device_at(i, &x) == nvml::success
          && library.event_register(x, nvml::xid_event, set_) == nvml::success)
        indices_.emplace(x, i);
    }
  }

  ~event_source() {
    if (set_ != nullptr)
      library_.event_set_free(set_);
  }

  event_source(const event_source&) = delete;
  event_source& operator=(const event_source&) = delete;

  bool has_any() const { return !indices_.empty(); }

  int wait(nvml::event_data& out) {
    return library_.event_wait(set_, &out,
                               static_cast<unsigned>(event_slice.count()));
  }

  uint32_t index_of(nvml::device x) const {
    const auto i = indices_.find(x);
    return i == indices_.end() ? 0 : i->second;
  }

private:
  const functions& library_;
  nvml::event_set set_ = nullptr;
  std::map<nvml::device, uint32_t> indices_{};
};

} // namespace

gpu_monitor::gpu_monitor() : shared_(std::make_shared<shared>()) {}

gpu_monitor::~gpu_monitor() {
  const auto guard = std::lock_guard{shared_->mutex};
  shared_->is_over = true;
  shared_->on_event = nullptr;
  shared_->samples.clear();
  shared_->waiting.clear();
  shared_->stopped.notify_all();
}

void gpu_monitor::watch(listener on_event) {
  {
    const auto guard = std::lock_guard{shared_->mutex};
    shared_->on_event = std::move(on_event);
  }
  run_aside([state = shared_] {
    const auto loaded = load_nvml();
    if (!loaded)
      return state->tell({.gpus = {}, .trouble = loaded.error().text}, {});
    const auto& library = **loaded;
    auto events = event_source{library};
    state->tell(look_at_gpus(library), {});
    while (events.has_any() && !state->over()) {
      auto event = nvml::event_data{};
      const auto code = events.wait(event);
      if (code == nvml::timeout)
        continue;
      if (code != nvml::success) { // A GPU is lost, most likely.
        state->answer(look_at_gpus(library));
        state->pause(event_slice);
        continue;
      }
      state->note_xid(library, events.index_of(event.where), event.data);
    }
  });
}

void gpu_monitor::sample(listener on_answer) {
  {
    const auto guard = std::lock_guard{shared_->mutex};
    shared_->samples.push_back(std::move(on_answer));
    if (shared_->samples.size() > 1)
      return;
  }
  const auto is_started = run_aside([state = shared_] {
    const auto loaded = load_nvml();
    if (loaded)
      state->answer(look_at_gpus(**loaded));
    else
      state->answer({.gpus = {}, .trouble = loaded.error().text});
  });
  if (!is_started)
    shared_->answer({.gpus = {}, .trouble = "there is no thread to look"});
}

void gpu_monitor::await_memory(std::vector<pid_t> ended, freed_handler done,
                               std::chrono::milliseconds patience) {
  auto which = uint64_t{0};
  {
    const auto guard = std::lock_guard{shared_->mutex};
    which = ++shared_->last_wait;
    shared_->waiting.emplace(which, std::move(done));
  }
  const auto is_started = run_aside(
    [=, state = shared_, leaders = std::set(ended.begin(), ended.end())] {
      const auto deadline = steady_clock::now() + patience;
      const auto loaded = load_nvml();
      auto left = std::vector<int64_t>{};
      if (loaded)
        left = leftovers(**loaded, leaders);
      while (!left.empty() && steady_clock::now() < deadline
             && !state->pause(memory_interval))
        left = leftovers(**loaded, leaders);
      state->freed(which, left.empty() ? "" : complaint_about(left, patience));
    });
  if (!is_started)
    shared_->freed(which, {});
}

} // namespace actorrun::detail
