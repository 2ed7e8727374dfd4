#include "actors/core/succession/succession.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

std::vector<agent_id> minus(std::vector<agent_id> xs,
                            const std::vector<agent_id>& ys) {
  std::erase_if(xs, [&](const auto& x) { return is_in(ys, x); });
  return xs;
}

// The voters, and whoever is in the order besides.
std::vector<agent_id> all_of(const written_charter& x) {
  auto out = x.voters.all();
  for (const auto& who : x.order)
    if (!is_in(out, who))
      out.push_back(who);
  return out;
}

} // namespace

succession::succession(succession_options options)
  : options_(options), voter_(options.self, options.promise) {}

// Whatever wakes a leader whose lease has ended meanwhile finds a follower.
std::vector<succession_effect> succession::step(const succession_event& event,
                                                time_point now) {
  now_ = now;
  if (is_leader() && now_ >= leadership_end_)
    step_down("no majority of the voters has answered in time");
  std::visit([this](const auto& x) { on(x); }, event);
  return std::exchange(out_, {});
}

void succession::on(const message_heard& event) {
  std::visit([&](const auto& x) { hear(event.from, x); }, event.what);
}

// -- voting -----------------------------------------------------------------------

void succession::hear(const agent_id& from, const beat& x) {
  if (!voter_.hear(from, x, now_)) {
    if (x.term < voter_.term())
      send(from, would_not{voter_.term()});
    return;
  }
  leader_heard_at_ = now_;
  handed_.reset();
  follow();
  keep();
  const auto stored = voter_.charter() ? voter_.charter()->key : charter_key{};
  send(from, beat_heard{x.term, x.sent, stored});
  wait_for_lapse();
}

bool succession::can_vote_for(const agent_id& who, uint64_t term,
                              const std::vector<ended_leader>& ended) const {
  return term > voter_.term() && !is_leader()
         && voter_.may_vote_for(who, ended, now_);
}

void succession::hear(const agent_id& from, const ask& x) {
  if (can_vote_for(from, x.term, x.ended))
    send(from, would{x.term});
  else
    send(from, would_not{voter_.term()});
}

void succession::hear(const agent_id& from, const vote_request& x) {
  if (!can_vote_for(from, x.term, x.ended))
    return send(from, would_not{voter_.term()});
  follow();
  auto own = voter_.vote_for(from, x.term, x.sent, now_);
  keep();
  send(from, std::move(own));
  wait_for_lapse();
}

// A leader whose term is over leads no more, even if its lease lasted.
void succession::follow() {
  if (is_leader())
    step_down("another agent leads");
  phase_ = phase::follower;
}

// A promise that is seen before the machine keeps it would be lost with the process.
void succession::keep() {
  auto words = voter_.own_tombstone();
  if (kept_ == words)
    return;
  kept_ = words;
  out_.emplace_back(keep_tombstone{std::move(words)});
}

void succession::on(const link_broken& event) {
  const auto* known = voter_.newest_charter();
  if (known != nullptr && is_in(known->order, event.to)
      && !voter_.is_proved_dead(event.to))
    out_.emplace_back(examine{event.to});
}

// -- becoming a candidate: when ------------------------------------------------

bool succession::can_stand() const {
  const auto* known = voter_.newest_charter();
  return !is_leaving_ && known != nullptr
         && (known->voters.contains(self()) || is_in(known->order, self()));
}

// Whoever has led stands last: what has cost it its lease may still be so.
duration succession::place() const {
  const auto& order = voter_.newest_charter()->order;
  const auto place = std::ranges::find(order, self()) - order.begin();
  return place_pause * (place == 0 ? std::ssize(order) : place);
}

void succession::wait_for_lapse() {
  if (!can_stand())
    return alarms_.disarm(alarm::stand);
  stand_at_ = voter_.bound_until() + place();
  // A beat only defers it: the timer finds that out when it fires.
  if (!alarms_.is_armed(alarm::stand))
    arm(alarm::stand, stand_at_);
}

