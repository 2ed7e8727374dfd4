#!/usr/bin/env python3
"""Ends and holds up jobs of the real programs in every way that we know, and asks
`actorctl why` each time.

Three agents, each with a host name of its own, run nine workers that are connected
to each other. One kind of death or waiting strikes at a random moment. Then `why`
must name the first cause, with its rank, host and reason, and must not blame those
that failed because of it. A seed determines the victims and the moments, not what
the machine makes of them.

usage: corpus.py --bin FOLDER [--times N] [--seed N] [--kinds KIND,...]
                 [--report FILE] [--list]

Without root, or a tool, kinds that need it are left out with a reason. Exit code 1:
an answer was wrong; 77: nothing could be tried.
"""
import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NODES = 3
SLOTS = 3
WORLD = NODES * SLOTS
WAIT_MAX = 30.0  # Seconds; no event takes longer.
GENERATIONS_PER_TERM = 4096  # Texts show the last part of a generation's number.
SUBNET = "10.78.0."
CLONE_NEWUTS = 0x04000000
MEMORY_LIMIT = 192 << 20  # In bytes, of the node whose memory is short.
MEMORY_GROUPS = "/sys/fs/cgroup/memory"
HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {}


class Wrong(Exception):
    """An answer is not what it must be."""


class Unnamed(Wrong):
    """The first cause is not named, but nothing else is blamed for it."""


def kind(*, needs=()):
    def add(strike):
        KINDS[strike.__name__] = (strike, needs)
        return strike
    return add


