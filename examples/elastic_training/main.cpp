// One worker of an elastic training job: trains in step with the others, in a
// world of any size. When the group changes it goes on with what it has in
// memory; only a group without any survivor begins at the last checkpoint.

#include "all_reduce.hpp"
#include "checkpoint.hpp"
#include "environment.hpp"
#include "fail.hpp"
#include "model.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "state.hpp"
#include "text.hpp"

#include <actorrun/runtime/worker/live.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace training;
using actorrun::worker::generation;

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

/// A worker: what it has in memory from generation to generation.
class trainer {
public:
  explicit trainer(const options& chosen)
    : chosen_(chosen),
      corpus_(load_text(chosen.text, language_model::sample_size)),
      model_(corpus_.symbol_count),
      saved_(chosen.checkpoint, corpus_.fingerprint) {}

  /// Takes part in one generation, until the work is done.
  /// @throws peer_lost, actorrun::worker::regroup
  void take_part(const generation& now) {
    const auto self = read_environment();
    if (!state_)
      state_ = first();
    auto report = progress{self, chosen_};
    if (now.survivors().empty() && state_->step >= chosen_.steps)
      return report.begin(*state_); // So have the others.
    auto group
      = all_reduce{self, state_->step, [&now] { return now.is_over(); }};
    if (const auto source = group.ahead())
      take_state_of(group, *source);
    report.begin(*state_);
    train(now, self, group, report);
  }

private:
  /// That of the last checkpoint, or of the beginning.
  training_state first() const {
    auto found = saved_.load(model_.parameter_count());
    return found ? std::move(*found)
                 : first_state(model_.first_parameters(chosen_.seed));
  }

  /// Newcomers are at the last checkpoint; but a survivor, too, may have missed the
  /// last step, if a peer was lost in it. Nothing is taken by halves, as the source
  /// may be lost now.
  void take_state_of(all_reduce& group, uint32_t source) {
    auto x = *state_;
    group.broadcast(std::as_writable_bytes(std::span{&x.step, 1}), source);
    group.broadcast(std::as_writable_bytes(std::span{&x.loss, 1}), source);
    for (auto* values : {&x.parameters, &x.first_moment, &x.second_moment})
      group.broadcast(std::as_writable_bytes(std::span{*values}), source);
    state_ = std::move(x);
  }

  /// Adds up the gradient of this worker's share of the step's samples.
  /// @param sums  the gradient and, after it, the loss
  void add_share(const environment& self, std::span<float> sums) const {
    const auto share = [&](uint64_t rank) {
      return static_cast<uint32_t>(rank * chosen_.batch / self.world_size);
    };
    const auto gradient = sums.first(sums.size() - 1);
    for (auto i = share(self.rank); i < share(self.rank + 1); ++i) {
      const auto sample = draw_sample(corpus_, language_model::sample_size,
                                      chosen_.seed, state_->step, i);
      sums.back() += model_.add_gradient(state_->parameters, sample, gradient);
    }
  }

  void train(const generation& now, const environment& self, all_reduce& group,
             progress& report) {
    auto& state = *state_;
    auto limit = pace{self.rank == 0 ? chosen_.steps_per_second : 0};
    auto sums = std::vector<float>(model_.parameter_count() + 1);
    while (state.step < chosen_.steps) {
      // A node that joins or is drained has the group changed here.
      now.safe_point(state.step, [&] {
        if (self.rank == 0)
          saved_.save(state);
      });
      limit.wait();
      std::fill(sums.begin(), sums.end(), 0.0F);
      add_share(self, sums);
      group.sum(sums);
      for (auto& sum : sums)
        sum /= static_cast<float>(chosen_.batch);
      advance(state, std::span{sums}.first(model_.parameter_count()),
              sums.back(), chosen_.learning_rate);
      const auto due = state.step % chosen_.checkpoint_every == 0;
      if (self.rank == 0 && (due || state.step == chosen_.steps))
        saved_.save(state);
      report.report(state);
    }
    // No worker may succeed before the last checkpoint is on the disk.
    group.wait_for_all();
  }

  const options& chosen_;
  text corpus_;
  language_model model_;
  checkpoint saved_;
  std::optional<training_state> state_;
};

} // namespace

int main(int argc, char** argv) {
  const auto chosen = parse_options(argc, argv);
  auto worker = trainer{chosen};
  try {
    for (auto& now : actorrun::worker::generations())
      now.run([&] { worker.take_part(now); });
  } catch (const std::exception& x) {
    fail(x.what());
  }
  return 0;
}
