#!/usr/bin/env python3
"""One step of on_device.sh: steps.py STEP

Prints what it has seen on standard output, as Markdown and as it comes; what it has
run, and what that printed, on standard error. Exit code 0: all is as expected; 1:
something is not; 77: it cannot be seen here, for the reason in the last line.

on_device.sh sets KIT (its folder), KIT_WORK (a folder for files of this step) and
KIT_GPU: real, stand-in or none; and KIT_DEVICE, where workers put their tensors.
"""
import concurrent.futures
import contextlib
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import drivers

KIT = os.environ["KIT"]
WORK = os.environ["KIT_WORK"]
GPU = os.environ["KIT_GPU"]
DEVICE = os.environ.get("KIT_DEVICE", "cuda")
HAS_CUDA = DEVICE == "cuda"
ACTORRUN = f"{KIT}/bin/actorrun"
ACTORCTL = f"{KIT}/bin/actorctl"
WORKER = f"{KIT}/tests/gpu/worker.py"
NCCL = "nccl" if HAS_CUDA else "gloo"

TIMEOUT = 60.0  # Seconds for what takes a worker's imports; a few are usual.
POLL = 0.002  # Seconds.

failures = []
_jobs = []


class NotHere(Exception):
    """This cannot be seen on this machine; says why."""


def show(text=""):
    print(text, flush=True)


def log(text):
    print(text, file=sys.stderr, flush=True)


def table(*heads):
    show()
    show("| " + " | ".join(heads) + " |")
    show("|" + "---|" * len(heads))


def row(*cells):
    show("| " + " | ".join(str(x).replace("|", "\\|").replace("\n", " ")
                           for x in cells) + " |")


def block(text):
    show()
    for line in text.rstrip().splitlines():
        show("    " + line)


def judge(holds, what):
    """Notes a failure. Returns: a word for the page."""
    if holds:
        return "yes"
    failures.append(what)
    return "**NO**"


def await_that(condition, seconds, what):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(POLL)


def free_port():
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        return x.getsockname()[1]


def median(values, unit="ms", digits=0):
    text = f"{statistics.median(values):.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f}–{max(values):.{digits}f})"
    return f"{text} {unit}"


