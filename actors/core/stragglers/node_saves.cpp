#include "actors/core/stragglers/node_saves.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

duration time_saving(const save_reading& x, time_point now) {
  const auto going_on
    = x.saving_since ? now - *x.saving_since : duration::zero();
  return x.saving + std::max(going_on, duration::zero());
}

bool has_saves(const step_reading& x) {
  return x.saves != save_reading{};
}

} // namespace

void node_saves::begin(generation_id generation, time_point now) {
  generation_ = generation;
  begun_ = now;
  is_first_look_ = true;
  is_stopping_ = false;
  workers_.clear();
  told_.reset();
  told_at_.reset();
  told_save_.reset();
}

// The page of a worker that saves may be read in the middle of a change: less than was
// seen before is no news.
void node_saves::see(worker& x, const save_reading& seen,
                     time_point now) const {
  const auto run = now - begun_;
  const auto total = time_saving(seen, now);
  if (is_first_look_)
    x.before = total;
  if (!is_stopping_)
    x.saving = std::max(x.saving, std::min(total - x.before, run));
  if (seen.save_count == 0 || seen.saved_up_to < begun_)
    return;
  const auto saved = std::min(seen.saved_up_to, now);
  if (x.saved_up_to && saved < *x.saved_up_to)
    return;
  x.saved_up_to = saved;
  x.saving_by_then
    = std::clamp(seen.saving_before - x.before, duration::zero(), x.saving);
}

saves_report node_saves::sum(time_point now) const {
  auto out = saves_report{.generation = generation_};
  auto oldest = std::optional<time_point>{};
  for (const auto& [rank, x] : workers_) {
    out.saving += x.saving;
    if (x.saved_up_to)
      oldest = std::min(oldest.value_or(*x.saved_up_to), *x.saved_up_to);
  }
  if (!oldest)
    return out;
  out.age = now - *oldest;
  for (const auto& [rank, x] : workers_)
    if (x.saved_up_to)
      out.saving_since += x.saving - x.saving_by_then;
  return out;
}

std::optional<saves_report>
node_saves::step(const std::map<uint32_t, step_reading>& seen, time_point now,
                 bool is_last) {
  if (!is_watching())
    return {};
  for (const auto& [rank, x] : seen)
    if (has_saves(x))
      see(workers_[rank], x.saves, now);
  is_first_look_ = false;
  if (workers_.empty())
    return {};
  auto out = sum(now);
  const auto save = out.age ? std::optional{now - *out.age} : std::nullopt;
  const auto is_nothing = !save && out.saving == duration::zero();
  const auto is_known
    = told_ && told_->saving == out.saving && told_save_ == save;
  const auto is_early = told_at_ && now - *told_at_ < report_pause && !is_last;
  if (is_nothing || is_known || is_early)
    return {};
  told_ = out;
  told_at_ = now;
  told_save_ = save;
  return out;
}

} // namespace actorrun::core
