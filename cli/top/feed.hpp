// Watches one job on a thread of its own, and looks for it again when its
// coordinator is gone.
#pragma once

#include "cli/top/model.hpp"
#include "runtime/options.hpp"

#include <functional>
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

  std::vector<event> take();

private:
  wake_up ready_;
  std::mutex mutex_;
  std::vector<event> waiting_;
};

/// Which job to watch: one of this host by its label, or one of another host.
struct feed_source {
  std::string key; ///< Of its picture; the label.
  std::optional<job_options> remote{};
};

class feed {
public:
  feed(feed_source what, inbox& to);

  feed(const feed&) = delete;
  feed& operator=(const feed&) = delete;

  /// May wait for a connection that is being made: a few seconds.
  ~feed();

private:
  void run();
  bool pause();

  feed_source what_;
  inbox& to_;
  wake_up stop_;
  std::thread thread_;
};

} // namespace actorrun::cli::top
