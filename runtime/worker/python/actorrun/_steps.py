"""Says how long this worker computes per step and when it saves, by a page that the agent
reads."""
import fcntl
import mmap
import os
import threading
import time
from typing import Any, Optional

# The layout of the page, in 64-bit words: actors/core/stragglers/step_page.hpp.
MARK = 0x3150455453524141
NEWEST_MAX = 64
MARK_WORD = 0
COUNT_WORD = 1
SAVE_COUNT_WORD = 2
SAVED_UP_TO_WORD = 3
SAVING_SINCE_WORD = 4
SAVING_WORD = 5
SAVING_BEFORE_WORD = 6
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
    for word in range(FIRST_TIME_WORD):
        words[word] = 0  # Of a program that this one replaces.
    words[MARK_WORD] = MARK
    return words


_words = None
_count = 0  # Of the steps on the page.
_is_open = False
_now = time.monotonic_ns
_lock = threading.Lock()  # For the words of saves, and to open the page.


def computed(seconds: float) -> None:
    """Says that this worker has computed a step in so many seconds.

    For times that something else has measured, such as events of a GPU:
    `computed(begin.elapsed_time(end) / 1e3)`. See `computing`.
    """
    _add(min(max(int(seconds * 1e9), 0), TIME_MAX))


def _page():
    global _words, _is_open
    if _words is None and not _is_open:
        with _lock:
            if not _is_open:
                _words = _open()
                _is_open = True
    return _words


def _add(time_ns):
    global _count
    words = _words or _page()
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


def saved(seconds: Optional[float] = None) -> None:
    """Says that this worker has saved: what was computed before is safe.

    After `saving()`, that is what was computed before it. Without it, what was computed until
    now: something has saved it beside the training, and that took no time of it. With
    `seconds`, something else has measured a save that took so long and ends now; 0: none,
    beside the training.

    See `saving`. Any thread may say it.
    """
    words = _words or _page()
    if words is None:
        return
    with _lock:
        now = _now()
        if seconds is None:
            since = words[SAVING_SINCE_WORD]
            before = _stop_saving(words, since, now)
            _mark_saved(words, since or now, before)
        else:
            took = min(max(int(seconds * 1e9), 0), now)
            before = words[SAVING_WORD]
            words[SAVING_WORD] = before + took
            _mark_saved(words, now - took, before)


class saving:
    """Says that this worker saves from now on, until `saved()` or the end of a block.

        with actorrun.saving():
            torch.save(state, path)

    What was computed since the last save has to be computed again after a failure:
    `actorctl time` shows how much that was, and how long saving took. It is enough that those
    workers say it that save, such as rank 0. If an exception ends the block, nothing is saved.

    One process of each worker says it, and one save at a time; another one begins anew. In a
    forked child this does nothing, and neither in a program that was not started by actorrun.
    """

    __slots__ = ()

    def __init__(self) -> None:
        words = _words or _page()
        if words is not None:
            with _lock:
                words[SAVING_SINCE_WORD] = _now()

    def __enter__(self) -> "saving":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        words = _words
        if words is None:
            return
        with _lock:
            since = words[SAVING_SINCE_WORD]
            if since == 0:  # The program has said `saved()` itself.
                return
            before = _stop_saving(words, since, _now())
            if kind is None:
                _mark_saved(words, since, before)


# At worst the agent reads too little for a moment. Returns how long it had saved before.
def _stop_saving(words, since, now):
    before = words[SAVING_WORD]
    if since:
        words[SAVING_SINCE_WORD] = 0
        words[SAVING_WORD] = before + now - since
    return before


# Another thread may have saved later work meanwhile.
def _mark_saved(words, up_to, saving_before):
    if up_to >= words[SAVED_UP_TO_WORD]:
        words[SAVING_BEFORE_WORD] = saving_before
        words[SAVED_UP_TO_WORD] = up_to
    words[SAVE_COUNT_WORD] += 1


# The child does not speak for its parent.
def _forget():
    global _words, _is_open, _lock
    _words = None
    _is_open = True
    _lock = threading.Lock()  # A thread of the parent may hold the other one.


os.register_at_fork(after_in_child=_forget)
