#include "tests/sim/faults.hpp"

#include "tests/sim/election_faults.hpp"

#include <array>
#include <cerrno>
#include <csignal>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

core::duration trouble(cluster& all) {
  return all.roll().between(core::duration{5ms}, all.plan().trouble_max);
}

agent* any_agent(cluster& all) {
  auto xs = all.living();
  return xs.empty() ? nullptr : all.roll().pick(xs);
}

// -- workers ------------------------------------------------------------------

// Often while it is being stopped.
void another_is_killed(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->workers().running_count() == 0)
    return;
  all.note("another worker of " + x->id().value + " is killed");
  x->workers().break_worker(0, 0, SIGKILL);
}

void worker_fails(cluster& all) {
  auto* x = any_agent(all);
  const auto n = x == nullptr ? 0 : x->workers().running_count();
  if (n == 0)
    return;
  const auto which = uint32_t(all.roll().between(0, n - 1));
  const auto by_signal = all.roll().percent(50);
  all.note("a worker of " + x->id().value
           + (by_signal ? " is killed" : " exits with 3"));
  x->workers().break_worker(which, by_signal ? 0 : 3, by_signal ? SIGKILL : 0);
  if (all.roll().percent(30))
    all.later(all.roll().between(core::duration{1ms}, 80ms),
              [&all] { another_is_killed(all); });
}

// It waits forever, possibly in the kernel, until its timer expires.
void worker_is_held(cluster& all, bool hangs) {
  auto* x = any_agent(all);
  const auto n = x == nullptr ? 0 : x->workers().running_count();
  if (n == 0)
    return;
  const auto who
    = x->workers().hold_worker(uint32_t(all.roll().between(0, n - 1)), hangs);
  if (!who)
    return;
  all.note("a worker of " + x->id().value
           + (hangs ? " hangs in the kernel" : " does not get on"));
  const auto signal = all.roll().percent(70) ? SIGKILL : SIGTERM;
  x->process().after(all.roll().between(core::duration{0}, 300ms),
                     [x, who, signal] { x->overrun(*who, signal); });
}

void worker_overruns(cluster& all) {
  worker_is_held(all, false);
}

void worker_hangs(cluster& all) {
  worker_is_held(all, true);
}

void workers_fail_together(cluster& all) {
  all.note("many workers fail");
  for (auto* x : all.living())
    while (x->workers().running_count() > 0 && all.roll().percent(70))
      x->workers().break_worker(0, 4, 0);
}

// Its connections are closed before its end is seen, and its peers may be quicker.
void worker_is_missed(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->workers().running_count() == 0)
    return;
  all.note("peers miss a worker of " + x->id().value);
  for (auto* y : all.living())
    while (y->newest() == x->newest()
           && y->workers().running_count() > (x == y ? 1 : 0)
           && all.roll().percent(70))
      y->workers().break_worker(x == y ? 1 : 0, 1, 0, true);
  const auto longest = all.roll().percent(80) ? 30ms : 700ms;
  all.later(all.roll().between(core::duration{0}, longest),
            [x] { x->workers().break_worker(0, 5, 0); });
}

void worker_succeeds_early(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->workers().running_count() == 0)
    return;
  all.note("a worker of " + x->id().value + " exits with 0");
  x->workers().break_worker(0, 0, 0);
}

void starts_fail(cluster& all) {
  const auto permanent = all.roll().percent(20);
  all.note(permanent ? "no program can be started" : "no process can be made");
  const auto is_shortage = !permanent && all.roll().percent(50);
  all.shared().start_error = permanent ? ENOENT : is_shortage ? EAGAIN : EIO;
  all.later(all.roll().between(core::duration{1ms}, 100ms),
            [&all] { all.shared().start_error = 0; });
}

// -- agents -------------------------------------------------------------------

