// The agents and the coordinators in the world of elections: claims, keep-alives with
// an age, fences, generations.
#include "tests/sim/succession_world.hpp"

#include <algorithm>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

constexpr auto keep_alive_interval = duration{60ms};
constexpr auto repeat_after = duration{150ms};
constexpr auto coordinator_tick = duration{20ms};
const auto fence_length = duration{timeouts{}.fence()};
const auto agent_lease_length = duration{timeouts{}.lease()};
/// A machine needs so long to kill workers; the guard is longer.
constexpr auto kill_max = duration{250ms};
constexpr auto stop_min = duration{1ms};
constexpr auto stop_max = duration{30ms};
/// An agent that hears nothing for so long looks for another leader.
constexpr auto silence_max = duration{promise_min} + duration{20ms};
constexpr auto join_max = duration{300ms};
constexpr auto join_settle = duration{200ms};

using phase = model_coordinator::phase;

} // namespace

// -- the coordinator: its life ----------------------------------------------------

bool succession_world::decides(const process& x, uint64_t reign) const {
  return x.is_alive && x.leads && x.leads->reign == reign
         && clock(x) < x.leadership_end;
}

void succession_world::decide(process& x, uint64_t reign, action what) {
  post(x, [this, self = pointer(x), reign, what = std::move(what)] {
    if (self->is_hung)
      self->undecided.push_back(
        [this, self, reign, what] { decide(*self, reign, what); });
    else if (decides(*self, reign))
      what();
  });
}

void succession_world::open(process& x, const open_coordinator& order) {
  ++reign_count_;
  x.leads = std::make_unique<model_coordinator>();
  auto& c = *x.leads;
  c.reign = ++last_reign_;
  c.job = order.known;
  c.held_back_until = clock(x) + c.job.lease - order.silence;
  x.sign = clock(x);
  after(x, duration{0}, [this, self = pointer(x), reign = c.reign] {
    tick_coordinator(*self, reign);
  });
}

void succession_world::close(process& x) {
  x.leads.reset();
}

void succession_world::tick_coordinator(process& x, uint64_t reign) {
  if (!x.leads || x.leads->reign != reign)
    return;
  const auto self = pointer(x);
  after(x, coordinator_tick,
        [this, self, reign] { tick_coordinator(*self, reign); });
  if (!decides(x, reign) || x.is_hung)
    return;
  auto& c = *x.leads;
  auto silent = std::vector<uint32_t>{};
  for (const auto& [agent, y] : c.agents)
    if (clock(x) - y.heard > agent_lease_length)
      silent.push_back(agent);
  for (const auto agent : silent)
    lose(x, agent);
  if (c.at == phase::listening) {
    if (clock(x) >= c.held_back_until)
      conclude(x);
    return;
  }
  tell_members(x);
  if (!x.leads || x.leads->reign != reign)
    return;
  if (c.at == phase::running) {
    const auto joins = std::ranges::any_of(c.agents, [&](const auto& y) {
      const auto of = find(y.first);
      return !c.members.contains(y.first) && !of->is_leaving && !of->is_witness;
    });
    const auto leaves = std::ranges::any_of(
      c.members, [&](uint32_t y) { return find(y)->is_leaving; });
    if (leaves || (joins && clock(x) - c.last_join > join_settle))
      revoke(x);
  }
  begin_generation(x);
}

// Whoever is silent for as long as a promise lasts cannot be counted on.
void succession_world::tell_members(process& x) {
  auto here = std::vector<voter_candidate>{
    {x.id, "h" + std::to_string(x.host), "", x.is_witness}};
  for (const auto& [agent, y] : x.leads->agents)
    if (const auto of = find(agent); agent != x.number && !of->is_leaving
                                     && clock(x) - y.heard < promise_min)
      here.push_back(
        {of->id, "h" + std::to_string(of->host), "", of->is_witness});
  if (here == x.leads->told)
    return;
  x.leads->told = here;
  feed(x, members_changed{here});
}

void succession_world::lose(process& x, uint32_t agent) {
  if (!x.leads || !decides(x, x.leads->reign) || x.is_hung
      || x.leads->agents.erase(agent) == 0)
    return;
  auto& c = *x.leads;
  c.holds.erase(agent);
  if (c.at == phase::running && c.members.erase(agent) > 0)
    revoke(x);
}

