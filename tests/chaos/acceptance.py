#!/usr/bin/env python3
"""Measures what the loss of a leader costs where agents elect it (decision 0061).

Five agents with `succession=on`, as in chaos.py. Each test is tried so many times,
and its figures are printed as milliseconds with what was promised of them. A try
whose job does not do what it must is told with the folder of its logs, and the next
one begins with a new job. In some tests the leader has no workers: the job then has
four places, and the endpoint's host came last.

usage: acceptance.py --bin FOLDER [--tests NAME,...] [--runs N] [--seed N]
                     [--busy N] [--report FILE]

`--busy N` runs beside N busy loops. The exit codes are those of chaos.py; a figure above
its bound is printed as such, and is no failure: it depends on what else the machine does.
"""
import argparse
import contextlib
import fcntl
import glob
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import chaos
from chaos import BACK_MAX, SURVIVE_MAX, Job, Worker, now, parent_of, send

QUIET = 2.5  # Seconds in which a change that was due would have been seen.


class Refuted(Exception):
    """The job has not done what it must."""


def must(holds, what):
    if not holds:
        raise Refuted(what)


def pause(roll, shortest, longest):
    time.sleep(roll.uniform(shortest, longest))


# -- what the job is to do -------------------------------------------------------

def whole(job, members=None, after=0):
    """Waits until all run in one generation, and those that are here vote."""
    workers = job.await_world(members or job.agents, after, BACK_MAX)
    must(workers, "all run together: " + ends_of(job))
    return workers


def ends_of(job):
    return ", ".join(f"{x.label} has ended with {x.process.returncode}"
                     for x in job.agents if x.has_ended()) or "no agent has ended"


def young(job, roll, members=None):
    return job.let_settle(roll, whole(job, members), members)


def led_without_workers(job, roll):
    """Waits until the first agent leads, and has no place. Returns the workers."""
    home, others = job.agents[0], job.agents[1:]
    due = now() + BACK_MAX
    before = None
    while True:
        must(now() < due, "the first agent comes to lead without a place: "
             + ends_of(job))
        if home.has_ended():
            home.start()
        if any(parent_of(x.pid) == home.pid() for x in job.look()):
            pause(roll, 0.5, 0.8)  # The others vote.
            home.kill()
            before = None
            continue
        workers = job.await_world(others, 0, 1)
        if workers:
            must(before in (None, pids_of(workers)),
                 "no worker notices that the coordinator comes back")
            before = pids_of(workers)
            status = job.status(home)
            if status and status["coordinator"]["pid"] == home.pid() \
                    and status["phase"] == "running" \
                    and sum(x["connected"] for x in status["agents"]) == len(job.agents):
                return job.let_settle(roll, workers, others)
        time.sleep(0.1)


def pids_of(workers):
    return {x.pid for x in workers}


def survivors_run(job, survivors, after, began):
    """Seconds until all of them run in a new generation."""
    again = job.await_world(survivors, after, SURVIVE_MAX)
    must(again, "the survivors run again: " + ends_of(job))
    mine = {x.pid() for x in survivors}
    return max(x.start for x in again if parent_of(x.pid) in mine) - began


def none_is_touched(job, workers, until):
    """These workers live on, and there are no others."""
    while now() < until:
        time.sleep(0.05)
    pids, left = pids_of(workers), pids_of(job.look())
    must(left == pids, f"no worker notices: {len(pids - left)} have ended, and "
         f"{len(left - pids)} are new")


def settled(job):
    """What all tries end with."""
    job.judge()
    must(not job.breaches, "; ".join(job.breaches))


# -- what journals and logs say ----------------------------------------------------

def records_since(job, began):
    """(seconds since then, host, record) of all coordinators."""
    for host in job.agents:
        for path in glob.glob(host.folder + "/.local/state/actorrun/journal/*.jsonl*"):
            with open(path) as file:
                for line in file:
                    with contextlib.suppress(ValueError):  # It is being written.
                        record = json.loads(line)
                        if record["ns"] / 1e9 > began:
                            yield record["ns"] / 1e9 - began, host, record


