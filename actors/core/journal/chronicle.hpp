// Writes the journal of a job: turns what a rendezvous was told, and has ordered,
// into records.
#pragma once

#include "actors/core/journal/record.hpp"
#include "actors/core/journal/snapshot.hpp"
#include "actors/core/protocol/rendezvous.hpp"
#include "actors/core/stragglers/node_saves.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace actorrun::core::journal {

/// Keeps the snapshot that the records add up to. What people are shown of a job
/// comes from there, so a live job and its journal cannot differ.
class chronicle {
public:
  using records = std::vector<record>;

  /// @returns the first record
  records begin(const coordinator_began& x, moment now);

  /// @param event   What the rendezvous was told …
  /// @param effects … and what it has ordered then.
  /// @param after   The rendezvous after that step.
  /// O(1), except for events that form, revoke or end a generation.
  records note(const rendezvous_event& event,
               const std::vector<rendezvous_effect>& effects,
               const rendezvous& after, moment now);

  /// @param trouble Of the GPUs of a node; empty: none.
  records note_gpus(const agent_id& agent, const std::string& trouble,
                    moment now);

  /// The generation that runs hangs, or is heard again.
  records note_hang(const hang_changed& x, moment now) { return only(x, now); }

  /// Which workers of the generation that runs are slower than the others.
  records note_stragglers(const stragglers_changed& x, moment now) {
    return only(x, now);
  }

  /// What a node says of the saves of its workers. It is written down at once if it is the
  /// first in the generation, or that is to end; otherwise after `save_pause`, so that
  /// saves do not fill the journal, or before the generation or the node ends.
  records note_saves(const agent_id& agent, const saves_report& x, moment now);

  /// Minimum interval between two records of saves of one node.
  static duration save_pause(size_t node_count) {
    return std::max<duration>(std::chrono::minutes{10},
                              std::chrono::seconds{1} * node_count);
  }

  /// How this coordinator was elected.
  records note_leader(const leader_chosen& x, moment now);

  /// Nothing happens if all is as it was.
  /// @pre `note_leader`
  records note_voters(const voters_changed& x, moment now);

  const snapshot& now() const { return snapshot_; }

private:
  struct step {
    const std::vector<rendezvous_effect>& effects;
    const rendezvous& after;
    moment now;
    records out{};
    bool has_new_generation = false;
  };

  /// Of a node, in the newest generation.
  struct told_saves {
    std::optional<node_saved> unwritten{};
    std::optional<time_point> written_at{};
  };

  void put(step& at, fact what);
  records only(fact what, moment now);

  // What the rendezvous was told.
  void on(const agent_joined& event, step& at);
  void on(const agent_disconnected& event, step& at);
  void on(const agent_leaving& event, step& at);
  void on(const workers_started& event, step& at);
  void on(const worker_failed& event, step& at);
  void on(const workers_stopped& event, step& at);
  void on(const stop_requested& event, step& at);
  template <class Other>
  void on(const Other&, step&) {
    // What follows from it shows by itself.
  }
  void add_death(const worker_failure& x, generation_id generation, step& at);

  // What it made of it.
  void note_unwritten_saves(step& at);
  void note_unwritten_saves(const agent_id& agent, step& at);
  void note_answer(step& at);
  void note_departures(step& at);
  void note_revocation(step& at);
  void note_end_of_generation(step& at);
  void note_attributions(step& at);
  void note_new_generation(step& at);
  void note_nodes(const rendezvous_event& event, step& at);
  void note_node(const agent_record& record, step& at);
  void note_phase(step& at);
  void note_end(step& at);

  snapshot snapshot_;
  std::map<agent_id, std::vector<int64_t>> pids_; ///< As they were reported.
  /// Before the newest generation.
  std::optional<worker_failure> failure_before_;
  std::vector<pending_drain> drains_; ///< As they were noted last.
  std::map<agent_id, told_saves> saves_;
};

} // namespace actorrun::core::journal
