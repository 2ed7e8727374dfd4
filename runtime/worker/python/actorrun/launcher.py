"""Launches a program or a function as the workers of a job, as torch's launcher does.

    from actorrun.launcher import LaunchConfig, elastic_launch

    config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=4, run_id="job1",
                          rdzv_backend="c10d", rdzv_endpoint="localhost:0")
    losses = elastic_launch(config, train)("data", 3)     # {global rank: value}

The names are those of `torch.distributed.launcher.api`. Where torch is installed,
configuration and exceptions are torch's own; without it they are ours, which have the
same fields. The work is done by the program `actorrun`.
"""
from __future__ import annotations

import os
import signal
import sys
import tempfile
import uuid
from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple, Union

from . import _failures, _functions, _names
from ._job import Job, LaunchError, Signals
from ._names import HAS_TORCH, LaunchConfig, SignalException

__all__ = ["LaunchConfig", "LaunchError", "elastic_launch", "launch_agent"]

Entrypoint = Union[Callable[..., Any], str, None]

# LaunchConfig puts this into rdzv_configs if there is no `timeout`; seconds.
_TIMEOUT_OF_CONFIG = 900

# torchrun's address of one node for `static`: 29500 is to be used if it is free.
_USUAL_ADDRESSES = ("127.0.0.1:29500", "localhost:29500")

_BACKENDS = ("static", "c10d", "etcd", "etcd-v2")

_SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"


class elastic_launch:
    """Launches this node's part of a job when it is called, and waits for its end."""

    def __init__(self, config: LaunchConfig, entrypoint: Entrypoint,
                 health_check_server: Any = None) -> None:
        """
        Args:
            config: of the job and of this node.
            entrypoint: a program, or a function. A function is called in interpreters of
                their own. It travels by pickle, or by cloudpickle if that is installed
                and pickle cannot.
            health_check_server: torch's; only torch's agent has a use for it.
        """
        self._config = config
        self._entrypoint = entrypoint
        self._health_check_server = health_check_server

    def __call__(self, *args: Any) -> Dict[int, Any]:
        """Calls the function with these arguments on all workers; see `launch_agent`."""
        more = ({} if self._health_check_server is None
                else {"health_check_server": self._health_check_server})
        return launch_agent(self._config, self._entrypoint, list(args), **more)


def launch_agent(config: LaunchConfig, entrypoint: Entrypoint, args: List[Any],
                 health_check_server: Any = None) -> Dict[int, Any]:
    """Runs this node's part of a job, and waits for its end.

    What only torch's agent can do is left to that, where torch is installed, and a line
    on standard error says so: a class of `logs_specs`, a back end or a health check of
    one's own, a function or arguments that cannot be pickled.

    Returns:
        By global rank of this node's workers, what the function has returned; None for
        programs.

    Raises:
        ChildFailedError: workers have failed, and no restart was left.
        SignalException: a signal has ended the job.
        FileNotFoundError, PermissionError: the program is not there, or cannot be run.
        LaunchError: too few nodes came, the coordinator was lost, …; it has the text.
        ValueError: a field of the configuration has a value that it cannot have.
        RuntimeError: the main module launches while it is imported by a worker.
    """
    if not entrypoint:
        raise ValueError("entrypoint: there is neither a program nor a function")
    if not config.run_id:
        config.run_id = str(uuid.uuid4().int)
    why = unsupported(config, health_check_server)
    if why:
        return _torchs_agent(why, config, entrypoint, args, health_check_server)
    job = Job(_event_handler(config))
    try:
        try:
            words = [*options(config, entrypoint, args),
                     *_worker(job.folder, entrypoint, args)]
        except _functions.NotPicklable as x:
            return _torchs_agent(f"{_name(entrypoint, args)} or its arguments cannot be"
                                 f" pickled: {x}",
                                 config, entrypoint, args, health_check_server)
        _warn(config, entrypoint)
        environment = dict(os.environ)
        environment["TORCHELASTIC_SIGNALS_TO_HANDLE"] = _signals(config)
        # What becomes of a failure is up to this process.
        environment.pop("TORCHELASTIC_ERROR_FILE", None)
        with Signals(_signals(config).split(",")) as signals:
            job.start(words, environment)
            job.wait(signals=signals)
        return _result(job, config, entrypoint, args)
    finally:
        job.close()


