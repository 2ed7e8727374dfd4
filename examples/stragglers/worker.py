# A job of which one worker is slower than the others, without torch: rank 2 computes
# for longer, and all wait for it.
#
#     PYTHONPATH=runtime/worker/python \
#     actorrun --nproc-per-node 4 --no-agent-store examples/stragglers/worker.py
#
# After half a minute at most the log says, and so does `actorctl status` meanwhile:
#
#     rank 2 on … computes for 30.2 ms per step, the others for 20.1 ms
#
# The package `actorrun` comes with actorrun-worker and with the wheel.
#
# usage: worker.py [STEPS]

import os
import socket
import sys
import time

import actorrun

rank = int(os.environ["RANK"])
world_size = int(os.environ["WORLD_SIZE"])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
step_count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


class Barrier:
    """Stands for a collective operation: no worker leaves before all have come."""

    def __init__(self):
        self.peers = []
        if rank == 0:
            with socket.create_server(place) as listener:
                self.peers = [listener.accept()[0] for _ in range(world_size - 1)]
            return
        while not self.peers:
            try:
                self.peers = [socket.create_connection(place)]
            except ConnectionRefusedError:
                time.sleep(0.01)  # Rank 0 is not there yet.

    def wait(self):
        if rank > 0:
            self.peers[0].sendall(b"x")
        for peer in self.peers:
            if not peer.recv(1):
                sys.exit("a peer is gone")
        if rank == 0:
            for peer in self.peers:
                peer.sendall(b"x")


barrier = Barrier()
for step in range(step_count):
    with actorrun.computing():
        time.sleep(0.03 if rank == 2 else 0.02)  # Forward and backward.
    barrier.wait()  # Not in the block: here it waits for the others.
