// Checks that what operators were told holds, whoever coordinates the job later (S6).
#pragma once

#include "tests/sim/invariants.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::sim {

/// Knows of each order whether it was decided, by whichever coordinator, and whether its
/// operator has been told. Until then it may be forgotten with its coordinator.
class promises {
public:
  explicit promises(invariants& checks) : checks_(checks) {}

  /// A coordinator has taken this step.
  /// @returns names what its operator is told by the answer; 0: nothing that is to hold
  uint64_t decided(const core::rendezvous_event& event,
                   const std::vector<core::rendezvous_effect>& effects);

  /// The operator has the answer.
  void told(uint64_t order);

  /// A coordinator begins with this.
  void check_known(const core::charter& known) const;

  /// One that has heard all it will hear.
  void check(const core::rendezvous& brain) const;

private:
  using size = std::pair<uint32_t, uint32_t>;

  /// The newest order about something, and whether it is promised.
  template <class What>
  struct order {
    uint64_t number = 0;
    What what;
    bool is_told = false;
  };

  void decide_host(const std::string& host, bool is_excluded);
  void check_hosts(const std::vector<core::excluded_host>& now,
                   const std::string& where) const;
  void check_size(const core::job_settings& now,
                  const std::string& where) const;

  invariants& checks_;
  uint64_t last_ = 0;
  std::map<std::string, order<bool>> hosts_; ///< Whether they are excluded.
  std::optional<order<size>> size_;
};

} // namespace actorrun::sim
