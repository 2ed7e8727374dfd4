// Translates what the agents that elect a coordinator say to each other. What comes in
// has gone through the hands of a peer: what no honest one writes is refused here.
#pragma once

#include "actors/core/succession/beginning.hpp"
#include "actors/core/succession/founding.hpp"
#include "actors/core/succession/succession_messages.hpp"
#include "messages/result.hpp"

#include "messages/rendezvous.pb.h"
#include "messages/succession.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace actorrun {

/// More proofs than this are not told: the newest are left out.
inline constexpr size_t told_proofs_max = 16;

/// Of one host; more agents or addresses are not told, and then nothing is.
inline constexpr size_t surveyed_addresses_max = 64;
inline constexpr size_t surveyed_agents_max = 256;

/// An agent asks where the coordinator is.
struct find_leader {
  std::string endpoint;      ///< Where it listens for the answer.
  bool is_witness = false;   ///< It is a voter without an agent.
  bool takes_answer = false; ///< On the link of the question.
};

/// Who is asked, and may know.
struct leader_at {
  agent_id leader; ///< Empty: it does not know; only on the link of a question.
  std::string endpoint;         ///< Where that one answers as a voter.
  std::string coordinator;      ///< Where its coordinator does; empty: ask it.
  core::endpoint_list voters{}; ///< Who votes or may lead; for a witness.
  /// For a witness, which ends: how the job has. None: it goes on.
  std::optional<core::outcome> decided{};
};

/// Nodes look for the coordinator where the sender is: it is to move there.
struct call_home {};

using voter_message
  = std::variant<core::succession_message, find_leader, leader_at, call_home,
                 core::host_survey, core::founding_message>;

v1::VoterMessage to_wire(const voter_message& x);
v1::Tombstone to_wire(const core::tombstone& x);
v1::VotersChanged voters_to_wire(const core::endpoint_list& x);

/// Of more agents than can vote the first; ids and endpoints may be anything.
core::endpoint_list voters_from_wire(const v1::VotersChanged& x);

/// `10.0.0.2:41000`, with brackets around an IPv6 address.
std::string voter_endpoint(const std::string& address, uint16_t port);

/// @retval errc::not_actorrun  it says nothing that we know, or what cannot be:
///         the text is a verb and its object, as `sends a charter without voters`
result<voter_message> from_wire(const v1::VoterMessage& x);
result<core::tombstone> from_wire(const v1::Tombstone& x);

} // namespace actorrun
