#include "runtime/devices/gpu_monitor.hpp"

#include "actors/core/devices/health.hpp"
#include "messages/formatted.hpp"
#include "runtime/devices/gpu_inventory.hpp"
#include "runtime/devices/nvml.hpp"
#include "runtime/os/thread.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

using namespace std::chrono_literals;
using nvml::functions;

/// How long one wait for the driver takes, after which the thread checks
/// whether it is still needed: NVML cannot be woken.
constexpr auto event_slice = 1000ms;

} // namespace

// What is asked for is kept here and not with the threads, so that it is gone
// when the monitor is. Callbacks run under the lock: none outlives it.
struct gpu_monitor::shared {
  std::mutex mutex;
  std::condition_variable stopped;
  bool is_over = false;
  listener on_event{};
  std::vector<listener> samples{}; ///< Not empty: a sample is in progress.
  std::map<uint32_t, std::string> marks{}; ///< Known problems of GPUs.

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
        news += formatted("{}GPU {}: {}", news.empty() ? "" : "; ", gpu.index,
                          mark);
      }
      gpu.trouble = mark;
    }
    return news;
  }

  void report(core::devices_status now, const std::string& event) {
    const auto guard = std::lock_guard{mutex};
    const auto news = settle(now);
    const auto text
      = event + (event.empty() || news.empty() ? "" : "; ") + news;
    if (on_event)
      on_event(std::move(now), text);
  }

  /// @param index None: the driver does not say of which GPU.
  void note_xid(const functions& library, std::optional<uint32_t> index,
                uint64_t xid) {
    const auto finding = core::read_xid(xid);
    if (finding.verdict == core::gpu_verdict::nothing)
      return;
    if (index && finding.verdict == core::gpu_verdict::flagged) {
      const auto guard = std::lock_guard{mutex};
      marks[*index] = finding.text;
    }
    report(inspect_gpus(library),
           formatted("{}: {}", index ? formatted("GPU {}", *index) : "a GPU",
                     finding.text));
  }

  void answer(core::devices_status now) {
    const auto guard = std::lock_guard{mutex};
    const auto news = settle(now);
    if (on_event && !news.empty())
      on_event(now, news);
    for (const auto& x : std::exchange(samples, {}))
      x(now, {});
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
    for (const auto& x : gpu_handles(library))
      if (x.code == nvml::success
          && library.event_register(x.gpu, nvml::xid_event, set_)
               == nvml::success)
        indices_.emplace(x.gpu, x.index);
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

  std::optional<uint32_t> index_of(nvml::device x) const {
    const auto i = indices_.find(x);
    return i == indices_.end() ? std::nullopt : std::optional{i->second};
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
      return state->report({.gpus = {}, .trouble = loaded.error().text}, {});
    const auto& library = **loaded;
    auto events = event_source{library};
    state->report(inspect_gpus(library), {});
    while (events.has_any() && !state->over()) {
      auto event = nvml::event_data{};
      const auto code = events.wait(event);
      if (code == nvml::timeout)
        continue;
      if (code != nvml::success) { // A GPU is lost, most likely.
        state->answer(inspect_gpus(library));
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
    if (shared_->samples.size() == samples_max)
      return;
    shared_->samples.push_back(std::move(on_answer));
    if (shared_->samples.size() > 1)
      return;
  }
  const auto is_started = run_aside([state = shared_] {
    const auto loaded = load_nvml();
    if (loaded)
      state->answer(inspect_gpus(**loaded));
    else
      state->answer({.gpus = {}, .trouble = loaded.error().text});
  });
  if (!is_started)
    shared_->answer({.gpus = {}, .trouble = "there is no thread to look"});
}

} // namespace actorrun::detail
