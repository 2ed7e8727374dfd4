"""A worker of the corpus: it is connected to each of its peers, as collective
libraries are, fails when one of them is gone, and otherwise does what it is told.

usage: worker.py FOLDER

FOLDER/plan.json has what all workers do; w.GENERATION.RANK appears when a worker is
connected; o.GENERATION.RANK is the socket that takes orders.
"""
import json
import mmap
import os
import random
import select
import signal
import socket
import sys
import threading
import time

folder = sys.argv[1]
rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
generation = os.environ["ACTORRUN_GENERATION"]
with open(folder + "/plan.json") as plan_file:
    plan = json.load(plan_file)
LIFE_MAX = 120.0  # Seconds; no process of a test stays for ever.
roll = random.Random(f"{plan['seed']} {generation} {rank}")
hog = []
MADV_HUGEPAGE = 14


def path_of(kind, which):
    return f"{folder}/{kind}.{generation}.{which}"


def meet():
    """Connects this worker to all others. Sockets survive an exec."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path_of("s", rank))
    server.listen(world)
    peers = {}
    for other in range(rank):
        while True:
            peer = socket.socket(socket.AF_UNIX)
            try:
                peer.connect(path_of("s", other))
                break
            except OSError:
                peer.close()
                time.sleep(0.003)
        peer.sendall(bytes([rank]))
        peers[peer] = other
    for _ in range(world - 1 - rank):
        peer, _ = server.accept()
        peers[peer] = peer.recv(1)[0]
    for peer in peers:
        os.set_inheritable(peer.fileno(), True)
    return peers


def lose(other):
    low, high = plan["react_ms"]
    time.sleep(roll.uniform(low, high) / 1e3)
    text = f"Connection closed by peer: rank {other}"
    if plan["react"] == "exit":
        os.write(2, (text + "\n").encode())
        os._exit(1)
    if plan["react"] == "silence":
        os._exit(1)
    raise ConnectionError(text)


def leave_error_file(text):
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump({"message": {"message": text, "extraInfo": {
            "py_callstack": f"Traceback\n  train()\n{text}\n",
            "timestamp": str(int(time.time()))}}}, file)


def set_timer():
    line = json.dumps({"version": 1, "pid": os.getpid(), "scope_id": "train_step",
                       "expiration_time": time.time() + 0.3, "signal": 9})
    with open(os.environ["TORCHELASTIC_TIMER_FILE"], "w") as file:
        file.write(line + "\n")


def notify(text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(text.encode(), os.environ["NOTIFY_SOCKET"])


def fill_log():
    while True:
        print("step done, loss 0.123 " * 100, flush=True)


def use_memory():
    while True:
        hog.append(b"x" * (4 << 20))


def grow(what):
    """Makes the end of this worker take long: memory that it has used, threads."""
    size = what.get("mib", 0) << 20
    if size:
        flags = mmap.MAP_SHARED if what.get("shared") else mmap.MAP_PRIVATE
        area = mmap.mmap(-1, size, flags | mmap.MAP_ANONYMOUS)
        if what.get("huge"):
            area.madvise(MADV_HUGEPAGE)
        chunk = bytes([1]) * (16 << 20)
        for at in range(0, size, len(chunk)):
            area[at:at + len(chunk)] = chunk[:size - at]
        hog.append(area)
    for _ in range(what.get("threads", 0)):
        threading.Thread(target=time.sleep, args=(LIFE_MAX,), daemon=True).start()


def die_at_stop(number):
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), number))


def obey(words, peers):
    what = words[0]
    if what == "end":
        for peer in peers:
            try:
                peer.sendall(b"e")
            except OSError:
                pass  # It has ended before.
        sys.exit(0)
    elif what == "exit":
        sys.exit(int(words[1]))
    elif what == "raise":
        raise ValueError("shard 7 has no header")
    elif what == "error_file":
        leave_error_file("ValueError: shard 7 has no header")
        sys.exit(1)
    elif what == "exec":
        os.execv(words[1], words[1:])
    elif what == "signal":
        os.kill(os.getpid(), int(words[1]))
    elif what == "abort":
        os.abort()
    elif what == "memory":
        use_memory()
    elif what == "timer":
        set_timer()
        time.sleep(LIFE_MAX)
    elif what == "watchdog":
        notify("WATCHDOG=1")
        time.sleep(LIFE_MAX)
    elif what == "fill_log":
        fill_log()


def main():
    if rank in plan["deaf"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if str(rank) in plan["dies_at_stop"]:
        die_at_stop(plan["dies_at_stop"][str(rank)])
    grow(plan["grown"].get(str(rank), {}))
    if plan["dies_at_start"] == rank:
        sys.exit(9)
    peers = meet() if plan["mesh"] else {}
    orders = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    orders.bind(path_of("o", rank))
    with open(path_of("w~", rank), "w") as file:
        json.dump({"pid": os.getpid(), "host": os.uname().nodename, "rank": rank,
                   "local_rank": int(os.environ["LOCAL_RANK"])}, file)
    os.rename(path_of("w~", rank), path_of("w", rank))
    due = time.monotonic() + LIFE_MAX
    while time.monotonic() < due:
        for ready in select.select([orders, *peers], [], [], 10)[0]:
            if ready is orders:
                obey(json.loads(orders.recv(65536)), peers)
            else:
                try:
                    said = ready.recv(1)
                except OSError:
                    said = b""
                other = peers.pop(ready)
                ready.close()
                if not said:
                    lose(other)


main()
