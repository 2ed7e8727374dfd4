"""Uses torch's own client of the store, for tests/torch/store_test.cpp.

    store_checks.py client      every request that this torch has
    store_checks.py all_reduce  rank 3 fails in the first generation
    store_checks.py reduce_at HOST PORT  at the address of the command line
"""
import datetime
import os
import sys

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
# A build that could have libuv, and for which the test turns it off.
is_without_libuv = (hasattr(dist.TCPStore, "libuvBackend")
                    and os.environ.get("USE_LIBUV") == "0")


def connect(host=os.environ["MASTER_ADDR"], port=os.environ["MASTER_PORT"]):
    options = {"is_master": False, "timeout": datetime.timedelta(seconds=20)}
    if is_without_libuv:
        options["use_libuv"] = False  # Matters only for its own server.
    return dist.TCPStore(host, int(port), world, **options)


def check_common(store):
    store.set("k", "value")
    assert store.get("k") == b"value"
    assert store.add("n", 5) == 5
    assert store.add("n", -7) == -2
    assert store.get("n") == b"-2"
    assert store.compare_set("k", "value", "new") == b"new"
    assert store.compare_set("k", "other", "x") == b"new"
    assert store.compare_set("none", "x", "y") == b"x"
    assert store.compare_set("made", "", "y") == b"y"
    store.wait(["k", "n"])
    assert store.num_keys() >= 3
    assert store.delete_key("k")
    assert not store.delete_key("k")
    large = "x" * (3 << 20)
    store.set("large", large)
    assert store.get("large") == large.encode()
    prefixed = dist.PrefixStore("p", store)
    prefixed.set("k", "1")
    assert store.get("p/k") == b"1"


def check_late(store):
    """A late key must not be sent to a client that no longer waits."""
    try:
        store.wait(["late"], datetime.timedelta(milliseconds=200))
        raise AssertionError("waited for nothing")
    except RuntimeError:
        pass
    assert store.get("n") == b"-2"  # Old versions report a timeout like this.
    other = connect()
    other.set("late", "x")
    assert other.get("late") == b"x"
    assert store.add("after", 7) == 7


def check_newer(store):
    if hasattr(store, "check"):
        assert store.check(["n"]) and not store.check(["n", "nothing"])
    if hasattr(store, "append"):
        store.append("grown", "a")
        store.append("grown", "b")
        assert store.get("grown") == b"ab"
        store.multi_set(["m1", "m2"], ["1", "22"])
        assert store.multi_get(["m2", "m1"]) == [b"22", b"1"]


def client():
    store = connect()
    if rank == 0:
        check_common(store)
        check_late(store)
        check_newer(store)
    store.add("count", 1)
    if store.add("count", 0) == world:
        store.set("all", "here")
    store.wait(["all"])
    print(f"rank {rank}: all is well with torch {torch.__version__}",
          flush=True)


def init():
    """Builds without libuv refuse to be a client by default."""
    is_agents = os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
    if is_agents and is_without_libuv:
        dist.init_process_group("gloo", store=dist.PrefixStore("0", connect()),
                                rank=rank, world_size=world)
    else:
        dist.init_process_group("gloo")


def all_reduce():
    init()
    x = torch.full((4,), float(rank + 1))
    dist.all_reduce(x)
    assert x.tolist() == [world * (world + 1) / 2] * 4
    if restarts == 0 and rank == 3:
        os._exit(3)
    dist.barrier()
    print(f"rank {rank}: reduced at port {os.environ['MASTER_PORT']},"
          f" restarts {restarts}", flush=True)
    # Else torch's threads outlive the interpreter now and then, and abort it.
    dist.destroy_process_group()


def reduce_at():
    assert os.environ["MASTER_PORT"] == sys.argv[3]  # With static; torch 2.14 compares.
    store = dist.PrefixStore("0", connect(*sys.argv[2:4]))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == world
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank}: reduced at the coordinator's port", flush=True)


{"client": client, "all_reduce": all_reduce, "reduce_at": reduce_at}[
    sys.argv[1]]()
