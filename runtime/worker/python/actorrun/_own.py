"""Has the names of torch that the launcher uses, for a Python without torch.

They mean what those of torch 2.14 mean. Where torch is installed, its own are used:
see `_names`.
"""
from __future__ import annotations

import abc
import json
import os
import re
import signal
import tempfile
import time
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, Dict, List, Optional, Set, Tuple, Union

NOT_AVAILABLE = "<N/A>"


class SignalException(Exception):
    """A signal has ended the job.

    Attributes:
        sigval: which one.
    """

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


class Std(IntFlag):
    """Which output of a worker is meant."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Union[Std, Dict[int, Std]]:
        """Reads `3`, or `0:3,1:1`: by local ranks.

        Raises:
            ValueError: it is neither.
        """
        if re.fullmatch("[0123]", vm):
            return cls(int(vm))
        if re.fullmatch(r"\d+:[0123](,\d+:[0123])*", vm):
            pairs = (x.split(":") for x in vm.split(","))
            return {int(rank): cls(int(std)) for rank, std in pairs}
        raise ValueError(f'"{vm}" is neither 0, 1, 2 or 3 nor RANK:0-3,RANK:0-3…')


class DefaultLogsSpecs:
    """Where the output of workers goes, in the layout that torchrun has.

    Args:
        log_dir: a folder, which is made; none: a new one for temporary files;
            /dev/null: no files at all.
        redirects, tee: which outputs go to files only, and to both; for all or
            by local rank.
        local_ranks_filter: whose output the console shows; none: that of all.
    """

    def __init__(self, log_dir: Optional[str] = None,
                 redirects: Union[Std, Dict[int, Std]] = Std.NONE,
                 tee: Union[Std, Dict[int, Std]] = Std.NONE,
                 local_ranks_filter: Optional[Set[int]] = None) -> None:
        if not log_dir:
            log_dir = tempfile.mkdtemp(prefix="torchelastic_")
        elif log_dir != os.devnull:
            os.makedirs(log_dir, exist_ok=True)
        self._root_log_dir = log_dir
        self._redirects = redirects
        self._tee = tee
        self._local_ranks_filter = local_ranks_filter

    @property
    def root_log_dir(self) -> str:
        return self._root_log_dir


@dataclass
class ProcessFailure:
    """How a worker has failed.

    Attributes:
        exitcode: negative: the number of a signal.
        error_file: what the worker has written about it, or `<N/A>`.
        error_file_data: the contents of that.
        message: a text, or a dict with `message` and `extraInfo`.
        timestamp: Unix seconds.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: Dict[str, Any] = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data = {"message": "<NONE>"}
        self.message = ""
        self.timestamp = int(time.time())
        if os.path.isfile(self.error_file):
            with open(self.error_file) as file:
                self.error_file_data = json.load(file)
            self.message = self.error_file_data["message"]
            if isinstance(self.message, dict):
                self.timestamp = int(self.message["extraInfo"]["timestamp"])
            else:
                self.timestamp = int(self.error_file_data.get("timestamp", 0))
        else:
            self.error_file = NOT_AVAILABLE
        if not self.message and self.exitcode < 0:
            self.message = (f"Signal {-self.exitcode} ({self.signal_name()})"
                            f" received by PID {self.pid}")

    def signal_name(self) -> str:
        """Returns the name of the signal, or `<N/A>`."""
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return NOT_AVAILABLE


class ChildFailedError(Exception):
    """Workers have failed.

    Attributes:
        name: of what they ran.
        failures: by global rank; not empty.
    """

    def __init__(self, name: str, failures: Dict[int, ProcessFailure]) -> None:
        self.name = name
        self.failures = failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> Tuple[int, ProcessFailure]:
        rank = min(self.failures, key=lambda x: self.failures[x].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        return f"{self.name} FAILED"


@dataclass
class LaunchConfig:
    """How a job is launched on this node. Fields and defaults are those of torch 2.14.

    Attributes:
        min_nodes, max_nodes: how many nodes the job runs with.
        nproc_per_node: workers on this node; also `gpu`, `cpu`, `auto`.
        run_id: the job's id, the same on all nodes; empty: a random one.
        rdzv_endpoint, rdzv_backend, rdzv_configs: where and how the nodes meet.
        rdzv_timeout: seconds; -1: that of `rdzv_configs`, or 900.
        max_restarts: how many failures of workers the job survives.
        monitor_interval: has no effect, as nothing is polled.
        start_method: of functions; see `elastic_launch`.
        signals_to_handle: names of signals that end the job, with commas.
        shutdown_timeout: seconds from the stop signal to SIGKILL; none: those of
            TORCH_ELASTIC_SHUTDOWN_TIMEOUT, or 30.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: Union[int, str]
    logs_specs: Optional[DefaultLogsSpecs] = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: Dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: Optional[str] = None
    metrics_cfg: Dict[str, str] = field(default_factory=dict)
    local_addr: Optional[str] = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: Optional[List[str]] = None
    duplicate_stderr_filters: Optional[List[str]] = None
    virtual_local_rank: bool = False
    shutdown_timeout: Optional[int] = None

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        else:
            self.rdzv_configs.setdefault("timeout", 900)
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()
        if self.shutdown_timeout is None:
            self.shutdown_timeout = int(
                os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30"))
        elif self.shutdown_timeout < 0:
            raise ValueError(
                f"shutdown_timeout is {self.shutdown_timeout}, less than 0 seconds")


@dataclass
class RunProcsResult:
    """What has become of processes, by local rank.

    Attributes:
        return_values: of functions; empty for programs.
        failures: of the processes that have failed by themselves.
        stdouts, stderrs: paths; empty texts: these outputs are in no file.
    """

    return_values: Dict[int, Any] = field(default_factory=dict)
    failures: Dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: Dict[int, str] = field(default_factory=dict)
    stderrs: Dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        return bool(self.failures)


class PContext(abc.ABC):
    """Processes that have been started together."""
