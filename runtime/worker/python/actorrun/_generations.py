"""Gives a program its generations, one after the other."""
from __future__ import annotations

import bisect
import os
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, Callable, Iterator, Optional, Union

from . import _control, _interrupt, _wire
from ._control import AgentLost
from ._interrupt import Interrupt

# The agent answers a hello within that time, or refuses it.
HELLO_TIMEOUT = 15.0  # Seconds.

# So long an exception waits for the news that explains it.
WORD_TIMEOUT = 2.0  # Seconds.

# Without an agent, whether the program has left the generation is looked at so often.
LEFT_INTERVAL = 0.05  # Seconds.

_leave_hooks = []
_stop_hooks = []


class Regroup(Exception):
    """The generation is over; the program is to go on with the next one."""


class Ranks(Sequence):
    """Ranks in ascending order; as small as the runs that they consist of."""

    def __init__(self, runs=()):
        self._runs = tuple(runs)
        self._ends = []  # How many ranks there are up to the end of each run.
        count = 0
        for first, last in self._runs:
            count += last - first + 1
            self._ends.append(count)

    def __len__(self):
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(index)
        run = bisect.bisect_right(self._ends, i)
        return self._runs[run][1] - (self._ends[run] - 1 - i)

    def __contains__(self, rank):
        return any(first <= rank <= last for first, last in self._runs)

    def __eq__(self, other):
        if isinstance(other, Ranks):
            return self._runs == other._runs
        return list(self) == other

    __hash__ = None

    def __repr__(self):
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self._runs)


def on_regroup(fn):
    """Has `fn(reason)` called when a generation ends early.

    It is called on another thread than the program's, at once and every 0.25 s
    until the program has left the block of the generation; so it may be called more
    than once. It is to make whatever the program waits for fail. The exception
    that this raises ends the block. One that `fn` itself raises is printed, and the
    worker goes on; so is SystemExit.

    Returns:
        `fn`, so this is a decorator.
    """
    _control.hooks.append(fn)
    return fn


def on_leave(fn):
    """Has `fn(is_over)` called at the end of a generation's block, on its thread.

    Not if an exception leaves the block that no change explains. `is_over` says
    whether the generation has ended early.
    """
    _leave_hooks.append(fn)
    return fn


def on_stop(fn):
    """Has `fn()` called where a worker stops at a safe point for a change.

    That is on the thread of `safe_point`, before its `save`: it is to wait for what
    the program has under way, on a device for example. What it raises goes through.
    """
    _stop_hooks.append(fn)
    return fn


class Generation:
    """One generation of the group, as this worker takes part in it.

    Attributes:
        number: of the generation; grows.
        rank, world_size, local_rank: as the variables of these names.
        survivors: the ranks, of this generation, of the workers that took part in the
            one before; they have its state. Empty: there are none, or there is
            no agent that says so.
        restarts: how many restarts the job has spent.
        reason: why there is a new generation; one line.
    """

    def __init__(self, control, told):
        self._control = control
        self._told = told
        self._is_left = False
        self._is_inside = False  # Its block runs.
        self.number = told.number
        self.survivors = Ranks(told.survivors)
        self.restarts = told.restarts
        self.reason = told.reason
        self.rank = _integer("RANK", 0)
        self.world_size = _integer("WORLD_SIZE", 1)
        self.local_rank = _integer("LOCAL_RANK", 0)

    @property
    def is_over(self):
        """Whether the generation has ended early. Cheap: reads a variable."""
        return self._speaks() and self._told.over is not None

    def wait_over(self, timeout=None):
        """Waits until the generation is over, for at most `timeout` seconds.

        Ends also when the program leaves the generation: at the end of its block, and of
        the loop. So a thread that waits here can be joined behind the block. Without
        an agent it does not wait without a timeout.

        Returns:
            Whether the generation is over.
        """
        control, told = self._control, self._told
        if control is None:
            end = time.monotonic() + (timeout or 0)
            while not self._is_left and (rest := end - time.monotonic()) > 0:
                time.sleep(min(rest, LEFT_INTERVAL))
            return False
        if not self._speaks():
            return False
        with control.changed:
            control.changed.wait_for(
                lambda: told.over is not None or told.is_left or control.is_closed,
                timeout)
            return told.over is not None

    def raise_if_over(self):
        """Raises:
            Regroup: the generation is over.
            AgentLost: the agent is gone.
        """
        if not self.is_over:
            return
        if self._told.over == "lost":
            raise AgentLost(self._told.over_reason)
        raise Regroup(self._told.over_reason)

    def safe_point(self, step, save=None):
        """Says that the program could stop here, after this many steps.

        Before a change that can wait, such as a node that joins, all workers are
        stopped here at the same step: this waits until all are there, and raises
        then. If the change is called off, it returns.

        All workers must call it at the same steps, where nothing of a step is
        under way any more: a worker that waits here takes part in no collective.
        If one does not come, the change does not wait longer than
        --safe-point-timeout.

        Args:
            step: how many steps are done, 0 to 2**64 - 2; grows from call to call
                in a generation.
            save: called, without arguments, where this worker stops for a change:
                at most once per call, on this thread, before it says that it has
                stopped. What it raises goes through. A change that cannot wait
                saves nothing.

        Raises:
            Regroup: the generation is over.
            AgentLost: the agent is gone.
            TypeError, ValueError: the step is no whole number in its range.
        """
        control = self._control
        if not self._speaks():
            return
        step = _wire.step_of(step)
        saves = save is not None or bool(_stop_hooks)
        if not control.go_past(self._told, step, saves):
            for hook in list(_stop_hooks):
                hook()
            if save is not None:
                save()
            control.go_past(self._told, step, False)
        self.raise_if_over()
        control.say_soon(_wire.at_packet(step))

    def __enter__(self) -> Generation:
        self._is_inside = True
        return self

    def __exit__(self, kind, error, trace) -> bool:
        self._is_inside = False
        if error is not None and not self._is_explained(error):
            return False
        self._leave()
        return True

    # Whether the program is to go on in spite of the exception.
    def _is_explained(self, error):
        if not isinstance(error, (Exception, Interrupt)) or not self._speaks():
            return False
        control, told = self._control, self._told
        if told.over is None:
            control.say("trouble", text=_wire.plain(
                f"{type(error).__name__}: {error}"))
            with control.changed:
                control.changed.wait_for(
                    lambda: told.over is not None, WORD_TIMEOUT)
        return told.over in ("regroup", "stop")

    # Done once: at the end of the block, or where the loop goes on without one.
    def _leave(self):
        if self._is_left:
            return
        self._is_left = True
        if self._speaks():
            self._control.leave(self._told)
        for hook in list(_leave_hooks):
            try:
                hook(self.is_over)
            except Exception:
                traceback.print_exc(file=sys.stderr)

    # A forked child has no word to say, and is told none.
    def _speaks(self):
        return self._control is not None and self._control is _control.current


