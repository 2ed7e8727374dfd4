// Runs core::succession, as an actor with a thread of its own: whether this agent
// leads must not wait for workers, logs or operators.
#pragma once

#include "actors/core/succession/beginning.hpp"
#include "actors/core/succession/founding.hpp"
#include "actors/core/succession/questions.hpp"
#include "actors/core/succession/succession.hpp"
#include "actors/core/succession/witness.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/shared_lease_desk.hpp"
#include "actors/voter_messages.hpp"
#include "messages/caf.hpp"
#include "runtime/network/actor_watch.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/succession/voter_links.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::detail {

struct voter_leadership_config {
  core::succession_options options;
  /// Where the job begins, `host:port`: who knows of no voter asks there. Several: at
  /// any majority of them, and in the same order on all nodes.
  std::vector<std::string> seeds;
  /// Nodes look for the job on this host: whoever leads elsewhere is to hand over, if
  /// that is the one seed.
  bool is_home = false;
  /// Of several seeds the one that this host is.
  uint32_t own_seed = 0;
  /// Starts the coordinator; returns where agents reach it, `host:port`.
  std::function<result<std::string>(const core::open_coordinator&)>
    open_coordinator;
  /// Ends it and returns when its port is closed. There may be none.
  std::function<void(const std::string& reason)> close_coordinator;
  /// Null: there is none.
  std::function<rendezvous_coordinator_actor()> coordinator;
  /// As memos of the job on this host name them, and those files.
  core::endpoint_list remembered{};
  std::vector<std::string> memos{};
  /// The agents of the job on this host; none: that cannot be known.
  std::function<std::optional<core::host_survey>()> survey{};
  /// Who votes is known, or has changed. May be empty, as the next.
  std::function<void(const core::endpoint_list&)> on_voters{};
  /// The job has been found. @param is_new It has been begun here: all agents of the
  /// memos have ended.
  std::function<void(bool is_new)> on_met{};
  /// The coordinator is elsewhere, and nodes look for it here. May be empty.
  std::function<void()> on_signpost{};
  /// This agent leaves, and no other one can lead. May be empty.
  std::function<void()> on_no_successor;
  /// This process is a witness: no agent of it looks for the leader.
  std::optional<core::witness_options> witness{};
  /// Of a witness. The coordinator is there, in another process.
  std::function<void(const std::string& endpoint)> on_leader{};
  /// Likewise: the job has ended so, and all its agents know.
  std::function<void(const core::outcome&)> on_decided{};
  /// Likewise: no leader answers.
  std::function<void(const failure&)> on_gave_up{};
  actor_watch::callback on_died{};
  log lines{};
  /// As `detail::time_asleep`: promises end while this machine is suspended.
  std::function<core::duration()> asleep = time_asleep;
};

/// The handle of that actor. All but `found` and `stop` return at once, on any thread.
class voter_leadership {
public:
  /// The coordinator is in this process.
  struct here {};

  /// A text is an endpoint to try; another answer follows unless that succeeds.
  using answer = std::variant<here, std::string, failure>;
  using seeker = std::function<void(const answer&)>;

  /// This agent begins the job.
  struct foundation {
    core::charter job;
    std::string endpoint; ///< Of its links.
    std::function<void(result<void>)> on_done{};
    /// Where the coordinator will listen.
    socket_address where{};
  };

  /// Likewise, once the agents of the memos have ended (`core::beginning`).
  struct doubtful_foundation {
    foundation what;
  };

  /// As `core::timer_fired`, of the wait for that.
  struct wait_due {
    timer_id timer;
  };

  /// Likewise, of the founding at several seeds; 0: it has not started yet.
  struct founding_due {
    timer_id timer;
  };

  /// Likewise, of a witness; 0: it begins to look for the leader.
  struct watch_due {
    timer_id timer;
  };

  /// The agent of this process looks for the coordinator.
  struct search {
    seeker on_answer;
  };

  /// Likewise, while its link is silent: is there another one than there?
  struct second_search {
    std::function<void()> on_found; ///< Null: it looks no more.
  };

  /// An endpoint that was to be tried.
  struct attempt {
    std::string endpoint;
    std::optional<failure> why{}; ///< None: the coordinator is there.
    std::string elsewhere{};      ///< It is here, says who was there instead.
  };

  struct said {
    agent_id from;
    voter_message what;
    voter_reply reply{};
  };

