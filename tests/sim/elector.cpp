#include "tests/sim/elector.hpp"

#include "tests/sim/cluster.hpp"

#include <algorithm>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

/// As voter_leadership asks where the coordinator is.
constexpr auto poll_pause = duration{20ms};
constexpr auto polls_max = 30;

std::string name_of(int coordinator) {
  return coordinator == 0 ? "" : std::to_string(coordinator);
}

template <class Effect>
bool has(const std::vector<succession_effect>& effects) {
  return std::ranges::any_of(
    effects, [](const auto& x) { return std::holds_alternative<Effect>(x); });
}

} // namespace

elector::elector(cluster& all, std::shared_ptr<os_process> process, agent& who,
                 std::set<agent_id> contacts)
  : all_(all), process_(std::move(process)), who_(who),
    clock_(all.roll().between(duration{1s}, uptime_max)),
    brain_({.self = who.id(), .promise = promise_min}), facts_{.id = who.id(),
                                                               .clock
                                                               = {0, clock_}},
    told_(std::move(contacts)), questions_(facts_.id) {
  process_->on_death([this] {
    facts_.is_alive = false;
    all_.break_voter_links(who_);
  });
}

time_point elector::now() const {
  return all_.now() + clock_;
}

void elector::post(action what) {
  process_->after(mailbox_delay, std::move(what));
}

bool elector::may_decide() const {
  return now() < leadership_end_;
}

std::set<agent_id> elector::known() const {
  auto out = told_;
  if (facts_.kept.charter)
    for (const auto& [who, _] : facts_.kept.charter->endpoints)
      out.insert(who);
  out.erase(facts_.id);
  return out;
}

// -- the voter ------------------------------------------------------------------

void elector::found() {
  auto job = charter{};
  job.revision = 1;
  job.settings = who_.settings();
  job.lease = all_.plan().limits.lease();
  dispatch(job_founded{job, to_string(who_.id())});
}

void elector::dispatch(const succession_event& event) {
  if (is_over_ || !process_->alive())
    return;
  const auto effects = brain_.step(event, now());
  if (all_.trace().on() && !effects.empty())
    all_.trace().add(all_.now(), who_.id().value + " voter",
                     to_string(brain_.current_phase()), effects);
  if (dies_keeping_ && has<keep_tombstone>(effects))
    orders_left_ = all_.roll().between(0, effects.size() - 1);
  for (const auto& effect : effects) {
    if (orders_left_ && (*orders_left_)-- == 0)
      all_.kill_agent(who_);
    if (!process_->alive())
      return;
    std::visit([this](const auto& x) { obey(x); }, effect);
  }
  note_written();
  if (hosted_ != nullptr)
    tell_voters();
  all_.elections().check_leaders(all_.now());
}

void elector::note_written() {
  if (std::exchange(facts_.written, brain_.written()) != facts_.written
      && facts_.written != charter_key{})
    all_.elections().check_write(facts_);
}

void elector::hear(const agent_id& from, const elector_message& what) {
  if (!is_over_)
    std::visit([&](const auto& x) { hear(from, x); }, what);
}

void elector::hear(const agent_id& from, const succession_message& x) {
  dispatch(message_heard{from, x});
}

void elector::on_broken(const agent_id& to) {
  dispatch(link_broken{to});
}

// A tombstone names those who may lead now.
void elector::on_examined(const agent_id& who, std::optional<tombstone> proof) {
  if (proof && proof->charter)
    told_.insert(proof->charter->order.begin(), proof->charter->order.end());
  dispatch(process_examined{who, std::move(proof)});
}

void elector::obey(const send_message& x) {
  if (const auto* given = std::get_if<vote>(&x.what))
    all_.elections().check_vote(facts_, given->term, x.to);
  if (const auto* wanted = std::get_if<vote_request>(&x.what))
    all_.elections().check_vote(facts_, wanted->term, facts_.id);
  all_.send_elector(*this, x.to, x.what);
}

void elector::obey(const keep_tombstone& x) {
  facts_.kept = x.left;
  if (x.left.charter)
    all_.elections().know(*x.left.charter);
}

void elector::obey(const core::examine& x) {
  all_.examine(*this, x.who);
}

void elector::obey(const arm_timer& x) {
  process_->at(all_.on_time(x.due - clock_) + all_.timer_lateness(),
               [this, timer = x.timer] { dispatch(timer_fired{timer}); });
}

// -- the coordinator ------------------------------------------------------------

void elector::obey(const open_coordinator& x) {
  all_.elections().check_open(facts_, brain_.written());
  all_.orders().check_known(x.known);
  here_.clear();
  shown_.clear();
  hosted_ = &all_.open_coordinator(process_, who_.host(), x,
                                   [this] { return may_decide(); });
}

// What it has decided within its lease may be on its way still.
void elector::obey(const set_leadership_end& x) {
  leadership_end_ = x.due;
  if (x.due != time_point{} || now() < facts_.leadership_end)
    facts_.leadership_end = x.due;
}

void elector::obey(const close_coordinator&) {
  if (auto* gone = std::exchange(hosted_, nullptr))
    all_.end_leadership(*gone);
}

void elector::obey(const ask_decider&) {
  post([this] { take_answer(); });
}

