# Loads torch's timers like `timer_worker flood`: its server, and a number of
# clients that start and end one timer each, as fast as they can.
#
# usage: torch_flood.py FIFO CLIENTS SECONDS
# prints: messages, seconds from the first to the last, calls that failed

import multiprocessing
import sys
import time

from torch.distributed.elastic import timer

PATH, CLIENTS, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
LEAD = 0.3  # From the start of the first client to the first message.


def flood(start, results):
    client = timer.FileTimerClient(PATH)
    time.sleep(max(0, start - time.monotonic()))
    begin = now = time.monotonic()
    messages = failures = 0
    while now < begin + SECONDS:
        for expiration in (time.time() + 3600, -1):
            try:
                if expiration > 0:
                    client.acquire("train.py#42", expiration)
                else:
                    client.release("train.py#42")
            except Exception:  # Not sent, whatever torch raises.
                failures += 1
            messages += 1
        now = time.monotonic()
    results.put((begin, now, messages, failures))


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")  # Has torch loaded.
    results = context.Queue()
    start = time.monotonic() + LEAD
    clients = [context.Process(target=flood, args=(start, results))
               for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    server = timer.FileTimerServer(PATH, max_interval=0.1)  # Like torchrun's.
    server.start()
    found = [results.get() for _ in clients]
    for client in clients:
        client.join()
    begin = min(x[0] for x in found)
    end = max(x[1] for x in found)
    print(sum(x[2] for x in found), end - begin, sum(x[3] for x in found))
    sys.stdout.flush()
    server.stop()
