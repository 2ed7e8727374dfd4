"""Checks launcher, run and start_processes of the Python package with the real program.

    launch_test.py PYTHON_PACKAGE PROGRAMS [TEST...]

PROGRAMS is the folder with the program actorrun. Without torch: run it with `python3 -S`
where torch is installed; tests/torch/launcher_test.py is for that.
"""
import json
import multiprocessing.util
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TIMEOUT = 60  # Seconds; a test that passes never waits that long.

HERE = os.path.dirname(os.path.abspath(__file__))
# Workers import this file, too, and have the path of the process that launches.
if __name__ == "__main__":
    PACKAGE, PROGRAMS = (os.path.abspath(x) for x in sys.argv[1:3])
    sys.path[:0] = [PACKAGE, HERE]
    os.environ["PATH"] = PROGRAMS + os.pathsep + os.environ["PATH"]

import calls


class OfMain:
    """Is found by a worker only if that imports this file."""

    def __init__(self, x):
        self.x = x


def of_main():
    return OfMain(calls.rank())


def config(workers=2, **more):
    from actorrun.launcher import LaunchConfig
    fields = dict(min_nodes=1, max_nodes=1, nproc_per_node=workers, run_id="test",
                  rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=0)
    return LaunchConfig(**{**fields, **more})


def launch(entrypoint, *args, **more):
    from actorrun.launcher import elastic_launch
    return elastic_launch(config(**more), entrypoint)(*args)


def setUpModule():
    multiprocessing.util.get_temp_dir()  # Before tests have folders of their own.