def run(*words):
    done = subprocess.run(words, text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


def obstacle(need):
    """Why a kind that needs this cannot be tried here; None: it can."""
    if need == "root":
        return None if os.geteuid() == 0 else "only root can do it"
    if need == "netns":
        if os.geteuid() != 0 or shutil.which("ip") is None:
            return "needs root and ip"
        return None
    if need == "memory_group":
        if os.geteuid() == 0 and os.access(
                MEMORY_GROUPS + "/memory.limit_in_bytes", os.W_OK):
            return None
        # Where the only hierarchy is that of version 2.
        if os.geteuid() == 0 and "memory" in content(
                "/sys/fs/cgroup/cgroup.subtree_control").split():
            return None
        return "no memory control group can be made here"
    return None


def content(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def await_it(what, look, limit=WAIT_MAX):
    due = time.monotonic() + limit
    while time.monotonic() < due:
        if found := look():
            return found
        time.sleep(0.005)
    raise Wrong(f"in vain: {what}")


def free_port():
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        return x.getsockname()[1]


class MemoryGroup:
    """A control group with a limit of memory, of either version."""

    def __init__(self, name):
        is_v1 = os.path.exists(MEMORY_GROUPS + "/memory.limit_in_bytes")
        self.folder = f"{MEMORY_GROUPS if is_v1 else '/sys/fs/cgroup'}/{name}"
        os.mkdir(self.folder)
        write(self.folder + ("/memory.limit_in_bytes" if is_v1
                             else "/memory.max"), str(MEMORY_LIMIT))

    def enter(self, pid=None):
        write(self.folder + "/cgroup.procs", str(pid or os.getpid()))

    def remove(self):
        await_it("a control group is empty",
                 lambda: not content(self.folder + "/cgroup.procs"))
        os.rmdir(self.folder)


class Scene:
    """One job: its folder, programs, workers and answers."""

    def __init__(self, bin_folder, seed):
        self.bin = bin_folder
        self.roll = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="actorrun-corpus-")
        for name in ("run", "state", "tmp"):
            os.mkdir(f"{self.folder}/{name}", 0o700)
        self.port = free_port()
        self.agents = {}
        self.others = []
        self.stopped = []
        self.undo = []
        self.namespaces = False
        self.plan = {"seed": str(seed), "mesh": True, "react": "raise",
                     "react_ms": [10, 80], "deaf": [], "dies_at_start": None,
                     "dies_at_stop": {}, "grown": {}}
        self.restarts = 0
        self.nodes = str(NODES)
        self.conf = ""
        self.options = []
        self.variables = {}
        self.seen = {}  # Workers that are known, by generation and rank.

    # -- programs ------------------------------------------------------------------

    def environment(self, more=None):
        return {"PATH": os.environ["PATH"], "HOME": self.folder,
                "LANG": "C.UTF-8", "TMPDIR": self.folder + "/tmp",
                "ACTORRUN_RUN_DIR": self.folder + "/run",
                "XDG_STATE_HOME": self.folder + "/state"} | (more or {})

    def on_host(self, name, group=None):
        """What a child does first, so that it is on a host of this name."""
        if os.geteuid() != 0:
            return None
        libc = ctypes.CDLL(None, use_errno=True)

        def enter():
            if libc.unshare(CLONE_NEWUTS) == 0:
                libc.sethostname(name.encode(), len(name))
            if group:
                group.enter()
        return enter

    def host(self, index):
        """The host name of an agent."""
        return f"n{index}" if os.geteuid() == 0 else socket.gethostname()

    def endpoint(self):
        return (f"{SUBNET}1" if self.namespaces else "127.0.0.1") + f":{self.port}"

    def common(self, restarts=None):
        spent = self.restarts if restarts is None else restarts
        return [f"--nnodes={self.nodes}", f"--max-restarts={spent}",
                "--rdzv-id=corpus", f"--rdzv-endpoint={self.endpoint()}"]

    def rdzv_conf(self, host):
        return (f"--rdzv-conf=quiet_period=200ms,join_settle=200ms,is_host={host}"
                + self.conf)

    def start(self, index, program=None, group=None, more=(), host=None,
              variables=None, log_dir=None):
        hosts = index == 1 if host is None else host
        command = [f"{self.bin}/actorrun"] + self.common() + [
            self.rdzv_conf(int(hosts)), f"--nproc-per-node={SLOTS}",
            "--shutdown-timeout=1", "--redirects=3",
            f"--log-dir={log_dir or f'{self.folder}/logs{index}'}", "--no-python",
            *self.options, *more] + (program or self.worker())
        if self.namespaces:
            command = ["ip", "netns", "exec", self.space(index)] + command
        log = open(f"{self.folder}/out{index}", "ab")
        x = subprocess.Popen(
            command, env=self.environment(self.variables | (variables or {})),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=self.on_host(f"n{index}", group), start_new_session=True)
        log.close()
        self.agents[index] = x
        if hosts:
            self.await_listener(f"out{index}")
        return x

    def await_listener(self, name):
        await_it("the coordinator listens",
                 lambda: "listens on" in content(f"{self.folder}/{name}")
                 or "job" in self.journal())

    def coordinator(self, name="n1"):
        log = open(f"{self.folder}/coordinator", "ab")
        x = subprocess.Popen(
            [f"{self.bin}/actorctl", "coordinator"] + self.common() + [
                f"--rdzv-conf=quiet_period=200ms,join_settle=200ms{self.conf}"],
            env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, preexec_fn=self.on_host(name), start_new_session=True)
        log.close()
        self.others.append(x)
        return x

    def worker(self):
        return [sys.executable, "-S", "-E", "-s", f"{HERE}/worker.py", self.folder]

    def start_all(self, world=True):
        write(self.folder + "/plan.json", json.dumps(self.plan))
        for i in range(1, NODES + 1):
            self.start(i)
        return self.world() if world else None

    # -- workers -------------------------------------------------------------------

    def records(self):
        out = {}
        for name in os.listdir(self.folder):
            if name.startswith("w."):
                _, generation, rank = name.split(".")
                key = int(generation), int(rank)
                if key not in self.seen:
                    self.seen[key] = json.loads(content(f"{self.folder}/{name}"))
                out[key] = self.seen[key]
        return out

    def world(self, count=WORLD, after=0):
        """The workers of the newest generation, by rank, when all are connected."""
        def look():
            all_known = self.records()
            newest = max((x for x, _ in all_known), default=0)
            mine = {r: x for (e, r), x in all_known.items() if e == newest}
            if newest <= after or len(mine) != count:
                return None
            self.generation = newest
            return mine
        return await_it(f"a world of {count}", look)

    def order(self, rank, *words):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            try:
                to.sendto(json.dumps(words).encode(),
                          f"{self.folder}/o.{self.generation}.{rank}")
            except OSError:
                pass  # It has ended.

    def end_well(self):
        for rank in range(WORLD):
            self.order(rank, "end")

    def pause(self, low=0.0, high=0.15):
        time.sleep(self.roll.uniform(low, high))

    def victim(self):
        return self.roll.randrange(WORLD)

    # -- answers -------------------------------------------------------------------

    def await_end(self, index, code=None):
        x = self.agents[index]
        try:
            got = x.wait(WAIT_MAX)
        except subprocess.TimeoutExpired:
            raise Wrong(f"agent {index} does not end") from None
        if code is not None and got != code:
            raise Wrong(f"agent {index} ended with {got}, not {code}")
        return got

    def journal(self):
        folder = self.folder + "/state/actorrun/journal"
        try:
            return [x for x in os.listdir(folder) if x.endswith(".jsonl")]
        except OSError:
            return []

    def ask(self, *words):
        done = subprocess.run([f"{self.bin}/actorctl", *words],
                              env=self.environment(), text=True,
                              capture_output=True, timeout=WAIT_MAX,
                              preexec_fn=self.on_host("n1"))
        if done.stderr:
            raise Wrong(f"actorctl says: {done.stderr.strip()}")
        return done.returncode, [json.loads(x) for x in done.stdout.splitlines()]

    def why(self, code=1):
        got, lines = self.ask("why", "--json")
        if code is not None and got != code:
            raise Wrong(f"why ended with {got}, not {code}", lines[-1])
        return lines[-1]

    def await_why(self, condition, code=None):
        last = {}

        def look():
            got, lines = self.ask("why", "--json") if self.journal() else (3, [{}])
            last["x"] = lines[-1]
            return lines[-1] if lines[-1] and condition(lines[-1]) and (
                code is None or got == code) else None
        try:
            return await_it("an answer", look)
        except Wrong:
            raise Wrong("the answer stays wrong", last.get("x")) from None

    def remove(self):
        for pid in self.stopped:
            send(pid, signal.SIGCONT)
        for x in [*self.agents.values(), *self.others]:
            if x.poll() is None:
                x.kill()
            x.wait()
        for fn in reversed(self.undo):
            fn()
        # Their machine kills them with the agent.
        left = lambda: [x for x in self.seen.values() if is_alive(x["pid"])]
        try:
            await_it("all workers end", lambda: not left(), 5)
        except Wrong:
            for x in left():
                send(x["pid"], signal.SIGKILL)
        for i in range(NODES + 2) if self.namespaces else ():
            subprocess.run(["ip", "netns", "del", self.space(i)],
                           capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- namespaces ----------------------------------------------------------------

    def space(self, index):
        return f"corpus{os.getpid()}h{index}"

    def make_namespaces(self):
        """One for each agent, and one with the bridge between them."""
        self.namespaces = True
        bridge = self.space(0)
        run("ip", "netns", "add", bridge)
        run("ip", "-n", bridge, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", bridge, "link", "set", "bridge", "up")
        for i in range(1, NODES + 1):
            mine = self.space(i)
            run("ip", "netns", "add", mine)
            run("ip", "link", "add", f"port{i}", "netns", bridge, "type", "veth",
                "peer", "name", "cable", "netns", mine)
            run("ip", "-n", bridge, "link", "set", f"port{i}", "master", "bridge",
                "up")
            run("ip", "-n", mine, "addr", "add", f"{SUBNET}{i}/24", "dev", "cable")
            for link in ("lo", "cable"):
                run("ip", "-n", mine, "link", "set", link, "up")

    def cut(self, index):
        run("ip", "-n", self.space(0), "link", "set", f"port{index}", "down")


def is_alive(pid):
    text = content(f"/proc/{pid}/stat")
    return bool(text) and text.rsplit(")", 1)[1].split()[0] not in "ZX"


# -- what an answer must say -----------------------------------------------------------

def check(x, holds, text):
    if not holds:
        raise Wrong(text, x)


def expect_worker(s, x, rank, says, evidence=(), ranks_after=None):
    """The cause is this worker, for this reason."""
    cause = x.get("cause") or {}
    workers = s.seen
    known = workers.get((s.generation, rank))
    check(x, cause.get("kind") == "worker", "the cause is no worker")
    if cause["rank"] != rank and cause["misses_peer"] \
            and "may have failed first" in x["sentence"]:
        raise Unnamed(f"rank {rank} is not named", x)
    check(x, cause["rank"] == rank, f"rank {cause['rank']} is blamed for {rank}")
    if known:
        check(x, cause["host"] == known["host"], f"the host is {known['host']}")
        check(x, cause["local_rank"] == known["local_rank"], "local rank")
        check(x, cause["pid"] == known["pid"], "pid")
    expect_texts(x, says, evidence)
    after = x.get("failed_after_it", [])
    check(x, rank not in after, "the cause failed after itself")
    if ranks_after is not None:
        check(x, set(after) <= set(ranks_after), f"failed after it: {after}")


def expect_texts(x, says, evidence=()):
    for text in [says] if isinstance(says, str) else says:
        check(x, text in x["sentence"], f"the sentence does not say '{text}'")
    all_evidence = "\n".join(x["evidence"])
    for text in evidence:
        check(x, text in all_evidence, f"the evidence does not say '{text}'")


def expect_node(s, x, index, what, says=(), evidence=()):
    cause = x.get("cause") or {}
    check(x, cause.get("kind") == what, f"the cause is no {what}")
    check(x, cause["host"] == s.host(index), f"the host is {s.host(index)}")
    expect_texts(x, says, evidence)


def of_generation(s, generation):
    """What ended this generation, whatever came before and after it."""
    for x in s.ask("why", "--all", "--json")[1]:
        if x["generation"] == generation:
            return x
    raise Wrong(f"generation {generation} is not explained")


# -- deaths of workers -----------------------------------------------------------------

def ended_by(s, rank, says, evidence=(), code=1):
    """A job that has failed, or that goes on with its next generation."""
    before = s.generation
    if s.restarts == 0:
        for i in s.agents:
            s.await_end(i, code)
        x = s.why(1)
        check(x, x["state"] == "failed", "the job has failed")
        check(x, "--max-restarts is 0" in x["sentence"], "no restart is left")
    else:
        s.world(after=before)
        s.generation = before
        s.await_why(lambda x: x["state"] == "running", 0)
        x = s.why(0)
        check(x, "this cost restart 1 of 1" in x["sentence"], "what it cost")
    expect_worker(s, x, rank, says, evidence)
    return x


def dying(*order, says, evidence=(), react=None):
    def strike(s):
        s.restarts = s.roll.choice((0, 0, 1))
        if react:
            s.plan.update(react)
        s.start_all()
        s.pause()
        rank = s.victim()
        s.order(rank, *[x.format(bin=s.bin) for x in order])
        ended_by(s, rank, says, evidence)
    return strike


def add_deaths():
    for name, strike in {
        "exit_1": dying("exit", "1", says="exited with code 1"),
        "exit_3": dying("exit", "3", says="exited with code 3"),
        "exit_255": dying("exit", "255", says="exited with code 255"),
        "python_exception": dying(
            "raise", says="exited with code 1",
            evidence=["ValueError: shard 7 has no header", "its last lines"]),
        "error_file": dying(
            "error_file", says="ValueError: shard 7 has no header",
            evidence=["error file: ", "train()"]),
        "cpp_exception": dying(
            "exec", "{bin}/record_example", "throw",
            says=["SIGABRT", "std::runtime_error: shard 3 has no header"],
            evidence=["load_batch"]),
        "segv": dying("signal", "11", says="SIGSEGV"),
        "abort": dying("abort", says="SIGABRT"),
        "bus_error": dying("signal", "7", says="SIGBUS"),
        # Peers that notice at once, and end at once.
        "collateral_at_once": dying(
            "exit", "5", says="exited with code 5",
            react={"react": "exit", "react_ms": [0, 0]}),
        # All fail long after the first, by their own timeouts.
        "collateral_late": dying(
            "exit", "6", says="exited with code 6",
            react={"react_ms": [200, 600]}),
    }.items():
        KINDS[name] = (strike, ())


add_deaths()


def killing(number, says):
    def strike(s):
        s.restarts = s.roll.choice((0, 0, 1))
        workers = s.start_all()
        s.pause()
        rank = s.victim()
        send(workers[rank]["pid"], number)
        x = ended_by(s, rank, says)
        check(x, "memory" not in x["sentence"], "memory was not short")
    return strike


KINDS["killed_from_outside"] = (
    killing(signal.SIGKILL, "was killed by SIGKILL (signal 9)"), ())
KINDS["sigterm_to_worker"] = (
    killing(signal.SIGTERM, "was killed by SIGTERM (signal 15)"), ())


@kind(needs=("memory_group",))
def out_of_memory(s):
    group = MemoryGroup(f"actorrun_corpus_{os.getpid()}_{s.port}")
    s.undo.append(group.remove)
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i, group=group if i == 2 else None)
    workers = s.world()
    s.pause()
    rank = s.roll.choice([r for r, x in workers.items()
                          if x["host"] == s.host(2)])
    s.order(rank, "memory")
    ended_by(s, rank, ["killed by the kernel for memory", "192 MiB"],
             ["memory: "])


# -- deaths that take long, of workers whose peers end at once and say nothing ---------

# A closed connection ends them.
AT_ONCE = {"react": "silence", "react_ms": [0, 0]}


def slow_death(strike, says, **grown):
    def slow(s):
        s.restarts = s.roll.choice((0, 0, 1))
        rank = s.victim()
        s.plan.update(AT_ONCE)
        s.plan["grown"] = {rank: grown}
        workers = s.start_all()
        s.pause()
        strike(s, workers[rank])
        x = ended_by(s, rank, says)
        check(x, "memory" not in x["sentence"], "memory was not short")
    return slow


def kill(s, worker):
    send(worker["pid"], signal.SIGKILL)


def add_slow_deaths():
    for name, grown in {
        "killed": {},
        "killed_with_512_mib": {"mib": 512},
        "killed_with_4_gib": {"mib": 4096},
        "killed_with_512_mib_shared": {"mib": 512, "shared": True},
        "killed_with_4_gib_shared": {"mib": 4096, "shared": True},
        "killed_with_huge_pages": {"mib": 1024, "huge": True},
        "killed_with_300_threads": {"mib": 256, "shared": True, "threads": 300},
    }.items():
        KINDS[name + "_peers_at_once"] = (slow_death(
            kill, "was killed by SIGKILL (signal 9)", **grown), ())
    KINDS["segv_with_512_mib_peers_at_once"] = (slow_death(
        lambda s, x: s.order(x["rank"], "signal", "11"), "SIGSEGV", mib=512,
        shared=True), ())
    KINDS["sigterm_with_512_mib_peers_at_once"] = (slow_death(
        lambda s, x: send(x["pid"], signal.SIGTERM),
        "was killed by SIGTERM (signal 15)", mib=512, shared=True), ())


add_slow_deaths()


@kind()
def killed_and_seen_after_the_order(s):
    """The agent does not run while the worker dies, and then learns of both at once:
    of the death, and that all are to stop."""
    s.restarts = s.roll.choice((0, 0, 1))
    s.plan.update(AT_ONCE)
    workers = s.start_all()
    s.pause()
    index = s.roll.choice((2, 3))
    rank = s.roll.choice([r for r, x in workers.items()
                          if x["host"] == s.host(index)])
    agent = s.agents[index].pid
    send(agent, signal.SIGSTOP)
    s.stopped.append(agent)
    kill(s, workers[rank])
    # Less than the 0.9 s after which a silent node has ended its workers itself.
    time.sleep(s.roll.uniform(0.1, 0.3))
    send(agent, signal.SIGCONT)
    ended_by(s, rank, "was killed by SIGKILL (signal 9)")


@kind()
def killed_while_stopped(s):
    """That is told, and is not the cause."""
    s.plan["mesh"] = False
    first, second = s.roll.sample(range(WORLD), 2)
    number = s.roll.choice((signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV))
    s.plan["dies_at_stop"] = {second: int(number)}
    s.start_all()
    s.pause()
    s.order(first, "exit", "4")
    x = ended_by(s, first, "exited with code 4")
    check(x, x["failed_after_it"] == [second], f"rank {second} died, too")
    expect_texts(x, [], [f"{number.name} (signal {int(number)})"])


def memory_group(s):
    group = MemoryGroup(f"actorrun_corpus_{os.getpid()}_{s.port}")
    s.undo.append(group.remove)
    return group


@kind(needs=("memory_group",))
def out_of_memory_peers_at_once(s):
    """The agent is in the same control group."""
    group = memory_group(s)
    s.plan.update(AT_ONCE)
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i, group=group if i == 2 else None)
    workers = s.world()
    s.pause()
    rank = s.roll.choice([r for r, x in workers.items()
                          if x["host"] == s.host(2)])
    s.order(rank, "memory")
    ended_by(s, rank, ["killed by the kernel for memory", "192 MiB"],
             ["memory: "])


@kind(needs=("memory_group",))
def out_of_memory_in_its_own_group(s):
    """The worker alone is in that control group."""
    group = memory_group(s)
    s.plan.update(AT_ONCE)
    workers = s.start_all()
    s.pause()
    rank = s.victim()
    group.enter(workers[rank]["pid"])
    s.order(rank, "memory")
    ended_by(s, rank, ["was killed by "])


@kind()
def timer(s):
    s.start_all()
    s.pause()
    rank = s.victim()
    s.order(rank, "timer")
    ended_by(s, rank, ['"train_step" was not left within'], ["where it was"])


@kind()
def watchdog(s):
    s.options = ["--watchdog=500ms"]
    s.start_all()
    s.pause()
    rank = s.victim()
    s.order(rank, "watchdog")
    ended_by(s, rank, ['"watchdog" was not left within 500 ms'])


@kind()
def unkillable(s):
    s.variables["TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT"] = "0.3"
    s.nodes = "3"
    write(s.folder + "/plan.json", json.dumps(s.plan | {"mesh": False}))
    s.plan["mesh"] = False
    held = s.folder + "/held"
    os.mkdir(held)
    s.undo.append(lambda: write(held + "/release", ""))
    s.undo.append(lambda: time.sleep(0.2))
    for i in range(1, NODES + 1):
        s.start(i, program=[f"{s.bin}/held_worker", held] if i == 2 else None,
                more=["--shutdown-timeout=0"])
    s.await_end(2, 7)
    for i in (1, 3):
        s.await_end(i, 1)
    x = s.why()
    cause = x["cause"]
    # Its peers exit with 3 as soon as the one that cannot be killed is ready.
    check(x, cause["host"] == s.host(2), "the host")
    expect_texts(x, ["exited with code 3",
                     f"SIGKILL has not ended 1 worker on {s.host(2)}"])


@kind()
def deaf_at_stop(s):
    """A worker that ignores SIGTERM is killed in the end, and is no cause."""
    s.restarts = 1
    rank = s.victim()
    s.plan["deaf"] = [x for x in range(WORLD) if x != rank][:2]
    s.plan["mesh"] = False
    s.start_all()
    s.pause()
    s.order(rank, "exit", "4")
    x = s.await_why(lambda x: x["state"] == "stopping", 1)
    expect_worker(s, x, rank, ["exited with code 4"])
    expect_texts(x, [], [f"stops its workers since"])
    x = ended_by(s, rank, "exited with code 4")
    check(x, not x.get("failed_after_it"), "none failed after it")


@kind()
def two_failures(s):
    """Two that have nothing to do with each other, a moment apart."""
    s.plan["mesh"] = False
    s.start_all()
    s.pause()
    first, second = s.roll.sample(range(WORLD), 2)
    s.order(first, "exit", "11")
    time.sleep(s.roll.uniform(0.03, 0.3))
    s.order(second, "exit", "12")
    ended_by(s, first, "exited with code 11")


@kind()
def budget_used_up(s):
    s.restarts = 1
    s.start_all()
    s.pause()
    s.order(s.victim(), "exit", "3")
    s.world(after=s.generation)
    s.pause()
    rank = s.victim()
    s.order(rank, "raise")
    for i in s.agents:
        s.await_end(i, 1)
    x = s.why()
    expect_worker(s, x, rank, ["exited with code 1", "no restart was left"],
                  ["ValueError: shard 7"])
    check(x, x["generation"] % GENERATIONS_PER_TERM == 2, "the second generation")


# -- starts that fail ------------------------------------------------------------------

def refused(program, says, code):
    """No agent joins, so there is no job, and no journal."""
    def strike(s):
        x = s.start(2, program=program(s))
        s.await_end(2, code)
        for text in says:
            if text not in content(f"{s.folder}/out2"):
                raise Wrong(f"actorrun does not say '{text}'")
        if s.journal():
            raise Wrong("there is a journal")
    return strike


def not_started(program, says, code):
    def strike(s):
        s.restarts = 2
        for i in range(1, NODES + 1):
            s.start(i, program=program(s))
        for i in s.agents:
            s.await_end(i, code)
        x = s.why()
        check(x, x["cause"]["kind"] == "worker", "the cause is a worker")
        expect_texts(x, ["could not be started", *says])
    return strike


def file_with(text, mode):
    def make(s):
        path = s.folder + "/train"
        write(path, text)
        os.chmod(path, mode)
        return [path]
    return make


KINDS["no_program"] = (refused(
    lambda s: [s.folder + "/missing"], ["there is no program", "missing"], 127), ())
KINDS["no_execute_bit"] = (refused(
    file_with("#!/bin/sh\n", 0o644), ["train", "may not be executed"], 126), ())
KINDS["bad_interpreter"] = (not_started(
    file_with("#!/no/such/shell\n", 0o755), ["/no/such/shell"], 127), ())
KINDS["no_program_format"] = (not_started(
    file_with("no program\n", 0o755), ["train", "Exec format error"], 126), ())


@kind()
def start_fails_on_one_node(s):
    write(s.folder + "/plan.json", json.dumps(s.plan))
    odd = s.roll.randint(1, NODES)
    bad = file_with("#!/no/such/shell\n", 0o755)(s)
    for i in range(1, NODES + 1):
        s.start(i, program=bad if i == odd else None)
    for i in s.agents:
        s.await_end(i, 127)
    x = s.why()
    check(x, x["cause"]["kind"] == "worker", "the cause is a worker")
    check(x, x["cause"]["host"] == s.host(odd), f"the host is {s.host(odd)}")
    expect_texts(x, ["could not be started", "/no/such/shell"])


@kind()
def dies_at_start(s):
    """A generation that fails before its workers have met."""
    rank = s.victim()
    s.plan["dies_at_start"] = rank
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i)
    for i in s.agents:
        s.await_end(i, 1)
    x = s.why()
    cause = x["cause"]
    check(x, cause["kind"] == "worker" and cause["rank"] == rank, f"rank {rank}")
    expect_texts(x, ["exited with code 9"])


