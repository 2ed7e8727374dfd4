// Decides when an agent leaves, and why.
#pragma once

#include "actors/core/protocol/node_workers.hpp"

#include <optional>
#include <string>

namespace actorrun::core {

///                  workers have ended, or one otherwise than with 0, or time over
///  staying -> draining -------------------------------------------+
///     |                                                            v
///     +----- asked to leave, job over, nothing to go on with -> ending
///
/// An agent that is drained gives its workers notice, unless all workers of the job
/// are about to come to a safe point. From the notice on the end of a worker is no
/// failure, however it ends.
///
/// An agent that is ending stops its workers, and parts from the coordinator when
/// none is left.
class departure {
public:
  /// All must live as long as this.
  departure(membership_step& step, coordinator_link& link,
            const agent_lease& lease, const generation_share& share,
            node_workers& workers)
    : step_(step), link_(link), lease_(lease), share_(share),
      workers_(workers) {}

  /// None: it is not ending.
  const std::optional<ending>& how() const { return ending_; }

  /// Whether it is draining, or ending.
  bool has_begun() const { return drain_ != drain::none || ending_; }

  /// The rest of its workers' time if it is draining.
  std::optional<duration> time_left() const;

  /// What was said of its machine, which is about to go.
  const std::optional<std::string>& notice() const { return notice_; }

  bool has_given_notice() const { return noticed_at_.has_value(); }

  /// The end of a worker that has been told of the end is no failure.
  bool was_noticed(const worker_failure& x) const;

  void on(const job_ended& event);
  void on(const leave_requested& event);

  /// A coordinator that has taken over knows of no safe point to wait for, and repeats
  /// the order without.
  void on(const drain_ordered& event);

  void on(const notice_received& event);

  /// Again and again until the coordinator lets it leave: it may have just begun.
  void tell_notice();

  /// Workers that have not all started yet get it then.
  void give_due_notice();

  /// It cannot go on.
  void fail(failure why);

  /// A drained agent is ending: one of its workers has ended, or their time is over.
  void leave_drained();

  /// All of its workers have.
  /// @returns whether it was draining until now
  bool say_drained();

  /// Their memory, devices and ports stay in use, so nothing more can be started on
  /// this node, and the operator must learn of it.
  void give_up_workers(const std::string& host);

  /// Stops the workers, and parts when there are none.
  /// @pre it is ending
  void advance(int signal);

  /// The coordinator has heard the last word, or need not.
  void finish();

private:
  enum class drain { none, at_safe_point, with_notice };

  void end(ending how, int signal);

  membership_step& step_;
  coordinator_link& link_;
  const agent_lease& lease_;
  const generation_share& share_;
  node_workers& workers_;
  drain drain_ = drain::none;
  std::optional<time_point> noticed_at_; ///< Workers know of the drain.
  std::optional<std::string> notice_;    ///< Its machine is about to go.
  std::optional<ending> ending_;
  bool is_asked_to_leave_ = false; ///< By a signal here.
};

} // namespace actorrun::core
