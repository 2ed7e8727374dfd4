// The limit of a timer FIFO: a thread that only reads.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "tests/bench/moment.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace actorrun::bench {

/// Reads a FIFO on a thread of its own, in large pieces, and discards the
/// bytes.
class timer_fifo_reader {
public:
  /// @param path of a FIFO that is created
  static result<std::unique_ptr<timer_fifo_reader>> open(std::string path);

  ~timer_fifo_reader();

  timer_fifo_reader(const timer_fifo_reader&) = delete;
  timer_fifo_reader& operator=(const timer_fifo_reader&) = delete;

  /// `NAME=value` for the environment of workers.
  std::string variable() const;

  /// Lines so far.
  uint64_t line_count() const { return line_count_; }

private:
  timer_fifo_reader(std::string path, detail::unique_fd fd);
  void read();

  std::string path_;
  detail::unique_fd fd_;
  std::atomic<uint64_t> line_count_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

} // namespace actorrun::bench