@kind()
def next_start_fails(s):
    """The program is gone when the job starts again."""
    s.restarts = 2
    program = s.folder + "/train"
    write(program, "#!/bin/sh\nexec " + " ".join(s.worker()) + "\n")
    os.chmod(program, 0o755)
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i, program=[program])
    s.world()
    s.pause()
    os.unlink(program)
    rank = s.victim()
    s.order(rank, "exit", "3")
    for i in s.agents:
        s.await_end(i, 127)
    x = s.why()
    check(x, x["generation"] % GENERATIONS_PER_TERM == 2, "the second generation")
    expect_texts(x, ["could not be started", "train", "No such file"])
    expect_worker(s, of_generation(s, s.generation), rank, "exited with code 3")


def small_disk(s, size):
    path = s.folder + "/small"
    os.mkdir(path)
    run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path)
    s.undo.append(lambda: run("umount", "-l", path))
    return path


@kind(needs=("root",))
def disk_full_at_start(s):
    disk = small_disk(s, "32k,nr_inodes=4")
    odd = s.roll.randint(1, NODES)
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i, log_dir=disk + "/logs" if i == odd else None)
    for i in s.agents:
        s.await_end(i)
    x = s.why()
    check(x, (x["cause"] or {}).get("host") == s.host(odd), "the host")
    expect_texts(x, ["No space left on device"])


