// Rotates files that other processes append to, with what file systems support.
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <string>

namespace actorrun::detail {

/// How a file system can remove the beginning of a file.
enum class rotation_means : uint8_t {
  collapse, ///< Remove it: the rest moves to the front.
  punch,    ///< Make a hole: the space is free, offsets stay.
  none,
};

/// Tries it with an unnamed file.
/// @param folder Where the files will be; it exists.
rotation_means probe_rotation(const std::string& folder);

/// @param folder Its descriptor.
rotation_means probe_rotation(int folder);

/// A file that is appended to. All below are safe against any number of
/// writers, as long as these write at its end (O_APPEND).
struct rotating_file {
  int fd = -1; ///< For reading and writing.
  std::string path;
  uint64_t begin = 0; ///< Offset of the first byte that is not gone.
};

/// Moves the bytes before `limit`, in whole blocks of the file system, into
/// `<path>.1`; `<path>.1` into `<path>.2`, and so on; what was in
/// `<path>.<keep>` is lost. A program that is killed meanwhile may leave the
/// newest part in `<path>.rotating`.
/// @param limit In bytes from the beginning; no more than what is there counts.
/// @param keep  ≥ 1
/// @returns by how much offsets have become smaller; may be 0
/// @retval errc::log_failed  nothing was moved; the text says why
/// @complexity copies the bytes, unless the file system can share them
result<uint64_t> rotate(rotating_file& file, uint64_t limit, uint32_t keep);

/// Gives back the space of the bytes before `limit`, in whole blocks.
/// @returns by how much offsets have become smaller; 0 also when nothing could
///          be given back
uint64_t discard(rotating_file& file, uint64_t limit);

} // namespace actorrun::detail
