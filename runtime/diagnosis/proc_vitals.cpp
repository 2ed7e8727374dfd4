#include "runtime/diagnosis/proc_vitals.hpp"

#include "actors/core/time.hpp"
#include "runtime/os/thread.hpp"

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace actorrun::detail {

namespace {

using clock = core::time_point::clock;

/// The files of the newest generation.
struct followed_outputs {
  generation_id generation{};
  std::shared_ptr<const core::generation_outputs> outputs{};
};

struct vitals_question {
  std::vector<int64_t> pids{};
  std::shared_ptr<const core::generation_outputs>
    outputs{}; ///< Null: not known.
};

} // namespace

// What is asked for is kept here and not with the threads, so that it is gone
// when the port is. Listeners run under the lock: none outlives it.
struct proc_vitals::shared {
  explicit shared(output_inspector x) : inspect(std::move(x)) {}

  const output_inspector inspect;
  mutable std::mutex mutex;
  std::condition_variable stopped;
  bool is_over = false;
  bool is_sampling = false;
  bool is_inspecting = false; ///< A thread looks at log files, or hangs there.
  followed_outputs files{};
  std::vector<listener> waiting{};
  std::vector<int64_t> last_pids{};
  core::node_vitals last{};
  core::time_point last_taken{};
  size_t sample_count = 0;
  vitals_sampler sampler{}; ///< Of the one thread that samples.

  bool is_fresh(const std::vector<int64_t>& pids) const {
    return sample_count > 0 && pids == last_pids
           && clock::now() - last_taken < fresh;
  }

  /// @returns whether it is over
  bool pause() {
    auto guard = std::unique_lock{mutex};
    return stopped.wait_for(guard, gap, [this] { return is_over; });
  }

  void answer(core::node_vitals now, std::vector<int64_t> pids) {
    const auto guard = std::lock_guard{mutex};
    last = std::move(now);
    last_pids = std::move(pids);
    last_taken = clock::now();
    ++sample_count;
    is_sampling = false;
    for (const auto& fn : std::exchange(waiting, {}))
      fn(last);
  }
};

namespace {

void merge(core::node_vitals& into, const std::vector<output_facts>& from) {
  for (auto& worker : into.workers) {
    if (worker.local_rank >= from.size())
      continue;
    worker.output_size = from[worker.local_rank].size;
    worker.output_age = from[worker.local_rank].age;
  }
}

/// Adds what is known of the log files in time. One thread at a time looks at
/// them.
template <class State>
void add_outputs(const std::shared_ptr<State>& state,
                 const std::shared_ptr<const core::generation_outputs>& outputs,
                 core::node_vitals& out) {
  if (!outputs || out.workers.empty())
    return;
  {
    const auto guard = std::lock_guard{state->mutex};
    if (std::exchange(state->is_inspecting, true))
      return;
  }
  auto promise = std::make_shared<std::promise<std::vector<output_facts>>>();
  auto answer = promise->get_future();
  const auto is_started = run_aside([state, outputs, promise] {
    auto facts = state->inspect(*outputs);
    {
      const auto guard = std::lock_guard{state->mutex};
      state->is_inspecting = false;
    }
    promise->set_value(std::move(facts));
  });
  if (!is_started) {
    const auto guard = std::lock_guard{state->mutex};
    state->is_inspecting = false;
    return;
  }
  if (answer.wait_for(proc_vitals::output_timeout) == std::future_status::ready)
    merge(out, answer.get());
}

template <class State>
void take_sample(const std::shared_ptr<State>& state, vitals_question asked) {
  auto& sampler = state->sampler;
  if (!asked.pids.empty() && !sampler.has_base()) {
    sampler.take(asked.pids);
    if (state->pause())
      return;
  }
  auto out = sampler.take(asked.pids);
  add_outputs(state, asked.outputs, out);
  state->answer(std::move(out), std::move(asked.pids));
}

} // namespace

proc_vitals::proc_vitals(output_inspector inspect)
  : shared_(std::make_shared<shared>(std::move(inspect))) {}

proc_vitals::~proc_vitals() {
  const auto guard = std::lock_guard{shared_->mutex};
  shared_->is_over = true;
  shared_->waiting.clear();
  shared_->stopped.notify_all();
}

void proc_vitals::follow(generation_id generation,
                         const core::generation_outputs& outputs) {
  auto copy = std::make_shared<const core::generation_outputs>(outputs);
  const auto guard = std::lock_guard{shared_->mutex};
  shared_->files = {generation, std::move(copy)};
}

void proc_vitals::sample(generation_id generation,
                         const std::vector<int64_t>& pids, listener on_answer) {
  auto asked = vitals_question{pids};
  {
    const auto guard = std::lock_guard{shared_->mutex};
    auto& state = *shared_;
    if (state.is_fresh(pids) || state.waiting.size() == waiting_max)
      return on_answer(state.last);
    state.waiting.push_back(std::move(on_answer));
    if (std::exchange(state.is_sampling, true))
      return;
    if (state.files.generation == generation)
      asked.outputs = state.files.outputs;
  }
  auto task = [state = shared_, asked = std::move(asked)]() mutable {
    take_sample(state, std::move(asked));
  };
  if (!run_aside(std::move(task)))
    shared_->answer({}, {});
}

size_t proc_vitals::sample_count() const {
  const auto guard = std::lock_guard{shared_->mutex};
  return shared_->sample_count;
}

} // namespace actorrun::detail
