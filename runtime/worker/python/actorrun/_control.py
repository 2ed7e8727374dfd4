"""Owns the process's connection to its agent, and the thread that reads it."""
import os
import select
import socket
import sys
import threading
import time
import traceback

from . import _wire

# While a generation that is over has not been left, hooks are called again so often:
# the program may have begun to wait for a peer after the first call.
HOOK_INTERVAL = 0.25  # Seconds.

# An agent that has so many connections waiting answers none in time.
CONNECT_TIMEOUT = 10.0  # Seconds.

hooks = []  # Called when a generation ends early, on the thread that reads.


class AgentLost(RuntimeError):
    """The agent has closed the connection: it has ended, or refuses this worker."""


class Told:
    """A generation as the agent has told it, and what has become of it."""

    def __init__(self, order):
        self.number = _wire.number(order, "generation")
        self.environment = _wire.environment(order)
        self.survivors = _wire.runs(order, "survivors")
        self.restarts = _wire.number(order, "restarts", 0)
        self.reason = _wire.text(order, "reason")
        # "regroup", "stop" or "lost", once it is over.
        self.over = None
        self.over_reason = ""
        self.is_left = False
        self.next_step = 0        # The first that it can still stop at.
        # No safe point from this step on is gone past …
        self.limit = None
        self.stops = False        # … as that is where the worker is to stop …
        self.has_reached = False  # … and it has said that it waits there.

    def set_limit(self, step, stops):
        self.limit = step
        self.stops = stops
        self.has_reached = False


