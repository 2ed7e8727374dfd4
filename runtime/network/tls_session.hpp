// Encrypts one side of a link: plain bytes in, TLS 1.3 records out, and back.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/link_side.hpp"
#include "runtime/network/tls_identity.hpp"

#include <openssl/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// By what both sides of a job know each other's links.
struct tls_trust {
  /// Shown to the other side, which has to show one of the same authority. Null:
  /// the key of the handshake is all there is.
  std::shared_ptr<const tls_identity> identity{};
  /// At the client's side: the host that the server's certificate has to name.
  std::string server_host{};
};

/// One side of TLS 1.3. Knows no socket and no clock. Cannot be moved: OpenSSL
/// knows its address.
///
/// Without certificates, the key that both sides have from their handshake is an
/// external PSK (RFC 8446 section 2.2) with an ephemeral X25519: what was recorded
/// stays secret when the job's secret is lost later. With certificates, which
/// exclude a PSK there, each side's first bytes prove that it has the key: so the
/// handshake in clear text was with the same peer, and no one has changed it.
class tls_session {
public:
  tls_session(link_side side, const link_key& key, const tls_trust& trust = {});
  ~tls_session();

  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;

  /// Takes what the network has brought and appends the plain text in it, which
  /// is shorter, to `plain`. Then `take_records` may have something to send.
  /// @returns `certificate_mismatch` if one side does not accept the other's, or
  ///          another failure if the other side has not the key, or one in between
  ///          has changed, dropped, repeated or reordered a byte; nothing after it
  ///          counts
  result<void> receive(std::string_view records, std::string& plain);

  /// Encrypts. @pre `is_open()`
  result<void> send(std::string_view plain);

  /// Tells the other side that nothing more comes.
  void close();

  /// What the other side has to get next; empty: nothing.
  std::string take_records();

  /// What only the two sides of this session know. @pre `is_open()`
  resumption_key key_to_resume() const;

  /// Whether the other side's certificate names a host; true without certificates.
  /// @pre `is_open()`
  bool may_speak_for(const std::string& host) const;

  /// Both sides have proved that they have the key.
  bool is_open() const { return is_open_; }

  /// The other side has said that nothing more comes.
  bool has_ended() const { return has_ended_; }

private:
  struct free_ssl {
    void operator()(SSL* x) const;
  };

  SSL* new_side(const tls_trust& trust) const;
  result<void> take(std::string& plain);
  result<void> shake_hands();
  result<void> read(std::string& plain);
  result<void> write(std::string_view plain);
  result<void> check_binding(std::string& plain);
  std::string binding_of(link_side side) const;
  failure complaint() const;

  link_side side_;
  link_key key_;
  bool has_certificates_;
  std::unique_ptr<SSL, free_ssl> ssl_;
  std::string_view in_;     ///< Records that OpenSSL has not read yet.
  std::string out_;         ///< Those that it has written.
  std::string first_bytes_; ///< Of the other side, until they are its proof.
  bool has_agreed_ = false; ///< On keys, but its proof may be missing.
  bool is_open_ = false;
  bool has_ended_ = false;
  uint64_t sent_count_ = 0; ///< Records since the link began.

  friend struct tls_callbacks;
};

} // namespace actorrun::detail
