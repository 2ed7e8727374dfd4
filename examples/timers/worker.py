# A worker in Python that is killed when it is stuck, without torch: a line in a
# FIFO starts a timer, another line ends it.
#
#     actorrun --max-restarts 1 worker.py
#
# The first attempt hangs; after half a second it is killed and restarted.

import contextlib
import json
import os
import signal
import threading
import time


@contextlib.contextmanager
def expires(seconds, scope):
    def send(expiration, signal_number):
        line = {"version": 1, "pid": os.getpid(), "scope_id": scope,
                "expiration_time": expiration, "signal": signal_number}
        with open(os.environ["TORCHELASTIC_TIMER_FILE"], "wb", buffering=0) as fifo:
            fifo.write(json.dumps(line).encode() + b"\n")  # At most 4096 bytes.

    if "TORCHELASTIC_TIMER_FILE" not in os.environ:  # No launcher watches.
        yield
        return
    send(time.time() + seconds, signal.SIGKILL)
    try:
        yield
    finally:
        send(-1, 0)


with expires(5, "set up"):
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "1"))

with expires(0.5, "exchange"):
    if attempt == 0:
        threading.Event().wait()  # Forever.

print("attempt", attempt, "is done")
