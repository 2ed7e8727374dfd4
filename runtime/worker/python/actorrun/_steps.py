"""Says how long this worker computes per step, by a page that the agent reads."""
import fcntl
import mmap
import os
import time
from typing import Any

# The layout of the page, in 64-bit words: actors/core/stragglers/step_page.hpp.
MARK = 0x3150455453524141
NEWEST_MAX = 64
MARK_WORD = 0
COUNT_WORD = 1
FIRST_TIME_WORD = 8
WORD_COUNT = FIRST_TIME_WORD + NEWEST_MAX
TIME_MAX = 2**63 - 1


# The words of `<ACTORRUN_STEPS><session>.steps`; none: the program was not started by
# actorrun, or another process of the session says how long it computes.
def _open():
    prefix = os.environ.get("ACTORRUN_STEPS")
    if not prefix:
        return None
    try:
        fd = os.open(f"{prefix}{os.getsid(0)}.steps",
                     os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        # The lock stays until the process ends: it says that a process uses the file.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A page that the file system has no room for would kill the program.
        os.posix_fallocate(fd, 0, WORD_COUNT * 8)
        words = memoryview(mmap.mmap(fd, WORD_COUNT * 8)).cast("Q")
    except (OSError, ValueError):
        os.close(fd)
        return None
    words[COUNT_WORD] = 0  # Of a program that this one replaces.
    words[MARK_WORD] = MARK
    return words


_words = None
_count = 0  # Of the steps on the page.
_is_open = False
_now = time.monotonic_ns


def computed(seconds: float) -> None:
    """Says that this worker has computed a step in so many seconds.

    For times that something else has measured, such as events of a GPU:
    `computed(begin.elapsed_time(end) / 1e3)`. See `computing`.
    """
    _add(min(max(int(seconds * 1e9), 0), TIME_MAX))


def _add(time_ns):
    global _words, _count, _is_open
    words = _words
    if words is None:
        if _is_open:
            return
        _is_open = True
        words = _words = _open()
        if words is None:
            return
    words[FIRST_TIME_WORD + _count % NEWEST_MAX] = time_ns
    _count += 1
    words[COUNT_WORD] = _count


class computing:
    """Counts the time of a block as one that this worker has computed.

    Once per step, around what waits for no other worker:

        for batch in data:
            with actorrun.computing():
                loss = model(batch)
            loss.backward()          # Here gradients are exchanged: it waits.

    Workers of a collective job take equally long per step, because all wait for the
    slowest. Which of them that is shows in what each computes itself; `actorctl status`
    names it. What a GPU does later is not in the time of the block: see `computed`.

    One thread of one process says it; in a forked child this does nothing, and neither
    in a program that was not started by actorrun.
    """

    __slots__ = ("_begun",)

    def __enter__(self) -> "computing":
        self._begun = _now()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _add(_now() - self._begun)


# The child does not speak for its parent.
def _forget():
    global _words, _is_open
    _words = None
    _is_open = True


os.register_at_fork(after_in_child=_forget)