def _die_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Job:
    """One process of ours, or of a peer, with its output in a file."""

    def __init__(self, *words, env=None):
        self.words = words
        self.path = f"{WORK}/output.{len(_jobs)}"
        environment = dict(os.environ)
        for name, value in (env or {}).items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        log(f"$ {' '.join(words)}   # {env or ''}")
        with open(self.path, "wb") as file:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, env=environment, preexec_fn=_die_with_us)
        _jobs.append(self)

    def output(self):
        with open(self.path, errors="replace") as file:
            return file.read()

    def wait(self, seconds=TIMEOUT):
        """Returns: the exit code; None: it has not ended."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def says(self, pattern, seconds=TIMEOUT):
        def found():
            ended = self.process.poll() is not None
            match = re.search(pattern, self.output())
            if match is None and ended:
                raise AssertionError(
                    f"ended with {self.process.returncode}, without '{pattern}': "
                    + self.last_words())
            return match
        return await_that(found, seconds, f"'{pattern}' from {self.words[0]}")

    def last_words(self):
        return " / ".join(self.output().strip().splitlines()[-3:])[-400:]

    def kill(self):
        self.process.kill()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            if self.wait(8) is None:
                self.process.kill()
                self.process.wait()


# In time for what on_device.sh grants: threads that wait are not waited for.
def cut_off(*_):
    for x in _jobs:
        x.kill()
    for x in _jobs:
        log(f"--- {' '.join(x.words)}: cut off")
        log(x.output())
    os._exit(124)


def end_all():
    for x in reversed(_jobs):
        x.end()
    for x in _jobs:
        log(f"--- {' '.join(x.words)}: exit code {x.process.returncode}")
        log(x.output())


def read(*words, seconds=20, env=None):
    """Returns: exit code and output of a program that ends by itself."""
    x = Job(*words, env=env)
    code = x.wait(seconds)
    if code is None:
        x.end()
    return code, x.output()


# A torch without libuv is no client of our store, as in tests/torch.
def store_options():
    code, _ = read(sys.executable, "-c", "import torch.distributed as d\n"
                   "d.TCPStore('127.0.0.1', 0, 1, True)", seconds=TIMEOUT)
    if code != 0:
        os.environ["USE_LIBUV"] = "0"
        return ["--no-agent-store"]
    return []


def stamps(path):
    try:
        with open(path) as file:
            return [json.loads(x) for x in file if x.endswith("}\n")]
    except FileNotFoundError:
        return []


def said(job):
    """The JSON lines that workers have printed to the console."""
    out = []
    for line in job.output().splitlines():
        with contextlib.suppress(ValueError):
            if line.startswith("{"):
                out.append(json.loads(line))
    return out


def nvml():
    try:
        return drivers.Nvml()
    except (OSError, AttributeError) as error:
        if GPU != "none":
            raise AssertionError(f"there is a driver, and no NVML: {error}") from error
        raise NotHere(f"no NVML: {error}") from error


def gib(count):
    return f"{count / (1 << 30):.1f} GiB"


# STEPS, in the order of on_device.sh.


def counting():
    """How many workers start, and what each of them sees."""
    library = nvml()
    count = library.count()
    if count == 0:
        raise NotHere("NVML knows no GPU")
    uuid = library.uuid(0)
    cpus = len(os.sched_getaffinity(0))
    show(f"{count} × {library.name(0)}; `UUID` is that of the first.")
    table("CUDA_VISIBLE_DEVICES", "option", "CUDA counts", "workers",
          "each sees", "as expected")
    script = 'echo "worker $LOCAL_RANK sees [${CUDA_VISIBLE_DEVICES-not set}]"'
    one, refused = 1, 0
    for visible, option, expected in (
            (None, "gpu", count), (None, "auto", count), (None, "gpu:0", one),
            (None, "gpu --virtual-local-rank", count),
            ("0", "gpu", one), ("0", "gpu --virtual-local-rank", one),
            (uuid, "gpu", one), (uuid, "gpu --virtual-local-rank", one),
            (uuid[:len(uuid) * 2 // 3], "gpu", one), ("0,99", "gpu", one),
            ("0,0", "gpu", refused), ("", "gpu", refused), ("-1", "gpu", refused),
            (f"{count}", "gpu", refused), ("", "auto", cpus), ("-1", "auto", cpus)):
        words = option.split()
        code, output = read(
            ACTORRUN, "--standalone", f"--nproc-per-node={words[0]}", *words[1:],
            "--no-python", "sh", "-c", script, env={"CUDA_VISIBLE_DEVICES": visible})
        seen = re.findall(r"worker \d+ sees \[(.*?)\]", output)
        counted = drivers.cuda_count(visible) if GPU == "real" else None
        name = "not set" if visible is None else f"`{visible}`" if visible else "empty"
        holds = len(seen) == expected and (code == 0) == (expected > 0)
        # `auto` without a GPU counts CPUs; CUDA knows nothing of those.
        if counted is not None and words[0] != "auto":
            holds = holds and counted == expected
        row(name.replace(uuid, "UUID").replace(uuid[:len(uuid) * 2 // 3], "UUI…"),
            option, "–" if counted is None else counted,
            len(seen) if code == 0 else f"refused ({code}): "
            + output.strip().splitlines()[0][:160].replace(uuid, "UUID"),
            ", ".join(sorted(x or "empty" for x in set(seen))).replace(uuid, "UUID")
            or "–",
            judge(holds, f"{name}, {option}: {len(seen)} workers, CUDA {counted}, "
                  f"expected {expected}"))
    code, output = read(ACTORRUN, "--standalone", "--nproc-per-node=gpu",
                        "--numa-binding=node", "--report-bindings", "--no-python",
                        "true")
    show()
    show("`--numa-binding=node --report-bindings`: "
         + judge(code == 0, "--numa-binding=node has failed"))
    block("\n".join(x for x in output.splitlines() if x.startswith("actorrun")))


def readings():
    """Status, top and metrics of a job whose worker uses the GPU."""
    library = nvml()
    port = free_port()
    if HAS_CUDA:
        command = ["--nproc-per-node=gpu", WORKER, "busy", "2"]
    else:
        command = ["--nproc-per-node=gpu", "--no-python", "sh", "-c",
                   "echo '\"busy\"'; exec sleep 1000"]
    job = Job(ACTORRUN, "--standalone", f"--metrics-port={port}", *command)
    job.says('"busy"')

    def gpus():
        code, output = read(ACTORCTL, "status", "--json")
        jobs = json.loads(output)["jobs"] if code in (0, 1) else []
        found = [x for job in jobs for agent in job["agents"] for x in agent["gpus"]]
        if HAS_CUDA and not any((x["utilisation_percent"] or 0) > 0 for x in found):
            return None
        return found
    try:
        found = await_that(gpus, 15, "a GPU in the status that is busy")
    except AssertionError as error:
        failures.append(str(error))
        found = []
    table("GPU", "", "actorctl status", "NVML, just after", "as expected")
    for i, gpu in enumerate(found):
        total, used = library.memory(i)
        heat = library.temperature(i)
        row(gpu["name"], "memory", gib(gpu["memory_total"]), gib(total),
            judge(gpu["memory_total"] == total, "the status has another memory"))
        row("", "in use", gib(gpu["memory_used"]), gib(used),
            judge(abs(gpu["memory_used"] - used) < 1 << 28,
                  "the status has other memory in use"))
        row("", "temperature", gpu["temperature_celsius"], heat,
            judge(gpu["temperature_celsius"] is not None
                  and abs(gpu["temperature_celsius"] - heat) <= 5,
                  "the status has another temperature"))
        row("", "utilisation", gpu["utilisation_percent"], "", "–")
    for words in (("status",), ("top", "--once")):
        code, output = read(ACTORCTL, *words)
        show()
        show(f"`actorctl {' '.join(words)}`, exit code {code}:")
        block(output)
        judge(code == 0 and (words[0] != "status" or not found
                             or found[0]["name"] in output),
              f"actorctl {' '.join(words)}: exit code {code}, or no GPU in it")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        lines = [x for x in page.read().decode().splitlines()
                 if x.startswith("actorrun_gpu")]
    show()
    show("`/metrics`, of the GPUs:")
    block("\n".join(lines))
    judge(len(lines) >= 4, "the metrics lack the GPUs")


def memory():
    """A worker that holds most of the GPU is killed, three times."""
    library = None
    with contextlib.suppress(NotHere):
        library = nvml()
    if HAS_CUDA:
        total, before = library.memory()
        size = min(40, int((total - before) / (1 << 30) / 2))
    else:
        before, size = 0, 0.2
    path = f"{WORK}/stamps"
    job = Job(ACTORRUN, "--standalone", "--nproc-per-node=1", "--max-restarts=3",
              WORKER, "hold", str(size), env={"KIT_STAMPS": path})
    table("kill of a worker that holds", "memory is free after",
          "the next worker's first instruction", "in use then",
          "it holds its memory after", "as expected")
    for number in range(3):
        def held():
            return [x for x in stamps(path) if x["what"] == "holds"][number:]
        last = await_that(held, TIMEOUT, "a worker that holds its memory")[0]
        freed = []
        killed = time.monotonic_ns()
        os.kill(last["pid"], signal.SIGKILL)
        end = time.monotonic() + 20
        while HAS_CUDA and not freed and time.monotonic() < end:
            if library.memory()[1] < before + (1 << 30):
                freed.append((time.monotonic_ns() - killed) / 1e6)
            time.sleep(0.0005)
        new = await_that(
            lambda: [x for x in stamps(path)
                     if x["what"] == "begins" and x["restarts"] == number + 1],
            TIMEOUT, "the next worker")[0]
        again = await_that(lambda: [x for x in stamps(path)
                                    if x["what"] == "holds"][number + 1:],
                           TIMEOUT, "the next worker's memory")[0]
        free = not HAS_CUDA or new["used"] < before + (1 << 30)
        row(gib(last["bytes"]), f"{freed[0]:.0f} ms" if freed else "–",
            f"{(new['first'] - killed) / 1e6:.0f} ms",
            "–" if new["used"] is None else gib(new["used"]),
            f"{(again['ns'] - killed) / 1e6:.0f} ms",
            judge(free, "a worker begins before the memory of the last one is free"))
    job.end()
    waits = [x for x in job.output().splitlines() if "memory" in x]
    show()
    show("The agent's lines about memory: " + ("none." if not waits else ""))
    if waits:
        block("\n".join(waits))


def ddp():
    """DDP's result with real back ends, beside one process alone."""
    options = store_options()
    job = Job(sys.executable, WORKER, "train", "none")
    job.wait()
    alone = said(job)[-1]
    table("back end", "workers", "", "sum of weights", "as alone", "40 steps take")
    row("none", 1, "", f"{alone['weights']:.4f}", "–", f"{alone['seconds']:.2f} s")
    for backend, count, dies in ((NCCL, 1, None), (NCCL, 1, 0), ("gloo", 2, None),
                                 ("gloo", 4, None), ("gloo", 2, 1), (NCCL, 2, None)):
        job = Job(ACTORRUN, "--standalone", f"--nproc-per-node={count}",
                  "--max-restarts=1", *options, WORKER, "train", backend,
                  env={"KIT_DIES": "" if dies is None else str(dies)})
        code = job.wait()
        found = [x for x in said(job) if x["what"] == "trained"]
        note = "" if dies is None else f"rank {dies} is killed at step 20"
        shared = backend == "nccl" and count > 1
        if shared:
            note = "two ranks on one GPU, see below"
        if code == 0 and len(found) == 1:
            x = found[0]
            holds = abs(x["weights"] - alone["weights"]) < 1e-4 * alone["weights"]
            holds = holds and x["restarts"] == (0 if dies is None else 1)
            row(backend, count, note, f"{x['weights']:.4f}",
                judge(holds, f"{backend} at {count}: another result"),
                f"{x['seconds']:.2f} s")
        else:
            row(backend, count, note, "–",
                "not possible" if shared else judge(False, f"{backend} at {count}: "
                                                    f"exit code {code}"),
                job.last_words())
        job.end()
    show()
    show("NCCL refuses two ranks on one GPU of one host. `NCCL_HOSTID` gives each a "
         "host of its own, which it then reaches through sockets; what that shows "
         "about speed is nothing.")


