// Adds up the records of a journal to what was known at a moment.
#pragma once

#include "actors/core/journal/record.hpp"
#include "actors/core/journal/spent_time.hpp"
#include "actors/core/protocol/charter.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core::journal {

/// At most this many of each are remembered; the oldest go first.
inline constexpr size_t generations_remembered_max = 64;
/// Of older generations than these, the failures are cut to what is told in one
/// line.
inline constexpr size_t generations_in_full_max = 8;
inline constexpr size_t departures_remembered_max = 32;
inline constexpr size_t refusals_remembered_max = 8;
inline constexpr size_t requests_remembered_max = 16;
/// Of nodes that are gone: the time of more hosts than these is one sum.
inline constexpr size_t hosts_counted_max = 1'024;
/// Of the newest generation: nodes that have left it. What others did is not lost.
inline constexpr size_t leavers_remembered_max = 1'024;

struct gpu_trouble {
  std::string text;
  moment at; ///< When it was reported.

  friend bool operator==(const gpu_trouble&, const gpu_trouble&) = default;
};

/// What a check has shown of the failure that ended a generation.
struct attribution_entry {
  attribution to = attribution::awaited;
  std::string text;

  friend bool operator==(const attribution_entry&, const attribution_entry&)
    = default;
};

/// What the end of a generation has cost of its training. It is in `lost`.
struct loss {
  uint64_t worker_us = 0;
  /// The last save was so long before training ended; none: no save was reported.
  std::optional<uint64_t> since_us{};

  friend bool operator==(const loss&, const loss&) = default;
};

/// One generation, from its beginning to its end.
struct generation_entry {
  generation_formed formed;
  moment formed_at;
  std::optional<moment> running_at{};
  std::optional<moment> revoked_at{};
  std::string end_reason{}; ///< Of the revocation.
  std::optional<core::end_origin> end_origin{};
  std::optional<moment> stopped_at{};
  /// While it is being stopped: the failure that was reported first. Then the
  /// root cause.
  std::optional<worker_failure> cause{};
  moment cause_at{};              ///< When it was reported.
  rare_value<gpu_trouble> gpus{}; ///< Of its node.
  collateral others{};
  std::string exemption{};
  std::optional<core::end_origin> exemption_origin{};
  uint32_t restart_count = 0; ///< Spent at its end.
  rare_value<trouble> why{};  ///< It has ended for; none: there was none.
  spent_time time{};          ///< Until the next one was formed.
  rare_value<attribution_entry>
    attributed{};             ///< None: no check was to show it.
  bool at_safe_point = false; ///< It was revoked there.
  rare_value<loss> lost{};    ///< None: nothing is known to be lost.

  friend bool operator==(const generation_entry&, const generation_entry&)
    = default;
};

/// So many generations has trouble ended, by its class.
struct end_counts {
  std::array<uint64_t, end_class_count> of{};

  friend bool operator==(const end_counts&, const end_counts&) = default;
};

/// A node that is not here any more.
struct departure {
  node last;
  moment at;
  std::string reason;

  friend bool operator==(const departure&, const departure&) = default;
};

struct refusal {
  node_refused what;
  moment at;

  friend bool operator==(const refusal&, const refusal&) = default;
};

/// What an operator has asked.
struct operator_request {
  operator_asked what;
  moment at;

  friend bool operator==(const operator_request&, const operator_request&)
    = default;
};

/// What a node has done in the newest generation, as far as its end may undo it.
struct node_run {
  uint64_t trained_us = 0;     ///< Of its places, saving not included, …
  time_point trained_until{};  ///< … until then.
  bool has_said_saves = false; ///< Then:
  duration saving{0};          ///< As the last record says, like the next ones.
  std::optional<time_point> saved_up_to{};
  duration saving_since{0};

  friend bool operator==(const node_run&, const node_run&) = default;
};

/// A node that has left in the newest generation.
struct leaver {
  std::string host;
  uint32_t slot_count = 0;
  node_run run;

  friend bool operator==(const leaver&, const leaver&) = default;
};

struct node_entry {
  shared_value<node> now;
  moment joined_at{};
  moment since{}; ///< Of its share's state, and whether it is connected.
  rare_value<gpu_trouble> gpus{};      ///< None: they are healthy.
  spent_time time{};                   ///< Since it joined …
  time_point counted_until{};          ///< … until then.
  uint32_t generation_count = 0;       ///< That it has had a place in.
  std::optional<moment> unfit_since{}; ///< Checked, or failed; none: it is fit.
  node_run run{};

  friend bool operator==(const node_entry&, const node_entry&) = default;
};

/// The newest generation hangs.
struct hang_entry {
  std::string text;
  std::string where;
  time_point since{}; ///< The last sign of life.

  friend bool operator==(const hang_entry&, const hang_entry&) = default;
};

/// A worker of the newest generation that is slower than the others.
struct slow_worker {
  straggler what;
  moment since; ///< It was found.

  friend bool operator==(const slow_worker&, const slow_worker&) = default;
};

/// How a coordinator leads that was elected.
struct leadership_entry {
  leader_chosen chosen;
  moment at;
  uint64_t term = 0; ///< It may win another while it leads.
  std::vector<agent_id> voters{};
  std::vector<agent_id> deputies{};

  friend bool operator==(const leadership_entry&, const leadership_entry&)
    = default;
};

/// Why it leads no more.
struct leadership_end {
  std::string reason;
  moment at;

