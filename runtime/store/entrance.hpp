// Leads clients of torch's store that have come to the coordinator's port to the
// store of the generation.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"
#include "actors/log.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/store/server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace actorrun::detail {

/// A client waits at most this long until a generation's store is served here.
inline constexpr auto entrance_wait_max = std::chrono::seconds{10};

/// At most this many wait; beyond that, the one that has waited longest is cut off.
inline constexpr size_t entrance_waiting_max = 256;

/// Scripts that were written for torchrun may know the store by the address of the
/// command line, where torchrun serves it. What such a client may do is what it may
/// do at MASTER_PORT. Any thread may call, except where it says otherwise.
class store_entrance : public std::enable_shared_from_this<store_entrance> {
public:
  /// @pre `home` outlives all calls
  store_entrance(reactor& home, log lines)
    : home_(home), lines_(std::move(lines)) {}

  /// Takes a client of which nothing has been read. If the store is on another
  /// node, closes it, and warns of the first one in a generation. On the reactor's
  /// thread.
  void admit(unique_fd client, const std::string& address);

  /// The store is served here from now on. @pre it is, until `close`
  void open(store_server& to);

  /// It is not served here.
  void close();

  /// It is served where the plan says, and not by this process.
  void point_to(const core::generation_plan& plan);

private:
  using clock = std::chrono::steady_clock;

  struct waiting_client {
    unique_fd socket;
    std::string address;
    clock::time_point leaves;
  };

  void arm();
  void expire();
  void refuse(const unique_fd& client, const std::string& address);

  reactor& home_;
  log lines_;
  std::mutex mutex_;
  // The rest is guarded by it.
  store_server* server_ = nullptr;
  std::string elsewhere_; ///< Its address; empty: it is not known.
  bool has_warned_ = false;
  std::deque<waiting_client> waiting_; ///< The first came first.
  uint64_t cut_off_count_ = 0;         ///< For want of room, not logged yet.
  bool is_armed_ = false;
};

} // namespace actorrun::detail
