#!/usr/bin/env python3
"""Breaks a job of the real programs in every way that its world allows.

One server and three agents, each in a network namespace of its own, are connected
by a bridge. The server is the coordinator, or etcd, and then one of the agents
hosts the coordinator. With `voters` there is no server: five agents elect the one
that hosts it, and the endpoint is the first one's. One fault at a time strikes one
or several of them; the survivors' workers must run again, and when the fault is
over, all must be together again. The workers stamp their life into files every 5
ms. From these stamps alone it is judged

    I1  whether the workers of a generation are one world (ranks 0..W-1, each once),
    I2  whether workers of two generations ever ran at once,
    I4  whether numbers of generations grow,
    I5  whether as many restarts are spent as workers were killed,

and when the survivors ran again. A seed determines the faults and their lengths,
not what the machine makes of them.

usage: chaos.py --bin FOLDER [--seconds N | --hours N | --faults N] [--seed N]
                [--kinds KIND,...] [--report FILE] [--backend c10d|etcd|voters]
                [--keep]

Needs root, ip and nft, and etcd for etcd; without them it says so and ends with 77. Exit code 1: an
invariant was broken, or a job did not come back.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NODES = {"c10d": 3, "etcd": 3, "voters": 5}
SLOTS = {"c10d": 2, "etcd": 2, "voters": 1}
SUBNET = "10.77.0."
PORT = 29477
ETCD_PORT = 2379
CONF = {
    "c10d": "",
    "etcd": ",lease_ttl=3,heartbeat_timeout=1",  # 15 s would be waited for often.
    "voters": ",succession=on",
}
BACK_MAX = 60.0  # Seconds until all are together again.
SURVIVE_MAX = 20.0  # Seconds until the survivors run again.
SETTLE = (0.3, 1.0)  # Seconds until those that are here vote.


def now():
    """The clock of the stamps, in seconds."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def run(*words, check=True, text=None):
    done = subprocess.run(words, input=text, text=True, capture_output=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.returncode == 0


def obstacle(backend):
    """What is lacking here, by its name in ACTORRUN_NO_SKIP, and a sentence."""
    if backend == "etcd" and shutil.which("etcd") is None:
        return "etcd", "there is no program etcd"
    if os.geteuid() != 0:
        return "netns", "only root can make network namespaces"
    for tool in ("ip", "nft"):
        if shutil.which(tool) is None:
            return "netns", f"there is no program {tool}"
    if not run("unshare", "--net", "nft", "list", "tables", check=False):
        return "netns", "network namespaces with nf_tables cannot be made here"
    if not run("unshare", "--net", "ip", "link", "add", "name", "br0", "type",
               "bridge", check=False):
        return "bridge", "the kernel has no bridges"
    return None


def skip_without_network(backend):
    if found := obstacle(backend):
        lack, why = found
        if {lack, "all"} & set(os.environ.get("ACTORRUN_NO_SKIP", "").split(",")):
            sys.exit("ACTORRUN_NO_SKIP forbids to skip this: " + why)
        print("SKIPPED: " + why)
        sys.exit(77)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            mine = file.read().split()
    except OSError:
        return []
    out = [int(x) for x in mine]
    # Children belong to the thread that has made them.
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            if int(thread) != pid:
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    out += [int(x) for x in file.read().split()]
    except OSError:
        pass
    return out


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Host:
    """One namespace with the program that runs in it."""

    def __init__(self, job, index, command, files_hang=True):
        self.job = job
        self.name = f"chaos{os.getpid()}h{index}"
        self.label = f"n{index}"
        self.index = index
        self.address = SUBNET + str(index + 1)
        self.folder = f"{job.folder}/h{index}"
        self.console = self.folder + "/log"
        self.command = command
        self.files_hang = files_hang
        self.process = None
        self.reader = None  # Of the console, if that is no file.
        os.makedirs(self.folder + "/run", mode=0o700)
        os.makedirs(self.folder + "/logs")
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"port{index}", "netns", job.bridge,
            "type", "veth", "peer", "name", "cable", "netns", self.name)
        run("ip", "-n", job.bridge, "link", "set", f"port{index}", "master",
            "bridge", "up")
        run("ip", "-n", self.name, "addr", "add", self.address + "/24", "dev",
            "cable")
        for link in ("lo", "cable"):
            run("ip", "-n", self.name, "link", "set", link, "up")

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": self.folder,
                "ACTORRUN_RUN_DIR": self.folder + "/run",
                "LOGLEVEL": os.environ.get("LOGLEVEL", "INFO")}

    def start(self):
        log = os.open(self.console, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        environment = self.environment()
        if self.files_hang:
            environment |= {
                "LD_PRELOAD": self.job.hanging_files,
                "HANGING_FOLDER": self.folder + "/logs",
                "HANGING_WHILE": self.folder + "/hangs",
            }
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c",
             "hostname \"$0\" && exec \"$@\"", self.label] + self.command(self),
            env=environment, stdout=log, stderr=log,
            stdin=subprocess.DEVNULL)
        os.close(log)

    def ask(self, *words):
        """What actorctl says here; empty if it fails or takes long."""
        try:
            return subprocess.run(
                ["ip", "netns", "exec", self.name, f"{self.job.bin}/actorctl",
                 *words], env=self.environment(), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=5).stdout
        except subprocess.TimeoutExpired:
            return ""

    def pid(self):
        return self.process.pid

    def has_ended(self):
        return self.process.poll() is not None

    def wardens(self):
        return [x for x in children(self.pid())
                if name_of(x) in ("arun-warden", "arun-second")]

    def all_pids(self):
        """Of the agent, its wardens and its workers."""
        return children(self.pid()) + [self.pid()]

    def kill(self):
        send(self.pid(), signal.SIGKILL)
        self.process.wait()

    def plug(self, is_in):
        """Pulls the cable out, or plugs it in again."""
        run("ip", "-n", self.job.bridge, "link", "set", f"port{self.index}",
            "up" if is_in else "down")

    def filter(self, rules):
        """Replaces what the firewall of this host does."""
        run("ip", "netns", "exec", self.name, "nft", "flush", "ruleset")
        if rules:
            run("ip", "netns", "exec", self.name, "nft", "-f", "-",
                text="add table ip cut\n"
                     "add chain ip cut in { type filter hook input priority 0; }\n"
                     "add chain ip cut out { type filter hook output priority 0; }\n"
                     + "".join(f"add rule ip cut {x}\n" for x in rules))

    def lose(self, arriving, leaving):
        """Has the cable lose so many percent of the packets of each direction.
        What leaves is lost at the other end of the cable: the system here
        would notice its own firewall, and retry differently."""
        ends = [(self.name, "cable", arriving),
                (self.job.bridge, f"port{self.index}", leaving)]
        for namespace, device, percent in ends:
            dice = "" if percent == 100 else f"numgen random mod 100 < {percent}"
            rule = (f"add rule netdev {device} loss {dice} drop\n"
                    if percent else "")
            run("ip", "netns", "exec", namespace, "nft", "-f", "-",
                text=f"add table netdev {device}\n"
                     f"delete table netdev {device}\n"
                     f"add table netdev {device}\n"
                     f"add chain netdev {device} loss {{ type filter hook "
                     f"ingress device \"{device}\" priority 0; }}\n" + rule)

    def silence(self, listeners):
        """These do not hear this host any more."""
        device = f"port{self.index}"
        addresses = ", ".join(x.address for x in listeners)
        run("ip", "netns", "exec", self.job.bridge, "nft", "-f", "-",
            text=f"add table netdev {device}\n"
                 f"add chain netdev {device} loss {{ type filter hook ingress "
                 f"device \"{device}\" priority 0; }}\n"
                 f"add rule netdev {device} loss ip daddr {{ {addresses} }} drop\n")

    def remove(self):
        if self.process is not None and not self.has_ended():
            for pid in self.all_pids():
                send(pid, signal.SIGCONT)
            self.kill()
        if self.reader is not None:
            self.reader.kill()
            self.reader.wait()
        run("ip", "netns", "del", self.name, check=False)