class Group:
    """Nodes with a worker each, on this machine."""

    def __init__(self, way, backend, options, count, more=(), env=None):
        self.env = env or {}
        self.backend = backend
        self.stamps = f"{WORK}/stamps.{len(_jobs)}"
        self.options = ["--nproc-per-node=1", f"--nnodes=2:{count}", "--rdzv-id=kit",
                        f"--rdzv-endpoint=127.0.0.1:{free_port()}", *options, *more]
        self.command = [WORKER, way, backend]
        self.nodes = [self._node(i, count) for i in range(count)]

    def _node(self, number, count):
        conf = "quiet_period=500ms,join_settle=300ms,is_host=" \
            + ("no" if number else "yes")
        return Job(ACTORRUN, *self.options, f"--rdzv-conf={conf}", *self.command,
                   env=dict(self.env, KIT_STAMPS=self.stamps,
                            KIT_IS_LAST="yes" if number + 1 == count else ""))

    def said(self, what):
        return [x for x in stamps(self.stamps) if x["what"] == what]

    def await_that(self, condition, seconds, what):
        def there():
            if all(x.process.poll() is not None for x in self.nodes):
                raise AssertionError("all nodes have ended: "
                                     + self.nodes[0].last_words())
            return condition()
        return await_that(there, seconds, what)

    def await_world(self, size, after=0, step=1, seconds=TIMEOUT):
        """Returns: the stamps of that step, of all workers of a world."""
        def there():
            found = {}
            for x in self.said("step"):
                if x["world"] == size and x["step"] == step and x["generation"] > after:
                    found.setdefault(x["generation"], {})[x["rank"]] = x
            whole = [x for x in found.values() if len(x) == size]
            return list(whole[-1].values()) if whole else None
        return self.await_that(there, seconds, f"{size} workers that take steps")

    def begin(self):
        """Raises: NotHere: NCCL makes no group of several ranks on one GPU."""
        try:
            self.await_world(len(self.nodes), step=3)
        except AssertionError as error:
            if self.backend == "nccl":
                raise NotHere(f"no NCCL of several ranks on this GPU: {error}") \
                    from error
            raise

    def lose_one(self):
        """Kills the last node. Returns: ms until all others have done a step, and
        whether they are the same processes."""
        before = self.await_world(len(self.nodes), step=3)
        lost = self.nodes.pop()
        at = time.monotonic_ns()
        lost.kill()
        after = self.await_world(len(self.nodes), before[0]["generation"])
        old = {x["pid"] for x in before}
        return ((max(x["ns"] for x in after) - at) / 1e6,
                all(x["pid"] in old for x in after))

    def end(self):
        for x in self.nodes:
            x.process.terminate()
        for x in self.nodes:
            x.end()


