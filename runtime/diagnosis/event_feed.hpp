// Writes the event log of one agent: takes events from several threads and
// passes them on with their time, one line after the other.
#pragma once

#include "actors/core/reports/event_log.hpp"

#include <functional>
#include <mutex>
#include <string>

namespace actorrun::detail {

class event_feed {
public:
  /// @param to Must not block, nor call back.
  event_feed(core::event_subject subject,
             std::function<void(const std::string& line)> to);

  void note(const core::worker_group_event& event,
            const core::worker_group& group, core::time_point now);
  void note(const core::ending& how);

private:
  std::mutex mutex_; // Guards the rest, and the order of lines.
  core::event_log log_;
  std::function<void(const std::string&)> to_;
};

} // namespace actorrun::detail
