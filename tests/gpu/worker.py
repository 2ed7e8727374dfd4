"""The workers of the steps: worker.py WAY [ARGUMENT…]

    hold GIB        holds that much memory of the GPU until it is killed
    busy GIB        the same, and computes until SIGTERM
    train BACKEND   trains in step with its peers, prints what came out
    live BACKEND    takes steps and lives through changes; writes when they are done
    plain BACKEND   takes the same steps, and is started again after a change
    late BACKEND    as live; the worker of the last node comes to no step
    behind BACKEND  takes a few steps; then rank 1 comes to no more
    abort           makes a group of its own alone, aborts it, and makes the next

KIT_DEVICE says where: cuda, or cpu where the steps are only rehearsed.
"""
import json
import os
import signal
import socket
import sys
import time

FIRST = time.monotonic_ns()

DEVICE = os.environ.get("KIT_DEVICE", "cuda")
GIB = 1 << 30


def used_memory():
    import drivers
    try:
        return drivers.Nvml().memory()[1]
    except OSError:
        return None


def say(**what):
    # In one write, as several processes share the file.
    text = json.dumps(dict(what, pid=os.getpid(), ns=time.monotonic_ns())) + "\n"
    path = os.environ.get("KIT_STAMPS")
    if path:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(file, text.encode())
        os.close(file)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()


def settle():
    import torch
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def take_memory(gib):
    import torch
    out = torch.zeros(int(gib * GIB), dtype=torch.uint8, device=DEVICE)
    settle()
    return out


def hold(gib):
    used = used_memory()  # Before this process has a context.
    say(what="begins", first=FIRST, used=used,
        restarts=int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")))
    held = take_memory(float(gib))
    say(what="holds", bytes=held.numel())
    while True:
        signal.pause()


def busy(gib):
    import torch
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    held = take_memory(float(gib))
    say(what="busy", bytes=held.numel())
    x = torch.rand(4096 if DEVICE == "cuda" else 256, 1 << 12, device=DEVICE)
    while True:
        for _ in range(20):
            (x @ x.T).sum()
        settle()


def own_host_for_nccl():
    # NCCL refuses two ranks on one GPU of one host. It believes what it is told.
    os.environ.setdefault("NCCL_HOSTID", f"actorrun-kit-{os.getpid()}")
    os.environ.setdefault("NCCL_SHM_DISABLE", "1")
    os.environ.setdefault("NCCL_P2P_DISABLE", "1")


def train(backend):
    import torch
    import torch.distributed as dist
    alone = backend == "none"
    if not alone:
        if backend == "nccl" and os.environ["WORLD_SIZE"] != "1":
            own_host_for_nccl()
        dist.init_process_group(backend)
    rank = 0 if alone else dist.get_rank()
    world = 1 if alone else dist.get_world_size()
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(),
                                torch.nn.Linear(256, 1)).to(DEVICE)
    parallel = model if alone else torch.nn.parallel.DistributedDataParallel(
        model, device_ids=[0] if DEVICE == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batch = 48  # Of all ranks together.
    begin = time.monotonic()
    for step in range(40):
        source = torch.Generator().manual_seed(step)
        x = torch.randn(batch, 64, generator=source)
        y = torch.sin(x.sum(dim=1, keepdim=True))
        mine = slice(rank, None, world)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(
            parallel(x[mine].to(DEVICE)), y[mine].to(DEVICE), reduction="sum")
        (loss * world / batch).backward()
        optimizer.step()
        if step == 20 and os.environ.get("KIT_DIES") == str(rank) \
                and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
            os.kill(os.getpid(), signal.SIGKILL)
    settle()
    took = time.monotonic() - begin
    if rank == 0:
        weights = sum(p.double().abs().sum().item() for p in model.parameters())
        say(what="trained", weights=weights, world=world, steps=40, seconds=took,
            restarts=int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")))
    if not alone:
        dist.barrier()
        dist.destroy_process_group()


class State:
    """What a worker holds, and loses when it is started again."""

    def __init__(self):
        import torch
        self.weights = torch.rand(1 << 20, device=DEVICE)
        self.done = 0  # Steps since this process began.


def take_steps(state, generation_number, rank, world, raise_if_over):
    """Until the group changes; writes when the first three are done."""
    import torch
    import torch.distributed as dist
    step = 0
    while True:
        raise_if_over(step)
        x = torch.ones_like(state.weights)
        dist.all_reduce(x)
        state.weights += 1e-3 * x / world
        settle()
        assert x[0].item() == world, f"{x[0].item()} instead of {world}"
        step += 1
        state.done += 1
        if step <= 3:
            say(what="step", generation=generation_number, step=step, rank=rank, world=world,
                done=state.done)
        time.sleep(0.002)


def plain(backend):
    import torch.distributed as dist
    if backend == "nccl":
        own_host_for_nccl()
    dist.init_process_group(backend)
    take_steps(State(), int(os.environ["ACTORRUN_GENERATION"]), dist.get_rank(),
               dist.get_world_size(), lambda step: None)


def live(backend, is_late=False):
    import actorrun
    import actorrun.torch
    import torch.distributed as dist
    if backend == "nccl":
        own_host_for_nccl()
    state = State()
    for generation in actorrun.generations():
        with generation:
            dist.init_process_group(backend)
            if is_late:
                say(what="late", generation=generation.number)
                while True:
                    signal.pause()
            say(what="begins", generation=generation.number, rank=generation.rank)
            take_steps(state, generation.number, generation.rank, generation.world_size,
                       generation.safe_point)


def late(backend):
    live(backend, is_late=os.environ["KIT_IS_LAST"] == "yes")


def behind(backend):
    import torch
    import torch.distributed as dist
    if backend == "nccl":
        own_host_for_nccl()
    dist.init_process_group(backend)
    x = torch.ones(1 << 10, device=DEVICE)
    for _ in range(5):
        dist.all_reduce(x)
    settle()
    say(what="behind" if dist.get_rank() == 1 else "waits", rank=dist.get_rank())
    if dist.get_rank() == 1:
        while True:
            signal.pause()
    dist.all_reduce(x)
    settle()


def abort():
    import actorrun.torch
    import torch
    import torch.distributed as dist
    backend = "nccl" if DEVICE == "cuda" else "gloo"
    # Each group has a store of its own here, as each generation has.
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
    for number in range(3):
        with socket.socket() as x:
            x.bind(("127.0.0.1", 0))
            port = x.getsockname()[1]
        begin = time.monotonic()
        dist.init_process_group(backend, init_method=f"tcp://127.0.0.1:{port}",
                                rank=0, world_size=1)
        x = torch.ones(1000, device=DEVICE)
        dist.all_reduce(x)
        settle()
        made = time.monotonic()
        dist.all_reduce(x, async_op=True)
        actorrun.torch.abort("a step of the kit")
        aborted = time.monotonic()
        actorrun.torch.destroy()
        say(what="aborted", number=number, made_ms=1000 * (made - begin),
            abort_ms=1000 * (aborted - made),
            destroy_ms=1000 * (time.monotonic() - aborted),
            value=torch.ones(3, device=DEVICE).sum().item())


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ("hold", "busy", "train", "live", "plain",
                                         "late", "behind", "abort"):
        globals()[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(__doc__)
