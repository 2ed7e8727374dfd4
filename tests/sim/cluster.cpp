#include "tests/sim/cluster.hpp"

#include "tests/sim/faults.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

/// Limit that an undisturbed job never reaches, but a timer that rearms itself
/// needlessly does.
constexpr auto steps_per_agent_and_second_max = uint64_t{3'000};

constexpr auto port_wait = core::duration{10ms};

/// Names of hosts in the order in which a person would list them: numbers count
/// as numbers, wherever they stand, and zeros in front of them do not.
constexpr auto host_names = std::array{
  "2",  "9",   "10",  "ab1", "b1",   "b9a",   "b10", "n-2-10", "n-10-2", "x",
  "x0", "x00", "x09", "x9",  "x9a2", "x9a10", "x10", "x010b",  "x11",    "y"};

} // namespace

cluster::cluster(scenario plan, history::mode how)
  : plan_(std::move(plan)), roll_(plan_.seed + 0x9e3779b97f4a7c15),
    queue_(plan_.tick), trace_(how),
    // What is formed and not stored was never seen: its number may be given again.
    checks_(plan_.job, plan_.clocks_differ.count() == 0 && !plan_.voting,
            plan_.rules.node_failures_are_free),
    world_{plan_, queue_, roll_, checks_}, promises_(checks_) {
  for (uint32_t i = 0; i < host_names.size(); ++i)
    free_names_.insert(
      free_names_.begin() + long(roll_.between(0, free_names_.size())), i);
}

cluster::~cluster() {
  for (const auto& [host, x] : by_host_)
    x->discard();
}

core::duration cluster::timer_lateness() {
  auto& ever = world_.timer_lateness_ever;
  ever = std::max(ever, world_.timer_lateness_max);
  return roll_.between(core::duration{0},
                       world_.timer_lateness_max + core::duration{200us});
}

// -- hosts and agents ---------------------------------------------------------

uint32_t cluster::new_host() {
  const auto host = uint32_t(paths_.size());
  paths_.push_back(std::make_unique<path>());
  node_ranks_.emplace_back();
  if (plan_.job.ranked && host < plan_.agent_count)
    node_ranks_.back() = host;
  else if (plan_.job.ranked && roll_.percent(80))
    node_ranks_.back() = uint32_t(roll_.between(0, plan_.agent_count));
  if (free_names_.empty()) { // These come behind all of the table.
    name_orders_.push_back(uint32_t(host_names.size()) + host);
    names_.push_back("z" + std::to_string(host));
  } else {
    name_orders_.push_back(free_names_.back());
    names_.emplace_back(host_names[free_names_.back()]);
    free_names_.pop_back();
  }
  roles_.emplace_back(roll_.percent(plan_.role_percent) ? "evaluator"
                                                        : "default");
  return host;
}

