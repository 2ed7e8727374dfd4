// Reads and writes files.
#pragma once

#include "messages/result.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace actorrun::detail {

/// A regular file of our own, open for reading.
struct regular_file {
  unique_fd fd;
  uint64_t size = 0; ///< In bytes, when it was opened.
};

/// `a directory`, `a symbolic link`, … of what is no regular file.
std::string kind_of_file(mode_t mode);

/// Opens a file that a worker made. Below a guarded folder (`folder.hpp`) no link
/// leads to it. Never waits for another process, as opening
/// a FIFO would.
/// @returns nothing if there is no file at `path`
/// @retval errc::system_failure  it is a link, no regular file, not ours, or
///         cannot be read; the text says which, as in "it is a directory"
result<std::optional<regular_file>> open_regular_file(const std::string& path);

/// Reads up to `limit` bytes from `offset` on; fewer at the end of the file or
/// when the disk fails.
std::string read_part(const regular_file& file, uint64_t offset, size_t limit);

/// In bytes. Machines with thousands of mounts have long tables of them.
inline constexpr size_t kernel_file_max = size_t{4} * 1'024 * 1'024;

/// Reads a file of /proc or /sys, up to `limit` bytes; empty if it cannot be
/// read.
std::string read_kernel_file(const std::string& path,
                             size_t limit = kernel_file_max);

/// Writes all bytes to a descriptor that blocks.
/// @returns 0 or an errno
int write_all(int fd, std::string_view bytes);

/// The same from an offset of a file on.
int write_all_at(int fd, std::string_view bytes, off_t offset);

/// Writes a file as a whole or not at all: it is made beside its place and renamed, so
/// no reader sees a part of it.
/// @param mode Of the file, but for what the umask takes away.
/// @returns 0 or an errno
int replace_file(const std::string& path, std::string_view bytes, mode_t mode);

} // namespace actorrun::detail
