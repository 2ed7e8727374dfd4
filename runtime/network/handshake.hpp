// Authenticates peers: both sides of the handshake, as bytes in and bytes out.
//
//   client                                   server
//     | -- hello: version, job, nonce -------> |
//     | <------ hello: version, ok?, nonce --- |
//     | <-- the job's key, sealed by munge --- |  if the job uses munge
//     | -- proof over both hellos -----------> |
//     | <-- verdict, proof over all of it ---- |
//
// Where the system identifies the peer (a Unix socket), it ends with the
// hellos. The proofs authenticate the start of a connection; its later bytes are
// encrypted with a key that both sides derive from the hellos.
#pragma once

#include "messages/result.hpp"
#include "messages/version.hpp"
#include "runtime/network/frames.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/os/munge.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// How the other side proves that it belongs to the job.
enum class trust {
  secret, ///< It holds the job's key.
  system, ///< The system identifies its process; no proof is needed.
  none,   ///< The system says that its process is another user's.
};

/// Who takes over a port: in logs of a coordinator that lives there.
inline constexpr auto successor_id = "successor";

enum class handshake_state { pending, accepted, refused };

/// One side of a handshake. Knows no socket, no clock and no randomness.
class handshake {
public:
  virtual ~handshake() = default;

  /// The bytes still missing in the frame that comes next; 0 at the end, and while
  /// munge works. Never read more: what follows belongs to the next protocol.
  size_t wanted() const {
    return pending() && !task_ ? size_ - frame_.size() : 0;
  }

  /// Takes input. Refuses a side that cannot be ours at its first wrong byte.
  /// @returns what to send, also when it has just refused the other side
  /// @pre `input.size() <= wanted()`
  std::string feed(std::string_view input);

  /// What munge has to do before this goes on with `take_from_munge`. It blocks, so
  /// it is done elsewhere.
  const std::optional<munge_task>& task() const { return task_; }

  /// @param done As `munge_queue::ask` has it.
  /// @returns what to send, also when it has just refused the other side
  /// @pre there is a `task()`
  std::string take_from_munge(const result<std::string>& done);

  /// Whether the other side has sent anything.
  bool silent() const { return silent_; }

  handshake_state state() const { return state_; }

  /// What is wrong with the other side; the text begins with a verb, so that
  /// the caller can put the peer's name before it.
  /// @pre `state()` is `refused`
  const failure& why() const { return why_; }

  /// What encrypts the bytes that follow. @pre `state()` is `accepted`, by
  /// `trust::secret`
  link_key key() const;

  /// Of the protocol, that both sides know. @pre `state()` is `accepted`
  uint16_t version() const { return version_; }

  /// The job's key: munge may have brought another one.
  const job_key& key_of_job() const { return mine_.key; }

protected:
  handshake(const credentials& mine, size_t first_frame)
    : mine_(mine), size_(first_frame) {}

  /// Examines the beginning of a frame before the rest has arrived.
  virtual std::string on_part(std::string_view part) = 0;
  virtual std::string on_frame(std::string_view frame) = 0;
  virtual std::string on_munge(const result<std::string>& done) = 0;

  bool pending() const { return state_ == handshake_state::pending; }
  void expect(size_t size) { size_ = size; }
  void have_munge(munge_task::kind what, std::string_view text) {
    task_ = {what, std::string{text}};
  }
  void accept() { state_ = handshake_state::accepted; }
  void refuse(errc code, std::string text);

  credentials mine_;
  std::string hellos_; // Both frames as they went over the wire.
  uint16_t version_ = protocol_version;

private:
  std::string frame_;
  size_t size_;
  std::optional<munge_task> task_;
  bool silent_ = true;
  handshake_state state_ = handshake_state::pending;
  failure why_;
};

/// The side that accepts the connection.
class server_handshake : public handshake {
public:
  /// The resumption key of the link that an agent has now, if it has one.
  using resumption_finder
    = std::function<std::optional<resumption_key>(const std::string& agent)>;

  /// @param nonce Random and never used before.
  /// @param incarnation What the client will know this process by.
  /// @param resumption_of Refuses a second claim to an agent's id; may be empty.
  server_handshake(const credentials& mine, const nonce_bytes& nonce, trust how,
                   const nonce_bytes& incarnation = {},
                   resumption_finder resumption_of = {});

  /// The authenticated peer. @pre `state()` is `accepted`
  const client_hello& peer() const { return *hello_; }

private:
  std::string on_part(std::string_view part) override;
  std::string on_frame(std::string_view frame) override;
  std::string on_munge(const result<std::string>& done) override;
  std::string on_hello(std::string_view frame);
  std::string on_proof(std::string_view frame);
  std::optional<verdict> refuse_munge(const client_hello& hello);
  std::string answer(verdict status);
  std::string refuse_secret();
  std::string refuse_user();
  std::string refuse_certificates();
  bool is_our_job(const job_fingerprint& theirs) const;
  bool is_claimed(std::string_view resumed) const;

  nonce_bytes nonce_;
  nonce_bytes incarnation_;
  trust how_;
  resumption_finder resumption_of_;
  std::optional<client_hello> hello_;
};

/// The side that connects.
class client_handshake : public handshake {
public:
  /// @param mine  With `trust::system` the fingerprint may be all zero.
  /// @param nonce Random and never used before.
  /// @param last  The resumption key of the agent's last link, if it has had one.
  /// @pre `is_peer_id(peer_id)`
  client_handshake(const credentials& mine, purpose intent,
                   const std::string& peer_id, const nonce_bytes& nonce,
                   trust how, std::optional<resumption_key> last = {});

  /// What to send first.
  const std::string& opening() const { return opening_; }

  /// The coordinator's. @pre `state()` is `accepted`, by `trust::secret`
  const nonce_bytes& incarnation() const { return incarnation_; }

  /// What its machine has said in the place of a coordinator that has ended,
  /// if it did; it is genuine. Then `state()` is `refused`.
  const std::optional<coordinator_tombstone>& tombstone() const {
    return tombstone_;
  }

  /// Whether it is that of another job, or of one with another secret.
  bool has_strange_tombstone() const { return has_strange_tombstone_; }

private:
  /// The frame that comes next.
  enum class stage { hello, credential_head, credential, verdict, tombstone };

  std::string on_part(std::string_view part) override;
  std::string on_frame(std::string_view frame) override;
  std::string on_munge(const result<std::string>& done) override;
  std::string on_hello(std::string_view frame);
  std::string on_credential_head(std::string_view frame);
  std::string on_credential(std::string_view frame);
  std::string on_verdict(std::string_view frame);
  std::string on_tombstone(std::string_view frame);
  std::string go_on_after_hello(verdict x);
  std::string give_proof();
  void refuse_in_hello(verdict x);
  bool refuse_by(verdict x);
  void refuse_without_munge();

  trust how_;
  std::optional<resumption_key> last_;
  std::string opening_;
  std::string proof_; // The frame.
  nonce_bytes incarnation_{};
  std::optional<coordinator_tombstone> tombstone_;
  bool has_strange_tombstone_ = false;
  stage stage_ = stage::hello;
};

/// The reply of a server that has no descriptor for a handshake.
std::string busy_answer();

/// How far a handshake has come.
enum class exchange_state {
  waiting, ///< No more input now.
  settled, ///< The handshake is accepted or refused.
  munge,   ///< Munge has to do its task, and no input is read until then.
  closed,  ///< The connection ended first.
};

/// Reads the input of `side` and sends its answers, as far as input has
/// arrived.
exchange_state exchange(int fd, handshake& side);

} // namespace actorrun::detail
