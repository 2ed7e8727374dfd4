#!/usr/bin/env python3
"""Trains a small network on several processes, and goes on after any of them
has died. Runs under actorrun and under torchrun, with torch 1.13 and later, on
CPUs alone. It makes its own data.

What a step learns from depends on the number of the step only, and the ranks
share that out. So a run that was interrupted, and a run in a world of another
size, ends with the same weights, but for rounding.
"""

import argparse
import contextlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic import timer
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

FEATURES = 8
HIDDEN = 32
GLOBAL_BATCH = 48  # Samples of a step, in all ranks together.
LEARNING_RATE = 0.05
MOMENTUM = 0.9
SEED = 20_000_101


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", default="checkpoint.pt", metavar="FILE",
                        help="in a folder that all nodes see")
    parser.add_argument("--checkpoint-every", type=int, default=10,
                        metavar="STEPS")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--step-seconds", type=float, default=0.0,
                        help="how long a step takes at least")
    parser.add_argument("--step-limit", type=float, default=60.0,
                        metavar="SECONDS",
                        help="a worker whose step takes longer is killed, if "
                             "its launcher watches timers")
    trouble = parser.add_argument_group(
        "trouble", "on purpose, once: not after a restart")
    trouble.add_argument("--trouble", choices=("raise", "hang", "exit"))
    trouble.add_argument("--trouble-step", type=int, default=20, metavar="STEP")
    trouble.add_argument("--trouble-rank", type=int, default=0, metavar="RANK")
    return parser.parse_args()


class Training:
    """The model, its optimizer, and how far they have come."""

    def __init__(self):
        torch.manual_seed(SEED)  # The same weights in every rank.
        self.model = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Tanh(),
            torch.nn.Linear(HIDDEN, 1))
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
        self.step = 0  # How many are done.

    def load(self, path):
        if not os.path.exists(path):
            return
        # Without weights_only whoever can write this file can run code here.
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.restore(state["step"], state["model"], state["momenta"])

    def restore(self, step, model, momenta):
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(
            {**self.optimizer.state_dict(), "state": momenta})
        self.step = step

    def save(self, path):
        """Replaces the file in one piece: whenever this process is killed,
        there is a whole checkpoint."""
        draft = path + ".draft"
        with open(draft, "wb") as file:
            # No floats: with weights_only torch 1.13 cannot load them.
            torch.save({"step": self.step, "model": self.model.state_dict(),
                        "momenta": self.optimizer.state_dict()["state"]}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)


def samples_of(step):
    """@returns inputs and targets: all samples of a step"""
    source = torch.Generator().manual_seed(SEED + step)
    inputs = torch.randn(GLOBAL_BATCH, FEATURES, generator=source)
    targets = torch.sin(inputs.sum(dim=1)) + inputs[:, 0] * inputs[:, 1]
    return inputs, targets.unsqueeze(1)


def take_step(training, parallel, rank, world):
    """@returns the loss over all ranks"""
    inputs, targets = samples_of(training.step)
    mine = slice(rank, None, world)
    errors = torch.nn.functional.mse_loss(
        parallel(inputs[mine]), targets[mine], reduction="sum")
    # Gradients are averaged over ranks; shares need not be of equal size.
    training.optimizer.zero_grad()
    (errors * world / GLOBAL_BATCH).backward()
    training.optimizer.step()
    training.step += 1
    loss = errors.detach() / GLOBAL_BATCH
    dist.all_reduce(loss)
    return loss.item()


def watched_by_launcher(limit):
    """@returns the factory of a step's guard: the launcher kills a worker that
    does not leave it in time, and restarts the group"""
    path = os.environ.get("TORCHELASTIC_TIMER_FILE")
    if not path or not hasattr(timer, "FileTimerClient"):
        return contextlib.nullcontext  # No launcher watches.
    timer.configure(timer.FileTimerClient(path))
    return lambda: timer.expires(after=limit, scope="training step")


def make_trouble(arguments, training, rank):
    restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    if (restarts > 0 or rank != arguments.trouble_rank
            or training.step != arguments.trouble_step):
        return
    if arguments.trouble == "raise":
        raise ValueError(f"asked to fail in step {training.step}")
    if arguments.trouble == "exit":
        os._exit(7)
    if arguments.trouble == "hang":
        time.sleep(3_600)


def say(text):
    # In one write, as several processes share the console.
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def train(arguments):
    rank, world = dist.get_rank(), dist.get_world_size()
    training = Training()
    training.load(arguments.checkpoint)
    # All ranks have read the file when they get past this line: rank 0 may
    # write.
    parallel = DistributedDataParallel(training.model)
    guard = watched_by_launcher(arguments.step_limit)
    where = (f"world {world}, restarts "
             f"{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}")
    say(f"rank {rank}: pid {os.getpid()}, from step {training.step}, {where}")
    while training.step < arguments.steps:
        with guard():
            make_trouble(arguments, training, rank)
            loss = take_step(training, parallel, rank, world)
        time.sleep(arguments.step_seconds)
        is_last = training.step == arguments.steps
        if rank == 0 and (is_last
                          or training.step % arguments.checkpoint_every == 0):
            training.save(arguments.checkpoint)
            say(f"step {training.step}: loss {loss:.6f}, {where}")
    if rank == 0:
        total = sum(x.abs().sum().item() for x in training.model.parameters())
        say(f"done: {training.step} steps, weights {total:.6f}, {where}")


@record  # A worker's exception is in the report, with its traceback.
def main():
    arguments = parse_arguments()
    dist.init_process_group("gloo")  # RANK, MASTER_ADDR… are in the environment.
    train(arguments)
    # Without this, torch 2.6 sometimes hangs: destroying the group waits for
    # the thread that still frees the tensor of the last all_reduce.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
