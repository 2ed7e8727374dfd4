#!/usr/bin/env python3
"""Keeps the figures of README.md and docs/ those of one measurement.

    figures.py measure --bin DIR   measures, and writes docs/figures.json and the tables
    figures.py take --rows FILE --torch VERSION
                                   the same with what was measured where another torch is
    figures.py write               writes the tables from docs/figures.json
    figures.py check               fails where a table differs from docs/figures.json, or
                                   where what it measures has changed since

A table stands between `<!-- figures: NAME -->` and `<!-- end of figures -->`. Figures are of a
commit. They are stale when a file of `MEASURED` has been changed in a commit that is more than a
day younger: who changes it measures again before the day is over.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "figures.json"
PARTS = ["launch", "torchrun", "rest"]
SIZES = [1, 8, 32, 128, 512]
DAY_S = 24 * 3600

# What starts, supervises and restarts workers.
MEASURED = ["actors/core/protocol", "actors/core/workers", "runtime/launcher",
            "runtime/network", "runtime/os", "runtime/process_group", "runtime/processes"]

END = "<!-- end of figures -->"


class NotMeasured(Exception):
    """A row, or a side of one, is missing in docs/figures.json."""


def number(x):
    """Three digits or so, as the bench prints them: `8.61`, `26.9`, `1,380`."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def spread(x, unit):
    """`13.8 (13.0–18.2) ms`; one value has no range."""
    if x["min"] == x["max"]:
        return f"{number(x['median'])} {unit}"
    return f"{number(x['median'])} ({number(x['min'])}–{number(x['max'])}) {unit}"


class Figures:
    """The document: commit, time (Unix s), machine, and rows of `actorrun_bench --rows`."""

    def __init__(self, document):
        self.commit = document["commit"]
        self.measured_at = document["measured_at"]
        self.torch = document["torch"]
        self.rows = {x["what"].strip(): x for x in document["rows"]}

    def side(self, what, side):
        try:
            return self.rows[what][side]
        except KeyError:
            raise NotMeasured(f"{FILE.name} has no '{side}' of '{what}'") from None

    def median(self, what, side):
        x = number(self.side(what, side)["median"])
        return f"{x} {self.rows[what]['unit']}"

    def spread(self, what, side):
        return spread(self.side(what, side), self.rows[what]["unit"])

    def launch(self, side):
        texts = [number(self.side(f"launch {n} /bin/true", side)["median"]) for n in SIZES]
        return " / ".join(texts) + " ms"

    def origin(self):
        when = datetime.datetime.fromtimestamp(self.measured_at, datetime.timezone.utc)
        return f"commit {self.commit[:8]}, {when:%Y-%m-%d}"


FIRST = "start of 4 workers: the first"
LAST = "start of 4 workers: the last"
IMPORT = "of that, Python imports torch"
DEATH = "worker dies, 1 node × 4: last new start"
RESIDENT = "launcher: resident, the largest process"
PSS = "launcher: Pss of all its processes"
JOIN = "a node joins: first worker of 2 × 2"
LOSS = "a node and a worker die: first new start"
REST = "at rest, 1 node × 4: resident"


def summary(x):
    """What README.md begins with."""
    sizes = " / ".join(str(n) for n in SIZES)
    return [
        f"| medians on 2 cores, {x.origin()} | actorrun | torchrun {x.torch} | mpirun (Hydra) |",
        "|---|---|---|---|",
        f"| start 4 workers, until the last one runs | {x.median(LAST, 'ours')}"
        f" | {x.median(LAST, 'peer')} | – |",
        f"| a worker dies, until all 4 run again | {x.median(DEATH, 'ours')}"
        f" | {x.median(DEATH, 'peer')} | no restart |",
        f"| a node and a worker die, until the first worker runs again | {x.median(LOSS, 'ours')}"
        f" | {x.median(LOSS, 'peer')} | no restart |",
        "| a node joins, until the first worker of the larger group runs |"
        f" {x.median(JOIN, 'ours')} | {x.median(JOIN, 'peer')} | not supported |",
        f"| resident memory of the launcher, 4 workers | {x.median(RESIDENT, 'ours')}"
        f" | {x.median(RESIDENT, 'peer')} | {x.median(REST, 'peer')} |",
        f"| run N × `/bin/true` to the end, N = {sizes} | {x.launch('ours')}"
        f" | – | {x.launch('peer')} |",
    ]