@kind(needs=("root",))
def disk_full(s):
    disk = small_disk(s, "256k")
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i, log_dir=disk + "/logs" if i == 2 else None)
    workers = s.world()
    s.pause()
    rank = s.roll.choice([r for r, x in workers.items()
                          if x["host"] == s.host(2)])
    s.order(rank, "fill_log")
    for i in s.agents:
        s.await_end(i, 1)
    x = s.why()
    expect_worker(s, x, rank, ["exited with code", "no space is left on the disk"])


@kind()
def busy_master_port(s):
    """Its program cannot listen, because another program does."""
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        program = [sys.executable, "-S", "-E", "-c",
                   "import os, socket, time\n"
                   "if os.environ['RANK'] != '0': time.sleep(60)\n"
                   f"socket.create_server(('127.0.0.1', {busy.getsockname()[1]}))"]
        for i in range(1, NODES + 1):
            s.start(i, program=program, more=["--no-agent-store"])
        for i in s.agents:
            s.await_end(i, 1)
    x = s.why()
    check(x, x["cause"]["rank"] == 0, "rank 0")
    expect_texts(x, ["exited with code 1", "Address already in use"])


# -- nodes -----------------------------------------------------------------------------

def after_loss(s, index, what, says):
    """The others wait for one more node, or go on without it."""
    elastic = s.nodes != str(NODES)
    before = s.generation
    if elastic:
        s.world(count=WORLD - SLOTS, after=before)
        s.await_why(lambda x: x["state"] == "running")
        x = s.why(0)
    else:
        x = s.await_why(lambda x: x["state"] == "gathering", 1)
        expect_texts(x, ["Waiting for 1 more node", "gives up in"],
                     [s.host(index)])
    x = of_generation(s, before)
    expect_node(s, x, index, what, says + ["this cost no restart"])


