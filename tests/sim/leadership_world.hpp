// Simulates an etcd and some candidates for one job's leadership: requests and
// answers get lost, processes die and sleep, etcd becomes unreachable.
#pragma once

#include "actors/core/protocol/leadership.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/event_queue.hpp"
#include "tests/sim/leadership_invariants.hpp"
#include "tests/sim/registry.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::sim {

class leadership_world {
public:
  leadership_world(uint64_t seed, size_t candidate_count);
  ~leadership_world();

  /// Runs until `limit`, with faults until `calm`.
  /// @returns the broken invariant, if there is one
  std::optional<std::string> run(core::time_point calm, core::time_point limit);

  /// How often a candidate has become leader.
  uint32_t reign_count() const { return reign_count_; }

private:
  struct candidate;

  void trouble();
  void spawn();
  void kill(candidate& x);
  void retire(candidate& x);
  void end_soon(candidate& x, core::duration delay);
  std::shared_ptr<candidate> shared(const candidate& x) const;
  void feed(candidate& x, const core::leadership_event& event);
  void obey(candidate& x, const core::leadership_effect& effect);
  void ask(candidate& x, std::optional<core::time_point> deadline,
           std::function<core::leadership_event()> serve);
  void want(candidate& x);
  void connect(candidate& x, const std::string& endpoint);
  void hear_late(candidate& x);
  void close(candidate& x);
  void reset_links_to(const candidate& x);
  std::optional<std::string> breach();
  void report(const candidate& x, const std::string& what);
  bool is_served(const candidate& x) const;

  event_queue queue_;
  dice dice_;
  core::duration lease_length_;
  registry registry_;
  std::vector<std::shared_ptr<candidate>> candidates_;
  std::set<uint32_t> proofs_; ///< Coordinators that are proved dead.
  bool is_calm_ = false;
  bool is_away_ = false; ///< etcd is unreachable.
  uint32_t last_id_ = 0;
  uint32_t last_open_id_ = 0;
  uint32_t reign_count_ = 0;
  std::optional<std::string> breach_; ///< By an order; the first.
};

} // namespace actorrun::sim