def elected(job, among, began, limit=SURVIVE_MAX):
    """Waits until one of these leads: seconds until its coordinator was there, and
    until the agents of all of them had found it."""
    due = now() + limit
    labels = {x.label for x in among}
    while True:
        known = list(records_since(job, began))
        for at, leader, x in known:
            if x["what"] != "coordinator_began" or leader not in among:
                continue
            back = {}
            for later, host, y in known:
                if host is leader and y["what"] == "node_joined" and later > at:
                    back.setdefault(y["host"], later)
            if labels <= set(back):
                return {"elected": at, "agents back": max(back[y] for y in labels)}
        must(now() < due, "another agent is elected, and the others find it")
        time.sleep(0.02)


def elections(job):
    """How often an agent was elected after another one."""
    out = 0
    for host in job.agents:
        with open(host.folder + "/log", errors="replace") as file:
            out += sum("takes over the job" in x for x in file)
    return out


class Top:
    """`actorctl top` on a terminal of this host."""

    def __init__(self, host):
        self.host = host

    def __enter__(self):
        self.terminal, end = pty.openpty()
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.host.name, f"{self.host.job.bin}/actorctl", "top"],
            env=self.host.environment() | {"TERM": "xterm"}, stdin=end, stdout=end,
            stderr=end)
        os.close(end)
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def read(self):
        with contextlib.suppress(OSError):
            while os.read(self.terminal, 4096):
                pass

    def must_go_on(self):
        must(self.process.poll() is None, "actorctl top goes on")
        picture = self.host.ask("top", "--once")
        must("running" in picture and "no answer" not in picture,
             "actorctl top shows the job: " + picture)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


# -- tests: each is a function of (job, roll) that returns seconds by figure -------

def leader_killed(job, roll):
    workers = led_without_workers(job, roll)
    others = job.agents[1:]
    with Top(roll.choice(others)) as top:
        began = now()
        job.agents[0].kill()
        out = elected(job, others, began)
        none_is_touched(job, workers, began + QUIET)
        top.must_go_on()
    settled(job)
    return out


def host_gone(how):
    """Its workers go with it."""
    def try_it(job, roll):
        workers = young(job, roll)
        leader = job.await_leader(BACK_MAX)
        others = [x for x in job.agents if x is not leader]
        began = now()
        heal = how(job, roll, leader)
        out = elected(job, others, began)
        out["survivors run"] = survivors_run(job, others, workers[0].generation, began)
        heal_and_meet(job, [leader], [heal], roll)
        return out
    return try_it


def host_without_workers_gone(how):
    def try_it(job, roll):
        workers = led_without_workers(job, roll)
        home, others = job.agents[0], job.agents[1:]
        began = now()
        heal = how(job, roll, home)
        out = elected(job, others, began)
        none_is_touched(job, workers, began + QUIET)
        heal()
        if home.has_ended():
            home.start()
        none_is_touched(job, workers, now() + 1)
        settled(job)
        return out
    return try_it


def heal_and_meet(job, hosts, heals, roll):
    for heal in heals:
        heal()
    for x in hosts:
        if x.has_ended():
            x.start()
    whole(job)
    settled(job)


def leader_leaves(job, roll):
    """One after the other, 2 s apart. The one that has left comes again at once, and
    waits until the coordinator is where it looks for it."""
    began = now()
    due = began + BACK_MAX
    while True:
        leader = job.await_leader(BACK_MAX)
        workers = job.look()
        newest = max((x.generation for x in workers), default=0)
        parents = {parent_of(x.pid) for x in workers if x.generation == newest}
        members = [x for x in job.agents if x.pid() in parents]
        others = [x for x in members if x is not leader]
        if others and job.world(members):
            break
        must(now() < due, "at least two run: " + ends_of(job))
        time.sleep(0.05)
    pause(roll, 0.2, 0.5)  # They vote.
    asked = now()
    comes_again = roll.choice((chaos.terminated, chaos.drained))(job, roll, leader)
    out = {"survivors run": survivors_run(job, others, newest, asked)}
    comes_again()
    settled(job)
    while now() < began + 2:
        time.sleep(0.01)
    return out


