"""Has gloo's groups live through changes, with agents that speak by hand.

    live_gloo.py PYTHON_PACKAGE          the test; exit code 77: there is no torch
    live_gloo.py PYTHON_PACKAGE worker   one rank of it

A rank whose generation has HANGS in its environment hangs before its group, when the others
know its address but it connects to none, or when all but the last barrier is done.
"""
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

TIMEOUT = 60  # Seconds; a test that passes never waits that long.
WORLD = 4

sys.path.insert(0, sys.argv[1])


def work():
    import actorrun
    import actorrun.torch  # Aborts what waits, and destroys what is left.
    import torch
    import torch.distributed as dist

    for generation in actorrun.generations():
        with generation:
            hang_as_told(dist)
            dist.init_process_group("gloo")
            step = 0
            while True:
                step += 1
                generation.safe_point(step)
                x = torch.ones(1000)
                dist.all_reduce(x)
                assert x[0] == generation.world_size
    assert not dist.is_initialized()


def hang(*_):
    print("hangs", flush=True)
    while True:
        signal.pause()


def hang_as_told(dist):
    where = os.environ.get("HANGS")
    if where == "before":
        hang()
    elif where == "barrier":
        dist.distributed_c10d._store_based_barrier = hang
    elif where == "address":
        hang_with_address(dist)


# All others have said where they are, too, when it hangs.
def hang_with_address(dist):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store, _, _ = next(dist.rendezvous("env://", rank, size))

    class Hanging(dist.Store):
        def set(self, key, value):
            self.key = key
            store.set(key, value)

        def get(self, key):
            if self.key.endswith(f"/{rank}"):  # Its own address.
                folder = self.key[:-len(str(rank))]
                store.wait([folder + str(i) for i in range(size)])
                hang()
            return store.get(key)

        def wait(self, keys, *_):
            self.get(keys[0])

    own = Hanging()  # Its Python side is not kept alive by a group.
    dist.init_process_group("gloo", rank=rank, world_size=size,
                            store=dist.PrefixStore("default_pg", own))


def free_port():
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        return x.getsockname()[1]


class Rank:
    def __init__(self, folder, number):
        path = f"{folder}/{number}"
        self.agent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.agent.bind(path)
        self.agent.listen()
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, sys.argv[1], "worker"],
            stdout=subprocess.PIPE,
            env=dict(os.environ, ACTORRUN_CONTROL=path, MASTER_ADDR="127.0.0.1",
                     GLOO_SOCKET_IFNAME="lo"))

    def accept(self):
        self.agent.settimeout(TIMEOUT)
        self.link, _ = self.agent.accept()
        self.link.settimeout(TIMEOUT)
        assert self.hear()["type"] == "hello"

    def hear(self):
        data = self.link.recv(4096)
        assert data, "it has hung up"
        return json.loads(data)

    def tell(self, **order):
        self.link.send(json.dumps(order).encode())

    def tell_generation(self, number, rank, size, port, **more):
        self.tell(type="generation", generation=number,
                  environment={"RANK": str(rank), "WORLD_SIZE": str(size),
                               "MASTER_PORT": str(port), **more})

    def await_hanging(self):
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        assert ready and self.process.stdout.readline() == b"hangs\n"

    def await_step(self, step):
        while self.hear().get("step", 0) < step:
            pass

    def await_word(self, kind):
        while (word := self.hear())["type"] == "at":
            pass
        assert word["type"] == kind, word
        return word

    def await_parked(self):
        while (word := self.hear())["type"] in ("at", "trouble"):
            pass
        return word


def await_trouble(ranks):
    links = {x.link: x for x in ranks}
    while True:
        ready, _, _ = select.select(list(links), [], [], TIMEOUT)
        assert ready
        if any([links[x].hear()["type"] == "trouble" for x in ready]):
            return


def begin(ranks, number, **more):
    port = free_port()
    for i, x in enumerate(ranks):
        x.tell_generation(number, i, len(ranks), port, **more)
    for x in ranks:
        x.await_step(10)