def live():
    """A node of five is lost, and the next: live, and by restart."""
    options = store_options()
    what = "CUDA context" if HAS_CUDA else "imports"
    table("back end", f"workers with {what}", "all others have done a step after",
          "the same processes", "as expected")
    for backend in ("gloo", "nccl") if HAS_CUDA else ("gloo",):
        for way, name in (("live", "live through it"), ("plain", "are started again")):
            group = Group(way, backend, options, 5 if way == "live" else 4,
                          ["--max-restarts=9"])
            times, stays = [], []
            try:
                group.begin()
                while len(group.nodes) > 2:
                    took, stayed = group.lose_one()
                    times.append(took)
                    stays.append(stayed)
            except AssertionError as error:
                log(str(error))
                stays.append(str(error)[-200:])
            except NotHere as error:
                row(backend, name, "–", "–", f"not seen here: {error}"[-300:])
                group.end()
                continue
            expected = all(x is (way == "live") for x in stays) and len(times) > 1
            row(backend, name, median(times) if times else "–",
                ", ".join(str(x) for x in stays),
                judge(expected, f"{backend}, {way}: {stays}"))
            group.end()


def nccl_abort():
    """actorrun.torch ends NCCL's groups, also those that wait."""
    options = store_options()
    code, output = read(ACTORRUN, "--standalone", *options, WORKER, "abort",
                        seconds=TIMEOUT)
    table("a group of one", "made and used in", "abort", "destroy", "as expected")
    found = [x for x in map(_json, output.splitlines()) if x]
    for x in found:
        row(x["number"] + 1, f"{x['made_ms']:.0f} ms", f"{x['abort_ms']:.1f} ms",
            f"{x['destroy_ms']:.1f} ms", judge(x["value"] == 3, "CUDA is of no use"))
    judge(code == 0 and len(found) == 3, f"a group of one: exit code {code}")
    show()
    show("Of four workers with a node each, one dies, and the others are to live:")
    table("the peer dies", "variables", "all others have done a step after",
          "the same processes", "as expected")
    for env in ({}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"},
                {"TORCH_NCCL_USE_COMM_NONBLOCKING": "1"})[:3 if HAS_CUDA else 1]:
        name = ", ".join(f"`{x}={env[x]}`" for x in env) or "as they are"
        for where, lose in (("while the others wait for it in a first collective",
                             _lose_the_late_one),
                            ("between collectives, or in one", _lose_the_last_one)):
            try:
                took, stayed = lose(options, env)
            except NotHere as error:
                row(where, name, "–", "–", f"not seen here: {error}"[-300:])
                continue
            except AssertionError as error:
                log(str(error))
                took, stayed = None, str(error)[-200:]
            # Other variables are tried to learn from, and are not what we promise.
            row(where, name, "–" if took is None else f"{took:.0f} ms", stayed,
                judge(stayed is True, f"{where}: {stayed}") if not env
                else "yes" if stayed is True else "no")


