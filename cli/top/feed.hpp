// Watches one job on a thread of its own, and looks for it again when its
// coordinator is gone.
#pragma once

#include "cli/top/model.hpp"
#include "runtime/options.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace actorrun::cli::top {

/// Lets a thread that polls be woken up by others.
class wake_up {
public:
  wake_up();
  ~wake_up();

  wake_up(const wake_up&) = delete;
  wake_up& operator=(const wake_up&) = delete;

  /// Readable from `signal` until `clear`.
  int fd() const { return fd_; }

  void signal();
  void clear();

private:
  int fd_;
};

/// Takes news from feeds, for a thread that polls.
class inbox {
public:
  /// Readable when there is something.
  int fd() const { return ready_.fd(); }

  /// Of each job only the newest status is kept. Callable from any thread.
  void put(event x);

  /// The same, and waits until it is taken, so that one who sends much is no faster
  /// than who reads it.
  void put_and_wait(event x);

  std::vector<event> take();

  /// From now on no thread waits.
  void close();

private:
  void add(event x);

  wake_up ready_;
  std::mutex mutex_;
  std::condition_variable taken_;
  std::vector<event> waiting_;
  uint64_t take_count_ = 0;
  bool is_closed_ = false;
};

/// Which job to watch: one of this host, or one of another host.
struct feed_source {
  std::string key;     ///< Of its picture.
  std::string label{}; ///< Of `local_job`; empty: it is on another host.
  /// Of the process that is watched: its coordinator on this host, which tells it from
  /// others with its id, or the one that was asked for; 0: any.
  int64_t pid = 0;
  std::optional<job_options> remote{};
  std::string journal_folder{}; ///< Tells how it ended; empty: nothing does.
};

class feed {
public:
  feed(feed_source what, inbox& to);

  feed(const feed&) = delete;
  feed& operator=(const feed&) = delete;

  /// May wait for a connection that is being made: a few seconds.
  ~feed();

  /// Whether the job is gone and how it ended was looked up: more is to come only if
  /// another one begins that has its name. Callable from any thread.
  bool is_over() const { return is_over_; }

  /// Whether the job has no process here that this feed may ask, and its journal has no
  /// end, so it may go on. Callable from any thread.
  bool is_lost() const { return is_lost_; }

  const std::string& label() const { return what_.label; }
  int64_t pid() const { return what_.pid; }

private:
  void run();
  std::string watch();
  std::optional<ended_job> end_of_job();
  bool pause();

  feed_source what_;
  inbox& to_;
  std::string job_id_;         ///< As it has said itself.
  bool is_gone_ = false;       ///< Without a process of this host.
  int64_t heard_since_ms_ = 0; ///< Unix time of its first status; 0: none came.
  std::optional<ended_job> end_;
  uint32_t end_looks_left_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> is_lost_ = false;
  wake_up stop_;
  std::thread thread_;
};

} // namespace actorrun::cli::top
