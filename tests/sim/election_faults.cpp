#include "tests/sim/election_faults.hpp"

#include "tests/sim/cluster.hpp"

#include <array>
#include <csignal>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;
using core::duration;

duration trouble(cluster& all) {
  return all.roll().between(duration{50ms}, all.plan().trouble_max);
}

elector* leader(cluster& all) {
  auto* x = all.serving();
  return x == nullptr ? nullptr : all.elector_of(x->process());
}

agent* any_agent(cluster& all) {
  auto xs = all.living();
  return xs.empty() ? nullptr : all.roll().pick(xs);
}

/// The leader's, or another one's.
agent* victim(cluster& all) {
  auto* x = leader(all);
  return x != nullptr && all.roll().percent(60) ? &x->owner() : any_agent(all);
}

// -- processes ------------------------------------------------------------------

// At once, in the midst of its next orders, or when it next changes what its machine
// keeps.
void die_soon(cluster& all, agent& who) {
  auto* x = all.elector_of(who.process());
  switch (all.roll().between(0, 2)) {
    case 0:
      return all.kill_agent(who);
    case 1:
      return x->die_after(all.roll().between(0, 12));
    default:
      return x->die_keeping();
  }
}

void one_dies(cluster& all) {
  auto* x = victim(all);
  if (x == nullptr)
    return;
  all.note(x->id().value + " dies soon");
  die_soon(all, *x);
  if (all.roll().percent(60))
    all.later(trouble(all), [&all, host = x->host()] {
      all.note("restart an agent on node-" + std::to_string(host));
      all.add_agent(host);
    });
}

// The others die while a successor is being elected, by proof or by lapse.
void some_die(cluster& all) {
  one_dies(all);
  auto& roll = all.roll();
  const auto pause
    = roll.percent(50) ? duration{core::promise_min} : duration{0};
  const auto count = roll.between(1, 2);
  for (uint64_t i = 0; i < count; ++i)
    all.later(pause + roll.between(duration{0}, duration{60ms}), [&all] {
      if (auto* x = any_agent(all))
        die_soon(all, *x);
    });
}

void lose_host(cluster& all, agent& who) {
  all.note("the host of " + who.id().value + " is lost");
  all.kill_agent(who, true);
  all.silence(who.host(), side::agent);
  all.silence(who.host(), side::coordinator);
}

void host_is_lost(cluster& all) {
  if (auto* x = victim(all); x != nullptr && !x->workers().frozen())
    lose_host(all, *x);
}

void stop_for(cluster& all, agent& who, duration length) {
  if (who.process().paused() || who.workers().frozen())
    return;
  all.note("SIGSTOP to " + who.id().value);
  who.process().pause();
  all.later(length, [&all, x = &who] {
    all.note("SIGCONT to " + x->id().value);
    if (!x->workers().frozen())
      x->process().resume();
  });
}

void leader_sleeps(cluster& all) {
  if (auto* x = leader(all))
    stop_for(all, x->owner(), trouble(all));
}

void hang_for(cluster& all, duration length) {
  auto* x = all.serving();
  if (x == nullptr || x->is_hung())
    return;
  all.note("the coordinator's actor hangs");
  x->hang(length);
}

void coordinator_hangs(cluster& all) {
  hang_for(all, trouble(all));
}

// -- hand-overs -----------------------------------------------------------------

void leader_hands_over(cluster& all) {
  auto* x = leader(all);
  auto* to = any_agent(all);
  if (x == nullptr || to == nullptr)
    return;
  all.note("the leader is called elsewhere");
  x->owner().process().post([x, to = to->id()] {
    x->hand_over({.to = to, .reason = "nodes look for the job there"});
  });
}

void operator_leads(cluster& all) {
  auto* x = leader(all);
  auto* to = any_agent(all);
  if (x == nullptr || to == nullptr || x->owner().process().paused())
    return;
  auto among = core::electorate{.leader = x->owner().id()};
  if (const auto& known = x->facts().kept.charter)
    among.others = known->order;
  std::erase(among.others, among.leader);
  all.note("an operator wants " + to->id().value + " to lead");
  all.serving()->handle(
    core::lead_requested{to_string(to->id()), "alice", std::move(among)});
}

void leader_leaves(cluster& all) {
  auto* x = leader(all);
  if (x == nullptr)
    return;
  all.note("SIGTERM to the leader");
  x->owner().process().post(
    [&all, who = &x->owner()] { all.signal_node(*who, SIGTERM); });
}

void leader_is_drained(cluster& all) {
  auto* x = leader(all);
  if (x == nullptr || x->owner().process().paused())
    return;
  all.note("the leader's node is drained");
  all.serving()->handle(core::drain_requested{
    to_string(x->owner().id()), all.roll().between(duration{0}, 300ms),
    all.roll().percent(30), "alice"});
}

