"""Makes torch's failures of a report that the program `actorrun` has written."""
from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Any, Dict, List, Tuple

from . import _names

NOT_AVAILABLE = "<N/A>"

_WIDTH_MAX = 60
_EXPLAINED = ("To enable traceback see: "
              "https://pytorch.org/docs/stable/elastic/errors.html")


class ChildFailedError(_names.ChildFailedError):
    """Workers have failed, on this node or others. It is torch's ChildFailedError.

    Attributes:
        failures: by global rank, the root cause first.
        report: what the program `actorrun` has written; see docs/reports.md.
    """

    def __init__(self, name: str, failures: Dict[int, Any],
                 report: Dict[str, Any]) -> None:
        self.report = report
        super().__init__(name, failures)

    def get_first_failure(self) -> Tuple[int, Any]:
        """Returns the root cause: its rank, and the failure.

        That is the first one by what the nodes know of each other, and need not be the
        one with the smallest timestamp: clocks differ.
        """
        return next(iter(self.failures.items()))

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        texts = [_text(i, x) for i, x in enumerate(self.report["failures"])]
        title = f"{self.name} FAILED"
        width = min(max(len(x) for x in [title, *"\n".join(texts).split("\n")]),
                    _WIDTH_MAX)
        others = texts[1:] or ["  <NO_OTHER_FAILURES>"]
        left_out = self.report.get("unlisted_failures", 0)
        if left_out:
            others.append(f"  and {left_out} more")
        return "\n".join([
            "", boarder_delim * width, title, section_delim * width, "Failures:", *others,
            section_delim * width, "Root Cause (first observed failure):", texts[0],
            boarder_delim * width])

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.failures, self.report)


def _text(index: int, x: Dict[str, Any]) -> str:
    at = datetime.fromtimestamp(x["time_ms"] // 1000).isoformat(sep="_")
    lines = [("time", at), ("host", x["host"]),
             ("rank", f"{x['rank']} (local_rank: {x['local_rank']})"),
             ("exitcode", f"{x['exit_code']} (pid: {x['pid']})"),
             ("error_file", x["error_file"] or NOT_AVAILABLE),
             ("traceback", x["traceback"] or x["message"] or _ended(x))]
    lines += [(name, x[key]) for name, key in
              (("cause", "cause"), ("stuck", "stuck"), ("output", "last_output"))
              if x.get(key)]
    out = [f"[{index}]:"]
    for name, value in lines:
        out.append(f"  {name:<10}: " + str(value).rstrip("\n").replace("\n", "\n  "))
    return "\n".join(out)


def _ended(x: Dict[str, Any]) -> str:
    from ._job import signal_name
    code = x["exit_code"]
    return _EXPLAINED if code >= 0 else (
        f"Signal {-code} ({signal_name(-code)}) received by PID {x['pid']}")


def failure(x: Dict[str, Any], folder: str) -> Any:
    """Returns torch's ProcessFailure of a failure in a report.

    Args:
        folder: where an error file of another host is written again, for those who pass
            on what is in it; empty: nowhere.
    """
    path = x["error_file"] if x["error_file_is_here"] else ""
    if path and not _is_readable(path):
        path = ""  # Another format, of which the report has what can be said.
    if not path and x["traceback"] and folder and os.path.isdir(folder):
        path = _write_error_file(x, folder)
    out = _names.ProcessFailure(
        local_rank=x["local_rank"], pid=x["pid"], exitcode=x["exit_code"],
        error_file=path)
    out.timestamp = x["time_ms"] // 1000
    if not path and (x["message"] or x["traceback"]):
        out.message = _error_data(x)["message"]
    return out


def by_rank(report: Dict[str, Any]) -> Dict[int, Any]:
    """Returns the failures of a report by global rank, the root cause first."""
    return {x["rank"]: failure(x, report["log_dir"]) for x in report["failures"]}


def _is_readable(path: str) -> bool:
    try:
        with open(path) as file:
            message = json.load(file)["message"]
        return isinstance(message, str) or "timestamp" in message["extraInfo"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _error_data(x: Dict[str, Any]) -> Dict[str, Any]:
    return {"message": {"message": x["message"],
                        "extraInfo": {"py_callstack": x["traceback"] or x["message"],
                                      "timestamp": str(x["time_ms"] // 1000)}}}


def _write_error_file(x: Dict[str, Any], folder: str) -> str:
    path = os.path.join(folder, f"error_of_rank_{x['rank']}.json")
    try:
        with open(path, "w") as file:
            json.dump(_error_data(x), file)
    except OSError:
        return ""
    return path


def ranks_of(report: Dict[str, Any]) -> List[int]:
    """Returns the global ranks of this node's workers, by local rank."""
    return list(report["ranks"])