agent& cluster::add_agent(uint32_t host, mistake made) {
  const auto hosting = plan_.embedded && !plan_.elected && host == 0;
  auto process = std::make_shared<os_process>(queue_);
  auto settings = plan_.job;
  settings.restart_count_max += made == mistake::settings ? 1 : 0;
  const auto slot_count = made == mistake::no_slots ? 0
                          : made == mistake::too_many_slots
                            ? core::slots_per_agent_max + 1
                            : uint32_t(roll_.between(1, plan_.slot_count_max));
  // As in the real system, an id is never used again.
  const auto name
    = "node-" + std::to_string(host) + "-" + std::to_string(agents_.size());
  auto offering = core::offer{.agent = {name},
                              .host = names_[host],
                              .address = name,
                              .role = roles_[host],
                              .slot_count = slot_count,
                              .master_port = uint16_t(20'000 + agents_.size()),
                              .leased = !hosting,
                              .node_rank = node_ranks_[host]};
  // Some jobs have nodes that are checked before they go on.
  const auto kind = (agents_.size() + plan_.slot_count_max) % 4;
  if (plan_.job.restart_count_max % 3 == 2) {
    offering.is_checked_after_failure = kind == 0;
    offering.is_checked_after_end = kind == 1;
  }
  checks_.enlisted(offering);
  births_.emplace(offering.agent, agents_.size());
  agents_.push_back(std::make_unique<agent>(*this, process, host,
                                            std::move(offering), settings));
  auto& x = *agents_.back();
  open_node(process, true);
  if (plan_.voting)
    add_elector(x);
  else if (plan_.elected)
    candidates_.emplace(process.get(),
                        std::make_unique<candidate>(*this, process, x));
  if (hosting)
    spawn_coordinator(process, false);
  if (made == mistake::lie)
    x.lie();
  if (plan_.voting && agents_.size() == 1)
    electors_.at(process.get())->found();
  if (plan_.is_leader_spare && agents_.size() == 1)
    process->after(500ms, [&x] { x.start(); });
  else
    x.start();
  return x;
}

void cluster::open_node(const std::shared_ptr<os_process>& process,
                        bool has_agent) {
  nodes_.emplace(process.get(),
                 std::make_unique<node>(
                   queue_, roll_, checks_, process, has_agent,
                   [this, process = process.get()](int signal) {
                     for (const auto& x : agents_)
                       if (&x->process() == process)
                         x->handle(core::leave_requested{signal});
                     // Elected, it only gives up the leadership.
                     if (!plan_.elected)
                       for (const auto& x : coordinators_)
                         if (&x->process() == process)
                           x->handle(core::stop_requested{signal});
                   },
                   [this, process = process.get()] { resign(*process); }));
}

void cluster::spawn_coordinator(std::shared_ptr<os_process> process,
                                bool misled) {
  auto settings = plan_.job;
  settings.restart_count_max += misled ? 1 : 0;
  coordinators_.push_back(std::make_unique<coordinator>(
    *this, std::move(process), int(coordinators_.size() + 1), std::nullopt,
    settings, limits_of_next()));
  current()->start(beginning());
}

coordinator& cluster::open_coordinator(std::shared_ptr<os_process> process,
                                       uint32_t host,
                                       const core::open_coordinator& order,
                                       std::function<bool()> may_decide) {
  coordinators_.push_back(std::make_unique<coordinator>(
    *this, std::move(process), int(coordinators_.size() + 1), host, plan_.job,
    plan_.limits));
  auto& x = *coordinators_.back();
  x.set_term(std::move(may_decide));
  x.start({.successor = order.successor,
           .unseen = before_term_of_now(),
           .known = order.known,
           .is_proved = plan_.voting,
           .writes_outcome = !plan_.voting,
           .silence = order.silence});
  return x;
}

void cluster::end_leadership(coordinator& who) {
  const auto is_over = who.closed();
  who.step_down();
  if (!is_over && who.process().alive())
    nodes_.at(&who.process())->handle(core::leadership_left{});
}

candidate* cluster::candidate_of(const os_process& process) {
  const auto i = candidates_.find(const_cast<os_process*>(&process));
  return i == candidates_.end() ? nullptr : i->second.get();
}

void cluster::resign(os_process& process) {
  if (const auto i = candidates_.find(&process); i != candidates_.end())
    i->second->resign(false);
  if (auto* x = elector_of(process))
    x->resign(false);
}

void cluster::signal_node(agent& who, int signal) {
  nodes_.at(&who.process())->handle(core::signal_received{signal});
}

void cluster::crash_actor(os_process& process, core::actor_died::role which) {
  nodes_.at(&process)->handle(core::actor_died{which, "out of memory"});
}

std::vector<agent*> cluster::living() {
  auto xs = std::vector<agent*>{};
  for (const auto& x : agents_)
    if (x->process().alive() && !x->finished())
      xs.push_back(x.get());
  return xs;
}

void cluster::kill_agent(agent& who, bool traceless) {
  if (who.workers().frozen()) // Nothing dies on a machine that is suspended.
    return;
  if (traceless || roll_.percent(plan_.no_warden_percent)) {
    who.lose_warden();
    if (auto* x = hosted_by(who.process()))
      x->lose_warden();
  }
  who.process().kill();
}

void cluster::kill_coordinator(bool traceless) {
  if (!serving())
    return;
  for (const auto& x : agents_)
    if (&x->process() == &current()->process())
      return kill_agent(*x, traceless);
  if (traceless || roll_.percent(plan_.no_warden_percent))
    current()->lose_warden();
  current()->process().kill();
}

// A tombstone says which numbers were given, and so does a journal. Without either,
// terms of the clock are above them all, if the clocks agree.
core::coordinator_started cluster::beginning() {
  const auto count = coordinators_.size();
  const auto* last = count < 2 ? nullptr : coordinators_[count - 2].get();
  auto out = core::coordinator_started{.successor = last != nullptr};
  if (last != nullptr && plan_.write_max.count() > 0) {
    out.known = last->stored();
    return out;
  }
  if (last != nullptr && (last->has_tombstone() || plan_.has_journal))
    out.known = last->brain().job();
  else
    out.unseen = before_term_of_now();
  if (!plan_.has_journal)
    out.known.excluded.clear();
  return out;
}

generation_id cluster::before_term_of_now() {
  using std::chrono::microseconds;
  const auto most = plan_.clocks_differ;
  const auto behind = most.count() > 0 ? roll_.between(core::duration{0}, most)
                                       : core::duration{0};
  const auto clock = now().time_since_epoch() + most - behind;
  const auto term = std::chrono::duration_cast<microseconds>(clock).count() + 1;
  return generation_of(uint64_t(term), 0);
}

core::timeouts cluster::limits_of_next() {
  return plan_.other_limits && !coordinators_.empty() && roll_.percent(70)
           ? *plan_.other_limits
           : plan_.limits;
}

void cluster::restart_coordinator(bool misled) {
  if (plan_.elected || closed_ || serving())
    return;
  // The dead one's machine keeps the port until its workers have ended.
  if (current()->has_tombstone())
    for (const auto& x : agents_)
      if (&x->process() == &current()->process()
          && x->workers().is_any_alive()) {
        queue_.after(port_wait,
                     [this, misled] { restart_coordinator(misled); });
        return;
      }
  if (plan_.embedded) {
    add_agent(0);
    return;
  }
  const auto process = std::make_shared<os_process>(queue_);
  open_node(process, false);
  spawn_coordinator(process, misled);
}

void cluster::on_finished(agent& who) {
  checks_.finished(who.id(), *who.how_ended());
  const auto& how = *who.how_ended();
  const auto find_bound
    = 1200ms + 2 * plan_.limits.connect + plan_.election_bound();
  if (healed_ && now() > healed_at_ + find_bound && !closed_ && how.why
      && (!plan_.voting || (can_elect() && can_be_found(who)))
      && (how.why->code == errc::coordinator_lost
          || how.why->code == errc::connection_timed_out))
    checks_.report("I8: " + who.id().value
                   + " gave up although the coordinator could be reached");
  nodes_.at(&who.process())
    ->handle(core::agent_finished{how, hosted_by(who.process()) != nullptr});
}

void cluster::on_closed(coordinator& who, const core::outcome& result) {
  closed_ = true;
  if (const auto i = candidates_.find(&who.process()); i != candidates_.end())
    i->second->resign(true);
  if (auto* x = elector_of(who.process()))
    x->resign(true);
  nodes_.at(&who.process())->handle(core::coordinator_closed{result});
}

// -- the run ------------------------------------------------------------------

void cluster::begin() {
  for (uint32_t i = 0; i < plan_.agent_count; ++i)
    new_host();
  const auto hosts_first = plan_.voting || (plan_.embedded && !plan_.elected);
  if (hosts_first) {
    add_agent(0);
  } else if (!plan_.elected) {
    const auto process = std::make_shared<os_process>(queue_);
    open_node(process, false);
    coordinators_.push_back(std::make_unique<coordinator>(
      *this, process, 1, std::nullopt, plan_.job, plan_.limits));
    queue_.after(roll_.between(core::duration{0}, 50ms),
                 [this] { coordinators_.front()->start(beginning()); });
  }
  for (uint32_t i = hosts_first ? 1 : 0; i < plan_.agent_count; ++i)
    queue_.after(roll_.between(core::duration{0}, 50ms),
                 [this, i] { add_agent(i); });
}

std::optional<std::string> cluster::run() {
  trace_.add(now(), "scenario", to_string(plan_));
  begin();
  plan_faults(*this);
  const auto end_of_faults = now() + plan_.fault_window + 200ms;
  if (run_until(end_of_faults))
    return checks_.breach();
  heal();
  if (run_until(healed_at_ + plan_.recovery_bound()))
    return checks_.breach();
  check_liveness();
  if (run_until(healed_at_ + plan_.ending_bound()))
    return checks_.breach();
  for (const auto* x : living())
    checks_.report("I8: " + x->id().value + " has not finished");
  for (const auto& x : agents_)
    if (x->process().alive())
      checks_.report("I8: the process of " + x->id().value + " has not ended");
  if (plan_.is_shrinking)
    for (const auto& x : agents_)
      if (x->how_ended()
          && !(x->how_ended()->result
               && x->how_ended()->result->kind
                    == core::outcome::verdict::succeeded))
        checks_.report(
          "S9: nodes were lost one by one, and the job has not succeeded");
  if (!checks_.quiet())
    checks_.report("I7: workers have outlived their agents");
  for (const auto& x : coordinators_)
    if (x->up() && x->brain().result())
      checks_.report("I8: the coordinator of an ended job does not close");
  return checks_.breach();
}

bool cluster::run_until(core::time_point limit) {
  while (!checks_.breach() && !checks_.is_left_off() && queue_.step(limit))
    watch();
  return checks_.breach().has_value() || checks_.is_left_off();
}

void cluster::keep_generation() {
  const auto here = living();
  const auto count = size_t(std::ranges::count_if(
    here, [](const auto* x) { return x->brain().has_running_workers(); }));
  // One that waits for a place may get it at any moment, as when another coordinator
  // hears of it before it hears of others.
  const auto most = std::min<size_t>(here.size(), plan_.job.agent_count_max);
  if (job_runs() && count == most)
    generation_count_max_ = checks_.generation_count();
}

void cluster::watch() {
  if (elections_.breach())
    checks_.report(*elections_.breach());
  if (generation_count_max_
      && checks_.generation_count() > *generation_count_max_)
    checks_.report("detection: a generation was given up without need");
  if (healed_ && !ran_since_ && (closed_ || job_runs()))
    ran_since_ = true;
  check_load(); // Time may stand still.
  if (now() - load_since_ >= 1s) {
    load_since_ = now();
    load_steps_ = queue_.step_count();
  }
}

void cluster::check_load() {
  const auto steps = queue_.step_count() - load_steps_;
  const auto bound = steps_per_agent_and_second_max * (agents_.size() + 1);
  if (steps > bound)
    checks_.report("load: " + std::to_string(steps) + " steps in a second");
}

bool cluster::job_runs() const {
  return std::any_of(coordinators_.begin(), coordinators_.end(),
                     [](const auto& x) {
                       const auto phase = x->brain().current_phase();
                       return x->up()
                              && (phase == core::rendezvous::phase::running
                                  || phase == core::rendezvous::phase::ended);
                     });
}

// No fault begins from here on.
void cluster::heal() {
  note("all is well from now on");
  healed_ = true;
  healed_at_ = now();
  world_.timer_lateness_max = {};
  world_.start_error = 0;
  world_.refusal = errc::none;
  is_registry_away_ = false;
  cut_.clear();
  for (uint32_t host = 0; host < paths_.size(); ++host)
    speak(host);
  // Wardens wake up first: a coordinator's process may be an agent's, too.
  for (const auto& x : agents_)
    x->workers().thaw();
  for (const auto& x : coordinators_)
    x->process().resume();
  for (const auto& x : agents_)
    x->process().resume();
  if (serving()
      && current()->brain().settings().restart_count_max
           != plan_.job.restart_count_max)
    kill_coordinator();
  restart_coordinator();
}

void cluster::later(core::duration delay, action what) {
  queue_.after(delay, [this, what = std::move(what)] {
    if (!healed_ && !checks_.breach())
      what();
  });
}

/// Agents that can take part in a generation together.
uint32_t cluster::able_count() {
  auto count = uint32_t{0};
  auto ranks = std::set<uint32_t>{};
  for (const auto& x : agents_) {
    if (!x->active() || x->settings() != plan_.job || is_excluded(x->host())
        || (plan_.voting && !can_be_found(*x)))
      continue;
    ++count;
    if (const auto rank = x->brain().offering().node_rank)
      ranks.insert(*rank);
  }
  return plan_.job.ranked ? uint32_t(ranks.size()) : count;
}

bool cluster::is_excluded(uint32_t host) const {
  const auto is_it = [&](const auto& x) { return x.host == names_[host]; };
  return !coordinators_.empty()
         && std::ranges::any_of(coordinators_.back()->brain().excluded_hosts(),
                                is_it);
}

void cluster::check_liveness() {
  if (plan_.voting && !can_elect())
    return; // No agent is to lead.
  const auto able = able_count();
  const auto& job = serving() ? current()->brain().settings() : plan_.job;
  if (!ran_since_ && able >= job.agent_count_min)
    checks_.report("I8: " + std::to_string(able)
                   + " agents are there, and no generation runs");
}

} // namespace actorrun::sim
