#include "actors/core/protocol/generation_share.hpp"

#include <utility>

namespace actorrun::core {

bool generation_share::may_run() const {
  switch (state_) {
    case share_state::idle:
    case share_state::succeeded:
      return false;
    case share_state::failed:
      return !has_ended_;
    case share_state::starting:
    case share_state::running:
    case share_state::stopping:
      break;
  }
  return true;
}

void generation_share::begin(const generation_plan& plan) {
  plan_ = plan;
  ahead_of_ = {};
  state_ = share_state::starting;
  failure_.reset();
  others_ = {};
}

void generation_share::begin_ahead(generation_id running) {
  ahead_of_ = running;
  state_ = share_state::stopping;
  failure_.reset();
  others_ = {};
}

void generation_share::fail(const worker_failure& failure, time_point now) {
  state_ = share_state::failed;
  has_ended_ = false;
  failure_ = failure;
  aged_at_ = now;
}

void generation_share::add(collateral failures, time_point now) {
  const auto later = now - aged_at_;
  aged_at_ = now;
  if (failure_)
    failure_->age += later;
  others_ = aged(std::move(others_), later);
  others_.add(std::move(failures));
}

void generation_share::end() {
  has_ended_ = true;
  if (state_ != share_state::failed)
    state_ = share_state::idle;
}

collateral generation_share::others(time_point now) const {
  return aged(others_, now - aged_at_);
}

std::optional<claim> generation_share::held(bool is_fenced,
                                            time_point now) const {
  if (!plan_)
    return std::nullopt;
  if (is_ahead()) // Nothing of that generation.
    return claim{*plan_, share_state::idle, {}};
  auto out = claim{
    *plan_, is_fenced && is_active() ? share_state::stopping : state_, {}};
  if (failure_)
    out.failure = aged(*failure_, now - aged_at_);
  return out;
}

} // namespace actorrun::core