def generations(interrupt: bool = False) -> Iterator[Generation]:
    """Yields the generations that this worker takes part in.

    The loop goes on when a generation ends early (`with generation:`, or `generation.is_over`),
    and ends when the program has done what it was to do in one: its block has
    ended without a regroup. The variables of the environment (RANK, WORLD_SIZE,
    MASTER_PORT…) are those of the generation when it is yielded.

    Without an agent, as under torchrun, there is one generation.

    Args:
        interrupt: whether `Interrupt` is raised in the block of a generation that has
            ended early, between two bytecodes of the main thread, or where that sleeps
            or waits in Python. It reaches no code in C that does not return (a collective
            that waits for a peer: see `on_regroup`), and what it leaves half done is the
            program's affair: it may come while a lock is held, or in a `finally`.

    Raises:
        AgentLost: the agent is gone.
        RuntimeError: another loop over generations has not ended; with `interrupt`, this
            is not the main thread, or the signal that is used has a handler.
    """
    if _control.current is not None:
        raise RuntimeError("another loop over actorrun.generations() has not ended")
    control = _connect()
    if control is None:
        generation = Generation(None, _told_by_environment())
        yield generation
        generation._leave()
        return
    interrupter = None
    try:
        if interrupt:
            interrupter = _interrupt.Interrupter()
        while (told := _next_of(control)) is not None:
            os.environ.update(told.environment)
            generation = Generation(control, told)
            if interrupter is not None:
                interrupter.watch(generation)
            yield generation
            generation._leave()
            if not generation.is_over:
                return  # The work is done, or this is another process.
            if told.over == "lost":
                raise AgentLost(told.over_reason)
            if told.over == "stop":
                return
            control.say("parked", generation=told.number)
    finally:
        if interrupter is not None:
            interrupter.close()
        if _control.current is control:
            _control.current = None
            control.close()


# Waits for a generation that this worker has not had; none: it is to end.
def _next_of(control):
    last = 0 if control.entered is None else control.entered.number
    while True:
        with control.changed:
            control.changed.wait_for(
                lambda: control.is_stopped or control.is_lost
                or (control.latest is not None and control.latest.number != last))
            told = control.latest
            if control.is_stopped:
                return None
            if control.is_lost:
                raise AgentLost(control.refusal or "the agent has hung up")
            if told.over is None:
                control.entered = told
                return told
            last = told.number
        control.say("parked", generation=last)  # Over before it has begun.


# None: there is no agent, or it does not want to speak with this process.
def _connect():
    path = os.environ.get("ACTORRUN_CONTROL", "")
    if not path:
        return None
    try:
        control = _control.Control(path)
    except OSError:
        return None
    with control.changed:
        control.changed.wait_for(
            lambda: control.latest is not None or control.is_stopped
            or control.is_lost, HELLO_TIMEOUT)
        is_told = control.latest is not None or control.is_stopped
    if is_told:
        _control.current = control
        return control
    if control.refusal:
        warnings.warn("this worker does not live through changes: "
                      + control.refusal, RuntimeWarning, stacklevel=3)
    control.close()
    return None


def _integer(name, default):
    try:
        return int(os.environ.get(name, ""))
    except ValueError:
        return default


def _told_by_environment():
    restarts = max(_integer("TORCHELASTIC_RESTART_COUNT", 0), 0)
    number = _integer("ACTORRUN_GENERATION", restarts + 1)
    return _control.Told({"generation": max(number, 0), "restarts": restarts})
