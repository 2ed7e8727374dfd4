#include "tests/sim/coordinator.hpp"

#include "actors/core/journal/time_account.hpp"
#include "tests/sim/cluster.hpp"

#include <algorithm>
#include <tuple>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

bool explains(const std::vector<core::rendezvous_effect>& effects) {
  return std::any_of(effects.begin(), effects.end(), [](const auto& x) {
    return std::holds_alternative<core::explain_failures>(x);
  });
}

} // namespace

coordinator::coordinator(cluster& all, std::shared_ptr<os_process> process,
                         int number, std::optional<uint32_t> host,
                         core::job_settings settings, core::timeouts limits)
  : all_(all), process_(std::move(process)), number_(number), host_(host),
    clock_(all.coarse(all.roll().between(core::duration{0}, uptime_max))),
    limits_(limits), brain_(settings, limits, all.plan().rules),
    times_(settings, limits, all.plan().lease_max(), all.checks()),
    restarts_(all.plan().rules, all.checks()),
    gpus_(all.plan().rules.on_gpu_fault, all.checks()),
    succession_(limits.lease(), all.checks()) {
  process_->on_death([this] {
    for (const auto& x : opened_)
      x->close(side::coordinator);
  });
}

void coordinator::start(const core::coordinator_started& known) {
  auto beginning = known;
  beginning.keeps_list = all_.plan().keeps_list;
  for (const auto& [host, entry] : all_.excluded_list())
    beginning.listed.push_back(entry);
  started_ = true;
  stored_ = beginning.known;
  all_.checks().coordinator_began(number_, beginning.known.newest);
  const auto in_force = number_ > 1
                          ? all_.find_coordinator(number_ - 1)->lease_in_force()
                          : core::duration{};
  succession_.begin(beginning, in_force, all_.now());
  handle(beginning);
}

void coordinator::step_down() {
  closed_ = true;
  gate_.drop();
  for (const auto& x : opened_)
    x->close(side::coordinator);
}

bool coordinator::may_act() const {
  return !closed_ && (!may_decide_ || may_decide_());
}

void coordinator::handle(const core::rendezvous_event& event) {
  if (!may_act() || is_over_)
    return;
  const auto spent = brain_.budget().restart_count();
  const auto generation = brain_.generation();
  const auto ranks = ranks_of_members();
  const auto* join = std::get_if<core::agent_joined>(&event);
  const auto is_new
    = join != nullptr && !brain_.agents().contains(join->offering.agent);
  const auto phase = brain_.current_phase();
  const auto was_stopping = phase == core::rendezvous::phase::stopping;
  const auto asked = brain_.settings();
  succession_.before(brain_, all_.now());
  if (std::holds_alternative<core::member_ended>(event))
    succession_.account();
  const auto effects = decide(event);
  order_ = all_.orders().decided(event, effects);
  note_job();
  times_.after(brain_, event, effects, all_.now(), slack());
  restarts_.after(brain_, event, effects, all_.now(), slack());
  gpus_.after(brain_, event, effects);
  if (all_.trace().on())
    all_.trace().add(all_.now(), "coordinator " + std::to_string(number_),
                     to_string(event), effects);
  all_.checks().stepped(number_, event, spent, generation, brain_);
  all_.checks().answered(number_, event, effects, phase, generation, asked,
                         brain_);
  if (is_new)
    arrived_[join->offering.agent] = ++arrival_count_;
  if (is_new && brain_.agents().contains(join->offering.agent))
    all_.checks().host_came(number_, join->offering.host);
  all_.checks().check_quarantine(number_, brain_);
  // A generation with a claim may be that of another coordinator.
  if (brain_.generation() != generation && (join == nullptr || !join->held)) {
    all_.checks().kept_ranks(ranks, ranks_of_members(),
                             !brain_.common_plan().survivors.empty());
    check_places(ranks);
    check_master();
  }
  check_answer(event, effects);
  check_safe_point(event, effects);
  check_journal(event, effects);
  if (was_stopping && brain_.generation() == generation && !brain_.result()
      && brain_.current_phase() != core::rendezvous::phase::stopping)
    all_.checks().settled(number_, generation, explains(effects));
  if (++step_count_ % 16 == 0
      || std::holds_alternative<core::timer_fired>(event))
    check_silence();
  for (const auto& effect : effects)
    std::visit([this](const auto& x) { perform(x); }, effect);
  succession_.after(brain_, event, effects);
  check_list();
  if (closed_)
    return;
  check_links();
  check_stops();
}

