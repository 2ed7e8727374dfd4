// Reads the workers' log files as they grow, notified by inotify.
#pragma once

#include "actors/core/time.hpp"
#include "actors/ports/log_files.hpp"
#include "runtime/logs/rotation.hpp"
#include "runtime/logs/rotation_book.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// In bytes. A file system is about to be full when it has less for us than a
/// 16th of itself, but for the largest and the smallest ones.
inline constexpr uint64_t short_space_max = 64 * 1024 * 1024;
inline constexpr uint64_t short_space_min = 1024 * 1024;
inline constexpr uint64_t short_space_parts = 16;

/// How long an answer about free space is valid: it serves all files of one
/// disk.
inline constexpr auto free_space_age_max = std::chrono::milliseconds{20};

/// How often a file is checked for which the system has no watch left.
inline constexpr auto unwatched_interval = std::chrono::milliseconds{100};

/// Nothing is opened before it is needed: without a call for growth there is no
/// inotify. Growth is reported on the reactor's thread.
class inotify_log_files final : public ports::log_files {
public:
  /// @param loop Lives longer.
  /// @param book Learns of each rotation; null: there is no other reader.
  explicit inotify_log_files(reactor& loop,
                             std::shared_ptr<rotation_book> book = nullptr);

  /// No call is made from then on.
  ~inotify_log_files() override;

  inotify_log_files(const inotify_log_files&) = delete;
  inotify_log_files& operator=(const inotify_log_files&) = delete;

  result<ports::log_file_id> open(const std::string& path) override;
  size_t read(ports::log_file_id file, uint64_t offset,
              std::span<char> into) override;
  uint64_t size(ports::log_file_id file) const override;

  /// May call although nothing was written, when the system has lost count.
  void call_when_grown(ports::log_file_id file,
                       std::function<void()> fn) override;

  result<uint64_t> rotate(ports::log_file_id file, uint64_t limit,
                          uint32_t keep) override;
  uint64_t discard(ports::log_file_id file, uint64_t limit) override;
  bool is_short_of_space(ports::log_file_id file) const override;
  bool append(const std::string& path, std::string_view lines) override;
  void close(ports::log_file_id file) override;

private:
  struct entry {
    unique_fd fd;
    rotating_file bytes;
    uint64_t device = 0;
    std::shared_ptr<file_shift> shift{}; ///< May be null.
    int watch = -1;                      ///< Guarded by mutex_; -1: not armed.
    std::function<void()> call{}; ///< Guarded by mutex_; empty: none waits.
  };

  struct space {
    core::time_point when;
    bool is_short = false;
  };

  entry& of(ports::log_file_id file);
  const entry& of(ports::log_file_id file) const;
  void start_watching();
  bool arm(ports::log_file_id file, entry& x);
  void disarm(ports::log_file_id file, entry& x);
  void on_events();
  void wake(int watch);
  void wake_all();
  void wake_later(ports::log_file_id file);

  reactor& loop_;
  std::shared_ptr<rotation_book> book_; ///< May be null.
  std::shared_ptr<bool> alive_;         ///< The reactor's thread's.
  uint64_t last_id_ = 0;
  mutable std::map<uint64_t, space> spaces_; ///< By device.

  // The actor alone adds and removes files; so it needs the mutex only to
  // change them.
  std::mutex mutex_;
  std::map<ports::log_file_id, entry> files_;
  std::multimap<int, ports::log_file_id> watches_; ///< What is armed.
  unique_fd inotify_;
};

} // namespace actorrun::detail
