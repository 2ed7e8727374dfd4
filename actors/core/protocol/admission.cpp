#include "actors/core/protocol/admission.hpp"

#include "actors/core/text.hpp"

namespace actorrun::core {

std::optional<failure> admission::refusal(const agent_joined& event) const {
  const auto& x = event.offering;
  if (auto why = refusal_for_settings(event))
    return why;
  if (x.slot_count < 1 || x.slot_count > slots_per_agent_max)
    return failure{errc::bad_slot_count,
                   "agent " + x.agent.value + " offers "
                     + std::to_string(x.slot_count) + " workers; 1 to "
                     + std::to_string(slots_per_agent_max) + " are possible"};
  if (!is_host_text(x.address))
    return failure{errc::bad_plan, "agent " + x.agent.value
                                     + " offers an address that is none"};
  if (event.held)
    if (auto why = refusal_for_claim(x, *event.held))
      return why;
  const auto known = agents_.records().find(x.agent);
  if (known != agents_.records().end() && known->second.given_up)
    return failure{errc::worker_unkillable,
                   "agent " + x.agent.value
                     + " has not stopped its workers in time: its lease ends"};
  return orders_.settings().ranked ? refusal_for_rank(event) : std::nullopt;
}

std::optional<failure>
admission::refusal_for_settings(const agent_joined& event) const {
  if (fits(event))
    return std::nullopt;
  const auto& job = orders_.settings();
  const auto is_unsure = recovery_.is_listening()
                         && orders_.told().revision == 0
                         && event.settings.ranked == job.ranked;
  return is_unsure
           ? failure{errc::connection_failed,
                     "the coordinator has just begun, and asks the nodes of an"
                     " earlier one for the job's settings; try again"}
           : failure{errc::settings_mismatch,
                     "the job runs with " + describe(job, event.settings)
                       + ", agent " + event.offering.agent.value + " asks for "
                       + describe(event.settings, job)};
}

// Who was accepted once has what is the job's from a coordinator.
bool admission::fits(const agent_joined& event) const {
  if (event.held || event.told)
    return event.settings.ranked == orders_.settings().ranked;
  return core::fits(event.settings, orders_.settings(),
                    !orders_.resize_reason().empty(), limits_.fence_guard / 2);
}

std::optional<failure> admission::refusal_for_claim(const offer& x,
                                                    const claim& held) const {
  const auto claims = "agent " + x.agent.value + " claims workers, but ";
  if (auto ok = check_plan(held.plan, x); !ok)
    return failure{errc::bad_plan, claims + ok.error().text};
  if (held.plan.generation >= claimed_generation_end)
    return failure{errc::bad_plan,
                   claims + "no generation of theirs can have such a number"};
  if (recovery_.is_of_another_job(held.plan.generation)
      && held.state == share_state::succeeded)
    return failure{errc::job_over,
                   "the workers of agent " + x.agent.value
                     + " have succeeded in a job of this id that has ended;"
                       " they are not run again in this one"};
  return std::nullopt;
}

std::optional<failure>
admission::refusal_for_rank(const agent_joined& event) const {
  const auto& x = event.offering;
  const auto count = orders_.settings().agent_count_max;
  const auto rank = x.node_rank.value_or(count);
  if (rank >= count)
    return failure{errc::settings_mismatch, "agent " + x.agent.value
                                              + " brings no node rank in 0.."
                                              + std::to_string(count - 1)};
  // An agent that claims workers must be known here until it has stopped them.
  if (event.held || agents_.contains(x.agent))
    return std::nullopt;
  for (const auto& [id, other] : agents_.records())
    if (other.offering.node_rank == rank && other.connected && !other.leaving
        && !other.excluded && !is_silent(id))
      return failure{errc::duplicate_agent,
                     "node rank " + std::to_string(rank) + " is taken: agent "
                       + id.value + " on " + other.offering.host + " has it"};
  return std::nullopt;
}

// It may have been replaced: then the lease decides, and the other waits for it.
bool admission::is_silent(const agent_id& agent) const {
  const auto heard = leases_.heard(agent);
  return heard && now_ - *heard >= 2 * limits_.keep_alive_interval;
}

} // namespace actorrun::core