// -- the coordinator: hold-back ---------------------------------------------------

void succession_world::check_complete(process& x) {
  auto& c = *x.leads;
  if (c.at != phase::listening || c.job.newest.value == 0)
    return;
  auto back = std::set<uint32_t>{};
  auto size = size_t{0};
  for (const auto& [agent, y] : c.agents)
    if (y.plan == c.job.newest.value && y.runs) {
      back.insert(agent);
      size = y.size;
    }
  if (back.empty())
    return;
  if (back.size() == size)
    adopt(x, back);
  else if (c.accounted_for && !back.contains(*c.accounted_for)
           && back.size() + 1 == size)
    conclude(x);
}

void succession_world::adopt(process& x, const std::set<uint32_t>& back) {
  auto& c = *x.leads;
  note(x, "adopts");
  c.at = phase::running;
  c.generation = c.job.newest.value;
  c.size = uint32_t(back.size());
  c.members = c.holds = back;
}

void succession_world::conclude(process& x) {
  auto& c = *x.leads;
  note(x, "concludes");
  c.generation = c.job.newest.value;
  for (const auto& [agent, y] : c.agents) {
    if (y.plan == c.generation)
      c.members.insert(agent);
    if (y.runs)
      c.holds.insert(agent);
  }
  revoke(x);
}

// -- the coordinator: generations -------------------------------------------------

void succession_world::revoke(process& x) {
  auto& c = *x.leads;
  note(x, "revokes");
  c.at = phase::stopping;
  for (const auto agent : c.holds)
    order_stop(x, agent, std::max(c.generation, c.agents.at(agent).plan));
}

void succession_world::order_stop(process& x, uint32_t agent,
                                  uint64_t generation) {
  const auto to = find(agent);
  send(x, *to, [this, to, link = x.leads->agents.at(agent).link, generation] {
    take_revoked(*to, link, generation);
  });
}

// Written before it is announced (rule 7).
void succession_world::begin_generation(process& x) {
  auto& c = *x.leads;
  if (c.at != phase::stopping || !c.holds.empty() || c.forming != 0)
    return;
  c.chosen.clear();
  for (const auto& [agent, _] : c.agents)
    if (const auto of = find(agent); !of->is_leaving && !of->is_witness)
      c.chosen.insert(agent);
  if (c.chosen.empty())
    return;
  ++c.job.newest.value;
  ++c.job.revision;
  c.job.restart_count += dice_.percent(30) ? 1 : 0;
  c.forming = ++c.last_change;
  c.job.leader_group
    = c.chosen.contains(x.number) ? uint32_t(c.chosen.size()) : 0;
  feed(x, charter_proposed{c.forming, c.job});
}

void succession_world::form(process& x) {
  auto& c = *x.leads;
  c.forming = 0;
  const auto is_complete = std::ranges::all_of(
    c.chosen, [&](uint32_t y) { return c.agents.contains(y); });
  if (!c.holds.empty() || c.at != phase::stopping)
    return;
  facts_.check_generation(x, c.job.newest.value);
  c.generation = c.job.newest.value;
  if (!is_complete) // One has gone meanwhile: the number is spent.
    return;
  c.at = phase::running;
  c.size = uint32_t(c.chosen.size());
  c.members = c.holds = c.chosen;
  for (const auto agent : c.members) {
    const auto to = find(agent);
    send(x, *to,
         [this, to, link = c.agents.at(agent).link, n = c.generation,
          s = c.size] { take_formed(*to, link, n, s); });
  }
}

void succession_world::take_join(process& x, process& agent, time_point sent,
                                 model_coordinator::member claim) {
  auto& c = *x.leads;
  claim.heard = clock(x);
  const auto is_new = !c.agents.contains(agent.number);
  if (!is_new && c.agents[agent.number].link > claim.link)
    return;
  c.agents[agent.number] = claim;
  if (is_new)
    c.last_join = clock(x);
  // A grant is as old as the leader's last confirmation (rule 10).
  const auto age = clock(x) - x.uut.confirmed();
  auto contacts = std::set<uint32_t>{x.number};
  for (const auto& y : x.kept.charter->order)
    contacts.insert(find(y)->number);
  send(x, agent,
       [=, this, to = pointer(agent), at = pointer(x), reign = c.reign,
        link = claim.link] {
         take_accepted(*to, *at, reign, link, sent - age + fence_length,
                       contacts);
       });
  if (c.at == phase::listening)
    return check_complete(x);
  const auto n = agent.number;
  if (claim.runs && claim.plan != c.generation) {
    c.holds.insert(n);
    order_stop(x, n, claim.plan);
  } else if (c.at == phase::running && c.members.contains(n) && !claim.runs
             && claim.plan == c.generation) {
    revoke(x);
  }
}

