// Keeps a port bound for the next generation's store, and serves that of this one.
#pragma once

#include "actors/log.hpp"
#include "actors/ports/master_ports.hpp"
#include "runtime/store/entrance.hpp"
#include "runtime/store/master_port.hpp"
#include "runtime/store/server.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

/// The most memory, in bytes, that a store keeps here: as `core::store_limits`
/// has it, or a quarter of what this process may use if that is less.
/// @param available None: unknown. @see memory_limit
size_t store_memory_max(std::optional<uint64_t> available);

struct store_place {
  /// The port to use always; none: another one for every generation.
  std::optional<uint16_t> port{};
  /// All workers are on this host.
  bool is_alone = false;
};

/// A port that other nodes know stays bound at this node's address, so no other
/// process can take it; it listens as long as its generation needs it, if rank 0 is
/// here.
class store_ports final : public ports::master_ports {
public:
  /// @pre `home` outlives this
  store_ports(reactor& home, store_place place, log lines)
    : home_(home), place_(place), lines_(std::move(lines)) {}

  ~store_ports() override {
    if (entrance_)
      entrance_->close();
  }

  /// Binds the port of the place now, or another one if it has none, so that the
  /// first generation cannot lack it.
  /// @pre `announce` was called
  /// @retval errc::address_in_use  another program has the port
  /// @retval errc::cannot_listen   this host cannot have it; the text says why
  result<void> hold();

  /// Uses this port always, if no other program has it.
  /// @pre the place has no port, and `announce` was not called
  void prefer(uint16_t port) { preferred_ = port; }

  uint16_t next() override;

  /// Blocks like `listen_address` if it is a name. What is no address of this
  /// host (behind address translation, say) stands for all of them, unless all
  /// workers are here or it is a loopback address: then there is no port.
  void announce(const std::string& address) override;

  /// Clients that come to the coordinator's port are let into the store here.
  void share(std::shared_ptr<store_entrance> entrance) {
    entrance_ = std::move(entrance);
  }

  /// Says of the coordinator's port that it is the store's: the only one that
  /// others know. @pre `share` was called
  void show(uint16_t coordinators_port) { shown_ = coordinators_port; }

  result<void> open(const core::generation_plan& plan) override;
  void elsewhere(const core::generation_plan& plan) override;
  void close() override;

private:
  result<socket_address> look_up() const;
  result<bound_port> bind_given(uint16_t port);
  result<bound_port> bind();
  /// @returns false if only this host may reach the store
  bool open_to_all(const std::string& why);
  std::optional<bound_port>* find(uint16_t port);
  void retire();

  reactor& home_;
  store_place place_;
  log lines_;
  /// Of a store; none: not asked yet. Asked once: a restart would wait for it.
  std::optional<size_t> memory_max_;
  std::string address_; ///< As announced; empty: not yet.
  std::optional<socket_address> where_;
  std::string trouble_;               ///< Why there is no port.
  std::optional<uint16_t> preferred_; ///< Until it has been tried.
  std::optional<errc> failed_with_;   ///< Likewise.
  unique_fd lock_;                    ///< Of the port to use always.
  std::optional<uint16_t> shown_;     ///< Instead of those that are bound.
  std::optional<bound_port> current_;
  std::optional<bound_port> last_;
  std::shared_ptr<store_entrance> entrance_; ///< May be null.
  std::unique_ptr<store_server> server_;
  std::unique_ptr<store_server> retired_; ///< Serves no more.
};

} // namespace actorrun::detail