// Its operator has the answer, or not.
void order_is_followed_by_loss(cluster& all) {
  auto* x = leader(all);
  auto* other = any_agent(all);
  if (x == nullptr || other == nullptr || x->owner().process().paused())
    return;
  auto& roll = all.roll();
  if (roll.percent(50)) {
    const auto max = uint32_t(roll.between(1, all.plan().agent_count + 1));
    all.serving()->handle(core::resize_requested{
      uint32_t(roll.between(1, std::min(max, 2U))), max, "bob"});
  } else {
    all.serving()->handle(core::exclusion_requested{all.name_of(other->host()),
                                                    "bob", "a bad disk"});
  }
  all.note("an operator orders, and the leader is lost");
  all.later(roll.between(duration{0}, roll.percent(50) ? 3ms : 100ms), [&all] {
    all.roll().percent(50) ? host_is_lost(all) : one_dies(all);
  });
}

// -- paths ----------------------------------------------------------------------

std::set<uint32_t> some_hosts(cluster& all, uint32_t percent) {
  auto out = std::set<uint32_t>{};
  for (uint32_t host = 0; host < all.host_count(); ++host)
    if (all.roll().percent(percent))
      out.insert(host);
  return out;
}

void cut_off(cluster& all, uint32_t host, duration length) {
  auto inside = some_hosts(all, 25);
  inside.insert(host);
  auto& roll = all.roll();
  const auto is_one_way = roll.percent(40);
  auto cuts = host_pairs{};
  for (const auto a : inside)
    for (uint32_t b = 0; b < all.host_count(); ++b) {
      if (inside.contains(b) || !roll.percent(90))
        continue;
      if (!is_one_way || roll.percent(50))
        cuts.insert({a, b});
      if (!is_one_way || !cuts.contains({a, b}))
        cuts.insert({b, a});
    }
  all.cut_paths(std::move(cuts), length);
}

void paths_break(cluster& all) {
  auto* x = victim(all);
  if (x == nullptr)
    return;
  all.note("paths from and to " + x->id().value + " break");
  cut_off(all, x->host(), trouble(all));
}

// Two halves cannot reach each other, and both want the vote of one that sleeps, and
// dies with it.
void duel(cluster& all) {
  auto* x = victim(all);
  if (x == nullptr)
    return;
  all.note("two halves want the vote of " + x->id().value);
  const auto half = some_hosts(all, 50);
  auto cuts = host_pairs{};
  for (uint32_t a = 0; a < all.host_count(); ++a)
    for (uint32_t b = 0; b < all.host_count(); ++b)
      if (a != x->host() && b != x->host()
          && half.contains(a) != half.contains(b))
        cuts.insert({a, b});
  all.cut_paths(std::move(cuts), 2s);
  stop_for(all, *x, core::promise_min + all.roll().between(duration{0}, 200ms));
  all.elector_of(x->process())->die_keeping();
}

// -- the tables -----------------------------------------------------------------

using fault = void (*)(cluster& all);

constexpr auto loud = std::array<fault, 20>{
  one_dies,
  one_dies,
  some_die,
  some_die,
  host_is_lost,
  host_is_lost,
  leader_sleeps,
  leader_sleeps,
  coordinator_hangs,
  leader_hands_over,
  leader_hands_over,
  operator_leads,
  leader_leaves,
  leader_is_drained,
  order_is_followed_by_loss,
  order_is_followed_by_loss,
  paths_break,
  paths_break,
  paths_break,
  duel,
};

} // namespace

void trouble_voters(cluster& all) {
  loud[all.roll().between(0, loud.size() - 1)](all);
}

void trouble_voters_quietly(cluster& all) {
  auto* x = leader(all);
  if (x == nullptr)
    return;
  auto& roll = all.roll();
  const auto pause = roll.between(duration{core::promise_min}, duration{600ms});
  const auto is_spare = x->owner().workers().running_count() == 0;
  switch (roll.between(0, is_spare ? 6 : 4)) {
    case 0:
      return leader_hands_over(all);
    case 1:
      return operator_leads(all);
    case 2:
      return stop_for(all, x->owner(), pause);
    case 3:
      return hang_for(all, pause);
    case 4:
      return;
    case 5:
      all.note("kill the leader, which has no workers");
      return all.kill_agent(x->owner());
    default:
      return lose_host(all, x->owner());
  }
}

// Of the last two one is the only voter: its machine proves its end.
void plan_losses(cluster& all) {
  const auto apart = 2 * duration{all.plan().limits.lease()} + 1s;
  for (uint32_t i = 0; i < all.plan().fault_count; ++i)
    all.later(2s + i * apart, [&all] {
      auto* x = victim(all);
      if (x == nullptr)
        return;
      if (all.living().size() > 2)
        return lose_host(all, *x);
      all.note("kill " + x->id().value);
      all.kill_agent(*x);
    });
}

} // namespace actorrun::sim
