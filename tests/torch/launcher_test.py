"""Checks with a real torch what the Python package makes of its launcher.

    launcher_test.py PYTHON_PACKAGE PROGRAMS [TEST...]

PROGRAMS is the folder with the program actorrun. Exit code 77: there is no torch. The
tests of tests/worker/python need no torch; these are about torch's own names.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

TIMEOUT = 120  # Seconds; a test that passes never waits that long.

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = os.path.join(HERE, "..", "worker", "python")
if __name__ == "__main__":
    PACKAGE, PROGRAMS = (os.path.abspath(x) for x in sys.argv[1:3])
    sys.path[:0] = [PACKAGE, CALLS]
    os.environ["PATH"] = PROGRAMS + os.pathsep + os.environ["PATH"]

import calls


def setUpModule():
    global api, errors, SignalException, torch, AUTOLOADS, HAS_LIBUV
    import torch
    import torch.distributed.launcher.api as api
    from torch.distributed.elastic.multiprocessing import SignalException, errors
    AUTOLOADS = hasattr(torch, "_import_device_backends")
    try:
        torch.distributed.TCPStore("127.0.0.1", 0, 1, True)
        HAS_LIBUV = True
    except RuntimeError:  # As Debian's from torch 2.4 on.
        HAS_LIBUV = False
        os.environ["ACTORRUN_OPTIONS"] = "--no-agent-store"
        os.environ["USE_LIBUV"] = "0"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.variables = dict(os.environ)
        tempfile.tempdir = self.folder.name
        os.environ["TMPDIR"] = self.folder.name
        os.environ["XDG_STATE_HOME"] = self.folder.name
        os.environ["ACTORRUN_TAKEOVER"] = "1"

    def tearDown(self):
        os.environ.clear()
        os.environ.update(self.variables)
        tempfile.tempdir = None
        self.folder.cleanup()

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def config(self, workers=2, **more):
        fields = dict(min_nodes=1, max_nodes=1, nproc_per_node=workers, run_id="test",
                      rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=0)
        return api.LaunchConfig(**{**fields, **more})

    def launch(self, entrypoint, *args, **more):
        return api.elastic_launch(self.config(**more), entrypoint)(*args)


class Takeover(Case):
    """torch's own launcher, which has been taken over, in this process."""

    @classmethod
    def setUpClass(cls):
        from actorrun import _takeover
        os.environ["ACTORRUN_TAKEOVER"] = "1"
        _takeover.autoload()

    def said(self, call, *args, **more):
        """Returns the result of a call, and what has come to standard error."""
        with tempfile.TemporaryFile() as file:
            before = os.dup(2)
            os.dup2(file.fileno(), 2)
            try:
                out = call(*args, **more)
            finally:
                sys.stderr.flush()
                os.dup2(before, 2)
                os.close(before)
            file.seek(0)
            return out, file.read().decode()

    def test_both_names_of_torchs_function_are_ours(self):
        from actorrun import _takeover
        import torch.distributed.launcher as package
        self.assertIs(api.launch_agent, _takeover._launch_agent)
        self.assertIs(package.launch_agent, api.launch_agent)
        _takeover.autoload()
        self.assertIsNot(_takeover.torchs_launch_agent(), api.launch_agent)

    def test_a_program_written_for_torchs_launcher_works(self):
        """As an orchestrator does it that calls a task as the workers of a job."""
        out = self.launch(calls.times, 10, 3, max_restarts=2, monitor_interval=1,
                          start_method="spawn", rdzv_configs={"timeout": 900})
        self.assertEqual({rank: x.x for rank, x in out.items()}, {0: 3, 1: 13})
        self.assertEqual(self.launch(calls.once, 1, max_restarts=1)[0], 2)
        with self.assertRaises(errors.ChildFailedError) as caught:
            self.launch(calls.fails, 1)
        self.assertIsInstance(caught.exception, errors.ChildFailedError)
        rank, failure = caught.exception.get_first_failure()
        self.assertIsInstance(failure, errors.ProcessFailure)
        self.assertEqual((rank, failure.local_rank, failure.exitcode), (1, 1, 1))
        self.assertIn("ValueError: no data", caught.exception.format_msg())
        with open(failure.error_file) as file:
            self.assertIn("no data", json.load(file)["message"]["message"])
        with self.assertRaises(SignalException) as caught:
            self.launch(calls.signal_parent, os.getpid(), signal.SIGTERM, workers=1)
        self.assertIs(caught.exception.sigval, signal.SIGTERM)

    def test_record_passes_the_root_cause_on(self):
        os.environ["TORCHELASTIC_ERROR_FILE"] = self.path("error.json")
        with self.assertRaises(errors.ChildFailedError):
            errors.record(self.launch)(calls.fails, 0)
        with open(self.path("error.json")) as file:
            self.assertIn("no data", json.load(file)["message"]["message"])

    def test_a_command_has_torchs_folders(self):
        from torch.distributed.elastic.multiprocessing import Std
        if hasattr(api, "DefaultLogsSpecs"):
            more = {"logs_specs": api.DefaultLogsSpecs(self.path("logs"), redirects=Std.OUT)}
        else:
            more = {"log_dir": self.path("logs"), "redirects": Std.OUT}
        self.assertEqual(self.launch("sh", "-c", "echo $RANK", **more), {0: None, 1: None})
        [run] = os.listdir(self.path("logs"))
        self.assertTrue(run.startswith("test_"))
        with open(os.path.join(self.path("logs"), run, "attempt_0", "1", "stdout.log")) as x:
            self.assertEqual(x.read(), "1\n")

    def test_a_folder_that_is_not_asked_for_does_not_stay(self):
        self.launch("true")
        left = [x for x in os.listdir(self.folder.name) if x.startswith("torchelastic_")]
        self.assertEqual(left, [])

    def test_tensors_and_closures_travel_by_value(self):
        x = torch.ones(3)
        [out] = self.launch(torch.add, x, x, workers=1).values()
        self.assertEqual(out.tolist(), [2, 2, 2])
        try:
            import cloudpickle  # noqa: F401
        except ImportError:
            return  # The next test has that case.
        self.assertEqual(self.launch(lambda: int(x.sum()), workers=1), {0: 3})

    def test_what_is_only_for_torchs_agent_is_left_to_it(self):
        import multiprocessing
        from actorrun import _takeover
        came = []
        before = _takeover._original
        _takeover._original = lambda *args, **more: came.append(args) or "torch's"
        self.addCleanup(setattr, _takeover, "_original", before)
        queue = multiprocessing.Queue()
        cases = [((calls.put, queue), {}, "put or its arguments cannot be pickled"),
                 ((calls.put, queue), {"start_method": "fork"}, "cannot be pickled"),
                 (("true",), {"rdzv_backend": "zeus"}, 'rdzv_backend is "zeus"')]
        if hasattr(api, "DefaultLogsSpecs"):
            class Own(api.DefaultLogsSpecs):
                pass
            cases.append((("true",), {"logs_specs": Own()}, "class of its own, Own"))
        for args, more, why in cases:
            out, said = self.said(self.launch, *args, **more)
            self.assertEqual(out, "torch's")
            self.assertRegex(said, "actorrun: torch's agent runs this job: .*" + why)
            self.assertEqual(said.count("\n"), 1)
        self.assertEqual(len(came), len(cases))

    def test_torchs_agent_runs_it_then(self):
        import multiprocessing
        if not HAS_LIBUV:
            self.skipTest("torch's agent cannot start: this torch has no libuv")
        queue = multiprocessing.get_context("spawn").SimpleQueue()
        _, said = self.said(self.launch, calls.put, queue)
        self.assertIn("torch's agent runs this job", said)
        self.assertEqual({queue.get(), queue.get()}, {0, 1})

    def test_fork_is_said_to_be_none(self):
        out, said = self.said(self.launch, calls.times, 1, 0, start_method="fork")
        self.assertEqual(set(out), {0, 1})
        self.assertIn('start_method is "fork", but the function runs in new', said)

    def test_events_reach_handlers_of_python(self):
        import logging
        from torch.distributed.elastic.events import handlers
        if not hasattr(self.config(), "event_log_handler"):
            self.skipTest("this torch has one handler only")
        lines = []

        class Handler(logging.Handler):
            def emit(self, record):
                lines.append(record.getMessage())

        handlers._log_handlers["mine"] = Handler()
        self.launch("true", event_log_handler="mine")
        states = [json.loads(x)["metadata"]["state"] for x in lines]
        self.assertEqual(states.count("SUCCEEDED"), 3)  # Two workers, and the agent.

    def test_explain_says_what_would_be_run(self):
        from actorrun import _takeover
        os.environ["ACTORRUN_TAKEOVER"] = "explain"
        before = _takeover._original
        _takeover._original = lambda *args, **more: "torch's"
        self.addCleanup(setattr, _takeover, "_original", before)
        out, said = self.said(self.launch, "train", "a b", workers=3)
        self.assertEqual(out, "torch's")
        self.assertRegex(said, r"^actorrun: would run \S+/actorrun .*--nproc-per-node=3 .*"
                               r"--no-python train 'a b'\n$")
        _, said = self.said(self.launch, "train", rdzv_backend="zeus")
        self.assertRegex(said, "^actorrun: would leave this job to torch's agent: .*zeus")
        os.environ["ACTORRUN_TAKEOVER"] = ""
        out, said = self.said(self.launch, "train")
        self.assertEqual((out, said), ("torch's", ""))

    def test_no_error_of_ours_reaches_import_torch(self):
        from actorrun import _takeover
        os.environ["ACTORRUN_TAKEOVER"] = "please"
        _, said = self.said(_takeover.autoload)
        self.assertIn('ACTORRUN_TAKEOVER is "please", neither 1 nor explain', said)
        os.environ["ACTORRUN_TAKEOVER"] = "1"
        before = _takeover._rebind_when_imported
        _takeover._rebind_when_imported = None  # Not to be called.
        self.addCleanup(setattr, _takeover, "_rebind_when_imported", before)
        _, said = self.said(_takeover.autoload)
        self.assertIn("torch's agent stays: TypeError", said)

    def test_the_parser_is_torchs(self):
        from actorrun import _own_run, run
        import torch.distributed.run
        self.assertIs(run.get_args_parser, torch.distributed.run.get_args_parser)
        self.assertIs(run.get_use_env, torch.distributed.run.get_use_env)
        # Ours, for a Python without torch, has them all.
        def options(parser):
            return {x.dest for x in parser._actions}
        # These name Python code, or need another package.
        theirs = options(run.get_args_parser()) - {"logs_specs", "print_completion"}
        self.assertLessEqual(theirs, options(_own_run.get_args_parser()))