class Case(unittest.TestCase):
    """Each test has a folder for temporary files of its own."""

    def setUp(self):
        from actorrun import _functions, _names
        self.names, self.functions = _names, _functions
        self.folder = tempfile.TemporaryDirectory()
        self.temporary = os.path.join(self.folder.name, "temporary")
        os.mkdir(self.temporary)
        self.variables = dict(os.environ)
        tempfile.tempdir = self.temporary
        os.environ["TMPDIR"] = self.temporary
        os.environ["XDG_STATE_HOME"] = self.folder.name
        # The last of the cleanups: what a test has started ends before its folder goes.
        self.addCleanup(self.end_of_folder)

    def end_of_folder(self):
        os.environ.clear()
        os.environ.update(self.variables)
        tempfile.tempdir = None
        # The actorrun of a program that was killed ends by itself, and writes so long.
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                return self.folder.cleanup()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def script(self, text, *args, **variables):
        """Starts a Python program of its own that has the package."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2]),
                       **variables}
        flags = subprocess._args_from_interpreter_flags()
        command = [sys.executable, *flags, self.path("script.py", text), *map(str, args)]
        x = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(self.end, x)
        return x

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def await_lines(self, process, count, of="stdout"):
        """Returns as many lines as a program prints first, sorted."""
        stream = getattr(process, of)
        end, data = time.monotonic() + TIMEOUT, b""
        while data.count(b"\n") < count:
            rest = end - time.monotonic()
            ready, _, _ = select.select([stream], [], [], max(rest, 0))
            self.assertTrue(ready, f"it has printed {data} only")
            more = os.read(stream.fileno(), 4096)
            self.assertTrue(more, f"it has ended after {data}")
            data += more
        return sorted(data.decode().splitlines())

    def await_end_of(self, pids):
        for pid in pids:
            try:
                fd = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            ready, _, _ = select.select([fd], [], [], TIMEOUT)
            os.close(fd)
            self.assertTrue(ready, f"process {pid} lives on")

    def assertNothingIsLeft(self):
        self.assertEqual(os.listdir(self.temporary), [])


class Launcher(Case):
    def test_values_come_by_global_rank(self):
        out = launch(calls.times, 10, 3, workers=3)
        self.assertEqual({r: v.x for r, v in out.items()}, {0: 3, 1: 13, 2: 23})
        out = launch(of_main)
        self.assertEqual({r: v.x for r, v in out.items()}, {0: 0, 1: 1})
        self.assertEqual(launch(calls.leave), {0: None, 1: None})
        self.assertNothingIsLeft()

    def test_values_are_those_of_the_last_generation(self):
        self.assertEqual(launch(calls.once, 1, max_restarts=1), {0: 2, 1: 2})

    def test_a_program_has_no_value(self):
        self.assertEqual(launch("sh", "-c", "exit 0", workers=3),
                         {0: None, 1: None, 2: None})
        out = self.path("out.")
        launch("sh", "-c", f"echo $$$$ ${{local_rank}} >{out}${{local_rank}}")
        with open(out + "1") as file:
            self.assertRegex(file.read(), r"^\d+ 1\n$")
        self.assertNothingIsLeft()

    def failure(self, *args, **more):
        with self.assertRaises(self.names.ChildFailedError) as caught:
            launch(*args, **more)
        return caught.exception

    def test_an_exception_is_a_failure_with_its_error_file(self):
        error = self.failure(calls.fails, 1)
        self.assertEqual(error.name, "fails")
        rank, failure = error.get_first_failure()
        self.assertEqual((rank, failure.local_rank, failure.exitcode), (1, 1, 1))
        self.assertGreater(failure.pid, 1)
        with open(failure.error_file) as file:
            self.assertEqual(json.load(file)["message"]["message"], "ValueError: no data")
        self.assertIn("in fails", failure.message["extraInfo"]["py_callstack"])
        self.assertAlmostEqual(failure.timestamp, time.time(), delta=TIMEOUT)
        text = str(error)
        self.assertIn("fails FAILED", text)
        self.assertIn("rank      : 1 (local_rank: 1)", text)
        self.assertEqual(text.count("ValueError: no data"), 1)

    def test_an_exit_code_and_a_signal_are_failures(self):
        _, failure = self.failure(calls.fails, 0, "exit").get_first_failure()
        self.assertEqual(failure.exitcode, 3)
        error = self.failure(calls.fails, 0, "kill")
        _, failure = error.get_first_failure()
        self.assertEqual(failure.exitcode, -signal.SIGKILL)
        self.assertEqual(failure.error_file, "<N/A>")
        self.assertIn(f"Signal 9 (SIGKILL) received by PID {failure.pid}", str(error))

    def test_the_root_cause_comes_first_whatever_clocks_say(self):
        from actorrun import _failures
        def failure(rank, seconds):
            return dict(rank=rank, local_rank=0, host=f"n{rank}", pid=7, exit_code=1,
                        error_file="/n/error.json", error_file_is_here=False,
                        message=f"ValueError: {rank}", traceback=f"Traceback: {rank}",
                        time_ms=seconds * 1000, cause="", stuck="", last_output="")
        report = dict(failures=[failure(3, 200), failure(1, 100)], log_dir=self.temporary,
                      unlisted_failures=4)
        error = _failures.ChildFailedError("f", _failures.by_rank(report), report)
        rank, first = error.get_first_failure()
        self.assertEqual((rank, first.timestamp), (3, 200))
        # What another host has in a file can be passed on from this one.
        with open(first.error_file) as file:
            self.assertEqual(json.load(file)["message"]["message"], "ValueError: 3")
        text = str(error)
        self.assertLess(text.index("Traceback: 1"), text.index("Traceback: 3"))
        for part in ("host      : n3", "host      : n1", "and 4 more"):
            self.assertIn(part, text)

    def test_a_program_that_is_not_there_or_may_not_run(self):
        with self.assertRaisesRegex(FileNotFoundError, "no_such_program"):
            launch("no_such_program")
        with self.assertRaisesRegex(PermissionError, "/etc/passwd"):
            launch("/etc/passwd")
        os.environ["PATH"] = self.temporary
        with self.assertRaisesRegex(FileNotFoundError, 'no program "actorrun"'):
            launch("true")
        self.assertNothingIsLeft()

    def test_too_few_nodes_are_an_error_of_the_launch(self):
        from actorrun.launcher import LaunchError
        with self.assertRaisesRegex(LaunchError, "1 of 2 nodes") as caught:
            launch("true", min_nodes=2, max_nodes=2, rdzv_endpoint="localhost:29471",
                   rdzv_configs={"join_timeout": 1})
        self.assertEqual(caught.exception.exit_code, 3)

    def test_a_program_that_reports_nothing_is_an_error(self):
        from actorrun.launcher import LaunchError
        for code, text in (("exit 2", "is it older"), ("exit 0", "exit code 0 and"),
                           ("kill -9 $$", "by SIGKILL")):
            program = self.path("actorrun", f"#!/bin/sh\n{code}\n")
            os.chmod(program, 0o755)
            os.environ["PATH"] = self.folder.name + ":/usr/bin:/bin"
            with self.assertRaisesRegex(LaunchError, text):
                launch("true")

    def test_wrong_configurations_are_refused(self):
        for entrypoint, more, text in (
                (None, {}, "neither a program nor a function"),
                ("true", dict(rdzv_backend="zeus"), "zeus"),
                ("true", dict(signals_to_handle="SIGNONE"), "SIGNONE"),
                ("true", dict(rdzv_backend="static", rdzv_endpoint=""), "HOST:PORT"),
                ("true", dict(event_log_handler="mine"), "mine")):
            with self.assertRaisesRegex(ValueError, text):
                launch(entrypoint, **more)

    def test_options_say_all_of_the_configuration(self):
        from actorrun import launcher
        from actorrun._own import DefaultLogsSpecs, Std
        from actorrun._own_run import _NumaOptions
        logs = DefaultLogsSpecs(self.path("logs"), {0: Std.OUT, 1: Std.ALL}, Std.ERR, {1, 0})
        x = config(logs_specs=logs, min_nodes=1, max_nodes=4, rdzv_endpoint="a:1",
                   rdzv_configs={"timeout": 900, "read_timeout": 5, "is_host": True},
                   role="r", max_restarts=7, monitor_interval=0.5, local_addr="b",
                   log_line_prefix_template="${rank}:", event_log_handler="console",
                   numa_options=_NumaOptions("node"), signals_to_handle="SIGTERM",
                   duplicate_stdout_filters=["a,b", "c"], duplicate_stderr_filters=["d"],
                   virtual_local_rank=True, shutdown_timeout=4)
        self.assertEqual(launcher.options(x, "true", []), [
            "--nnodes=1:4", "--nproc-per-node=2", "--rdzv-id=test", "--role=r",
            "--max-restarts=7", "--monitor-interval=0.5",
            "--entry-name=true", "--rdzv-backend=c10d", "--rdzv-endpoint=a:1",
            "--rdzv-conf=read_timeout=5,is_host=true", "--redirects=0:1,1:3", "--tee=2",
            f"--log-dir={self.path('logs')}", "--local-ranks-filter=0,1",
            "--log-line-prefix-template=${rank}:", "--duplicate-stdout-filters=a,,b,c",
            "--duplicate-stderr-filters=d", "--local-addr=b",
            "--event-log-handler=console", "--numa-binding=node",
            "--signals-to-handle=SIGTERM", "--virtual-local-rank", "--shutdown-timeout=4",
            "--no-python"])
        x = config(rdzv_backend="static", rdzv_endpoint="a:29500", max_nodes=2,
                   rdzv_configs={"rank": 1, "timeout": 60})
        self.assertEqual(launcher._meeting(x), [
            "--rdzv-backend=static", "--rdzv-endpoint=a:29500", "--node-rank=1",
            "--rdzv-conf=join_timeout=60"])

    def test_the_program_takes_all_of_these_options(self):
        from actorrun._own import DefaultLogsSpecs, Std
        logs = DefaultLogsSpecs(self.path("logs"), {0: Std.OUT}, Std.ERR, {0})
        launch("sh", "-c", "echo to the file; echo to both >&2", logs_specs=logs, role="r",
               max_restarts=7, log_line_prefix_template="${rank}:", shutdown_timeout=4,
               signals_to_handle="SIGTERM,SIGUSR2", duplicate_stderr_filters=["both"],
               virtual_local_rank=True)
        [run] = os.listdir(self.path("logs"))
        attempt = os.path.join(self.path("logs"), run, "attempt_0")
        for name, text in (("0/stdout.log", "to the file\n"), ("1/stderr.log", "to both\n")):
            with open(os.path.join(attempt, name)) as file:
                self.assertEqual(file.read(), text)

    def test_variables_of_torchs_parser_do_not_count(self):
        os.environ["PET_NNODES"] = "7"
        self.assertEqual(launch(calls.variable, "PET_NNODES"), {0: None, 1: None})

    def test_more_options_come_from_a_variable(self):
        os.environ["ACTORRUN_OPTIONS"] = "--no-agent-store --role='of two words'"
        # What the configuration says counts more.
        self.assertEqual(launch(calls.variable, "ROLE_NAME", workers=1, role="a"), {0: "a"})
        self.assertEqual(launch(calls.variable, "TORCHELASTIC_USE_AGENT_STORE", workers=1),
                         {0: "False"})
        os.environ["ACTORRUN_OPTIONS"] = "'"
        with self.assertRaisesRegex(ValueError, "ACTORRUN_OPTIONS"):
            launch("true")

    def test_an_error_file_of_this_process_is_its_own_affair(self):
        path = os.environ["TORCHELASTIC_ERROR_FILE"] = self.path("error.json")
        self.failure(calls.fails, 1)
        self.assertFalse(os.path.exists(path))

    def test_what_can_be_handed_to_one_process_only_is_refused(self):
        for x in (calls.unpicklable(), threading.Lock(), multiprocessing.Queue()):
            with self.assertRaisesRegex(ValueError, "cannot be pickled"):
                launch(calls.times, x, 1)

    def test_a_queue_of_a_manager_is_shared(self):
        with multiprocessing.Manager() as manager:
            queue = manager.Queue()
            launch(calls.put, queue)
            self.assertEqual({queue.get(timeout=TIMEOUT) for _ in "ab"}, {0, 1})

    def test_it_works_on_another_thread(self):
        out = []
        thread = threading.Thread(target=lambda: out.append(launch(calls.times, 1, 0)))
        thread.start()
        thread.join(TIMEOUT)
        self.assertEqual([x.x for x in out[0].values()], [0, 1])

    def test_a_function_of_a_program_that_cannot_be_imported_is_refused(self):
        code = ("import sys; sys.path[:0] = {!r}\n"
                "def f(): return 1\n"
                "from actorrun.launcher import LaunchConfig, elastic_launch\n"
                "elastic_launch(LaunchConfig(1, 1, 1, rdzv_backend='c10d'), f)()\n"
                ).format(sys.path[:2])
        x = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True,
                           text=True)
        self.assertEqual(x.returncode, 1)
        self.assertIn("f is defined in a program that cannot be imported", x.stderr)

    def test_a_program_without_a_guard_is_told_of_it(self):
        x = self.script("import calls\n"
                        "from actorrun.launcher import LaunchConfig, elastic_launch\n"
                        "config = LaunchConfig(1, 1, 1, rdzv_backend='c10d',"
                        " max_restarts=0)\n"
                        "elastic_launch(config, calls.times)(1, 2)\n")
        _, said = x.communicate(timeout=TIMEOUT)
        self.assertEqual(x.returncode, 1)
        self.assertIn("__name__ == '__main__'", said)


STARTS = """
import sys
from actorrun.launcher import LaunchConfig, elastic_launch
config = LaunchConfig(1, 1, 2, rdzv_backend="c10d", max_restarts=0)
elastic_launch(config, sys.argv[1])(*sys.argv[2:])
"""


class Signals(Case):
    def test_a_signal_ends_the_job_and_is_raised(self):
        before = signal.getsignal(signal.SIGTERM)
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.assertRaises(self.names.SignalException) as caught:
                launch(calls.signal_parent, os.getpid(), number, workers=1)
            self.assertIs(caught.exception.sigval, number)
        self.assertIs(signal.getsignal(signal.SIGTERM), before)
        self.assertEqual(signal.set_wakeup_fd(-1), -1)
        self.assertNothingIsLeft()

    def test_a_signal_that_is_ignored_stays_so(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            out = launch(calls.signal_parent_and_return, os.getpid(), 1, workers=1)
        finally:
            signal.signal(signal.SIGHUP, before)
        self.assertEqual(out, {0: 1})

    def test_a_handler_that_is_not_for_the_job_is_called(self):
        came = []
        before = signal.signal(signal.SIGUSR1, lambda *_: came.append(1))
        try:
            out = launch(calls.signal_parent_and_return, os.getpid(), signal.SIGUSR1,
                         workers=1)
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual((out, came), ({0: signal.SIGUSR1}, [1]))

    def test_an_interrupted_wait_leaves_no_worker(self):
        x = self.script(STARTS.replace("2, rdzv", '2, signals_to_handle="SIGTERM", rdzv'),
                        "sh", "-c", "echo $$$$; exec sleep 1000")
        pids = self.await_lines(x, 2)
        os.kill(x.pid, signal.SIGINT)  # Python's own handler raises KeyboardInterrupt.
        _, said = x.communicate(timeout=TIMEOUT)
        self.assertIn("KeyboardInterrupt", said)
        self.await_end_of(map(int, pids))
        self.assertNothingIsLeft()

    def test_a_terminals_signal_comes_once_to_workers(self):
        out = self.path("signals")
        worker = (f"trap 'echo INT >>{out}; n=0' INT; echo started; n=5000;"
                  " while [ $n -gt 0 ]; do sleep 0.05; n=$((n-1)); done; sleep 0.6")
        x = self.script(STARTS, "sh", "-c", worker.replace("$", "$$"))
        self.assertEqual(self.await_lines(x, 2), ["started"] * 2)
        os.killpg(x.pid, signal.SIGINT)  # To this process and to actorrun, as Ctrl-C.
        _, said = x.communicate(timeout=TIMEOUT)
        self.assertIn("SignalException", said)
        self.assertNotIn("killing", said)
        with open(out) as file:
            self.assertEqual(file.read(), "INT\n" * 2)

    def test_workers_end_with_the_process_that_is_killed(self):
        x = self.script(STARTS, "sh", "-c", "echo $$$$; exec sleep 1000")
        pids = self.await_lines(x, 2)
        x.kill()
        self.await_end_of(map(int, pids))


class Run(Case):
    """`actorrun.run`, and the programs of the package."""

    def run_module(self, module, *words):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2])}
        flags = subprocess._args_from_interpreter_flags()
        x = subprocess.run([sys.executable, *flags, "-m", module, *words], text=True,
                           env=environment, capture_output=True, timeout=TIMEOUT)
        return x.returncode, x.stdout, x.stderr

    def test_scripts_modules_programs_and_functions_run(self):
        # In one piece: both workers write at once.
        script = self.path("train.py", "import os, sys\nsys.stdout.write(' '.join("
                           "[os.environ['RANK'], *sys.argv[1:], __name__]) + '\\n')\n")
        lines = "0 --a 1 __main__\n1 --a 1 __main__\n"
        module = ("actorrun.torchrun", "--nproc-per-node=2")
        for words in ((script,), ("--run-path", script), ("-m", "train"),
                      ("--no_python", sys.executable, script)):
            sys.path.insert(1, self.folder.name)
            try:
                code, out, said = self.run_module(*module, *words, "--a", "1")
            finally:
                del sys.path[1]
            self.assertEqual("".join(sorted(out.splitlines(True))), lines, said)
            self.assertEqual(code, 0)

    def test_exit_codes_are_those_of_the_program(self):
        for code, words in ((1, ("sh", "-c", "exit 5")), (127, ("no_such_program",)),
                            (126, ("/etc/passwd",)),
                            (143, ("sh", "-c", "kill -TERM $$PPID; sleep 1000"))):
            got, _, said = self.run_module("actorrun.torchrun", "--no-python", *words)
            self.assertEqual(got, code, said)

    def test_options_come_from_variables_too(self):
        from actorrun import run
        os.environ.update(PET_NNODES="2:3", PET_STANDALONE="1", PET_MAX_RESTARTS="4")
        x = run.parse_args(["--nproc_per_node=3", "a.py", "--nnodes=9"])
        self.assertEqual((x.nnodes, x.standalone, x.max_restarts, x.nproc_per_node),
                         ("2:3", True, 4, "3"))
        self.assertEqual((x.training_script, x.training_script_args),
                         ("a.py", ["--nnodes=9"]))
        self.assertEqual(run.parse_min_max_nnodes("2:3"), (2, 3))
        with self.assertRaises(RuntimeError):
            run.parse_min_max_nnodes("2:3:4")
        config, program, words = run.config_from_args(x)
        self.assertEqual((config.min_nodes, config.max_nodes, config.nproc_per_node),
                         (2, 3, 3))
        self.assertEqual([program, *words], [sys.executable, "-u", "a.py", "--nnodes=9"])

    def test_the_module_is_the_program(self):
        script = self.path("train.py", "import sys; print(sys.executable)\n")
        code, out, said = self.run_module("actorrun", script)
        self.assertEqual((code, out.strip()), (0, sys.executable), said)

    def test_a_console_script_does_not_find_itself(self):
        folder = self.path("bin")
        os.mkdir(folder)
        console = os.path.join(folder, "actorrun")
        with open(console, "w") as file:
            file.write(f"#!{sys.executable} -S\nimport sys; sys.path[:0] = {sys.path[:1]}\n"
                       "from actorrun._programs import actorrun\nactorrun()\n")
        os.chmod(console, 0o755)
        path = folder + os.pathsep + os.environ["PATH"]
        x = subprocess.run([console, "--version"], capture_output=True, text=True,
                           env={**os.environ, "PATH": path}, timeout=TIMEOUT)
        self.assertRegex(x.stdout, r"^actorrun \d")
        x = subprocess.run([console, "--version"], capture_output=True, text=True,
                           env={**os.environ, "PATH": folder}, timeout=TIMEOUT)
        self.assertEqual(x.returncode, 1)
        self.assertIn('there is no program "actorrun"', x.stderr)


class Processes(Case):
    def start(self, entrypoint, args, envs=None, **more):
        from actorrun.multiprocessing import start_processes
        folder = tempfile.mkdtemp(dir=self.folder.name)
        x = start_processes("name", entrypoint, args, envs or {i: {} for i in args},
                            **{"log_dir": folder, **more})
        self.addCleanup(x.close)
        return x

    def setUp(self):
        super().setUp()
        for number in (1, 2, 3, 15):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def test_functions_have_arguments_variables_and_values_of_their_own(self):
        from actorrun.multiprocessing import Std
        x = self.start(calls.add, {0: (1, 2), 1: (3, 4)}, {0: {"GIVEN": "a"}, 1: {}},
                       redirects={0: Std.ALL, 1: Std.OUT})
        self.assertEqual(set(x.pids()), {0, 1})
        result = x.wait()
        self.assertFalse(result.is_failed())
        self.assertEqual(result.return_values, {0: (3, "a", None), 1: (7, None, None)})
        for path, text in ((x.stdouts[0], "adds 1\n"), (x.stderrs[0], "and 2\n"),
                           (x.stdouts[1], "adds 3\n")):
            with open(path) as file:
                self.assertEqual(file.read(), text)
        self.assertEqual(x.stderrs[1], "")
        self.assertNothingIsLeft()

    def test_the_folder_has_one_for_each_local_rank(self):
        from actorrun.multiprocessing import Std
        folder = self.path("logs")
        os.mkdir(folder)
        x = self.start("sh", {0: ("-c", "echo $0 '${local_rank}' '$$'"), 1: ("-c", "")},
                       log_dir=folder, redirects=Std.OUT)
        self.assertEqual(x.wait().return_values, {})
        with open(os.path.join(folder, "0", "stdout.log")) as file:
            self.assertEqual(file.read(), "sh ${local_rank} $$\n")
        with self.assertRaisesRegex(RuntimeError, "is not empty"):
            self.start("true", {0: ()}, log_dir=folder)

    def test_a_failure_ends_all(self):
        x = self.start("sh", {0: ("-c", "exec sleep 1000"), 1: ("-c", "exit 3")})
        result = x.wait()
        self.assertTrue(result.is_failed())
        self.assertEqual([(r, f.exitcode) for r, f in result.failures.items()], [(1, 3)])
        self.await_end_of(x.pids().values())
        self.assertIs(x.wait(0), result)

    def test_close_stops_all_with_a_signal_and_then_kills(self):
        x = self.start("sleep", {0: (1000,), 1: (1000,)})
        self.assertIsNone(x.wait(0))
        x.close(signal.SIGINT)
        self.assertEqual([f.exitcode for f in x.wait().failures.values()], [-2, -2])
        self.await_end_of(x.pids().values())
        out = self.path("came")
        x = self.start("sh", {0: ("-c", f"trap 'echo TERM >>{out}' TERM; echo >{out}; while :;"
                                        " do sleep 0.05; done")})
        while not os.path.exists(out):
            self.assertIsNone(x.wait(0.01))
        x.close(timeout=1)
        self.await_end_of(x.pids().values())
        with open(out) as file:
            self.assertEqual(file.read(), "\nTERM\n")
        self.assertNothingIsLeft()

    def test_a_signal_is_raised_as_torch_does(self):
        x = self.start("sleep", {0: (1000,)})
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with self.assertRaises(self.names.SignalException) as caught:
            x.wait()
        x.close(caught.exception.sigval)
        self.await_end_of(x.pids().values())

    def test_a_forked_child_does_not_keep_them_alive(self):
        x = self.script("import os, sys, tempfile, time\n"
                        "from actorrun.multiprocessing import start_processes\n"
                        "if __name__ == '__main__':\n"
                        "    x = start_processes('a', 'sleep', {0: (1000,)}, {0: {}},"
                        " log_dir=tempfile.mkdtemp())\n"
                        "    child = os.fork()\n"
                        "    if child == 0:\n"
                        "        time.sleep(1000)\n"
                        "    print(child, x.pids()[0], sep='\\n', flush=True)\n"
                        "    time.sleep(1000)\n")
        pids = [int(pid) for pid in self.await_lines(x, 2)]
        fds = [os.pidfd_open(pid) for pid in pids]
        x.kill()
        # The child is the other one; which is which is all the same.
        ready, _, _ = select.select(fds, [], [], TIMEOUT)
        self.assertEqual(len(ready), 1)
        for pid, fd in zip(pids, fds):
            if fd not in ready:
                os.kill(pid, signal.SIGKILL)
            os.close(fd)

    def test_wrong_arguments_are_refused(self):
        for kind, text, args in (
                (FileNotFoundError, "", ("no_such_program", {0: ()})),
                (PermissionError, "", ("/etc/passwd", {0: ()})),
                (RuntimeError, "envs: the local ranks", ("true", {0: ()}, {1: {}})),
                (RuntimeError, "args: the local ranks", ("true", {1: ()}, {1: {}}))):
            with self.assertRaisesRegex(kind, text):
                self.start(*args)
        with self.assertRaisesRegex(ValueError, "more than the local rank"):
            self.start("true", {0: (), 1: ()}, log_line_prefixes={0: "a", 1: "b"})
        with self.assertRaises(self.functions.NotPicklable):
            self.start(calls.unpicklable(), {0: ()})
        self.assertNothingIsLeft()
        x = self.start("true", {0: ()})
        with self.assertRaisesRegex(ValueError, "SIGSTOP"):
            x.close(signal.SIGSTOP)

    def test_labels_of_lines_are_found_again(self):
        from actorrun.multiprocessing import _template
        for prefixes, text in (({0: "[a0]:", 1: "[a1]:"}, "[a${local_rank}]:"),
                               ({0: "$", 1: "$"}, "$$"),
                               ({0: "a0b0", 1: "a0b1"}, "a0b${local_rank}")):
            self.assertEqual(_template(prefixes), text)


if __name__ == "__main__":
    if not hasattr(os, "pidfd_open"):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
