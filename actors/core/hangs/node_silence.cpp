#include "actors/core/hangs/node_silence.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

/// A silence is seen at most this part of the limit late.
constexpr auto looks_per_limit = 8;

constexpr auto interval_min = std::chrono::milliseconds{50};
constexpr auto interval_max = std::chrono::seconds{5};

/// Between two looks there are two intervals at most, and this: whoever did not look
/// for longer stood still itself, and perhaps its workers with it.
constexpr auto look_delay_max = std::chrono::seconds{1};

} // namespace

duration node_silence::interval() const {
  return std::clamp<duration>(limits_.timeout / looks_per_limit, interval_min,
                              interval_max);
}

void node_silence::begin(generation_id generation, time_point now) {
  generation_ = generation;
  seen_.clear();
  last_sign_ = last_look_ = now;
  is_silent_ = false;
  told_ = report{false, now};
}

/// @returns whether it lives, as far as is known
bool node_silence::see(const worker_signs& x) {
  auto& seen = seen_[x.local_rank];
  // A file that cannot be seen any more may grow. The first look finds what was
  // written until then.
  const auto lives = x.output_size != seen.output_size;
  if (x.output_size)
    seen.output_size = x.output_size;
  if (x.last_request)
    last_sign_ = std::max(last_sign_, *x.last_request);
  return lives;
}

std::optional<silence_report>
node_silence::step(const std::vector<worker_signs>& running, time_point now) {
  if (!is_watching())
    return {};
  auto lives = now - last_look_ > 2 * interval() + look_delay_max;
  last_look_ = now;
  auto can_tell = !running.empty();
  for (const auto& x : running) {
    lives = see(x) || lives;
    can_tell = can_tell && (x.output_size || x.last_request);
  }
  if (lives)
    last_sign_ = now;
  const auto silent_for = now - last_sign_;
  is_silent_ = silent_for >= limits_.timeout;
  const auto is_due
    = is_silent_ && told_ && now >= told_->when + repeat_pause(limits_.timeout);
  if (told_ && told_->is_silent == is_silent_ && !is_due)
    return {};
  told_ = report{is_silent_, now};
  return silence_report{generation_, is_silent_ ? silent_for : duration{0},
                        can_tell, limits_};
}

} // namespace actorrun::core
