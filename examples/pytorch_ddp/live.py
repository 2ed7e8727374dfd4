#!/usr/bin/env python3
"""The same training as train.py, by workers that live through changes.

A worker fails, a node is lost, another one joins: the workers that are left stay,
with what they have in memory, and whoever is new gets it from one of them. No step is
repeated but the one that was under way, and that only if a worker was lost. The
checkpoint is for the case that none is left.

Needs the package `actorrun` (of actorrun-worker, or in runtime/worker/python). Under
torchrun it is a program as any other: the loop over generations runs once.
"""

import os
import time

import actorrun
import actorrun.torch  # Aborts and destroys process groups where generations end.
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

from train import (Training, make_trouble, parse_arguments, say, take_step,
                   watched_by_launcher)


def catch_up(training):
    """Gives all ranks the state of the one that is furthest, if they differ.

    That is a survivor, if there is one. Survivors may differ by one step if a peer
    was lost in it.
    """
    steps = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(steps, torch.tensor([training.step]))
    steps = [x.item() for x in steps]
    if min(steps) == max(steps):
        return
    source = steps.index(max(steps))
    # Whole or not at all: the source may be lost meanwhile. Large models are sent
    # tensor by tensor, into a second copy.
    state = [(training.step, training.model.state_dict(),
              training.optimizer.state_dict()["state"])]
    dist.broadcast_object_list(state, src=source)
    if dist.get_rank() != source:
        training.restore(*state[0])


def train(arguments, training, generation):
    dist.init_process_group("gloo")  # RANK, MASTER_ADDR… are those of this generation.
    catch_up(training)
    parallel = DistributedDataParallel(training.model)
    guard = watched_by_launcher(arguments.step_limit)
    where = f"world {generation.world_size}, restarts {generation.restarts}"
    say(f"rank {generation.rank}: pid {os.getpid()}, from step {training.step}, {where}")

    def save():
        if generation.rank == 0:
            training.save(arguments.checkpoint)

    while training.step < arguments.steps:
        # Between two steps: nodes that join, or are drained, have it stop here.
        generation.safe_point(training.step, save)
        with guard():
            make_trouble(arguments, training, generation.rank)
            loss = take_step(training, parallel, generation.rank, generation.world_size)
        time.sleep(arguments.step_seconds)
        is_last = training.step == arguments.steps
        if is_last or training.step % arguments.checkpoint_every == 0:
            save()
            if generation.rank == 0:
                say(f"step {training.step}: loss {loss:.6f}, {where}")
    if generation.rank == 0:
        total = sum(x.abs().sum().item() for x in training.model.parameters())
        say(f"done: {training.step} steps, weights {total:.6f}, {where}")
    dist.barrier()  # None leaves before the last checkpoint is on the disk.


@record  # A worker's exception is in the report, with its traceback.
def main():
    arguments = parse_arguments()
    training = Training()
    training.load(arguments.checkpoint)
    for generation in actorrun.generations():
        with generation:
            train(arguments, training, generation)


if __name__ == "__main__":
    main()
