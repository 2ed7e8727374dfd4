// Connects the agents that elect the coordinator: what they say to each other, what their
// machines prove, and who can lead.

#include "tests/sim/cluster.hpp"

#include <algorithm>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

/// A few messages between voters take as long as several answers.
constexpr auto late_percent = 2;
constexpr auto late_min = duration{50ms};
constexpr auto late_max = duration{1500ms};
/// The system closes the connections of a process that ends.
constexpr auto break_max = duration{5ms};

} // namespace

elector* cluster::elector_of(const os_process& process) {
  const auto i = electors_.find(const_cast<os_process*>(&process));
  return i == electors_.end() ? nullptr : i->second.get();
}

elector* cluster::elector_of(const agent_id& id) {
  auto* x = find(id);
  return x == nullptr ? nullptr : elector_of(x->process());
}

elector& cluster::add_elector(agent& who) {
  auto contacts = std::set<agent_id>{};
  for (const auto& x : agents_)
    if (x.get() != &who && x->process().alive())
      contacts.insert(x->id());
  auto process = who.shared_process();
  auto& out
    = *electors_
         .emplace(process.get(), std::make_unique<elector>(*this, process, who,
                                                           std::move(contacts)))
         .first->second;
  elections_.add(out.facts());
  return out;
}

// -- the way --------------------------------------------------------------------

bool cluster::has_way(uint32_t from, uint32_t to) const {
  const auto& a = *paths_[from];
  const auto& b = *paths_[to];
  return !a.is_silent(side::agent) && !b.is_silent(side::coordinator)
         && !a.resets && !b.resets && !cut_.contains({from, to});
}

bool cluster::reaches(const elector& from, const agent_id& to) {
  const auto* other = find(to);
  const auto a = from.owner().host();
  return other != nullptr && other->process().alive()
         && has_way(a, other->host()) && has_way(other->host(), a);
}

// Links between voters end when nothing is acknowledged for a while, and what waits in
// them is lost.
void cluster::send_elector(elector& from, const agent_id& to,
                           elector_message what) {
  auto* other = elector_of(to);
  const auto a = from.owner().host();
  if (other == nullptr || !has_way(a, other->owner().host()))
    return;
  const auto late = !healed_ && !plan_.harmless && roll_.percent(late_percent)
                      ? roll_.between(late_min, late_max)
                      : duration{0};
  queue_.after(way() + late, [this, a, other, id = from.owner().id(),
                              what = std::move(what)] {
    if (has_way(a, other->owner().host()))
      other->owner().process().post(
        [other, id, what] { other->hear(id, what); });
  });
}

void cluster::cut_paths(host_pairs pairs, duration length) {
  cut_.insert(pairs.begin(), pairs.end());
  queue_.after(length, [this, pairs = std::move(pairs)] {
    for (const auto& x : pairs) {
      cut_.erase(x);
      wake_links(x.first, {});
    }
  });
}

// -- the end of a process -------------------------------------------------------

void cluster::break_voter_links(agent& gone) {
  for (const auto& x : agents_) {
    if (x.get() == &gone || !x->process().alive()
        || !has_way(gone.host(), x->host()))
      continue;
    auto* other = elector_of(x->process());
    x->process().after(roll_.between(200us, break_max),
                       [other, id = gone.id()] { other->on_broken(id); });
  }
}

// A machine that is reached says nothing before the workers have ended, too.
void cluster::examine(elector& who, const agent_id& whom) {
  if (auto* target = find(whom))
    await_proof(who, *target, now() + examination_limit);
}

void cluster::await_proof(elector& who, agent& target, time_point due) {
  const auto delay = roll_.between(look_interval, 2 * look_interval);
  queue_.after(delay + way(), [this, &who, &target, due] {
    const auto a = who.owner().host();
    if (!has_way(a, target.host()) || !has_way(target.host(), a)
        || target.workers().frozen() || now() > due)
      return;
    if (target.process().alive())
      return who.owner().process().after(
        way(), [&who, id = target.id()] { who.on_examined(id, {}); });
    if (!target.has_tombstone())
      return;
    if (target.workers().is_any_alive())
      return await_proof(who, target, due);
    auto& ended = *elector_of(target.process());
    ended.prove();
    who.owner().process().after(
      way(), [&who, id = target.id(), left = ended.facts().kept] {
        who.on_examined(id, left);
      });
  });
}

// -- who can lead ---------------------------------------------------------------

// Whoever was away until all that it knew of had vanished finds no one.
bool cluster::can_be_found(const agent& who) {
  auto* x = elector_of(who.process());
  return x == nullptr || x->hosted() != nullptr
         || std::ranges::any_of(x->known(), [this](const auto& id) {
              const auto* other = find(id);
              return other->process().alive() && other->active();
            });
}

// A majority lives of the voters that count, and one of them can stand.
bool cluster::can_elect() {
  const tombstone* newest = nullptr;
  for (const auto& [_, x] : electors_) {
    const auto& kept = x->facts().kept;
    const auto is_left = x->owner().process().alive() || x->facts().has_proof;
    if (is_left && kept.charter
        && (newest == nullptr || kept.charter->key > newest->charter->key))
      newest = &kept;
  }
  if (newest == nullptr)
    return false;
  auto living = std::set<agent_id>{};
  auto can_stand = false;
  for (const auto& [process, x] : electors_)
    if (process->alive() && x->owner().active()) {
      living.insert(x->owner().id());
      can_stand
        |= std::ranges::count(newest->charter->order, x->owner().id()) > 0;
    }
  return can_stand && newest->charter->voters.has_majority(living);
}

} // namespace actorrun::sim
