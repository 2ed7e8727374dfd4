#include "actors/core/protocol/leader_change.hpp"

#include "actors/core/text.hpp"

namespace actorrun::core {

std::string to_string(const leader_change& x, const agent_id& now) {
  using kind = leader_change::kind;
  const auto last = x.from.value.empty() ? std::string{"the last leader"}
                                         : std::string{x.from.value};
  switch (x.what) {
    case kind::began:
      return "the job has begun with it";
    case kind::silent:
      if (x.from == now)
        return "it led before, and had lost the majority of the voters for a "
               "while";
      return last + " was silent"
             + (x.silent_for > duration{0}
                  ? " for " + duration_text(x.silent_for)
                  : std::string{});
    case kind::ended:
      return "the host of " + last + " confirms that its process has ended";
    case kind::handed_over:
      return last + " has handed over"
             + (x.reason.empty() ? "" : ": " + x.reason);
    case kind::asked:
      return last + " has handed over, as "
             + (x.reason.empty() ? std::string{"an operator"} : x.reason)
             + " has asked";
    case kind::expired:
      return "the lease of " + last + " in etcd was over, or it had left";
    case kind::ordered:
      return last + " and other voters are lost, as "
             + (x.reason.empty() ? std::string{"an operator"} : x.reason)
             + " has said";
  }
  return "unknown";
}

std::string to_string(leader_source x) {
  return x == leader_source::voters ? "voters" : "etcd";
}

} // namespace actorrun::core