void agent_dies(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->workers().frozen())
    return;
  all.note("kill " + x->id().value);
  all.kill_agent(*x);
  if (all.roll().percent(60))
    all.later(trouble(all), [&all, host = x->host()] {
      if (host == 0 && all.plan().embedded && !all.plan().elected)
        return all.restart_coordinator();
      all.note("restart an agent on node-" + std::to_string(host));
      all.add_agent(host);
    });
}

// Training frameworks end when a peer's connection closes, often before the
// loss of the agent is known.
void agent_dies_and_is_missed(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->workers().frozen()
      || x->workers().running_count() == 0)
    return;
  all.note("kill " + x->id().value + ", and peers miss it");
  const auto generation = x->newest();
  all.kill_agent(*x);
  for (auto* y : all.living()) {
    if (y->newest() != generation || all.roll().percent(30))
      continue;
    const auto says_so = all.roll().percent(70);
    const auto pid = y->workers().break_worker(0, 1, 0, says_so);
    if (pid != 0)
      all.shared().checks.missed_a_peer(pid);
  }
}

void agent_is_ordered_to_leave(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr)
    return;
  const auto times = all.roll().percent(40) ? all.roll().between(2, 3) : 1;
  all.note("SIGTERM to " + x->id().value);
  for (uint64_t i = 0; i < times; ++i)
    x->process().after(all.roll().between(core::duration{0}, 50ms),
                       [&all, x] { all.signal_node(*x, SIGTERM); });
}

// Its process ends in order, because nothing controls its workers any more.
void actor_crashes(cluster& all) {
  using role = core::actor_died::role;
  auto* x = any_agent(all);
  if (auto* y = all.serving();
      y != nullptr && (x == nullptr || all.roll().percent(40))) {
    all.note("the coordinator's actor crashes");
    return y->process().post(
      [&all, y] { all.crash_actor(y->process(), role::coordinator); });
  }
  if (x == nullptr || x->workers().frozen())
    return;
  all.note("the actor of " + x->id().value + " crashes");
  x->process().post([&all, x] { all.crash_actor(x->process(), role::agent); });
}

void agent_sleeps(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->process().paused())
    return;
  all.note("SIGSTOP to " + x->id().value);
  x->process().pause();
  all.later(trouble(all), [&all, x] {
    all.note("SIGCONT to " + x->id().value);
    if (!x->workers().frozen())
      x->process().resume();
  });
}

// The whole machine, with its workers and its warden.
void node_is_suspended(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->process().paused() || x->workers().frozen())
    return;
  all.note("suspend " + x->id().value);
  x->process().pause();
  x->workers().freeze();
  all.later(trouble(all), [&all, x] {
    all.note("resume " + x->id().value);
    x->workers().thaw();
    x->process().resume();
  });
}

void neighbour_arrives(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || !x->leased())
    return;
  all.note("a second agent on node-" + std::to_string(x->host()));
  all.add_agent(x->host());
}

// Again and again, until it stays.
void node_flaps(cluster& all, uint32_t host, uint64_t times) {
  if (times == 0)
    return;
  all.note("node-" + std::to_string(host) + " flaps");
  auto* who = &all.add_agent(host);
  const auto length
    = all.roll().between(core::duration{50ms}, core::duration{700ms});
  all.later(length, [&all, who, host, times] {
    if (times > 1)
      all.kill_agent(*who);
    all.later(all.roll().between(core::duration{5ms}, 200ms),
              [&all, host, times] { node_flaps(all, host, times - 1); });
  });
}

void node_comes_and_goes(cluster& all) {
  node_flaps(all, all.new_host(), all.roll().between(3, 7));
}

void agents_arrive(cluster& all) {
  const auto n = all.roll().between(1, 4);
  for (uint64_t i = 0; i < n; ++i)
    all.later(all.roll().between(core::duration{0}, 200ms), [&all] {
      const auto host = all.new_host();
      all.note("node-" + std::to_string(host) + " comes up");
      all.add_agent(host);
    });
}

