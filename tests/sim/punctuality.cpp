#include "tests/sim/punctuality.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::sim {

namespace {

/// So long newcomers are waited for whose workers start ahead.
constexpr auto ahead_max = std::chrono::minutes{5};

bool has(const std::vector<agent_id>& sorted, const agent_id& x) {
  return std::binary_search(sorted.begin(), sorted.end(), x);
}

template <class Effect>
const Effect* find(const std::vector<core::rendezvous_effect>& effects) {
  for (const auto& x : effects)
    if (const auto* found = std::get_if<Effect>(&x))
      return found;
  return nullptr;
}

/// A check is to show whether a restart is left.
constexpr auto awaited_check = "waiting for the check of ";

} // namespace

punctuality::view punctuality::look(const core::rendezvous& brain) {
  auto x = view{};
  x.stage = brain.current_phase();
  x.generation = brain.generation();
  x.planned = brain.common_plan().node_count;
  x.is_listening = x.stage == phase::gathering
                   && (brain.waiting_for().starts_with("listening")
                       || brain.waiting_for().starts_with(awaited_check));
  x.agents.reserve(brain.agents().size());
  for (const auto& [agent, record] : brain.agents()) {
    const auto is_candidate = may_be_placed(record);
    const auto is_member
      = record.member_of == x.generation && record.member_of.value != 0;
    const auto is_working
      = is_member && record.share != core::share_state::succeeded;
    x.agents.push_back(agent);
    x.candidates += is_candidate;
    if (is_candidate)
      x.ready.push_back(agent);
    x.holding += record.holds.value != 0;
    x.members += is_member;
    x.unfinished += is_working;
    x.active += is_member
                && (record.share == core::share_state::starting
                    || record.share == core::share_state::running);
    x.newcomers += is_candidate && !is_member;
    x.is_draining |= is_working && record.is_draining();
    x.is_stepping |= is_member && record.steps_in == x.generation;
    x.is_awaiting |= is_candidate && !is_member && record.is_awaited;
    if (is_working)
      x.working.push_back(agent);
  }
  return x;
}

void punctuality::after(const core::rendezvous& brain,
                        const core::rendezvous_event& event,
                        const std::vector<core::rendezvous_effect>& effects,
                        core::time_point now, core::duration slack) {
  was_ = std::exchange(is_, look(brain));
  const auto& now_is = is_;
  job_ = brain.settings();
  now_ = now;
  slack_ = slack;
  if (!std::exchange(has_begun_, true)) {
    enough_at_ = now;
    was_over_ = brain.result().has_value();
  }
  if (std::max(was_.candidates, now_is.candidates) >= job_.agent_count_min)
    enough_at_ = now;
  const auto* join = std::get_if<core::agent_joined>(&event);
  if (join != nullptr && !has(was_.agents, join->offering.agent)
      && has(now_is.agents, join->offering.agent))
    last_arrival_ = now;
  const auto* fitness = std::get_if<core::fitness_reported>(&event);
  if (fitness != nullptr && !has(was_.ready, fitness->agent)
      && has(now_is.ready, fitness->agent))
    last_arrival_ = now; // As if it had come.
  const auto* end = find<core::end_job>(effects);
  check_minimum(now_is, end != nullptr && was_.stage != phase::ended
                          && end->result.kind == core::outcome::verdict::unmet
                          && end->result.reason.find("nothing shows")
                               == std::string::npos);
  check_listening(brain, now_is);
  check_last_call(now_is);
  see_ends(effects);
  const auto* revoked = find<core::revoke_generation>(effects);
  check_regroup(now_is, revoked != nullptr && was_.is_active()
                          && revoked->reason.text.ends_with("more joined"));
  if (revoked != nullptr && was_.is_active())
    is_for_newcomers_ = admits(revoked->reason.text);
  check_stand_by(brain, now_is, event);
  see_generations(now_is, now);
  check_close(now_is, find<core::close_job>(effects) != nullptr);
  check_hurry(brain, now_is);
}

// Whether a reason to end a generation is that nodes are let in.
bool punctuality::admits(const std::string& reason) const {
  const auto has
    = [&](const char* text) { return reason.find(text) != std::string::npos; };
  return has("more joined") || has(" may take part again")
         || has(" is included again by ")
         || (reason.starts_with("resized to ")
             && was_.members <= job_.agent_count_max);
}

void punctuality::late(core::time_point due, const char* what) {
  if (now_ > due + slack_)
    checks_.report(std::string{what} + " too long");
}

void punctuality::early(core::time_point due, const char* what) {
  if (now_ < due)
    checks_.report(std::string{what} + " too soon");
}

// -- before a generation ----------------------------------------------------------

