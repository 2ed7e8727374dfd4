"""A cluster of Slurm on this machine: munged, slurmctld and several slurmd, in a folder
of their own. Needs root, and namespaces in which /etc/hosts may be replaced and the
network is ours. Not all is on loopback: nodes have addresses that other hosts reach, and
there is a login node, a network namespace of its own."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol", "ip",
            "nsenter", "setpriv")
DEADLINE = 60  # Seconds.

CONFIGURATION = """
ClusterName=actorrun
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobRequeue=1
KillWait=5
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
MailProg=/bin/true
"""


def free_ports(count):
    """Ports next to each other that are free now."""
    for first in range(17000, 20000, 50):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for i, x in enumerate(sockets):
                x.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            pass
        finally:
            for x in sockets:
                x.close()
    raise RuntimeError("no free ports for Slurm")


def lack():
    """What is missing here; empty: nothing."""
    missing = [x for x in PROGRAMS if not shutil.which(x)]
    if missing:
        return "the programs " + ", ".join(missing)
    if os.geteuid() != 0:
        return "root"
    if subprocess.run(["unshare", "--mount", "--net", "ip", "link", "add", "type", "veth"],
                      check=False, capture_output=True).returncode:
        return "namespaces of mounts and networks"
    return ""


def address(node):
    """Of the node with this index."""
    return f"10.9.0.{node + 1}"


def network_of(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


class Cluster:
    def __init__(self, folder, nodes):
        self.folder = pathlib.Path(folder)
        self.nodes = nodes
        self.daemons = []
        # Without the secret that the home may have, and without what agents of another
        # cluster, whose jobs had the same numbers, have left.
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        for name in ("CONFIG_HOME", "STATE_HOME", "RUNTIME_DIR"):
            self.environment["XDG_" + name] = str(self.folder / name.lower())
        pathlib.Path(self.environment["XDG_RUNTIME_DIR"]).mkdir(mode=0o700)
        for name in list(self.environment):
            if name.startswith(("SLURM_", "PET_", "ACTORRUN_")) and name != "SLURM_CONF":
                del self.environment[name]
        self.environment["ACTORRUN_MUNGE_SOCKET"] = str(self.folder / "munge" / "socket")
        self.login = None

    def start(self):
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir()
        os.chmod(self.folder, 0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        # The nodes have names of their own, as anywhere.
        hosts = self.folder / "hosts"
        host = socket.gethostname().partition(".")[0]
        hosts.write_text("".join([f"127.0.0.1 localhost {host}\n"]
                                 + [f"{address(i)} {x}\n" for i, x in enumerate(self.nodes)]))
        self.connect()
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
        port = free_ports(len(self.nodes) + 1)
        lines = [CONFIGURATION.format(host=host, port=port, folder=self.folder)]
        for i, x in enumerate(self.nodes, 1):
            lines.append(f"NodeName={x} NodeHostname={host} NodeAddr=127.0.0.1 "
                         f"Port={port + i} CPUs=4 State=UNKNOWN\n")
        lines.append(f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES State=UP\n")
        (self.folder / "slurm.conf").write_text("".join(lines))
        munge = self.folder / "munge"
        self.daemon("munged", "--force", "--foreground", f"--socket={munge}/socket",
                    f"--key-file={key}", f"--pid-file={munge}/pid",
                    f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.wait_for("munge", (munge / "socket").exists)
        self.daemon("slurmctld", "-D", "-c", "-i")
        for x in self.nodes:
            self.daemon("slurmd", "-D", "-N", x)
        self.wait_for("all nodes", lambda: self.output("sinfo", "-h", "-t", "idle", "-o", "%D")
                      == str(len(self.nodes)))

    def connect(self):
        """Gives the nodes their addresses, and has the login node reach them."""
        def ip(text, *inside):
            subprocess.run([*inside, "ip", *text.split()], check=True)
        ip("link set lo up")
        for i in range(len(self.nodes)):
            ip(f"address add {address(i)}/32 dev lo")
        self.login = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.wait_for("the login node", lambda: network_of(self.login.pid) != network_of("self"))
        ip(f"link add cluster type veth peer name login netns {self.login.pid}")
        ip("address add 10.8.0.1/30 dev cluster")
        ip("link set cluster up")
        there = self.on_login()
        ip("address add 10.8.0.2/30 dev login", *there)
        ip("link set login up", *there)
        ip("route add default via 10.8.0.1", *there)

    def on_login(self):
        """The words in front of a command that runs there."""
        return ["nsenter", "--net", f"--target={self.login.pid}"]

    def daemon(self, *command):
        log = open(self.folder / "daemons.log", "ab")
        with log:
            self.daemons.append(subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL))

    def output(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True,
                              text=True, check=False).stdout.strip()

    def wait_for(self, what, holds, seconds=DEADLINE):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.05)  # Polls; nothing depends on it.

    def stop(self):
        for x in reversed(self.daemons):
            x.send_signal(signal.SIGTERM)
        for x in reversed(self.daemons):
            try:
                x.wait(20)
            except subprocess.TimeoutExpired:
                x.kill()
                x.wait()
        if self.login:
            self.login.kill()
            self.login.wait()