def leader_stopped(job, roll):
    workers = led_without_workers(job, roll)
    home = job.agents[0]
    length = roll.uniform(0.5, 3)
    began = now()
    heal = chaos.agent_stopped(job, roll, home)
    out = elected(job, job.agents[1:], began) if length > 1 else {}
    while now() < began + length:
        time.sleep(0.005)
    heal()
    none_is_touched(job, workers, now() + QUIET)
    must(not home.has_ended(), "the agent that was stopped goes on")
    settled(job)
    return out


def console_frozen(job, roll):
    """Who writes to the console of the leader's node waits."""
    home = job.agents[0]
    if home.reader is None:
        home.console = home.folder + "/console"
        os.mkfifo(home.console)
        home.reader = subprocess.Popen(
            ["sh", "-c", f"exec 3<>{home.console}; exec cat <&3 >>{home.folder}/log"])
        home.kill()
    workers = led_without_workers(job, roll)
    send(home.reader.pid, signal.SIGSTOP)
    fill(home.console)
    began = now()
    none_is_touched(job, workers, began + roll.uniform(0.5, 3))
    send(home.reader.pid, signal.SIGCONT)
    none_is_touched(job, workers, now() + 1)
    must(job.status(job.await_leader(BACK_MAX))["phase"] == "running",
         "the job goes on")
    settled(job)
    return {}


def fill(path):
    pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    fcntl.fcntl(pipe, F_SETPIPE_SZ, 4096)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b".\n" * 512)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b"\n")
    os.close(pipe)


F_SETPIPE_SZ = 1031


def cut_in_two(job, roll):
    """Two sides that do not hear each other; or one that is not heard."""
    workers = young(job, roll)
    small = roll.sample(job.agents, roll.choice((1, 2)))
    large = [x for x in job.agents if x not in small]
    ways = roll.choice([[(small, large), (large, small)]] * 2
                       + [[(small, large)], [(large, small)]])
    began = now()
    for speakers, listeners in ways:
        for x in speakers:
            x.silence(listeners)
    out = {"majority runs": survivors_run(job, large, workers[0].generation, began)}
    pause(roll, 0.5, 2.5)
    first = job.first[min(x for x in job.first if x > workers[0].generation)]
    last = last_stamp(job, workers[0].generation)
    must(last < first, "a minority's last stamp is before the majority's first: it is "
         f"{1e3 * (last - first):.1f} ms after it")
    out["last stamp of the old generation"] = last - began
    out["between the two"] = first - last
    healed = now()
    for x in small + large:
        x.lose(0, 0)
    whole(job, after=workers[0].generation)
    settled(job)
    out["all together again"] = now() - healed
    return out


def last_stamp(job, generation):
    job.look()
    job.refresh()
    return max(x.last for x in job.ended + list(job.alive.values())
               if x.generation == generation)


def two_gone(job, roll):
    workers = young(job, roll)
    hosts = roll.sample(job.agents, 2)
    others = [x for x in job.agents if x not in hosts]
    how = roll.choice((chaos.host_lost, chaos.unplugged))
    leader_is_one = job.await_leader(BACK_MAX) in hosts
    began = now()
    heals = [how(job, roll, x) for x in hosts]
    took = survivors_run(job, others, workers[0].generation, began)
    heal_and_meet(job, hosts, heals, roll)
    return {"with the leader" if leader_is_one else "without it": took}


def one_by_one(job, roll):
    """The leader first, as long as there are three; then the other one."""
    young(job, roll)
    out = {}
    left = list(job.agents)
    while len(left) > 1:
        workers = whole(job, left)
        pause(roll, 1.2, 2.0)
        leader = job.await_leader(BACK_MAX)
        lost = leader if len(left) > 2 else next(x for x in left if x is not leader)
        left.remove(lost)
        began = now()
        chaos.host_lost(job, roll, lost)
        out[f"{len(left)} run"] = survivors_run(job, left, workers[0].generation, began)
    settled(job)
    for x in job.agents:
        if x not in left:
            x.plug(True)
            x.start()
    whole(job)
    settled(job)
    return out


def three_gone(job, roll):
    workers = young(job, roll)
    hosts = roll.sample(job.agents, 3)
    began = now()
    heals = [chaos.unplugged(job, roll, x) for x in hosts]
    while now() < began + 3:
        job.look()
        time.sleep(0.05)
    left = job.look()
    must(not left, "all workers end by their fence; these live on: "
         + "; ".join(state_of(x, began) for x in left))
    out = {"last stamp": last_stamp(job, workers[0].generation) - began}
    healed = now()
    heal_and_meet(job, hosts, heals, roll)
    out["all together again"] = now() - healed
    return out