void unknown_client_arrives(cluster& all) {
  using mistake = cluster::mistake;
  const auto host = all.new_host();
  auto kinds = std::vector{mistake::settings, mistake::settings,
                           mistake::no_slots, mistake::too_many_slots};
  all.note("node-" + std::to_string(host) + " asks for another job");
  all.add_agent(host, all.roll().pick(kinds));
}

// -- the coordinator ----------------------------------------------------------

void coordinator_dies(cluster& all) {
  auto* x = all.serving();
  if (x == nullptr)
    return;
  all.note("kill the coordinator");
  all.kill_coordinator();
  all.later(trouble(all), [&all, host = x->host()] {
    all.note("restart the coordinator");
    if (host)
      all.add_agent(*host);
    else
      all.restart_coordinator();
  });
}

void coordinator_is_lost(cluster& all) {
  auto* x = all.serving();
  if (x == nullptr)
    return;
  all.note("a part of the machines is lost, with the coordinator");
  auto& roll = all.roll();
  const auto host = x->host();
  for (auto* y : all.living())
    switch (roll.between(0, 3)) {
      case 0:
        all.kill_agent(*y, true);
        break;
      case 1:
        all.silence(y->host(), side::agent);
        all.silence(y->host(), side::coordinator);
        all.later(trouble(all), [&all, host = y->host()] { all.speak(host); });
        break;
      default:
        break;
    }
  all.kill_coordinator(true);
  all.later(trouble(all) / 4, [&all, host] {
    all.note("restart the coordinator");
    if (host)
      all.add_agent(*host);
    else
      all.restart_coordinator();
  });
  if (roll.percent(60))
    all.later(trouble(all), [&all, host = all.new_host()] {
      all.note("another machine takes part");
      all.add_agent(host);
    });
}

// Its successor listens, and what it hears changes meanwhile.
void coordinator_returns_amid_changes(cluster& all) {
  if (!all.serving() || all.plan().embedded || all.plan().elected)
    return;
  all.note("kill the coordinator, whose successor comes at once");
  all.kill_coordinator();
  all.restart_coordinator();
  const auto n = all.roll().between(1, 3);
  for (uint64_t i = 0; i < n; ++i)
    all.later(
      all.roll().between(core::duration{10ms}, all.plan().limits.lease()),
      [&all] {
        switch (all.roll().between(0, 2)) {
          case 0:
            return worker_fails(all);
          case 1:
            return agent_is_ordered_to_leave(all);
          default:
            return agent_dies(all);
        }
      });
}

// A member tells the successor of a generation of its own, which cannot be one of
// this job.
void coordinator_returns_to_a_liar(cluster& all) {
  const auto* x = all.serving();
  if (x == nullptr || all.plan().embedded || all.plan().elected
      || x->brain().settings().ranked || all.plan().job.agent_count_min < 2
      || x->brain().settings().agent_count_min < 2)
    return;
  all.kill_coordinator();
  all.restart_coordinator();
  const auto host = all.new_host();
  all.note("node-" + std::to_string(host) + " lies to a new coordinator");
  all.add_agent(host, cluster::mistake::lie);
}

// An operator starts it again with another command line, and sees it.
void coordinator_returns_misled(cluster& all) {
  if (!all.serving() || all.plan().embedded || all.plan().elected)
    return;
  all.note("the coordinator is started with other settings");
  all.kill_coordinator();
  all.restart_coordinator(true);
  all.later(trouble(all), [&all] {
    all.note("the coordinator is started with the right settings");
    all.kill_coordinator();
    all.restart_coordinator();
  });
}

void coordinator_sleeps(cluster& all) {
  auto* x = all.serving();
  if (x == nullptr || x->process().paused())
    return;
  all.note("SIGSTOP to the coordinator");
  x->process().pause();
  all.later(trouble(all), [&all, x] {
    all.note("SIGCONT to the coordinator");
    x->process().resume();
  });
}

