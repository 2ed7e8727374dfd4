#include "actors/core/succession/voter.hpp"

#include <algorithm>
#include <cassert>

namespace actorrun::core {

// -- promises ---------------------------------------------------------------------

bool voter::hear(const agent_id& who, const beat& x, time_point now) {
  if (x.term < term_ || (x.term == leader_term_ && who != leader_))
    return false;
  leader_ = who;
  leader_term_ = x.term;
  promise(who, x.term, now);
  supported_at_ = others_at_ = now;
  if (x.charter && (!charter_ || x.charter->key > charter_->key))
    charter_ = x.charter;
  return true;
}

bool voter::is_holder(const ended_leader& x) const {
  return x.who == holder_ && (!x.term || *x.term >= holder_term_);
}

bool voter::may_vote_for(const agent_id& who,
                         const std::vector<ended_leader>& ended,
                         time_point now) const {
  if (now >= until_ || who == holder_ || is_proved_dead(holder_))
    return true;
  if (const auto i = resigned_.find(holder_);
      i != resigned_.end() && i->second >= holder_term_)
    return true;
  return std::ranges::any_of(ended,
                             [&](const auto& x) { return is_holder(x); });
}

vote voter::vote_for(const agent_id& who, uint64_t term, time_point sent,
                     time_point now) {
  assert(term > term_);
  const auto out = vote{term, sent, silence(who, now), charter_};
  if (who != holder_)
    others_at_ = supported_at_;
  supported_at_ = now;
  promise(who, term, now);
  return out;
}

duration voter::silence(const agent_id& who, time_point now) const {
  return now - (who == holder_ ? others_at_ : supported_at_);
}

void voter::hear_itself(time_point now) {
  hear(self_, beat{term_, now}, now);
}

void voter::promise(const agent_id& who, uint64_t term, time_point now) {
  term_ = holder_term_ = term;
  holder_ = who;
  until_ = now + promise_;
}

// -- proofs -----------------------------------------------------------------------

void voter::believe(const agent_id& who, uint64_t resigned_from) {
  make_room();
  auto& term = resigned_[who];
  term = std::max(term, resigned_from);
}

void voter::learn(const agent_id& who, const tombstone& of, time_point now) {
  make_room();
  dead_.try_emplace(who, dead_process{of, now});
}

// A job may outlive any number of voters.
void voter::make_room() {
  if (dead_.size() + resigned_.size() < proofs_max)
    return;
  const auto* newest = newest_charter();
  const auto counts = [&, by = newest != nullptr ? *newest : written_charter{}](
                        const agent_id& x) {
    return x == holder_ || by.voters.contains(x)
           || std::ranges::find(by.order, x) != by.order.end();
  };
  const auto key = newest != nullptr ? newest->key : charter_key{};
  std::erase_if(dead_, [&](const auto& x) {
    const auto& left = x.second.left.charter;
    return !counts(x.first) && !(left && left->key == key);
  });
  std::erase_if(resigned_, [&](const auto& x) { return !counts(x.first); });
}

std::vector<ended_leader> voter::proofs() const {
  auto out = std::vector<ended_leader>{};
  for (const auto& [who, _] : dead_)
    out.push_back({who});
  for (const auto& [who, term] : resigned_)
    out.push_back({who, term});
  return out;
}

const written_charter* voter::newest_charter() const {
  const auto* out = charter_ ? &*charter_ : nullptr;
  for (const auto& [_, x] : dead_)
    if (x.left.charter && (out == nullptr || x.left.charter->key > out->key))
      out = &*x.left.charter;
  return out;
}

// Nothing that the dead have promised ends with them, but what they promised to
// themselves: who leads by such a vote leads on until its lease ends.
bool voter::is_free(const agent_id& who, const dead_process& x,
                    time_point now) const {
  const auto& holder = x.left.promised_to;
  return holder.value.empty() || holder == who || holder == self_
         || is_proved_dead(holder) || now >= x.learned_at + promise_;
}

std::set<agent_id> voter::dead_supporters(const written_charter& by,
                                          uint64_t term, time_point now) const {
  const auto place = std::ranges::find(by.order, self_);
  if (place == by.order.begin() || place == by.order.end()
      || living_before(by) > 0)
    return {};
  auto out = std::set<agent_id>{};
  for (const auto& [who, x] : dead_)
    if (x.left.term < term && is_free(who, x, now))
      out.insert(who);
  return out;
}

uint64_t voter::term_of(const std::set<agent_id>& gone) const {
  auto out = uint64_t{0};
  for (const auto& who : gone)
    out = std::max(out, dead_.at(who).left.term);
  return out;
}

size_t voter::living_before(const written_charter& by) const {
  const auto place = std::ranges::find(by.order, self_);
  return size_t(std::count_if(by.order.begin(), place, [&](const auto& x) {
    return !is_proved_dead(x);
  }));
}

} // namespace actorrun::core
