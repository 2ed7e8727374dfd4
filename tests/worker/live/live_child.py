"""A worker program in Python that lives through changes, for live_test.py.

The C++ and the C one (live_child.cpp, live_child_c.c) do and print the same.
"""
import os
import sys
import threading
import time

import actorrun

way = sys.argv[1]


def say(text):
    print(text, flush=True)


def describe(generation):
    say(f"generation {generation.number} rank {generation.rank}/{generation.world_size}"
        f" local {generation.local_rank} survivors {generation.survivors!r}"
        f" restarts {generation.restarts} reason {generation.reason}"
        f" port {os.environ.get('MASTER_PORT', '')}"
        + (" ahead" if "ACTORRUN_AHEAD" in os.environ else ""))


def wait(generation):
    generation.wait_over(30)
    generation.raise_if_over()
    raise RuntimeError("nothing came")


def flag(generation):
    while not generation.is_over:
        time.sleep(0.001)
    say("flag")


def fail(generation):
    if not generation.restarts:
        raise ValueError("first line\nsecond line")


def steps(generation):
    step = 0
    while True:
        step += 1
        try:
            generation.safe_point(step)
        except actorrun.Regroup:
            say(f"stopped at {step}")
            raise
        if way == "steps":
            time.sleep(0.005)


def ordered(generation):
    # Does what the lines of its input say, one after the other.
    while line := sys.stdin.readline():
        word, step = line.split()
        step = int(step)

        def save():
            assert stops.pop() == "stop"  # Called once before each.
            say(f"save {step}")
            if word == "fail":
                raise OSError("first line\nsecond line")
            if word == "wait":
                sys.stdin.readline()

        try:
            if word == "step":
                generation.safe_point(step)
            elif word == "fork":
                fork_at(generation, step)
            else:
                generation.safe_point(step, save)
        except actorrun.Regroup:
            say(f"over at {step}")
            raise
        say(f"past {step}")


def hook(generation):
    # Waits for something that only the hook brings.
    unblocked.wait(30)
    unblocked.clear()
    raise OSError("unblocked")


def fork_at(generation, step):
    child = os.fork()
    if child == 0:
        generation.safe_point(step)
        os._exit(1 if generation.is_over or generation.wait_over(0.01) else 0)
    say(f"child {os.waitpid(child, 0)[1]}")


def fork(generation):
    fork_at(generation, 7)
    wait(generation)


def watch(generation):
    # Another thread waits as long as the generation is this program's.
    def see():
        say("watches")
        say(f"watch {int(generation.wait_over(3600))}")

    watcher = threading.Thread(target=see)
    watcher.start()
    watchers.append(watcher)
    sys.stdin.readline()


watchers = []
unblocked = threading.Event()
calls = []


stops = []
actorrun.on_stop(lambda: stops.append("stop"))


def on_regroup(reason):
    calls.append(reason)
    if len(calls) == 1:
        say(f"hook {reason}")
    if len(calls) >= 2 or way == "hook":
        unblocked.set()


def exit_in_hook(reason):
    sys.exit("no")


def start_none(thread):
    # As Python says it where the system has none left.
    raise RuntimeError("can't start new thread")


if way == "exit":
    actorrun.on_regroup(exit_in_hook)
if way == "threadless":
    threading.Thread.start = start_none
if way in ("hook", "hook_again"):
    actorrun.on_regroup(on_regroup)

ways = {"done": lambda generation: None, "wait": wait, "flag": flag, "fail": fail,
        "steps": steps, "spin": steps, "ordered": ordered, "hook": hook,
        "hook_again": hook, "fork": fork, "watch": watch, "exit": wait,
        "threadless": lambda generation: None}
try:
    for generation in actorrun.generations():
        describe(generation)
        with generation:
            ways[way](generation)
        while watchers:
            watchers.pop().join()
    say("ended")
except Exception as error:
    say(f"failed {type(error).__name__}")
    sys.exit(1)