def lost(s, index, says=()):
    after_loss(s, index, "node_lost", [f"node {s.host(index)} (ranks ",
                                       " was lost: ", *says])


@kind()
def agent_killed(s):
    s.nodes = s.roll.choice(("3", "2:3"))
    s.restarts = 1
    s.start_all()
    s.pause()
    index = s.roll.choice((2, 3))
    s.agents[index].kill()
    lost(s, index)


@kind()
def agent_stopped(s):
    s.nodes = s.roll.choice(("3", "2:3"))
    s.restarts = 1
    s.start_all()
    s.pause()
    index = s.roll.choice((2, 3))
    pid = s.agents[index].pid
    s.stopped.append(pid)
    send(pid, signal.SIGSTOP)
    lost(s, index, ["silent for "])


@kind(needs=("netns",))
def node_cut_off(s):
    s.make_namespaces()
    s.nodes = s.roll.choice(("3", "2:3"))
    s.restarts = 1
    s.start_all()
    s.pause()
    index = s.roll.choice((2, 3))
    s.cut(index)
    lost(s, index, ["silent for "])


@kind()
def agent_ended(s):
    s.nodes = s.roll.choice(("3", "2:3"))
    s.restarts = 1
    s.start_all()
    s.pause()
    index = s.roll.choice((2, 3))
    s.agents[index].send_signal(signal.SIGTERM)
    after_loss(s, index, "node_left",
               [f"node {s.host(index)} (ranks ", " left: ", "SIGTERM"])


