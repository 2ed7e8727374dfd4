// One worker of an elastic training job: trains in step with the others, from
// the last checkpoint, in a world of any size.
//
// Of actorrun it knows only the names of the environment variables.

#include "all_reduce.hpp"
#include "checkpoint.hpp"
#include "environment.hpp"
#include "model.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "state.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace training;

/// Limits rank 0, and so all ranks, to `--steps-per-second`.
class pace {
public:
  explicit pace(uint32_t steps_per_second) {
    if (steps_per_second > 0)
      per_step_
        = std::chrono::nanoseconds{std::chrono::seconds{1}} / steps_per_second;
  }

  void wait() {
    next_ = std::max(next_ + per_step_, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next_);
  }

private:
  std::chrono::nanoseconds per_step_{0};
  std::chrono::steady_clock::time_point next_;
};

/// Adds up the gradient of this worker's share of the step's samples.
/// @param sums  the gradient and, after it, the loss
void add_share(const language_model& model, const text& corpus,
               const environment& self, const options& chosen,
               const training_state& state, std::span<float> sums) {
  const auto share = [&](uint64_t rank) {
    return static_cast<uint32_t>(rank * chosen.batch / self.world_size);
  };
  const auto gradient = sums.first(sums.size() - 1);
  for (auto i = share(self.rank); i < share(self.rank + 1); ++i) {
    const auto sample = draw_sample(corpus, language_model::sample_size,
                                    chosen.seed, state.step, i);
    sums.back() += model.add_gradient(state.parameters, sample, gradient);
  }
}

void train(const language_model& model, const text& corpus,
           const environment& self, const options& chosen,
           const checkpoint& saved, training_state state, progress& report) {
  auto group = all_reduce{self, state.step};
  auto limit = pace{self.rank == 0 ? chosen.steps_per_second : 0};
  auto sums = std::vector<float>(model.parameter_count() + 1);
  while (state.step < chosen.steps) {
    limit.wait();
    std::fill(sums.begin(), sums.end(), 0.0F);
    add_share(model, corpus, self, chosen, state, sums);
    group.sum(sums);
    for (auto& sum : sums)
      sum /= static_cast<float>(chosen.batch);
    advance(state, std::span{sums}.first(model.parameter_count()), sums.back(),
            chosen.learning_rate);
    const auto due = state.step % chosen.checkpoint_every == 0;
    if (self.rank == 0 && (due || state.step == chosen.steps))
      saved.save(state);
    report.report(state);
  }
  // No worker may succeed before the last checkpoint is on the disk.
  group.wait_for_all();
}

} // namespace

int main(int argc, char** argv) {
  const auto chosen = parse_options(argc, argv);
  const auto self = read_environment();
  const auto corpus = load_text(chosen.text, language_model::sample_size);
  const auto model = language_model{corpus.symbol_count};
  const auto saved = checkpoint{chosen.checkpoint, corpus.fingerprint};
  auto state = saved.load(model.parameter_count());
  if (!state)
    state = first_state(model.first_parameters(chosen.seed));
  auto report = progress{self, chosen};
  report.begin(*state);
  if (state->step < chosen.steps)
    train(model, corpus, self, chosen, saved, std::move(*state), report);
  return 0;
}
