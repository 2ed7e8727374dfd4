// One attempt to get in somewhere: resolve, connect, prove, within a deadline.
#pragma once

#include "runtime/network/connector.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/os/connect.hpp"
#include "runtime/os/reactor_part.hpp"
#include "runtime/os/resolver.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

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
class door_attempt : public door_part,
                     public std::enable_shared_from_this<door_attempt> {
public:
  door_attempt(reactor& home, target where, const visitor& who,
               core::duration deadline, connect_callback on_done);

  void start() override;
  void stop() override;

private:
  void on_resolved(const result<std::vector<socket_address>>& found);
  void try_next();
  void on_dialled(int error, unique_fd fd);
  void on_ready();
  void on_settled();
  void on_late();
  void give_up_on(errc code, const std::string& what);
  void fail(errc code, const std::string& what);
  void finish(result<connected> outcome);
  void arm(core::duration delay);
  core::duration time_left() const;
  std::string place() const;

  reactor& home_;
  target where_;
  visitor who_;
  core::duration deadline_;
  core::time_point due_{};
  connect_callback on_done_; // Empty once the attempt is over.
  reactor::timer timer_ = 0;
  std::vector<socket_address> addresses_;
  size_t next_ = 0; // Into addresses_; the one before it is being tried.
  std::optional<failure> worst_;
  std::unique_ptr<resolution> resolution_;
  std::unique_ptr<dial> dial_;
  unique_fd fd_; // Watched while it is open.
  std::optional<client_handshake> talk_;
};

} // namespace actorrun::detail
