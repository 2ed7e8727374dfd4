// Owns the agent's side of the network: its link to a coordinator.
#pragma once

#include "actors/log.hpp"
#include "actors/ports/coordinator_locator.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/guarded_link.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_keeper.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

class coordinator_link final : public ports::coordinator_locator {
public:
  struct target {
    endpoint where;
    credentials
      mine; ///< The key is the last coordinator's, if munge brings it.
    std::string agent; ///< The agent's id.
    /// The address that the agent announces; empty: that of its link.
    std::string announced{};
    core::duration limit{};
    /// The endpoint names this host and another process listens there: if that
    /// is not a coordinator, the address is in use.
    bool occupied = false;
    /// Says when the agent has ended; null: nothing does.
    std::shared_ptr<socket_keeper> keeper{};
    /// For so long the agent looks for its coordinator. Says so when the first one
    /// has not answered soon; 0: says nothing.
    core::duration seek_limit{};
    std::string launch{}; ///< Of the agent; see `open_presence`.
    /// Shows that the agent takes part, in place of the link; may be empty.
    std::function<result<void>()> show_presence{};
  };

  /// @pre `system` and `home` outlive the link
  coordinator_link(caf::actor_system& system, reactor& home, target to,
                   log lines);
  ~coordinator_link() override;

  coordinator_link(const coordinator_link&) = delete;
  coordinator_link& operator=(const coordinator_link&) = delete;

  void seek(bool was_member, listener on_result) override;
  void seek_second_way(std::function<void()> on_found) override;
  void forget_second_way() override;
  void drop() override;

  /// As `seek`, at another endpoint. The answer may be that it is elsewhere.
  void seek_at(const endpoint& where, listener on_result);

private:
  /// Attempts to connect beside a link that does not answer.
  struct second_way {
    std::function<void()> on_found;       ///< Empty: it was found.
    std::list<reactor_handle> attempts{}; ///< The oldest first.
    core::duration pause{};               ///< Before the next one.
    reactor::timer timer = 0;
    std::optional<connected> found{};
  };

  client_identity self() const;
  void try_second_way();
  void end_second_way();
  void on_connected(result<connected> x, const listener& on_result);
  void attach_to(connected x, const listener& on_result);
  result<void> show_presence();
  void show_liveness(const std::string& address);
  result<void> check_certificate(const std::string& seen_at) const;
  failure explain(failure why) const;
  void say_slow() const;
  void cut();

  caf::actor_system& system_;
  reactor& home_;
  target to_;
  log lines_;
  // The rest belongs to the reactor's thread.
  reactor_handle attempt_;
  reactor_handle link_;
  endpoint sought_;         ///< Where the last attempt went, …
  endpoint reached_;        ///< … and its numeric address, if it came up.
  std::string server_host_; ///< Likewise; as it was asked for.
  std::optional<second_way> second_;
  std::optional<resumption_key> last_key_; ///< Of the last link.
  /// Of the one before, while it is not known whether the coordinator's side has
  /// got as far with the last one.
  std::optional<resumption_key> earlier_key_;
  std::optional<liveness_listener> liveness_;
  std::string statement_; ///< What is said there when the agent has ended.
  std::optional<nonce_bytes> served_by_; ///< The last coordinator.
  bool is_present_ = false;
  reactor::timer slow_ = 0;          ///< Of the attempt.
  reactor::timer welcome_timer_ = 0; ///< Of the link, until it is served.
  bool has_answer_ = false;          ///< Of any attempt.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Locates the coordinator for an agent in the same process.
class local_locator final : public ports::coordinator_locator {
public:
  local_locator(caf::strong_actor_ptr coordinator, std::string address)
    : where_{std::move(coordinator), std::move(address)} {}

  void seek(bool, listener on_result) override { on_result(where_); }
  void seek_second_way(std::function<void()>) override {}
  void forget_second_way() override {}
  void drop() override {}

private:
  ports::location where_;
};

} // namespace actorrun::detail