void succession::stand_by(time_point due) {
  if (phase_ != phase::follower || !can_stand())
    return;
  stand_at_ = std::min(stand_at_, due);
  arm(alarm::stand, stand_at_);
}

void succession::on(const process_examined& event) {
  if (!event.proof)
    return;
  voter_.learn(event.who, *event.proof, now_);
  if (can_stand() && voter_.may_vote_for(self(), {}, now_))
    stand_by(now_
             + proof_pause * voter_.living_before(*voter_.newest_charter()));
  if (phase_ == phase::asking)
    count_answers();
  else if (phase_ == phase::candidate)
    count_votes();
  report_ended_predecessor();
}

void succession::hear(const agent_id& from, const resigned& x) {
  voter_.believe(from, x.term);
  if (x.successor != self())
    return;
  using kind = leader_change::kind;
  handed_ = leader_change{
    x.is_asked ? kind::asked : kind::handed_over, from, {}, x.reason};
  if (phase_ == phase::asking)
    phase_ = phase::follower;
  stand_by(now_);
}

void succession::on(const timer_fired& event) {
  const auto fired = alarms_.take(event.timer);
  if (!fired)
    return;
  if (fired->which == alarm::beat)
    return take_up_beats();
  if (fired->which == alarm::hand_over)
    return hand_over();
  if (fired->which == alarm::stand) {
    if (phase_ != phase::follower || !can_stand())
      return;
    if (now_ < stand_at_)
      return arm(alarm::stand, stand_at_);
    return ask_voters();
  }
  if (word_)
    return go_on_by_order();
  // Its lease lasts: it needs a term that no voter refuses.
  if (phase_ == phase::candidate && is_leader())
    return stand(std::max(voter_.term(), term_heard_) + 1);
  if (phase_ == phase::asking || phase_ == phase::candidate)
    ask_voters();
}

// -- becoming a candidate: how -------------------------------------------------

void succession::on(const job_founded& event) {
  if (voter_.newest_charter() != nullptr)
    return;
  is_founder_ = true;
  auto here = voter_candidate{};
  here.agent = self();
  here.endpoint = event.endpoint;
  voter_.write({.voters = voter_set{{self()}},
                .order = {self()},
                .endpoints = endpoints_of({self()}, {here}, {}),
                .job = event.job});
  ask_voters();
}

// Questions change no term: whoever is cut off and comes back disturbs no one.
void succession::ask_voters() {
  phase_ = phase::follower;
  if (!can_stand())
    return;
  const auto& known = *voter_.newest_charter();
  phase_ = phase::asking;
  asked_term_ = std::max({voter_.term(), known.key.term, term_heard_})
                + (word_ ? ordered_term_step : 1);
  supporters_.clear();
  refusers_.clear();
  if (voter_.may_vote_for(self(), {}, now_))
    supporters_.insert(self());
  for (const auto& x : all_of(known)) {
    if (x == self() || voter_.is_proved_dead(x))
      continue;
    if (word_ || known.voters.contains(x))
      send(x, ask{asked_term_, voter_.proofs()});
    out_.emplace_back(examine{x});
  }
  arm(alarm::ask_again, now_ + ask_pause + place() / 3);
  count_answers();
}

void succession::hear(const agent_id& from, const would& x) {
  if (phase_ != phase::asking || x.term != asked_term_)
    return;
  supporters_.insert(from);
  count_answers();
}

void succession::hear(const agent_id& from, const would_not& x) {
  term_heard_ = std::max(term_heard_, x.term);
  if (phase_ == phase::asking && x.term < asked_term_)
    refusers_.insert(from);
  if ((phase_ == phase::leading || phase_ == phase::writing)
      && x.term > voter_.term())
    stand(term_heard_ + 1);
}

void succession::count_answers() {
  if (word_)
    return; // All have the same time to answer, the lost as well.
  const auto& known = *voter_.newest_charter();
  const auto dead = dead_supporters(known, UINT64_MAX);
  auto have = supporters_;
  have.insert(dead.begin(), dead.end());
  if (known.voters.has_majority(have) && voter_.may_vote_for(self(), {}, now_))
    stand(std::max(asked_term_, voter_.term_of(dead) + 1));
}

