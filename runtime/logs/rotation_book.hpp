// Tells readers of a log file how it is rotated while they read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace actorrun::detail {

/// By how much the offsets in a file have become smaller. Whoever rotates it never
/// waits; whoever reads compares before and after.
class file_shift {
public:
  using moment = std::chrono::steady_clock::time_point;

  /// What a reader has seen.
  struct view {
    uint64_t sequence = 0;
    uint64_t removed = 0;  ///< In bytes, since anyone has kept count.
    uint64_t given_up = 0; ///< Those of them that went into no other file.

    bool is_moving() const { return sequence % 2 != 0; }
  };

  view see() const {
    return {sequence_.load(), removed_.load(), given_up_.load()};
  }

  /// Whether the file has not moved since.
  bool is_still(const view& x) const {
    return !x.is_moving() && sequence_.load() == x.sequence;
  }

  /// Around each rotation; one thread at a time.
  void begin() { ++sequence_; }
  void end(uint64_t removed, uint64_t given_up = 0) {
    removed_ += removed;
    given_up_ += given_up;
    ++sequence_;
  }

  /// Its oldest bytes are about to be given up, because the disk is full.
  void note_full_disk() { full_disk_at_ = moment::clock::now(); }
  bool had_full_disk(moment since) const {
    return full_disk_at_.load() >= since;
  }

private:
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> removed_{0};
  std::atomic<uint64_t> given_up_{0};
  std::atomic<moment> full_disk_at_{moment::min()};
};

/// The shifts of files that are rotated or read now.
class rotation_book {
public:
  std::shared_ptr<file_shift> of(const std::string& path) {
    const auto guard = std::lock_guard{mutex_};
    auto& known = shifts_[path];
    auto out = known.lock();
    if (!out)
      known = out = std::make_shared<file_shift>();
    if (shifts_.size() > 2 * live_count_) {
      std::erase_if(shifts_, [](const auto& x) { return x.second.expired(); });
      live_count_ = shifts_.size();
    }
    return out;
  }

private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<file_shift>> shifts_;
  size_t live_count_ = 8; ///< When it was last tidied up.
};

} // namespace actorrun::detail