def hang():
    """NCCL's RAS service tells which rank the others wait for."""
    group = Group("behind", NCCL, store_options(), 3, ["--max-restarts=9"])
    begun = time.monotonic()
    try:
        group.await_that(lambda: len(group.said("waits")) == 2 and group.said("behind"),
                         TIMEOUT, "a rank that comes to no more steps")
    except AssertionError as error:
        if HAS_CUDA:
            raise NotHere(f"no NCCL of several ranks on this GPU: {error}") from error
        raise
    at = time.monotonic()
    told = {}
    while not told and time.monotonic() < at + (25 if HAS_CUDA else 1):
        code, output = read(ACTORCTL, "stacks", "--json", "kit")
        seen = _json(output) or {"workers": []}
        told = {x["rank"]: x["behind"] for x in seen["workers"] if x.get("behind")}
    table("three ranks run after", "who is behind is told after", "rank", "as NCCL says it",
          "as expected")
    row(f"{at - begun:.1f} s", f"{time.monotonic() - at:.1f} s", *(
        [", ".join(map(str, told)), "; ".join(told.values())] if told else ["–", "–"]),
        judge(list(told) == [1] or not HAS_CUDA, f"NCCL names {told or 'none'}"))
    group.end()


def _lose_the_last_one(options, env):
    group = Group("live", NCCL, options, 4, ["--max-restarts=9"], env)
    try:
        group.begin()
        return group.lose_one()
    finally:
        group.end()