@kind()
def coordinator_gone(s):
    """Its agents have no one to ask; `why` says so at once."""
    s.start_all()
    s.pause()
    s.await_why(lambda x: x["state"] == "running", 0)
    s.agents[1].kill()
    s.agents[1].wait()
    x = s.why(1)
    expect_texts(x, ["ended without an outcome", s.host(1)])
    check(x, x["state"] == "lost", "the coordinator is lost")


@kind()
def coordinator_restarted(s):
    """A worker's death is explained by the one that comes after."""
    s.restarts = 1
    s.conf = ",read_timeout=15"
    first = s.coordinator()
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i, host=False)
    s.world()
    s.pause()
    first.kill()
    first.wait()
    s.coordinator()
    x = s.await_why(lambda x: x["state"] == "running", 0)
    expect_texts(x, ["taken over"])
    s.pause()
    rank = s.victim()
    s.order(rank, "exit", "7")
    ended_by(s, rank, "exited with code 7")


@kind()
def stopped_by_operator(s):
    s.start_all()
    s.pause()
    s.agents[1].send_signal(signal.SIGINT)
    for i in s.agents:
        s.await_end(i)
    x = s.why(1)
    check(x, x["state"] == "stopped", "the job was stopped")
    check(x, x["cause"]["kind"] == "operator", "the operator")
    expect_texts(x, ["SIGINT", s.host(1)])


