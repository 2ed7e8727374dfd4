"""Checks the libraries of live workers against an agent that speaks by hand.

    live_test.py PYTHON_PACKAGE CHILD...

Every child (Python, C++, C) has to pass the same tests: a library that behaves in
another way than the others is wrong. The format is that of
docs/decisions/0041-live-workers-talk.md.
"""
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TIMEOUT = 60  # Seconds; a test that passes never waits that long.

package, children = os.path.abspath(sys.argv[1]), sys.argv[2:]


class Worker:
    """A child, its connection, and what it prints."""

    def __init__(self, child, way, folder, **variables):
        command = [sys.executable, child] if child.endswith(".py") else [child]
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("ACTORRUN_", "TORCHELASTIC_"))}
        environment.update(
            {"PYTHONPATH": package, "RANK": "2", "WORLD_SIZE": "5",
             "LOCAL_RANK": "1", "MASTER_PORT": "1"}, **variables)
        self.process = subprocess.Popen(
            command + [way], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.link = None
        self.printed = b""

    def order(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self):
        # Not by its stream, which may have read the next line already.
        while b"\n" not in self.printed:
            ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
            if not ready:
                raise AssertionError("it prints nothing")
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                raise AssertionError(f"it ends after {self.printed}")
            self.printed += data
        line, _, self.printed = self.printed.partition(b"\n")
        return line.decode()

    def accept(self, agent):
        agent.settimeout(TIMEOUT)
        self.link, _ = agent.accept()
        self.link.settimeout(TIMEOUT)

    def hear(self):
        data = self.link.recv(8192)
        if not data:
            return "end"
        word = json.loads(data)
        kind = word.pop("type")
        return " ".join([kind] + [str(x) for x in word.values()])

    def hear_but_steps(self):
        while (word := self.hear()).startswith("at "):
            pass
        return word

    def tell(self, kind, **members):
        self.link.send(json.dumps({"type": kind, **members}).encode())

    def tell_generation(self, number, rank=0, size=3, **members):
        self.tell("generation", generation=number,
                  environment={"RANK": str(rank), "WORLD_SIZE": str(size),
                               "LOCAL_RANK": "0", "MASTER_PORT": str(number)},
                  **members)

    def end(self):
        """Returns the exit code."""
        return self.process.wait(TIMEOUT)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        if self.link:
            self.link.close()


def generation_line(number, rank=0, size=3, survivors="", restarts=0, reason=""):
    return (f"generation {number} rank {rank}/{size} local 0 survivors {survivors}"
            f" restarts {restarts} reason {reason} port {number}")


class Scene:
    """An agent that waits for workers, and a folder."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "control")
        self.agent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.agent.bind(self.path)
        self.agent.listen(4)
        self.workers = []

    def tearDown(self):
        for x in self.workers:
            x.close()
        self.agent.close()
        self.folder.cleanup()

    def start(self, way, **variables):
        x = Worker(self.child, way, self.folder.name, **variables)
        self.workers.append(x)
        return x

    def begin(self, way, variables={}, **members):
        """Starts one, and has it begin generation 3."""
        x = self.start(way, ACTORRUN_CONTROL=self.path, **variables)
        x.accept(self.agent)
        self.assertEqual(x.hear(), "hello 1")
        x.tell_generation(3, **members)
        self.assertEqual(x.line().split()[:2], ["generation", "3"])
        return x


class Live(Scene):
    """The tests of one child."""

    def test_a_regroup_parks_it_and_the_next_generation_goes_on(self):
        x = self.begin("wait")
        x.tell("regroup", reason="n2 lost", seconds=30.0)
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4, rank=1, size=64, survivors=[[0, 2], [4, 63]], restarts=1,
                     reason="n2 lost")
        self.assertEqual(x.line(), generation_line(4, 1, 64, "0-2,4-63", 1, "n2 lost"))
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 4")
        x.tell("stop", reason="drained", seconds=1)
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)

    def test_a_program_may_look_at_a_flag(self):
        x = self.begin("flag")
        x.tell("regroup", reason="n2 lost", seconds=30.0)
        self.assertEqual(x.line(), "flag")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4)
        self.assertEqual(x.line(), generation_line(4))

    def test_when_the_work_is_done_the_loop_ends(self):
        x = self.begin("done")
        self.assertEqual(x.hear(), "end")
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)

    def test_an_exception_that_a_regroup_explains_ends_the_generation(self):
        x = self.begin("fail")
        self.assertRegex(x.hear(), r"^trouble .*first line$")
        x.tell("regroup", reason="n2 lost", seconds=30.0)
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4, restarts=1)
        self.assertEqual(x.line(), generation_line(4, restarts=1))
        self.assertEqual(x.line(), "ended")

    def test_an_exception_that_nothing_explains_fails_the_worker(self):
        start = time.monotonic()
        x = self.begin("fail")
        self.assertRegex(x.hear(), "^trouble ")
        self.assertRegex(x.line(), "^failed")
        self.assertGreater(time.monotonic() - start, 1.9)
        self.assertEqual(x.end(), 1)

    def test_an_exception_that_a_stop_explains_ends_the_loop(self):
        x = self.begin("fail")
        self.assertRegex(x.hear(), "^trouble ")
        x.tell("stop", reason="over", seconds=1)
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)
        self.assertEqual(x.process.stderr.read(), "")

    def test_an_exception_is_not_explained_by_the_end_of_the_agent(self):
        x = self.begin("fail")
        self.assertRegex(x.hear(), "^trouble ")
        x.link.close()
        self.assertRegex(x.line(), "^failed")

    def test_a_stop_ends_the_loop(self):
        x = self.begin("wait")
        x.tell("stop", reason="drained", seconds=1)
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.hear(), "end")
        self.assertEqual(x.end(), 0)

    def test_without_its_agent_a_worker_fails(self):
        for way in ("wait", "flag", "steps"):
            x = self.begin(way)
            x.link.close()
            last = x.line()
            if way == "flag":
                self.assertEqual(last, "flag")
                last = x.line()
            self.assertEqual(last, "failed AgentLost")
            self.assertEqual(x.end(), 1)

    def test_without_its_agent_a_parked_worker_fails(self):
        x = self.begin("wait")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")
        x.link.close()
        self.assertEqual(x.line(), "failed AgentLost")
        self.assertEqual(x.end(), 1)

    # -- safe points -----------------------------------------------------------

    def step_past(self, x, *steps):
        for step in steps:
            x.order(f"step {step}")
            self.assertEqual(x.line(), f"past {step}")
            self.assertEqual(x.hear(), f"at {step}")

    def hold(self, x, step, generation=3):
        x.tell("hold")
        self.assertEqual(x.hear(), f"held {generation} {step}")

    def test_it_stops_at_the_step_it_is_told(self):
        x = self.begin("steps")
        self.assertEqual(x.hear(), "at 1")
        x.tell("stop_at", step=20)
        self.assertEqual([x.hear() for _ in range(2, 21)][-2:],
                         ["at 19", "reached 3 20"])
        x.tell("regroup")
        self.assertEqual(x.line(), "stopped at 20")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4)
        self.assertEqual(x.line(), generation_line(4))
        # That was for the last generation.
        self.assertEqual(x.hear(), "at 1")
        self.assertEqual([x.hear() for _ in range(2, 40)][-1], "at 39")

    def test_it_stops_soon_at_a_step_that_is_behind_it(self):
        x = self.begin("ordered")
        self.step_past(x, 9, 10)
        x.tell("stop_at", step=1)
        self.hold(x, 11)  # It has taken the first order.
        x.tell("stop_at", step=1)
        x.order("step 11")
        self.assertEqual(x.hear(), "reached 3 11")

    def test_a_regroup_does_not_wait_for_the_step(self):
        x = self.begin("steps")
        x.tell("stop_at", step=1_000_000)
        x.tell("regroup")
        self.assertRegex(x.line(), "^stopped at ")
        self.assertEqual(x.hear_but_steps(), "parked 3")

    def test_held_before_its_first_step_it_goes_past_none(self):
        x = self.begin("ordered")
        self.hold(x, 0)
        x.order("step 0")
        x.tell("stop_at", step=0)
        self.assertEqual(x.hear(), "reached 3 0")

    def test_a_busy_program_answers_at_once(self):
        x = self.begin("ordered")  # It waits for its input.
        self.step_past(x, 5)
        self.hold(x, 6)
        self.hold(x, 6)

    def test_held_it_goes_on_to_a_later_step_and_stops_there(self):
        x = self.begin("ordered")
        self.step_past(x, 0, 1)
        self.hold(x, 2)
        x.order("step 2")
        x.tell("stop_at", step=4)
        self.assertEqual(x.line(), "past 2")
        self.assertEqual(x.hear(), "at 2")
        self.step_past(x, 3)
        x.order("step 4")
        self.assertEqual(x.hear(), "reached 3 4")
        self.hold(x, 4)
        x.tell("regroup")
        self.assertEqual(x.line(), "over at 4")
        self.assertEqual(x.hear(), "parked 3")

    def test_a_step_that_is_left_out_is_no_way_past(self):
        x = self.begin("ordered")
        self.step_past(x, 10)
        self.hold(x, 11)
        x.tell("stop_at", step=15)
        x.order("step 20")
        self.assertEqual(x.hear(), "reached 3 20")
        self.hold(x, 11)

    def test_a_later_word_counts_more_than_an_earlier_one(self):
        x = self.begin("ordered")
        self.hold(x, 0)
        x.tell("stop_at", step=4)
        x.order("save 4")
        self.assertEqual(x.line(), "save 4")
        self.assertEqual(x.hear(), "reached 3 4")
        x.tell("stop_at", step=6)
        self.assertEqual(x.line(), "past 4")
        self.assertEqual(x.hear(), "at 4")
        self.step_past(x, 5)
        x.order("save 6")
        self.assertEqual(x.line(), "save 6")  # This is another stop.
        self.assertEqual(x.hear(), "reached 3 6")
        for _ in range(2):
            self.hold(x, 6)
            x.tell("stop_at", step=6)  # Each order is answered, and not saved again.
            self.assertEqual(x.hear(), "reached 3 6")
        x.tell("go_on")
        self.assertEqual(x.line(), "past 6")

    def test_it_saves_once_before_it_says_that_it_has_stopped(self):
        x = self.begin("ordered")
        x.order("save 1")  # There is nothing to save for.
        self.assertEqual(x.line(), "past 1")
        self.assertEqual(x.hear(), "at 1")
        self.hold(x, 2)
        x.order("wait 2")
        x.tell("stop_at", step=2)
        self.assertEqual(x.line(), "save 2")
        self.hold(x, 2)  # It has said nothing before.
        x.tell("stop_at", step=2)
        x.order("saved")
        self.assertEqual(x.hear(), "reached 3 2")
        x.tell("regroup")
        self.assertEqual(x.line(), "over at 2")
        self.assertEqual(x.hear(), "parked 3")

    def test_held_only_it_does_not_save(self):
        x = self.begin("ordered")
        self.hold(x, 0)
        x.order("save 0")
        x.tell("regroup")
        self.assertEqual(x.line(), "over at 0")
        self.assertEqual(x.hear(), "parked 3")

    def test_a_program_that_cannot_save_has_not_stopped(self):
        x = self.begin("ordered")
        self.hold(x, 0)
        x.tell("stop_at", step=1)
        x.order("fail 1")
        self.assertEqual(x.line(), "save 1")
        self.assertRegex(x.hear(), r"^trouble .*first line$")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")

    def test_a_change_that_cannot_wait_overtakes_the_saving(self):
        x = self.begin("ordered")
        self.hold(x, 0)
        x.tell("stop_at", step=1)
        x.order("wait 1")
        self.assertEqual(x.line(), "save 1")
        self.hold(x, 0)
        x.tell("stop_at", step=1)
        x.tell("regroup")
        x.tell_generation(4)
        x.order("saved")
        self.assertEqual(x.line(), "over at 1")
        while (word := x.hear()) == "reached 3 1":
            pass  # It was quicker.
        self.assertEqual(word, "parked 3")

    def test_a_change_that_is_off_lets_it_go_on(self):
        x = self.begin("ordered")
        self.step_past(x, 0)
        self.hold(x, 1)
        x.order("step 1")
        x.tell("go_on")
        self.assertEqual(x.line(), "past 1")
        self.assertEqual(x.hear(), "at 1")
        self.hold(x, 2)
        x.tell("stop_at", step=3)
        x.order("step 3")
        self.assertEqual(x.hear(), "reached 3 3")
        x.tell("go_on")
        self.assertEqual(x.line(), "past 3")
        self.assertEqual(x.hear(), "at 3")
        self.step_past(x, 4)

    def test_a_new_generation_is_not_held(self):
        for stops in (False, True):
            x = self.begin("ordered")
            self.hold(x, 0)
            x.order("step 0")
            if stops:
                x.tell("stop_at", step=0)
                self.assertEqual(x.hear(), "reached 3 0")
            x.tell_generation(4)
            self.assertEqual(x.line(), "over at 0")
            self.assertEqual(x.hear(), "parked 3")
            self.assertEqual(x.line(), generation_line(4))
            self.step_past(x, 7)
            self.hold(x, 8, generation=4)

    def test_a_parked_worker_is_not_held(self):
        x = self.begin("ordered")
        self.hold(x, 0)
        x.tell("stop_at", step=0)
        x.order("step 0")
        self.assertEqual(x.hear(), "reached 3 0")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")
        x.tell("hold")  # Of a generation that is over.
        x.tell_generation(4)
        self.assertEqual(x.line(), "over at 0")
        self.assertEqual(x.line(), generation_line(4))
        self.step_past(x, 1)

    def test_the_end_of_the_generation_ends_the_wait(self):
        for stops in (False, True):
            for end in ("regroup", "stop", "lost"):
                with self.subTest(stops=stops, end=end):
                    x = self.begin("ordered")
                    self.hold(x, 0)
                    x.order("step 0")
                    if stops:
                        x.tell("stop_at", step=0)
                        self.assertEqual(x.hear(), "reached 3 0")
                    if end == "lost":
                        x.link.close()
                        self.assertEqual(x.line(), "failed AgentLost")
                        continue
                    x.tell(end)
                    self.assertEqual(x.line(), "over at 0")
                    if end == "stop":
                        self.assertEqual(x.line(), "ended")
                    else:
                        self.assertEqual(x.hear(), "parked 3")

    def test_a_forked_child_is_not_held(self):
        x = self.begin("ordered")
        self.hold(x, 0)
        x.order("fork 0")
        self.assertEqual(x.line(), "child 0")
        self.assertEqual(x.line(), "past 0")  # The fork is; not the step.
        self.hold(x, 0)

    def test_none_goes_past_a_step_that_it_can_still_stop_at(self):
        # Two that step as fast as they can have to stop at the step that the
        # agents agree on, and it is the first that one of them can stop at: had one
        # gone past that, it would stop at a later one.
        both = [self.begin("spin") for _ in range(2)]
        for _ in range(200):
            for x in both:
                x.tell("hold")
            held = []
            for x in both:
                word, generation, step = x.hear_but_steps().split()
                self.assertEqual((word, generation), ("held", "3"))
                held.append(int(step))
            for x in both:
                x.tell("stop_at", step=max(held))
            for x, own in zip(both, held):
                while (word := x.hear()).startswith("at "):
                    self.assertLess(int(word.split()[1]), max(held))
                self.assertEqual(word, f"reached 3 {max(held)}")
            for x in both:
                x.tell("go_on")
        for x in both:
            x.tell("regroup")
            self.assertEqual(x.hear_but_steps(), "parked 3")

    # -- what may go wrong -----------------------------------------------------

    def test_an_generation_that_is_over_before_it_begins_is_left_out(self):
        x = self.begin("wait")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4)
        x.tell("regroup")
        heard = x.hear()
        self.assertEqual(heard, "parked 4")
        x.tell_generation(5)
        line = x.line()
        if line == generation_line(4):  # It was quicker.
            line = x.line()
        self.assertEqual(line, generation_line(5))

    def test_a_later_generation_is_a_regroup(self):
        x = self.begin("wait")
        x.tell_generation(3, rank=9)  # It has this one.
        x.tell_generation(4)
        self.assertEqual(x.hear(), "parked 3")
        self.assertEqual(x.line(), generation_line(4))

    def test_a_hook_unblocks_the_program(self):
        x = self.begin("hook")
        x.tell("regroup", reason="n2 lost", seconds=1)
        self.assertEqual(x.line(), "hook n2 lost")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4)
        self.assertEqual(x.line(), generation_line(4))
        x.tell("stop")
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)

    def test_a_hook_is_called_until_the_generation_is_left(self):
        x = self.begin("hook_again")
        x.tell("regroup", reason="n2 lost", seconds=1)
        self.assertEqual(x.line(), "hook n2 lost")
        self.assertEqual(x.hear(), "parked 3")

    def test_a_hook_unblocks_the_program_when_the_agent_ends(self):
        x = self.begin("hook")
        x.link.close()
        self.assertRegex(x.line(), "^hook ")
        self.assertRegex(x.line(), "^failed")

    def test_a_forked_child_does_not_speak_for_its_parent(self):
        x = self.begin("fork")
        self.assertEqual(x.line(), "child 0")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")  # And nothing before.

    def test_what_later_versions_add_is_ignored(self):
        x = self.begin("wait", more={"a": [1, {"b": None}, 1.5e3, True]})
        x.tell("sing", song=["la", "\u00e4\u20ac\U0001f600\"\\\n"])
        x.tell("regroup", more=[])
        self.assertEqual(x.hear(), "parked 3")

    def test_texts_are_one_printable_line(self):
        x = self.begin("wait")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4, reason="a \"b\"\nc")
        self.assertEqual(x.line(), generation_line(4, reason='a "b"'))

    def test_an_agent_that_speaks_nonsense_is_lost(self):
        for data in (b"{", b"[]", b'{"type":7}', b"\xff", b"x" * 5000,
                     b"[" * 4000, b'{"type":"generation","generation":-1}',
                     b'{"type":"generation","generation":4,"environment":{"A":1}}',
                     b'{"type":"generation","generation":4,"environment":{"A=":"b"}}',
                     b'{"type":"generation","generation":4,"survivors":[[3,1]]}',
                     b'{"type":"generation","generation":4,"survivors":[[0,1],[1,2]]}',
                     b'{"type":"generation","generation":4,"survivors":[0]}',
                     b'{"type":"stop_at"}', b'{"type":"stop_at","step":"1"}',
                     b'{"type":"regroup","reason":1}'):
            with self.subTest(data[:60]):
                x = self.begin("wait")
                x.link.send(data)
                self.assertEqual(x.line(), "failed AgentLost")

    # -- other threads of the program ------------------------------------------

    def watch(self, x):
        self.assertEqual(x.line(), "watches")

    def test_a_thread_that_waits_for_the_end_ends_with_the_work(self):
        x = self.begin("watch")
        self.watch(x)
        x.order("done")
        self.assertEqual(x.line(), "watch 0")
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)

    def test_a_thread_that_waits_for_the_end_sees_it_in_each_generation(self):
        x = self.begin("watch")
        self.watch(x)
        x.tell("regroup")
        self.assertEqual(x.line(), "watch 1")
        x.order("done")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4)
        self.assertEqual(x.line(), generation_line(4))
        self.watch(x)
        x.tell("stop")
        self.assertEqual(x.line(), "watch 1")
        x.order("done")
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)

    def test_without_an_agent_a_thread_waits_no_longer_than_the_work(self):
        x = self.start("watch")
        self.assertRegex(x.line(), "^generation 1 ")
        self.watch(x)
        x.order("done")
        self.assertEqual(x.line(), "watch 0")
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)

    def look(self, x):
        x.order("look")
        return x.line()

    def test_in_c_any_thread_may_look_between_two_generations(self):
        if not self.child.endswith("live_child_c"):
            self.skipTest("a generation is an object of the program")
        # What is freed has other contents.
        x = self.begin("look", {"MALLOC_PERTURB_": "165"})
        self.assertEqual(self.look(x), "look 0")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")
        self.assertEqual(self.look(x), "look 1")
        x.tell_generation(4)
        self.assertEqual(x.line(), generation_line(4))
        self.assertEqual(self.look(x), "look 0")
        x.link.close()
        self.assertEqual(x.line(), "failed AgentLost")
        self.assertEqual(x.end(), 1)

    def test_in_c_a_hook_may_end_the_program(self):
        if not self.child.endswith("live_child_c"):
            self.skipTest("the loop is an object of the program")
        x = self.begin("exit")
        x.tell("regroup")
        self.assertEqual(x.end(), 3)

    def test_in_python_a_worker_without_a_thread_is_one_as_any_other(self):
        if not self.child.endswith(".py"):
            self.skipTest("threads of the others cannot be taken from them")
        x = self.start("threadless", ACTORRUN_CONTROL=self.path)
        x.accept(self.agent)
        self.assertEqual(x.hear(), "hello 1")
        self.assertEqual(x.hear(), "end")
        self.assertRegex(x.line(), "^generation 1 ")
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)
        self.assertIn("no thread left", x.process.stderr.read())

    def test_in_python_a_hook_that_raises_systemexit_does_not_end_it(self):
        if not self.child.endswith(".py"):
            self.skipTest("the others have no such exception")
        x = self.begin("exit")
        x.tell("regroup")
        self.assertEqual(x.hear(), "parked 3")
        x.tell_generation(4)
        self.assertEqual(x.line(), generation_line(4))
        x.tell("stop")
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)
        self.assertIn("cannot end the program", x.process.stderr.read())

    # -- without an agent ------------------------------------------------------

    def only_once(self, **variables):
        x = self.start("done", **variables)
        line = x.line()
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)
        return line

    def test_without_an_agent_there_is_one_generation(self):
        end = "rank 2/5 local 1 survivors  restarts "
        self.assertEqual(self.only_once(), f"generation 1 {end}0 reason  port 1")
        self.assertEqual(self.only_once(TORCHELASTIC_RESTART_COUNT="2"),
                         f"generation 3 {end}2 reason  port 1")
        self.assertEqual(
            self.only_once(TORCHELASTIC_RESTART_COUNT="2", ACTORRUN_GENERATION="7",
                           ACTORRUN_CONTROL=""),
            f"generation 7 {end}2 reason  port 1")
        for path in (self.path + "x", self.folder.name, "/" + "x" * 500):
            self.assertEqual(self.only_once(ACTORRUN_CONTROL=path),
                             f"generation 1 {end}0 reason  port 1")

    def test_without_an_agent_safe_points_are_of_no_use(self):
        x = self.start("fork")
        self.assertRegex(x.line(), "^generation 1 ")
        self.assertEqual(x.line(), "child 0")

    def test_without_an_agent_an_exception_fails_at_once(self):
        start = time.monotonic()
        x = self.start("fail")
        self.assertRegex(x.line(), "^generation 1 ")
        self.assertRegex(x.line(), "^failed")
        self.assertEqual(x.end(), 1)

    def test_an_agent_that_refuses_it_is_none(self):
        for last in (b'{"type":"error","text":"this worker has a connection"}', b""):
            x = self.start("done", ACTORRUN_CONTROL=self.path, ACTORRUN_GENERATION="7")
            x.accept(self.agent)
            self.assertEqual(x.hear(), "hello 1")
            if last:
                x.link.send(last)
            x.link.close()
            self.assertRegex(x.line(), "^generation 7 rank 2/5 ")
            self.assertEqual(x.line(), "ended")
            said = x.process.stderr.read()
            self.assertEqual("has a connection" in said, bool(last))

    def test_an_agent_that_does_not_answer_is_none(self):
        x = self.start("done", ACTORRUN_CONTROL=self.path)
        x.accept(self.agent)
        self.assertEqual(x.hear(), "hello 1")
        self.assertRegex(x.line(), "^generation 1 ")
        self.assertEqual(x.hear(), "end")

    def test_a_stop_before_the_first_generation_is_the_end(self):
        x = self.start("done", ACTORRUN_CONTROL=self.path)
        x.accept(self.agent)
        self.assertEqual(x.hear(), "hello 1")
        x.tell("stop", reason="over", seconds=1)
        self.assertEqual(x.line(), "ended")
        self.assertEqual(x.end(), 0)


for _child in children:
    _name = os.path.basename(_child).replace(".", "_")
    globals()[_name] = type(_name, (Live, unittest.TestCase), {"child": _child})

if __name__ == "__main__":
    if not hasattr(socket, "SOCK_SEQPACKET"):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2 + len(children):], verbosity=1)
