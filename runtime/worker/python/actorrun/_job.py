"""Runs the program `actorrun` for this process, and reads how it has ended."""
from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional

from . import _programs

# More words for the program, for what torch has no name for.
OPTIONS_VARIABLE = "ACTORRUN_OPTIONS"


class LaunchError(RuntimeError):
    """The job has ended, and no worker of it has failed.

    Attributes:
        exit_code: of the program `actorrun`; negative: a signal has ended it.
        report: what it has written about its end; empty: nothing.
    """

    def __init__(self, text: str, exit_code: int,
                 report: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.report = report or {}


def own_words() -> List[str]:
    """Returns the words of ACTORRUN_OPTIONS.

    Raises:
        ValueError: a quotation mark in it is not closed.
    """
    try:
        return shlex.split(os.environ.get(OPTIONS_VARIABLE, ""))
    except ValueError as x:
        raise ValueError(f"{OPTIONS_VARIABLE}: {x}") from None


class Job:
    """A run of the program. Owns its process, and a folder that only this user can read.

    Attributes:
        folder: for whatever the workers and this process exchange.
        got: the first signal that this process has passed on, if any.
    """

    def __init__(self, on_event: Optional[Callable[[str], None]] = None) -> None:
        """
        Args:
            on_event: called with each event of the job, a line of JSON, on the thread
                that waits.
        """
        self.folder = tempfile.mkdtemp(prefix="actorrun_job_")
        self.got: Optional[int] = None
        self._on_event = on_event
        self._process: Optional[subprocess.Popen] = None
        self._program = ""
        self._life = -1       # While it is open, the job goes on.
        self._pid_fd = -1
        self._events = -1
        self._line = b""      # Of an event, as far as it has come.
        _jobs.add(self)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def start(self, words: Iterable[str], environment: Dict[str, str]) -> None:
        """Starts the program.

        Args:
            words: options, program and arguments.

        Raises:
            FileNotFoundError: there is no program `actorrun`.
            OSError: it cannot be started.
        """
        self._program = _programs.find("actorrun")
        read_end, self._life = os.pipe()
        passed = [read_end]
        # Variables PET_* are for torch's parser, whose settings are in the words.
        options = [f"--report-file={self.path('report')}", "--no-report",
                   f"--parent-fd={read_end}", "--no-pet"]
        if self._on_event is not None:
            self._events, write_end = os.pipe()
            os.set_blocking(self._events, False)
            passed.append(write_end)
            options.append(f"--event-log-fd={write_end}")
        try:
            for stream in (sys.stdout, sys.stderr):
                # There may be none, or one that cannot be written to.
                with contextlib.suppress(AttributeError, OSError, ValueError):
                    stream.flush()
            self._process = subprocess.Popen(
                [self._program, *options, *own_words(), *words], pass_fds=passed,
                env=environment)
        finally:
            for fd in passed:
                os.close(fd)
        self._pid_fd = os.pidfd_open(self._process.pid)

    @property
    def has_ended(self) -> bool:
        return self._process is not None and self._process.returncode is not None

    def wait(self, timeout: Optional[float] = None,
             signals: Optional[Signals] = None, also: int = -1) -> bool:
        """Waits until the program has ended.

        Args:
            timeout: seconds; none: for ever.
            signals: those to pass on to the program.
            also: a descriptor that ends the wait when it can be read.

        Returns:
            Whether the program has ended.
        """
        assert self._process is not None
        poll = select.poll()
        signal_fd = -1 if signals is None else signals.fileno()
        for fd in (self._pid_fd, self._events, signal_fd, also):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        end = None if timeout is None else time.monotonic() + timeout
        while not self.has_ended:
            rest = None if end is None else max(end - time.monotonic(), 0) * 1000
            ready = [fd for fd, _ in poll.poll(rest)]
            if signals is not None and signal_fd in ready:
                for number in signals.read():
                    self.got = self.got or number
                    self.send(number)
            if self._events in ready and not self._read_events():
                poll.unregister(self._events)
                os.close(self._events)
                self._events = -1
            if self._pid_fd in ready:
                self._process.wait()
            elif not ready or also in ready:
                break
        if self.has_ended and self._events >= 0:
            self._read_events()
        return self.has_ended

    def send(self, number: int) -> None:
        """Sends the program a signal; does nothing if it has ended."""
        assert self._process is not None
        self._process.send_signal(number)

    # Returns whether there may be more.
    def _read_events(self) -> bool:
        while True:
            try:
                data = os.read(self._events, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            *lines, self._line = (self._line + data).split(b"\n")
            for line in lines:
                if self._on_event is not None:
                    self._on_event(line.decode(errors="replace"))

    def report(self) -> Dict[str, Any]:
        """Returns what the program, which has ended, has written about it.

        Raises:
            LaunchError: it has written nothing.
        """
        assert self._process is not None and self.has_ended
        try:
            with open(self.path("report"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as x:
            code = self._process.returncode
            how = (f"was ended by {signal_name(-code)}" if code < 0
                   else f"ended with exit code {code}")
            why = ("; is it older than this package?"
                   if code == 2 and isinstance(x, FileNotFoundError) else "")
            raise LaunchError(f"{self._program} {how} and has written no report{why}",
                              code) from None

    def forget(self) -> None:
        """In a forked child: the job is its parent's."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1

    def close(self) -> None:
        """Stops the job if it runs, waits for its end, and removes the folder."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        if self._process is not None:
            self._process.wait()
        for fd in (self._pid_fd, self._events):
            if fd >= 0:
                os.close(fd)
        self._pid_fd = self._events = -1
        shutil.rmtree(self.folder, ignore_errors=True)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Signals:
    """Collects signals of this process while its block runs, for `Job.wait`.

    Not on other threads than the main one, where Python handles none. Signals that this
    process ignores, as under nohup, stay ignored.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """
        Raises:
            ValueError: there is no signal of that name.
        """
        self._wanted = set()
        for name in names:
            number = getattr(signal, name.strip(), None)
            if not isinstance(number, signal.Signals):
                raise ValueError(f'signals_to_handle: there is no signal "{name.strip()}"')
            self._wanted.add(number)
        self._before: Dict[int, Any] = {}
        self._taken: Optional[socket.socket] = None

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            # A signal may come to another thread than the one that waits: what Python
            # writes for it wakes that one.
            self._taken, self._given = socket.socketpair()
            self._taken.setblocking(False)
            self._given.setblocking(False)
            self._before_fd = signal.set_wakeup_fd(self._given.fileno(),
                                                   warn_on_full_buffer=False)
            for number in self._wanted:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, lambda *_: None)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._taken is None:
            return
        for number, handler in self._before.items():
            if handler is not None:  # None: one that is not Python's own.
                signal.signal(number, handler)
        signal.set_wakeup_fd(self._before_fd)
        self._taken.close()
        self._given.close()

    def fileno(self) -> int:
        """Returns what can be read when a signal has come; -1: none will."""
        return -1 if self._taken is None else self._taken.fileno()

    def read(self) -> List[int]:
        """Returns the numbers of the signals that have come since."""
        assert self._taken is not None
        came = self._taken.recv(4096)
        others = bytes(x for x in came if x not in self._before)
        if others and self._before_fd >= 0:
            with contextlib.suppress(OSError):  # Its reader is slow, or gone.
                os.write(self._before_fd, others)
        return [x for x in came if x in self._before]


_jobs: weakref.WeakSet[Job] = weakref.WeakSet()


# A forked child must not keep its parent's jobs alive.
def _forget_jobs() -> None:
    for job in _jobs:
        job.forget()


os.register_at_fork(after_in_child=_forget_jobs)
