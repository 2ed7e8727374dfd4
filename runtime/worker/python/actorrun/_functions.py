"""Hands calls of functions to workers, and their values back.

A function travels by value: pickled, with what multiprocessing hands to a process that
it spawns (the main module, paths, arguments), in a file of this user's own. So it can be
handed out again to workers that are started again.
"""
from __future__ import annotations

import io
import os
import pickle
import sys
import types
from multiprocessing import spawn
from typing import Any, Callable, Dict, List, Optional, Tuple

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_function_worker.py")


class NotPicklable(Exception):
    """A function or its arguments cannot be handed to another interpreter."""


class _Pickler(pickle.Pickler):
    """Refuses what another interpreter could not find by its name."""

    def reducer_override(self, x: Any) -> Any:
        if (isinstance(x, (type, types.FunctionType)) and x.__module__ == "__main__"
                and not _can_import_main()):
            raise pickle.PicklingError(
                f"{x.__qualname__} is defined in a program that cannot be imported, such as"
                " a notebook or what `python -c` runs")
        return NotImplemented


# Whether a worker imports it, as multiprocessing has it in a process that it spawns.
def _can_import_main() -> bool:
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name is not None:
        return name != "__main__" and not name.endswith(".__main__")
    path = getattr(main, "__file__", None)
    return (path is not None and os.path.isfile(path)
            and os.path.splitext(os.path.basename(path))[0] != "ipython")


def _pickled(x: Any) -> bytes:
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(x)
        return buffer.getvalue()
    except Exception as plain:  # Each type has errors of its own.
        try:
            import cloudpickle
        except ImportError:
            raise NotPicklable(
                f"{_first_line(plain)} (cloudpickle is not installed)") from plain
        try:
            return cloudpickle.dumps(x)
        except Exception as error:
            raise NotPicklable(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip().split("\n", 1)[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _write(path: str, header: Dict[str, Any], call: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        pickle.dump(header, file)
        file.write(call)


def write_call(path: str, function: Callable[..., Any], arguments: Tuple[Any, ...],
               environment: Optional[Dict[str, str]] = None) -> None:
    """Writes a call of a function, for `_function_worker.py`.

    Args:
        path: `call` in a folder, for all workers, or `call.N`, for local rank N.
        environment: that of the worker; none: as the worker finds it.

    Raises:
        NotPicklable: the function or the arguments cannot be pickled.
        RuntimeError: this is a spawned process that still imports its main module: that of
            a program without `if __name__ == "__main__":`.
    """
    prepared = spawn.get_preparation_data("actorrun worker")
    # Managers and connections ask for it.
    prepared["authkey"] = bytes(prepared["authkey"])
    if not _can_import_main():
        prepared.pop("init_main_from_path", None)
    _write(path, {"prepared": prepared, "environment": environment},
           _pickled((function, tuple(arguments))))


def write_program(path: str, words: List[str], environment: Dict[str, str]) -> None:
    """Writes which program a worker is to become; see `write_call`."""
    _write(path, {"words": words, "environment": environment}, b"")


def command(folder: str) -> List[str]:
    """Returns the words of a worker that finds its call in this folder."""
    python, *flags = spawn.get_command_line()
    flags = flags[:flags.index("-c")]  # Those of this interpreter.
    return [os.fsdecode(python), *flags, "-u", WORKER, folder, "${local_rank}"]


def read_values(folder: str, generation: int, ranks: List[int]) -> Dict[int, Any]:
    """Returns what the functions of a generation have returned, by global rank.

    None stands for a function that has ended its process instead.
    """
    out: Dict[int, Any] = {}
    for rank in ranks:
        out[rank] = None
        path = os.path.join(folder, f"value.{generation}.{rank}")
        if os.path.exists(path):
            with open(path, "rb") as file:
                out[rank] = pickle.load(file)
    return out
