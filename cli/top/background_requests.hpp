// Asks jobs for what the operator of the live view wants, on threads of their own:
// an answer may take seconds.
#pragma once

#include "cli/actorctl_arguments.hpp"
#include "cli/top/feed.hpp"
#include "cli/top/model.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <thread>

namespace actorrun::cli::top {

/// At most this many wait for answers at a time.
inline constexpr size_t request_count_max = 8;

class background_requests {
public:
  /// @param arguments, to Live longer.
  background_requests(const top_arguments& arguments, inbox& to)
    : arguments_(arguments), to_(to) {}

  background_requests(const background_requests&) = delete;
  background_requests& operator=(const background_requests&) = delete;

  /// May wait for an answer that is due: a few seconds.
  ~background_requests();

  void run(const steer_job& x);
  void run(const open_text& x);

  /// Ends the text that was opened last.
  void close_text();

private:
  /// A thread, and how to end it.
  struct request {
    wake_up stop;
    std::atomic<bool> is_done = false;
    std::thread thread;
  };

  bool start(std::function<void(request&)> what);
  void reap();
  asked_job job_of(const std::string& id, int64_t pid) const;
  void follow_log(const open_text& x, request& own);
  void show_stack(const open_text& x);
  void end_text(const open_text& x, const std::string& why);

  const top_arguments& arguments_;
  inbox& to_;
  std::list<request> all_;
  request* text_ = nullptr; ///< Of the text that is open.
};

} // namespace actorrun::cli::top
