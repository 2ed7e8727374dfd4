// Connects the agents and the coordinator of the simulated system.

#include "tests/sim/cluster.hpp"

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto local_delay_max = core::duration{50us};
constexpr auto probe_delay_max = core::duration{3ms};
constexpr auto second_way_pause = core::duration{20ms};
/// The answer may be late, when the agent's place is long another's.
constexpr auto late_proof_percent = 10;
constexpr auto late_proof_max = core::duration{2s};

} // namespace

/// One attempt to reach a coordinator.
struct cluster::attempt {
  agent* who;
  coordinator* target;
  bool is_for_candidate;
  core::time_point tried;
  std::shared_ptr<link> opened;
  bool done = false;
};

core::duration cluster::way() {
  return roll_.between(core::duration{20us},
                       std::max<core::duration>(plan_.message_delay_max, 20us));
}

coordinator* cluster::find_coordinator(int number) {
  return coordinators_[size_t(number) - 1].get();
}

coordinator* cluster::hosted_by(const os_process& process) const {
  for (const auto& x : coordinators_)
    if (&x->process() == &process && !x->closed())
      return x.get();
  return nullptr;
}

bool cluster::reaches_registry(uint32_t host) const {
  return !is_registry_away_ && paths_[host]->works();
}

route cluster::route_between(const agent& who,
                             const coordinator& target) const {
  if (&who.process() == &target.process())
    return {&open_path_, &open_path_};
  if (!target.host())
    return {paths_[who.host()].get(), &open_path_};
  return {paths_[who.host()].get(),
          paths_[*target.host()].get(),
          &cut_,
          {who.host(), *target.host()}};
}

void cluster::seek(agent& who, bool was_member) {
  if (plan_.voting)
    electors_.at(&who.process())->seek();
  else if (plan_.elected)
    candidates_.at(&who.process())->seek(was_member);
  else
    connect(who, current()->number(), false);
}

void cluster::connect(agent& who, int number, bool is_for_candidate) {
  auto x = std::make_shared<attempt>(attempt{
    &who, find_coordinator(number), is_for_candidate, now(), {}, false});
  const auto between = route_between(who, *x->target);
  const auto is_local = &who.process() == &x->target->process();
  if (between.works())
    queue_.after(is_local ? 20us : way(), [this, x] { arrive(x); });
  else if (between.resets())
    queue_.after(way(), [this, x] { miss(x, errc::connection_refused); });
  queue_.after(plan_.limits.connect,
               [this, x] { miss(x, errc::connection_timed_out); });
}

void cluster::arrive(const std::shared_ptr<attempt>& x) {
  auto& target = *x->target;
  const auto between = route_between(*x->who, target);
  const auto local = &x->who->process() == &target.process();
  if (!between.works())
    return;
  if (const auto code = world_.refusal; code != errc::none && !local) {
    queue_.after(way(), [this, x, code] { miss(x, code); });
    return;
  }
  if (!target.up()) {
    const auto is_proved
      = target.has_tombstone() && x->who->served_by() == target.number();
    queue_.after(way(), [this, x, is_proved] {
      miss(x, is_proved ? errc::coordinator_gone : errc::connection_refused);
    });
    return;
  }
  if (target.process().paused() || x->done)
    return;
  auto* const who = x->who;
  const auto self = std::make_shared<const link*>(nullptr);
  x->opened = std::make_shared<link>(
    queue_, roll_, between, local ? local_delay_max : plan_.message_delay_max,
    plan_.duplicates && !local,
    link::end{&who->process(), [who, self] { who->on_closed(*self); }},
    link::end{&target.process(), [&target, self] { target.on_closed(*self); }});
  *self = x->opened.get();
  target.adopt(x->opened);
  far_ends_[x->opened.get()] = &target;
  by_host_.emplace_back(local ? UINT32_MAX : who->host(), x->opened);
  if (!local && target.host())
    by_host_.emplace_back(*target.host(), x->opened);
  x->opened->send(side::coordinator, [this, x, local] {
    if (std::exchange(x->done, true))
      return;
    if (x->is_for_candidate && !tell_reached(*x))
      return x->opened->close(side::agent);
    x->who->on_found(x->opened, x->target->number(), !local);
  });
}

/// @returns whether the attempt is still wanted
bool cluster::tell_reached(const attempt& x) {
  auto& process = x.who->process();
  if (plan_.voting)
    return electors_.at(&process)->on_reached(x.target->number());
  candidates_.at(&process)->on_reached();
  return true;
}

