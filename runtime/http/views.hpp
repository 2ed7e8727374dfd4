// Answers what can be read of a job: its metrics, its health, its page.
#pragma once

#include "runtime/http/health.hpp"
#include "runtime/http/regroup_times.hpp"
#include "runtime/http/server.hpp"
#include "runtime/http/status_source.hpp"
#include "runtime/http/worker_views.hpp"
#include "runtime/os/reactor.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

/// What is asked, and whom.
struct view_setup {
  std::string job_id;
  std::string host; ///< This host's name.
  /// Passes on a question about the whole job; must not block, as the next.
  std::function<void(operator_question)> ask_job;
  /// … about this node alone. Null: there is no agent here.
  std::function<void(operator_question)> ask_node{};
  /// Whether the coordinator is in this process now.
  std::function<bool()> has_coordinator;
  bool is_elected = false; ///< Agents or etcd elect it.
  status_limits limits{};
};

/// What one port serves.
struct view_choice {
  bool metrics = false;
  bool health = false;
  bool page = false;
  /// Only clients that name this host by its own name.
  bool checks_name = false;
};

/// Everything runs on the reactor's thread.
class views {
public:
  views(reactor& home, view_setup setup);

  void answer(const view_choice& which, const http_request& x,
              http_callback done);

  /// Asks for the status, and passes it on as an event if it has changed, or if the
  /// last event is too old to show how the workers are doing.
  void look(const std::function<void(const http_body&)>& publish);

private:
  void metrics(http_callback done);
  void metrics_of(const status_answer& node, const http_callback& done);
  void health_now(bool is_readiness, http_callback done);
  void answer_for_page(const http_request& x, http_callback done);
  void page(http_callback done);
  void status(http_callback done);
  void events(http_callback done);
  http_body event_of(const status_answer& x);

  view_setup setup_;
  status_source job_;
  std::optional<status_source> node_; ///< None: there is no agent.
  worker_views workers_;
  regroup_times regroups_;
  uint64_t counted_
    = 0; ///< The number of the answer that `regroups_` has seen.

  // The last event.
  http_body event_;
  uint64_t event_number_ = 0; ///< Of the answer in it.
  bool event_is_alive_ = false;
  uint64_t looked_ = 0; ///< Of the answer that it was compared with.
  std::string shape_;   ///< What was in it, without what changes all the time.
  core::time_point event_time_{};
};

} // namespace actorrun::detail