def beside_torchrun(x):
    """Of docs/pytorch.md."""
    lines = [
        f"| {x.origin()} | actorrun | torchrun {x.torch} |",
        "|---|---|---|",
    ]
    for title, what in [("start of 4 workers: the first", FIRST), ("the last", LAST),
                        ("of that, Python imports torch", IMPORT),
                        ("a worker dies: the last of 4 starts again", DEATH),
                        ("resident memory, the largest process", RESIDENT),
                        ("Pss of all its processes", PSS),
                        ("a node joins: first worker of 2 × 2", JOIN),
                        ("a node and a worker die: first new start", LOSS)]:
        ours = "" if what == IMPORT else x.spread(what, "ours")
        lines.append(f"| {title} | {ours} | {x.spread(what, 'peer')} |")
    return lines


TABLES = {
    "summary": (ROOT / "README.md", summary),
    "torchrun": (ROOT / "docs" / "pytorch.md", beside_torchrun),
}


def with_table(text, name, lines, path):
    """The text with other lines between the marks of that table."""
    begin = f"<!-- figures: {name} -->"
    if text.count(begin) != 1 or END not in text.split(begin)[1]:
        raise NotMeasured(f"{path.name} has no table between '{begin}' and '{END}'")
    head, rest = text.split(begin)
    tail = rest.split(END, 1)[1]
    return head + begin + "\n" + "\n".join(lines) + "\n" + END + tail


def load():
    return Figures(json.loads(FILE.read_text(encoding="utf-8")))


def write():
    figures = load()
    for name, (path, table) in TABLES.items():
        text = path.read_text(encoding="utf-8")
        path.write_text(with_table(text, name, table(figures), path), encoding="utf-8")


def git(*words):
    """Standard output of git in this tree; None if it fails or is not there."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True,
                              check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def why_stale(figures):
    """One line; None if they are of what is there, or if no history can tell."""
    if git("rev-parse", "--is-shallow-repository") != "false":
        return None
    last = git("log", "-1", "--format=%ct %h %s", "--", *MEASURED)
    if int(last.split()[0]) - figures.measured_at <= DAY_S:
        return None
    return (f"the figures are of commit {figures.commit[:8]}, and what they measure has changed"
            f" since: {last.split(maxsplit=1)[1]}; measure again: cmake --build build/release"
            " --target figures")


def check():
    figures = load()
    errors = []
    for name, (path, table) in TABLES.items():
        text = path.read_text(encoding="utf-8")
        if with_table(text, name, table(figures), path) != text:
            errors.append(f"{path.relative_to(ROOT)}: the table '{name}' differs from"
                          " docs/figures.json; tests/bench/figures.py write")
    if (stale := why_stale(figures)) is not None:
        errors.append(stale)
    return errors


def torch_version(python):
    done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                          capture_output=True, text=True, check=True)
    return ".".join(done.stdout.strip().split(".")[:2])


def measure(folder):
    python = os.environ.get("PYTHON_EXEC", "/usr/bin/python3")
    with tempfile.TemporaryDirectory() as scratch:
        rows = pathlib.Path(scratch) / "rows.json"
        subprocess.run([str(pathlib.Path(folder) / "actorrun_bench"), f"--rows={rows}", *PARTS],
                       check=True)
        take(rows, torch_version(python))


def take(rows, torch):
    commit = git("rev-parse", "HEAD")
    if commit is None or git("status", "--porcelain", "--", *MEASURED) != "":
        sys.exit("figures.py: commit first: figures are of a commit")
    document = {"commit": commit, "measured_at": int(git("show", "-s", "--format=%ct", commit)),
                "torch": torch, "cores": os.cpu_count(),
                "rows": json.loads(pathlib.Path(rows).read_text(encoding="utf-8"))}
    FILE.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "take", "write", "check"])
    parser.add_argument("--bin", help="the folder of actorrun_bench")
    parser.add_argument("--rows", help="what actorrun_bench --rows has written")
    parser.add_argument("--torch", help="the version of torchrun there: 2.14")
    options = parser.parse_args()
    if options.what == "measure" and options.bin is None:
        parser.error("measure needs --bin")
    if options.what == "take" and None in (options.rows, options.torch):
        parser.error("take needs --rows and --torch")
    try:
        if options.what == "measure":
            measure(options.bin)
        elif options.what == "take":
            take(options.rows, options.torch)
        elif options.what == "write":
            write()
        else:
            errors = check()
            for x in errors:
                print(x, file=sys.stderr)
            sys.exit(1 if errors else 0)
    except NotMeasured as e:
        sys.exit(f"figures.py: {e}")


if __name__ == "__main__":
    main()