  friend bool operator==(const leadership_end&, const leadership_end&)
    = default;
};

/// Where the time went that is not of a node that is here, nor of a generation that is
/// remembered (`account_of`).
struct time_ledger {
  time_point since{};   ///< What was before is not known.
  spent_time outside{}; ///< Of the job, outside these generations.
  std::map<std::string, spent_time>
    left{};                 ///< By host, of nodes that are gone.
  spent_time left_others{}; ///< There were too many hosts.

  friend bool operator==(const time_ledger&, const time_ledger&) = default;
};

/// What a coordinator knew of its job at one moment. Made by records only, so that
/// a live job and a journal of it show the same.
struct snapshot {
  /// Records may be missing; what they changed is then unknown.
  /// @pre `x.number > number`
  void apply(const record& x);

  uint64_t number = 0; ///< Of the last record.
  coordinator_began coordinator{};
  moment began{};
  moment latest{}; ///< Of the last record.
  rendezvous_phase phase = rendezvous_phase::gathering;
  moment phase_since{};
  std::string waiting_for{};
  moment waiting_since{};
  std::optional<time_point> waiting_until{};
  bool gives_up_then = false;
  uint32_t restart_count = 0;
  bool is_resized = false; ///< Its settings are not those that it began with.
  std::map<agent_id, node_entry> nodes{};
  std::vector<quarantined_node> quarantined{};
  std::vector<excluded_host> excluded{};
  /// Root causes of the ends of generations, by host; at most `hosts_counted_max`.
  std::vector<failing_host> failures{};
  std::deque<operator_request> requests{};
  std::deque<generation_entry> generations{}; ///< The newest last.
  uint64_t forgotten_generation_count = 0;
  std::deque<departure> departures{};
  std::deque<refusal> refusals{};
  std::optional<end_requested> end_request{}; ///< The last one.
  std::optional<outcome> result{};
  std::optional<moment> ended_at{};
  /// The coordinator's process has ended in order: it was not killed before.
  bool is_complete = false;
  std::optional<leadership_entry> leadership{}; ///< None: it was not elected.
  std::optional<leadership_end> left{};         ///< None: it leads still.
  std::optional<hang_entry>
    hang{}; ///< Of the newest generation; none: it lives.
  end_counts ends{};
  std::vector<slow_worker> stragglers{}; ///< Likewise; the slowest first.
  uint32_t straggler_count = 0;          ///< With those that are not named.
  time_ledger time{};
  bool has_saves = false; ///< A worker of this job has said that it saved.
  std::vector<leaver> leavers{}; ///< At most `leavers_remembered_max`.

  /// Of a snapshot that says nothing of time: it is counted from `latest` on.
  void begin_to_count();

  /// How much of a node's time until now is not in its sums; none after the end.
  uint64_t uncounted_us(const node_entry& x, time_point now) const;

  /// The newest generation; null before the first.
  const generation_entry* newest_generation() const {
    return generations.empty() ? nullptr : &generations.back();
  }

  /// The number of the generation before the newest one; 0: none is known.
  generation_id generation_before() const;

  friend bool operator==(const snapshot&, const snapshot&) = default;

private:
  void add(const coordinator_began& x);
  void add(const phase_changed& x);
  void add(const wait_changed& x);
  void add(const node_changed& x);
  void add(const quarantine_changed& x) {
    count_all();
    quarantined = x.nodes;
  }
  void add(const exclusions_changed& x) { excluded = x.hosts; }
  void add(const settings_changed& x) {
    coordinator.settings = x.settings;
    is_resized = true;
  }
  void add(const operator_asked& x);
  void add(const node_joined&) {}
  void add(const node_refused& x);
  void add(const node_out_of_touch&) {}
  void add(const node_leaving&) {}
  void add(const node_gone& x);
  void add(const generation_formed& x);
  void add(const generation_running& x);
  void add(const worker_died& x);
  void add(const generation_revoked& x);
  void add(const generation_stopped& x);
  void add(const end_requested& x) { end_request = x; }
  void add(const job_ended& x);
  void add(const coordinator_ended&) { is_complete = true; }
  void add(const gpus_changed& x);
  void add(const leader_chosen& x);
  void add(const voters_changed& x);
  void add(const leadership_given_up& x) {
    count_all();
    left = {x.reason, latest};
  }
  void add(const hang_changed& x);
  void add(const stragglers_changed& x);
  void add(const failure_attributed& x);
  void add(const node_saved& x);
  std::optional<time_point> last_save() const;
  uint64_t lose(spent_time& of_node, node_run& run, uint32_t places,
                std::optional<time_point> saved);
  void lose_training(generation_entry& x);
  uint64_t move_training(spent_time& of_node, node_run& run, time_cause to,
                         uint32_t places, uint64_t worker_us);
  void count_failure(const std::string& host);
  void end_hang();
  void end_stragglers();
  void count(node_entry& x, time_point until);
  void count(node_entry& x) { count(x, latest.when); }
  void count_all(time_point until);
  void count_all() { count_all(latest.when); }
  generation_entry* find(generation_id generation);
  rare_value<gpu_trouble> trouble_at(const agent_id& agent) const;
};

/// From the revocation of the generation before to the start of all workers of this
/// one; none if there was none, or if it has not come to that.
std::optional<duration> regroup_time(const snapshot& x, size_t index);

} // namespace actorrun::core::journal