@kind()
def gpu_fault(s):
    """A GPU goes, and the worker that uses it fails."""
    s.variables = {f"ACTORRUN_{x}_LIBRARY": s.bin
                   + "/../tests/libgpu_standin.so"
                   for x in ("NVML", "CUDA", "ZE")}
    world = "".join(f"gpu uuid=GPU-{i} name=NVIDIA_H200 "
                    f"pci=00000000:{i}5:00.0 used=1 total=2 util=8 temp=5\n"
                    for i in range(3))
    for i in range(1, NODES + 1):
        write(f"{s.folder}/world{i}", world)
    write(s.folder + "/plan.json", json.dumps(s.plan))
    for i in range(1, NODES + 1):
        s.start(i, variables={
            "ACTORRUN_GPU_STANDIN": f"{s.folder}/world{i}"})
    workers = s.world()
    s.pause(0.1, 0.3)
    rank = s.victim()
    node = int(workers[rank]["host"][1:])
    gpu = workers[rank]["local_rank"]
    write(f"{s.folder}/next", world + f"xid {gpu} 79\n")
    os.rename(f"{s.folder}/next", f"{s.folder}/world{node}")
    time.sleep(s.roll.uniform(0.3, 0.5))
    s.order(rank, "exit", "1")
    ended_by(s, rank, ["exited with code 1", f"GPU {gpu}", "XID 79"])


# -- waiting ---------------------------------------------------------------------------

