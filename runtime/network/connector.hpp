// Connects to a coordinator and authenticates both sides before any other byte
// is sent.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/network/frames.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/munge_queue.hpp"
#include "runtime/options.hpp"
#include "runtime/os/connect.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/resolver.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// An authenticated connection.
struct connected {
  unique_fd connection; ///< Non-blocking; nothing is read past the handshake.
  /// Our end's numeric host, by which the other side's network reaches us.
  /// Empty on a Unix socket.
  std::string local_address;
  std::string server_host;       ///< As it was asked for, or the socket's path.
  nonce_bytes incarnation{};     ///< Of the coordinator; zero on a Unix socket.
  std::optional<link_key> key{}; ///< None on a Unix socket.
  /// What tombstones of the job are written with: the client's, or munge's.
  job_key key_of_job{};
};

/// How the process that connects identifies itself.
struct client_identity {
  credentials mine; ///< May be empty on a Unix socket: any job.
  purpose intent = purpose::join;
  std::string id; ///< See `is_peer_id`.
  /// The coordinator that served it last, if one did: only its end is reported
  /// as `coordinator_gone`.
  std::optional<nonce_bytes> served_by{};
  std::optional<resumption_key> last_link{}; ///< If it has had one.
};

/// Called once, on the reactor's thread; must not block. On failure the code is
/// `unresolvable`, `connection_refused` (by every address), `connection_failed`,
/// `connection_timed_out`, `not_actorrun`, `protocol_mismatch`, `job_mismatch`,
/// `secret_mismatch`, `user_mismatch`, `certificate_mismatch`, or
/// `coordinator_gone`, the only one that proves anything; the text says where,
/// what and what to do about it.
using connect_callback = std::function<void(result<connected>)>;

/// Connects to one address of the endpoint after the other until one accepts
/// us, all within the deadline; each gets an equal part of the remaining time.
/// @param deadline For everything: resolving, connecting, proving; > 0.
/// @returns the attempt; its destructor gives up, and the callback is not
///          called
/// @pre `is_peer_id(who.id)`; `home` outlives the attempt
[[nodiscard]] reactor_handle connect(reactor& home, const endpoint& where,
                                     const client_identity& who,
                                     core::duration deadline,
                                     connect_callback on_done);

/// The same for a Unix socket, where the private folder replaces the secret.
[[nodiscard]] reactor_handle
connect_unix(reactor& home, const std::string& path, const client_identity& who,
             core::duration deadline, connect_callback on_done);

/// Where an attempt goes.
struct target {
  std::string host; ///< A name or number; or a path when `port` is 0.
  uint16_t port = 0;

  bool on_this_host() const { return port == 0; }
  std::string text() const;
};

///   resolving ---> dialling ---> proving ---> done
///                     ^             |
///                     +-- next one -+
/// Everything but the constructor runs on the reactor's thread.
class connect_attempt : public reactor_part,
                        public std::enable_shared_from_this<connect_attempt> {
public:
  connect_attempt(reactor& home, target where, const client_identity& who,
                  core::duration deadline, connect_callback on_done);

  void start() override;
  void stop() override;

private:
  void on_resolved(const result<std::vector<socket_address>>& found);
  void try_next();
  void on_dialled(int error, unique_fd fd);
  void watch();
  void on_ready();
  void ask_munge();
  void on_munge(const result<std::string>& done);
  void give_up_on_user(uid_t user);
  void on_settled();
  void on_late();
  void give_up_on(errc code, const std::string& what);
  void close();
  void fail(errc code, const std::string& what);
  void finish(result<connected> outcome);
  void arm(core::duration delay);
  core::duration time_left() const;
  std::string place() const;

  reactor& home_;
  target where_;
  client_identity who_;
  core::duration deadline_;
  core::time_point due_{};
  connect_callback on_done_; // Empty once the attempt is over.
  reactor::timer timer_ = 0;
  std::vector<socket_address> addresses_;
  size_t next_ = 0; // Into addresses_; the one before it is being tried.
  std::optional<failure> worst_;
  std::unique_ptr<resolution> resolution_;
  std::unique_ptr<dial> dial_;
  unique_fd fd_; // Watched while it is open, unless there is a call.
  std::optional<client_handshake> talk_;
  std::optional<munge_call> call_;
};

} // namespace actorrun::detail