class Control:
    """The connection. Another process that inherits it, by a fork, has none.

    Attributes are read and written under `changed`, which is notified.
    """

    def __init__(self, path):
        """Connects and says hello.

        Raises:
            OSError: there is no agent.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.settimeout(CONNECT_TIMEOUT)
            self._socket.connect(path)
            self._socket.settimeout(None)
            self._socket.send(_wire.packet("hello", version=_wire.VERSION))
        except BaseException:
            self._socket.close()
            raise
        self.changed = threading.Condition()
        self.latest = None     # The last generation told …
        self.entered = None    # … and begun by the program.
        self.is_stopped = False
        self.is_lost = False   # The agent has closed the connection.
        self.refusal = ""      # Its last words.
        self.is_closed = False  # By this process, or forgotten by a forked child.
        self._runs_hooks = False
        self._thread = threading.Thread(
            target=self._read, name="actorrun control", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self.is_lost = True
            self.refusal = "the system has no thread left"

    # -- to the agent ---------------------------------------------------------

    def say(self, kind, **members):
        """Sends a word that must arrive. Waits for room as long as there is none.

        Does nothing if the connection is closed.
        """
        data = _wire.packet(kind, **members)
        while not self.is_lost and not self.is_closed:
            if self._send(data):
                return
            room = select.poll()
            room.register(self._socket, select.POLLOUT)
            room.poll(100)  # Milliseconds; then it may be closed.

    def say_soon(self, data):
        """Sends a word that another one will replace: without room it is lost."""
        if not self.is_lost and not self.is_closed:
            self._send(data)

    def _send(self, data):
        try:
            self._socket.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return False
        except OSError:
            pass  # The thread finds out what is wrong.
        return True

    def close(self):
        """Hangs up: for the agent this is a worker as any other from now on."""
        with self.changed:
            if self.is_closed:
                return
            self.is_closed = True
            self.changed.notify_all()
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if (self._thread.is_alive()
                and self._thread is not threading.current_thread()):
            self._thread.join(1)
        self._socket.close()

    def forget(self):
        """In a forked child: it does not speak for its parent."""
        self.changed = threading.Condition()
        self.is_closed = True
        self.latest = None
        self._socket.close()

    # -- from the agent -------------------------------------------------------

    def _read(self):
        try:
            while self._is_readable():
                data = self._socket.recv(_wire.PACKET_SIZE_MAX + 1)
                if not data:
                    break
                self._take(_wire.parse(data))
        except (OSError, ValueError) as x:
            with self.changed:
                self.refusal = self.refusal or _wire.plain(x)
        with self.changed:
            if self.is_closed:
                return
            self.is_lost = True
            self._end("lost", self.refusal or "the agent has hung up")
        while self._has_to_unblock():
            self._run_hooks()
            time.sleep(HOOK_INTERVAL)

    # Waits for a packet; calls hooks meanwhile as long as they are needed.
    def _is_readable(self):
        while True:
            with self.changed:
                if self.is_closed:
                    return False
            unblocks = self._has_to_unblock()
            if unblocks:
                self._run_hooks()
            wait = select.poll()
            wait.register(self._socket, select.POLLIN)
            if wait.poll(HOOK_INTERVAL * 1000 if unblocks else None):
                return True

    def _take(self, order):
        kind = order["type"]
        held = None
        with self.changed:
            told = self.latest
            if kind == "generation":
                new = Told(order)
                if told is None or new.number != told.number:
                    self._end("regroup", new.reason)
                    self.latest = new
                    self.changed.notify_all()
            elif kind == "regroup":
                self._end("regroup", _wire.text(order, "reason"))
            elif kind == "hold":
                # From which step on is decided while it goes past none.
                if told is not None and told.over is None:
                    told.set_limit(told.next_step, False)
                    held = told.next_step
            elif kind == "stop_at":
                step = _wire.number(order, "step")
                if told is not None:
                    told.set_limit(step, True)
                    self.changed.notify_all()
            elif kind == "go_on":
                if told is not None:
                    told.set_limit(None, False)
                    self.changed.notify_all()
            elif kind == "stop":
                self.is_stopped = True
                self._end("stop", _wire.text(order, "reason"))
            elif kind == "error":
                self.refusal = _wire.text(order, "text")
        if held is not None:
            self.say("held", generation=told.number, step=held)

    # Under the lock.
    def _end(self, how, reason):
        told = self.latest
        if told is not None and told.over is None:
            told.over = how
            told.over_reason = reason
        self.changed.notify_all()

    # -- steps ----------------------------------------------------------------

    def go_past(self, told, step, saves):
        """Goes past a safe point, or waits at it as long as the agent wants.

        Args:
            saves: whether to return before it says that it has stopped.

        Returns:
            False: the worker is to stop here, and to save before that. Otherwise
            it has gone past, or the generation is over.
        """
        while True:
            with self.changed:
                while True:
                    if told.over is not None or self.is_closed:
                        return True
                    if told.limit is None or step < told.limit:
                        if step >= told.next_step:
                            told.next_step = step + 1
                        return True
                    if told.stops and saves:
                        return False
                    if told.stops and not told.has_reached:
                        told.has_reached = True
                        break
                    self.changed.wait()
            # May wait for room.
            self.say("reached", generation=told.number, step=step)

    # -- hooks ----------------------------------------------------------------

    def _has_to_unblock(self):
        with self.changed:
            told = self.entered
            return (told is not None and not told.is_left
                    and told.over is not None and not self.is_closed)

    def _run_hooks(self):
        with self.changed:
            told = self.entered
            if told is None or told.is_left:
                return
            self._runs_hooks = True
            reason = told.over_reason
        try:
            for hook in list(hooks):
                _call(hook, reason)
        finally:
            with self.changed:
                self._runs_hooks = False
                self.changed.notify_all()

    def leave(self, told):
        """No hook runs any more for this generation when this returns."""
        with self.changed:
            told.is_left = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self._runs_hooks)


# One that fails must keep neither the others nor the thread, which reads.
def _call(hook, reason):
    try:
        hook(reason)
    except BaseException as x:
        traceback.print_exc(file=sys.stderr)
        if isinstance(x, (SystemExit, KeyboardInterrupt)):
            print("actorrun: a hook of on_regroup cannot end the program, as it runs on"
                  " another thread: the worker goes on", file=sys.stderr)


current = None  # The process's connection, if there is one.


def _forget_parent():
    global current
    if current is not None:
        current.forget()
        current = None


os.register_at_fork(after_in_child=_forget_parent)