void succession::stand(uint64_t term) {
  phase_ = phase::candidate;
  votes_.clear();
  asked_ = {self()};
  votes_[self()] = voter_.vote_for(self(), term, now_, now_);
  keep();
  request_votes(*voter_.newest_charter());
  arm(alarm::ask_again, now_ + ask_pause + place() / 3);
  count_votes();
}

void succession::request_votes(const written_charter& by) {
  for (const auto& x : word_ ? all_of(by) : by.voters.all())
    if (!voter_.is_proved_dead(x) && !is_given_up(x, by)
        && asked_.insert(x).second)
      send(x, vote_request{voter_.term(), now_, voter_.proofs()});
}

void succession::hear(const agent_id& from, const vote& x) {
  if (phase_ != phase::candidate || x.term != voter_.term() || x.sent > now_)
    return;
  votes_[from] = x;
  count_votes();
}

const written_charter& succession::newest_of_votes() const {
  const auto* out = voter_.newest_charter();
  for (const auto& [_, x] : votes_)
    if (x.charter && x.charter->key > out->key)
      out = &*x.charter;
  return *out;
}

// Those that have elected it support none but this agent, also when its lease has
// ended: no other can count them without proof that this one has ended, too.
std::set<agent_id> succession::dead_supporters(const written_charter& by,
                                               uint64_t term) const {
  if (is_leader() || by.key.term == won_term_)
    return dead_;
  return voter_.dead_supporters(by, term, now_);
}

// The newest charter names the voters whose majority counts (rule 6).
void succession::count_votes() {
  const auto known = newest_of_votes();
  const auto dead = dead_supporters(known, voter_.term());
  auto have = dead;
  for (const auto& [who, _] : votes_)
    have.insert(who);
  if (word_ ? missing(known, have).empty() : known.voters.has_majority(have))
    return win(known, dead);
  // The next attempt asks the right voters from the start.
  if (!voter_.charter() || known.key > voter_.charter()->key) {
    voter_.write(known);
    keep();
  }
  request_votes(known);
}

// One of the voters has confirmed the last leader, but which one is unknown.
duration succession::silence_of_votes() const {
  auto out = duration::max();
  for (const auto& [_, x] : votes_)
    out = std::min(out, x.silence);
  return dead_.empty() ? out : duration{0};
}

leader_change succession::change_of_leader() const {
  using kind = leader_change::kind;
  if (handed_)
    return *handed_;
  const auto& last = voter_.leader();
  if (voter_.is_proved_dead(last))
    return {kind::ended, last};
  const auto is_known = !last.value.empty() && last != self();
  return {kind::silent, last, is_known ? now_ - leader_heard_at_ : duration{0}};
}

void succession::win(const written_charter& known, std::set<agent_id> dead) {
  dead_ = std::move(dead);
  heard_.clear();
  stored_.clear();
  for (const auto& [who, x] : votes_)
    heard_[who] = x.sent;
  beat_sent_ = heard_[self()];
  phase_ = phase::writing;
  won_term_ = voter_.term();
  written_ = {};
  auto next = known;
  next.key = {voter_.term(), 0};
  if (!is_leader()) {
    won_by_ = change_of_leader();
    confirmed_ = {};
    change_ = reported_ = 0;
    job_ = known.job;
    predecessor_.reset();
    if (const auto nodes = std::exchange(job_.leader_group, 0); nodes > 0)
      predecessor_ = account_for{known.order.front(), job_.newest, nodes};
    silent_since_ = now_ - std::min(silence_of_votes(), options_.promise);
    if (word_)
      take_over_alone(next);
  }
  std::erase(next.order, self());
  next.order.insert(next.order.begin(), self());
  voter_.hear_itself(beat_sent_);
  write(std::move(next), {});
  arm(alarm::beat, now_ + beat_interval);
}

// -- by an operator's word ----------------------------------------------------------

