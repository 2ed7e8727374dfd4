// Derives what authenticates the members of a job: a public fingerprint and a
// private key.
#pragma once

#include "messages/ids.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace actorrun::detail {

inline constexpr size_t fingerprint_size = 16; // bytes
inline constexpr size_t nonce_size = 16;       // bytes
inline constexpr size_t key_size = 32;         // bytes
inline constexpr size_t proof_size = 32;       // bytes, one SHA-256

/// Distinguishes jobs on the wire without revealing their names. All zero: any
/// job, for operators on this host.
using job_fingerprint = std::array<uint8_t, fingerprint_size>;

/// Random bytes that make every handshake unique.
using nonce_bytes = std::array<uint8_t, nonce_size>;

template <size_t N>
std::string_view view(const std::array<uint8_t, N>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

/// The secret key that the members of a job share.
using job_key = std::array<uint8_t, key_size>;

/// Proves that its author has a key, without revealing the key.
using proof_bytes = std::array<uint8_t, proof_size>;

/// The key of one connection, from its handshake.
using link_key = std::array<uint8_t, key_size>;

/// What only the two ends of one encrypted link know: by it the next link shows
/// that it comes from the same agent.
using resumption_key = std::array<uint8_t, key_size>;

class munge_queue;
class tls_identity;

/// What a member of a job needs for a handshake, and for the link after it.
struct credentials {
  job_fingerprint fingerprint{};
  job_key key{};
  bool has_secret
    = false; ///< Else the key comes from the job's id, or by munge.
  std::shared_ptr<const tls_identity> identity{}; ///< Null: no certificates.
  /// Gets the key to other nodes, which prove by that that they are our user's.
  /// Null: it is not used.
  std::shared_ptr<munge_queue> munge{};
  /// Else only where the other side demands it. Then the key is random, and an
  /// agent's is that of the coordinator it was linked with last.
  bool demands_munge = false;
  /// Why it does not, though it should if munge works here; empty: no such thing.
  std::string munge_lack{};

  /// Whether only members can have the key, or a certificate.
  bool is_guarded() const { return has_secret || identity || demands_munge; }
};

/// The truncated SHA-256 of a label and the id: equal for equal ids only.
job_fingerprint fingerprint_of(const job_id& job);

/// The job's key by HKDF-SHA256. Jobs that share a secret have different keys.
/// @param secret Any bytes. Empty: the key comes from the job id alone and is
///               no stronger than the id. A weak secret can be guessed from a
///               recorded handshake, so it should be random.
job_key derive_key(const job_id& job, std::string_view secret);

credentials credentials_of(const job_id& job, std::string_view secret);

/// A nonce from the system's random numbers.
nonce_bytes random_nonce();

/// A key from the system's random numbers.
job_key random_key();

/// HMAC-SHA256 over the label and the parts in their order.
/// @pre every part has a fixed size, so that no two lists read the same
proof_bytes prove(const job_key& key, std::string_view label,
                  std::span<const std::string_view> parts);

/// Encrypts what only members of the job may read (AES-256-GCM, NIST SP 800-38D): 12
/// random bytes, the ciphertext, and a tag of 16 that also proves the label.
std::string seal(const job_key& key, std::string_view label,
                 std::string_view what);

/// None: it was not sealed with this key and this label.
std::optional<std::string> unseal(const job_key& key, std::string_view label,
                                  std::string_view sealed);

/// Compares in a time that does not depend on where the two differ.
bool same_proof(const proof_bytes& a, std::string_view b);

} // namespace actorrun::detail