@kind()
def waits_for_nodes(s):
    s.restarts = 1
    write(s.folder + "/plan.json", json.dumps(s.plan))
    s.start(1)
    here = s.roll.randint(1, 2)
    for i in range(2, here + 1):
        s.start(i)
    text = f"{here} of 3 nodes are here"
    x = s.await_why(lambda x: text in x["sentence"], 1)
    check(x, x["state"] == "gathering", "it gathers")
    count = NODES - here
    expect_texts(x, [f"Waiting for {count} more node", "for ", "gives up in"],
                 [f"here: {s.host(i)}" for i in range(1, here + 1)])


@kind()
def gives_up_waiting(s):
    s.conf = ",join_timeout=700ms"
    s.start(1)
    s.start(2)
    for i in s.agents:
        s.await_end(i, 3)
    x = s.why(1)
    check(x, x["state"] == "unmet", "it gave up")
    check(x, x["cause"]["kind"] == "too_few_nodes", "too few nodes")
    expect_texts(x, ["2 of 3 nodes"])


@kind()
def waits_in_last_call(s):
    s.nodes = "2:4"
    write(s.folder + "/plan.json", json.dumps(s.plan))
    s.rdzv_conf = lambda host: (f"--rdzv-conf=quiet_period=8s,is_host={host}")
    for i in range(1, NODES + 1):
        s.start(i)
    x = s.await_why(lambda x: "3 of 2:4" in x["sentence"], 1)
    check(x, x["state"] == "last_call", "the last call")
    expect_texts(x, ["Last call for more nodes", "begins with those", " at the latest"],
                 [f"here: {s.host(i)}" for i in range(1, NODES + 1)])


@kind()
def stands_by(s):
    s.nodes = "2"
    write(s.folder + "/plan.json", json.dumps(s.plan))
    s.start(1)
    s.start(2)
    s.world(count=2 * SLOTS)
    s.start(3)
    x = s.await_why(lambda x: "1 node stands by" in x["sentence"], 0)
    check(x, x["state"] == "running", "it runs")
    expect_texts(x, ["the maximum is 2 nodes", "stands by"], [s.host(3)])


@kind()
def success(s):
    s.start_all()
    s.pause()
    s.end_well()
    for i in s.agents:
        s.await_end(i, 0)
    x = s.why(0)
    check(x, x["state"] == "succeeded", "it succeeded")
    check(x, not x.get("cause"), "nothing is blamed")


# -- all of them -----------------------------------------------------------------------

def try_once(bin_folder, name, seed):
    """None if the answers were right; otherwise what was wrong, with the answer."""
    strike, _ = KINDS[name]
    s = Scene(bin_folder, seed)
    sentence = ""
    try:
        strike(s)
        if s.journal():
            sentence = s.ask("why", "--json")[1][-1]["sentence"]
        return None, sentence
    except (Wrong, RuntimeError, KeyError, TypeError) as why:
        text = " ".join(json.dumps(x) if isinstance(x, dict) else str(x)
                        for x in why.args)
        if not isinstance(why, Wrong):
            text = f"{type(why).__name__}: {text}"
        for i in s.agents:
            text += f"\n    n{i}: " + content(f"{s.folder}/out{i}")[-1500:].replace(
                "\n", "\n      ")
        return ("UNNAMED " if isinstance(why, Unnamed) else "WRONG ") + text, sentence
    finally:
        s.remove()


def report(results, seed):
    lines = ["| kind | right | `why` |", "|---|---|---|"]
    for name, (right, tried, sentence) in results.items():
        lines.append(f"| {name} | {right} of {tried} | {sentence} |")
    right = sum(x[0] for x in results.values())
    tried = sum(x[1] for x in results.values())
    return "\n".join(lines) + f"\n\nseed {seed}: {right} of {tried} right\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1]
                                     .split("\n\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int,
                        default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--kinds")
    parser.add_argument("--report")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(KINDS))
        return
    names = options.kinds.split(",") if options.kinds else list(KINDS)
    for x in names:
        if x not in KINDS:
            parser.error(f"there is no kind '{x}'")
    bin_folder = os.path.realpath(options.bin)
    print(f"seed {options.seed}", flush=True)
    results, wrong = {}, 0
    for name in list(names):
        lacks = [f"{x}: {why}" for x in KINDS[name][1] if (why := obstacle(x))]
        if lacks:
            print(f"SKIPPED {name}: {'; '.join(lacks)}", flush=True)
            names.remove(name)
    for i in range(options.times):
        for name in names:
            began = time.monotonic()
            trouble, sentence = try_once(bin_folder, name,
                                         f"{options.seed} {name} {i}")
            right, tried, said = results.get(name, (0, 0, ""))
            results[name] = (right + (trouble is None), tried + 1, sentence or said)
            print(f"{time.monotonic() - began:5.1f} s  {name}: "
                  + (sentence if trouble is None else trouble), flush=True)
            wrong += trouble is not None
        if options.report:
            write(options.report, report(results, options.seed))
    print("\n" + report(results, options.seed))
    sys.exit(1 if wrong else 0 if results else 77)


if __name__ == "__main__":
    main()
