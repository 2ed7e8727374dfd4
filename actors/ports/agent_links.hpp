// Probes agents' processes for the coordinator, and cuts their links.
#pragma once

#include "messages/ids.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace actorrun::ports {

class agent_links {
public:
  virtual ~agent_links() = default;

  /// Asks at `port` of the host that the agent's last link came from whether the
  /// agent has ended. Calls `on_gone` only if its machine proves that, and that
  /// none of its workers runs. Anything else, a refused connection and silence
  /// included, proves nothing. May be called on any thread; returns at once.
  virtual void probe(const agent_id& agent, uint16_t port,
                     std::function<void()> on_gone)
    = 0;

  /// Cuts the link to an agent, if there is one.
  virtual void sever(const agent_id& agent) = 0;
};

} // namespace actorrun::ports
