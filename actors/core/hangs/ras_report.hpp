// Reads what NCCL says of processes that have not launched what others have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// A process whose GPU lacks a collective operation that most ranks of one of its
/// communicators have launched.
struct lagging_process {
  int64_t pid = 0;
  /// `rank 17 of communicator #0-0 has not launched AllReduce 48213, which 63 others
  /// have`, one line
  std::string words{};

  friend bool operator==(const lagging_process&, const lagging_process&)
    = default;
};

inline constexpr size_t lagging_processes_max = 64;

/// @param text Of any process: the answer of NCCL's RAS service, from 2.24 on, to
///             `VERBOSE STATUS` (docs.nvidia.com, "RAS"; src/ras/client_support.cc). What
///             is not understood is passed over.
/// @returns each process once, in the order of the text, at most
///          `lagging_processes_max`; without those whose pid NCCL does not know
std::vector<lagging_process> find_lagging(std::string_view text);

} // namespace actorrun::core
