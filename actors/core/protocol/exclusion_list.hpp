// Parses and changes the text of a list of excluded hosts that outlives jobs.
#pragma once

#include "actors/core/protocol/exclusions.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// One host per line: `n2 2026-11-30T04:10:11Z alice: bad disk`. The reason may be
/// missing. Empty lines, and those that begin with `#`, say nothing and stay.
struct listed_host {
  std::string host;
  int64_t unix_seconds = 0; ///< Since when.
  std::string reason{};     ///< One line; may be empty.

  friend bool operator==(const listed_host&, const listed_host&) = default;
};

/// In bytes. A list that is larger is none of ours.
inline constexpr size_t exclusion_list_size_max = size_t{256} * 1024;
inline constexpr size_t exclusion_line_size_max = 1'024;

/// Reads a list. A host that it names twice counts once, as it was named first.
/// @returns at most `excluded_hosts_max` hosts
/// @retval errc::bad_argument  a line is broken, and the text says which; or there are
///         too many hosts or bytes
result<std::vector<listed_host>> parse_exclusion_list(std::string_view text);

/// The list with one more host, at its end; the same if it names that already.
/// @pre the host is one (`is_host_text`)
/// @retval as `parse_exclusion_list`
result<std::string> with_host(std::string text, const listed_host& x);

/// The list without a host.
/// @retval as `parse_exclusion_list`
result<std::string> without_host(std::string_view text, std::string_view host);

/// What the list says of a host of this job.
excluded_host to_excluded(const listed_host& x);

/// What the list is told of one.
listed_host to_listed(const excluded_host& x, int64_t unix_seconds);

/// `2026-11-30T04:10:11Z`
/// @pre a year of four digits
std::string utc_text(int64_t unix_seconds);

} // namespace actorrun::core