void cluster::miss(const std::shared_ptr<attempt>& x, errc code) {
  x->who->process().post([this, x, code] {
    if (std::exchange(x->done, true))
      return;
    if (x->opened)
      x->opened->close(side::agent);
    const auto why = failure{code, "no coordinator there"};
    if (x->is_for_candidate && plan_.voting)
      electors_.at(&x->who->process())->on_missed(x->target->number(), why);
    else if (x->is_for_candidate)
      candidates_.at(&x->who->process())->on_missed(why);
    else
      x->who->on_not_found(why, x->tried);
  });
}

void cluster::try_second_way(agent& who, int number) {
  if (!who.process().alive() || !who.tries_second_way())
    return;
  // It leads to a place, where another one may have begun meanwhile.
  const auto& target = plan_.elected ? *find_coordinator(number) : *current();
  if (route_between(who, target).works() && target.up()
      && !target.process().paused() && world_.refusal == errc::none)
    queue_.after(2 * way(), [&who] {
      who.process().post([&who] { who.on_second_way(); });
    });
  queue_.after(second_way_pause,
               [this, &who, number] { try_second_way(who, number); });
}

// -- messages -----------------------------------------------------------------

void cluster::to_coordinator(const std::shared_ptr<link>& over,
                             const agent_id& from,
                             core::rendezvous_event event) {
  over->send(side::agent, [target = far_ends_.at(over.get()), over, from,
                           sent = now(), event = std::move(event)] {
    target->receive(over, from, event, sent);
  });
}

void cluster::keep_alive(const std::shared_ptr<link>& over,
                         const agent_id& from, core::time_point sent,
                         std::optional<core::saves_report> saves) {
  over->send(side::agent, [target = far_ends_.at(over.get()), over, from, sent,
                           saves = std::move(saves)] {
    target->receive_keep_alive(over, from, sent, saves);
  });
}

void cluster::to_agent(const std::shared_ptr<link>& over, const agent_id& to,
                       core::membership_event event) {
  over->send(side::coordinator,
             [target = find(to), over, event = std::move(event)] {
               if (target->hears(over))
                 target->handle(event);
             });
}

void cluster::order_checks(const std::shared_ptr<link>& over,
                           const agent_id& to) {
  over->send(side::coordinator, [target = find(to), over] {
    if (target->hears(over))
      target->check(core::check_ordered{});
  });
}

// The agent's machine answers when the agent and its workers have ended.
void cluster::probe(coordinator& who, const agent_id& whom) {
  auto* target = find(whom);
  if (!target->process().alive() && !target->has_tombstone())
    return;
  await_end(who, *target, now() + examination_limit);
}

void cluster::await_end(coordinator& who, agent& target, core::time_point due) {
  const auto delay = roll_.between(look_interval, probe_delay_max);
  queue_.at(queue_.ceil(now() + delay), [this, &who, &target, due] {
    if (target.process().alive() || !paths_[target.host()]->works()
        || now() > due)
      return;
    if (target.workers().is_any_alive())
      return await_end(who, target, due);
    const auto late = roll_.percent(late_proof_percent)
                        ? roll_.between(core::duration{0}, late_proof_max)
                        : core::duration{0};
    who.process().after(late, [&who, &target] {
      who.handle(core::agent_lost{target.id(), "its machine proves it"});
    });
  });
}

agent* cluster::find(const agent_id& id) {
  const auto i = births_.find(id);
  return i == births_.end() ? nullptr : agents_[i->second].get();
}

size_t cluster::birth_order(const agent_id& id) const {
  return births_.at(id);
}

// -- faults of links ----------------------------------------------------------

void cluster::cut_link(agent& who) {
  if (const auto& x = who.current_link();
      x && &far_ends_.at(x.get())->process() != &who.process())
    x->cut();
}

void cluster::silence(uint32_t host, side from) {
  paths_[host]->silent[size_t(from)] = true;
}

void cluster::reset(uint32_t host) {
  paths_[host]->resets = true;
  for (const auto& [at, x] : by_host_)
    if (at == host)
      x->cut();
}

void cluster::stall_link(agent& who) {
  if (const auto& x = who.current_link();
      x && &far_ends_.at(x.get())->process() != &who.process())
    x->stall();
}

void cluster::speak(uint32_t host, core::duration late) {
  paths_[host]->silent = {};
  paths_[host]->resets = false;
  wake_links(host, late);
}

void cluster::wake_links(uint32_t host, core::duration late) {
  for (const auto& [at, x] : by_host_)
    if (at == host)
      x->wake(late);
}

} // namespace actorrun::sim
