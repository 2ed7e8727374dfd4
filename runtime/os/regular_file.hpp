// Reads what a worker left on disk, whatever it is.
#pragma once

#include "messages/result.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::detail {

/// A regular file of our own, open for reading.
struct regular_file {
  unique_fd fd;
  uint64_t size = 0; ///< In bytes, when it was opened.
};

/// Opens a file that a worker made. Never waits for another process, as the
/// opening of a FIFO would.
/// @returns nothing if there is no file at `path`
/// @retval errc::system_failure  it is a link, no regular file, not ours, or
///         cannot be read; the text says which, as in "it is a directory"
result<std::optional<regular_file>> open_regular_file(const std::string& path);

/// Reads up to `limit` bytes from `offset` on; fewer at the end of the file or
/// when the disk fails.
std::string read_part(const regular_file& file, uint64_t offset, size_t limit);

} // namespace actorrun::detail
