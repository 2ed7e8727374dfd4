"""Reads torchrun's command line, for a Python without torch; see `run`."""
from __future__ import annotations

import argparse
import os
import sys
import uuid
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from ._own import DefaultLogsSpecs, LaunchConfig, Std

_TRUE = ("1", "true", "t", "yes", "y", "on")


def get_args_parser() -> argparse.ArgumentParser:
    """Returns a parser of the options of torch 2.14.

    One that is not given has the value of its variable, such as PET_NNODES.
    """
    parser = argparse.ArgumentParser(
        description="Launches the workers of a job with actorrun.")

    def add(name: str, default: Any, text: str, *short: str, kind: Any = str,
            **more: Any) -> None:
        variable = "PET_" + name.upper().replace("-", "_")
        value = os.environ.get(variable)
        parser.add_argument(
            *short, f"--{name}", *_other_spellings(name), type=kind, help=text,
            default=default if value is None else value, **more)

    def flag(name: str, text: str, *short: str) -> None:
        variable = "PET_" + name.upper().replace("-", "_")
        parser.add_argument(
            *short, f"--{name}", *_other_spellings(name), action="store_true", help=text,
            default=os.environ.get(variable, "0").lower() in _TRUE)

    add("nnodes", "1:1", "number of nodes, or MIN:MAX")
    add("nproc-per-node", "1", "workers on this node: a number, gpu, cpu or auto")
    add("rdzv-backend", "static", "how the nodes meet: static, c10d, etcd")
    add("rdzv-endpoint", "", "where they meet: HOST[:PORT]")
    add("rdzv-id", "none", "the job's id")
    add("rdzv-conf", "", "KEY=VALUE,… for the rendezvous")
    flag("standalone", "run on this node alone")
    add("max-restarts", 0, "failures of workers that the job survives", kind=int)
    add("monitor-interval", 0.1, "has no effect: nothing is polled", kind=float)
    add("start-method", "spawn", "of functions", choices=["spawn", "fork", "forkserver"])
    add("event-log-handler", "null", "null or console")
    add("role", "default", "label of the workers")
    flag("module", "the script is a module", "-m")
    flag("no-python", "the script is a program")
    flag("run-path", "run the script by runpy.run_path")
    add("log-dir", None, "folder for logs")
    add("redirects", "0", "outputs that go to files: 0, 1, 2, 3 or RANK:N,…", "-r")
    add("tee", "0", "outputs that go to files and the console", "-t")
    add("local-ranks-filter", "", "local ranks whose output the console shows")
    add("node-rank", 0, "static: rank of this node", kind=int)
    add("master-addr", "127.0.0.1", "static: address of node rank 0")
    add("master-port", None, "static: port there", kind=int)
    add("local-addr", None, "address of this node")
    add("log-line-prefix-template", os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
        "label of teed lines")
    add("numa-binding", None, "bind workers to CPUs",
        choices=["node", "socket", "exclusive", "core-complex"])
    add("signals-to-handle", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", "signals that end the job")
    for name in ("stdout", "stderr"):
        add(f"duplicate-{name}-filters", None, "texts of lines that are also in a file",
            kind=_texts)
    flag("virtual-local-rank", "LOCAL_RANK is 0 in every worker")
    add("shutdown-timeout", None, "seconds from the stop signal to SIGKILL", kind=int)
    parser.add_argument("training_script", help="script, module or program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def _other_spellings(name: str) -> List[str]:
    return [f"--{name.replace('-', '_')}"] if "-" in name else []


def _texts(value: str) -> List[str]:
    """Divides at commas, of which two stand for one that is meant."""
    return [x.replace("\0", ",") for x in value.replace(",,", "\0").split(",")]


def parse_args(args: Optional[List[str]]) -> argparse.Namespace:
    """Parses these words, or those of this process."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> Tuple[int, int]:
    """Reads N or MIN:MAX.

    Raises:
        RuntimeError: it is neither.
    """
    parts = nnodes.split(":")
    try:
        numbers = [int(x) for x in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return numbers[0], numbers[-1]


def _conf(text: str) -> Dict[str, Any]:
    out = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise ValueError(f'--rdzv-conf: "{pair}" is not KEY=VALUE')
        out[key.strip()] = value.strip()
    return out


def config_from_args(args: Any) -> Tuple[LaunchConfig, Union[Callable[..., Any], str],
                                         List[str]]:
    """Returns the configuration, the program or function, and its arguments.

    Raises:
        ValueError, RuntimeError: an option has a value that it cannot have.
    """
    min_nodes, max_nodes = parse_min_max_nnodes(args.nnodes)
    if not 0 < min_nodes <= max_nodes:
        raise ValueError(f"--nnodes: {min_nodes}:{max_nodes} is no range from 1 on")
    if args.max_restarts < 0:
        raise ValueError(f"--max-restarts: {args.max_restarts} is less than 0")
    conf = _conf(args.rdzv_conf)
    endpoint = args.rdzv_endpoint
    if args.rdzv_backend == "static":
        conf["rank"] = args.node_rank
        endpoint = endpoint or f"{args.master_addr}:{args.master_port or 29500}"
    try:
        ranks = {int(x) for x in args.local_ranks_filter.split(",") if x}
    except ValueError:
        raise ValueError(f'--local-ranks-filter: "{args.local_ranks_filter}" is no list'
                         " of local ranks such as 0,1") from None
    count = str(args.nproc_per_node)
    numa = args.numa_binding
    config = LaunchConfig(
        min_nodes=min_nodes, max_nodes=max_nodes,
        nproc_per_node=int(count) if count.isdigit() else count,
        logs_specs=DefaultLogsSpecs(args.log_dir, Std.from_str(args.redirects),
                                    Std.from_str(args.tee), ranks or None),
        run_id=args.rdzv_id, role=args.role, rdzv_endpoint=endpoint,
        rdzv_backend=args.rdzv_backend, rdzv_configs=conf,
        max_restarts=args.max_restarts, monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        log_line_prefix_template=args.log_line_prefix_template, local_addr=args.local_addr,
        event_log_handler=args.event_log_handler,
        numa_options=None if numa is None else _NumaOptions(numa),
        signals_to_handle=args.signals_to_handle,
        duplicate_stdout_filters=args.duplicate_stdout_filters,
        duplicate_stderr_filters=args.duplicate_stderr_filters,
        virtual_local_rank=args.virtual_local_rank,
        shutdown_timeout=args.shutdown_timeout)
    script, rest = args.training_script, list(args.training_script_args)
    if args.run_path:
        return config, run_script_path, [script, *rest]
    if args.no_python:
        if args.module:
            raise ValueError("--no-python and --module cannot both be given")
        return config, script, rest
    words = ["-u", "-m", script] if args.module else ["-u", script]
    return config, os.environ.get("PYTHON_EXEC", sys.executable), [*words, *rest]


class _NumaOptions:
    """Looks as torch's for the launcher."""

    class Mode:
        def __init__(self, value: str) -> None:
            self.value = value

    def __init__(self, value: str) -> None:
        self.affinity_mode = self.Mode(value)


def run_script_path(script: str, *arguments: str) -> None:
    """Runs a script in this interpreter."""
    import runpy
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


def run(args: Any) -> None:
    """See `actorrun.run.run`."""
    from .launcher import elastic_launch
    alone = (args.rdzv_backend == "static" and not args.rdzv_endpoint
             and args.master_port is None and parse_min_max_nnodes(args.nnodes)[1] == 1)
    if args.standalone or alone:
        args.rdzv_backend, args.rdzv_endpoint = "c10d", "localhost:0"
        args.rdzv_id = str(uuid.uuid4())
    config, program, words = config_from_args(args)
    elastic_launch(config, program)(*words)
