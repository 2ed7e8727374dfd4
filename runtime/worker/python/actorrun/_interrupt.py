"""Raises an exception in the main thread when the generation is over.

A signal is used, because it also ends what waits in Python: sleeps, locks, sockets. Its
handler runs in the main thread between two bytecodes and decides there, so no exception
comes late: not behind the block, and not within this package, which would be left with a
lock that is held. Nor does it come in what `safe_point` calls, as a `save`.
"""
from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, Optional

from . import _control

# None that a program is likely to use.
SIGNAL = signal.SIGRTMAX - 1

# Parts of this package in which the main thread may hold a lock.
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_OURS = {os.path.join(_FOLDER, x)
         for x in ("_control.py", "_generations.py", "_interrupt.py", "_wire.py")}


class Interrupt(BaseException):
    """The generation is over: raised in its block by `generations(interrupt=True)`.

    `except Exception` does not catch it, so that a loop that tries again lets it through.
    """


class Interrupter:
    """Owns the signal while a loop over generations runs."""

    def __init__(self) -> None:
        """
        Raises:
            RuntimeError: this is not the main thread, or the signal has a handler.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("generations(interrupt=True) is for the main thread: Python"
                               " handles signals there")
        if signal.getsignal(SIGNAL) is not signal.SIG_DFL:
            raise RuntimeError(f"generations(interrupt=True) needs signal {int(SIGNAL)},"
                               " for which this program has a handler")
        self._generation: Any = None
        self._has_raised = False
        self._thread = threading.get_ident()
        signal.signal(SIGNAL, self._handle)
        _control.hooks.append(self._wake)

    def watch(self, generation: Any) -> None:
        """Has the exception raised in the block of this one, once."""
        self._generation = generation
        self._has_raised = False

    def close(self) -> None:
        _control.hooks.remove(self._wake)
        signal.signal(SIGNAL, signal.SIG_DFL)

    # On the thread that reads; called again until the generation has been left.
    def _wake(self, reason: str) -> None:
        if not self._has_raised:
            signal.pthread_kill(self._thread, SIGNAL)

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        generation = self._generation
        if (generation is None or self._has_raised or not generation._is_inside
                or not generation.is_over or _is_ours(frame)):
            return
        self._has_raised = True
        told = generation._told
        if told.over == "lost":
            raise _control.AgentLost(told.over_reason)
        raise Interrupt(told.over_reason)


# Whether the main thread is in these parts, or in what they have called, as a `save`.
def _is_ours(frame: Optional[FrameType]) -> bool:
    while frame is not None:
        if os.path.abspath(frame.f_code.co_filename) in _OURS:
            return True
        frame = frame.f_back
    return False
