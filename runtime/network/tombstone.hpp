// Writes and checks tombstones: proofs that a process has ended, which its
// machine gives in its place.
//
// A tombstone is written while the process lives, and given to its warden, which
// says it only when the process is gone. So it needs no key then, and whoever
// repeats it repeats what is true for ever. A refused connection, a reset or
// silence can come from any router on the way; they prove nothing.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/frames.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/os/socket_address.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Bytes of an agent's tombstone: "ARUN", 32 HMAC.
inline constexpr size_t agent_tombstone_size = 4 + proof_size;

/// Says that the agent has ended and that none of its workers runs.
/// @pre `is_peer_id(agent)`
std::string agent_tombstone(const job_key& key, std::string_view agent);

/// Says, to whoever connects as a client, that the coordinator has ended: a
/// server hello and a `coordinator_tombstone`.
/// @param job What is true until another statement takes the place of this one.
std::string coordinator_answer(const job_key& key,
                               const nonce_bytes& incarnation,
                               const core::charter& job);

/// Whether the tombstone was written with this key.
bool is_genuine(const job_key& key, const coordinator_tombstone& x);

/// Asks the machine of a dead coordinator to free its port, for a successor.
std::string release_request(const job_key& key, const nonce_bytes& incarnation);

/// Bytes of a `release_request`.
inline constexpr size_t release_request_size = proof_size;

struct taken_port {
  /// The coordinator whose machine has freed the port; none: it has not.
  std::optional<coordinator_tombstone> dead{};
  /// A dead coordinator of another job, or with another secret, holds it for a
  /// moment.
  bool is_another_job = false;
  /// Whoever held it closed the connection without an answer, or the port is
  /// free by now: maybe a killed process, which the kernel still takes apart.
  bool has_hung_up = false;
};

/// Asks whoever listens at `where`, on this machine, for a coordinator's
/// tombstone; if there is one of our job, has the port freed. Blocks for at most
/// two seconds, three with munge. Finds nothing where a coordinator lives.
taken_port take_over(const socket_address& where, const credentials& mine);

} // namespace actorrun::detail