// -- links --------------------------------------------------------------------

void link_breaks(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr)
    return;
  all.note("cut the link of " + x->id().value);
  all.cut_link(*x);
}

void all_links_break(cluster& all) {
  all.note("cut all links");
  for (auto* x : all.living())
    all.cut_link(*x);
}

void silence_falls(cluster& all, bool up, bool down, core::duration length) {
  auto* x = any_agent(all);
  if (x == nullptr || !x->leased())
    return;
  all.note(std::string{"silence"} + (up ? " from " : "")
           + (up && down ? "and" : "") + (down ? " to " : " ") + x->id().value);
  if (up)
    all.silence(x->host(), side::agent);
  if (down)
    all.silence(x->host(), side::coordinator);
  all.later(length, [&all, host = x->host()] {
    all.note("node-" + std::to_string(host) + " can be reached again");
    all.speak(host);
  });
}

void partition(cluster& all) {
  silence_falls(all, true, true, trouble(all));
}

void one_way_partition(cluster& all) {
  const auto up = all.roll().percent(50);
  silence_falls(all, up, !up, trouble(all));
}

// A bad cable: cut, and reachable again, over and over. TCP repeats what was lost
// ever later.
void host_flaps(cluster& all, uint32_t host, uint64_t times) {
  const auto& limits = all.plan().limits;
  const auto cut = all.roll().between(core::duration{limits.fence()} / 4,
                                      core::duration{2 * limits.lease()});
  const auto up
    = all.roll().between(core::duration{5ms}, core::duration{limits.fence()});
  all.note("node-" + std::to_string(host) + " is cut off");
  all.silence(host, side::agent);
  all.silence(host, side::coordinator);
  all.later(cut, [&all, host, times, cut, up] {
    all.note("node-" + std::to_string(host) + " can be reached again");
    all.speak(host, cut);
    if (times > 1)
      all.later(up, [&all, host, times] { host_flaps(all, host, times - 1); });
  });
}

void link_flaps(cluster& all) {
  auto* x = any_agent(all);
  if (x != nullptr && x->leased())
    host_flaps(all, x->host(), all.roll().between(3, 8));
}

// What a firewall's reject rule does: it ends links, too.
void firewall_resets(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || !x->leased())
    return;
  all.note("a firewall resets all connections of node-"
           + std::to_string(x->host()));
  all.reset(x->host());
  all.later(trouble(all), [&all, host = x->host()] {
    all.note("node-" + std::to_string(host) + " can be reached again");
    all.speak(host);
  });
}

// -- etcd ---------------------------------------------------------------------

void registry_is_away(cluster& all) {
  if (!all.plan().elected || all.plan().voting)
    return;
  all.note("etcd is away");
  all.set_registry_away(true);
  all.later(2 * trouble(all), [&all] {
    all.note("etcd is back");
    all.set_registry_away(false);
  });
}

// Another job has taken the port, or a person has changed a secret. Who is
// elected finds its coordinator elsewhere.
void listener_refuses(cluster& all) {
  auto codes = std::vector{errc::protocol_mismatch, errc::job_mismatch,
                           errc::secret_mismatch, errc::etcd_denied};
  if (all.plan().elected)
    return;
  all.note("the listener lets no agent in");
  all.shared().refusal = all.roll().pick(codes);
  all.add_agent(all.new_host());
  all.later(trouble(all) / 4, [&all] {
    all.note("the listener works again");
    all.shared().refusal = errc::none;
  });
}

void messages_come_late(cluster& all) {
  all.note("late messages arrive");
  if (auto* x = all.serving(); x != nullptr && !x->process().paused())
    x->hear_late();
  for (auto* x : all.living())
    if (!x->process().paused())
      x->hear_late();
}

// -- the machine's load -------------------------------------------------------