class Programs(Case):
    """Interpreters of their own."""

    def python(self, *words, **variables):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, CALLS]),
                       **variables}
        return subprocess.run([sys.executable, "-B", *words], env=environment, text=True,
                              capture_output=True, timeout=TIMEOUT)

    def test_torchs_program_starts_ours(self):
        # As pip installs it.
        info = self.path("actorrun-0.9.0.dist-info")
        os.mkdir(info)
        with open(os.path.join(info, "METADATA"), "w") as file:
            file.write("Metadata-Version: 2.1\nName: actorrun\nVersion: 0.9.0\n")
        with open(os.path.join(info, "entry_points.txt"), "w") as file:
            file.write("[torch.backends]\nactorrun = actorrun._takeover:autoload\n")
        # One write each: the workers share a pipe.
        script = self.path("s.py", "import os\nos.write(1, (os.environ['ACTORRUN_GENERATION']"
                                   " + ' ' + os.environ['LOCAL_RANK'] + '\\n').encode())\n")
        module = "torch.distributed.run" if AUTOLOADS else "actorrun.torchrun"
        path = os.pathsep.join([PACKAGE, CALLS, self.folder.name])
        x = self.python("-m", module, "--nproc_per_node=2", script, PYTHONPATH=path)
        self.assertEqual((x.returncode, sorted(x.stdout.split("\n"))),
                         (0, ["", "1 0", "1 1"]), x.stderr)
        self.assertNotIn("torch's agent", x.stderr)

    def test_exit_codes_and_reports_of_torchrun(self):
        x = self.python("-m", "actorrun.torchrun", "--redirects=3", "--no_python", "sh", "-c",
                        "echo unseen; exit 5")
        self.assertEqual(x.stdout, "")
        self.assertEqual(x.returncode, 1)
        self.assertEqual(x.stderr.count("sh FAILED"), 1, x.stderr)
        self.assertIn("exitcode  : 5", x.stderr)


if __name__ == "__main__":
    try:
        import torch.distributed.launcher.api  # noqa: F401
    except ImportError:
        print("skipped (torch): this Python has none")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
