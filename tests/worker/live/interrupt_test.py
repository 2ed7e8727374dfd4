"""Checks `generations(interrupt=True)` against an agent that speaks by hand.

    interrupt_test.py PYTHON_PACKAGE
"""
import os
import socket
import sys
import time
import unittest

import live_test

REGROUPS = 60  # Of a worker that is at safe points all the time.


class Interrupt(live_test.Scene, unittest.TestCase):
    child = os.path.join(os.path.dirname(os.path.abspath(__file__)), "interrupt_child.py")

    def works(self, way):
        x = self.begin(way)
        self.assertEqual(x.line(), "works")
        return x

    def end(self, x):
        x.tell("stop", reason="over", seconds=1)
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)

    def test_it_reaches_what_waits_and_what_computes_in_python(self):
        for way in ("loop", "sleep", "lock", "try_again"):
            with self.subTest(way):
                x = self.works(way)
                x.tell("regroup", reason="n2 lost", seconds=30.0)
                self.assertEqual(x.hear(), "parked 3")
                x.tell_generation(4)
                self.assertEqual(x.line(), "generation 4")
                self.assertEqual(x.line(), "works")
                self.end(x)

    def test_without_it_the_program_is_told_when_it_asks(self):
        x = self.works("deaf")
        x.tell("regroup", reason="n2 lost", seconds=30.0)
        self.assertEqual(x.line(), "slept")
        self.assertEqual(x.hear(), "parked 3")

    def test_it_comes_once(self):
        x = self.works("clean_up")
        x.tell("regroup", reason="n2 lost", seconds=30.0)
        self.assertEqual(x.line(), "cleaned up")
        self.assertEqual(x.hear(), "parked 3")

    def test_nothing_comes_behind_the_block(self):
        x = self.works("behind")
        x.tell("regroup", reason="n2 lost", seconds=30.0)
        self.assertEqual(x.line(), "behind")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4)
        self.assertEqual(x.line(), "generation 4")

    def test_a_save_is_not_interrupted(self):
        x = self.begin("save")
        x.tell("hold")
        while not (word := x.hear()).startswith("held "):
            pass
        x.tell("stop_at", step=int(word.split()[-1]))
        self.assertEqual(x.line(), "saves")
        x.tell("regroup", reason="n2 lost", seconds=30.0)
        time.sleep(0.6)  # For the hooks, which are called every 0.25 s.
        x.order("")
        self.assertEqual(x.line(), "saved")
        self.assertEqual(x.hear_but_steps(), "parked 3")

    def test_no_lock_of_the_library_stays_held(self):
        x = self.works("steps")
        for number in range(3, 3 + REGROUPS):
            x.tell("regroup", reason="n2 lost", seconds=30.0)
            self.assertEqual(x.hear_but_steps(), f"parked {number}")
            x.tell_generation(number + 1)
            self.assertEqual(x.line(), f"generation {number + 1}")
            self.assertEqual(x.line(), "works")
        x.tell("stop", reason="over", seconds=1)
        self.assertEqual(x.line(), "ended")

    def test_a_lost_agent_is_said_to_be_lost(self):
        x = self.works("sleep")
        x.link.close()
        self.assertEqual(x.line(), "failed AgentLost")

    def test_it_is_for_the_main_thread(self):
        x = self.start("thread", ACTORRUN_CONTROL=self.path)
        x.accept(self.agent)
        self.assertEqual(x.hear(), "hello 1")
        x.tell_generation(3)
        self.assertEqual(x.end(), 0)
        self.assertIn("is for the main thread", x.process.stderr.read())


if __name__ == "__main__":
    if not hasattr(socket, "SOCK_SEQPACKET"):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
