// Gets the status of a job from its coordinator, page by page.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace actorrun {

/// One status at a time, for all that want it: those that ask while one is on its way
/// get the next one, which is then as new as their questions.
class status_fetch {
public:
  /// Null: the coordinator does not answer.
  using sink = std::function<void(const shared_status&)>;

  /// @param self  Asks; outlives this.
  /// @param limit Timeout for each page.
  status_fetch(node_agent_actor::pointer self, std::chrono::milliseconds limit)
    : self_(self), limit_(limit) {}

  /// @param for_watch  As in `v1::StatusRequest`; what is on its way will do.
  void get(const rendezvous_coordinator_actor& from, bool for_watch, sink to);

private:
  struct round {
    rendezvous_coordinator_actor from{};
    bool for_watch = true;
    std::vector<sink> to{};
  };

  void begin(round x);
  void ask();
  void on_page(const v1::JobStatus& x);
  void end(const shared_status& x);

  node_agent_actor::pointer self_;
  std::chrono::milliseconds limit_;
  round now_; ///< No sinks: none is on its way.
  round next_;
  status_assembly pages_;
};

} // namespace actorrun
