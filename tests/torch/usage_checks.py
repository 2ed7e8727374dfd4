"""Uses torch as its tutorials do: `usage_checks.py WAY`, for
tests/torch/usage_test.cpp. The last line of each is `rank 0: all is well`.
"""
import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

RANK = int(os.environ.get("RANK", -1))
WORLD = int(os.environ.get("WORLD_SIZE", -1))
TIMEOUT = datetime.timedelta(seconds=20)


def collectives():
    dist.init_process_group("gloo", timeout=TIMEOUT)
    assert dist.is_torchelastic_launched()
    assert (dist.get_rank(), dist.get_world_size()) == (RANK, WORLD)
    said = [None] * WORLD
    dist.all_gather_object(said, {"rank": RANK})
    assert [x["rank"] for x in said] == list(range(WORLD))
    settings = [{"seed": 7} if RANK == 0 else None]
    dist.broadcast_object_list(settings, 0)
    assert settings == [{"seed": 7}]
    for ranks in ([0], list(range(WORLD))):
        group = dist.new_group(ranks)
        if RANK in ranks:
            x = torch.ones(3)
            dist.all_reduce(x, group=group, async_op=True).wait()
            assert x.tolist() == [len(ranks)] * 3
    dist.monitored_barrier(timeout=TIMEOUT)


def loader():
    """A sampler of this rank's share, and processes that read for it."""
    dist.init_process_group("gloo", timeout=TIMEOUT)
    data = TensorDataset(torch.arange(24.0))
    shares = DistributedSampler(data, shuffle=False)
    # Unlike Python's other ways, a fork need not read this file anew.
    batches = DataLoader(data, batch_size=3, sampler=shares, num_workers=2,
                         multiprocessing_context="fork")
    total = sum(x.sum() for (x,) in batches)
    dist.all_reduce(total)
    assert total.item() == sum(range(24))


def square(index, results):
    results.put(index * index)


def spawn():
    """A worker that has processes of its own."""
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(square, args=(results,), nprocs=2, join=True)
    assert sorted(results.get() for _ in range(2)) == [0, 1]


def address():
    """The older way to rendezvous: an address and a rank."""
    url = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    if os.environ.get("USE_LIBUV") == "0":
        url += "?use_libuv=0"
    dist.init_process_group("gloo", init_method=url, rank=RANK,
                            world_size=WORLD, timeout=TIMEOUT)
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == WORLD


def rpc():
    import torch.distributed.rpc as rpc
    if not hasattr(torch._C._distributed_rpc, "TensorPipeAgent"):
        print("not tried: this torch is built without TensorPipe", flush=True)
        return
    rpc.init_rpc(f"worker{RANK}", rank=RANK, world_size=WORLD)
    peer = (RANK + 1) % WORLD
    assert rpc.rpc_sync(f"worker{peer}", torch.add,
                        args=(torch.ones(2), peer)).tolist() == [1 + peer] * 2
    rpc.shutdown()


def sigterm():
    """Saves its state when it gets SIGTERM."""
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    print(f"rank {RANK}: trains", flush=True)
    while not told:
        time.sleep(0.02)
    torch.save({"step": torch.tensor(7)}, f"sigterm.{RANK}")


if __name__ == "__main__":
    {"collectives": collectives, "loader": loader, "spawn": spawn,
     "address": address, "rpc": rpc, "sigterm": sigterm}[sys.argv[1]]()
    if dist.is_initialized():
        dist.barrier()  # See docs/pytorch.md: 2.6 may hang without.
        dist.destroy_process_group()
    print(f"rank {RANK}: all is well", flush=True)
