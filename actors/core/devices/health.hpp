// Interprets the driver's reports about a GPU.
#pragma once

#include <cstdint>
#include <string>

namespace actorrun::core {

/// What is done about a report.
enum class gpu_verdict : uint8_t {
  nothing, ///< It follows from the end of a program that we may have ended.
  logged,  ///< Caused by a program: the GPU is healthy.
  flagged, ///< The GPU, its memory or its links are at fault.
};

struct gpu_finding {
  gpu_verdict verdict = gpu_verdict::flagged;
  std::string text{}; ///< `XID 79: has fallen off the bus`
};

/// Reads an XID, the driver's number for what went wrong. One that is not known
/// here flags the GPU.
/// @see NVIDIA's "XID Errors"; the Kubernetes device plug-in passes over the
///      same numbers as programs' doings.
gpu_finding read_xid(uint64_t xid);

} // namespace actorrun::core