def _result(job: Job, config: LaunchConfig, entrypoint: Entrypoint,
            args: List[Any]) -> Dict[int, Any]:
    try:
        report = job.report()
    except LaunchError:
        if job.got is not None:  # It came before the program was ready for it.
            _raise_signal(job.got)
        raise
    if report["exit_code"] == 0:
        ranks = _failures.ranks_of(report)
        if isinstance(entrypoint, str):
            return {rank: None for rank in ranks}
        return _functions.read_values(job.folder, report["generation"], ranks)
    if report["failures"]:
        raise _failures.ChildFailedError(_name(entrypoint, args),
                                         _failures.by_rank(report), report)
    if report["signal"]:
        _raise_signal(report["signal"])
    text = "\n".join(x for x in (report["sentence"], report["remedy"]) if x)
    if isinstance(entrypoint, str):
        for code, kind in ((127, FileNotFoundError), (126, PermissionError)):
            if report["exit_code"] == code:
                raise kind(text)
    raise LaunchError(text, report["exit_code"], report)


def _raise_signal(number: int) -> NoReturn:
    value = signal.Signals(number)
    raise SignalException(f"Process {os.getpid()} got signal: {value.name}", sigval=value)


# -- what only torch's agent can do ----------------------------------------------------


def unsupported(config: LaunchConfig, health_check_server: Any = None) -> str:
    """Returns why this job is not for the program `actorrun`; empty: it is."""
    if health_check_server is not None:
        return "it is given a health check server"
    specs = getattr(config, "logs_specs", None)
    if specs is not None and type(specs) is not _names.DefaultLogsSpecs:
        return f"logs_specs is a class of its own, {type(specs).__name__}"
    if config.rdzv_backend not in _BACKENDS:
        return f'rdzv_backend is "{config.rdzv_backend}", not one of {", ".join(_BACKENDS)}'
    return ""


def _torchs_agent(why: str, config: LaunchConfig, entrypoint: Entrypoint, args: List[Any],
                  health_check_server: Any) -> Dict[int, Any]:
    if not HAS_TORCH:
        raise ValueError(f"{why}; torch's agent could do that, but torch is not installed")
    from . import _takeover
    print(f"actorrun: torch's agent runs this job: {why}", file=sys.stderr, flush=True)
    more = ({} if health_check_server is None
            else {"health_check_server": health_check_server})
    return _takeover.torchs_launch_agent()(config, entrypoint, args, **more)


def _warn(config: LaunchConfig, entrypoint: Entrypoint) -> None:
    if not isinstance(entrypoint, str) and config.start_method == "fork":
        _say('start_method is "fork", but the function runs in new interpreters, which have'
             " nothing of this process's memory but its arguments")
    if config.metrics_cfg:
        _say("metrics_cfg has no effect; --metrics-port in ACTORRUN_OPTIONS has metrics")


def _say(text: str) -> None:
    print(f"actorrun: {text}", file=sys.stderr, flush=True)


def _event_handler(config: LaunchConfig) -> Optional[Callable[[str], None]]:
    """Returns what gives events to a handler of Python; none: there is none to give to."""
    name = getattr(config, "event_log_handler", "null")
    if not HAS_TORCH:
        if name not in ("null", "console"):
            raise ValueError(f'event_log_handler: there is no handler "{name}" without torch')
        return None
    import logging
    from torch.distributed.elastic import events
    try:
        handler = events.get_logging_handler(name)
    except KeyError:
        raise ValueError(f'event_log_handler: there is no handler "{name}"') from None
    if name == "console" or isinstance(handler, logging.NullHandler):
        return None

    def take(line: str) -> None:
        events.record(events.Event.deserialize(line), name)
    return take


# -- words for the program -------------------------------------------------------------


def _name(entrypoint: Entrypoint, args: List[Any]) -> str:
    if not isinstance(entrypoint, str):
        return getattr(entrypoint, "__qualname__", type(entrypoint).__name__)
    if entrypoint == sys.executable:
        return next((x for x in map(str, args) if not x.startswith("-")), "")
    return entrypoint


def _worker(folder: str, entrypoint: Entrypoint, args: List[Any]) -> List[str]:
    """Returns the words of a worker. `${local_rank}` in arguments is replaced in each."""
    if isinstance(entrypoint, str):
        return [entrypoint.replace("$", "$$"), *map(str, args)]
    assert entrypoint is not None
    _functions.write_call(os.path.join(folder, "call"), entrypoint, tuple(args))
    return _functions.command(folder)


def _signals(config: LaunchConfig) -> str:
    return getattr(config, "signals_to_handle", None) or _SIGNALS


