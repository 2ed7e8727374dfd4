#include "actors/core/hangs/node_silence.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace actorrun::core {

namespace {

/// A silence is seen at most this part of the limit late.
constexpr auto looks_per_limit = 8;

constexpr auto interval_min = std::chrono::milliseconds{50};
constexpr auto interval_max = std::chrono::seconds{5};

} // namespace

duration node_silence::interval() const {
  return std::clamp<duration>(limits_.timeout / looks_per_limit, interval_min,
                              interval_max);
}

void node_silence::begin(generation_id generation, time_point now) {
  generation_ = generation;
  seen_.clear();
  last_sign_ = now;
  can_tell_ = false;
  is_told_ = false;
}

std::optional<silence_report>
node_silence::step(const std::vector<worker_signs>& workers, time_point now) {
  if (!is_watching())
    return {};
  seen_.resize(std::max(seen_.size(), workers.size()));
  for (size_t i = 0; i < workers.size(); ++i) {
    auto& seen = seen_[i];
    const auto& x = workers[i];
    can_tell_ = can_tell_ || x.output_size || x.last_request;
    // The first look finds what was written until then: a worker that has just
    // been started has shown that it lives.
    if (x.output_size && x.output_size != seen.output_size)
      last_sign_ = now;
    if (x.last_request)
      last_sign_ = std::max(last_sign_, *x.last_request);
    if (x.output_size)
      seen.output_size = x.output_size;
  }
  const auto silent_for = now - last_sign_;
  const auto is_silent = silent_for >= limits_.timeout;
  if (is_silent == is_told_)
    return {};
  is_told_ = is_silent;
  return silence_report{generation_, is_silent ? silent_for : duration{0},
                        can_tell_, limits_};
}

} // namespace actorrun::core
