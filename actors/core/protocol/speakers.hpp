// Decides whose messages count for an agent, and which link's end is news.
#pragma once

#include "messages/ids.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace actorrun::core {

/// The coordinator's table of links: who speaks for which agent.
///
/// Whoever has joined as an agent is the only one to speak for it until its link
/// is down, or its next link is up; then the next one may be.
/// @tparam Address Names an actor; it can be compared.
template <class Address>
class speakers {
public:
  enum class verdict {
    own,     ///< From the actor that has joined as this agent.
    late,    ///< The agent was forgotten.
    foreign, ///< From another actor.
  };

  /// `who` joins as `agent`.
  /// @param is_linked It has proved over a link to be the agent, and has given up its
  ///                  last link.
  /// @returns the number of this link; none if another one speaks for the agent
  std::optional<uint64_t> join(const agent_id& agent, const Address& who,
                               bool is_linked) {
    auto& x = all_[agent];
    if (x.is_up && x.who != who && !(x.is_linked && is_linked))
      return std::nullopt;
    x = {who, ++link_count_, true, is_linked};
    return link_count_;
  }

  verdict check(const agent_id& agent, const Address& who) const {
    const auto i = all_.find(agent);
    if (i == all_.end())
      return verdict::late;
    return i->second.who == who ? verdict::own : verdict::foreign;
  }

  /// A link is down.
  /// @returns false if that is old: the agent has another link, or was forgotten
  bool hang_up(const agent_id& agent, uint64_t link) {
    const auto i = all_.find(agent);
    if (i == all_.end() || i->second.link != link || !i->second.is_up)
      return false;
    i->second.is_up = false;
    return true;
  }

  void forget(const agent_id& agent) { all_.erase(agent); }

private:
  struct speaker {
    Address who{};
    uint64_t link = 0; ///< The newest of all that there have been to it.
    bool is_up = false;
    bool is_linked = false;
  };

  std::map<agent_id, speaker> all_;
  uint64_t link_count_ = 0;
};

} // namespace actorrun::core
