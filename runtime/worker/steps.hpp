// PUBLIC, for worker programs: says how long the worker computes per step, so that one
// that is slower than the others is found.
#pragma once

#include <chrono>

// Workers of a collective job take equally long per step, because all wait for the
// slowest. Which of them that is shows in what each computes itself, between the end of
// one wait and the beginning of the next:
//
//     for (const auto& batch : loader) {
//       {
//         const auto own = actorrun::worker::computing{};
//         gradients = model.backward(model.forward(batch));
//       }
//       all_reduce(gradients); // Here it waits for the others.
//     }
//
// The agent that has started the program sees it, and the coordinator compares all workers:
// `actorctl status`. A step takes less than a microsecond more: two readings of the clock
// and two stores to a page that the agent reads. A program that was not started by actorrun
// (the variable ACTORRUN_STEPS is not set) says nothing.
//
// One thread of one process says it: in a forked child all of this does nothing. None of it
// throws.
namespace actorrun::worker {

/// The worker has computed a step in this time, as something else has measured it: events
/// of a GPU, for example. Less than 0 counts as 0.
void computed(std::chrono::nanoseconds time) noexcept;

/// Counts the time of its block as one that the worker has computed: once per step, around
/// what waits for no other worker. Work that a GPU does later is not in it.
class computing {
public:
  [[nodiscard]] computing() noexcept
    : begun_(std::chrono::steady_clock::now()) {}

  ~computing() { computed(std::chrono::steady_clock::now() - begun_); }

  computing(const computing&) = delete;
  computing& operator=(const computing&) = delete;

private:
  std::chrono::steady_clock::time_point begun_;
};

} // namespace actorrun::worker
