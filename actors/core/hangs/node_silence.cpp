#include "actors/core/hangs/node_silence.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

/// A silence is seen at most this part of the limit late.
constexpr auto looks_per_limit = 8;

constexpr auto interval_min = std::chrono::milliseconds{50};
constexpr auto interval_max = std::chrono::seconds{5};

/// What is learned is as exact as this.
constexpr auto learning_interval = std::chrono::seconds{1};

/// Between two looks there are two intervals at most, and this: whoever did not look
/// for longer stood still itself, and perhaps its workers with it.
constexpr auto look_delay_max = std::chrono::seconds{1};

} // namespace

duration node_silence::interval() const {
  if (limits_.learns)
    return learning_interval;
  return std::clamp<duration>(limits_.timeout / looks_per_limit, interval_min,
                              interval_max);
}

void node_silence::begin(generation_id generation, time_point now) {
  generation_ = generation;
  seen_.clear();
  last_sign_ = last_look_ = now;
  is_silent_ = false;
  told_ = report{false, now};
  begun_ = now;
  last_beat_.reset(); // What begins anew takes longer than a step.
  newest_beat_.reset();
}

/// @returns whether it lives, as far as is known
bool node_silence::see(const worker_signs& x) {
  const auto is_known = seen_.contains(x.local_rank);
  auto& seen = seen_[x.local_rank];
  // A file that cannot be seen any more may grow. The first look finds what was
  // written until then.
  const auto has_stepped = x.step_count && x.step_count != seen.step_count;
  const auto lives = x.output_size != seen.output_size || has_stepped;
  // A live worker has made steps in generations before this one.
  const auto is_new = has_stepped && is_known;
  if (x.output_size)
    seen.output_size = x.output_size;
  if (x.step_count)
    seen.step_count = x.step_count;
  if (x.last_request)
    note_beat(*x.last_request);
  if (is_new)
    note_beat(last_look_);
  return lives;
}

void node_silence::note_beat(time_point when) {
  last_sign_ = std::max(last_sign_, when);
  if (when < begun_)
    return;
  newest_beat_ = std::max(newest_beat_.value_or(when), when);
}

// A step is at most as long as the time between two beats, whichever workers they are
// of: who takes part in collective operations steps with the others.
void node_silence::learn() {
  if (!limits_.learns || !newest_beat_ || newest_beat_ == last_beat_)
    return;
  const auto begun = std::exchange(last_beat_, newest_beat_);
  if (!begun)
    return;
  limits_.timeout
    = std::max<duration>({limits_.timeout, learned_timeout_min,
                          learned_factor * (*newest_beat_ - *begun)});
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
    can_tell = can_tell && (x.output_size || x.last_request || x.step_count);
  }
  learn();
  if (lives)
    last_sign_ = now;
  const auto silent_for = now - last_sign_;
  is_silent_ = limits_.timeout > duration{0} && silent_for >= limits_.timeout
               && (!limits_.learns || last_beat_);
  const auto is_due
    = is_silent_ && told_ && now >= told_->when + repeat_pause(limits_.timeout);
  if (told_ && told_->is_silent == is_silent_ && !is_due)
    return {};
  told_ = report{is_silent_, now};
  return silence_report{generation_, is_silent_ ? silent_for : duration{0},
                        can_tell, limits_};
}

} // namespace actorrun::core
