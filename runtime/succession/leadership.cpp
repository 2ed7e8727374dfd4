#include "runtime/succession/leadership.hpp"

#include "actors/core/text.hpp"
#include "actors/operator_questions.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/thread.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace actorrun::detail {

using namespace core;

namespace {

/// Between two questions where the coordinator is there is this part of a promise, which
/// is longer where thousands ask: 20 ms, or more. No voter may know for a while.
constexpr auto polls_per_promise = 18;
constexpr auto poll_pause_max = std::chrono::milliseconds{100};

/// Who has asked so often without an answer asks where the job began, too, …
constexpr auto polls_before_seed = 5;
/// … and who has asked so often gives up; the agent begins again.
constexpr auto polls_max = 30;
/// At one of several seeds the job may begin at any moment.
constexpr auto polls_of_seed_max = 150;
/// One of several seeds that has not answered for so long, because its host is off, is
/// left for the next one. The last of a search is not: the network may be slow.
constexpr auto seed_silence_max = std::chrono::seconds{1};

/// A leader that is not where the job began says so there this often: who is started
/// there again must not begin a second job.
constexpr auto seed_pause = std::chrono::milliseconds{300};

/// Of several seeds each gets a survey of every other's host this often.
constexpr auto survey_pause = std::chrono::milliseconds{1'000};
/// A seed whose port is still held tries again after this time.
constexpr auto seat_pause = std::chrono::milliseconds{200};
/// One whose coordinator could not be opened lets another begin the job first.
constexpr auto failed_begin_pause = std::chrono::milliseconds{1'000};

/// Who can follow is told to people once it has been so for this long: agents come and
/// go together.
constexpr auto settle_pause = std::chrono::milliseconds{300};

/// Where nodes look for the job, the coordinator is called back this often …
constexpr auto call_pause = std::chrono::milliseconds{1'000};
/// … and comes when it has been elsewhere for so long: the agents are settled then …
constexpr auto stay_min = std::chrono::milliseconds{3'000};
/// … if none has come or gone meanwhile. One that has been cut off until now does not
/// reach all others yet, and while the group changes each change of coordinators costs
/// a lease.
constexpr auto unchanged_min = std::chrono::milliseconds{1'000};

/// So many endpoints are remembered: more than can be asked for in any election.
constexpr auto endpoints_max = size_t{256};
/// An operator names so many hosts at most, in so many bytes each, …
constexpr auto lost_count_max = 16;
constexpr auto lost_name_size_max = size_t{320};
/// … and has so long a name.
constexpr auto by_size_max = size_t{160};

/// An operator's answer is on its way for so long before the coordinator ends.
constexpr auto answer_pause = std::chrono::milliseconds{50};

/// Leads to whichever host reads it.
bool is_everywhere(const std::string& host) {
  const auto number = numeric_address(host, 0);
  return host == "localhost" || (number && is_loopback(*number));
}

std::string joined(const std::vector<std::string>& xs) {
  auto out = std::string{};
  for (const auto& x : xs)
    out += (out.empty() ? "" : ", ") + x;
  return out;
}

/// `2 agents and 1 witness`
std::string voters_text(size_t agent_count, size_t witness_count) {
  auto out
    = formatted("{} {}", agent_count, agent_count == 1 ? "agent" : "agents");
  if (witness_count > 0)
    out += formatted(" and {} {}", witness_count,
                     witness_count == 1 ? "witness" : "witnesses");
  return out;
}

find_leader question_from(const voter_links& links) {
  return {.endpoint = links.endpoint(), .takes_answer = true};
}

std::string listed_endpoints(const endpoint_list& xs) {
  auto out = std::vector<std::string>{};
  for (const auto& [who, where] : xs)
    out.push_back(formatted("{} ({})", who.value, where));
  return joined(out);
}

} // namespace

/// `core_` reckons with a clock that goes on while the machine is suspended.
class voter_leadership::state {
public:
  static constexpr const char* name = "voter-leadership";

  state(actor::pointer self, voter_leadership_config config,
        std::shared_ptr<std::atomic<clock::rep>> end,
        std::shared_ptr<shared_links> links)
    : self_(self), config_(std::move(config)), leadership_end_(std::move(end)),
      links_(std::move(links)), core_(config_.options),
      questions_(config_.options.self) {}

  actor::behavior_type make_behavior() {
    return {
      [this](const foundation& x) { on(x); },
      [this](const doubtful_foundation& x) { on(x); },
      [this](const search& x) { on(x); },
      [this](const second_search& x) { on(x); },
      [this](const attempt& x) { on(x); },
      [this](const said& x) {
        if (const auto* question = std::get_if<find_leader>(&x.what))
          return answer(x.from, *question, x.reply);
        std::visit([&](const auto& y) { hear(x.from, y); }, x.what);
      },
      [this](const reachable& x) { reached_.insert(x.who); },
      [this](const unreachable& x) {
        reached_.erase(x.who);
        dispatch(link_broken{x.who});
      },
      [this](const proved& x) {
        config_.lines.debug(
          formatted("agent {} has ended, says its machine", x.who.value));
        if (wait_)
          return dispatch_wait(process_examined{x.who, x.left});
        if (founding_)
          return;
        dispatch(process_examined{x.who, x.left});
      },
      [this](links_ready) { leave_behind(core_.own_tombstone()); },
      [this](const voters_told& x) {
        told_ = x.voters;
        remember(told_);
        call_voters();
      },
      [this](const electors_answer& x) { on(x); },
      [this](const job_told& x) {
        job_ = x.job;
        told_change_ = x.change;
        propose();
      },
      [this](const lead_order& x) { on(x); },
      [this](const election_order& x) { on(x); },
      [this](const resignation& x) { on(x); },
      [this](const timer_fired& x) { dispatch(x); },
      [this](const poll_due& x) {
        if (x.number == poll_)
          poll();
      },
      [this](const wait_due& x) { dispatch_wait(timer_fired{x.timer}); },
      [this](const founding_due& x) {
        if (x.timer.value == 0)
          return take_seat();
        dispatch_founding(timer_fired{x.timer});
      },
      [this](const watch_due& x) {
        if (x.timer.value == 0)
          return watch();
        dispatch_watch(timer_fired{x.timer});
      },
      [this](stop_now) { self_->quit(); },
    };
  }

  void on_exit() {
    *leadership_end_ = 0;
    seeker_ = nullptr;
    second_seeker_ = nullptr;
    founded_ = nullptr;
    wait_.reset();
    founding_.reset();
    watch_.reset();
    orderers_.clear();
    config_ = {};
    links_.reset();
  }

private:
  struct effect_runner;

  time_point now() const { return clock::now() + config_.asleep(); }
  bool leads() const {
    return !coordinator_endpoint_.empty()
           && now().time_since_epoch().count() < leadership_end_->load();
  }

  // -- what succession orders -----------------------------------------------------

  void dispatch(const succession_event& event);
  void open(const open_coordinator& x);
  void ask_decider();
  void tell_voters();
  void say_voters();
  void show_at_seed();
  void call_coordinator();
  void call_voters();
  void say(const agent_id& to, const voter_message& what);
  void leave_behind(const tombstone& x);
  void learn(const std::optional<written_charter>& x);
  void learn(const agent_id& who, const std::string& where);
  std::string endpoint_of(const agent_id& who) const;

  void remember(const endpoint_list& voters);

  // -- the job --------------------------------------------------------------------

  void on(const foundation& x);
  void on(const doubtful_foundation& x);
  void on(const electors_answer& x);
  void on(const lead_order& x);
  void on(const election_order& x);
  void report(const report_election& x);
  std::string listed(const std::vector<agent_id>& agents) const;
  void on(const resignation& x);
  void propose();
  void report_written(uint64_t change);
  void end_elections();
  std::vector<voter_candidate>
  reachable_of(const std::vector<voter_candidate>& here) const;
  std::vector<voter_candidate>
  with_witnesses(std::vector<voter_candidate> agents) const;
  void end_witnesses(const outcome& how) const;

  // -- whether a job may begin ----------------------------------------------------

  struct wait_runner;

  void dispatch_wait(const beginning_event& event);
  void survey_own_host();
  void begin();
  void leave_endpoint();
  void meet(bool is_new);
  bool listens_at_endpoint();
  void show_survey(const std::string& where);

  // -- who begins it, of several seeds ----------------------------------------------

  struct founding_runner;

  bool has_several_seeds() const { return config_.seeds.size() > 1; }
  bool is_seed(const std::string& endpoint) const {
    return std::ranges::count(config_.seeds, endpoint) > 0;
  }
  std::string next_seed();
  void take_seat();
  void dispatch_founding(const founding_event& event);
  void ask_at(const ask_seed& x);
  void wait_for(const endpoint_list& who);
  void follow(const follow_founder& x);
  void warn_of(const report_other_seeds& x);
  void begin_for_majority();
  void end_wait();
  void answer_newborn(const agent_id& from, const found_ask& x);
  std::optional<failure> why_waiting() const;

  // -- where the coordinator is ---------------------------------------------------

  void on(const search& x);
  void on(const second_search& x);
  void on(const attempt& x);
  void poll();
  void poll_later();
  void try_next_seed();
  /// Those that may know where the coordinator is.
  endpoint_list knowing_ones() const;
  void ask_next();
  void end_questions();
  void try_at(const std::string& coordinator);
  void give_up(const failure& why);

  // -- as a witness ---------------------------------------------------------------

  struct watch_runner;

  void watch();
  void dispatch_watch(const witness_event& event);
  void ask_for(const ask_for_leader& x);
  void notice_leader();
  void follow(const leader_at& x);
  void end_watch(const give_up_watch& x);

  void hear(const agent_id& from, const succession_message& x);
  void hear(const agent_id& from, const find_leader& x) { answer(from, x, {}); }
  void answer(const agent_id& from, const find_leader& x,
              const voter_reply& reply);
  void hear(const agent_id& from, const leader_at& x);
  void ask_leader(const leader_at& x);
  void hear(const agent_id& from, const call_home& x);
  void hear(const agent_id& from, const host_survey& x);
  void hear(const agent_id& from, const founding_message& x);

  actor::pointer self_;
  voter_leadership_config config_;
  std::shared_ptr<std::atomic<clock::rep>> leadership_end_;
  std::shared_ptr<shared_links> links_;
  succession core_;
  endpoint_list endpoints_;          ///< Of those that have been named.
  std::set<agent_id> reached_;       ///< Our links to these are up.
  endpoint_list told_;               ///< Voters, as a coordinator has told us.
  std::string coordinator_endpoint_; ///< Ours; empty: it is elsewhere.
  std::function<void(result<void>)> founded_;
  bool is_over_ = false; ///< It takes part in no election any more.

  // While agents of the memos may live.
  std::optional<beginning> wait_;
  foundation to_found_;
  bool is_wait_told_ = false;
  bool listens_at_endpoint_ = false;
  bool has_met_ = false; ///< It has found the job, or begun it.

  // At one of several seeds, until the job is found or begun.
  std::optional<founding> founding_;
  std::map<uint32_t, time_point> surveyed_; ///< When each seed was shown ours.
  std::set<agent_id> told_others_; ///< People know that these have other seeds.
  std::set<std::string> unresolved_; ///< And that these have no address.

  // As a leader.
  charter job_;
  uint64_t told_change_ = 0; ///< Of that, as our coordinator counts.
  uint64_t change_ = 0;
  std::map<uint64_t, uint64_t> told_changes_; ///< By ours, until it is stored.
  std::vector<voter_candidate> here_;
  time_point changed_{}; ///< Who is here.
  /// Who can follow this leader.
  struct electorate {
    size_t voter_count = 1;
    size_t witness_count = 0; ///< Of these.
    bool has_deputy = false;

    friend bool operator==(const electorate&, const electorate&) = default;
  };
  electorate said_; ///< To people.
  electorate seen_;
  time_point seen_since_{};
  std::optional<electors_known> shown_; ///< As our agents have been told.
  time_point shown_at_seed_{};
  size_t seed_turn_ = 0; ///< Whom that is shown next.
  time_point opened_{};
  bool is_leaving_ = false;
  bool is_asked_ = false; ///< An operator wants it to lead.
  std::vector<std::function<void(v1::OperatorReply)>>
    orderers_{};    ///< Wait for an election, the first first.
  agent_id home_{}; ///< Where nodes look for the job, as it has said.
  witness_list witnesses_;
  time_point called_{}; ///< The coordinator, to come home.

  // As one that looks for the leader.
  seeker seeker_;
  std::function<void()> second_seeker_;
  uint64_t poll_ = 0; ///< Names the newest.
  int poll_count_ = 0;
  questions questions_;
  bool is_referred_ = false; ///< To the leader, since the last question.
  size_t seeds_tried_ = 0;   ///< Of this search.
  size_t seed_tried_ = 0;    ///< The last of any search.
  bool is_pointed_ = false;  ///< It has followed who points elsewhere.
  std::string trying_;       ///< Where the agent connects to.
  time_point leave_seed_ = time_point::max(); ///< That is a seed, until then.
  std::string linked_;      ///< Where it is linked, as far as is known.
  std::string lost_;        ///< Where it was linked before.
  leader_at told_leader_{}; ///< The last that has said itself where it is.
  std::optional<failure> last_failure_;

  // As a witness.
  std::optional<witness>
    watch_;            ///< None: there is an agent, or it has not begun.
  agent_id watched_{}; ///< The leader, as it has said.
};

// One overload per effect.
struct voter_leadership::state::effect_runner {
  state& self;

  void operator()(const send_message& x) { self.say(x.to, x.what); }
  void operator()(const keep_tombstone& x) { self.leave_behind(x.left); }
  void operator()(const examine& x) {
    const auto where = self.endpoint_of(x.who);
    const auto links = self.links_->get();
    if (links && !where.empty())
      links->examine(x.who, where);
  }
  void operator()(const open_coordinator& x) { self.open(x); }
  void operator()(const set_leadership_end& x) {
    *self.leadership_end_ = x.due.time_since_epoch().count();
  }
  void operator()(const close_coordinator& x) {
    self.config_.lines.info("this node's coordinator gives up the leadership: "
                            + x.reason);
    self.coordinator_endpoint_.clear();
    self.linked_.clear();
    self.shown_.reset();
    self.config_.close_coordinator(x.reason);
  }
  void operator()(const core::ask_decider&) { self.ask_decider(); }
  void operator()(const report_charter_written& x) {
    self.report_written(x.change);
  }
  void operator()(const move_agents&) {} // They find the next one by asking.
  void operator()(const report_no_successor&) {
    if (self.is_leaving_ && self.config_.on_no_successor)
      self.config_.on_no_successor();
  }
  void operator()(const account_for& x) {
    if (const auto whom = self.config_.coordinator())
      tell_anonymously(whom, member_ended{x.who, x.generation, x.node_count});
  }
  void operator()(const report_election& x) { self.report(x); }
  void operator()(const arm_timer& x) {
    tell_later(self.self_, x.due - self.now(), timer_fired{x.timer});
  }
};

void voter_leadership::state::dispatch(const succession_event& event) {
  if (is_over_)
    return;
  for (const auto& effect : core_.step(event, now()))
    std::visit(effect_runner{*this}, effect);
  if (!coordinator_endpoint_.empty()) {
    tell_voters();
    say_voters();
  }
  show_at_seed();
  call_coordinator();
}

void voter_leadership::state::open(const open_coordinator& x) {
  if (x.successor)
    config_.lines.info("the voters elect this node's coordinator, which takes "
                       "over the job: "
                       + to_string(x.change, config_.options.self));
  is_asked_ = x.change.what == leader_change::kind::asked;
  change_ = told_change_ = 0;
  told_changes_.clear();
  here_.clear();
  job_ = x.known;
  auto opened = config_.open_coordinator(x);
  opened_ = now();
  if (opened) {
    coordinator_endpoint_ = std::move(*opened);
    meet(!x.successor);
  } else if (!founded_)
    // It does not decide, so its lease ends, and another one is elected.
    config_.lines.warn("this node cannot host the coordinator: "
                       + opened.error().text);
  if (const auto on_done = std::exchange(founded_, nullptr)) {
    if (!opened) { // No other agent has heard of this job.
      core_ = succession{config_.options};
      *leadership_end_ = 0;
      return on_done(opened.error());
    }
    on_done({});
  }
}

// Whoever decides answers; so it is asked again before each beat.
void voter_leadership::state::ask_decider() {
  const auto whom = config_.coordinator();
  if (!whom)
    return;
  tell_anonymously(
    whom, electors_question{{config_.options.self, home_},
                            [handle = actor{self_}](electors_answer x) {
                              tell_anonymously(handle, std::move(x));
                            }});
}

void voter_leadership::state::tell_voters() {
  const auto known = core_.own_tombstone().charter;
  if (!known)
    return;
  const auto now
    = electors_known{known->endpoints, known->voters.newest(), known->key.term};
  if (shown_ == now)
    return;
  shown_ = now;
  remember(known->endpoints);
  if (const auto whom = config_.coordinator())
    tell_anonymously(whom, now);
}

void voter_leadership::state::say_voters() {
  const auto known = core_.own_tombstone().charter;
  if (!known || known->voters.is_changing() || known->key != core_.written())
    return;
  const auto& voters = known->voters.newest();
  const auto count = voters.size();
  const auto has_deputy = known->order.size() > count;
  const auto witness_count = size_t(
    std::ranges::count_if(here_, [&](const auto& x) {
      return x.is_witness && std::ranges::find(voters, x.agent) != voters.end();
    }));
  const auto now_so = electorate{count, witness_count, has_deputy};
  if (std::exchange(seen_, now_so) != now_so)
    seen_since_ = now();
  if (now_so == said_ || now() < seen_since_ + settle_pause)
    return;
  said_ = now_so;
  config_.lines.info(
    count > 1 ? voters_text(count - witness_count, witness_count)
                  + " elect another coordinator if this one is lost"
    : has_deputy
      ? formatted(
        "agent {} leads next if this process ends; if this host is lost "
        "no one can: that needs agents on three addresses, or on two and a "
        "witness on a third",
        known->order.back().value)
      : std::string{"no other coordinator can be elected: no other address has "
                    "an agent"});
}

void voter_leadership::state::show_at_seed() {
  const auto is_there = config_.is_home && !has_several_seeds();
  if (!leads() || is_there || now() < shown_at_seed_ + seed_pause)
    return;
  shown_at_seed_ = now();
  const auto own = core_.own_tombstone();
  if (own.charter)
    if (const auto links = links_->get())
      links->notify(next_seed(),
                    succession_message{beat{own.term, now(), own.charter}});
}

// Of several, one after the other, but for the own one.
std::string voter_leadership::state::next_seed() {
  const auto count = config_.seeds.size();
  auto next = seed_turn_++ % count;
  if (count > 1 && config_.is_home && next == config_.own_seed)
    next = seed_turn_++ % count;
  return config_.seeds[next];
}

// With each beat that is heard, so to a leader that lives.
void voter_leadership::state::call_coordinator() {
  const auto& leader = core_.leader();
  if (!config_.is_home || has_several_seeds() || leads()
      || leader == config_.options.self || now() < called_ + call_pause)
    return;
  called_ = now();
  say(leader, call_home{});
}

// Whoever does not vote hears no beat; a leader that has heard this has it vote.
void voter_leadership::state::call_voters() {
  if (!config_.is_home || has_several_seeds() || leads())
    return;
  for (const auto& [who, _] : told_)
    if (who != config_.options.self)
      say(who, call_home{});
}

void voter_leadership::state::say(const agent_id& to,
                                  const voter_message& what) {
  const auto where = endpoint_of(to);
  const auto links = links_->get();
  if (links && !where.empty())
    links->send(to, where, what);
}

void voter_leadership::state::leave_behind(const tombstone& x) {
  if (const auto links = links_->get())
    links->leave_behind(x);
}

std::string voter_leadership::state::endpoint_of(const agent_id& who) const {
  for (const auto* list : {&endpoints_, &told_})
    if (const auto i = list->find(who); i != list->end())
      return i->second;
  return {};
}

void voter_leadership::state::learn(const std::optional<written_charter>& x) {
  if (x)
    for (const auto& [who, where] : x->endpoints)
      learn(who, where);
}

// Whoever has gone for good is named by no charter any more.
void voter_leadership::state::learn(const agent_id& who,
                                    const std::string& where) {
  if (endpoints_.size() >= endpoints_max) {
    const auto known = core_.own_tombstone().charter;
    std::erase_if(endpoints_, [&](const auto& x) {
      return !known || !known->endpoints.contains(x.first);
    });
  }
  endpoints_[who] = where;
}

// -- the job ----------------------------------------------------------------------

void voter_leadership::state::on(const foundation& x) {
  founded_ = x.on_done;
  endpoints_[config_.options.self] = x.endpoint;
  dispatch(job_founded{x.job, x.endpoint});
}

// What the agents of the memos would say counts for the wait alone: the job begins
// without a past.
void voter_leadership::state::on(const doubtful_foundation& x) {
  to_found_ = x.what;
  if (!config_.remembered.empty())
    wait_for(config_.remembered);
  if (has_several_seeds())
    take_seat();
}

void voter_leadership::state::on(const electors_answer& x) {
  if (x.has_ended)
    return end_elections();
  dispatch(decider_answered{});
  if (!x.here)
    return;
  const auto all = with_witnesses(*x.here);
  for (const auto& known : all)
    learn(known.agent, known.endpoint);
  auto here = reachable_of(all);
  if (here == here_)
    return;
  here_ = std::move(here);
  changed_ = now();
  dispatch(members_changed{here_});
}

// The outcome is told, whoever votes; and voters go when they know it.
void voter_leadership::state::end_elections() {
  is_over_ = true;
  *leadership_end_ = time_point::max().time_since_epoch().count();
}

// One that we do not reach would cost us the majority.
std::vector<voter_candidate> voter_leadership::state::reachable_of(
  const std::vector<voter_candidate>& here) const {
  auto out = std::vector<voter_candidate>{};
  const auto links = links_->get();
  for (const auto& x : here)
    if (x.agent == config_.options.self || reached_.contains(x.agent)) {
      out.push_back(x);
      out.back().is_home = x.agent == home_;
    } else if (links)
      links->reach(x.agent, x.endpoint);
  return out;
}

// The coordinator knows agents alone.
std::vector<voter_candidate> voter_leadership::state::with_witnesses(
  std::vector<voter_candidate> agents) const {
  const auto more = witnesses_.beside(agents, now());
  agents.insert(agents.end(), more.begin(), more.end());
  const auto links = links_->get();
  if (config_.witness && links)
    agents.push_back(witness_at(config_.options.self, links->endpoint()));
  return agents;
}

// Agents have heard it of the coordinator by now.
void voter_leadership::state::end_witnesses(const outcome& how) const {
  const auto links = links_->get();
  if (!links)
    return;
  for (const auto& x : witnesses_.beside({}, now()))
    links->send(x.agent, x.endpoint,
                leader_at{.leader = config_.options.self,
                          .endpoint = links->endpoint(),
                          .coordinator = coordinator_endpoint_,
                          .decided = how});
}

void voter_leadership::state::propose() {
  if (coordinator_endpoint_.empty())
    return;
  told_changes_[++change_] = told_change_;
  dispatch(charter_proposed{change_, job_});
}

// Each write has all that was proposed before it.
void voter_leadership::state::report_written(uint64_t change) {
  const auto end = told_changes_.upper_bound(change);
  if (end == told_changes_.begin())
    return;
  const auto told = std::prev(end)->second;
  told_changes_.erase(told_changes_.begin(), end);
  if (const auto whom = config_.coordinator())
    tell_anonymously(whom, charter_written{told});
}

// An agent that leaves has left the group before: its workers are gone.
void voter_leadership::state::on(const resignation& x) {
  if (!x.outcome && !coordinator_endpoint_.empty()) {
    is_leaving_ = true;
    dispatch(
      hand_over_requested{.leaves = true, .reason = "its node leaves the job"});
  }
  if (x.outcome) {
    *leadership_end_ = 0;
    end_witnesses(*x.outcome);
  }
  if (x.outcome || coordinator_endpoint_.empty())
    is_over_ = true;
  if (is_over_)
    leave_endpoint();
}

// -- whether a job may begin --------------------------------------------------------

struct voter_leadership::state::wait_runner {
  state& self;

  void operator()(const survey_host&) { self.survey_own_host(); }
  void operator()(const examine& x) {
    const auto links = self.links_->get();
    const auto known = self.wait_->awaited().find(x.who);
    if (links && known != self.wait_->awaited().end())
      links->examine(x.who, known->second);
  }
  void operator()(const begin_job&) {
    if (self.has_several_seeds())
      self.end_wait();
    else
      self.begin();
  }
  void operator()(const arm_timer& x) {
    tell_later(self.self_, x.due - self.now(), wait_due{x.timer});
  }
};

// One of the effects may end it.
void voter_leadership::state::dispatch_wait(const beginning_event& event) {
  if (!wait_)
    return;
  for (const auto& effect : wait_->step(event, now()))
    if (wait_)
      std::visit(wait_runner{*this}, effect);
}

void voter_leadership::state::survey_own_host() {
  if (!listens_at_endpoint())
    config_.lines.debug("another process listens at the endpoint");
  auto seen = config_.survey();
  if (!seen)
    return;
  for (const auto& [_, where] : wait_->awaited())
    if (const auto host = host_of_endpoint(where); is_everywhere(host))
      seen->addresses.push_back(host);
  dispatch_wait(host_surveyed{std::move(*seen)});
}

// Whoever leads elsewhere says so there, and agents look for the job there. Its port may
// still be held by the warden of the coordinator that was here.
bool voter_leadership::state::listens_at_endpoint() {
  const auto links = links_->get();
  if (!listens_at_endpoint_ && links)
    listens_at_endpoint_ = bool{links->listen_at_endpoint(to_found_.where)};
  return listens_at_endpoint_;
}

void voter_leadership::state::begin() {
  config_.lines.info("no agent of the job that this host has a memo of can be "
                     "in it any more: this node begins it again");
  auto order = std::exchange(to_found_, {});
  leave_endpoint();
  core_ = succession{config_.options};
  endpoints_.clear();
  order.on_done = [lines = config_.lines](const result<void>& x) {
    if (!x)
      lines.warn("this node cannot begin the job: " + x.error().text);
  };
  on(order);
}

void voter_leadership::state::leave_endpoint() {
  wait_.reset();
  founding_.reset();
  listens_at_endpoint_ = false;
  if (const auto links = links_->get())
    links->leave_endpoint();
}

void voter_leadership::state::meet(bool is_new) {
  leave_endpoint();
  if (!std::exchange(has_met_, true) && config_.on_met)
    config_.on_met(is_new);
  if (!leads() && config_.is_home && has_several_seeds() && config_.on_signpost)
    config_.on_signpost();
}

// To a node at the endpoint that waits, and does not answer those that join.
void voter_leadership::state::show_survey(const std::string& where) {
  const auto links = links_->get();
  auto seen = links ? config_.survey() : std::nullopt;
  if (!seen)
    return;
  std::erase_if(seen->addresses, is_everywhere);
  seen->voters = config_.remembered;
  if (founding_)
    seen->newborn = config_.options.self;
  if (has_met_) {
    seen->seeker = config_.options.self;
    seen->voters = told_;
    if (const auto known = core_.own_tombstone().charter)
      seen->voters.insert(known->endpoints.begin(), known->endpoints.end());
  }
  if (seen->voters.size() <= remembered_voters_max)
    links->notify(where, std::move(*seen));
}

// It has gone through the hands of a peer, which may be on another host.
void voter_leadership::state::hear(const agent_id&, const host_survey& x) {
  auto seen = x;
  std::erase_if(seen.addresses, is_everywhere);
  dispatch_wait(host_surveyed{std::move(seen)});
}

// -- who begins it, of several seeds --------------------------------------------------

struct voter_leadership::state::founding_runner {
  state& self;

  void operator()(const ask_seed& x) { self.ask_at(x); }
  void operator()(const answer_seed& x) {
    const auto links = self.links_->get();
    if (links && !x.endpoint.empty())
      links->send(x.to, x.endpoint, x.what);
  }
  void operator()(const await_agents& x) { self.wait_for(x.who); }
  void operator()(const follow_founder& x) { self.follow(x); }
  void operator()(const report_other_seeds& x) { self.warn_of(x); }
  void operator()(const begin_job&) { self.begin_for_majority(); }
  void operator()(const arm_timer& x) {
    tell_later(self.self_, x.due - self.now(), founding_due{x.timer});
  }
};

// While another process has the port, that one is the seed.
void voter_leadership::state::take_seat() {
  if (founding_ || has_met_ || is_over_)
    return;
  if (!listens_at_endpoint())
    return tell_later(self_, seat_pause, founding_due{});
  founding_.emplace(
    founding_options{.self = config_.options.self,
                     .endpoint = to_found_.endpoint,
                     .seeds = config_.seeds,
                     .own = config_.own_seed,
                     .remembered = wait_ ? wait_->awaited() : endpoint_list{},
                     .abstention = config_.options.promise});
  config_.lines.info(founding_->waits_for());
  dispatch_founding(founding_started{});
}

// One of the effects may end it.
void voter_leadership::state::dispatch_founding(const founding_event& event) {
  if (!founding_)
    return;
  for (const auto& effect : founding_->step(event, now()))
    if (founding_)
      std::visit(founding_runner{*this}, effect);
}

void voter_leadership::state::ask_at(const ask_seed& x) {
  const auto links = links_->get();
  if (!links)
    return;
  const auto& where = config_.seeds[x.seed];
  links->notify(where, x.what);
  if (auto& last = surveyed_[x.seed]; now() >= last + survey_pause) {
    last = now();
    show_survey(where);
  }
}

void voter_leadership::state::wait_for(const endpoint_list& who) {
  if (wait_)
    return dispatch_wait(voters_named{who});
  wait_.emplace(who);
  dispatch_wait(beginning_started{});
}

// A process that is started here after this one must know of it.
void voter_leadership::state::follow(const follow_founder& x) {
  const auto founder = endpoint_list{{x.who, x.endpoint}};
  if (config_.on_voters)
    config_.on_voters(founder);
  wait_.reset();
  wait_for(founder);
}

void voter_leadership::state::warn_of(const report_other_seeds& x) {
  if (told_others_.size() < seeds_max && told_others_.insert(x.who).second)
    config_.lines.warn(
      formatted("agent {} looks for this job, too, and does not count: its "
                "--rdzv-endpoint is {}, and that of this node is {} (in this "
                "order); give "
                "all nodes where the job may begin the same list",
                x.who.value, joined(x.seeds), joined(config_.seeds)));
}

void voter_leadership::state::begin_for_majority() {
  config_.lines.info(
    formatted("this node begins the job: {} of the {} hosts of "
              "--rdzv-endpoint have granted that",
              majority_of_seeds(config_.seeds.size()), config_.seeds.size()));
  auto order = to_found_;
  leave_endpoint();
  core_ = succession{config_.options};
  endpoints_.clear();
  order.on_done = [this](const result<void>& x) {
    if (x)
      return;
    config_.lines.warn("this node cannot begin the job: " + x.error().text);
    tell_later(self_, failed_begin_pause, founding_due{});
  };
  on(order);
}

// Those that live and have lost their coordinator are no obstacle either.
void voter_leadership::state::end_wait() {
  auto settled = wait_->settled(now());
  wait_.reset();
  dispatch_founding(awaited_ended{std::move(settled)});
}

// Whoever is in the job, and may have lost its coordinator for now, keeps others from
// beginning it.
void voter_leadership::state::answer_newborn(const agent_id& from,
                                             const found_ask& x) {
  const auto links = links_->get();
  if (!has_met_ || is_over_ || !links || x.endpoint.empty())
    return;
  auto why = found_refused{.by = x.by, .seed = x.seed, .may_know = told_};
  if (const auto known = core_.own_tombstone().charter)
    why.may_know.insert(known->endpoints.begin(), known->endpoints.end());
  why.may_know[config_.options.self] = links->endpoint();
  if (why.may_know.size() <= remembered_voters_max)
    links->send(from, x.endpoint, founding_message{std::move(why)});
  hear(from, find_leader{x.endpoint});
}

void voter_leadership::state::hear(const agent_id& from,
                                   const founding_message& x) {
  if (founding_)
    return dispatch_founding(founding_heard{from, x});
  if (const auto* question = std::get_if<found_ask>(&x))
    answer_newborn(from, *question);
}

std::optional<failure> voter_leadership::state::why_waiting() const {
  if (wait_ && !config_.memos.empty())
    return failure{errc::coordinator_lost, wait_->waits_for(config_.memos)};
  if (founding_)
    return failure{errc::connection_timed_out, founding_->waits_for()};
  return std::nullopt;
}

void voter_leadership::state::remember(const endpoint_list& voters) {
  if (!wait_ && config_.on_voters)
    config_.on_voters(voters);
}

// -- where the coordinator is -----------------------------------------------------

void voter_leadership::state::on(const search& x) {
  seeker_ = x.on_answer;
  second_seeker_ = nullptr;
  poll_count_ = 0;
  if (seeds_tried_ == config_.seeds.size())
    ++seed_tried_; // So each is the last one in turn.
  seeds_tried_ = 0;
  is_pointed_ = false;
  trying_.clear();
  if (!linked_.empty())
    lost_ = std::exchange(linked_, {});
  last_failure_.reset();
  if (leads())
    return std::exchange(seeker_, nullptr)(here{});
  if (const auto why = why_waiting();
      wait_ && why && !std::exchange(is_wait_told_, true))
    return give_up(*why); // People learn of it at once.
  poll();
}

void voter_leadership::state::on(const second_search& x) {
  second_seeker_ = x.on_found;
  if (second_seeker_)
    poll();
}

void voter_leadership::state::poll() {
  if (seeker_ && leads())
    std::exchange(seeker_, nullptr)(here{});
  if (second_seeker_ && leads())
    std::exchange(second_seeker_, nullptr)();
  if (!seeker_ && !second_seeker_)
    return end_questions();
  const auto most = founding_ ? polls_of_seed_max : polls_max;
  const auto is_late = seeker_ && ++poll_count_ > most && trying_.empty();
  if (const auto why = why_waiting(); is_late && why)
    return give_up(*why);
  if (is_late)
    return give_up(last_failure_.value_or(
      failure{errc::connection_timed_out, "no agent knows of a coordinator"}));
  ask_next();
  try_next_seed();
  poll_later();
}

void voter_leadership::state::try_next_seed() {
  const auto count = config_.seeds.size();
  const auto knows_none = endpoints_.empty() && told_.empty();
  if (!seeker_ || listens_at_endpoint_ || seeds_tried_ == count
      || (!knows_none && poll_count_ <= polls_before_seed))
    return;
  if (!trying_.empty()) {
    if (now() < leave_seed_)
      return;
    ++seed_tried_;
  }
  ++seeds_tried_;
  try_at(config_.seeds[seed_tried_ % count]);
  leave_seed_ = now() + seed_silence_max;
}

void voter_leadership::state::poll_later() {
  tell_later(self_,
             std::min<duration>(config_.options.promise / polls_per_promise,
                                poll_pause_max),
             poll_due{++poll_});
}

endpoint_list voter_leadership::state::knowing_ones() const {
  auto out = wait_ ? wait_->awaited() : told_;
  if (const auto known = core_.own_tombstone().charter)
    out.insert(known->endpoints.begin(), known->endpoints.end());
  out.erase(config_.options.self);
  return out;
}

void voter_leadership::state::ask_next() {
  const auto links = links_->get();
  const auto known = knowing_ones();
  if (!links || links->endpoint().empty() || known.empty())
    return;
  const auto unanswered = wait_ ? 1 : unanswered_max;
  const auto next = ptrdiff_t(questions_.next(known.size(), unanswered));
  const auto& [who, where] = *std::next(known.begin(), next);
  is_referred_ = false;
  links->ask(who, where, question_from(*links));
}

void voter_leadership::state::end_questions() {
  questions_.end();
  if (const auto links = links_->get())
    links->end_questions();
}

void voter_leadership::state::try_at(const std::string& coordinator) {
  trying_ = coordinator;
  leave_seed_ = time_point::max();
  seeker_(coordinator);
}

void voter_leadership::state::give_up(const failure& why) {
  if (const auto links = links_->get())
    links->end_questions(); // The next search goes on with others.
  std::exchange(seeker_, nullptr)(why);
}

void voter_leadership::state::on(const attempt& x) {
  if (x.endpoint != trying_)
    return;
  trying_.clear();
  // Who points elsewhere may be wrong by now: others are asked then.
  if (seeker_ && !x.elsewhere.empty() && !std::exchange(is_pointed_, true))
    return try_at(x.elsewhere);
  if (!x.why) {
    linked_ = x.endpoint;
    seeker_ = nullptr;
    return meet(false);
  }
  last_failure_ = x.why;
  if (is_seed(x.endpoint))
    ++seed_tried_; // The next search begins with another one.
  if (has_several_seeds() && x.why->code == errc::unresolvable
      && unresolved_.insert(x.endpoint).second)
    config_.lines.warn(formatted(
      "{} of --rdzv-endpoint has no address here ({}); the others are asked",
      x.endpoint, x.why->text));
  // A proof that the last one has ended says nothing of the next (decision 0061,
  // rule 12): the fence stays where it is.
  if (last_failure_->code == errc::coordinator_gone)
    last_failure_->code = errc::connection_refused;
  if (is_seed(x.endpoint) && !listens_at_endpoint_
      && (last_failure_->code == errc::not_actorrun
          || last_failure_->code == errc::connection_failed))
    show_survey(x.endpoint);
  if (seeker_ && endpoints_.empty() && told_.empty() && !wait_
      && seeds_tried_ >= config_.seeds.size())
    give_up(*last_failure_);
}

void voter_leadership::state::hear(const agent_id& from,
                                   const succession_message& x) {
  if (const auto* y = std::get_if<beat>(&x)) {
    learn(y->charter);
    if (y->charter && founding_)
      dispatch_founding(
        founding_heard{from, found_refused{.by = {},
                                           .seed = config_.own_seed,
                                           .may_know = y->charter->endpoints}});
    else if (y->charter && wait_)
      dispatch_wait(voters_named{y->charter->endpoints});
    else if (y->charter)
      remember(y->charter->endpoints);
  }
  if (const auto* y = std::get_if<vote>(&x))
    learn(y->charter);
  if (!wait_ && !founding_)
    dispatch(message_heard{from, x});
  notice_leader();
}

// The asker is a member of the job, and may have any address.
void voter_leadership::state::answer(const agent_id& from, const find_leader& x,
                                     const voter_reply& reply) {
  const auto links = links_->get();
  if (!links || from == config_.options.self)
    return;
  const auto tell = [&](const leader_at& what) {
    if (x.takes_answer && reply)
      reply(what);
    else
      links->send(from, x.endpoint, what);
  };
  // Whoever comes to lead has to know it at once: else it would vote no more.
  if (x.is_witness)
    witnesses_.note(from, x.endpoint, now());
  const auto& self = config_.options.self;
  if (leads()) {
    auto what = leader_at{self, links->endpoint(), coordinator_endpoint_};
    if (const auto known = core_.own_tombstone().charter; known && x.is_witness)
      what.voters = known->endpoints;
    return tell(what);
  }
  const auto& leader = core_.leader();
  const auto where = endpoint_of(leader);
  // A witness wants to be known to the leader.
  const auto knows_more = !x.is_witness && told_leader_.leader == leader;
  if (leader != self && !where.empty())
    tell(
      {leader, where, knows_more ? told_leader_.coordinator : std::string{}});
  else if (x.takes_answer && reply)
    reply(leader_at{}); // It lives, and does not know.
}

void voter_leadership::state::hear(const agent_id& from, const leader_at& x) {
  if (!wait_)
    questions_.note_answer();
  if (x.leader.value.empty())
    return; // Who is asked does not know.
  if (watch_)
    return follow(x);
  if (!seeker_ && !second_seeker_)
    return;
  const auto is_of_leader = from == x.leader;
  if (is_of_leader && !x.coordinator.empty())
    told_leader_ = x;
  const auto mine = search_state{trying_, lost_, second_seeker_ != nullptr};
  switch (weigh(mine, is_of_leader, x.coordinator)) {
    case answer_worth::nothing_new:
      return;
    case answer_worth::ask_leader:
      return ask_leader(x);
    case answer_worth::believed:
      break;
  }
  if (second_seeker_ && x.coordinator != linked_)
    std::exchange(second_seeker_, nullptr)();
  if (seeker_)
    try_at(x.coordinator);
}

// Whoever names it may be wrong, or lie: once for each question to others.
void voter_leadership::state::ask_leader(const leader_at& x) {
  const auto links = links_->get();
  if (links && x.leader != config_.options.self
      && !std::exchange(is_referred_, true))
    links->ask(x.leader, x.endpoint, question_from(*links));
}

void voter_leadership::state::hear(const agent_id& from, const call_home&) {
  if (!leads() || config_.is_home || has_several_seeds())
    return;
  const auto stays = [this](const agent_id& x) {
    return std::ranges::find(here_, x, &voter_candidate::agent) != here_.end();
  };
  if (!stays(home_)) // Of two on that host one is enough.
    home_ = from;
  const auto known = core_.own_tombstone().charter;
  if (is_leaving_ || is_asked_ || now() < opened_ + stay_min
      || now() < changed_ + unchanged_min || !known || !stays(from)
      || std::ranges::find(known->order, from) == known->order.end())
    return;
  opened_ = now(); // It is not asked again at once.
  dispatch(hand_over_requested{.leaves = false,
                               .to = from,
                               .reason = "nodes look for the job at "
                                         + config_.seeds.front()});
}

// The operator's link ends with our coordinator.
void voter_leadership::state::on(const lead_order& x) {
  if (!x.is_due)
    return tell_later(self_, answer_pause, lead_order{x.to, x.by, true});
  if (!coordinator_endpoint_.empty() && !is_leaving_)
    dispatch(hand_over_requested{
      .leaves = false, .to = x.to, .reason = x.by, .is_asked = true});
}

// Who has ended elections, or looks for a coordinator that it has never had, has nothing
// to lead with.
void voter_leadership::state::on(const election_order& x) {
  const auto& lost = x.what.what.elect().accept_loss();
  auto order = election_ordered{{}, one_line(x.what.by, by_size_max)};
  for (const auto& who : lost)
    order.lost.push_back(one_line(who, lost_name_size_max));
  const auto refuse = [&](const std::string& why) {
    x.what.reply(refusal_of(errc::bad_argument, why));
  };
  if (lost.empty() || lost.size() > lost_count_max)
    return refuse(formatted("an election names what is lost, 1 to {} hosts",
                            lost_count_max));
  if (is_over_)
    return refuse("this agent leaves, or the job has ended");
  config_.lines.warn(formatted("{} has this agent lead without those at {}",
                               order.by, joined(order.lost)));
  orderers_.push_back(x.what.reply);
  dispatch(std::move(order));
}

void voter_leadership::state::report(const report_election& x) {
  using how = report_election::verdict;
  if (orderers_.empty())
    return;
  // One that is under way goes on; the last to ask is told so.
  const auto which
    = x.what == how::is_under_way ? orderers_.end() - 1 : orderers_.begin();
  const auto reply = *which;
  orderers_.erase(which);
  const auto refuse = [&](const std::string& why) {
    config_.lines.warn("this agent does not lead: " + why);
    reply(refusal_of(errc::bad_argument, why));
  };
  switch (x.what) {
    case how::leads:
      return reply(done(formatted(
        "agent {} leads the job, in term {}; the others find it by themselves",
        config_.options.self.value, core_.own_tombstone().term)));
    case how::has_no_charter:
      return refuse(formatted(
        "this agent keeps no charter of the job, as voters do and the "
        "one that leads next{}{}",
        told_.empty() ? "" : ": ask on the host of ", listed_endpoints(told_)));
    case how::leader_known:
      return refuse(
        formatted("a leader is known, or was a moment ago, to agent "
                  "{}: actorctl status shows who leads",
                  listed(x.who)));
    case how::lost_answers:
      return refuse(
        formatted("agent {} answers: it is not lost", listed(x.who)));
    case how::others_silent:
      return refuse(
        formatted("agent {} does not answer, and --accept-loss does "
                  "not name its host: name it, if it is lost for "
                  "good",
                  listed(x.who)));
    case how::is_under_way:
      return refuse("another such election is under way");
    case how::terms_spent:
      return refuse("the job has had too many such elections");
  }
}

std::string
voter_leadership::state::listed(const std::vector<agent_id>& agents) const {
  auto out = std::vector<std::string>{};
  for (const auto& x : agents) {
    const auto where = endpoint_of(x);
    out.push_back(std::string{x.value} + (where.empty() ? "" : " at " + where));
  }
  return joined(out);
}

// -- as a witness -------------------------------------------------------------------

struct voter_leadership::state::watch_runner {
  state& self;

  void operator()(const ask_for_leader& x) { self.ask_for(x); }
  void operator()(const give_up_watch& x) { self.end_watch(x); }
  void operator()(const arm_timer& x) {
    tell_later(self.self_, x.due - self.now(), watch_due{x.timer});
  }
};

void voter_leadership::state::watch() {
  watch_.emplace(*config_.witness);
  dispatch_watch(witness_started{});
}

void voter_leadership::state::dispatch_watch(const witness_event& event) {
  if (!watch_ || is_over_)
    return;
  for (const auto& effect : watch_->step(event, now()))
    std::visit(watch_runner{*this}, effect);
}

void voter_leadership::state::ask_for(const ask_for_leader& x) {
  const auto links = links_->get();
  if (leads())
    return dispatch_watch(leader_confirmed{});
  if (!links)
    return;
  const auto question = find_leader{links->endpoint(), true};
  if (!x.seed) {
    const auto where = endpoint_of(watched_);
    if (!where.empty())
      links->send(watched_, where, question);
    return;
  }
  for (const auto& [who, where] : knowing_ones())
    links->send(who, where, question);
  if (!listens_at_endpoint_)
    links->notify(config_.seeds[*x.seed], question);
}

// A voter hears of another leader by its beats.
void voter_leadership::state::notice_leader() {
  const auto& leader = core_.leader();
  if (!watch_ || leader == watched_ || leader == config_.options.self
      || endpoint_of(leader).empty())
    return;
  watched_ = leader;
  dispatch_watch(leader_changed{});
}

void voter_leadership::state::follow(const leader_at& x) {
  const auto links = links_->get();
  const auto& self = config_.options.self;
  if (is_over_ || !links || x.leader == self)
    return;
  if (x.decided) {
    is_over_ = true;
    leave_endpoint();
    return config_.on_decided(*x.decided);
  }
  if (leads())
    return;
  if (x.coordinator.empty())
    return links->send(x.leader, x.endpoint,
                       find_leader{links->endpoint(), true});
  told_ = x.voters;
  told_[x.leader] = x.endpoint;
  learn(x.leader, x.endpoint);
  watched_ = x.leader;
  remember(told_);
  if (std::exchange(linked_, x.coordinator) != x.coordinator) {
    meet(false);
    config_.lines.info(formatted("the coordinator of the job is at {}; this "
                                 "witness may vote, and may lead",
                                 x.coordinator));
    config_.on_leader(x.coordinator);
  }
  dispatch_watch(leader_confirmed{});
}

void voter_leadership::state::end_watch(const give_up_watch& x) {
  is_over_ = true;
  const auto unknown = failure{
    errc::connection_timed_out,
    formatted(
      "no leader of the job has answered this witness at {}; the agents "
      "of the job need --rdzv-conf=succession=on and the same secret",
      joined(config_.seeds))};
  const auto lost
    = failure{errc::coordinator_lost,
              "no leader of the job answers this witness any more"};
  const auto why = why_waiting().value_or(x.has_met ? lost : unknown);
  leave_endpoint();
  config_.on_gave_up(why);
}

// -- the handle ---------------------------------------------------------------------

voter_leadership::voter_leadership(caf::actor_system& system,
                                   voter_leadership_config config)
  : system_(system), asleep_(config.asleep), promise_(config.options.promise) {
  const auto blocked = signals_blocked{}; // Its thread takes none.
  auto on_died = std::move(config.on_died);
  actor_ = system.spawn<actor_impl<actor, state>, caf::detached>(
    std::move(config), leadership_end_, links_);
  watch_ = actor_watch{actor_, [on_died](const std::string& why) {
                         if (on_died)
                           on_died(why);
                       }};
}

voter_leadership::~voter_leadership() {
  stop();
}

void voter_leadership::use(std::shared_ptr<voter_links> links) {
  const auto is_given = links != nullptr;
  {
    const auto guard = std::lock_guard{links_->mutex};
    std::swap(links, links_->links);
  }
  if (is_given)
    tell(links_ready{});
}

voter_callbacks voter_leadership::callbacks() const {
  auto out = voter_callbacks{};
  out.on_message = [whom = actor_](const agent_id& from, voter_message x,
                                   voter_reply reply) {
    tell_anonymously(whom, said{from, std::move(x), std::move(reply)});
  };
  out.on_reached = [whom = actor_](const agent_id& to) {
    tell_anonymously(whom, reachable{to});
  };
  out.on_broken = [whom = actor_](const agent_id& to) {
    tell_anonymously(whom, unreachable{to});
  };
  out.on_proof
    = [whom = actor_](const agent_id& who, const core::tombstone& left) {
        tell_anonymously(whom, proved{who, left});
      };
  return out;
}

result<void> voter_leadership::found(core::charter job, std::string endpoint) {
  auto done = std::make_shared<std::promise<result<void>>>();
  auto out = done->get_future();
  tell(foundation{std::move(job), std::move(endpoint),
                  [done](result<void> x) { done->set_value(std::move(x)); }});
  return out.get();
}

void voter_leadership::found_when_alone(core::charter job, std::string endpoint,
                                        const socket_address& where) {
  tell(doubtful_foundation{
    {.job = std::move(job), .endpoint = std::move(endpoint), .where = where}});
}

// It ends `lasts` after what a majority has confirmed. Without an end: after the
// outcome no other is elected.
leadership_age voter_leadership::age_of_leadership() const {
  const auto lasts = promise_ - core::leadership_guard;
  return [end = leadership_end_, asleep = asleep_,
          lasts]() -> std::optional<core::duration> {
    const auto now = clock::now() + asleep();
    const auto due = core::time_point{core::duration{end->load()}};
    if (now >= due)
      return std::nullopt;
    return std::max<core::duration>(lasts - (due - now), {});
  };
}

void voter_leadership::stop() {
  if (is_stopped_)
    return;
  is_stopped_ = true;
  watch_.release();
  auto self = caf::scoped_actor{system_};
  tell_anonymously(actor_, stop_now{});
  self->wait_for(actor_);
  use(nullptr);
}

void register_succession_types() {
  ACTORRUN_REGISTER_LOCAL_TYPES(actorrun_succession);
}

} // namespace actorrun::detail