def regroup(ranks, number):
    start = time.monotonic()
    for x in ranks:
        x.tell(type="regroup", reason="a test", seconds=30.0)
    for x in ranks:
        assert x.await_parked() == {"type": "parked", "generation": number}
    took = time.monotonic() - start
    print(f"generation {number}: all parked after {1000 * took:.0f} ms", flush=True)
    assert took < 20


# As the agents do: none waits for another in a collective when all have stopped.
def stop_at_safe_point(ranks, number):
    for x in ranks:
        x.tell(type="hold")
    step = max(x.await_word("held")["step"] for x in ranks)
    for x in ranks:
        x.tell(type="stop_at", step=step)
    for x in ranks:
        assert x.await_word("reached") == {"type": "reached", "generation": number,
                                           "step": step}


# One dies while the others wait for it in init_process_group; another takes its place.
# The store is in another process, as that of an agent: a rank 0 that has it itself holds
# Python's lock while it waits for the others, so that none can help it.
def replace_while_they_begin(ranks, number, where, new):
    store = dist.TCPStore("127.0.0.1", free_port(), is_master=True,
                          wait_for_workers=False)
    for i, x in enumerate(ranks):
        x.tell_generation(number, i, len(ranks), store.port,
                     HANGS=where if i == 1 else "",
                     TORCHELASTIC_RESTART_COUNT="0",
                     TORCHELASTIC_USE_AGENT_STORE="True")
    ranks[1].await_hanging()
    ranks[1].process.kill()
    ranks[1].process.wait()
    regroup(ranks[:1] + ranks[2:], number)
    ranks[1] = new
    new.accept()
    begin(ranks, number + 1, TORCHELASTIC_USE_AGENT_STORE="")
    regroup(ranks, number + 1)


def check_beginnings(folder):
    ranks = [Rank(folder, i) for i in range(3)]
    new = []
    try:
        for x in ranks:
            x.accept()
        for i, where in enumerate(("before", "address", "barrier")):
            new.append(Rank(folder, 3 + i))
            replace_while_they_begin(ranks, 1 + 2 * i, where, new[-1])
        for x in ranks:
            x.tell(type="stop", reason="the end", seconds=30.0)
        assert [x.process.wait(TIMEOUT) for x in ranks] == [0, 0, 0]
    finally:
        for x in ranks + new:
            x.process.kill()
            x.process.wait()


def check(folder):
    ranks = [Rank(folder, i) for i in range(WORLD)]
    try:
        for x in ranks:
            x.accept()
        begin(ranks, 1)
        regroup(ranks, 1)  # In whatever collective they are.
        begin(ranks, 2)
        # One that hangs: the system closes no connection, so nothing fails by itself.
        ranks[1].process.send_signal(signal.SIGSTOP)
        left = [x for x in ranks if x is not ranks[1]]
        time.sleep(0.2)
        regroup(left, 2)
        begin(left, 3)
        left[2].process.kill()  # A neighbour notices it before it is told.
        left.pop().process.wait()
        await_trouble(left)
        regroup(left, 3)
        begin(left, 4)
        stop_at_safe_point(left, 4)
        regroup(left, 4)
        begin(left, 5)
        # The second one sees the end of the first before its own order.
        for x in left:
            x.tell(type="stop", reason="the end", seconds=30.0)
            if x is left[0]:
                await_trouble(left[1:])
        assert [x.process.wait(TIMEOUT) for x in left] == [0, 0]
    finally:
        for x in ranks:
            x.process.kill()
            x.process.wait()


if __name__ == "__main__":
    if sys.argv[2:] == ["worker"]:
        work()
        sys.exit()
    try:
        import torch.distributed as dist
        assert dist.is_gloo_available() if hasattr(dist, "is_gloo_available") \
            else dist.is_available()
    except (ImportError, AssertionError):
        print("skipped: no torch with gloo")
        wanted = os.environ.get("ACTORRUN_NO_SKIP", "").split(",")
        sys.exit(1 if {"torch", "all"} & set(wanted) else 77)
    with tempfile.TemporaryDirectory() as name:
        check(name)
    with tempfile.TemporaryDirectory() as name:
        check_beginnings(name)
    print("all is well")
