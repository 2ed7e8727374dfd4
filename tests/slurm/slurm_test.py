#!/usr/bin/env python3
"""Runs actorrun in a real cluster of Slurm: four slurmd on this machine.

usage: slurm_test.py ACTORRUN ACTORCTL STEPPING_WORKER [CASE…]
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # The sources may be read-only.
import cluster as slurm

NODES = ["n1", "n2", "n3", "n4"]
DEADLINE = 60  # Seconds.


def check(holds, what, output=""):
    if not holds:
        raise AssertionError(f"{what}\n{output}")


class Case:
    def __init__(self, cluster, programs, folder):
        self.cluster = cluster
        self.actorrun, self.actorctl, self.stepping_worker = programs
        self.folder = pathlib.Path(folder)
        self.notes = self.folder / "notes"
        self.script = self.folder / "batch.sh"

    def run(self, *command):
        """Exit code and what was written."""
        done = subprocess.run(command, env=self.cluster.environment, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=self.folder, timeout=DEADLINE)
        return done.returncode, done.stdout

    def worker(self, then="true"):
        """A shell's worker that notes who it is."""
        note = ('echo "$TORCHELASTIC_RUN_ID $SLURM_NODEID $RANK/$WORLD_SIZE '
                f'$TORCHELASTIC_RESTART_COUNT $$" >> {self.notes}')
        # In a file: arguments of workers may have macros, and $$ is one.
        script = self.folder / "worker.sh"
        script.write_text(f"#!/bin/sh\n{note}\n{then}\n")
        script.chmod(0o755)
        return [self.actorrun, "--no-python", str(script)]

    def batch(self, *options, command):
        """Submits a script with one step; the job's number."""
        words = " ".join("'" + x.replace("'", "'\\''") + "'" for x in command)
        self.script.write_text(f"#!/bin/sh\nexec srun {words}\n")
        code, text = self.run("sbatch", "--parsable", f"--output={self.folder}/%A_%a.out",
                              *options, str(self.script))
        check(code == 0, "sbatch", text)
        return text.strip()

    def lines(self):
        """What the workers have noted: (job, node, rank/world, restarts, pid)."""
        text = self.notes.read_text() if self.notes.exists() else ""
        return [tuple(x.split()) for x in text.splitlines() if len(x.split()) == 5]

    def wait_for(self, what, holds):
        self.cluster.wait_for(what, holds)

    def count(self, pattern):
        return sum(bool(re.fullmatch(pattern, " ".join(x[:4]))) for x in self.lines())

    def states_of(self, job):
        """Of each task, if it is an array."""
        return re.findall(r"JobState=(\w+)", self.cluster.output("scontrol", "show", "job", job))

    def state_of(self, job):
        return next(iter(self.states_of(job)), "")

    def all_gone(self):
        return not any(pathlib.Path(f"/proc/{x[4]}").exists() for x in self.lines())


def step_needs_no_options(x):
    code, text = x.run("srun", "-N4", *x.worker())
    check(code == 0, f"srun ends with {code}", text)
    check(sorted(y[1:3] for y in x.lines())
          == [(str(i), f"{i}/4") for i in range(4)], "ranks are not Slurm's", x.lines())
    check("of Slurm gives: 4 nodes" in text, "no line says what was taken", text)


def failure_is_the_exit_code(x):
    code, text = x.run("srun", "-N2", *x.worker("exit 7"))
    check(code == 1, f"srun ends with {code}", text)
    check("exited with code 7" in text, "the failure is not named", text)


def worker_starts_again(x):
    command = x.worker('[ $RANK != 1 ] || [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]')
    command.insert(1, "--max-restarts=1")
    code, text = x.run("srun", "-N4", *command)
    check(code == 0, f"srun ends with {code}", text)
    check(x.count(r"slurm-\S+ \d ./4 1") == 4, "not all run again", x.lines())