class Worker:
    """What the file of one worker says."""

    def __init__(self, path):
        self.path = path
        with open(path) as file:
            fields = dict(x.split("=", 1) for x in file.read().split("\n") if x)
        self.pid = int(fields["pid"])
        self.generation = int(fields["ACTORRUN_FENCING_TOKEN"])
        self.number = int(fields["ACTORRUN_GENERATION"])
        self.restarts = int(fields["TORCHELASTIC_RESTART_COUNT"])
        self.rank = int(fields["RANK"])
        self.node = int(fields["GROUP_RANK"])
        self.world = int(fields["WORLD_SIZE"])
        self.start = int(fields["start"]) / 1e9
        self.last = int(fields["last"]) / 1e9

    def is_alive(self):
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except OSError:
            return False


class Job:
    def __init__(self, bin_folder, backend, places=None, restarts_max=1000000):
        """@param places As --nnodes; None: all nodes have one."""
        self.backend = backend
        self.nodes = NODES[backend]
        self.slots = SLOTS[backend]
        self.folder = tempfile.mkdtemp(prefix="actorrun-chaos-")
        self.stamps = self.folder + "/stamps"
        os.makedirs(self.stamps)
        self.bin = bin_folder
        self.hanging_files = os.path.realpath(
            f"{bin_folder}/../tests/system/libhanging_files.so")
        for path in (f"{bin_folder}/actorrun", self.hanging_files):
            if not os.path.exists(path):
                raise SystemExit(f"chaos.py: there is no {path}; build it first")
        self.bridge = f"chaos{os.getpid()}b"
        run("ip", "netns", "add", self.bridge)
        run("ip", "-n", self.bridge, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", self.bridge, "link", "set", "bridge", "up")
        port = ETCD_PORT if backend == "etcd" else PORT
        protocol = "etcd" if backend == "etcd" else "c10d"
        common = ["--rdzv-id=chaos", f"--rdzv-backend={protocol}",
                  f"--rdzv-endpoint={SUBNET}1:{port}",
                  f"--nnodes={places or f'1:{self.nodes}'}",
                  f"--max-restarts={restarts_max}", "--rdzv-conf=quiet_period=300ms,"
                  "join_settle=100ms,rejoin_backoff=1ms" + CONF[backend]]
        self.server = None
        if backend == "etcd":
            self.server = Host(self, 0, etcd_command, files_hang=False)
        elif backend == "c10d":
            self.server = Host(self, 0, lambda _: [
                f"{bin_folder}/actorctl", "coordinator"] + common)
        first = 0 if self.server is None else 1
        self.agents = [Host(self, first + i, lambda x: [
            f"{bin_folder}/actorrun"] + common + [
                f"--local-addr={x.address}",
                f"--nproc-per-node={self.slots}", "--shutdown-timeout=1",
                f"--log-dir={x.folder}/logs", "--redirects=3", "--no-python",
                f"{bin_folder}/stamping_worker", f"--folder={self.stamps}"])
                       for i in range(self.nodes)]
        self.ended = []  # Workers that have ended, of the newest generations.
        self.alive = {}
        self.first = {}  # When the first worker of a generation began.
        self.spent = 0  # Workers that were killed.
        self.breaches = []

    def hosts(self):
        return ([self.server] if self.server else []) + self.agents

    def begin(self):
        for x in self.hosts():
            x.start()

    def look(self):
        """Reads the stamps of all workers that may have changed."""
        known = {x.path for x in self.alive.values()}
        names = {f"{self.stamps}/{x}" for x in os.listdir(self.stamps)
                 if x.startswith("w.")}
        for path in names - known:
            x = Worker(path)
            self.alive[x.pid, x.start] = x
            self.first[x.generation] = min(x.start, self.first.get(x.generation, x.start))
        for key, x in list(self.alive.items()):
            if x.is_alive():
                continue
            x = Worker(x.path)
            del self.alive[key]
            self.ended.append(x)
            os.unlink(x.path)
        return list(self.alive.values())

    def refresh(self):
        for x in self.alive.values():
            x.last = Worker(x.path).last

    def breach(self, text):
        self.breaches.append(text)
        print("BROKEN " + text, flush=True)

    def judge(self):
        """Checks all that is known, then forgets what is settled."""
        self.look()
        self.refresh()
        workers = self.ended + list(self.alive.values())
        generations = sorted({x.generation for x in workers})
        for generation in generations:
            mine = [x for x in workers if x.generation == generation]
            ranks = [x.rank for x in mine]
            if len({x.world for x in mine}) != 1 \
                    or len(set(ranks)) != len(ranks) \
                    or max(ranks) >= mine[0].world:
                self.breach(f"I1 generation {generation}: ranks {sorted(ranks)}")
        for old, new in zip(generations, generations[1:]):
            last = max(x.last for x in workers if x.generation == old)
            start = min(x.start for x in workers if x.generation == new)
            if last > start:
                self.breach(f"I2 generations {old} and {new} overlap by "
                            f"{1e3 * (last - start):.1f} ms")
            if self.first[old] > self.first[new]:
                self.breach(f"I4 generation {new} began before generation {old}")
        by_age = sorted(workers, key=lambda x: x.generation)
        for old, new in zip(by_age, by_age[1:]):
            if old.number > new.number:
                self.breach(f"I4 generation {new.generation} has the number "
                            f"{new.number} after {old.number}")
            if old.restarts > new.restarts:
                self.breach(f"I5 {new.restarts} restarts are spent after {old.restarts}")
        if by_age and by_age[-1].restarts != self.spent:
            self.breach(f"I5 {by_age[-1].restarts} restarts are spent for "
                        f"{self.spent} workers that were killed")
        if generations:
            self.ended = [x for x in self.ended if x.generation == generations[-1]]

    def world(self, hosts, after=0):
        """The workers of the newest generation if all of these hosts' run in it."""
        workers = self.look()
        newest = max((x.generation for x in workers), default=0)
        mine = [x for x in workers if x.generation == newest]
        if newest <= after or len(mine) < self.slots * len(hosts):
            return None
        seen = {parent_of(x.pid) for x in mine}
        return mine if {x.pid() for x in hosts} <= seen else None

    def await_world(self, hosts, after, limit):
        due = now() + limit
        while now() < due:
            if found := self.world(hosts, after):
                return found
            time.sleep(0.002)
        return None

    def status(self, host):
        """What actorctl says on this host, or None."""
        try:
            return json.loads(host.ask("status", "--json"))["jobs"][0]
        except (ValueError, LookupError):
            return None

    def leader(self):
        """The agent that hosts the coordinator, or None."""
        for x in self.agents:
            status = None if x.has_ended() else self.status(x)
            if status and status["coordinator"]["pid"] == x.pid():
                return x
        return None


    def order(self, *words):
        """An operator's, to the leader; it may be changing just now."""
        due = now() + 5
        while not self.await_leader(BACK_MAX).ask(*words, "--yes"):
            if now() > due:
                raise RuntimeError(f"'actorctl {' '.join(words)}' is refused")

    def await_leader(self, limit):
        due = now() + limit
        while now() < due:
            if found := self.leader():
                return found
            time.sleep(0.02)
        raise RuntimeError("no agent hosts a coordinator")

    def let_settle(self, roll, workers, members=None):
        """Those that are here become voters. Workers live for two minutes."""
        if now() > min(x.start for x in workers) + 60:
            self.order("restart")
            workers = self.await_world(members or self.agents,
                                       workers[0].generation, BACK_MAX)
            if workers is None:
                raise RuntimeError("they are not together after 'actorctl restart'")
        time.sleep(roll.uniform(*SETTLE))
        return workers

    def remove(self):
        for x in self.hosts():
            x.remove()
        run("ip", "netns", "del", self.bridge, check=False)


def etcd_command(host):
    client = f"http://{host.address}:{ETCD_PORT}"
    peer = f"http://127.0.0.1:{ETCD_PORT + 1}"
    return ["etcd", f"--data-dir={host.folder}/etcd", "--log-level=error",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}"]


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


# -- the faults ----------------------------------------------------------------
#
# Each is a function of (job, roll, host): it strikes, and returns what ends it.

def agent_killed(job, roll, host):
    host.kill()
    return host.start


def agent_and_warden_killed(job, roll, host):
    wardens = host.wardens()
    send(host.pid(), signal.SIGSTOP)  # It would start another.
    for pid in wardens:
        send(pid, signal.SIGKILL)
    host.kill()
    return host.start


def agent_and_first_warden_killed(job, roll, host):
    first = [x for x in host.wardens() if name_of(x) == "arun-warden"]
    send(host.pid(), signal.SIGSTOP)
    for pid in first:
        send(pid, signal.SIGKILL)
    host.kill()
    return host.start


def kill_one(job, roll, workers):
    """Costs the job a restart."""
    if workers:
        send(roll.choice(workers).pid, signal.SIGKILL)
        job.spent += 1


def worker_killed(job, roll, host):
    kill_one(job, roll, [x for x in job.look() if parent_of(x.pid) == host.pid()])
    return lambda: None


def host_lost(job, roll, host):
    """Its power fails: no one is told, and nothing of it is left."""
    host.plug(False)
    pids = host.all_pids()
    stopped(pids)
    for pid in pids:
        send(pid, signal.SIGKILL)
    host.process.wait()

    def begin_again():
        host.plug(True)
        host.start()
    return begin_again


def unplugged(job, roll, host):
    host.plug(False)
    return lambda: host.plug(True)


def replaced_while_unplugged(job, roll, host):
    host.plug(False)

    def begin_again():
        agent_and_warden_killed(job, roll, host)
        host.plug(True)
        host.start()
    return begin_again


def start_after_end(host):
    def begin_again():
        host.process.wait(timeout=BACK_MAX)
        host.start()
    return begin_again


def terminated(job, roll, host):
    send(host.pid(), signal.SIGTERM)
    return start_after_end(host)


def drained(job, roll, host):
    job.order("drain", host.label)
    return start_after_end(host)


def stopped(pids):
    for pid in pids:
        send(pid, signal.SIGSTOP)
    return lambda: [send(pid, signal.SIGCONT) for pid in pids]


def agent_stopped(job, roll, host):
    return stopped([host.pid()])


def agent_and_warden_stopped(job, roll, host):
    # As a suspended machine: nothing of it runs, its workers neither. When it
    # wakes up, the warden is the first: the others follow a moment later, which
    # a real one does not promise (docs/resilience.md).
    wardens = host.wardens()
    others = [x for x in children(host.pid()) if x not in wardens]
    stopped(others + wardens + [host.pid()])

    def wake():
        for pid in wardens:
            send(pid, signal.SIGCONT)
        time.sleep(0.05)
        for pid in [host.pid()] + others:
            send(pid, signal.SIGCONT)
    return wake


def filtered(*rules):
    def strike(job, roll, host):
        host.filter(rules)
        return lambda: host.filter([])
    return strike


def losing(arriving, leaving):
    """Loses so many percent of the packets."""
    def strike(job, roll, host):
        host.lose(arriving, leaving)
        return lambda: host.lose(0, 0)
    return strike


def server_killed(job, roll, host):
    host.kill()
    host.start()
    return lambda: None


def disk_hangs(job, roll, host):
    open(host.folder + "/hangs", "w").close()
    kill_one(job, roll, [x for x in job.look() if parent_of(x.pid) != host.pid()])
    return lambda: os.unlink(host.folder + "/hangs")


RESET_IN = "in iif cable meta l4proto tcp reject with tcp reset"
RESET_OUT = "out oif cable meta l4proto tcp reject with tcp reset"

# whom: of which back ends; how to choose whom to hit
WHOM = {
    "agent": (("c10d", "etcd", "voters"),
              lambda job, roll: [roll.choice(job.agents)]),
    "coordinator": (("c10d",), lambda job, roll: [job.server]),
    "etcd": (("etcd",), lambda job, roll: [job.server]),
    "leader": (("voters",), lambda job, roll: [job.await_leader(BACK_MAX)]),
    "leader and another": (("voters",), lambda job, roll: with_leader(job, roll, 2)),
    "two others": (("voters",), lambda job, roll: roll.sample(others_of(job), 2)),
    "three with it": (("voters",), lambda job, roll: with_leader(job, roll, 3)),
    "three others": (("voters",), lambda job, roll: roll.sample(others_of(job), 3)),
}


def others_of(job):
    leader = job.await_leader(BACK_MAX)
    return [x for x in job.agents if x is not leader]


def with_leader(job, roll, count):
    others = others_of(job)
    return [x for x in job.agents if x not in others] + roll.sample(others, count - 1)


# kind: (strike, whom it hits, survivors must regroup, lengths in seconds)
KINDS = {
    "agent killed": (agent_killed, "agent", True, (0.1, 1.0)),
    "agent and warden killed": (agent_and_warden_killed, "agent", True,
                                (0.1, 1.0)),
    "agent and first warden killed": (agent_and_first_warden_killed, "agent", True,
                                (0.1, 1.0)),
    "worker killed": (worker_killed, "agent", True, (0.0, 0.0)),
    "agent stopped": (agent_stopped, "agent", True, (2.0, 4.0)),
    "node suspended": (agent_and_warden_stopped, "agent", True, (2.0, 4.0)),
    "cut both ways": (losing(100, 100), "agent", True, (2.0, 4.0)),
    "cut to the node": (losing(100, 0), "agent", True, (2.0, 4.0)),
    "cut from the node": (losing(0, 100), "agent", True, (2.0, 4.0)),
    "resets both ways": (filtered(RESET_IN, RESET_OUT), "agent", True,
                         (5.0, 5.0)),
    "resets to the node": (filtered(RESET_IN), "agent", True, (5.0, 5.0)),
    "resets from the node": (filtered(RESET_OUT), "agent", True, (5.0, 5.0)),
    "short cut (0.3 s)": (losing(100, 100), "agent", False,
                         (0.3, 0.3)),
    "loss of 5 %": (losing(5, 5), "agent", False, (3.0, 3.0)),
    "loss of 10 %": (losing(10, 10), "agent", False, (3.0, 3.0)),
    "loss of 15 %": (losing(15, 15), "agent", False, (3.0, 3.0)),
    "loss of 20 %": (losing(20, 20), "agent", False, (3.0, 3.0)),
    "coordinator killed": (server_killed, "coordinator", False, (0.5, 0.5)),
    "coordinator stopped (0.5 s)": (agent_stopped, "coordinator", False,
                                   (0.5, 0.5)),
    "coordinator cut off": (losing(100, 100), "coordinator", False,
                            (1.5, 3.0)),
    "resets at the coordinator": (filtered(RESET_IN, RESET_OUT), "coordinator",
                                  False, (5.0, 5.0)),
    "etcd killed": (server_killed, "etcd", False, (0.5, 0.5)),
    "etcd stopped": (agent_stopped, "etcd", False, (0.5, 3.0)),
    "etcd cut off": (losing(100, 100), "etcd", False, (0.5, 3.0)),
    "resets at etcd": (filtered(RESET_IN, RESET_OUT), "etcd", False,
                       (5.0, 5.0)),
    "disk hangs and a peer fails": (disk_hangs, "agent", True, (1.0, 3.0)),
    "leader killed": (agent_killed, "leader", True, (0.1, 1.0)),
    "leader and wardens killed": (agent_and_warden_killed, "leader", True, (0.1, 3.0)),
    "leader's host lost": (host_lost, "leader", True, (0.1, 5.0)),
    "leader cut off (0.3 s)": (losing(100, 100), "leader", False, (0.3, 0.3)),
    "leader unplugged briefly": (unplugged, "leader", False, (0.3, 1.2)),
    "leader unplugged": (unplugged, "leader", True, (2.0, 5.0)),
    "leader unplugged for ever": (replaced_while_unplugged, "leader", True, (2.0, 5.0)),
    "cut to the leader": (losing(100, 0), "leader", True, (2.0, 4.0)),
    "cut from the leader": (losing(0, 100), "leader", True, (2.0, 4.0)),
    "leader stopped briefly": (agent_stopped, "leader", False, (0.2, 0.8)),
    "leader stopped": (agent_stopped, "leader", True, (2.0, 3.0)),
    "leader's node suspended": (agent_and_warden_stopped, "leader", True, (2.0, 4.0)),
    "leader terminated": (terminated, "leader", True, (0.1, 1.0)),
    "leader's node drained": (drained, "leader", True, (0.1, 1.0)),
    "leader and a voter killed": (agent_killed, "leader and another", True, (0.1, 3.0)),
    "leader's and a voter's host lost": (host_lost, "leader and another", True,
                                         (0.1, 5.0)),
    "leader and a voter unplugged": (unplugged, "leader and another", True, (2.0, 5.0)),
    "two voters killed": (agent_killed, "two others", True, (0.1, 3.0)),
    "two voters' hosts lost": (host_lost, "two others", True, (0.1, 5.0)),
    "two voters unplugged": (unplugged, "two others", True, (2.0, 5.0)),
    "leader in a minority": (unplugged, "three others", False, (2.0, 4.0)),
    "no majority": (unplugged, "three with it", False, (2.0, 4.0)),
}


def strike(job, roll, kind):
    """One fault. Returns (seconds until the survivors ran, generations changed)."""
    what, whom, regroups, lengths = KINDS[kind]
    before = job.await_world(job.agents, 0, BACK_MAX)
    if before is None:
        raise RuntimeError(f"not all are together before: {kind}")
    if job.backend == "voters":
        before = job.let_settle(roll, before)
    hosts = WHOM[whom][1](job, roll)
    generation = before[0].generation
    length = roll.uniform(*lengths)
    survivors = [x for x in job.agents if x not in hosts or kind == "worker killed"]
    began = now()
    heals = [what(job, roll, x) for x in hosts]
    took = None
    try:
        if regroups:
            again = job.await_world(survivors, generation, SURVIVE_MAX)
            if again is None:
                job.breach(f"the survivors of '{kind}' do not run again")
            else:
                mine = {x.pid() for x in survivors}
                took = max(x.start for x in again
                           if parent_of(x.pid) in mine) - began
        while now() < began + length:
            time.sleep(0.005)
    finally:
        for heal in heals:
            heal()
    for host in hosts:
        if kind != "worker killed" and host in job.agents and host.has_ended():
            host.start()  # It ended, because it was away for too long.
    if not regroups and (whom != "agent"):
        time.sleep(1.5)  # Longer than a lease: what was lost is lost by then.
    after = job.await_world(job.agents, generation if regroups else 0, BACK_MAX)
    if after is None:
        ended = [f"{x.address} has ended with {x.process.returncode}"
                 for x in job.agents if x.has_ended()]
        job.breach(f"not all come back after '{kind}': {', '.join(ended)}")
        return took, True
    job.judge()
    return took, after[0].generation != generation


def percentile(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def report(results, backend, seed, seconds):
    workers = "2 workers" if SLOTS[backend] == 2 else "1 worker"
    lines = [f"{sum(len(x) for x in results.values())} faults in {seconds:.0f} s,"
             f" {backend}, seed {seed}; {NODES[backend]} nodes with {workers} each."
             " Milliseconds from the fault until the workers of all survivors run"
             " again.", "",
             "| fault | number | new generation | p50 | p90 | p99 | max |",
             "|---|---|---|---|---|---|---|"]
    for kind in KINDS:
        all_of = results.get(kind, [])
        if not all_of:
            continue
        times = sorted(1e3 * x for x, _ in all_of if x is not None)
        changed = sum(1 for _, x in all_of if x)
        figures = [f"{percentile(times, p):.0f}" for p in (.5, .9, .99, 1)] \
            if times else ["–"] * 4
        lines.append(f"| {kind} | {len(all_of)} | {changed} | "
                     + " | ".join(figures) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1]
                                     .split("\n\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--seed", type=int,
                        default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--backend", choices=tuple(NODES), default="c10d")
    parser.add_argument("--kinds")
    parser.add_argument("--report")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    known = [x for x, (_, whom, _, _) in KINDS.items()
             if options.backend in WHOM[whom][0]]
    kinds = options.kinds.split(",") if options.kinds else known
    for x in kinds:
        if x not in known:
            parser.error(f"there is no fault '{x}' with {options.backend};"
                         " there are: " + "; ".join(known))
    skip_without_network(options.backend)
    roll = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    began = now()
    seconds = 3600 * options.hours or options.seconds
    job = Job(os.path.realpath(options.bin), options.backend)
    results = {}
    try:
        job.begin()
        deck = []
        count = 0
        while not job.breaches and (count < options.faults if options.faults
                                    else now() < began + seconds):
            if not deck:
                deck = roll.sample(kinds, len(kinds))
            kind = deck.pop()
            took, changed = strike(job, roll, kind)
            results.setdefault(kind, []).append((took, changed))
            count += 1
            print(f"{now() - began:7.1f} s  {count:4}  {kind}: "
                  + ("" if took is None else f"{1e3 * took:.0f} ms, ")
                  + ("a new generation" if changed else "all run on"), flush=True)
    except RuntimeError as why:
        job.breach(str(why))
    finally:
        text = report(results, options.backend, options.seed, now() - began)
        print("\n" + text, flush=True)
        if options.report:
            with open(options.report, "w") as file:
                file.write(text + "\n")
        job.remove()
    left = [x for x in job.look() if x.is_alive()]
    if left:
        time.sleep(2)
        left = [x for x in left if x.is_alive()]
    for x in left:
        job.breach(f"worker {x.pid} outlives its agent")
    if job.breaches:
        print("broken: " + "; ".join(job.breaches) + f"\nlogs: {job.folder}")
        sys.exit(1)
    if options.keep:
        print(f"logs: {job.folder}")
    else:
        shutil.rmtree(job.folder)


if __name__ == "__main__":
    main()
