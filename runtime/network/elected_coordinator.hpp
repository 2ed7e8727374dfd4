// Describes who hosts the coordinator of a job while this node is elected.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/interfaces.hpp"
#include "actors/operator_questions.hpp"
#include "actors/ports/coordinator_locator.hpp"

#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

/// Where the coordinator of a job is, as far as a process of the job knows.
struct leader_place {
  std::string endpoint; ///< `10.0.0.2:41000`
  bool is_here = false; ///< In this process.
};

/// Elected by etcd, or by the agents.
class elected_coordinator {
public:
  virtual ~elected_coordinator() = default;

  /// Makes the locator of the agent with this id.
  virtual std::shared_ptr<ports::coordinator_locator>
  locator_for(const agent_id& agent) = 0;

  /// Null while the coordinator is elsewhere.
  virtual rendezvous_coordinator_actor coordinator() const = 0;

  /// An agent of this host has had a coordinator of this job and has not left it, so this
  /// one does not look for the first.
  virtual bool remembers_job() const { return false; }

  /// The agent of this process has ended so.
  virtual void part(const core::ending&) {}
  /// Returns at once, on any thread. None: it is not known, or not told.
  virtual std::optional<leader_place> place() const { return {}; }

  /// An operator has voters given up that are lost: this node is to lead without them,
  /// if that is safe but for these. Returns at once.
  virtual void elect(operator_question x) {
    x.reply(refusal_of(errc::bad_argument,
                       "etcd elects the coordinator of this job, and its agents"
                       " do not"));
  }

  /// Gives up the leadership and seeks it no more. Returns at once.
  virtual void resign() = 0;

  /// Prepares the end of this process, which has to follow, where no agent hands over:
  /// the journal of a coordinator that is here is written. Then the machine says that it
  /// has ended.
  virtual void end_with_process() {}

  /// Waits until no callback runs any more.
  virtual void stop() = 0;
};

} // namespace actorrun::detail
