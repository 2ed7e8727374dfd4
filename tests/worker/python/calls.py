"""Functions that workers call in launch_test.py and tests/torch/launcher_test.py.

They import neither torch nor the package, so a worker starts quickly.
"""
import os
import signal
import sys
import time

LONG = 1000  # Seconds; what waits so long is ended by a test.


class Value:
    def __init__(self, x):
        self.x = x


def rank():
    return int(os.environ["RANK"])


def times(a, b):
    return Value(a * rank() + b)


def variable(name):
    return os.environ.get(name)


def fails(which, kind="raise"):
    """Fails on one rank; the others wait."""
    if rank() != which:
        time.sleep(LONG)
    if kind == "raise":
        raise ValueError("no data")
    if kind == "exit":
        sys.exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def once(which):
    """Fails in the first generation, on one rank."""
    generation = int(os.environ["ACTORRUN_GENERATION"])
    if generation == 1 and rank() == which:
        os.kill(os.getpid(), signal.SIGKILL)
    if generation == 1:
        return "from the first generation"
    return generation


def leave():
    """Ends without a value."""
    os._exit(0)


def put(queue):
    queue.put(rank())


def signal_parent(pid, number):
    """Sends the launching process a signal, and waits for what comes of it."""
    os.kill(pid, number)
    time.sleep(LONG)


def signal_parent_and_return(pid, number):
    os.kill(pid, number)
    return number


def unpicklable():
    return lambda: None


def add(a, b):
    print(f"adds {a}", flush=True)
    print(f"and {b}", file=sys.stderr, flush=True)
    return a + b, os.environ.get("GIVEN"), os.environ.get("RANK")