// Nodes that have yet to come have time, and no more than they were given.
void punctuality::check_minimum(const view& now_is, bool is_unmet) {
  if (is_unmet)
    early(enough_at_ + limits_.join, "times: the job ends for want of nodes");
  const auto is_short
    = now_is.stage == phase::gathering && now_is.holding == 0
      && now_is.candidates < job_.agent_count_min
      && !(now_is.agents.empty() && now_is.generation.value == 0)
      && !now_is.is_listening;
  if (!is_short)
    return short_since_.reset();
  if (!short_since_)
    short_since_ = now_;
  late(*short_since_ + limits_.join, "times: the job waits for nodes");
}

// Agents of an earlier coordinator have a lease to come back; if all are back and
// work, there is nothing to wait for.
void punctuality::check_listening(const core::rendezvous& brain,
                                  const view& now_is) {
  if (!now_is.is_listening)
    return listening_since_.reset();
  if (!listening_since_)
    listening_since_ = now_;
  late(*listening_since_ + lease_max_, "times: a successor listens");
  if (now_is.generation.value != 0
      && now_is.active == brain.common_plan().node_count)
    checks_.report("times: a successor listens although all are back");
}

// With the minimum, a generation waits for more until arrivals are quiet, but not
// for ever.
void punctuality::check_last_call(const view& now_is) {
  const auto quiet
    = was_.generation.value == 0 ? limits_.quiet : limits_.join_settle;
  if (last_call_since_ && now_is.is_active()
      && now_is.generation != was_.generation
      && now_is.members < job_.agent_count_max)
    early(std::min(*last_call_since_ + limits_.last_call,
                   std::max(*last_call_since_, last_arrival_) + quiet),
          "times: the last call ends");
  if (now_is.stage != phase::last_call) {
    is_disturbed_ = false;
    return last_call_since_.reset();
  }
  is_disturbed_ |= now_is.holding > 0;
  if (!last_call_since_)
    last_call_since_ = now_;
  if (!is_disturbed_)
    late(std::min(*last_call_since_ + limits_.last_call,
                  std::max(*last_call_since_, last_arrival_) + quiet),
         "times: the last call lasts");
}

// After a revocation no wait is needed, if enough are here.
void punctuality::check_hurry(const core::rendezvous& brain,
                              const view& now_is) {
  if (was_.stage == phase::stopping && now_is.stage != phase::stopping
      && now_is.holding == 0 && !brain.result()
      && now_is.candidates >= job_.agent_count_min && !now_is.is_active()
      && !now_is.is_listening
      && !brain.waiting_for().starts_with("the next start waits"))
    checks_.report("times: the job does not go on when all have stopped");
}

// -- while one runs -----------------------------------------------------------

// Newcomers wait for each other, and longer where nodes come and go.
void punctuality::check_regroup(const view& now_is, bool is_for_newcomers) {
  const auto room
    = job_.agent_count_max - std::min(job_.agent_count_max, now_is.members);
  const auto waits = now_is.newcomers > 0 && room > 0
                     && now_is.unfinished == now_is.planned
                     && !now_is.is_draining;
  const auto is_full = waits && now_is.newcomers >= room;
  if (is_for_newcomers) {
    const auto first = newcomers_since_.value_or(now_);
    if (!waits)
      checks_.report("times: a generation ends for newcomers without a place");
    early(backoff_ends(), "times: a generation ends for newcomers");
    // Those that come while workers go on to a safe point are not waited for.
    if (!is_full && !now_is.is_stepping)
      early(std::min(last_arrival_ + limits_.join_settle,
                     first + limits_.last_call),
            "times: more nodes are not waited for: a generation ends");
  }
  if (!now_is.is_active() || now_is.generation != was_.generation || !waits) {
    newcomers_since_.reset();
    full_since_.reset();
    awaited_since_.reset();
  }
  if (!now_is.is_active() || !waits)
    return;
  // All wait for each other; then what has been waited for begins again.
  if (now_is.is_awaiting || awaited_since_) {
    newcomers_since_ = now_;
    full_since_.reset();
  }
  if (now_is.is_awaiting && !awaited_since_)
    awaited_since_ = now_;
  if (now_is.is_awaiting)
    return late(*awaited_since_ + ahead_max, "times: newcomers are awaited");
  awaited_since_.reset();
  if (!newcomers_since_)
    newcomers_since_ = now_;
  // Where a newcomer has gone again, the others wait anew for its successor.
  if (!is_full && std::exchange(full_since_, std::nullopt))
    newcomers_since_ = now_;
  else if (is_full && !full_since_)
    full_since_ = now_;
  // One of a burst waits for the settle time, even if the last call is shorter.
  const core::duration most = std::max(limits_.last_call, limits_.join_settle);
  const auto settled
    = std::min(std::max(*newcomers_since_, last_arrival_) + limits_.join_settle,
               *newcomers_since_ + most);
  const core::duration last_step
    = now_is.is_stepping ? limits_.safe_point : core::duration{0};
  late(std::max(backoff_ends(), full_since_ ? *full_since_ : settled)
         + last_step,
       "times: newcomers wait");
}

