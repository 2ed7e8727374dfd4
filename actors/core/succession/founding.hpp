// Decides which of several seeds begins a job that none of them has heard of.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/succession/beginning.hpp"
#include "actors/core/succession/succession.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// At most this many seeds: each of them is asked until the job is found.
inline constexpr size_t seeds_max = 9;

/// From one round of questions to the next: many times the way there and back …
inline constexpr auto founding_pause = std::chrono::milliseconds{200};
/// … and so much longer for each seed before it in the list, so that no two go on
/// disturbing each other.
inline constexpr auto founding_turn = std::chrono::milliseconds{15};
/// A round is over before anyone who has answered it can have ended, come again, and
/// forgotten that.
static_assert(founding_pause + founding_turn * seeds_max
              < promise_min - leadership_guard);
/// Whoever may claim nothing, because agents are to be awaited, lets the others go first.
inline constexpr auto awaiting_pause = std::chrono::milliseconds{500};
/// Whoever has granted the job to another seed gives that one so long to begin it.
inline constexpr auto grant_pause = std::chrono::milliseconds{1'000};

/// So many seeds have to be there.
inline constexpr size_t majority_of_seeds(size_t count) {
  return count / 2 + 1;
}

/// Of two attempts to begin the job the higher one counts; no two have the same.
struct ballot {
  uint64_t number = 0; ///< From 1 on.
  uint32_t seed = 0;   ///< Whose attempt it is, by its place in the list.

  friend auto operator<=>(const ballot&, const ballot&) = default;
};

// -- what seeds say to each other ------------------------------------------------

/// May I begin the job? Whoever knows it says where it is instead.
struct found_ask {
  ballot by;              ///< Number 0: only whether there is a job is asked.
  uint32_t seed = 0;      ///< Who is asked.
  std::string endpoint{}; ///< Where the sender hears the answer.
  std::vector<std::string> seeds{}; ///< As it was told them, in order.
};

/// Nothing comes of any lower ballot by this seed, not even of its own.
struct found_promise {
  ballot by;
  uint32_t seed = 0; ///< Who promises.
  /// They have begun the job, or take part in it, unless they have ended or promise
  /// the same.
  endpoint_list may_know{};
};

struct found_refused {
  ballot by;
  uint32_t seed = 0;
  ballot promised{};        ///< A higher one.
  endpoint_list may_know{}; ///< The sender is in a job with these.
  /// Those of the sender, if they are others; then that is the reason.
  std::vector<std::string> seeds{};
};

/// A majority has promised: grant me the job.
struct found_claim {
  ballot by;
  uint32_t seed = 0;      ///< Who is asked.
  std::string endpoint{}; ///< Of the sender, as a voter.
};

struct found_granted {
  ballot by;
  uint32_t seed = 0; ///< Who grants.
};

using founding_message = std::variant<found_ask, found_promise, found_refused,
                                      found_claim, found_granted>;

// -- events -----------------------------------------------------------------------

struct founding_started {};

struct founding_heard {
  agent_id from;
  founding_message what;
};

/// Of those that were to be awaited these have ended, or have no coordinator
/// (`core::beginning`).
struct awaited_ended {
  std::set<agent_id> who;
};

using founding_event = std::variant<founding_started, founding_heard,
                                    awaited_ended, job_found, timer_fired>;

// -- effects ----------------------------------------------------------------------

/// To whoever listens at this seed.
struct ask_seed {
  uint32_t seed = 0;
  founding_message what;
};

struct answer_seed {
  agent_id to;
  std::string endpoint;
  founding_message what;
};

/// They may have begun the job: find out whether they have ended, and answer with
/// `awaited_ended`. Comes again in each round.
struct await_agents {
  endpoint_list who;
};

/// This one may begin the job from now on: keep that in the memo, before anything else
/// is said, and look for the job there.
struct follow_founder {
  agent_id who;
  std::string endpoint;
};

/// The sender was told other seeds, so that no majority of both means anything.
struct report_other_seeds {
  agent_id who;
  std::string endpoint; ///< Empty: unknown.
  std::vector<std::string> seeds;
};

using founding_effect
  = std::variant<ask_seed, answer_seed, await_agents, follow_founder,
                 report_other_seeds, begin_job, arm_timer>;

struct founding_options {
  agent_id self;
  std::string endpoint;           ///< As a voter.
  std::vector<std::string> seeds; ///< The same, and in the same order, for all.
  uint32_t own = 0;               ///< Which of them this process is.
  /// Agents of a memo of this host: the job may be theirs.
  endpoint_list remembered{};
  /// A seed that has just been started may be one that was there before, and has
  /// forgotten what it has promised: whoever has begun the job meanwhile reaches it in
  /// this time.
  duration abstention = promise_min;
};

///                   V                majority promises        majority grants
///   abstaining ----------> asking --------------------> claiming ----------> begun
///                            ^                              |
///                            +-- higher ballot, next round -+
///
/// Begins the job at most once while a majority of the seeds remembers: who begins it
/// has been granted that by a majority, and each later attempt asks one of them first.
/// That one names the founder. It counts no more when it has ended with all that it
/// knew of, or promises itself: a seed that has begun the job promises nothing.
///
/// A seed that never comes hinders nothing, as long as a majority is there.
///
/// @see Lamport, Paxos made simple (2001). There a second proposer completes what the
///      first has begun; here nothing but the first one's own word, or proof of its
///      end, takes the job from it.
class founding {
public:
  enum class phase { abstaining, asking, claiming, begun, over };

  explicit founding(founding_options options);

  /// Applies one event and returns its effects. Deterministic.
  std::vector<founding_effect> step(const founding_event& event,
                                    time_point now);

  phase current_phase() const { return phase_; }
  const founding_options& options() const { return options_; }

  /// For people: how many seeds are needed, and which were heard of lately.
  std::string waits_for() const;

private:
  enum class alarm { stand };

  void on(const founding_started& event);
  void on(const founding_heard& event);
  void on(const awaited_ended& event);
  void on(const job_found& event);
  void on(const timer_fired& event);

  void hear(const agent_id& from, const found_ask& x);
  void hear(const agent_id& from, const found_promise& x);
  void hear(const agent_id& from, const found_refused& x);
  void hear(const agent_id& from, const found_claim& x);
  void hear(const agent_id& from, const found_granted& x);

  void stand();
  void claim_if_possible();
  void begin_if_granted();
  void give_way();
  void ask_all(ballot by);
  void await(const endpoint_list& who);
  endpoint_list unsettled() const;
  bool has_majority(const std::set<uint32_t>& of) const;
  void stand_later(duration pause);

  founding_options options_;
  phase phase_ = phase::abstaining;
  alarm_set<alarm, 1> alarms_;
  std::map<uint32_t, time_point> heard_; ///< When a seed was heard last.

  // As one that is asked.
  ballot promised_{};
  endpoint_list may_know_; ///< The founder that was granted, and all of memos.
  std::set<agent_id> settled_; ///< Of these, and of those that others name.

  // As one that asks.
  ballot mine_{};
  time_point asked_at_{};
  uint64_t number_ = 0; ///< The highest that was heard of.
  std::set<uint32_t> promises_;
  std::set<agent_id> promisers_;
  std::set<uint32_t> grants_;
  endpoint_list named_; ///< By those that have answered in this round.

  // Of the step that is taken.
  time_point now_{};
  std::vector<founding_effect> out_;
};

std::string to_string(founding::phase x);

/// `found_ask 3.1 of 2`
std::string to_string(const founding_message& x);

/// `ask_seed 2: found_ask 3.1`, …
std::string to_string(const founding_effect& x);

} // namespace actorrun::core
