"""Stands for NCCL's RAS service in a worker: says that this process has not launched an
operation that three ranks have launched. Answers as src/ras/client_support.cc of NCCL
2.29 does.

usage: ras_service.py PID    at NCCL_RAS_ADDR
"""
import os
import socket
import sys

ANSWER = """NCCL version 2.29.2 compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      3          1            1          3        3

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         3         1         3         3   RUNNING  MISMATCH

Errors
======


Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  2 ranks have launched up to operation 48213
  Rank 1 has launched up to operation 48212 -- GPU 0 managed by process {pid} on node 10.0.0.3

"""

host, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)
with socket.create_server((host, int(port))) as listener:
    while True:
        client = listener.accept()[0]
        with client, client.makefile("r") as lines:
            for line in lines:
                if line.lower().startswith("timeout "):
                    client.sendall(b"OK\n")
                elif line.lower() == "verbose status\n":
                    client.sendall(ANSWER.format(pid=sys.argv[1]).encode())
                    break
                else:
                    client.sendall(b"ERROR: Unknown command\n")
