// Keeps a port bound for the next epoch's store, and serves that of this one.
#pragma once

#include "actors/log.hpp"
#include "actors/ports/master_ports.hpp"
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
  /// The port to use always; none: another one for every epoch.
  std::optional<uint16_t> port{};
  /// All workers are on this host.
  bool is_alone = false;
};

/// A port that other nodes know stays bound at this node's address, so no other
/// process can take it; it listens as long as its epoch needs it, if rank 0 is
/// here.
class store_ports final : public ports::master_ports {
public:
  /// @pre `home` outlives this
  store_ports(reactor& home, store_place place, log lines)
    : home_(home), place_(place), lines_(std::move(lines)) {}

  uint16_t next() override;

  /// Blocks like `listen_address` if it is a name. What is no address of this
  /// host (behind address translation, say) stands for all of them, unless all
  /// workers are here or it is a loopback address: then there is no port.
  void announce(const std::string& address) override;

  result<void> open(const core::epoch_plan& plan) override;
  void close() override;

private:
  result<socket_address> look_up() const;
  result<bound_port> bind() const;
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
  std::string trouble_; ///< Why there is no port.
  std::optional<bound_port> current_;
  std::optional<bound_port> last_;
  std::unique_ptr<store_server> server_;
  std::unique_ptr<store_server> retired_; ///< Serves no more.
};

} // namespace actorrun::detail