// Where messages are lost, the state of an agent is compared with what it should be.
void succession_world::take_alive(process& x, process& agent, uint64_t link,
                                  time_point sent, uint64_t newest, bool runs,
                                  bool is_idle) {
  auto& c = *x.leads;
  const auto n = agent.number;
  if (!c.agents.contains(n) || c.agents[n].link != link)
    return;
  c.agents[n].heard = clock(x);
  const auto age = clock(x) - x.uut.confirmed();
  send(x, agent, [=, this, to = pointer(agent)] {
    take_granted(*to, link, sent, sent - age + fence_length);
  });
  if (c.at == phase::stopping && c.holds.contains(n)) {
    if (newest >= c.generation && is_idle)
      take_stopped(x, n, link, c.generation);
    else
      order_stop(x, n, std::max(c.generation, newest));
  } else if (c.at == phase::running && c.members.contains(n)) {
    if (newest < c.generation)
      send(x, agent,
           [this, to = pointer(agent), link, g = c.generation, s = c.size] {
             take_formed(*to, link, g, s);
           });
    else if (!runs && dice_.percent(10))
      revoke(x);
  }
}

void succession_world::take_stopped(process& x, uint32_t agent, uint64_t link,
                                    uint64_t generation) {
  auto& c = *x.leads;
  if (!c.agents.contains(agent) || c.agents[agent].link != link
      || c.at == phase::listening || generation < c.generation)
    return;
  if (c.at == phase::running && c.members.contains(agent)) {
    c.holds.erase(agent);
    c.agents[agent].runs = false;
    return revoke(x);
  }
  c.holds.erase(agent);
  c.agents[agent].runs = false;
}

// -- the agent --------------------------------------------------------------------

void succession_world::tick_agent(process& x) {
  const auto self = pointer(x);
  after(x, keep_alive_interval / 2, [this, self] { tick_agent(*self); });
  const auto now = clock(x);
  if (x.share != 0 && now >= x.fence)
    x.share = x.linked = 0;
  if (x.workers == 0) // It learns so also after its fence has been renewed.
    x.share = 0;
  if (x.linked == 0)
    return seek(x);
  if (now - x.answered_at > fence_length)
    x.linked = 0;
  if (now - x.answered_at > silence_max)
    seek(x);
  if (x.linked == 0 || (x.unanswered && now - x.asked_at < repeat_after)
      || (!x.unanswered && now - x.asked_at < keep_alive_interval))
    return;
  // A repetition has the time of the first one.
  x.asked_at = now;
  if (!x.unanswered)
    x.unanswered = now;
  const auto at = find(x.linked);
  send(x, *at,
       [=, this, reign = x.reign, link = x.link, sent = *x.unanswered,
        newest = x.newest, runs = x.share != 0, is_idle = x.workers == 0] {
         decide(*at, reign, [=, this] {
           take_alive(*at, *self, link, sent, newest, runs, is_idle);
         });
       });
}

void succession_world::seek(process& x) {
  auto at = x.contacts;
  if (x.kept.charter)
    for (const auto& y : x.kept.charter->order)
      at.insert(find(y)->number);
  for (const auto n : at)
    if (n != x.number || x.leads)
      ask_contact(x, *find(n));
}

// Whoever does not lead names the one that does, as far as it knows.
void succession_world::ask_contact(process& x, process& at) {
  send(x, at, [this, self = pointer(x), there = pointer(at)] {
    if (there->leads && decides(*there, there->leads->reign)) {
      send(*there, *self, [this, self, there, reign = there->leads->reign] {
        join(*self, *there, reign);
      });
    } else if (const auto leader = find(there->uut.leader()); leader) {
      send(*there, *self,
           [self, n = leader->number] { self->contacts.insert(n); });
    }
  });
}