def state_of(worker, began):
    """What is known of one that should have ended."""
    last = Worker(worker.path).last - began
    with contextlib.suppress(OSError), open(f"/proc/{worker.pid}/stat") as file:
        kernel = file.read().rsplit(")", 1)[1].split()
        return (f"rank {worker.rank} of generation {worker.number}, pid {worker.pid}, "
                f"state {kernel[0]}, last stamp after {last:.2f} s")
    return f"rank {worker.rank}, which has ended now, last stamp after {last:.2f} s"


def orders_hold(job, roll):
    """What operators have ordered and what was spent outlives the leader."""
    young(job, roll)
    first, second, third, fourth, fifth = job.agents
    spend(job, roll, job.agents)
    job.order("exclude", fifth.label)
    workers = whole(job, [first, second, third, fourth])
    job.order("resize", "4:4")
    job.order("drain", fourth.label, "--wait-for-replacement")
    spend(job, roll, [first, second, third, fourth])
    pause(roll, 0.5, 1.0)
    how = roll.choice((chaos.agent_killed, chaos.host_lost, chaos.terminated))
    began = now()
    comes_again = how(job, roll, first)
    out = elected(job, job.agents[1:], began)
    pause(roll, 0, 2)
    comes_again()
    whole(job, [first, second, third, fourth])
    time.sleep(0.5)
    leader = job.await_leader(BACK_MAX)
    status = job.status(leader)
    nodes = {x["host"]: x for x in status["agents"]}
    must((status["nodes_min"], status["nodes_max"]) == (4, 4), "the resize holds")
    must(status["restarts"] == 2, f"two restarts are spent, not {status['restarts']}")
    must(fifth.label in nodes and nodes[fifth.label]["state"] == "excluded",
         f"{fifth.label} stays excluded: "
         + nodes.get(fifth.label, {"state": "not there"})["state"])
    must(nodes[fourth.label]["drain_asked_age_ms"] is not None, "the drain waits")
    spend(job, roll, [first, second, third, fourth])
    job.order("include", fifth.label)
    whole(job, [first, second, third, fifth], workers[0].generation)
    must(fourth.process.wait(timeout=10) == 0, "the node that was drained leaves")
    settled(job)
    chaos.kill_one(job, roll, job.look())  # No restart is left.
    ends = [x.process.wait(timeout=BACK_MAX) for x in (first, second, third, fifth)]
    must(all(ends), f"the job fails for want of a restart: {ends}")
    raise Over(out)


class Over(Exception):
    """This job has come to its end, as it had to."""


def spend(job, roll, members):
    """A worker fails, and all start again."""
    workers = whole(job, members)
    chaos.kill_one(job, roll, workers)
    return whole(job, members, workers[0].generation)


def left_alone(job, roll):
    """For 20 s nothing happens."""
    workers = young(job, roll)
    before = elections(job)
    none_is_touched(job, workers, now() + 20)
    moved = elections(job) - before
    must(moved == 0, f"no other agent is elected for nothing: {moved} were")
    settled(job)
    return {}


# -- all of them -----------------------------------------------------------------

SPARE = "4"  # Places; one agent has none.

