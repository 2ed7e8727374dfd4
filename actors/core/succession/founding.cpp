#include "actors/core/succession/founding.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

std::string text_of_ballot(const ballot& x) {
  return std::to_string(x.number) + "." + std::to_string(x.seed);
}

std::string names_in(const endpoint_list& xs) {
  auto out = std::string{};
  for (const auto& [who, _] : xs)
    out += " " + std::string{who.value};
  return out;
}

/// A seed that has not been heard for so long is not named to people.
constexpr auto heard_memory = std::chrono::milliseconds{3'000};

} // namespace

founding::founding(founding_options options)
  : options_(std::move(options)), may_know_(options_.remembered) {
  may_know_.erase(options_.self);
}

std::vector<founding_effect> founding::step(const founding_event& event,
                                            time_point now) {
  now_ = now;
  if (phase_ != phase::begun && phase_ != phase::over)
    std::visit([this](const auto& x) { on(x); }, event);
  return std::exchange(out_, {});
}

// -- rounds of questions -----------------------------------------------------------

void founding::on(const founding_started&) {
  ask_all({});
  stand_later(options_.abstention);
}

void founding::on(const timer_fired& event) {
  if (alarms_.take(event.timer))
    stand();
}

void founding::on(const job_found&) {
  phase_ = phase::over;
}

void founding::stand() {
  phase_ = phase::asking;
  asked_at_ = now_;
  number_ = std::max(number_, promised_.number) + 1;
  promised_ = mine_ = {number_, options_.own};
  promises_ = {options_.own};
  promisers_ = {options_.self};
  grants_.clear();
  named_ = may_know_;
  ask_all(mine_);
  stand_later(founding_pause);
  claim_if_possible();
}

void founding::ask_all(ballot by) {
  for (uint32_t i = 0; i < options_.seeds.size(); ++i) {
    const auto ask = found_ask{by, i, options_.endpoint, options_.seeds};
    if (i != options_.own)
      out_.emplace_back(ask_seed{i, ask});
  }
}

void founding::stand_later(duration pause) {
  out_.emplace_back(
    alarms_.arm(alarm::stand, now_ + pause + founding_turn * options_.own));
}

bool founding::has_majority(const std::set<uint32_t>& of) const {
  return of.size() >= majority_of_seeds(options_.seeds.size());
}

// Those that are named and neither have ended nor promise this ballot.
endpoint_list founding::unsettled() const {
  auto out = endpoint_list{};
  for (const auto& [who, where] : named_)
    if (!settled_.contains(who) && !promisers_.contains(who))
      out[who] = where;
  return out;
}

void founding::claim_if_possible() {
  if (phase_ != phase::asking || promised_ != mine_ || !has_majority(promises_))
    return;
  if (auto who = unsettled(); !who.empty())
    return await(who);
  phase_ = phase::claiming;
  grants_ = {options_.own};
  for (uint32_t i = 0; i < options_.seeds.size(); ++i)
    if (i != options_.own)
      out_.emplace_back(ask_seed{i, found_claim{mine_, i, options_.endpoint}});
  begin_if_granted();
}

void founding::begin_if_granted() {
  if (!has_majority(grants_))
    return;
  phase_ = phase::begun;
  out_.emplace_back(begin_job{});
}

void founding::await(const endpoint_list& who) {
  stand_later(awaiting_pause);
  out_.emplace_back(await_agents{who});
}

// What it has claimed comes to nothing.
void founding::give_way() {
  phase_ = phase::asking;
  grants_.clear();
  stand_later(founding_pause);
}

void founding::on(const awaited_ended& event) {
  settled_.insert(event.who.begin(), event.who.end());
  std::erase_if(may_know_,
                [this](const auto& x) { return settled_.contains(x.first); });
  claim_if_possible();
}

// -- what others say ---------------------------------------------------------------

void founding::on(const founding_heard& event) {
  std::visit([&](const auto& x) { hear(event.from, x); }, event.what);
}

void founding::hear(const agent_id& from, const found_ask& x) {
  if (x.seeds != options_.seeds) {
    out_.emplace_back(report_other_seeds{from, x.endpoint, x.seeds});
    auto why = found_refused{.by = x.by, .seed = options_.own};
    why.seeds = options_.seeds;
    out_.emplace_back(answer_seed{from, x.endpoint, std::move(why)});
    return;
  }
  heard_[x.by.seed] = now_;
  number_ = std::max(number_, x.by.number);
  if (x.seed != options_.own || x.by.number == 0 || phase_ == phase::abstaining)
    return;
  if (x.by <= promised_) {
    out_.emplace_back(answer_seed{
      from, x.endpoint,
      found_refused{.by = x.by, .seed = options_.own, .promised = promised_}});
    return;
  }
  promised_ = x.by;
  give_way();
  out_.emplace_back(answer_seed{from, x.endpoint,
                                found_promise{x.by, options_.own, may_know_}});
}

