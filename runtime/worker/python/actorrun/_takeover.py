"""Makes `torch.distributed.launcher.api.launch_agent` start the program `actorrun`.

So whatever calls torch's launcher in its own process starts actorrun unchanged. torch
calls `autoload` at the end of `import torch` (group `torch.backends`, from torch 2.5
on), and nothing happens unless ACTORRUN_TAKEOVER asks for it:

    1         jobs are run by the program `actorrun`
    explain   jobs are run by torch's agent, and a line says what would be run

It costs nothing until the launcher is imported, and no error of ours can make
`import torch` fail.
"""
from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Any, Callable, Iterator, Optional

VARIABLE = "ACTORRUN_TAKEOVER"

_API = "torch.distributed.launcher.api"
_PACKAGE = "torch.distributed.launcher"

_original: Optional[Callable[..., Any]] = None  # torch's own function.
_asked = threading.local()  # `asked.depth`: blocks of `taking_over` of this thread.


def autoload() -> None:
    """Takes over as ACTORRUN_TAKEOVER says. Does not raise."""
    mode = os.environ.get(VARIABLE, "")
    if mode in ("", "0"):
        return
    try:
        if mode in ("1", "explain"):
            _rebind_when_imported()
        else:
            _say(f'{VARIABLE} is "{mode}", neither 1 nor explain: torch\'s agent stays')
    except Exception as x:
        _say(f"torch's agent stays: {type(x).__name__}: {x}")


def _say(text: str) -> None:
    with contextlib.suppress(Exception):  # There may be no standard error.
        print(f"actorrun: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def taking_over() -> Iterator[None]:
    """Has what torch's launcher is asked for on this thread run by actorrun, whatever
    ACTORRUN_TAKEOVER says.

    Raises:
        ImportError: there is no torch.
    """
    import torch.distributed.launcher.api as api
    _rebind(api)
    _asked.depth = getattr(_asked, "depth", 0) + 1
    try:
        yield
    finally:
        _asked.depth -= 1


def torchs_launch_agent() -> Callable[..., Any]:
    """Returns torch's own function."""
    if _original is not None:
        return _original
    from torch.distributed.launcher.api import launch_agent
    return launch_agent


def _launch_agent(config: Any, entrypoint: Any, args: Any, *more: Any, **named: Any) -> Any:
    """Is called in place of torch's function of this name."""
    from . import launcher
    mode = os.environ.get(VARIABLE, "")
    if mode == "1" or getattr(_asked, "depth", 0) > 0:
        return launcher.launch_agent(config, entrypoint, args, *more, **named)
    if mode == "explain":
        _explain(config, entrypoint, args, *more, **named)
    assert _original is not None
    return _original(config, entrypoint, args, *more, **named)


def _explain(config: Any, entrypoint: Any, args: Any, health_check_server: Any = None) -> None:
    import shlex
    from . import _job, _programs, launcher
    try:
        why = launcher.unsupported(config, health_check_server)
        if why:
            _say(f"would leave this job to torch's agent: {why}")
            return
        worker = ([entrypoint, *map(str, args)] if isinstance(entrypoint, str)
                  else [f"<{launcher._name(entrypoint, args)}>"])
        _say("would run " + shlex.join([
            _programs.find("actorrun"), *_job.own_words(),
            *launcher.options(config, entrypoint, args), *worker]))
    except Exception as x:
        _say(f"could not take over: {type(x).__name__}: {x}")


def _rebind(api: Any) -> None:
    global _original
    if api.launch_agent is _launch_agent:
        return
    _original = api.launch_agent
    api.launch_agent = _launch_agent
    package = sys.modules.get(_PACKAGE)
    if getattr(package, "launch_agent", None) is _original:
        package.launch_agent = _launch_agent  # type: ignore


def _rebind_when_imported() -> None:
    if _API in sys.modules:
        _rebind(sys.modules[_API])
    elif not any(isinstance(x, _Finder) for x in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # type: ignore


class _Finder:
    """Is in sys.meta_path. Rebinds the function as soon as its module has been imported."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != _API:
            return None
        import importlib.util
        sys.meta_path.remove(self)  # type: ignore
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            execute = loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                try:
                    _rebind(module)
                except Exception as x:
                    _say(f"torch's agent stays: {type(x).__name__}: {x}")

            loader.exec_module = exec_module  # type: ignore
        return spec
