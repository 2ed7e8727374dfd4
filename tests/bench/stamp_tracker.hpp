// Tracks the starts of workers, which stamp them into a file.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "tests/bench/moment.hpp"
#include "tests/bench/tools/stamp.hpp"

#include <optional>
#include <string>
#include <vector>

namespace actorrun::bench {

/// The starts of one generation.
using stamps = std::vector<stamp_record>;

/// A file of stamps, watched for changes.
class stamp_tracker {
public:
  /// @param path of a file that is created
  static result<stamp_tracker> open(std::string path);

  /// `NAME=value` for the environment of workers.
  std::string variable() const;

  /// Waits until `count` workers of one generation newer than `generation` have
  /// started.
  result<stamps> await(uint64_t generation, size_t count);

  /// Waits until `count` workers have started, whatever their generation.
  result<stamps> await_any(size_t count);

  /// Waits until `count` workers of a world of that size have started, after
  /// the first `known` starts of all. For launchers that set no generation.
  result<stamps> await_world(size_t known, int32_t world_size, size_t count,
                             clock::time_point due);

  /// All stamps so far.
  const stamps& read();

private:
  stamp_tracker(std::string path, detail::unique_fd watch)
    : path_(std::move(path)), watch_(std::move(watch)) {}

  /// @returns false if `due` has passed
  bool await_change(clock::time_point due);

  std::string path_;
  detail::unique_fd watch_;
  stamps records_;
};

/// The start of the first of them. @pre not empty
int64_t first_start(const stamps& xs);

/// The start of the last of them.
int64_t last_start(const stamps& xs);

} // namespace actorrun::bench