// As rendezvous_coordinator does it: no agent is heard while a timer is decided.
std::vector<core::rendezvous_effect>
coordinator::decide(const core::rendezvous_event& event) {
  const auto now = all_.now() + clock_;
  const auto is_join = std::holds_alternative<core::agent_joined>(event)
                       && brain_.settings().ranked;
  if (!std::holds_alternative<core::timer_fired>(event) && !is_join)
    return brain_.step(event, now);
  auto out = brain_.step(core::leases_renewed{leases_.take()}, now);
  const auto more = brain_.step(event, now);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

// What its timers may be late. A leader may do nothing between two terms.
core::duration coordinator::slack() const {
  const auto usual = 1ms + 3 * all_.shared().timer_lateness_ever
                     + process_->pause_count() * all_.plan().trouble_max;
  return may_decide_ ? usual + (1 + hang_count_) * all_.plan().trouble_max + 1s
                     : usual;
}

// Each event of an agent has the answer that the agent waits for.
void coordinator::check_answer(
  const core::rendezvous_event& event,
  const std::vector<core::rendezvous_effect>& effects) {
  auto is_probed = false;
  for (const auto& effect : effects) {
    is_probed |= std::holds_alternative<core::probe_agent>(effect);
    const auto* gone = std::get_if<core::forget_agent>(&effect);
    if (gone != nullptr && std::holds_alternative<core::timer_fired>(event)
        && all_.now() < heard_[gone->agent] + limits_.lease())
      all_.checks().report("lease: " + gone->agent.value
                           + " was given up though it has been heard");
    // A busy observer distrusts itself, unless it was busy twice.
    if (gone != nullptr && std::holds_alternative<core::timer_fired>(event)
        && links_[gone->agent]
        && links_[gone->agent]->waiting(side::coordinator) > 0
        && late_count_ == heard_late_[gone->agent] + 1 && is_late_)
      all_.checks().report("lease: " + gone->agent.value
                           + " was given up while its messages waited");
  }
  if (!brain_.result())
    check_note(event, is_probed);
  if (const auto* x = std::get_if<core::agent_joined>(&event);
      x && x->held && brain_.agents().contains(x->offering.agent)
      && !brain_.result()
      && brain_.budget().restart_count() < std::min(
           x->held->plan.restart_count, brain_.settings().restart_count_max))
    all_.checks().report("I5: a predecessor's restarts were forgotten");
}

// Who has a place keeps it, then those whose GPUs are well, and who came first goes
// before. New ranks follow the names of the hosts, behind the host of the coordinator's
// endpoint.
void coordinator::check_places(
  const std::map<agent_id, uint32_t>& before) const {
  using order = std::tuple<bool, uint32_t, size_t>;
  using turn = std::pair<bool, uint64_t>;
  auto last_in = turn{false, 0};
  auto first_out = turn{true, UINT64_MAX};
  auto newcomers = std::map<uint32_t, order>{};
  for (const auto& [agent, x] : brain_.agents()) {
    const auto* who = all_.find(agent);
    const auto is_member = x.member_of == brain_.generation();
    const auto rank = all_.checks().offer_of(agent).node_rank;
    if (brain_.settings().ranked && is_member && x.place.node_rank != rank)
      all_.checks().report("ranks: " + agent.value
                           + " has another rank than it was given");
    if (is_member && !before.contains(agent)) {
      last_in = std::max(last_in,
                         turn{x.gpu_trouble.has_value(), arrived_.at(agent)});
      if (x.place.node_rank == 0 && !brain_.common_plan().survivors.empty())
        continue; // Because of its survivors.
      newcomers.emplace(x.place.node_rank,
                        order{who->leased(), all_.name_order(who->host()),
                              all_.birth_order(agent)});
    } else if (!is_member && may_be_placed(x)) {
      first_out = before.contains(agent)
                    ? turn{false, 0}
                    : std::min(first_out, turn{x.gpu_trouble.has_value(),
                                               arrived_.at(agent)});
    }
  }
  if (first_out < last_in)
    all_.checks().report("ranks: a place went to an agent that came later");
  auto last = std::optional<order>{};
  for (const auto& [rank, x] : newcomers) {
    if (last && x < *last && !brain_.settings().ranked)
      all_.checks().report("ranks: newcomers do not have the order of their "
                           "hosts");
    last = x;
  }
}

// What an agent, or its machine, has said is known from then on.
void coordinator::check_note(const core::rendezvous_event& event,
                             bool is_probed) {
  const auto find = [this](const agent_id& agent) {
    const auto i = brain_.agents().find(agent);
    return i == brain_.agents().end() ? nullptr : &i->second;
  };
  auto fits = true;
  if (const auto* lost = std::get_if<core::agent_lost>(&event)) {
    const auto* y = find(lost->agent);
    fits = y == nullptr || y->connected;
  } else if (const auto* left = std::get_if<core::agent_left>(&event)) {
    fits = find(left->agent) == nullptr;
  } else if (const auto* cut = std::get_if<core::agent_disconnected>(&event)) {
    const auto* y = find(cut->agent);
    fits = y == nullptr || (y->offering.leased && !y->connected && is_probed);
  } else if (const auto* going = std::get_if<core::agent_leaving>(&event)) {
    const auto* y = find(going->agent);
    fits = y == nullptr || y->leaving;
  } else if (const auto* start = std::get_if<core::workers_started>(&event)) {
    const auto* y = find(start->agent);
    fits = y == nullptr || y->member_of != start->generation
           || y->member_of != brain_.generation()
           || y->share != core::share_state::starting;
  } else if (const auto* stop = std::get_if<core::workers_stopped>(&event)) {
    const auto* y = find(stop->agent);
    fits = y == nullptr || y->holds != stop->generation;
  } else if (const auto* done = std::get_if<core::workers_succeeded>(&event)) {
    const auto* y = find(done->agent);
    fits = y == nullptr || y->holds != done->generation;
  }
  if (!fits)
    all_.checks().report("telling: the coordinator does not take note of "
                         + to_string(event));
}

// What outlives the job names the hosts that are excluded, and no others. One that was
// deposed may not know of what has been done since.
void coordinator::check_list() const {
  if (!all_.plan().keeps_list || all_.current() != this || brain_.result()
      || brain_.waiting_for().starts_with("listening"))
    return;
  const auto& list = all_.excluded_list();
  const auto& hosts = brain_.excluded_hosts();
  const auto is_listed = [&](const auto& x) { return list.contains(x.host); };
  if (list.size() != hosts.size() || !std::ranges::all_of(hosts, is_listed))
    all_.checks().report("list: it does not name the hosts that are excluded");
}

void coordinator::perform(const core::list_exclusion& x) {
  all_.excluded_list().emplace(x.what.host, x.what);
}

void coordinator::perform(const core::unlist_exclusion& x) {
  all_.excluded_list().erase(x.host);
}

// Who says nothing loses its place in time.
void coordinator::check_silence() {
  const auto& limits = limits_;
  auto most = limits.lease() + slack();
  if (process_->pause_count() > 0
      || all_.shared().timer_lateness_ever > limits.keep_alive_interval)
    most += slack() + limits.keep_alive_interval;
  for (const auto& [agent, x] : brain_.agents())
    if (x.offering.leased && all_.now() > heard_[agent] + most)
      all_.checks().report("lease: " + agent.value
                           + " is silent, and keeps its place");
}

// What people are shown is what the coordinator knows.
void coordinator::check_journal(
  const core::rendezvous_event& event,
  const std::vector<core::rendezvous_effect>& effects) {
  using core::journal::snapshot;
  const auto now = all_.now() + clock_;
  check_time(now);
  for (const auto& effect : effects)
    if (const auto* x = std::get_if<core::revoke_generation>(&effect);
        x != nullptr && !x->is_over && x->reason.at_safe_point)
      stops_at_safe_point_ = x->generation;
  replay(chronicle_.note(event, effects, brain_, {now, 0}));
  const auto differs = [&](const snapshot& x) -> std::string {
    if (x.phase != brain_.current_phase())
      return "phase";
    if (x.waiting_for != brain_.waiting_for())
      return "what it waits for";
    if (x.nodes.size() != brain_.agents().size())
      return "number of nodes";
    for (const auto& [agent, record] : brain_.agents()) {
      const auto i = x.nodes.find(agent);
      if (i == x.nodes.end() || i->second.now->share != record.share
          || i->second.now->generation != record.member_of
          || i->second.now->connected != record.connected
          || i->second.now->leaving != record.leaving
          || i->second.now->excluded != record.excluded
          || i->second.now->unfit.has_value() == record.offering.unfit.empty()
          || i->second.now->stands_by.has_value() != record.stands_by
          || i->second.now->drained_at.has_value() != record.is_draining()
          || i->second.now->waits_to_drain.has_value()
               != record.waits_to_drain()
          || i->second.now->first_rank != record.place.first_global_rank)
        return "node " + agent.value;
    }
    const auto* newest = x.newest_generation();
    if ((newest == nullptr ? generation_id{} : newest->formed.generation)
        != brain_.generation())
      return "generation";
    if (x.result != brain_.result())
      return "outcome";
    if (x.coordinator.settings != brain_.settings())
      return "settings";
    if (x.excluded != brain_.excluded_hosts())
      return "excluded hosts";
    return {};
  };
  if (const auto what = differs(chronicle_.now()); !what.empty())
    all_.checks().report("journal: the chronicle differs in its " + what
                         + " after " + to_string(event));
  if (step_count_ % 16 == 0 && !(replayed_ == chronicle_.now()))
    all_.checks().report("journal: the records add up to something else");
}

void coordinator::replay(const core::journal::chronicle::records& told) {
  using namespace core::journal;
  for (const auto& x : told) {
    if (x.number != replayed_.number + 1)
      all_.checks().report("journal: a record is left out");
    replayed_.apply(x);
    if (std::holds_alternative<core::journal::generation_formed>(*x.what)) {
      saved_.clear();
      left_saved_ = core::time_point::max();
    }
    if (const auto* end
        = std::get_if<core::journal::generation_stopped>(&*x.what))
      check_loss(end->generation);
  }
}

// No more is lost than was trained since the last save, and nothing where all workers
// had come to one step.
void coordinator::check_loss(generation_id stopped) const {
  const auto& entry = *replayed_.newest_generation();
  if (entry.formed.generation != stopped || !entry.lost)
    return;
  if (stops_at_safe_point_ == stopped)
    all_.checks().report("saves: a generation that ended at a safe point is "
                         "said to have lost something");
  auto saved = left_saved_;
  for (const auto& [agent, x] : saved_)
    saved = std::min(saved, x);
  if (saved == core::time_point::max())
    saved = entry.formed_at.when;
  const auto most = std::chrono::ceil<std::chrono::microseconds>(
                      entry.revoked_at->when - saved)
                    * entry.formed.world_size;
  if (entry.formed.adopted)
    return; // An earlier coordinator may have heard of other saves.
  if (entry.lost->worker_us > uint64_t(most.count()))
    all_.checks().report("saves: more is lost than was trained since");
}

// No time is lost in the account of a job, and none is counted twice.
void coordinator::check_time(core::time_point now) {
  using namespace core::journal;
  const auto us = ticks_of(now) - ticks_of(counted_until_);
  counted_until_ = now;
  if (!replayed_.result)
    for (const auto& [agent, x] : replayed_.nodes)
      place_us_ += uint64_t(us) * x.now->slot_count;
  if (step_count_ % 16 != 0)
    return;
  const auto time = account_of(replayed_, now);
  auto of_hosts = time.other_hosts;
  for (const auto& [host, spent] : time.hosts)
    of_hosts.add(spent);
  if (time.all.all_worker_us() != place_us_ || !(of_hosts == time.all))
    all_.checks().report("time: it does not add up");
}

void coordinator::ignores(const core::rendezvous_event& event) {
  const auto stage = brain_.current_phase();
  const auto generation = brain_.generation();
  const auto result = brain_.result();
  const auto sum = [this] {
    auto out = std::map<agent_id,
                        std::tuple<generation_id, generation_id, int, bool>>{};
    for (const auto& [agent, x] : brain_.agents())
      out.emplace(agent,
                  std::tuple{x.member_of, x.holds, int(x.share), x.leaving});
    return out;
  };
  const auto before = sum();
  if (!brain_.step(event, all_.now() + clock_).empty() || sum() != before
      || brain_.current_phase() != stage || brain_.generation() != generation
      || brain_.result() != result)
    all_.checks().report("fencing: the coordinator obeys what is over: "
                         + to_string(event));
}

// What mailboxes and networks bring late: of timers, of agents that were given
// up, of older generations.
void coordinator::hear_late(bool is_closed) {
  if (!may_act())
    return;
  if (fired_)
    ignores(core::timer_fired{*fired_});
  auto death = core::worker_failure{};
  death.code = 1;
  const auto unknown = agent_id{"unknown"};
  const auto generation = brain_.generation();
  ignores(core::leases_renewed{{{unknown, all_.now() + clock_}}});
  ignores(core::agent_disconnected{unknown});
  ignores(core::agent_lost{unknown, "late"});
  ignores(core::agent_leaving{unknown});
  ignores(core::agent_left{unknown});
  auto holds = std::map<agent_id, generation_id>{{unknown, {}}};
  for (const auto& [agent, x] : brain_.agents()) {
    holds.emplace(agent, x.holds);
    if (x.connected)
      ignores(core::agent_lost{agent, "late"});
    if (x.member_of == generation && x.share != core::share_state::starting)
      ignores(core::workers_started{agent, generation});
  }
  for (const auto& [agent, held] : holds)
    for (const auto old : {generation_id{generation.value - 1}, generation}) {
      if (old == held || old == generation_id{})
        continue;
      if (old != generation)
        ignores(core::workers_started{agent, old});
      death.agent = agent;
      ignores(core::worker_failed{agent, old, death});
      ignores(core::workers_succeeded{agent, old});
      const auto i = brain_.agents().find(agent);
      const auto is_answer = i != brain_.agents().end() && i->second.is_awaited
                             && i->second.ahead_of == old;
      if (!is_answer)
        ignores(core::workers_stopped{agent, old, 0, {{death}, 0}, 1});
    }
  if (is_closed) {
    ignores(core::stop_requested{15});
    auto offering = core::offer{};
    offering.agent = unknown;
    ignores(core::agent_joined{offering, brain_.settings(), {}});
  }
}

// Whoever asks for this job with a sound command line is not turned away, unless
// another node has its rank.
void coordinator::check_refusal(const agent_id& agent, errc code) const {
  // It is of the next job: this one was over before.
  if (code == errc::connection_failed && brain_.generation().value == 0
      && stored_.decided && !accepted_before_.contains(agent))
    return;
  const auto& asked = brain_.settings();
  const auto& x = all_.checks().offer_of(agent);
  const auto& at_first = all_.plan().job;
  auto theirs = all_.find(agent)->settings();
  if (asked.agent_count_min != at_first.agent_count_min
      || asked.agent_count_max != at_first.agent_count_max) {
    theirs.agent_count_min = asked.agent_count_min;
    theirs.agent_count_max = asked.agent_count_max;
  }
  auto is_right
    = theirs == asked
      || (accepted_before_.contains(agent) && theirs.ranked == asked.ranked);
  auto is_taken = false;
  if (asked.ranked) {
    is_right = is_right && x.node_rank && *x.node_rank < asked.agent_count_max;
    for (const auto& [other, record] : brain_.agents())
      is_taken |= other != agent && record.connected && !record.leaving
                  && all_.checks().offer_of(other).node_rank == x.node_rank;
  }
  const auto has_slots
    = x.slot_count >= 1 && x.slot_count <= core::slots_per_agent_max;
  const auto is_unsure = brain_.waiting_for().starts_with("listening");
  const auto fits = code == errc::settings_mismatch   ? !is_right
                    : code == errc::connection_failed ? !is_right && is_unsure
                    : code == errc::bad_slot_count    ? !has_slots
                    : code == errc::duplicate_agent   ? is_taken
                    : code == errc::job_over          ? all_.etcd().has_ended()
                    : code == errc::none              ? is_right && has_slots
                                                      : false;
  if (!fits)
    all_.checks().report(agent.value
                         + (code == errc::none ? " takes part, and must not"
                                               : " was turned away wrongly"));
}

// Rank 0 holds the port that the plans name. One that has left may hold another one
// already: the plan that comes before the news of it is revoked with them.
void coordinator::check_master() const {
  for (const auto& [agent, x] : brain_.agents())
    if (x.member_of == brain_.generation() && x.place.node_rank == 0
        && !all_.find(agent)->is_going()
        && brain_.common_plan().master_port
             != all_.find(agent)->brain().offering().master_port)
      all_.checks().report("I1: MASTER_PORT is not what " + agent.value
                           + " holds");
}

// Whom rendezvous takes for connected has a link, and no other agent.
void coordinator::check_links() {
  for (const auto& [agent, x] : brain_.agents())
    if (x.connected != (links_[agent] != nullptr))
      all_.checks().report("link: the coordinator is wrong about the link of "
                           + agent.value);
    else if (brain_.result() && !is_writing_ && !told_.contains(agent))
      all_.checks().report("I6: no coordinator tells " + agent.value
                           + " that the job has ended");
}

// Workers that have no part in the running generation are ordered to stop, and
// again when their agent is back: the job would wait for them.
void coordinator::check_stops() const {
  using phase = core::rendezvous::phase;
  const auto stage = brain_.current_phase();
  if (brain_.result())
    return;
  const auto is_active = stage == phase::starting || stage == phase::running;
  for (const auto& [agent, x] : brain_.agents()) {
    if (!x.connected || x.holds.value == 0
        || (is_active && x.holds == brain_.generation()))
      continue;
    const auto i = stopped_.find(agent);
    if ((i == stopped_.end() || i->second < x.holds)
        && !brain_.waiting_for().starts_with("listening"))
      all_.checks().report("I8: no coordinator orders " + agent.value
                           + " to stop generation " + to_string(x.holds));
  }
}

std::map<agent_id, uint32_t> coordinator::ranks_of_members() const {
  auto out = std::map<agent_id, uint32_t>{};
  for (const auto& [agent, x] : brain_.agents())
    if (x.member_of == brain_.generation() && x.member_of.value != 0)
      out.emplace(agent, x.place.node_rank);
  return out;
}

// -- links --------------------------------------------------------------------

void coordinator::adopt(std::shared_ptr<link> opened) {
  opened_.push_back(std::move(opened));
}

void coordinator::receive(const std::shared_ptr<link>& from,
                          const agent_id& agent,
                          const core::rendezvous_event& event,
                          core::time_point sent) {
  if (defer([=, this] { receive(from, agent, event, sent); }))
    return;
  auto& known = links_[agent];
  if (std::holds_alternative<core::agent_joined>(event)) {
    if (known && known != from)
      known->close(side::coordinator);
    known = from;
    joined_[from.get()] = {agent, *speakers_.join(agent, agent, true)};
    stopped_.erase(agent);
  }
  if (known != from) // The message is of an older link.
    return;
  if (!may_act())
    return;
  all_.checks().told(number_, brain_, event, sent, all_.now());
  if (const auto* join = std::get_if<core::agent_joined>(&event)) {
    note_heard(agent);
    if (join->told)
      accepted_before_.insert(agent);
    else
      accepted_before_.erase(agent);
  }
  handle(event);
  if (!brain_.agents().contains(agent))
    speakers_.forget(agent); // It was rejected.
}

void coordinator::receive_keep_alive(
  const std::shared_ptr<link>& from, const agent_id& agent,
  core::time_point sent, const std::optional<core::saves_report>& saves) {
  if (defer([=, this] { receive_keep_alive(from, agent, sent, saves); }))
    return;
  if (links_[agent] != from || !may_act())
    return;
  const auto is_granted = leases_.hear(agent, sent, all_.now() + clock_);
  const auto i = brain_.agents().find(agent);
  const auto is_known = i != brain_.agents().end() && i->second.offering.leased;
  if (is_granted != is_known)
    all_.checks().report(
      "lease: " + agent.value
      + (is_known ? " gets no answer" : " is answered, and unknown"));
  // A repeated keep-alive lengthens no lease.
  if (std::exchange(stamps_[agent], sent) != sent)
    note_heard(agent);
  if (is_granted)
    all_.to_agent(from, agent, core::lease_granted{sent, age()});
  if (saves && is_known && !is_over_)
    note_saves(agent, *saves);
}

// Workers may say anything; no more is believed than they have had time for.
void coordinator::note_saves(const agent_id& agent,
                             const core::saves_report& x) {
  const auto now = all_.now() + clock_;
  const auto* newest = replayed_.newest_generation();
  if (newest != nullptr && newest->formed.generation == x.generation
      && !newest->formed.adopted) {
    const auto places = brain_.agents().at(agent).offering.slot_count;
    if (x.saving > (now - newest->formed_at.when) * places
        || (x.age && *x.age < 0ns))
      all_.checks().report("saves: " + agent.value
                           + " has had no time for its saves");
    if (x.age)
      saved_[agent] = now - *x.age;
  }
  check_time(now);
  replay(chronicle_.note_saves(agent, x, {now, 0}));
}

core::duration coordinator::age() const {
  const auto* elector = all_.elector_of(*process_);
  return elector != nullptr ? elector->age() : core::duration::zero();
}

void coordinator::note_heard(const agent_id& agent) {
  heard_[agent] = all_.now();
  heard_late_[agent] = late_count_;
}

void coordinator::on_closed(const link* closed) {
  if (defer([=, this] { on_closed(closed); }))
    return;
  const auto i = joined_.find(closed);
  if (i == joined_.end())
    return;
  const auto [agent, number] = i->second;
  if (auto& known = links_[agent]; known.get() == closed)
    known = nullptr;
  if (speakers_.hang_up(agent, number))
    handle(core::agent_disconnected{agent});
}

// Unless some cannot be told anything, all come to one step.
void coordinator::check_safe_point(
  const core::rendezvous_event& event,
  const std::vector<core::rendezvous_effect>& effects) {
  const auto* x = std::get_if<core::safe_point_reported>(&event);
  if (x == nullptr || x->report.what != core::safe_point_report::kind::reached)
    return;
  for (const auto& effect : effects)
    if (const auto* revoked = std::get_if<core::revoke_generation>(&effect))
      all_.checks().came_to_step(revoked->generation, x->report.step);
}

void coordinator::send(const agent_id& agent, core::membership_event event) {
  if (const auto& known = links_[agent])
    show([this, known, agent, event] { all_.to_agent(known, agent, event); });
}

void coordinator::show(std::function<void()> what) {
  if (const auto now = gate_.pass(std::move(what)))
    (*now)();
}

void coordinator::on_written(const core::charter_written& event) {
  if (defer([=, this] { on_written(event); }))
    return;
  if (!may_act())
    return gate_.drop();
  for (const auto& what : gate_.on(event))
    what();
}

// Voters store one charter after the other, whatever becomes of this process.
void coordinator::write() {
  const auto longest = all_.plan().write_max;
  const auto delay
    = all_.coarse(all_.roll().between(core::duration{0}, longest));
  write_due_ = std::max(write_due_, all_.now() + delay);
  all_.after(write_due_ - all_.now(), [this, job = job_] { stored_ = job; });
  process_->at(write_due_, [this, change = gate_.change()] {
    for (const auto& what : gate_.on(core::charter_written{change}))
      what();
  });
}

// -- what rendezvous decides --------------------------------------------------

void coordinator::perform(const core::arm_timer& x) {
  const auto due = x.due - clock_;
  process_->at(all_.on_time(due) + all_.timer_lateness(),
               [this, due, timer = x.timer] {
                 if (defer([this, timer] { handle(core::timer_fired{timer}); }))
                   return;
                 is_late_ = all_.now() > due + limits_.keep_alive_interval;
                 late_count_ += is_late_;
                 handle(core::timer_fired{timer});
                 fired_ = timer;
               });
}

void coordinator::perform(const core::accept_agent& x) {
  // Of one that is refused, as one of an earlier job is, it learns no number.
  all_.checks().joined(number_, all_.find(x.agent)->highest_heard());
  check_refusal(x.agent, errc::none);
  if (const auto& heard = all_.find(x.agent)->heard())
    succession_.joined(x.agent, *heard);
  const auto& limits = limits_;
  const auto leased = brain_.agents().at(x.agent).offering.leased;
  if (leased)
    leases_.open(x.agent, all_.now() + clock_);
  show_voters(x.agent);
  send(x.agent, leased
                  ? core::join_accepted{limits.keep_alive_interval,
                                        limits.fence(), brain_.job(), age()}
                  : core::join_accepted{.job = brain_.job()});
}

void coordinator::perform(const core::reject_agent& x) {
  check_refusal(x.agent, x.code);
  send(x.agent, core::join_rejected{{x.code, x.text}});
}

void coordinator::perform(const core::probe_agent& x) {
  all_.probe(*this, x.agent);
}

void coordinator::perform(const core::send_safe_point_order& x) {
  for (const auto& agent : x.agents)
    send(agent, core::safe_point_ordered{x.generation, x.order});
}

void coordinator::perform(const core::start_ahead& x) {
  for (const auto& agent : x.agents)
    send(agent, core::start_ahead_ordered{x.generation, x.restart_count});
}

void coordinator::perform(const core::order_checks& x) {
  for (const auto& agent : x.agents)
    if (const auto& known = links_[agent])
      show([this, known, agent] { all_.order_checks(known, agent); });
}

void coordinator::perform(const core::notify_drain& x) {
  send(x.agent, core::drain_ordered{x.time, x.at_safe_point, x.stays});
}

void coordinator::perform(const core::forget_agent& x) {
  if (const auto i = saved_.find(x.agent); i != saved_.end())
    left_saved_ = std::min(left_saved_, i->second);
  speakers_.forget(x.agent);
  leases_.close(x.agent);
  if (auto known = std::exchange(links_[x.agent], nullptr))
    known->close(side::coordinator);
}

void coordinator::perform(const core::announce_generation& x) {
  if (all_.plan().voting) // Else an order may be lost with its coordinator.
    all_.orders().check(brain_);
  if (all_.checks().announced(number_, x, brain_.settings())) {
    succession_.formed(all_.now());
    if (auto* elector = all_.elector_of(*process_))
      show([this, elector, generation = x.plans.front().generation] {
        all_.elections().check_generation(elector->facts(), generation.value);
      });
  }
  if (!x.plans.empty())
    show([this, number = x.plans.front().generation] {
      all_.checks().came_out(number);
    });
  for (const auto& plan : x.plans)
    send(plan.own.agent, core::generation_formed{plan, brain_.job()});
}

void coordinator::perform(const core::attribute_failure& x) {
  if (x.to == core::attribution::program)
    all_.checks().charged(number_, x.generation);
}

void coordinator::perform(const core::tell_charter& x) {
  for (const auto& agent : x.agents)
    send(agent, core::charter_changed{brain_.job()});
}

void coordinator::perform(const core::write_outcome& x) {
  all_.checks().ended(number_, brain_, x.result, all_.now());
  is_writing_ = true;
  if (auto* candidate = all_.candidate_of(*process_))
    candidate->write_outcome();
}

void coordinator::note_job() {
  const auto has_voters = all_.plan().has_voters();
  if (has_voters && job_.decided && gate_.is_open())
    return;
  auto job = has_voters ? brain_.job_and_end() : brain_.job();
  auto* elector = all_.elector_of(*process_);
  if (elector != nullptr)
    job.leader_group = leader_group();
  if (job == job_)
    return;
  job_ = job;
  if (elector != nullptr)
    elector->propose(*this, job_, gate_.change());
  else if (has_voters)
    write();
  if (auto* x = all_.candidate_of(*process_); x != nullptr && may_decide_)
    x->change_job(job_);
}

void coordinator::perform(const core::revoke_generation& x) {
  if (x.failure)
    all_.checks().attributed(*x.failure);
  for (const auto& agent : x.agents) {
    auto& newest = stopped_[agent];
    newest = std::max(newest, x.generation);
    send(agent, core::generation_revoked{x.generation, x.is_over});
  }
}

void coordinator::perform(const core::explain_failures& x) {
  all_.checks().attributed(x.first);
  for (const auto& other : x.others.listed)
    all_.checks().attributed(other);
  all_.checks().explained(number_, x.generation, x.first, x.others.listed,
                          x.others.unlisted_count, all_.now());
}

void coordinator::perform(const core::end_job& x) {
  if (brain_.generation().value == 0 && all_.plan().has_voters()
      && stored_.decided)
    all_.checks().ended_before(number_, x.result);
  else if (!std::exchange(is_writing_, false))
    all_.checks().ended(number_, brain_, x.result, all_.now());
  told_.insert(x.agents.begin(), x.agents.end());
  for (const auto& agent : x.agents)
    send(agent, core::job_ended{x.result});
}

uint32_t coordinator::leader_group() const {
  const auto& own = all_.elector_of(*process_)->owner().id();
  const auto i = brain_.agents().find(own);
  const auto generation = brain_.generation();
  return i != brain_.agents().end() && generation.value != 0
             && i->second.member_of == generation
           ? brain_.common_plan().node_count
           : 0;
}

// -- who elects -----------------------------------------------------------------

coordinator::electors_answer coordinator::electors() const {
  auto out = electors_answer{};
  out.has_ended = brain_.result() && gate_.is_open();
  const auto is_listening
    = brain_.current_phase() == core::rendezvous::phase::gathering
      && !brain_.gives_up_then();
  if (is_listening)
    return out;
  out.here.emplace();
  for (const auto& [agent, x] : brain_.agents())
    if (x.is_candidate() && links_.at(agent))
      out.here->push_back({.agent = agent,
                           .host = x.offering.host,
                           .endpoint = to_string(agent)});
  return out;
}

void coordinator::tell_voters(const std::vector<agent_id>& voters) {
  voters_ = voters;
  for (const auto& [agent, _] : brain_.agents())
    show_voters(agent);
}

void coordinator::show_voters(const agent_id& agent) {
  auto* to = all_.elector_of(agent);
  if (to == nullptr || voters_.empty())
    return;
  if (const auto& known = links_[agent])
    show([known, to, voters = voters_] {
      known->send(side::coordinator, [to, voters] { to->know(voters); });
    });
}

void coordinator::perform(const core::hand_over_leadership& x) {
  if (auto* elector = all_.elector_of(*process_))
    process_->after(50ms, [this, elector, x] {
      if (elector->hosted() == this)
        elector->hand_over({.to = x.to, .reason = x.by, .is_asked = true});
    });
}

// Only voters keep what an operator was told; of others two agents must know it.
void coordinator::perform(const core::answer_operator&) {
  if (order_ != 0 && all_.plan().voting)
    show([this, order = order_] { all_.orders().told(order); });
}

// -- its actor hangs ------------------------------------------------------------

bool coordinator::defer(action what) {
  if (is_hung_)
    deferred_.push_back(std::move(what));
  return is_hung_;
}

void coordinator::hang(core::duration length) {
  is_hung_ = true;
  ++hang_count_;
  process_->after(length, [this] {
    is_hung_ = false;
    for (auto& what : std::exchange(deferred_, {}))
      what();
  });
}

void coordinator::perform(const core::close_job&) {
  is_over_ = true;
  show([this] {
    is_over_ = false;
    hear_late(true);
    step_down();
    all_.on_closed(*this, *brain_.result());
  });
}

} // namespace actorrun::sim
