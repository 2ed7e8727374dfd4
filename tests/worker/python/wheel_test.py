"""Checks the wheel that make_wheel.py makes.

    wheel_test.py PYTHON_FOLDER

Programs of this system that need nothing but the C library stand for ours.
"""
import base64
import configparser
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from importlib.metadata import Distribution

TIMEOUT = 60  # Seconds.

folder = os.path.abspath(sys.argv[1])


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def make(self, programs, to, *words):
        return subprocess.run(
            [sys.executable, "-B", os.path.join(folder, "make_wheel.py"), programs,
             self.path(to), *words], capture_output=True, text=True, timeout=TIMEOUT,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"})

    def stand_ins(self, name="made", actorctl="/bin/true"):
        """Returns a folder with programs."""
        os.makedirs(self.path(f"{name}/bin"), exist_ok=True)
        for program, path in (("actorrun", "/bin/true"), ("actorctl", actorctl)):
            shutil.copyfile(path, self.path(f"{name}/bin/{program}"))
        return self.path(name)

    def wheel(self, to="out"):
        x = self.make(self.stand_ins(), to)
        self.assertEqual(x.returncode, 0, x.stderr)
        return x.stdout.strip()

    def test_the_same_files_make_the_same_wheel(self):
        data = []
        for to in ("a", "b"):
            with open(self.wheel(to), "rb") as file:
                data.append(file.read())
        self.assertEqual(data[0], data[1])

    def test_the_licences_of_what_is_linked_statically_go_with_it(self):
        made = self.stand_ins()
        os.makedirs(os.path.join(made, "share/doc/actorrun/licences/caf"))
        with open(os.path.join(made, "share/doc/actorrun/licences/caf/LICENSE"),
                  "w", encoding="utf-8") as file:
            file.write("of CAF")
        x = self.make(made, "out")
        self.assertEqual(x.returncode, 0, x.stderr)
        with zipfile.ZipFile(x.stdout.strip()) as archive:
            names = [n for n in archive.namelist() if "/licenses/" in n]
            self.assertEqual([n.split("/licenses/")[1] for n in names],
                             ["LICENSE", "caf/LICENSE"])
            self.assertEqual(archive.read(names[1]), b"of CAF")

    def test_what_an_installer_needs_is_right(self):
        path = self.wheel()
        name = os.path.basename(path)
        self.assertRegex(name, r"^actorrun-[0-9.]+-py3-none-linux_x86_64\.whl$")
        version = name.split("-")[1]
        with zipfile.ZipFile(path) as archive:
            self.assertIsNone(archive.testzip())
            infos = {x.filename: x for x in archive.infolist()}
            info = f"actorrun-{version}.dist-info"
            rows = list(csv.reader(archive.read(f"{info}/RECORD").decode().splitlines()))
            self.assertEqual(sorted(x[0] for x in rows), sorted(infos))
            for name, digest, size in rows:
                if name == f"{info}/RECORD":
                    self.assertEqual((digest, size), ("", ""))
                    continue
                data = archive.read(name)
                want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
                self.assertEqual((digest, int(size)),
                                 ("sha256=" + want.rstrip("="), len(data)))
            for name, x in infos.items():
                mode = 0o755 if "/programs/" in name else 0o644
                self.assertEqual(x.external_attr >> 16 & 0o7777, mode, name)
            archive.extractall(self.path("site"))
        self.assertIn("actorrun/py.typed", infos)
        found = Distribution.at(self.path(f"site/{info}"))
        self.assertEqual((found.metadata["Name"], found.version), ("actorrun", version))
        self.assertEqual(found.metadata["Requires-Python"], ">=3.9")
        self.assertIsNone(found.requires)
        points = configparser.ConfigParser()
        points.read_string(found.read_text("entry_points.txt"))
        self.assertEqual({x: dict(points[x]) for x in points.sections()}, {
            "console_scripts": {"actorrun": "actorrun._programs:actorrun",
                                "actorctl": "actorrun._programs:actorctl"},
            "torch.backends": {"actorrun": "actorrun._takeover:autoload"}})
        # The programs in it come before those in PATH.
        os.chmod(self.path("site/actorrun/programs/bin/actorrun"), 0o755)
        x = subprocess.run(
            [sys.executable, "-S", "-B", "-c",
             "from actorrun._programs import find; print(find('actorrun'))"],
            env={"PYTHONPATH": self.path("site"), "PATH": os.environ["PATH"]},
            text=True, capture_output=True, timeout=TIMEOUT)
        self.assertEqual(x.stdout.strip(),
                         self.path("site/actorrun/programs/bin/actorrun"), x.stderr)

    def test_programs_that_cannot_run_elsewhere_are_refused(self):
        os.makedirs(self.path("empty"))
        for where, why in (
                (self.path("empty"), "No such file"),
                (self.stand_ins("text", "/etc/passwd"), "is no program"),
                (self.stand_ins("ls", "/bin/ls"),
                 r"actorctl needs lib\S+, which not every system has")):
            x = self.make(where, "out")
            self.assertEqual(x.returncode, 1)
            self.assertRegex(x.stderr, why)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_another_version_of_the_programs_is_refused(self):
        x = self.make(self.stand_ins(), "out", "77.7")
        self.assertEqual(x.returncode, 1)
        self.assertIn("the programs 77.7", x.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
