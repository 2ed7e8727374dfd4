"""Finds the programs `actorrun` and `actorctl`, and becomes one of them."""
from __future__ import annotations

import os
import sys
from typing import List, NoReturn, Optional

# Where a wheel has them.
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "bin")


def find(name: str) -> str:
    """Returns the path of a program: the one beside this package, or one in PATH.

    Raises:
        FileNotFoundError: there is none.
    """
    beside = os.path.join(FOLDER, name)
    if os.access(beside, os.X_OK):
        return beside
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path) and not _is_running(path):
            return path
    raise FileNotFoundError(
        f'there is no program "{name}", neither in {FOLDER} nor in PATH: install a wheel of'
        f" actorrun, which has it, or Debian's package actorrun")


# A console script of this package is in PATH, too; it would start itself for ever.
def _is_running(path: str) -> bool:
    try:
        return os.path.samefile(path, sys.argv[0])
    except OSError:
        return False


def become(name: str, arguments: Optional[List[str]] = None) -> NoReturn:
    """Replaces this process by a program, with these arguments or its own.

    Scripts run with this interpreter, unless PYTHON_EXEC names another one.
    """
    try:
        program = find(name)
    except FileNotFoundError as x:
        sys.exit(f"{name}: error: {x}")
    if name == "actorrun" and sys.executable:
        os.environ.setdefault("PYTHON_EXEC", sys.executable)
    words = sys.argv[1:] if arguments is None else arguments
    try:
        os.execv(program, [program, *words])
    except OSError as x:
        sys.exit(f"{name}: error: {program} cannot be executed: {x.strerror}")


def actorrun() -> NoReturn:
    """Becomes `actorrun`; a console script."""
    become("actorrun")


def actorctl() -> NoReturn:
    """Becomes `actorctl`; a console script."""
    become("actorctl")
