"""A worker program that asks to be interrupted, for interrupt_test.py."""
import os
import sys
import threading
import time

import actorrun

way = sys.argv[1]


def say(text):
    print(text, flush=True)


def loop(generation):
    say("works")
    count = 0
    while True:
        count += 1


def sleep(generation):
    say("works")
    time.sleep(1000)


def lock(generation):
    held = threading.Lock()
    held.acquire()
    say("works")
    held.acquire()


def try_again(generation):
    say("works")
    while True:
        try:
            time.sleep(0.001)
            raise ValueError("transient")
        except Exception:
            pass


def clean_up(generation):
    try:
        say("works")
        time.sleep(1000)
    finally:
        # Longer than the time after which hooks are called again.
        time.sleep(1)
        say("cleaned up")


def save(generation):
    def write():
        say("saves")
        sys.stdin.readline()
        say("saved")

    step = 0
    while True:
        step += 1
        generation.safe_point(step, write)


def behind(generation):
    # The block ends by itself when the generation is over, and nothing comes behind it.
    say("works")
    try:
        time.sleep(1000)
    except actorrun.Interrupt:
        pass


def steps(generation):
    say("works")
    step = 0
    while True:
        step += 1
        generation.safe_point(step)


def run():
    for generation in actorrun.generations(interrupt=way != "deaf"):
        say(f"generation {generation.number}")
        with generation:
            globals()[way](generation)
        if way == "behind":
            time.sleep(1)
            say("behind")
    say("ended")


def deaf(generation):
    say("works")
    time.sleep(1)
    say("slept")
    generation.raise_if_over()


try:
    if way == "thread":
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    else:
        run()
except Exception as error:
    say(f"failed {type(error).__name__}")
    sys.exit(1)