void succession::on(const election_ordered& event) {
  using verdict = report_election::verdict;
  if (word_) {
    out_.emplace_back(report_election{verdict::is_under_way});
    return;
  }
  word_ = operators_word{event, now_ + order_limit};
  if (is_leader())
    return finish_order(verdict::leader_known, {self()});
  if (!can_stand())
    return finish_order(verdict::has_no_charter);
  if (!voter_.may_vote_for(self(), {}, now_))
    return finish_order(verdict::leader_known, {voter_.leader()});
  ask_voters();
}

bool succession::is_given_up(const agent_id& who,
                             const written_charter& by) const {
  return word_ && who != self()
         && std::ranges::any_of(word_->what.lost, [&](const auto& x) {
              return is_at(who, by.endpoints, x);
            });
}

// Without a majority no one may be left out but those that the operator has named: any
// other may know a leader, or a newer charter.
std::vector<agent_id>
succession::missing(const written_charter& by,
                    const std::set<agent_id>& have) const {
  auto out = all_of(by);
  std::erase_if(out, [&](const auto& x) {
    return x == self() || have.contains(x) || voter_.is_proved_dead(x)
           || is_given_up(x, by);
  });
  return out;
}

// Called when those that were asked have had time to answer.
void succession::go_on_by_order() {
  using verdict = report_election::verdict;
  if (phase_ == phase::writing || phase_ == phase::leading)
    return;
  if (!voter_.may_vote_for(self(), {}, now_))
    return finish_order(verdict::leader_known, {voter_.leader()});
  const auto& known = *voter_.newest_charter();
  auto have = supporters_;
  if (phase_ == phase::candidate) {
    have.clear();
    for (const auto& [who, _] : votes_)
      have.insert(who);
  }
  auto living = std::vector<agent_id>{};
  for (const auto& x : all_of(known))
    if (is_given_up(x, known) && (have.contains(x) || refusers_.contains(x)))
      living.push_back(x);
  if (!living.empty())
    return finish_order(verdict::lost_answers, std::move(living));
  auto others = missing(known, have);
  if (others.empty() && phase_ == phase::asking)
    return asked_term_ > ordered_term_max ? finish_order(verdict::terms_spent)
                                          : stand(asked_term_);
  if (now_ < word_->due)
    return ask_voters();
  auto promised = others;
  std::erase_if(promised,
                [&](const auto& x) { return !refusers_.contains(x); });
  if (promised.empty())
    finish_order(verdict::others_silent, std::move(others));
  else
    finish_order(verdict::leader_known, std::move(promised));
}

void succession::finish_order(report_election::verdict what,
                              std::vector<agent_id> who) {
  word_.reset();
  out_.emplace_back(report_election{what, std::move(who)});
  if (phase_ != phase::asking && phase_ != phase::candidate)
    return;
  phase_ = phase::follower;
  wait_for_lapse();
}

// Nothing is known of when those that are given up have heard of a leader last.
void succession::take_over_alone(written_charter& next) {
  won_by_ = {leader_change::kind::ordered, voter_.leader(), {}, word_->what.by};
  silent_since_ = now_;
  const auto newest = generation_of(term_of(job_.newest) + ordered_term_step,
                                    number_of(job_.newest));
  if (newest < claimed_generation_end)
    job_.newest = newest;
  const auto gone = [&, by = next](const agent_id& x) {
    return voter_.is_proved_dead(x) || is_given_up(x, by);
  };
  next.voters = voter_set{{self()}};
  std::erase_if(next.order, gone);
  std::erase_if(next.endpoints, [&](const auto& x) { return gone(x.first); });
}

// -- leading ----------------------------------------------------------------------

// A coordinator that decides nothing any more must not keep others from leading, so
// each beat needs a sign of it (rule 4).
void succession::take_up_beats() {
  if (!is_leader() || phase_ == phase::candidate)
    return;
  if (!is_open_ || std::exchange(has_decided_, false)) {
    beat_sent_ = heard_[self()] = now_;
    voter_.hear_itself(now_);
    measure();
    send_beats();
    if (is_open_)
      out_.emplace_back(ask_decider{});
  }
  arm(alarm::beat, now_ + beat_interval);
}