void timers_come_late(cluster& all) {
  all.note("timers come late");
  all.shared().timer_lateness_max
    = all.roll().between(core::duration{10ms}, 200ms);
  all.later(trouble(all), [&all] {
    all.note("timers come in time");
    all.shared().timer_lateness_max = {};
  });
}

// -- faults that must not cost a generation ---------------------------------------

void short_silence(cluster& all) {
  // The last answered keep-alive is up to an interval old, and the next one
  // must still arrive.
  silence_falls(all, true, true, all.plan().limits.keep_alive_interval / 2);
}

// As a firewall does that was started again: only new connections pass.
void flow_is_forgotten(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr)
    return;
  all.note("the network forgets the link of " + x->id().value);
  all.stall_link(*x);
}

void coordinator_comes_back(cluster& all) {
  if (all.plan().embedded)
    return;
  all.note("kill the coordinator");
  all.kill_coordinator();
  all.later(all.roll().between(core::duration{1ms}, 400ms), [&all] {
    all.note("restart the coordinator");
    all.restart_coordinator();
  });
}

void coordinator_naps(cluster& all) {
  if (all.plan().embedded)
    return;
  auto* x = all.current();
  all.note("the coordinator naps");
  x->process().pause();
  all.later(all.plan().limits.keep_alive_interval / 2,
            [x] { x->process().resume(); });
}

// -- operators ----------------------------------------------------------------

void operator_asks(cluster& all, const core::rendezvous_event& what) {
  auto* x = all.serving();
  if (x == nullptr || x->process().paused())
    return;
  all.note("an operator asks: " + to_string(what));
  x->handle(what);
}

// Its peers may miss it before it has left.
void operator_drains(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr)
    return;
  const auto& plan = x->brain().plan();
  auto names = std::vector<std::string>{
    to_string(x->id()), all.name_of(x->host()),
    plan ? std::to_string(plan->own.node_rank) : to_string(x->id())};
  const auto time = all.roll().between(core::duration{0}, 600ms);
  operator_asks(all, core::drain_requested{all.roll().pick(names), time,
                                           all.roll().percent(30), "alice"});
  if (all.roll().percent(20)) {
    const auto name = all.roll().pick(names);
    all.later(time / 2, [&all, name] {
      operator_asks(all, core::drain_withdrawal_requested{name, "bob"});
    });
  }
  if (all.roll().percent(40))
    return;
  all.later(time / 2, [&all, generation = x->newest()] {
    auto* peer = any_agent(all);
    if (peer != nullptr && peer->newest() == generation)
      peer->workers().break_worker(0, 1, 0);
  });
}

void machine_is_to_go(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr || x->process().paused())
    return;
  all.note("the machine of " + to_string(x->id()) + " is about to go");
  x->handle(core::notice_received{"spot"});
}

void set_gpu_fault(cluster& all, uint32_t host, bool is_bad) {
  all.note("the GPUs of node-" + std::to_string(host)
           + (is_bad ? " fail" : " are well again"));
  auto& hosts = all.shared().bad_gpus;
  is_bad ? void(hosts.insert(host)) : void(hosts.erase(host));
  for (auto* x : all.living())
    if (x->host() == host)
      x->read_gpus();
}

void gpus_fail(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr)
    return;
  const auto host = x->host();
  set_gpu_fault(all, host, true);
  if (all.roll().percent(60)) // Another node can take its place.
    all.later(all.roll().between(core::duration{0}, trouble(all)),
              [&all] { all.add_agent(all.new_host()); });
  if (all.roll().percent(40))
    all.later(trouble(all), [&all, host] { set_gpu_fault(all, host, false); });
}

void operator_resizes(cluster& all) {
  const auto max = uint32_t(all.roll().between(0, all.plan().agent_count + 2));
  const auto min
    = uint32_t(all.roll().between(0, all.roll().percent(90) ? max : max + 1));
  operator_asks(all, core::resize_requested{min, max, "bob"});
}

