// Adds up a vector over all workers of the generation, and sends them the sum.
#pragma once

#include "environment.hpp"
#include "socket.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace training {

/// A star: rank 0 listens at MASTER_ADDR:MASTER_PORT, adds up what the others
/// send, in the order of their ranks, and sends the sum back. Simple, exact to
/// the bit from run to run, and good for a handful of workers.
///
/// When a peer disappears the group is broken, and every call throws
/// `peer_lost`. The launcher brings about a new one.
class all_reduce {
public:
  /// Meets the other workers. A peer of another job or generation is refused.
  /// @param step    how many this worker has done
  /// @param is_off  says that the group is broken; no call waits any longer then
  all_reduce(const environment& self, uint64_t step,
             std::function<bool()> is_off);

  /// The rank of a worker that has done more steps than some other, and no fewer
  /// than any; the same for all. Nothing if all have done the same.
  std::optional<uint32_t> ahead() const;

  /// Replaces `values` by their sum over all workers.
  /// @pre the same size in every worker
  void sum(std::span<float> values);

  /// Replaces `bytes` by those of one worker.
  /// @pre the same size and source in every worker
  void broadcast(std::span<std::byte> bytes, uint32_t source);

  /// Returns once all workers have called it.
  void wait_for_all();

private:
  void gather(const environment& self, uint64_t step);
  void join(const environment& self, uint64_t step);
  limit within(std::chrono::milliseconds time) const;
  void send_to(size_t peer, std::span<const std::byte> bytes);
  void receive_from(size_t peer, std::span<std::byte> bytes);

  std::function<bool()> is_off_;
  std::vector<socket_handle> peers_; ///< Rank 0: ranks 1...; others: rank 0.
  uint32_t rank_;                    ///< Rank 0 adds up.
  uint32_t ahead_;
  std::vector<float> received_; ///< Rank 0's scratch space.
};

} // namespace training
