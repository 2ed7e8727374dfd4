// Watches one job on a thread of its own, and looks for it again when its
// coordinator is gone.
#pragma once

#include "cli/top/model.hpp"
#include "runtime/options.hpp"
#include "runtime/os/unique_fd.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace actorrun::cli::top {

/// Takes news from feeds, for a thread that polls.
class inbox {
public:
  inbox();

  /// Readable when there is something.
  int fd() const { return ready_.get(); }

  /// Of each job only the newest status is kept. Callable from any thread.
  void put(event x);

  std::vector<event> take();

private:
  detail::unique_fd ready_;
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
  detail::unique_fd stop_;
  std::thread thread_;
};

} // namespace actorrun::cli::top
