// Actors that record what they receive and send nothing themselves: a test
// sends in their name.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/translate.hpp"

#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

/// Lines of text, in the order in which they were written; copies share them.
class recorder {
public:
  void write(const std::string& line) const {
    *text_ += (text_->empty() ? "" : "; ") + line;
  }

  /// What was written since the last call, joined by "; ".
  std::string told() const { return std::exchange(*text_, {}); }

  /// Whether nothing was written.
  bool is_empty() const { return text_->empty(); }

private:
  std::shared_ptr<std::string> text_ = std::make_shared<std::string>();
};

// -- messages as text ---------------------------------------------------------

std::string to_text(const v1::JoinAccepted& x);
std::string to_text(const v1::JoinRejected& x);
std::string to_text(const v1::GenerationFormed& x);
std::string to_text(const v1::GenerationRevoked& x);
std::string to_text(const v1::JobEnded& x);
std::string to_text(const generation_begun& x);
std::string to_text(const generation_over& x);
std::string to_text(const job_over& x);
std::string to_text(const v1::JoinRequest& x);
std::string to_text(const v1::LeaveNotice& x);
std::string to_text(const group_event& x);

// -- recorders ----------------------------------------------------------------

/// Stands in for an agent that the coordinator or a supervisor talks to.
struct agent_recorder {
  node_agent_actor handle;
  recorder inbox;
  recorder reasons;
  /// The latest plan.
  std::shared_ptr<v1::GenerationRevoked> revoked
    = std::make_shared<v1::GenerationRevoked>();
  /// Its answer when it is asked for its status; no answer if empty.
  std::shared_ptr<std::optional<v1::NodeStatus>> status
    = std::make_shared<std::optional<v1::NodeStatus>>();
  /// The rounds in which it was asked.
  std::shared_ptr<std::vector<uint64_t>> asked
    = std::make_shared<std::vector<uint64_t>>();

  std::string told() const { return inbox.told(); }
  /// Why nothing runs yet, as given with its acceptance.
  std::string waits_for() const { return reasons.told(); }
};

agent_recorder record_agent(caf::actor_system& system);

/// Stands in for the coordinator that an agent talks to.
struct coordinator_recorder {
  rendezvous_coordinator_actor handle;
  recorder inbox;
  v1::JoinRequest last_join() const { return *join; }
  std::string told() const { return inbox.told(); }

  std::shared_ptr<v1::JoinRequest> join;
  /// The last status of a node that has come.
  std::shared_ptr<v1::NodeStatus> node = std::make_shared<v1::NodeStatus>();
};

/// @param answers Whether a status request is answered, with phase "recorded".
coordinator_recorder record_coordinator(caf::actor_system& system,
                                        bool answers = true);

struct observer_recorder {
  job_observer_actor handle;
  recorder inbox;

  std::string told() const { return inbox.told(); }
};

observer_recorder record_observer(caf::actor_system& system);

} // namespace actorrun::test