def options(config: LaunchConfig, entrypoint: Entrypoint, args: List[Any]) -> List[str]:
    """Returns the options of the program `actorrun` that this configuration amounts to."""
    out = [f"--nnodes={config.min_nodes}:{config.max_nodes}",
           f"--nproc-per-node={config.nproc_per_node}", f"--rdzv-id={config.run_id}",
           f"--role={config.role}", f"--max-restarts={config.max_restarts}",
           f"--monitor-interval={config.monitor_interval}"]
    name = _name(entrypoint, args)
    if name:
        out.append("--entry-name=" + name.replace("\n", " ")[:255])
    out += _meeting(config) + _logs(config)
    if getattr(config, "local_addr", None):
        out.append(f"--local-addr={config.local_addr}")
    if getattr(config, "event_log_handler", "null") == "console":
        out.append("--event-log-handler=console")
    if getattr(config, "numa_options", None) is not None:
        out.append(f"--numa-binding={config.numa_options.affinity_mode.value}")
    if _signals(config) != _SIGNALS:  # So what nohup ignores stays ignored.
        out.append(f"--signals-to-handle={_signals(config)}")
    if getattr(config, "virtual_local_rank", False):
        out.append("--virtual-local-rank")
    if getattr(config, "shutdown_timeout", None) is not None:
        out.append(f"--shutdown-timeout={config.shutdown_timeout}")
    return [*out, "--no-python"]


def _meeting(config: LaunchConfig) -> List[str]:
    """Returns where and how the nodes meet."""
    keys = dict(config.rdzv_configs)
    if keys.get("timeout") == _TIMEOUT_OF_CONFIG:
        del keys["timeout"]
    elif "timeout" in keys:
        keys.setdefault("join_timeout", keys.pop("timeout"))
    rank = keys.pop("rank", None)
    backend, endpoint = config.rdzv_backend, config.rdzv_endpoint.strip()
    out = []
    if backend == "static":
        if not endpoint:
            raise ValueError("rdzv_endpoint is empty; static needs HOST:PORT")
        if config.max_nodes > 1 or endpoint not in _USUAL_ADDRESSES:
            out += ["--rdzv-backend=static", f"--rdzv-endpoint={endpoint}"]
            if rank is not None:
                out.append(f"--node-rank={rank}")
    elif config.max_nodes > 1 or backend != "c10d" or endpoint not in ("", "localhost:0"):
        out += [f"--rdzv-backend={backend}", f"--rdzv-endpoint={endpoint}"]
    if keys:
        out.append("--rdzv-conf=" + ",".join(f"{k}={_value(v)}" for k, v in keys.items()))
    return out


def _value(x: Any) -> str:
    return str(x).lower() if isinstance(x, bool) else str(x)


def _streams(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{rank}:{int(std)}" for rank, std in value.items()) or "0"
    return str(int(value))


def _logs(config: LaunchConfig) -> List[str]:
    """Returns where the workers' output goes."""
    specs = getattr(config, "logs_specs", None)
    if specs is None:  # torch before 2.3.
        folder, ranks = config.log_dir, None
        redirects, tee = config.redirects, config.tee
    else:
        folder, ranks = specs.root_log_dir, specs._local_ranks_filter
        redirects, tee = specs._redirects, specs._tee
        if _is_unasked(folder):
            folder = None
    out = [f"--redirects={_streams(redirects)}", f"--tee={_streams(tee)}"]
    if folder:
        out.append(f"--log-dir={folder}")
    if ranks:
        out.append("--local-ranks-filter=" + ",".join(map(str, sorted(ranks))))
    template = getattr(config, "log_line_prefix_template", None)
    if template:
        out.append(f"--log-line-prefix-template={template}")
    for name in ("duplicate_stdout_filters", "duplicate_stderr_filters"):
        texts = getattr(config, name, None)
        if texts:
            joined = ",".join(x.replace(",", ",,") for x in texts)
            out.append(f"--{name.replace('_', '-')}={joined}")
    return out


# DefaultLogsSpecs makes a folder for temporary files if it is given none. The program
# makes one of its own, which does not stay if nothing is in it.
def _is_unasked(folder: Optional[str]) -> bool:
    if not folder or os.path.dirname(folder) != tempfile.gettempdir():
        return False
    if not os.path.basename(folder).startswith("torchelastic_"):
        return False
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        pass
    except OSError:
        return False  # Something has been put there.
    return True
