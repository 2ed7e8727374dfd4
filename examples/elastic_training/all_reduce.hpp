// Adds up a vector over all workers of the epoch, and sends them the sum.
#pragma once

#include "environment.hpp"
#include "socket.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace training {

/// A star: rank 0 listens at MASTER_ADDR:MASTER_PORT, adds up what the others
/// send, in the order of their ranks, and sends the sum back. Simple, exact to
/// the bit from run to run, and good for a handful of workers.
///
/// A worker whose peer disappears ends: the group is broken, and the launcher
/// starts a new one.
class all_reduce {
public:
  /// Meets the other workers. A peer of another job or epoch is refused.
  /// @param step  where this worker resumes; must be the same for all
  all_reduce(const environment& self, uint64_t step);

  /// Replaces `values` by their sum over all workers.
  /// @pre the same size in every worker
  void sum(std::span<float> values);

  /// Returns once all workers have called it.
  void wait_for_all();

private:
  void gather(const environment& self, uint64_t step);
  void join(const environment& self, uint64_t step);

  std::vector<socket_handle> peers_; ///< Rank 0: ranks 1...; others: rank 0.
  bool adds_up_;                     ///< Is rank 0.
  std::vector<float> received_;      ///< Rank 0's scratch space.
};

} // namespace training