# name: (test, what is lost, places, tries for each of --runs, bounds in ms by figure)
TESTS = {
    "1": (leader_killed, "leader killed, no workers there", SPARE, 1,
          {"agents back": "p50 50, p99 150"}),
    "2-lost": (host_gone(chaos.host_lost), "leader's host lost", None, 1,
               {"survivors run": "p50 1350, p99 1600"}),
    "2-unplugged": (host_gone(chaos.unplugged), "leader's host unplugged", None, 1,
                    {"survivors run": "p50 1350, p99 1600"}),
    "2-suspended": (host_gone(chaos.agent_and_warden_stopped),
                    "leader's host suspended", None, 1,
                    {"survivors run": "p50 1350, p99 1600"}),
    "2-lost-spare": (host_without_workers_gone(chaos.host_lost),
                     "leader's host lost, no workers there", SPARE, 1,
                     {"agents back": "600"}),
    "2-unplugged-spare": (host_without_workers_gone(chaos.unplugged),
                          "leader's host unplugged, no workers there", SPARE, 1,
                          {"agents back": "600"}),
    "2-suspended-spare": (host_without_workers_gone(chaos.agent_and_warden_stopped),
                          "leader's host suspended, no workers there", SPARE, 1,
                          {"agents back": "600"}),
    "3": (leader_leaves, "leader terminated or drained every 2 s", None, 5, {}),
    "4": (leader_stopped, "leader without workers stopped 0.5-3 s", SPARE, 1, {}),
    "4-console": (console_frozen, "its console frozen 0.5-3 s", SPARE, 1, {}),
    "5": (cut_in_two, "one or two cut off from the others", None, 5, {}),
    "6-two": (two_gone, "two at once", None, 1, {}),
    "6-one-by-one": (one_by_one, "one by one to one node", None, 1, {}),
    "6-three": (three_gone, "three at once", None, 1, {"last stamp": "max 1200"}),
    "8": (orders_hold, "leader lost after exclude, resize, drain, restarts", None, 1, {}),
    "rest": (left_alone, "nothing happens for 20 s", None, 1, {}),
}


def trials(name, count, options, roll):
    """Tries one test so often. Returns its figures and what has failed."""
    what, text, places, _, _ = TESTS[name]
    figures, failures = {}, []
    job = None
    for number in range(count):
        if job is None:
            job = Job(os.path.realpath(options.bin), "voters", places,
                      3 if what is orders_hold else 1000000)
            job.begin()
        why, is_over = None, False
        try:
            for key, x in what(job, roll).items():
                figures.setdefault(key, []).append(1e3 * x)
        except Over as end:
            is_over = True
            for key, x in end.args[0].items():
                figures.setdefault(key, []).append(1e3 * x)
        except (Refuted, RuntimeError, subprocess.TimeoutExpired) as refuted:
            why = str(refuted)
        if why:
            failures.append(f"{name} try {number + 1}, {text}: {why}; logs: {job.folder}")
            print("FAILED " + failures[-1], flush=True)
        if why or is_over or number + 1 == count:
            job.remove()
            if not why:
                shutil.rmtree(job.folder)
            job = None
    return figures, failures


def rows(name, figures, count, failed):
    _, text, _, _, bounds = TESTS[name]
    if not figures:
        yield f"| {name} | {text} | – | {count} | {failed} | – | – | – | – |"
    for key, values in figures.items():
        values.sort()
        cells = [f"{chaos.percentile(values, p):.0f}" for p in (.5, .99, 1)]
        yield (f"| {name} | {text} | {key} | {len(values)} of {count} | {failed} | "
               + " | ".join(cells) + f" | {bounds.get(key, '–')} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1]
                                     .split("\n\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--tests", default=",".join(TESTS))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int,
                        default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--report")
    options = parser.parse_args()
    names = options.tests.split(",")
    for x in names:
        if x not in TESTS:
            parser.error(f"there is no test '{x}'; there are: " + ", ".join(TESTS))
    chaos.skip_without_network("voters")
    print(f"seed {options.seed}", flush=True)
    roll = random.Random(options.seed)
    lines = ["| test | what happens | figure | tries | failed | p50 | p99 | max | bound |",
             "|---|---|---|---|---|---|---|---|---|"]
    failures = []
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
             for _ in range(options.busy)]
    try:
        for name in names:
            count = options.runs * TESTS[name][3]
            began = now()
            figures, failed = trials(name, count, options, roll)
            failures += failed
            load = os.getloadavg()[0]
            print(f"{name}: {count} tries in {now() - began:.0f} s, load {load:.1f}",
                  flush=True)
            for row in rows(name, figures, count, len(failed)):
                lines.append(row)
                print(row, flush=True)
    finally:
        for x in loops:
            x.kill()
        text = "\n".join(lines)
        print("\n" + text, flush=True)
        if options.report:
            with open(options.report, "w") as file:
                file.write(text + "\n")
    for x in failures:
        print("FAILED " + x)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
