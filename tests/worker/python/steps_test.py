"""Checks `actorrun.computing`, `computed`, `saving` and `saved` by the page that they write.

    steps_test.py PYTHON_FOLDER
"""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

TIMEOUT = 60  # Seconds.
WORDS = "<72Q"
MARK = 0x3150455453524141
FIRST_TIME = 8

package = os.path.abspath(sys.argv[1])


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    # Runs a program in a session of its own.
    def run_program(self, text, **more):
        env = {**os.environ, "PYTHONPATH": package,
               "ACTORRUN_STEPS": self.folder + "/7.", **more}
        child = subprocess.Popen([sys.executable, "-B", "-c", "import actorrun\n" + text],
                                 env=env, start_new_session=True,
                                 stdout=subprocess.PIPE, text=True)
        self.output = child.communicate(timeout=TIMEOUT)[0]
        self.assertEqual(child.returncode, 0)
        return child.pid

    def page(self, pid):
        with open(f"{self.folder}/7.{pid}.steps", "rb") as file:
            words = struct.unpack(WORDS, file.read())
        self.assertEqual(words[0], MARK)
        return words[1], words[FIRST_TIME:]

    def test_times_and_count(self):
        pid = self.run_program(
            "for x in (0.007, -1, 1e30): actorrun.computed(x)\n"
            "import time\n"
            "with actorrun.computing(): time.sleep(0.02)\n")
        count, times = self.page(pid)
        self.assertEqual(count, 4)
        self.assertEqual(times[0], 7_000_000)
        self.assertEqual(times[1], 0)
        self.assertEqual(times[2], 2**63 - 1)
        self.assertGreaterEqual(times[3], 20_000_000)

    def test_an_exception_goes_through_and_counts(self):
        pid = self.run_program(
            "try:\n"
            "    with actorrun.computing(): raise KeyError\n"
            "except KeyError: print('through')\n")
        self.assertEqual(self.output, "through\n")
        self.assertEqual(self.page(pid)[0], 1)

    def test_the_oldest_time_is_replaced(self):
        pid = self.run_program("for i in range(65): actorrun.computed(i)\n")
        count, times = self.page(pid)
        self.assertEqual(count, 65)
        self.assertEqual(times[:2], (64_000_000_000, 1_000_000_000))

    def test_without_an_agent_nothing_is_said(self):
        self.run_program("actorrun.computed(1)\n", ACTORRUN_STEPS="")
        self.run_program("actorrun.computed(1)\n", ACTORRUN_STEPS="/nowhere/7.")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_forked_child_does_not_speak(self):
        pid = self.run_program(
            "import os\n"
            "actorrun.computed(1)\n"
            "if os.fork() == 0:\n"
            "    actorrun.computed(2)\n"
            "    os._exit(0)\n"
            "os.wait()\n")
        self.assertEqual(self.page(pid)[0], 1)

    def test_another_process_of_the_session_leaves_the_page_alone(self):
        pid = self.run_program(
            "import subprocess, sys\n"
            "actorrun.computed(1)\n"
            "subprocess.run([sys.executable, '-B', '-c',"
            " 'import actorrun; actorrun.computed(2)'], check=True)\n")
        self.assertEqual(self.page(pid)[0], 1)
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def saves(self, pid):
        with open(f"{self.folder}/7.{pid}.steps", "rb") as file:
            return struct.unpack(WORDS, file.read())[2:7]

    def test_a_block_is_a_save_unless_it_fails(self):
        pid = self.run_program(
            "import time\n"
            "begun = time.monotonic_ns()\n"
            "with actorrun.saving(): time.sleep(0.02)\n"
            "try:\n"
            "    with actorrun.saving(): raise KeyError\n"
            "except KeyError: print(begun)\n")
        count, up_to, since, saving, before = self.saves(pid)
        self.assertEqual((count, since, before), (1, 0, 0))
        self.assertGreaterEqual(saving, 20_000_000)
        self.assertGreaterEqual(up_to, int(self.output))

    def test_saves_without_a_block(self):
        pid = self.run_program(
            "import time\n"
            "actorrun.saving()\n"
            "time.sleep(0.02)\n"
            "actorrun.saved()\n"
            "for x in (0, -1, 0.005, None): actorrun.saved(x)\n"
            "with actorrun.saving(): actorrun.saved()\n"
            "actorrun.saving()\n")
        count, up_to, since, saving, before = self.saves(pid)
        self.assertEqual(count, 6)
        self.assertGreaterEqual(saving, 25_000_000)
        self.assertGreater(since, up_to)
        self.assertGreaterEqual(before, 25_000_000)

    def test_threads_save_at_the_same_time(self):
        pid = self.run_program(
            "import threading\n"
            "def save():\n"
            "    for _ in range(1000): actorrun.saved(1e-9)\n"
            "threads = [threading.Thread(target=save) for _ in range(4)]\n"
            "for x in threads: x.start()\n"
            "for x in threads: x.join()\n")
        self.assertEqual(self.saves(pid)[0], 4000)
        self.assertEqual(self.saves(pid)[3], 4000)

    def test_saves_of_forked_children_and_without_an_agent(self):
        pid = self.run_program(
            "import os\n"
            "actorrun.saved()\n"
            "if os.fork() == 0:\n"
            "    with actorrun.saving(): actorrun.saved(0)\n"
            "    os._exit(0)\n"
            "os.wait()\n")
        self.assertEqual(self.saves(pid)[0], 1)
        self.run_program("with actorrun.saving(): pass\nactorrun.saved(1)\n",
                         ACTORRUN_STEPS="")
        self.assertEqual(len(os.listdir(self.folder)), 1)

    # Two calls, so 4 us.
    def test_a_save_costs_less_than_2_us_per_call(self):
        self.run_program(
            "import statistics, time\n"
            "rounds = []\n"
            "for _ in range(101):\n"
            "    begun = time.perf_counter_ns()\n"
            "    for _ in range(1000):\n"
            "        with actorrun.saving(): pass\n"
            "    rounds.append((time.perf_counter_ns() - begun) / 1000)\n"
            "print(statistics.median(rounds))\n")
        self.assertLess(float(self.output), 4000, "nanoseconds per save")

    # A shared machine may stop the process at any time: the median of many rounds counts.
    def test_it_costs_less_than_2_us(self):
        self.run_program(
            "import statistics, time\n"
            "rounds = []\n"
            "for _ in range(101):\n"
            "    begun = time.perf_counter_ns()\n"
            "    for _ in range(1000):\n"
            "        with actorrun.computing(): pass\n"
            "    rounds.append((time.perf_counter_ns() - begun) / 1000)\n"
            "print(statistics.median(rounds))\n")
        self.assertLess(float(self.output), 2000, "nanoseconds per step")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
