// Encodes the handshake: frames of fixed size but one, integers in network order.
// A side that reads exactly its frames leaves what follows untouched.
//
//   client hello    4 "ARUN"  2 version  1 purpose  1 has: 1 a secret, 2 certificates,
//                   4 munge, 8 demands it
//                   16 fingerprint  16 nonce  128 peer id, padded with zeros
//   server hello    4 "ARUN"  2 version  1 verdict  1 zero  16 nonce
//   credential      2 size, 0: munge fails  munge's text; follows a server hello
//                   with the verdict `munge`
//   client proof    32 HMAC  32 HMAC by the key of its last link, or zeros
//   server verdict  1 verdict  16 incarnation  32 HMAC; zeros unless it is ok
//   tombstone       16 incarnation  36 the job's charter  32 HMAC; follows a server
//                   hello with the verdict `gone` and ends the connection
//
// The client's version is the newest that it speaks, and the server's the newest that both
// do (messages/version.hpp). All versions of the protocol share the first six bytes of
// the client hello and the whole of the server hello; so two versions can report their
// difference. Since version 12 they share the whole of both.
#pragma once

#include "actors/core/protocol/charter.hpp"
#include "runtime/network/keys.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// What a frame without encryption begins with.
inline constexpr std::string_view frame_magic = "ARUN";

inline constexpr size_t peer_id_size_max = 128;
inline constexpr size_t client_hello_size
  = 8 + fingerprint_size + nonce_size + peer_id_size_max;
inline constexpr size_t server_hello_size = 8 + nonce_size;
inline constexpr size_t client_proof_size = 2 * proof_size;
inline constexpr size_t server_verdict_size = 1 + nonce_size + proof_size;
/// The number, the revision, the lease and what a successor must know of the settings.
inline constexpr size_t charter_size = 36;
inline constexpr size_t tombstone_size = nonce_size + charter_size + proof_size;
inline constexpr size_t credential_head_size = 2;
/// Ours have some 300 bytes.
inline constexpr size_t credential_size_max = 2048;

/// Why a peer connects.
enum class purpose : uint8_t {
  join = 1,    ///< An agent that takes part in the job.
  operate = 2, ///< An operator that queries and controls the job.
  vote = 3,    ///< An agent that speaks to another about who leads.
};

/// The server's verdict on the client. No value is a `purpose`, so an echo of
/// the client's hello is never mistaken for an answer.
enum class verdict : uint8_t {
  ok = 16,
  version_differs = 17,
  job_differs = 18,
  secret_differs = 19, ///< Both have one.
  busy = 20, ///< No descriptors are left; another attempt may succeed.
  gone = 21, ///< The coordinator has ended: its machine says so, in its place.
  claimed = 22,         ///< An agent with this id is connected.
  secret_missing = 23,  ///< The job has a secret, the client none.
  secret_unwanted = 24, ///< The client has a secret, the job none.
  user_differs = 25,    ///< Another user's process on the coordinator's host.
  certificate_missing = 26,  ///< The job has certificates, the client none.
  certificate_unwanted = 27, ///< The client has certificates, the job none.
  munge = 28,          ///< So far ok; munge has to show whose process it is.
  munge_missing = 29,  ///< The job demands munge, the client has none.
  munge_unwanted = 30, ///< The client demands munge, the job does not.
};

struct client_hello {
  uint16_t version = 0;
  purpose intent = purpose::join;
  job_fingerprint fingerprint{};
  nonce_bytes nonce{};
  std::string peer_id;     ///< The agent's id, or the operator's.
  bool has_secret = false; ///< Says what is wrong when the proof is.
  bool has_certificates = false;
  bool has_munge = false;
  bool demands_munge = false;
};

struct server_hello {
  uint16_t version = 0;
  verdict status = verdict::ok;
  nonce_bytes nonce{};
};

struct server_verdict {
  verdict status = verdict::ok;
  nonce_bytes incarnation{}; ///< Of the coordinator: random, one per process.
  proof_bytes proof{};
};

/// Proves that a coordinator has ended, see `network/tombstone.hpp`.
struct coordinator_tombstone {
  nonce_bytes incarnation{};
  core::charter job{}; ///< Its hosts that are excluded are not in it.
  proof_bytes proof{};
};

/// 1..`peer_id_size_max` printable ASCII characters without spaces: it goes
/// into logs, so it may not carry line ends or colours.
bool is_peer_id(std::string_view text);

/// Whether `bytes`, however few, can begin a frame of ours.
bool begins_like_ours(std::string_view bytes);

/// Whether `bytes` begin a request to etcd: sent by a node of our job that was
/// started with the etcd backend.
bool begins_like_etcd(std::string_view bytes);

/// The HTTP reply to such a node: the request is misdirected.
inline constexpr std::string_view not_etcd
  = "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";
inline constexpr long not_etcd_status = 421;

/// The version in the beginning of a hello, once enough of it is there.
std::optional<uint16_t> version_in(std::string_view bytes);

/// @pre `is_peer_id(x.peer_id)`
std::string encode(const client_hello& x);
std::string encode(const server_hello& x);
std::string encode(const server_verdict& x);
std::string encode(const coordinator_tombstone& x);

/// The frame of a credential. @pre it has at most `credential_size_max` bytes
std::string encode_credential(std::string_view credential);

/// None if a field has a value that no process of ours writes.
/// @pre `bytes` has the size of the frame
std::optional<client_hello> decode_client_hello(std::string_view bytes);
std::optional<server_hello> decode_server_hello(std::string_view bytes);
std::optional<server_verdict> decode_server_verdict(std::string_view bytes);

/// @pre `bytes` has the size of the frame
coordinator_tombstone decode_tombstone(std::string_view bytes);

/// What a tombstone says of the job: `charter_size` bytes.
std::string encode_charter(const core::charter& x);

/// The size of the credential that follows; may be more than we take.
/// @pre `bytes` has `credential_head_size`
size_t decode_credential_size(std::string_view bytes);

/// A number as it is in the frames: 8 bytes in network order.
std::string network_order(uint64_t x);

} // namespace actorrun::detail