def several_tasks_are_refused(x):
    code, text = x.run("srun", "-N2", "-n4", *x.worker())
    check(code == 2, f"srun ends with {code}", text)
    check("srun --ntasks-per-node=1 actorrun --nproc-per-node=2" in text, "no advice", text)
    check(not x.lines(), "workers ran", x.lines())


def job_is_cancelled(x):
    job = x.batch("-N4", command=x.worker("exec sleep 600"))
    x.wait_for("all ranks run", lambda: x.count(r".* ./4 0") == 4)
    x.run("scancel", job)
    x.wait_for("no worker is left", x.all_gone)
    x.wait_for("Slurm's state", lambda: x.state_of(job) == "CANCELLED")


# Slurm may signal the processes of a worker itself, besides the agent: some may save
# twice.
def check_saved(x, *text):
    check(all((x.folder / f"saved-{rank}").exists() for rank in range(2)), "not both have saved",
          *text)


def signal_is_forwarded(x):
    # As --signal does some time before the limit.
    command = x.worker(f'trap "touch {x.folder}/saved-$RANK; exit 0" USR1;'
                       f' echo . >> {x.folder}/waits; while :; do sleep 0.1; done')
    command.insert(1, "--signals-to-forward=SIGUSR1")
    job = x.batch("-N2", command=command)
    waits = x.folder / "waits"
    x.wait_for("both wait", lambda: waits.exists() and len(waits.read_text()) == 4)
    x.run("scancel", "--signal=USR1", job)
    x.wait_for("the job ends well", lambda: x.state_of(job) == "COMPLETED")
    check_saved(x)


def limit_is_near(x):
    # Slurm's shortest limit is a minute.
    command = x.worker(f'trap "touch {x.folder}/saved-$RANK; exit 0" USR1;'
                       ' while :; do sleep 0.1; done')
    command.insert(1, "--notice-before=50s")
    code, text = x.run("srun", "-N2", "--time=1", *command)
    check(code == 0, f"srun ends with {code}", text)
    check_saved(x, text)
    check(re.search(r"the time limit of the job is (4[5-9]|5[01])\.\d s away: the workers get "
                    "SIGUSR1", text), "no line says so", text)
    command = x.worker("sleep 2")
    command.insert(1, "--notice-before=50s")
    code, text = x.run("srun", "-N2", *command)
    check(code == 0, f"without a limit srun ends with {code}", text)
    check("has no effect: there is no time limit" in text, "no line says so", text)


