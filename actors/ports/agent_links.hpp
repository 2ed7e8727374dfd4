// What the coordinator needs from the network: to ask whether an agent's
// process lives, and to cut it off.
#pragma once

#include "messages/ids.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace actorrun::ports {

class agent_links {
public:
  virtual ~agent_links() = default;

  /// Asks the host at `address` whether anybody listens on `port`. Calls
  /// `on_gone` only if the host answers that nobody does; silence and life are
  /// no news. On any thread; returns at once.
  virtual void probe(const std::string& address, uint16_t port,
                     std::function<void()> on_gone)
    = 0;

  /// Checks in advance that such a question can be answered: calls `on_alive`
  /// only if the agent's process accepted. A host that filters the port would
  /// else look like one whose process has gone.
  virtual void confirm(const std::string& address, uint16_t port,
                       std::function<void()> on_alive)
    = 0;

  /// Cuts the link to an agent, if there is one.
  virtual void sever(const agent_id& agent) = 0;

  /// The agent's handle has gone down: a new link to it may come up.
  virtual void released(const agent_id& agent) = 0;
};

} // namespace actorrun::ports
