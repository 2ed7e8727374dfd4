// Writes one line of torch's timer FIFO.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <optional>
#include <string_view>

namespace actorrun::worker {

/// At most this many bytes are written to a FIFO without being interleaved.
using message_buffer = std::array<char, PIPE_BUF>;

struct timer_message {
  int64_t pid = 0;
  std::string_view scope;
  /// Nanoseconds since 1970, not negative; none: a release.
  std::optional<int64_t> expiration{};
  int signal = 0;
};

/// A line with its end, as torch's client writes it but for the digits of the
/// time. What is not ASCII is escaped; what is not UTF-8 becomes U+FFFD.
/// @returns a part of `place`; empty if the line does not fit
std::string_view write_message(message_buffer& place, const timer_message& x);

} // namespace actorrun::worker