// While workers go on to a safe point, the change may be called off, the link to
// some of them may break, and the coordinator may die.
void operator_changes_their_mind(cluster& all) {
  const auto* x = all.serving();
  if (x == nullptr || x->brain().settings().ranked)
    return;
  const auto before = x->brain().settings();
  const auto fewer
    = std::max(before.agent_count_min, x->brain().member_count());
  if (fewer <= before.agent_count_min)
    return;
  operator_asks(
    all, core::resize_requested{before.agent_count_min, fewer - 1, "bob"});
  auto& roll = all.roll();
  const auto step = std::max(all.plan().step_max, core::duration{1ms});
  const auto time = roll.between(core::duration{100us}, step);
  if (roll.percent(20))
    all.later(time / 2, [&all] { link_breaks(all); });
  if (roll.percent(20))
    all.later(time / 2, [&all] { coordinator_dies(all); });
  if (roll.percent(60))
    all.later(time, [&all, before] {
      operator_asks(all, core::resize_requested{before.agent_count_min,
                                                before.agent_count_max, "bob"});
    });
  if (roll.percent(30)) // And again at once.
    all.later(time + 200us, [&all, before, fewer] {
      operator_asks(
        all, core::resize_requested{before.agent_count_min, fewer - 1, "bob"});
    });
}

// Each node learns of it a little later than another.
void time_limit_is_near(cluster& all) {
  auto& roll = all.roll();
  const auto left = roll.between(core::duration{10ms}, 2s);
  for (auto* x : all.living())
    all.later(roll.between(core::duration{0}, 20ms),
              [x, left] { x->hear_of_limit(left); });
}

void operator_restarts(cluster& all) {
  operator_asks(all, core::restart_requested{"alice", "a new file"});
}

void operator_excludes(cluster& all) {
  auto* x = any_agent(all);
  if (x == nullptr)
    return;
  const auto host = all.name_of(x->host());
  operator_asks(all, core::exclusion_requested{host, "bob", "a bad disk"});
  if (all.roll().percent(60))
    all.later(trouble(all) / 2, [&all, host] {
      operator_asks(all, core::inclusion_requested{host, "alice"});
    });
}

// Who has heard of the order may bring it to the next coordinator.
void machines_are_lost(cluster& all) {
  auto& roll = all.roll();
  if (roll.percent(60))
    roll.percent(50) ? operator_resizes(all) : operator_excludes(all);
  all.later(roll.between(core::duration{0}, 5ms),
            [&all] { coordinator_is_lost(all); });
}

void operator_stops(cluster& all) {
  operator_asks(all, core::stop_requested{SIGTERM, "bob", "enough"});
}

// -- the tables ---------------------------------------------------------------

struct fault_kind {
  uint32_t weight; ///< Relative frequency.
  void (*strike)(cluster& all);
};

constexpr auto harmful = std::array{
  fault_kind{10, worker_fails},
  fault_kind{4, workers_fail_together},
  fault_kind{6, worker_is_missed},
  fault_kind{5, worker_overruns},
  fault_kind{3, worker_hangs},
  fault_kind{4, worker_succeeds_early},
  fault_kind{4, starts_fail},
  fault_kind{8, agent_dies},
  fault_kind{6, agent_dies_and_is_missed},
  fault_kind{6, agent_is_ordered_to_leave},
  fault_kind{3, actor_crashes},
  fault_kind{8, agent_sleeps},
  fault_kind{5, node_is_suspended},
  fault_kind{6, agents_arrive},
  fault_kind{2, node_comes_and_goes},
  fault_kind{3, listener_refuses},
  fault_kind{2, neighbour_arrives},
  fault_kind{2, unknown_client_arrives},
  fault_kind{8, coordinator_dies},
  fault_kind{6, machines_are_lost},
  fault_kind{4, registry_is_away},
  fault_kind{1, coordinator_returns_misled},
  fault_kind{2, coordinator_returns_amid_changes},
  fault_kind{2, coordinator_returns_to_a_liar},
  fault_kind{4, coordinator_sleeps},
  fault_kind{6, link_breaks},
  fault_kind{3, all_links_break},
  fault_kind{8, partition},
  fault_kind{8, one_way_partition},
  fault_kind{8, firewall_resets},
  fault_kind{4, link_flaps},
  fault_kind{4, flow_is_forgotten},
  fault_kind{3, timers_come_late},
  fault_kind{8, messages_come_late},
  fault_kind{8, operator_drains},
  fault_kind{4, machine_is_to_go},
  fault_kind{5, operator_resizes},
  fault_kind{12, operator_changes_their_mind},
  fault_kind{6, time_limit_is_near},
  fault_kind{5, operator_restarts},
  fault_kind{6, operator_excludes},
  fault_kind{1, operator_stops},
};

