"""Starts jobs one after the other, programs and functions in turn, and looks for what they
leave. For takeover.sh.

    alternate.py COUNT
"""
import os
import sys
import tempfile
import time


def f(x):
    return x


def state(folder):
    with open("/proc/self/task/%d/children" % os.getpid()) as file:
        children = file.read().split()
    threads = len(os.listdir("/proc/self/task"))
    return len(os.listdir("/proc/self/fd")), children, threads, sorted(os.listdir(folder))


def main(count):
    import torch
    if not hasattr(torch, "_import_device_backends"):  # Before 2.5 torch does not call it.
        from actorrun import _takeover
        _takeover.autoload()
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    folder = tempfile.mkdtemp()
    os.environ["TMPDIR"] = tempfile.tempdir = folder

    def config():
        return LaunchConfig(1, 1, 2, run_id="x", rdzv_backend="c10d",
                            rdzv_endpoint="localhost:0", max_restarts=0)

    before, begin = None, time.monotonic()
    for i in range(count):
        kind = i % 3
        if kind == 0:
            assert elastic_launch(config(), f)(i) == {0: i, 1: i}
        elif kind == 1:
            assert elastic_launch(config(), "true")() == {0: None, 1: None}
        else:
            try:
                elastic_launch(config(), "false")()
                raise AssertionError("it has not failed")
            except ChildFailedError:
                pass
        now = state(folder)
        if i == 2:
            before = now
        elif i > 2 and now != before:
            sys.exit(f"start {i} leaves something: {before} {now}")
    seconds = time.monotonic() - begin
    print(f"{count} starts, {seconds * 1000 / count:.0f} ms each; nothing is left:"
          f" {before[0]} descriptors, {before[2]} threads")


if __name__ == "__main__":
    main(int(sys.argv[1]))
