// The agent's side of the network: reaches a coordinator through its door.
#pragma once

#include "actors/log.hpp"
#include "actors/ports/coordinator_locator.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/os/reactor.hpp"

#include <caf/fwd.hpp>

#include <memory>
#include <optional>

namespace actorrun::detail {

class coordinator_link final : public ports::coordinator_locator {
public:
  struct target {
    endpoint where;
    credentials mine;
    std::string agent; ///< The agent's id.
    core::duration limit;
    /// The endpoint names this host and somebody else listens there: if that
    /// is no coordinator, the address is taken.
    bool occupied = false;
  };

  /// @pre `system` and `home` outlive the locator
  coordinator_link(caf::actor_system& system, reactor& home, target to,
                   log lines);
  ~coordinator_link() override;

  coordinator_link(const coordinator_link&) = delete;
  coordinator_link& operator=(const coordinator_link&) = delete;

  void seek(listener on_result) override;
  void drop() override;

  /// As `seek`, elsewhere.
  void seek_at(const endpoint& where, listener on_result);

private:
  void on_connected(result<connected> x, const listener& on_result);
  void show_liveness(const std::string& address);
  failure explain(failure why) const;
  void cut();

  caf::actor_system& system_;
  reactor& home_;
  target to_;
  log lines_;
  // The rest belongs to the reactor's thread.
  reactor_handle attempt_;
  unique_fd copy_; ///< Of the link's descriptor, which is CAF's.
  std::optional<liveness_listener> liveness_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// For an agent that shares the process with its coordinator.
class local_locator final : public ports::coordinator_locator {
public:
  local_locator(caf::strong_actor_ptr coordinator, std::string address)
    : where_{std::move(coordinator), std::move(address)} {}

  void seek(listener on_result) override { on_result(where_); }
  void drop() override {}

private:
  ports::location where_;
};

} // namespace actorrun::detail