constexpr auto harmless = std::array{
  fault_kind{4, link_breaks},      fault_kind{2, all_links_break},
  fault_kind{3, short_silence},    fault_kind{2, coordinator_comes_back},
  fault_kind{2, coordinator_naps}, fault_kind{2, flow_is_forgotten},
};

template <size_t N>
const fault_kind& pick(const std::array<fault_kind, N>& kinds, dice& roll) {
  auto sum = uint32_t{0};
  for (const auto& x : kinds)
    sum += x.weight;
  auto n = roll.between(1, sum);
  for (const auto& x : kinds) {
    if (n <= x.weight)
      return x;
    n -= x.weight;
  }
  return kinds.front();
}

} // namespace

void plan_faults(cluster& all) {
  auto& roll = all.roll();
  const auto& plan = all.plan();
  if (plan.restless)
    for (uint32_t i = 0; i < 3; ++i)
      all.later(roll.between(core::duration{0}, plan.fault_window),
                [&all] { node_comes_and_goes(all); });
  if (plan.flapping)
    all.later(roll.between(core::duration{0}, plan.fault_window / 4),
              [&all] { link_flaps(all); });
  static constexpr auto changes
    = std::array{fault_kind{6, operator_changes_their_mind},
                 fault_kind{2, time_limit_is_near},
                 fault_kind{1, operator_drains}, fault_kind{1, link_breaks}};
  if (plan.wavering)
    for (uint32_t i = 0; i < 6; ++i)
      all.later(roll.between(core::duration{0}, plan.fault_window),
                [&all, &kind = pick(changes, roll)] { kind.strike(all); });
  if (plan.is_shrinking)
    return plan_losses(all);
  if (plan.gpu_faults && !plan.harmless)
    for (uint32_t i = 0; i < 2; ++i)
      all.later(roll.between(core::duration{0}, plan.fault_window),
                [&all] { gpus_fail(all); });
  if (!plan.harmless) {
    for (uint32_t i = 0; plan.voting && i < plan.fault_count; ++i)
      all.later(roll.between(core::duration{200ms}, plan.fault_window),
                [&all] { trouble_voters(all); });
    for (uint32_t i = 0; i < (plan.voting ? 2U : plan.fault_count); ++i)
      all.later(roll.between(core::duration{0}, plan.fault_window),
                [&all, &kind = pick(harmful, roll)] { kind.strike(all); });
    return;
  }
  // One after another: at the same time they might exceed the lease. An agent whose
  // flow is forgotten is back after more than half of its lease.
  constexpr auto settled = core::duration{1'500ms};
  constexpr auto apart = core::duration{800ms};
  all.later(settled, [&all] { all.keep_generation(); });
  if (plan.voting)
    return all.later(settled + apart, [&all] { trouble_voters_quietly(all); });
  for (uint32_t i = 0; i < plan.fault_count; ++i)
    all.later(settled + i * apart,
              [&all, &kind = pick(harmless, roll)] { kind.strike(all); });
}

} // namespace actorrun::sim