def limit_makes_all_save(x):
    """Those with safe points save at one step, and go on."""
    saved = x.folder / "saved"
    command = [x.actorrun, "--notice-before=50s", "--no-python", x.stepping_worker, str(x.folder)]
    with subprocess.Popen(["srun", "-N2", "--time=1", *command], env=x.cluster.environment,
                          text=True, cwd=x.folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as step:
        try:
            x.wait_for("both have saved",
                       lambda: saved.exists() and len(saved.read_text().splitlines()) == 2)
            (x.folder / "end").touch()
            text = step.communicate(timeout=DEADLINE)[0]
        finally:
            step.kill()
    check(step.returncode == 0, f"srun ends with {step.returncode}", text)
    check("all workers are to save at a safe point" in text, "no line says so", text)
    lines = [y.split() for y in saved.read_text().splitlines()]
    check(sorted(y[0] for y in lines) == ["0", "1"] and lines[0][1] == lines[1][1],
          "they have not saved once, at one step", lines)
    check(not (x.folder / "lost").exists(), "a step is lost", text)


def job_is_requeued(x):
    job = x.batch("-N2", "--requeue",
                  command=x.worker('[ "$SLURM_RESTART_COUNT" = 1 ] || exec sleep 600'))
    x.wait_for("both run", lambda: x.count(r".* ./2 0") == 2)
    x.run("scontrol", "requeue", job)
    # Slurm lets a job wait before it begins again.
    x.wait_for("it is in the queue", lambda: x.state_of(job) == "PENDING")
    x.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    x.cluster.wait_for("the job ends well", lambda: x.state_of(job) == "COMPLETED", 200)
    check(x.count(rf"slurm-{job}\.\d+-requeue1 \d ./2 0") == 2, "it is the same job", x.lines())


def array_is_several_jobs(x):
    """With a time limit each: squeue must not be asked for that of the array."""
    command = x.worker(f'trap "touch {x.folder}/saved-$SLURM_ARRAY_TASK_ID-$RANK; exit 0" USR1;'
                       ' while :; do sleep 0.1; done')
    command.insert(1, "--notice-before=595s")
    job = x.batch("-N2", "--array=0-1", "--time=10", command=command)
    x.wait_for("both jobs run", lambda: len(x.lines()) == 4)
    check(len({y[0] for y in x.lines()}) == 2, "they have one id", x.lines())
    ended = {"COMPLETED", "FAILED", "TIMEOUT"}
    x.wait_for("both end", lambda: sum(y in ended for y in x.states_of(job)) == 2)
    text = "".join(y.read_text() for y in x.folder.glob("*.out"))
    check(x.states_of(job) == ["COMPLETED"] * 2, "not both end well", text)
    check("has no effect" not in text, "one has no time limit", text)
    saved = sorted(y.name for y in x.folder.glob("saved-*"))
    check(len(saved) == 4, "not all have got notice", (saved, text))


def agent_dies(x):
    """Of the step's nodes one is lost, the others go on."""
    lose_node(x, "3", "quiet_period=30")


def first_agent_dies(x):
    """The same with the node that hosts the coordinator."""
    lose_node(x, "0", "quiet_period=30,succession=on")


def lose_node(x, number, conf):
    command = x.worker('[ $WORLD_SIZE = 3 ] || exec sleep 600')
    command[1:1] = ["--nnodes=3:4", "--rdzv-conf=" + conf]
    log = x.folder / "srun.out"
    with log.open("wb") as out, \
         subprocess.Popen(["srun", "-N4", "--kill-on-bad-exit=0", "--wait=0", *command],
                          env=x.cluster.environment, cwd=x.folder,
                          stdout=out, stderr=subprocess.STDOUT) as step:
        try:
            x.wait_for("four run", lambda: x.count(r".* ./4 0") == 4)
            if "succession=on" in conf:
                x.wait_for("a deputy", lambda: "leads next" in log.read_text())
            worker = next(y for y in x.lines() if y[1] == number)
            os.kill(agent_of(int(worker[4])), signal.SIGKILL)
            step.wait(DEADLINE)
        finally:
            step.kill()
    text = log.read_text()
    check(x.count(r".* ./3 0") == 3, "three do not go on", text)
    check("137" in text or "Killed" in text, "srun does not name the lost task", text)


def agent_of(pid):
    """The nearest ancestor that is actorrun itself: its helpers are its children."""
    while pid > 1:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        parent = int(stat.rpartition(")")[2].split()[1])
        name = pathlib.Path(f"/proc/{parent}/comm").read_text().strip()
        if name.startswith("slurmstepd"):
            return pid
        pid = parent
    raise AssertionError("the worker has no agent")


WARNING = "the job has no secret"
OTHER_USER = 65534


def munge_is_the_secret(x):
    code, text = x.run("srun", "-N4", *x.worker())
    check(code == 0, f"srun ends with {code}", text)
    check(len(x.lines()) == 4, "not all ran", text)
    check(WARNING not in text, "there is a warning", text)
    # So the coordinator can be reached from elsewhere, and would say so.
    command = x.worker()
    command.insert(1, "--munge=off")
    code, text = x.run("srun", "-N4", *command)
    check(code == 0, f"srun --munge=off ends with {code}", text)
    check(WARNING in text, "there is no warning", text)


def node_without_munge_is_refused(x):
    script = x.folder / "differ.sh"
    command = x.worker()
    script.write_text('#!/bin/sh\n[ "$SLURM_NODEID" = 0 ] || export PET_MUNGE=off\nexec "$@"\n')
    script.chmod(0o755)
    code, text = x.run("srun", "-N2", "--kill-on-bad-exit=1", str(script), *command)
    check(code != 0, "srun ends well", text)
    check("demands that munge shows whose process this is" in text, "no reason", text)
    check(not x.lines(), "workers ran", text)


def munge_proves_operators_and_agents(x):
    job = x.batch("-N2", command=x.worker("exec sleep 600"))
    x.wait_for("both run", lambda: x.count(r".* ./2 0") == 2)
    log = next(x.folder.glob("*.out"))
    where = re.search(r"the coordinator at (\S+), the job id (\S+)", log.read_text())
    check(where, "no line says where the nodes meet", log.read_text())
    place = [f"--rdzv-endpoint={where[1]}", f"--rdzv-id={where[2]}"]
    there = x.cluster.on_login()
    home = x.folder / "theirs"
    home.mkdir()
    os.chown(home, OTHER_USER, OTHER_USER)
    another = [*there, "setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}",
               "--clear-groups", "env", f"HOME={home}", f"ACTORRUN_RUN_DIR={home}/run"]

    code, text = x.run(*there, x.actorctl, "status", *place)
    check(code == 0, f"actorctl status ends with {code}", text)
    code, text = x.run(*another, x.actorctl, "stop", *place)
    check(code != 0, "another user may stop the job", text)
    check("belongs to another user, as munge says" in text, "no reason", text)
    code, text = x.run(*another, x.actorrun, "--nnodes=2", *place, "--no-python", "true")
    check(code == 4, f"another user's agent ends with {code}", text)
    check("belongs to another user, as munge says" in text, "no reason", text)
    code, text = x.run(*there, x.actorctl, "stop", "--munge=off", *place)
    check(code != 0 and "--munge=off" in text, "munge is not demanded", text)
    check("cannot open what munge has sealed" in log.read_text(), "it is not reported",
          log.read_text())
    check(x.state_of(job) == "RUNNING", "the job has ended")

    code, text = x.run(*there, x.actorctl, "stop", *place)
    check(code == 0, f"actorctl stop ends with {code}", text)
    x.wait_for("no worker is left", x.all_gone)


CASES = [step_needs_no_options, failure_is_the_exit_code, worker_starts_again,
         several_tasks_are_refused, job_is_cancelled, signal_is_forwarded,
         array_is_several_jobs, agent_dies, first_agent_dies, munge_is_the_secret,
         node_without_munge_is_refused, munge_proves_operators_and_agents, limit_is_near,
         limit_makes_all_save,
         job_is_requeued]


def main():
    lack = slurm.lack()
    if lack:
        wanted = set(os.environ.get("ACTORRUN_NO_SKIP", "").split(","))
        if {"slurm", "all"} & wanted:
            sys.exit("ACTORRUN_NO_SKIP forbids to skip this: it needs " + lack)
        print("skipped: needs " + lack)
        return 77
    if os.environ.get("ACTORRUN_OWN_MOUNTS") != "yes":
        os.execvpe("unshare", ["unshare", "--mount", "--net", sys.executable, *sys.argv],
                   dict(os.environ, ACTORRUN_OWN_MOUNTS="yes"))
    programs = [os.path.abspath(x) for x in sys.argv[1:4]]
    chosen = sys.argv[4:]
    with tempfile.TemporaryDirectory(prefix="actorrun-slurm-") as folder:
        cluster = slurm.Cluster(folder, NODES)
        failed = 0
        try:
            cluster.start()
            for case in CASES:
                if chosen and case.__name__ not in chosen:
                    continue
                own = pathlib.Path(folder) / case.__name__
                own.mkdir()
                try:
                    case(Case(cluster, programs, own))
                    print(f"ok {case.__name__}", flush=True)
                except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                    failed += 1
                    print(f"FAILED {case.__name__}: {error}", flush=True)
                    for x in own.glob("*.out"):
                        print(f"-- {x.name}\n{x.read_text()}")
                    cluster.output("scancel", "--user=root")
        finally:
            cluster.output("scancel", "--user=root")
            cluster.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
