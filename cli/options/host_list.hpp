// Reads lists of hosts, as MPI's launchers have them.
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// One actorrun connects to at most this many hosts, with a process each.
inline constexpr size_t host_count_max = 1'024;

/// In bytes.
inline constexpr size_t host_file_size_max = 1024 * 1024;

/// One host of a list.
struct host_share {
  /// `host` or `user@host`, as remote shells take it; an IPv6 address without
  /// brackets.
  std::string name;
  uint32_t slots = 0; ///< Sum of the numbers behind it.
  /// How often it stands there without a number.
  uint32_t mentions = 0;

  friend bool operator==(const host_share&, const host_share&) = default;
};

/// `a,b:4,user@c:2,[::1]:8`: hosts with their numbers of workers. One that comes
/// again adds to the first: `a:2,b,a:2` has four workers on `a`.
/// @returns 1..`host_count_max` hosts in the order in which they came first
/// @retval errc::bad_argument  an entry is none; the text quotes it
result<std::vector<host_share>> parse_hosts(std::string_view text);

/// Lines in Hydra's form, `host` or `host:4`, or in Open MPI's, `host slots=4
/// max_slots=8`, also with `user=NAME`. What follows a `#` is a comment. A host that
/// comes again adds to the first, so that a `$PBS_NODEFILE` can be read.
/// @returns as `parse_hosts`
/// @retval errc::bad_argument  a line is none; the text has its number
result<std::vector<host_share>> parse_host_file(std::string_view text);

/// The host of `user@host`.
std::string_view host_of(std::string_view name);

/// Whether a host is this one, so that no remote shell is needed: `localhost`, a
/// loopback address, or our own name with or without its domain. A name with a user
/// is none. Asks no name server.
/// @param own The name of this host.
bool is_this_host(std::string_view name, std::string_view own);

} // namespace actorrun::cli
