#include "actors/core/succession/witness.hpp"

#include "actors/core/succession/beginning.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

struct witness_effect_text {
  std::string operator()(const ask_for_leader& x) const {
    return "ask_for_leader"
           + (x.seed ? " at seed " + std::to_string(*x.seed) : std::string{});
  }
  std::string operator()(const give_up_watch&) const { return "give_up_watch"; }
  std::string operator()(const arm_timer&) const { return "arm_timer"; }
};

} // namespace

// -- of a leader ------------------------------------------------------------------

void witness_list::note(const agent_id& who, const std::string& endpoint,
                        time_point now) {
  std::erase_if(heard_, [&](const auto& x) { return !is_here(x.second, now); });
  if (heard_.size() < witnesses_max || heard_.contains(who))
    heard_[who] = {endpoint, now};
}

std::vector<voter_candidate>
witness_list::beside(const std::vector<voter_candidate>& agents,
                     time_point now) const {
  auto out = std::vector<voter_candidate>{};
  for (const auto& [who, x] : heard_)
    if (is_here(x, now)
        && std::ranges::find(agents, who, &voter_candidate::agent)
             == agents.end())
      out.push_back(witness_at(who, x.endpoint));
  return out;
}

voter_candidate witness_at(const agent_id& who, const std::string& endpoint) {
  return {.agent = who,
          .host = host_of_endpoint(endpoint),
          .is_witness = true,
          .endpoint = endpoint};
}

// -- of a witness -------------------------------------------------------------------

std::vector<witness_effect> witness::step(const witness_event& event,
                                          time_point now) {
  auto out = std::vector<witness_effect>{};
  if (std::holds_alternative<witness_started>(event)) {
    answered_ = now;
    ask(now, out);
  } else if (std::holds_alternative<leader_confirmed>(event)) {
    answered_ = now;
    has_met_ = true;
  } else if (std::holds_alternative<leader_changed>(event)) {
    out.emplace_back(ask_for_leader{});
  } else if (alarms_.take(std::get<timer_fired>(event).timer)) {
    ask(now, out);
  }
  return out;
}

void witness::ask(time_point now, std::vector<witness_effect>& out) {
  if (now >= answered_ + (has_met_ ? options_.limit : options_.first_limit)) {
    out.emplace_back(give_up_watch{has_met_});
    return;
  }
  auto question = ask_for_leader{};
  if (!has_met_ || now >= answered_ + witness_silence_max)
    question.seed = seed_turn_++ % options_.seed_count;
  out.emplace_back(question);
  out.emplace_back(alarms_.arm(alarm::ask, now + witness_pause));
}

std::string to_string(const witness_effect& x) {
  return std::visit(witness_effect_text{}, x);
}

} // namespace actorrun::core
