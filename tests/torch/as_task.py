"""Starts a function as the workers of a job as an orchestrator of tasks does: a value from
rank 0, one error for all workers, and a way out at a signal. For takeover.sh.
"""
import os
import signal
import sys

import torch

if not hasattr(torch, "_import_device_backends"):  # Before 2.5 torch does not call it.
    from actorrun import _takeover
    _takeover.autoload()

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

try:
    import cloudpickle
except ImportError:
    cloudpickle = None


class Recoverable(Exception):
    pass


def helper(pickled, *args):
    """What is called in a worker: the task itself travels as bytes."""
    return {"value": cloudpickle.loads(pickled)(*args), "rank": int(os.environ["RANK"])}


def as_task(task, *args, start_method="spawn", workers=2):
    low, high = run.parse_min_max_nnodes("1:1")
    config = LaunchConfig(
        run_id="none", min_nodes=low, max_nodes=high, nproc_per_node=workers,
        rdzv_backend="c10d", rdzv_configs={"timeout": 900, "join_timeout": 900},
        rdzv_endpoint=os.environ.get("PET_RDZV_ENDPOINT", "localhost:0"), max_restarts=0,
        monitor_interval=3, start_method=start_method)
    if start_method == "spawn" and cloudpickle:
        entrypoint, given = helper, (cloudpickle.dumps(task), *args)
    else:
        def entrypoint():
            return {"value": task(*args), "rank": int(os.environ["RANK"])}
        given = ()
    try:
        out = elastic_launch(config=config, entrypoint=entrypoint)(*given)
    except ChildFailedError as error:
        _, failure = error.get_first_failure()
        if failure.exitcode == 75:
            raise Recoverable(error.format_msg())
        raise RuntimeError(error.format_msg())
    except SignalException as error:
        print(f"the launch ends at {error.sigval.name}", flush=True)
        return None
    return out[0]["value"]


def total(a, b):
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    x = torch.tensor([a * dist.get_rank() + b])
    dist.all_reduce(x)
    dist.barrier()
    dist.destroy_process_group()
    return int(x)


def broken():
    raise ValueError("no data")


def again():
    sys.exit(75)


def stop(pid):
    import time
    if os.environ["RANK"] == "0":
        os.kill(pid, signal.SIGTERM)
    time.sleep(1000)


def main():
    if cloudpickle is None:
        print("skipped (cloudpickle): this Python has none")
        return
    factor = 10  # In no module: a closure.
    assert as_task(lambda b: total(factor, b), 1) == 12
    assert as_task(lambda b: total(factor, b), 1, start_method="fork") == 12
    for task, kind, text in ((broken, RuntimeError, "ValueError: no data"),
                             (again, Recoverable, "exitcode  : 75")):
        try:
            as_task(task)
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"{task} has not failed")
    assert as_task(stop, os.getpid()) is None
    print("all is well")


if __name__ == "__main__":
    main()