void succession::on(const decider_answered&) {
  has_decided_ = true;
}

// What is sent between two beats proves no more than the last one did.
void succession::send_beats() {
  const auto& own = *voter_.charter();
  for (const auto& x : all_of(own)) {
    if (x == self() || voter_.is_proved_dead(x))
      continue;
    const auto lacks = stored_[x] < own.key;
    send(x, beat{own.key.term, beat_sent_,
                 lacks ? std::optional{own} : std::nullopt});
  }
}

void succession::hear(const agent_id& from, const beat_heard& x) {
  const auto& own = voter_.charter();
  if (!is_leader() || phase_ == phase::candidate || x.term != own->key.term
      || x.sent > now_)
    return;
  heard_[from] = std::max(heard_[from], x.sent);
  stored_[from] = std::max(stored_[from], x.stored);
  measure();
  check_write();
  proceed();
}

// The lease counts from sending: answers say only that it was heard after that.
void succession::measure() {
  const auto reached = voter_.charter()->voters.majority_time(heard_, dead_);
  if (!reached)
    return;
  confirmed_ = std::max(confirmed_, std::min(*reached, beat_sent_));
  const auto due = confirmed_ + options_.promise - leadership_guard;
  if (due <= leadership_end_ || due <= now_)
    return;
  leadership_end_ = due;
  out_.emplace_back(set_leadership_end{due});
}

void succession::step_down(const std::string& reason) {
  out_.emplace_back(set_leadership_end{time_point{}});
  end_leadership(reason);
  phase_ = phase::follower;
  wait_for_lapse();
}

void succession::end_leadership(const std::string& reason) {
  if (std::exchange(is_open_, false))
    out_.emplace_back(close_coordinator{reason});
  leadership_end_ = {};
  pending_.reset();
  hand_over_.reset();
  here_.clear();
}

// -- writing the charter ----------------------------------------------------------

void succession::write(written_charter next, std::vector<agent_id> removed) {
  ++next.key.version;
  next.job = job_;
  voter_.write(std::move(next));
  keep();
  pending_ = pending_write{change_, std::move(removed)};
  stored_[self()] = voter_.charter()->key;
  measure();
  if (!is_leader()) { // The votes have come too late.
    pending_.reset();
    phase_ = phase::follower;
    return wait_for_lapse();
  }
  send_beats();
  check_write();
}

void succession::check_write() {
  if (!pending_)
    return;
  const auto& own = *voter_.charter();
  auto have = dead_;
  for (const auto& [who, key] : stored_)
    if (key == own.key)
      have.insert(who);
  if (!own.voters.has_majority(have))
    return;
  const auto done = *std::exchange(pending_, std::nullopt);
  written_ = own.key;
  phase_ = phase::leading;
  open();
  if (done.change > reported_)
    out_.emplace_back(report_charter_written{reported_ = done.change});
  // They need not ask who leads when their promises lapse.
  for (const auto& x : done.removed)
    send(x, beat{own.key.term, beat_sent_, own});
  proceed();
}

void succession::open() {
  if (std::exchange(is_open_, true))
    return;
  const auto begins = std::exchange(is_founder_, false);
  const auto silence = begins ? duration{0} : duration{now_ - silent_since_};
  out_.emplace_back(open_coordinator{!begins, uint32_t(voter_.term() - 1), job_,
                                     silence,
                                     begins ? leader_change{} : won_by_});
  has_decided_ = false;
  if (word_)
    finish_order(report_election::verdict::leads);
  out_.emplace_back(ask_decider{});
  report_ended_predecessor();
}

void succession::report_ended_predecessor() {
  if (is_open_ && predecessor_ && voter_.is_proved_dead(predecessor_->who))
    out_.emplace_back(*std::exchange(predecessor_, std::nullopt));
}

void succession::on(const charter_proposed& event) {
  if (!is_open_)
    return;
  has_decided_ = true;
  job_ = event.job;
  change_ = event.change;
  proceed();
}