  struct reachable {
    agent_id who;
  };

  struct unreachable {
    agent_id who;
  };

  struct proved {
    agent_id who;
    core::tombstone left;
  };

  /// What speaks for this process when it has ended is there.
  struct links_ready {};

  struct voters_told {
    core::endpoint_list voters;
  };

  struct poll_due {
    uint64_t number = 0;
  };

  /// What must outlive our coordinator has changed.
  struct job_told {
    core::charter job;
    uint64_t change = 0; ///< Its coordinator wants to know when this is stored.
  };

  /// An operator wants this agent to lead; and now the operator has the answer.
  struct lead_order {
    agent_id to;
    std::string by;
    bool is_due = false;
  };

  /// An operator gives up voters that are lost.
  struct election_order {
    operator_question what;
  };

  /// Give up the leadership for good; the job may be over.
  struct resignation {
    std::optional<core::outcome> outcome{}; ///< None: it goes on.
  };

  /// End, without a word.
  struct stop_now {};

  using actor = interface<
    // Begin the job.
    void(foundation), void(doubtful_foundation),
    // Where is the coordinator?
    void(search), void(second_search), void(attempt),
    // Another agent has said this, is reached or not, or has ended.
    void(said), void(reachable), void(unreachable), void(proved),
    // We can be reached.
    void(links_ready),
    // A coordinator has told who votes.
    void(voters_told),
    // What our coordinator answers, and what must outlive it.
    void(electors_answer), void(job_told),
    // Have another agent lead, or this one.
    void(lead_order), void(election_order),
    // Give up the leadership for good; the job may be over.
    void(resignation),
    // Sent by itself.
    void(core::timer_fired), void(poll_due), void(wait_due), void(founding_due),
    void(watch_due),
    // End.
    void(stop_now)>;

  /// @pre `system` outlives it
  voter_leadership(caf::actor_system& system, voter_leadership_config config);

  /// As `stop`.
  ~voter_leadership();

  voter_leadership(const voter_leadership&) = delete;
  voter_leadership& operator=(const voter_leadership&) = delete;

  /// From now on it speaks over these. On any thread.
  void use(std::shared_ptr<voter_links> links);

  /// What those are made with.
  voter_callbacks callbacks() const;

  /// Begins the job, and waits until its coordinator is there.
  result<void> found(core::charter job, std::string endpoint);

  /// Begins the job once no agent of the memos can be in it and, of several seeds, a
  /// majority wants it; returns at once.
  void found_when_alone(core::charter job, std::string endpoint,
                        const socket_address& where);

  template <class T>
  void tell(T x) const {
    tell_anonymously(actor_, std::move(x));
  }

  /// Returns what says for how long no majority has confirmed that our coordinator
  /// leads. May outlive this object.
  leadership_age age_of_leadership() const;

  /// Waits until no callback runs any more.
  void stop();

private:
  using clock = std::chrono::steady_clock;

  /// Who speaks for the actor.
  struct shared_links {
    std::mutex mutex;
    std::shared_ptr<voter_links> links; ///< Guarded by the mutex.

    std::shared_ptr<voter_links> get() {
      const auto guard = std::lock_guard{mutex};
      return links;
    }
  };

  class state;

  caf::actor_system& system_;
  std::function<core::duration()> asleep_;
  core::duration promise_;
  std::shared_ptr<std::atomic<clock::rep>> leadership_end_
    = std::make_shared<std::atomic<clock::rep>>(0);
  std::shared_ptr<shared_links> links_ = std::make_shared<shared_links>();
  actor actor_;
  actor_watch watch_;
  bool is_stopped_ = false;
};

/// Makes the messages of that actor known to CAF. @see register_message_types
void register_succession_types();

} // namespace actorrun::detail

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_succession, ACTORRUN_FIRST_TYPE_ID + 260)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::foundation)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::search)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::second_search)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::attempt)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::said)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::unreachable)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::reachable)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::proved)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::links_ready)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::voters_told)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::poll_due)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::job_told)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::lead_order)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::election_order)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::resignation)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::stop_now)
ACTORRUN_LOCAL_TYPE(actorrun_succession, actorrun::electors_answer)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::doubtful_foundation)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::wait_due)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::founding_due)
ACTORRUN_LOCAL_TYPE(actorrun_succession,
                    actorrun::detail::voter_leadership::watch_due)
ACTORRUN_END_LOCAL_TYPES(actorrun_succession)
