"""Runs torchrun with actorrun in place of torch's agent: python -m actorrun.torchrun …

For a torch before 2.5, or TORCH_DEVICE_BACKEND_AUTOLOAD=0, where ACTORRUN_TAKEOVER has
no effect. Options are read by the torch that is installed. Ends with the exit code that
the program `actorrun` would have: 1 if workers have failed, 128+N after signal N.
"""
from __future__ import annotations

import sys

from . import run
from ._job import LaunchError
from ._names import ChildFailedError, SignalException


def main() -> None:
    try:
        run.main()
    except ChildFailedError as x:
        print(x, file=sys.stderr)
        sys.exit(1)
    except SignalException as x:
        sys.exit(128 + int(x.sigval))
    except (LaunchError, FileNotFoundError, PermissionError) as x:
        print(f"actorrun: error: {x}", file=sys.stderr)
        codes = {FileNotFoundError: 127, PermissionError: 126}
        sys.exit(codes.get(type(x)) or max(getattr(x, "exit_code", 1), 1))


if __name__ == "__main__":
    main()
