"""Has what tools import from `torch.distributed.run`; jobs are run by actorrun.

    from actorrun.run import get_args_parser, run

    run(get_args_parser().parse_args(["--nproc-per-node=4", "train.py"]))

Where torch is installed, the parser and everything else that this module does not
define is torch's own, so its options are those of the torch that is there. Without it,
they are those of torch 2.14.
"""
from __future__ import annotations

from typing import Any, List, Optional

from ._names import HAS_TORCH

if HAS_TORCH:
    from torch.distributed.run import (config_from_args, get_args_parser, parse_args,
                                       parse_min_max_nnodes)
else:
    from ._own_run import (config_from_args, get_args_parser,  # type: ignore
                           parse_args, parse_min_max_nnodes)

__all__ = ["config_from_args", "get_args_parser", "main", "parse_args",
           "parse_min_max_nnodes", "run"]


# torch 1.13 reads neither 0 nor 3 on Python 3.11: it looks for them among the members of
# Std, where that Python has neither.
def _repair_streams() -> None:
    from . import _own
    from ._names import Std
    if HAS_TORCH and Std.from_str("0") is None:
        def from_str(vm: str) -> Any:
            x = _own.Std.from_str(vm)
            return {k: Std(v) for k, v in x.items()} if isinstance(x, dict) else Std(x)
        Std.from_str = staticmethod(from_str)  # type: ignore


_repair_streams()


def run(args: Any) -> None:
    """Runs the job of these parsed options, and waits for its end.

    Raises:
        ChildFailedError, SignalException, …: as `actorrun.launcher.launch_agent`.
    """
    if not HAS_TORCH:
        from . import _own_run
        _own_run.run(args)
        return
    import torch.distributed.run
    from . import _takeover
    with _takeover.taking_over():
        torch.distributed.run.run(args)


def main(args: Optional[List[str]] = None) -> None:
    """Parses these words, or those of this process, and runs the job; see `run`."""
    if not HAS_TORCH:
        run(parse_args(args))
        return
    import torch.distributed.run
    from . import _takeover
    with _takeover.taking_over():
        torch.distributed.run.main(args)


def __getattr__(name: str) -> Any:
    if HAS_TORCH and not name.startswith("__"):
        import torch.distributed.run
        return getattr(torch.distributed.run, name)
    raise AttributeError(f"module 'actorrun.run' has no attribute {name!r}")