// What is said when a generation ends is not the last word: when all have stopped
// it may turn out that a node had gone first.
void punctuality::see_ends(
  const std::vector<core::rendezvous_effect>& effects) {
  for (const auto& effect : effects) {
    if (const auto* x = std::get_if<core::revoke_generation>(&effect);
        x && was_.is_active() && x->generation == was_.generation
        && !x->is_over) {
      origin_ = x->reason.origin;
      revoked_at_ = now_;
    }
    if (const auto* x = std::get_if<core::explain_failures>(&effect))
      origin_ = x->exemption.origin;
  }
}

// From the third short generation in a row on, that a departure has ended, the next
// one lasts for some time: twice as long with each.
void punctuality::see_generations(const view& now_is, core::time_point now) {
  using kind = core::end_origin::kind;
  constexpr uint32_t free_count = 2;
  const auto begins
    = now_is.is_active()
      && (!was_.is_active() || now_is.generation != was_.generation);
  if (!begins)
    return;
  const auto is_in_vain = std::exchange(is_for_newcomers_, false)
                          && std::ranges::includes(members_, now_is.ready);
  members_ = now_is.working;
  const auto origin = std::exchange(origin_, std::nullopt);
  const auto is_left = origin && origin->what != kind::operator_asked;
  if (has_generation_ && is_left)
    streak_ = revoked_at_ - begun_ >= limits_.rejoin_backoff ? 0 : streak_ + 1;
  if (has_generation_ && !is_left && now - begun_ >= limits_.rejoin_backoff)
    streak_ = 0;
  else if (has_generation_ && !is_left && is_in_vain)
    ++streak_;
  has_generation_ = true;
  begun_ = now;
  const core::duration longest = limits_.rejoin_backoff;
  wait_ = std::min<core::duration>(limits_.join_settle, longest);
  for (auto i = free_count + 1; i < streak_ && wait_ < longest; ++i)
    wait_ *= 2;
  wait_ = streak_ <= free_count ? core::duration{0} : std::min(wait_, longest);
}

// A node that has cost three generations within the window stands by where there
// are enough others, and not for ever.
void punctuality::check_stand_by(const core::rendezvous& brain,
                                 const view& now_is,
                                 const core::rendezvous_event& event) {
  using kind = core::end_origin::kind;
  constexpr size_t loss_count_max = 3;
  if (std::holds_alternative<core::inclusion_requested>(event))
    losses_.clear();
  const auto& agents = brain.agents();
  if (was_.stage == phase::stopping && now_is.stage != phase::stopping
      && !brain.result() && origin_
      && (origin_->what == kind::node_lost
          || origin_->what == kind::node_cut_off)) {
    auto& times = losses_[origin_->agent];
    times.push_back(revoked_at_);
    if (times.size() > loss_count_max)
      times.pop_front();
    const auto i = agents.find(origin_->agent);
    if (times.size() == loss_count_max
        && times.back() - times.front() < limits_.rejoin_backoff
        && i != agents.end() && !i->second.stands_by
        && now_is.candidates - may_be_placed(i->second) >= job_.agent_count_min)
      checks_.report("stand-by: " + origin_->agent.value + " has cost "
                     + std::to_string(loss_count_max)
                     + " generations, and does not stand by");
  }
  for (const auto& [agent, x] : agents) {
    if (!x.stands_by || !x.connected || now_is.stage == phase::ended) {
      spares_.erase(agent);
      continue;
    }
    const auto begun = spares_.try_emplace(agent, now_).first->second;
    late(begun + limits_.rejoin_backoff, "stand-by: a node stands by");
    if (x.member_of == now_is.generation && now_is.is_active())
      checks_.report("stand-by: " + agent.value + " has a place");
  }
  std::erase_if(spares_,
                [&](const auto& x) { return !agents.contains(x.first); });
}

// -- after the last -----------------------------------------------------------

// A coordinator stays until all its agents know, or have had time for it.
void punctuality::check_close(const view& now_is, bool closes) {
  if (now_is.stage != phase::ended)
    return;
  if (!ended_at_)
    ended_at_ = now_;
  if (now_is.holding > 0)
    held_at_ = now_;
  if (closes && now_is.holding > 0)
    checks_.report("times: the coordinator leaves workers alone");
  if (closes && !now_is.agents.empty())
    early(*ended_at_ + limits_.close, "times: the coordinator goes");
  if (!closes && now_is.agents.empty() && !was_over_)
    checks_.report("times: the coordinator stays, and no agent is here");
  if (!closes)
    late(std::max(*ended_at_, held_at_) + limits_.close,
         "times: the coordinator stays");
}

} // namespace actorrun::sim
