// Decides whether an agent may join a job.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/generation_recovery.hpp"
#include "actors/core/protocol/job_orders.hpp"
#include "actors/core/protocol/lease_table.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"
#include "messages/result.hpp"

#include <optional>

namespace actorrun::core {

/// Nothing that an agent says of itself is believed before it was looked at here.
class admission {
public:
  /// All must live as long as this.
  admission(const agent_table& agents, const job_orders& orders,
            const generation_recovery& recovery, const lease_table& leases,
            const timeouts& limits, time_point now)
    : agents_(agents), orders_(orders), recovery_(recovery), leases_(leases),
      limits_(limits), now_(now) {}

  /// None: it may join.
  std::optional<failure> refusal(const agent_joined& event) const;

private:
  std::optional<failure> refusal_for_settings(const agent_joined& event) const;
  std::optional<failure> refusal_for_claim(const offer& x,
                                           const claim& held) const;
  std::optional<failure> refusal_for_rank(const agent_joined& event) const;
  bool fits(const agent_joined& event) const;
  bool is_silent(const agent_id& agent) const;

  const agent_table& agents_;
  const job_orders& orders_;
  const generation_recovery& recovery_;
  const lease_table& leases_;
  const timeouts& limits_;
  time_point now_;
};

} // namespace actorrun::core