void elector::take_answer() {
  if (hosted_ == nullptr || hosted_->is_hung())
    return;
  const auto answer = hosted_->electors();
  if (answer.has_ended) { // The outcome is told, whoever votes.
    is_over_ = true;
    leadership_end_ = time_point::max();
    return;
  }
  dispatch(decider_answered{});
  if (!answer.here)
    return;
  auto here = std::vector<voter_candidate>{};
  for (const auto& x : *answer.here)
    if (x.agent == facts_.id || all_.reaches(*this, x.agent))
      here.push_back(x);
  if (here == here_)
    return;
  here_ = std::move(here);
  dispatch(members_changed{here_});
}

void elector::obey(const report_charter_written& x) {
  post([this, at = hosted_, x] {
    if (at != nullptr)
      at->on_written(charter_written{x.change});
  });
}

void elector::obey(const report_no_successor&) {
  if (is_leaving_ && hosted_ != nullptr)
    post([at = hosted_] { at->handle(stop_requested{15}); });
}

void elector::obey(const account_for& x) {
  post([at = hosted_, x] {
    if (at != nullptr)
      at->handle(member_ended{x.who, x.generation, x.node_count});
  });
}

void elector::tell_voters() {
  const auto& known = facts_.kept.charter;
  if (!known || shown_ == known->order)
    return;
  shown_ = known->order;
  post([at = hosted_, voters = shown_] {
    if (at != nullptr)
      at->tell_voters(voters);
  });
}

void elector::propose(const coordinator& from, const charter& job,
                      uint64_t change) {
  post([this, from = &from, job, change] {
    if (from == hosted_)
      dispatch(charter_proposed{change, job});
  });
}

void elector::hand_over(hand_over_requested order) {
  if (hosted_ != nullptr && !is_leaving_)
    dispatch(std::move(order));
}

// An agent that leaves has left the group before: its workers are gone.
void elector::resign(bool job_over) {
  if (!job_over && hosted_ != nullptr) {
    is_leaving_ = true;
    return dispatch(hand_over_requested{.leaves = true, .reason = "it leaves"});
  }
  if (job_over)
    leadership_end_ = {};
  is_over_ = true;
}

// -- where the coordinator is ---------------------------------------------------

void elector::know(const std::vector<agent_id>& voters) {
  told_ = {voters.begin(), voters.end()};
}

void elector::seek() {
  seeks_ = true;
  seeks_second_ = false;
  sought_ = all_.now();
  if (linked_ != 0)
    lost_ = linked_;
  poll_count_ = trying_ = linked_ = 0;
  poll();
}

void elector::seek_second_way() {
  seeks_second_ = true;
  poll();
}

void elector::poll() {
  seeks_second_ = seeks_second_ && who_.tries_second_way();
  if (!seeks_ && !seeks_second_)
    return questions_.end();
  if (hosted_ != nullptr && !hosted_->closed()) {
    if (std::exchange(seeks_second_, false))
      who_.on_second_way();
    trying_ = 0;
    if (std::exchange(seeks_, false))
      all_.connect(who_, hosted_->number(), false);
    return;
  }
  if (seeks_ && ++poll_count_ > polls_max && trying_ == 0) {
    seeks_ = false;
    return post([this] { who_.on_not_found(last_failure_, sought_); });
  }
  is_referred_ = false;
  if (const auto all = known(); !all.empty()) {
    const auto next = ptrdiff_t(questions_.next(all.size()));
    all_.send_elector(*this, *std::next(all.begin(), next), leader_question{});
  }
  poll_later();
}

void elector::poll_later() {
  process_->after(poll_pause, [this, number = ++poll_] {
    if (number == poll_)
      poll();
  });
}

void elector::hear(const agent_id& from, const leader_question&) {
  if (hosted_ != nullptr && !hosted_->closed())
    all_.send_elector(*this, from, leader_answer{facts_.id, hosted_->number()});
  else if (const auto& leader = brain_.leader();
           !leader.value.empty() && leader != facts_.id)
    all_.send_elector(*this, from,
                      told_leader_.leader == leader ? told_leader_
                                                    : leader_answer{leader});
  else
    all_.send_elector(*this, from, leader_answer{});
}

void elector::hear(const agent_id& from, const leader_answer& x) {
  if (!seeks_ && !seeks_second_)
    return;
  questions_.note_answer();
  if (x.leader.value.empty())
    return;
  if (from == x.leader && x.coordinator != 0)
    told_leader_ = x;
  const auto mine
    = search_state{name_of(trying_), name_of(lost_), seeks_second_};
  switch (weigh(mine, from == x.leader, name_of(x.coordinator))) {
    case answer_worth::nothing_new:
      return;
    case answer_worth::ask_leader:
      if (!std::exchange(is_referred_, true))
        all_.send_elector(*this, x.leader, leader_question{});
      return;
    case answer_worth::believed:
      break;
  }
  if (seeks_second_ && x.coordinator != linked_) {
    seeks_second_ = false;
    if (who_.tries_second_way())
      who_.on_second_way();
  }
  if (seeks_)
    try_at(x.coordinator);
}

void elector::try_at(int coordinator) {
  trying_ = coordinator;
  all_.connect(who_, coordinator, true);
}

bool elector::on_reached(int coordinator) {
  if (!seeks_ || trying_ != coordinator)
    return false;
  linked_ = std::exchange(trying_, 0);
  seeks_ = false;
  return true;
}

// Proof that the last one has ended says nothing of the next: the fence stays.
void elector::on_missed(int coordinator, const failure& why) {
  if (trying_ != coordinator)
    return;
  trying_ = 0;
  last_failure_ = why;
  if (why.code == errc::coordinator_gone)
    last_failure_.code = errc::connection_refused;
}

} // namespace actorrun::sim