void founding::hear(const agent_id& from, const found_promise& x) {
  heard_[x.seed] = now_;
  if (phase_ != phase::asking || x.by != mine_)
    return;
  promises_.insert(x.seed);
  promisers_.insert(from);
  for (const auto& named : x.may_know)
    if (named.first != options_.self)
      named_.insert(named);
  claim_if_possible();
}

// Whoever is in the job has begun nothing new, and promises nothing.
void founding::hear(const agent_id& from, const found_refused& x) {
  if (!x.seeds.empty()) {
    out_.emplace_back(report_other_seeds{from, {}, x.seeds});
    return;
  }
  heard_[x.seed] = now_;
  number_ = std::max(number_, x.promised.number);
  for (const auto& named : x.may_know)
    if (named.first != options_.self)
      named_.insert(named);
  if (x.may_know.empty())
    return;
  if (phase_ == phase::claiming)
    give_way();
  if (auto who = unsettled(); !who.empty())
    await(who);
}

// It has promised this ballot, so the sender has heard of all that this seed knows of.
void founding::hear(const agent_id& from, const found_claim& x) {
  if (x.seed != options_.own || phase_ == phase::abstaining)
    return;
  heard_[x.by.seed] = now_;
  if (x.by != promised_) {
    out_.emplace_back(answer_seed{
      from, x.endpoint,
      found_refused{.by = x.by, .seed = options_.own, .promised = promised_}});
    return;
  }
  may_know_ = {{from, x.endpoint}};
  settled_.erase(from);
  out_.emplace_back(follow_founder{from, x.endpoint});
  out_.emplace_back(
    answer_seed{from, x.endpoint, found_granted{x.by, options_.own}});
  stand_later(grant_pause);
}

// What comes so late may be of a process that has ended since, and was forgotten.
void founding::hear(const agent_id&, const found_granted& x) {
  heard_[x.seed] = now_;
  if (phase_ != phase::claiming || x.by != mine_
      || now_ >= asked_at_ + options_.abstention - leadership_guard)
    return;
  grants_.insert(x.seed);
  begin_if_granted();
}

// -- words -------------------------------------------------------------------------

std::string founding::waits_for() const {
  const auto count = options_.seeds.size();
  auto missing = std::string{};
  for (uint32_t i = 0; i < count; ++i) {
    const auto last = heard_.find(i);
    if (i != options_.own
        && (last == heard_.end() || now_ >= last->second + heard_memory))
      missing += (missing.empty() ? "" : ", ") + options_.seeds[i];
  }
  return "the job begins as soon as " + std::to_string(majority_of_seeds(count))
         + " of the " + std::to_string(count)
         + " hosts of --rdzv-endpoint are there; this one is "
         + options_.seeds[options_.own]
         + (missing.empty() ? "" : ", and not heard of yet: " + missing);
}

std::string to_string(founding::phase x) {
  switch (x) {
    case founding::phase::abstaining:
      return "abstaining";
    case founding::phase::asking:
      return "asking";
    case founding::phase::claiming:
      return "claiming";
    case founding::phase::begun:
      return "begun";
    case founding::phase::over:
      return "over";
  }
  return "unknown";
}

std::string to_string(const founding_message& x) {
  struct writer {
    std::string operator()(const found_ask& y) const {
      return "found_ask " + text_of_ballot(y.by);
    }
    std::string operator()(const found_promise& y) const {
      return "found_promise " + text_of_ballot(y.by) + names_in(y.may_know);
    }
    std::string operator()(const found_refused& y) const {
      return "found_refused " + text_of_ballot(y.by) + names_in(y.may_know)
             + (y.seeds.empty() ? "" : " for its seeds");
    }
    std::string operator()(const found_claim& y) const {
      return "found_claim " + text_of_ballot(y.by);
    }
    std::string operator()(const found_granted& y) const {
      return "found_granted " + text_of_ballot(y.by);
    }
  };
  return std::visit(writer{}, x);
}

std::string to_string(const founding_effect& x) {
  struct writer {
    std::string operator()(const ask_seed& y) const {
      return "ask_seed " + std::to_string(y.seed) + ": " + to_string(y.what);
    }
    std::string operator()(const answer_seed& y) const {
      return "answer " + std::string{y.to.value} + ": " + to_string(y.what);
    }
    std::string operator()(const await_agents& y) const {
      return "await" + names_in(y.who);
    }
    std::string operator()(const follow_founder& y) const {
      return "follow " + std::string{y.who.value};
    }
    std::string operator()(const report_other_seeds& y) const {
      return "other seeds of " + std::string{y.who.value};
    }
    std::string operator()(const begin_job&) const { return "begin_job"; }
    std::string operator()(const arm_timer&) const { return "arm_timer"; }
  };
  return std::visit(writer{}, x);
}

} // namespace actorrun::core
