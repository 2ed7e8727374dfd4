// Finds the control groups that limit this process's memory, and how much memory
// they and the machine leave to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// A group that counts this process's memory, as it is mounted.
struct control_group {
  std::string folder; ///< Of the group; the mount's own if it is not below it.
  std::string mount;  ///< The top of what is to be seen of the hierarchy.
  bool is_unified = false; ///< Version 2.
};

/// In the order of the table of mounts; most machines have one.
/// @param proc The proc file system; tests have their own.
std::vector<control_group> memory_groups(const std::string& proc = "/proc");

/// The folder of our own group of version 2; empty if there is none, or no mount
/// shows it.
std::string unified_folder(const std::string& proc = "/proc");

/// The least limit, in bytes, of this process's control groups and of those above
/// them; none if none has one.
std::optional<uint64_t> group_memory_limit(const std::string& proc = "/proc");

/// Bytes of memory that this process may use: the least of what its control
/// groups, those above them, and the machine have. None if nothing says it.
std::optional<uint64_t> memory_limit(const std::string& proc = "/proc");

} // namespace actorrun::detail
