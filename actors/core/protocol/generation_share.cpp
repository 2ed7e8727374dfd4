#include "actors/core/protocol/generation_share.hpp"

#include <utility>

namespace actorrun::core {

share_state generation_share::state() const {
  using enum share_state;
  constexpr share_state states[]
    = {idle, starting, running, succeeded, failed, failed, stopping, stopping};
  return states[size_t(phase_)];
}

bool generation_share::may_run() const {
  return phase_ != phase::idle && phase_ != phase::succeeded
         && phase_ != phase::failed;
}

void generation_share::begin(const generation_plan& plan) {
  plan_ = plan;
  ahead_of_ = {};
  phase_ = phase::starting;
  parked_ = {};
  failure_.reset();
  others_ = {};
}

void generation_share::begin_ahead(generation_id running) {
  ahead_of_ = running;
  phase_ = phase::parking;
  failure_.reset();
  others_ = {};
}

void generation_share::fail(const worker_failure& failure, time_point now) {
  phase_ = phase::failing;
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

void generation_share::park() {
  if (is_active())
    phase_ = phase::parking;
}

bool generation_share::stop() {
  return std::exchange(phase_, phase::stopping) != phase::stopping;
}

void generation_share::kill() {
  if (is_active())
    phase_ = phase::stopping;
}

void generation_share::revoke() {
  if (phase_ == phase::failing)
    phase_ = phase::parking;
  else if (!may_run())
    phase_ = phase::idle;
}

void generation_share::end(parked_share parked) {
  const auto has_failed = phase_ == phase::failing || phase_ == phase::failed;
  phase_ = has_failed ? phase::failed : phase::idle;
  parked_ = std::move(parked);
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
  auto out = claim{*plan_,
                   is_fenced && is_active() ? share_state::stopping : state(),
                   {},
                   parked_};
  if (failure_)
    out.failure = aged(*failure_, now - aged_at_);
  return out;
}

} // namespace actorrun::core
