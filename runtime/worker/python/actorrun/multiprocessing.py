"""Starts programs or functions as processes of this machine, with torch's arguments.

    from actorrun.multiprocessing import DefaultLogsSpecs, Std, start_processes

    group = start_processes(
        "trainer", train, args={0: (1, 2), 1: (3, 4)}, envs={0: {}, 1: {}},
        logs_specs=DefaultLogsSpecs(log_dir="logs", tee=Std.ALL))
    result = group.wait()
    result.return_values                         # {local rank: value}

The names are those of `torch.distributed.elastic.multiprocessing`. The processes are the
workers of a job of this node alone, which the program `actorrun` runs: if one fails, all
are stopped, none outlives this process, and what they have started is ended with them.
"""
from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _failures, _functions
from ._job import Job, LaunchError
from ._names import (DefaultLogsSpecs, PContext, ProcessFailure, RunProcsResult,
                     SignalException, Std)

__all__ = ["DefaultLogsSpecs", "LaunchError", "PContext", "ProcessFailure",
           "RunProcsResult", "SignalException", "Std", "start_processes"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

Streams = Union[Std, Dict[int, Std]]


def start_processes(
        name: str, entrypoint: Union[Callable[..., Any], str],
        args: Dict[int, Tuple[Any, ...]], envs: Dict[int, Dict[str, str]],
        logs_specs: Any = None, log_line_prefixes: Optional[Dict[int, str]] = None,
        start_method: str = "spawn", numa_options: Any = None,
        duplicate_stdout_filters: Optional[List[str]] = None,
        duplicate_stderr_filters: Optional[List[str]] = None, *,
        log_dir: Optional[str] = None, redirects: Streams = Std.NONE,
        tee: Streams = Std.NONE) -> Context:
    """Starts a process for each local rank. Returns when all of them run.

    Args:
        name: a label, for the console.
        entrypoint: a program, or a function that can be pickled.
        args: the arguments of each local rank, 0 to N-1.
        envs: variables of each; the rest of the environment is this process's.
        logs_specs: torch's DefaultLogsSpecs: where output goes, and what of it.
        log_line_prefixes: labels of teed lines.
        start_method: functions always run in new interpreters.
        log_dir, redirects, tee: in place of `logs_specs`, as with torch before 2.3; the
            folder must be there and be empty. It may stand in the place of `logs_specs`.

    Raises:
        RuntimeError: the local ranks do not match, or the folder is not empty.
        FileNotFoundError, PermissionError: the program is not there, or cannot be run.
        ValueError: an argument has a value that it cannot have.
        NotPicklable: the function or its arguments cannot be handed to an interpreter.
        LaunchError: the processes cannot be started.

    On the main thread, SIGTERM, SIGINT, SIGHUP and SIGQUIT raise SignalException from here
    on, as with torch.
    """
    count = len(args)
    for what, given in (("args", args), ("envs", envs)):
        if set(given) != set(range(count)):
            raise RuntimeError(f"{what}: the local ranks do not match, expected:"
                               f" {set(range(count))}, actual: {set(given)}")
    if isinstance(logs_specs, str):
        logs_specs, log_dir = None, logs_specs
    if logs_specs is None:
        if log_dir is None:
            raise ValueError("there is neither logs_specs nor log_dir")
        if os.listdir(log_dir):
            raise RuntimeError(f"log_dir: {log_dir} is not empty")
        logs = _Logs(log_dir, redirects, tee, None)
    elif DefaultLogsSpecs is not None and type(logs_specs) is DefaultLogsSpecs:
        logs = _Logs(logs_specs.root_log_dir, logs_specs._redirects, logs_specs._tee,
                     logs_specs._local_ranks_filter)
        log_dir = None
    else:
        raise ValueError(f"logs_specs is a class of its own, {type(logs_specs).__name__};"
                         " only DefaultLogsSpecs says where all output goes")
    if isinstance(entrypoint, str):
        for env in envs.values():
            _check_program(entrypoint, env)
    elif start_method == "fork":
        print('actorrun: start_method is "fork", but the function runs in new interpreters,'
              " which have nothing of this process's memory but its arguments",
              file=sys.stderr, flush=True)
    words = [*logs.words(), "--nnodes=1", f"--nproc-per-node={count}",
             f"--rdzv-id={envs[0].get('TORCHELASTIC_RUN_ID') or name or 'processes'}",
             f"--role={name}", f"--entry-name={_label(entrypoint)}",
             "--signals-to-handle=" + ",".join(x.name for x in _CLOSING),
             # A group is not a job that others look at, or that uses torch's store.
             "--journal=none", "--no-agent-store", "--no-timer"]
    if log_line_prefixes:
        words.append(f"--log-line-prefix-template={_template(log_line_prefixes)}")
    for option, texts in (("stdout", duplicate_stdout_filters),
                          ("stderr", duplicate_stderr_filters)):
        if texts:
            words.append(f"--duplicate-{option}-filters="
                         + ",".join(x.replace(",", ",,") for x in texts))
    if numa_options is not None:
        words.append(f"--numa-binding={numa_options.affinity_mode.value}")
    context = Context(name, entrypoint, args, envs, logs, log_dir)
    try:
        context._begin(words)
    except BaseException:
        context._end()
        raise
    return context


# Signals that `close` can send.
_CLOSING = (*_SIGNALS, signal.SIGUSR1, signal.SIGUSR2)


def _label(entrypoint: Union[Callable[..., Any], str]) -> str:
    if isinstance(entrypoint, str):
        return entrypoint
    return getattr(entrypoint, "__qualname__", type(entrypoint).__name__)


def _check_program(program: str, env: Dict[str, str]) -> None:
    """Raises what Popen would."""
    path = env.get("PATH", os.environ.get("PATH"))
    if shutil.which(program, path=path) is None:
        if os.path.exists(program) and os.path.dirname(program):
            raise PermissionError(13, "Permission denied", program)
        raise FileNotFoundError(2, "No such file or directory", program)


def _template(prefixes: Dict[int, str]) -> str:
    """Returns the one text from which the labels of all local ranks can be made.

    Raises:
        ValueError: there is none.
    """
    first = prefixes[min(prefixes)]
    number = str(min(prefixes))
    at = [i for i in range(len(first)) if first.startswith(number, i)]
    candidates = [first] + [first[:i] + "\0" + first[i + len(number):] for i in at]
    for text in candidates:
        if all(text.replace("\0", str(rank)) == prefixes[rank] for rank in prefixes):
            return text.replace("$", "$$").replace("\0", "${local_rank}")
    raise ValueError("log_line_prefixes: the labels differ by more than the local rank:"
                     f" {prefixes}")


class _Logs:
    """Where output goes."""

    def __init__(self, folder: str, redirects: Streams, tee: Streams,
                 ranks: Optional[Any]) -> None:
        self.folder = folder
        self.redirects = redirects
        self.tee = tee
        self.ranks = ranks

    def words(self) -> List[str]:
        out = [f"--log-dir={self.folder}", f"--redirects={_text(self.redirects)}",
               f"--tee={_text(self.tee)}"]
        if self.ranks:
            out.append("--local-ranks-filter=" + ",".join(map(str, sorted(self.ranks))))
        return out

    def has(self, rank: int, stream: Std) -> bool:
        """Returns whether this output of a rank goes to a file."""
        return self.folder != os.devnull and any(
            (x.get(rank, Std.NONE) if isinstance(x, dict) else x) & stream
            for x in (self.redirects, self.tee))


def _text(x: Streams) -> str:
    if isinstance(x, dict):
        return ",".join(f"{rank}:{int(std)}" for rank, std in x.items()) or "0"
    return str(int(x))


class Context(PContext):
    """Processes that `start_processes` has started.

    Attributes:
        name, entrypoint, args, envs: as they were given.
        nprocs: how many there are.
        stdouts, stderrs: paths by local rank; empty texts: these outputs are in no file.
        error_files: paths by local rank.
    """

    def __init__(self, name: str, entrypoint: Union[Callable[..., Any], str],
                 args: Dict[int, Tuple[Any, ...]], envs: Dict[int, Dict[str, str]],
                 logs: _Logs, links: Optional[str]) -> None:
        self.name = name
        self.entrypoint = entrypoint
        self.args = args
        self.envs = envs
        self.nprocs = len(args)
        self.stdouts = {rank: "" for rank in args}
        self.stderrs = {rank: "" for rank in args}
        self.error_files = {rank: "" for rank in args}
        self._logs = logs
        self._links = links    # A folder that is to have one for each local rank.
        self._pids: Dict[int, int] = {}
        self._job = Job()
        self._closed_by: Optional[signal.Signals] = None
        self._result: Optional[RunProcsResult] = None
        self._end = weakref.finalize(self, self._job.close)

    def _begin(self, words: List[str]) -> None:
        for rank in range(self.nprocs):
            path = self._job.path(f"call.{rank}")
            environment = {**os.environ,
                           **{k: str(v) for k, v in self.envs[rank].items()}}
            if isinstance(self.entrypoint, str):
                _functions.write_program(
                    path, [self.entrypoint, *map(str, self.args[rank])], environment)
            else:
                _functions.write_call(path, self.entrypoint, self.args[rank], environment)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                signal.signal(number, _raise)
        os.mkfifo(self._job.path("started"), 0o600)
        # For writing, too, so that it does not end with the first one that has written.
        started = os.open(self._job.path("started"), os.O_RDWR | os.O_NONBLOCK)
        try:
            self._job.start([*words, "--no-python", *_functions.command(self._job.folder)],
                            dict(os.environ))
            rest = b""
            while len(self._pids) < self.nprocs:
                has_ended = self._job.wait(also=started)
                try:
                    *lines, rest = (rest + os.read(started, 65536)).split(b"\n")
                except BlockingIOError:
                    if has_ended:
                        break
                    continue
                for line in lines:
                    self._take(json.loads(line))
        finally:
            os.close(started)
        if self._job.has_ended and len(self._pids) < self.nprocs:
            self._finish()  # Raises if it is not for a process that has failed.

    # A process runs.
    def _take(self, word: Dict[str, Any]) -> None:
        rank = word["local_rank"]
        self._pids[rank] = word["pid"]
        if not word["error_file"]:
            return
        self.error_files[rank] = word["error_file"]
        folder = os.path.dirname(word["error_file"])
        if self._logs.has(rank, Std.OUT):
            self.stdouts[rank] = os.path.join(folder, "stdout.log")
        if self._logs.has(rank, Std.ERR):
            self.stderrs[rank] = os.path.join(folder, "stderr.log")
        if self._links is not None:
            os.symlink(os.path.relpath(folder, self._links),
                       os.path.join(self._links, str(rank)))

    def start(self) -> None:
        """Raises:
            ValueError: `start_processes` has started them.
        """
        raise ValueError("the processes have been started")

    def pids(self) -> Dict[int, int]:
        """Returns the ids of the processes by local rank."""
        return dict(self._pids)

    def wait(self, timeout: float = -1, period: float = 1) -> Optional[RunProcsResult]:
        """Waits until all processes have ended, or one has failed and the others have been
        stopped.

        Args:
            timeout: seconds; 0: looks once; negative: for ever.
            period: seconds; at least so often signals of this process are looked at that
                have come on another thread.

        Returns:
            None if they still run.

        Raises:
            LaunchError: they have ended for another reason than a failure.
        """
        end = None if timeout < 0 else time.monotonic() + timeout
        while self._result is None:
            rest = period if end is None else min(period, end - time.monotonic())
            if self._job.wait(max(rest, 0)):
                self._finish()
            elif end is not None and time.monotonic() >= end:
                return None
        return self._result

    def close(self, death_sig: Optional[signal.Signals] = None, timeout: int = 30) -> None:
        """Stops all processes that run, and waits for their end.

        Args:
            death_sig: SIGTERM if it is none.
            timeout: seconds, at most 30; then they get SIGKILL.

        Raises:
            ValueError: this signal cannot be sent.
        """
        number = death_sig or signal.SIGTERM
        if number not in (*_CLOSING, signal.SIGKILL):
            raise ValueError(f"death_sig: {signal.Signals(number).name} is none of"
                             f" {', '.join(x.name for x in _CLOSING)} and SIGKILL")
        if self._result is not None or not self._end.alive:
            return
        if not self._job.has_ended:
            self._closed_by = signal.Signals(number)
            self._job.send(number)
            # Not the same signal, of which one that follows shortly counts once.
            if not self._job.wait(timeout) and number != signal.SIGKILL:
                self._job.send(signal.SIGTERM if number != signal.SIGTERM
                               else signal.SIGINT)
        self._job.wait()
        self._finish()

    def _finish(self) -> None:
        try:
            self._result = self._read_result()
        finally:
            self._end()

    def _read_result(self) -> RunProcsResult:
        out = RunProcsResult(stdouts=self.stdouts, stderrs=self.stderrs)
        try:
            report = self._job.report()
        except LaunchError:
            if self._closed_by is None:
                raise
            report = {"exit_code": 1, "failures": []}
        if report["exit_code"] == 0:
            if not isinstance(self.entrypoint, str):
                # In a job of one node a global rank is a local one.
                out.return_values = _functions.read_values(
                    self._job.folder, report["generation"], list(range(self.nprocs)))
        elif report["failures"]:
            out.failures = {x["local_rank"]: _failures.failure(x, report["log_dir"])
                            for x in report["failures"]}
        elif self._closed_by is not None:
            out.failures = {
                rank: ProcessFailure(local_rank=rank, pid=pid, exitcode=-self._closed_by,
                                     error_file=self.error_files[rank])
                for rank, pid in sorted(self._pids.items())}
        elif report["signal"]:
            number = signal.Signals(report["signal"])
            raise SignalException(f"Process {os.getpid()} got signal: {number.name}",
                                  sigval=number)
        else:
            raise LaunchError(report["sentence"], report["exit_code"], report)
        return out

    # Of torch's class, which polls; here `wait` and `close` do all of it.
    def _start(self) -> None:
        self.start()

    def _poll(self) -> Optional[RunProcsResult]:
        return self.wait(0)

    def _close(self, death_sig: signal.Signals, timeout: int = 30) -> None:
        self.close(death_sig, timeout)


def _raise(number: int, _: Any) -> None:
    value = signal.Signals(number)
    raise SignalException(f"Process {os.getpid()} got signal: {value.name}", sigval=value)