void succession::on(const members_changed& event) {
  if (!is_open_
      || std::ranges::find(event.here, self(), &voter_candidate::agent)
           == event.here.end())
    return;
  here_ = event.here;
  proceed();
}

// One write at a time. It has all that has changed meanwhile.
void succession::proceed() {
  if (phase_ != phase::leading || pending_)
    return;
  auto next = *voter_.charter();
  auto removed = std::vector<agent_id>{};
  // Voters change in two writes (rule 8).
  if (next.voters.is_changing()) {
    removed = minus(next.voters.all(), next.voters.newest());
    next.voters = next.voters.changed();
  } else if (auto wanted = wanted_voters(); wanted != next.voters.newest()) {
    next.voters = next.voters.changing_to(std::move(wanted));
  }
  if (!here_.empty())
    next.order = order_of(next.voters, self(), here_);
  next.endpoints = endpoints_of(next.order, here_, next.endpoints);
  std::erase(removed, self());
  if (change_ > reported_ || next != *voter_.charter())
    write(std::move(next), minus(removed, next.order));
  else
    resign_if_ready();
}

std::vector<agent_id> succession::wanted_voters() const {
  const auto& now = voter_.charter()->voters.newest();
  if (here_.empty())
    return now;
  if (!hand_over_)
    return choose_voters(here_, self(), now);
  // The next one must be able to win without the one that leaves.
  if (now == std::vector{self()})
    if (const auto next = find_successor())
      return {*next};
  return now;
}

// -- handing over -----------------------------------------------------------------

void succession::on(const hand_over_requested& event) {
  if (!is_open_)
    return;
  hand_over_ = event;
  hand_over_at_ = now_ + (event.leaves ? leave_pause : duration{0});
  if (now_ < hand_over_at_ && find_successor())
    return arm(alarm::hand_over, hand_over_at_);
  hand_over();
}

void succession::hand_over() {
  if (!hand_over_)
    return;
  if (!find_successor()) {
    hand_over_.reset();
    out_.emplace_back(report_no_successor{});
  }
  proceed();
}

std::optional<agent_id> succession::find_successor() const {
  auto out = std::optional<agent_id>{};
  for (const auto& x : voter_.charter()->order) {
    const auto stays
      = std::ranges::find(here_, x, &voter_candidate::agent) != here_.end();
    if (x != self() && stays && (!out || x == hand_over_->to))
      out = x;
  }
  return out;
}

// Whoever follows needs the charter, or it would have to be found out from others.
void succession::resign_if_ready() {
  if (!hand_over_ || now_ < hand_over_at_)
    return;
  const auto next = find_successor();
  if (next && stored_[*next] == voter_.charter()->key
      && voter_.charter()->voters.newest() != std::vector{self()})
    resign(*next);
}

void succession::resign(const agent_id& successor) {
  const auto term = voter_.term();
  const auto order = *hand_over_;
  const auto voters = all_of(*voter_.charter());
  voter_.believe(self(), term);
  out_.emplace_back(set_leadership_end{time_point{}});
  for (const auto& x : voters)
    if (x != self())
      send(x, resigned{term, successor, order.reason, order.is_asked});
  out_.emplace_back(move_agents{successor});
  end_leadership("another agent takes over");
  is_leaving_ = order.leaves;
  phase_ = phase::follower;
  wait_for_lapse();
}

void succession::send(const agent_id& to, succession_message what) {
  out_.emplace_back(send_message{to, std::move(what)});
}

void succession::arm(alarm which, time_point due) {
  out_.emplace_back(alarms_.arm(which, due));
}

std::string to_string(succession::phase x) {
  using phase = succession::phase;
  switch (x) {
    case phase::follower:
      return "follower";
    case phase::asking:
      return "asking";
    case phase::candidate:
      return "candidate";
    case phase::writing:
      return "writing";
    case phase::leading:
      return "leading";
  }
  return "unknown";
}

} // namespace actorrun::core