void succession_world::join(process& x, process& at, uint64_t reign) {
  const auto now = clock(x);
  if ((reign <= x.reign && x.linked != 0)
      || (x.joining_since && now - *x.joining_since < join_max))
    return;
  x.joining_since = now;
  const auto claim = model_coordinator::member{
    .heard = {},
    .plan = x.plan,
    .size = x.plan_size,
    .runs = x.workers != 0, // Also those that the fence is killing.
    .link = ++x.last_link};
  send(x, at, [=, this, there = pointer(at), self = pointer(x)] {
    decide(*there, reign, [=, this] { take_join(*there, *self, now, claim); });
  });
}

void succession_world::take_accepted(process& x, process& at, uint64_t reign,
                                     uint64_t link, time_point due,
                                     std::set<uint32_t> contacts) {
  if (link != x.last_link || reign < x.reign)
    return;
  x.joining_since.reset();
  note(x, "is linked to " + to_string(at.id));
  x.linked = at.number;
  x.reign = reign;
  x.link = link;
  x.answered_at = clock(x);
  x.unanswered.reset();
  x.contacts.insert(contacts.begin(), contacts.end());
  // Dead workers are not revived; live ones may get a shorter fence than they had.
  if (x.workers == 0 || clock(x) < x.fence)
    set_fence(x, due);
}

void succession_world::take_granted(process& x, uint64_t link, time_point sent,
                                    time_point due) {
  if (x.linked == 0 || link != x.link)
    return;
  x.answered_at = clock(x);
  if (x.unanswered == sent)
    x.unanswered.reset();
  if (due > x.fence && (x.workers == 0 || clock(x) < x.fence))
    set_fence(x, due);
}

void succession_world::take_formed(process& x, uint64_t link,
                                   uint64_t generation, uint32_t size) {
  if (x.linked == 0 || link != x.link || generation <= x.newest
      || clock(x) >= x.fence || x.workers != 0)
    return;
  note(x, "starts generation " + std::to_string(generation));
  check_start(x, generation);
  x.workers = x.plan = x.share = x.newest = generation;
  x.plan_size = size;
}

// I2: workers of two generations never run at one time.
void succession_world::check_start(const process& x, uint64_t generation) {
  for (const auto& y : processes_)
    if (y->workers != 0 && y->workers != generation)
      facts_.report("I2: " + to_string(x.id) + " starts generation "
                    + std::to_string(generation) + " while " + to_string(y->id)
                    + " runs " + std::to_string(y->workers));
}

void succession_world::take_revoked(process& x, uint64_t link,
                                    uint64_t generation) {
  if (x.linked == 0 || link != x.link)
    return;
  x.newest = std::max(x.newest, generation);
  stop_workers(x, link, generation);
}

void succession_world::stop_workers(process& x, uint64_t link,
                                    uint64_t generation) {
  after(x, dice_.between(stop_min, stop_max), [=, this, self = pointer(x)] {
    if (self->share != 0 && self->share <= generation)
      self->workers = self->share = 0;
    if (self->workers != 0) // Its fence has fallen, and they still die.
      return stop_workers(*self, link, generation);
    if (self->linked == 0 || self->link != link)
      return;
    const auto at = find(self->linked);
    send(*self, *at, [=, this, n = self->number, reign = self->reign] {
      decide(*at, reign, [=, this] { take_stopped(*at, n, link, generation); });
    });
  });
}

// The machine watches the fence, also while the agent is paused.
void succession_world::set_fence(process& x, time_point due) {
  x.fence = due;
  if (trace_)
    note(x, "has its fence in "
              + std::to_string((due - clock(x)).count() / 1'000'000));
  const auto mark = ++x.fence_mark;
  queue_.at(x.clock.when(due), [this, self = pointer(x), mark] {
    if (self->fence_mark == mark && self->workers != 0)
      queue_.after(dice_.between(duration{0}, kill_max),
                   [this, self, mark] { fire_fence(*self, mark); });
  });
}

void succession_world::fire_fence(process& x, uint64_t mark) {
  if (x.fence_mark != mark || x.workers == 0)
    return;
  x.workers = 0;
  ++x.fenced_count;
}

} // namespace actorrun::sim