def _lose_the_late_one(options, env):
    group = Group("late", NCCL, options, 4, ["--shutdown-timeout=10"], env)
    try:
        group.await_that(lambda: group.said("late"), TIMEOUT,
                         "a worker that comes to no step")
        begun = group.await_that(
            lambda: len(group.said("begins")) == 3 and group.said("begins"),
            TIMEOUT, "three workers that begin")
        lost = group.nodes.pop()
        at = time.monotonic_ns()
        lost.kill()
        after = group.await_world(3, seconds=30)
        return ((max(x["ns"] for x in after) - at) / 1e6,
                {x["pid"] for x in after} <= {x["pid"] for x in begun})
    finally:
        group.end()


def _json(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def allreduce():
    """examples/cuda_allreduce, built and run here."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise NotHere("no nvcc")
    header, library = _find_nccl(nvcc)
    folder = f"{KIT}/examples/cuda_allreduce"
    program = f"{WORK}/cuda_allreduce"
    begin = time.monotonic()
    code, output = read(
        nvcc, "-O2", "-std=c++20", f"-I{folder}", f"-I{header}",
        *[f"{folder}/{x}" for x in ("main.cu", "environment.cpp", "store.cpp")],
        library, "-Xlinker", "-rpath", "-Xlinker", os.path.dirname(library),
        "-o", program, seconds=90)
    show(f"Built with `nvcc -std=c++20` in {time.monotonic() - begin:.1f} s, with "
         f"{library}: " + judge(code == 0, "cuda_allreduce cannot be built: "
                                + output[-300:]))
    if code != 0 or not HAS_CUDA:
        if not HAS_CUDA:
            raise NotHere("no CUDA device: it was built, and not run")
        return
    code, output = read(ACTORRUN, "--standalone", "--nproc-per-node=gpu",
                        "--no-python", program, "300", seconds=60)
    judge(code == 0, f"cuda_allreduce has ended with {code}")
    block("\n".join(x for x in output.splitlines() if "sums" in x)
          or "\n".join(output.splitlines()[-5:]))
    job = Job(ACTORRUN, "--standalone", "--nproc-per-node=gpu", "--max-restarts=1",
              "--no-python", program, "100000000")
    job.says("generation 1, step 100")
    worker = _children(job.process.pid, "cuda_allreduce")
    at = time.monotonic()
    os.kill(worker[0], signal.SIGKILL)
    job.says("generation 2, step 100")
    show()
    show(f"Killed with SIGKILL, the sums go on in the next generation: 100 steps of it are "
         f"done after {1000 * (time.monotonic() - at):.0f} ms.")
    job.end()


def _children(pid, name):
    out = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):
            with open(path) as file:
                head, _, tail = file.read().rpartition(")")
            if int(tail.split()[1]) == pid and head.split("(", 1)[1] == name:
                out.append(int(head.split()[0]))
    return out


def _find_nccl(nvcc):
    places = [(f"{os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))}/include",
               f"{os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))}/lib64"),
              ("/usr/include", "/usr/lib/x86_64-linux-gnu"), ("/usr/include", "/usr/lib64"),
              ("/usr/local/cuda/include", "/usr/local/cuda/lib64")]
    for x in sys.path:
        places.append((f"{x}/nvidia/nccl/include", f"{x}/nvidia/nccl/lib"))
    for header, library in places:
        for name in ("libnccl.so", "libnccl.so.2"):
            if os.path.exists(f"{header}/nccl.h") and os.path.exists(f"{library}/{name}"):
                return header, f"{library}/{name}"
    raise NotHere("no nccl.h with a libnccl beside it")


def torch_cases():
    """The cases with the label torch of CTest, with the torch of this machine."""
    tags = ("checkpoint", "elastic", "exception", "live", "one_node", "store", "timer",
            "torchrun", "two_nodes", "usage")
    together = max(1, len(os.sched_getaffinity(0)) // 4)
    table("torch_tests", "result", "seconds")

    def run(tag):
        begin = time.monotonic()
        if tag == "live_gloo":
            job = Job(sys.executable, "-B", f"{KIT}/tests/torch/live_gloo.py",
                      f"{KIT}/runtime/worker/python")
        else:
            job = Job(f"{KIT}/bin/torch_tests", f"[{tag}]",
                      env={"ACTORRUN_TEST_KIT": KIT})
        code = job.wait(150)
        job.end()
        lines = [x for x in job.output().strip().splitlines() if x.strip("= ")]
        last = lines[-1] if lines else ""
        if code == 77:
            return tag, "not seen here: " + last, time.monotonic() - begin
        if code != 0:
            failures.append(f"torch_tests [{tag}]: exit code {code}: {last}")
            last = f"**exit code {code}**: {last}"
        return tag, last, time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(together) as pool:
        for done in concurrent.futures.as_completed(
                [pool.submit(run, x) for x in (*tags, "live_gloo")]):
            tag, last, took = done.result()
            row(f"[{tag}]" if tag != "live_gloo" else "live_gloo.py", last,
                f"{took:.0f}")
    show()
    show(f"{together} at a time.")


def torchrun():
    """torchrun and actorrun in turns, with workers that import nothing."""
    sizes = os.environ.get("KIT_SIZES", "1 8 64").split()
    more = os.environ.get("KIT_BENCH_OPTIONS", "").split()
    job = Job(f"{KIT}/bin/actorrun_bench", *more, "torchrun", *sizes)
    shown = 0
    while True:
        ended = job.process.poll() is not None
        lines = job.output().splitlines()
        whole = len(lines) if ended else lines and len(lines) - 1
        for line in lines[shown:whole or 0]:
            show(line)
        shown = max(shown, whole or 0)
        if ended:
            break
        time.sleep(0.1)
    judge(job.process.returncode == 0, "actorrun_bench has ended with "
          f"{job.process.returncode}: {job.last_words()}")


def health():
    """The built-in checks of GPUs."""
    table("check", "it says", "exit code", "takes", "as expected")
    for name in ("gpu-quick", "gpu"):
        begun = time.monotonic()
        code, output = read(ACTORCTL, "check", name, seconds=TIMEOUT)
        took = time.monotonic() - begun
        row(f"`{name}`", output.strip().replace("\n", "<br>"), code, f"{took:.2f} s",
            judge(code == 0, f"{name}: exit code {code}: {output.strip()}"))


STEPS = (counting, readings, memory, ddp, live, nccl_abort, hang, health, allreduce,
         torch_cases, torchrun)


def main():
    signal.signal(signal.SIGTERM, cut_off)
    threading.excepthook = lambda x: log(str(x))
    by_name = {x.__name__: x for x in STEPS}
    if sys.argv[1:] == ["--list"]:
        for x in STEPS:
            print(x.__name__, x.__doc__, sep="\t")
        return 0
    step = by_name.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if step is None:
        sys.exit(f"usage: steps.py {'|'.join(by_name)}")
    try:
        step()
    except NotHere as error:
        show()
        show(f"Not seen here: {error}.")
        return 77
    except AssertionError as error:
        failures.append(str(error))
    finally:
        end_all()
    if failures:
        show()
        show("Not as expected:")
        show()
        for x in failures:
            show(f"- {x}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
