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

  /// Connects to `port` at `address`. Calls `on_gone` only if the host refuses,
  /// which proves that no process listens; an accepted connection and silence
  /// prove nothing. May be called on any thread; returns at once.
  virtual void probe(const std::string& address, uint16_t port,
                     std::function<void()> on_gone)
    = 0;

  /// Checks in advance that a probe works: calls `on_alive` only if the agent's
  /// process accepted. Otherwise a firewall that refuses would look like a
  /// process that is gone.
  virtual void confirm(const std::string& address, uint16_t port,
                       std::function<void()> on_alive)
    = 0;

  /// Cuts the link to an agent, if there is one.
  virtual void sever(const agent_id& agent) = 0;

  /// The agent's handle has gone down: a new link to it may come up.
  virtual void released(const agent_id& agent) = 0;
};

} // namespace actorrun::ports
