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

/// At most so many wait for answers at a time.
inline constexpr size_t errand_count_max = 8;

class errands {
public:
  /// @param arguments, to Live longer.
  errands(const top_arguments& arguments, inbox& to)
    : arguments_(arguments), to_(to) {}

  errands(const errands&) = delete;
  errands& operator=(const errands&) = delete;

  /// May wait for an answer that is due: a few seconds.
  ~errands();

  void run(const steer_job& x);
  void run(const open_text& x);

  /// Ends the text that was opened last.
  void close_text();

private:
  /// A thread, and how to end it.
  struct errand {
    wake_up stop;
    std::atomic<bool> is_done = false;
    std::thread thread;
  };

  bool start(std::function<void(errand&)> what);
  void reap();
  asked_job job_of(const std::string& id, int64_t pid) const;
  void follow_log(const open_text& x, errand& own);
  void show_stack(const open_text& x);
  void end_text(const open_text& x, const std::string& why);

  const top_arguments& arguments_;
  inbox& to_;
  std::list<errand> all_;
  errand* text_ = nullptr; ///< Of the text that is open.
};

} // namespace actorrun::cli::top
