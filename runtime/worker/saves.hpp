// PUBLIC, for worker programs: says when the worker saves, so that it is known how much
// work a failure costs.
#pragma once

#include <chrono>

// What was computed since the last save has to be computed again after a failure. How much
// that is, and how long saving takes, only the program knows:
//
//     if (step % 1000 == 0) {
//       const auto save = actorrun::worker::saving{};
//       write_checkpoint(model, step);
//     }
//
// `actorctl time` shows it. It is enough that those workers say it that save, such as rank 0.
// It takes less than 2 us. Threads may say it at the same time; one process of each worker
// does, the first that says this or how long it computes (steps.hpp). In a forked child, and
// in a program that was not started by actorrun, all of this does nothing. None of it throws.
namespace actorrun::worker {

/// The save that `saving` has begun is complete: what was computed before it began is safe.
/// Without one, what was computed until now is: something has saved it beside the training.
void saved() noexcept;

/// A save is complete that took this time, as something else has measured it; 0: it took
/// none, beside the training. Less than 0 counts as 0.
void saved(std::chrono::nanoseconds time) noexcept;

/// The worker saves for the time of its block, which ends with `saved` unless an exception
/// ends it. One at a time: another one begins anew.
class [[nodiscard]] saving {
public:
  saving() noexcept;
  ~saving();

  saving(const saving&) = delete;
  saving& operator=(const saving&) = delete;

private:
  int exception_count_;
};

} // namespace actorrun::worker
