#!/usr/bin/env python3
"""Runs the pods of examples/kubernetes as their manifests say, without a cluster:
the container's command, variables, user, rights, files and limits, in namespaces
and a cgroup, with the real programs. What Kubernetes does itself (scheduling, the
name service, restarts) is played by this script.

usage: pods_test.py FOLDER [--program ACTORRUN | --image ROOT] [--manifests FILE…]
  --program  runs this program on the system that is here
  --image    runs what is in the file system below ROOT, as the Dockerfile made it
"""

import argparse
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import manifests

DEADLINE = 30  # seconds, for each step
SECRET = b"of a test\n"
NODE = "actorrun-node"  # the network namespace in which kubelet's probes begin

# -- inside a pod -------------------------------------------------------------

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags=0, options=""):
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags,
                  options.encode()):
        raise OSError(ctypes.get_errno(), f"cannot mount {source} at {target}")


def bind(source, target, read_only=True):
    mount(source, target, "", MS_BIND | MS_REC)
    if read_only:
        mount("", target, "", MS_BIND | MS_REMOUNT | MS_RDONLY)


def write(path, content, mode, group):
    with open(path, "wb") as file:
        file.write(content)
    os.chown(path, 0, group)
    os.chmod(path, mode)


def make_root(spec):
    """The container's file system, below a folder of this mount namespace."""
    root = spec["folder"] + "/root"
    os.mkdir(root)
    mount("tmpfs", root, "tmpfs", 0, "mode=755")
    if spec["image"]:
        for x in ("upper", "work"):
            os.mkdir(f"{root}/{x}")
        # Its own layer, which is the tmpfs.
        mount("overlay", root, "overlay", 0,
              f"lowerdir={spec['image']},upperdir={root}/upper,"
              f"workdir={root}/work")
    else:
        for x in ("usr", "etc", "programs", "proc", "tmp", "run", "job", "dev"):
            os.mkdir(f"{root}/{x}")
        bind("/usr", root + "/usr")
        for x in ("bin", "lib", "lib64", "sbin"):
            if os.path.islink("/" + x):
                os.symlink("usr/" + x, f"{root}/{x}")
        for x in ("group", "ld.so.cache", "nsswitch.conf", "passwd"):
            shutil.copy("/etc/" + x, root + "/etc/" + x)
        shutil.copy(spec["program"], root + "/programs/actorrun")
    return root


def make_volumes(spec, root):
    group = spec["pod"]["securityContext"]["fsGroup"]
    volumes = {x["name"]: x for x in spec["pod"]["volumes"]}
    os.makedirs(root + "/dev/shm", exist_ok=True)
    for x in spec["container"]["volumeMounts"]:
        volume = volumes[x["name"]]
        where = root + x["mountPath"]
        os.makedirs(where, exist_ok=True)
        mount("tmpfs", where, "tmpfs", 0, f"mode=2777,gid={group}")
        if "secret" in volume:
            # As kubelet does: root's, with the group's right.
            write(where + "/secret", SECRET, volume["secret"]["defaultMode"], group)
        elif "configMap" in volume:
            for name, text in spec["config"].items():
                write(f"{where}/{name}", text.encode(), 0o644, group)
        if x.get("readOnly"):
            mount("", where, "", MS_BIND | MS_REMOUNT | MS_RDONLY)


def enter_pod(spec):
    """Becomes the container's first process. Runs in new namespaces already."""
    libc.prctl(1, signal.SIGKILL)
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    name = spec["host"].encode()
    libc.sethostname(name, len(name))
    root = make_root(spec)
    os.makedirs(root + "/proc", exist_ok=True)
    mount("proc", root + "/proc", "proc")
    # The name service changes it from outside.
    open(root + "/etc/hosts", "w", encoding="ascii").close()
    bind(spec["folder"] + "/hosts", root + "/etc/hosts")
    for x in ("null", "zero", "urandom", "random"):
        open(f"{root}/dev/{x}", "w", encoding="ascii").close()
        bind("/dev/" + x, f"{root}/dev/{x}", read_only=False)
    make_volumes(spec, root)
    if spec["container"]["securityContext"]["readOnlyRootFilesystem"]:
        mount("", root, "", MS_BIND | MS_REMOUNT | MS_RDONLY)
    os.chroot(root)
    os.chdir(spec["work"])
    for x in range(41):  # capabilities: drop [ALL]
        libc.prctl(PR_CAPBSET_DROP, x)
    user = spec["pod"]["securityContext"]
    os.setgroups([user["fsGroup"]])
    os.setresgid(*[user["runAsGroup"]] * 3)
    os.setresuid(*[user["runAsUser"]] * 3)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(1, 0)
    os.execvpe(spec["command"][0], spec["command"], spec["environment"])


# -- the node that runs them --------------------------------------------------


def run(*words):
    subprocess.run(words, check=True)


def enter_cgroups(paths):
    for path in paths:
        with open(path + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")


def fail(text):
    raise AssertionError(text)


def wait_until(what, holds):
    end = time.monotonic() + DEADLINE
    while not holds():
        if time.monotonic() > end:
            fail(f"not within {DEADLINE} s: {what}")
        time.sleep(0.05)  # Polls; nothing depends on it.


def is_removed(cgroup):
    """What was in it may be on its way out."""
    try:
        os.rmdir(cgroup)
        return True
    except OSError:
        return False


class Cluster:
    """Pods of one manifest, each with an address on one bridge."""

    def __init__(self, folder, arguments):
        self.folder = folder
        self.arguments = arguments
        self.found = manifests.documents(
            os.path.join(arguments.folder, arguments.manifest))
        self.thing, self.template = manifests.workload(self.found)
        self.config = manifests.of_kind(self.found, "ConfigMap")["data"]
        self.pods = {}
        self.folders = {}
        self.answers = {}  # The last of each pod to a probe.
        self.cgroups = []
        self.number = 0
        run("ip", "netns", "add", NODE)
        self.node("ip", "link", "set", "lo", "up")
        self.node("ip", "link", "add", "bridge", "type", "bridge")
        self.node("ip", "address", "add", "10.77.0.1/24", "dev", "bridge")
        self.node("ip", "link", "set", "bridge", "up")

    def node(self, *words):
        run("ip", "netns", "exec", NODE, *words)

    def close(self):
        for index, pod in self.pods.items():
            # Not the program around it, whose death a process that has changed its
            # user does not notice.
            if pod.poll() is None:
                os.kill(self.first_process(index), signal.SIGKILL)
            pod.wait()
        for x in subprocess.run(["ip", "netns"], capture_output=True, text=True,
                                check=True).stdout.split():
            if x.startswith("actorrun-"):
                run("ip", "netns", "delete", x)
        for x in self.cgroups:
            wait_until(f"{x} is empty", lambda x=x: is_removed(x))

    def has_link(self, name):
        return subprocess.run(["ip", "-n", NODE, "link", "show", name], check=False,
                              capture_output=True).returncode == 0

    def address(self, index):
        return f"10.77.0.{10 + index}"

    def publish(self, started):
        """Tells all pods of all, as the name service does."""
        known = {started} | set(self.pods)
        for index in known:
            with open(self.folders[index] + "/hosts", "w", encoding="ascii") as file:
                file.write(self.hosts(index, known))

    def hosts(self, index, known):
        """What kubelet writes for the pod itself, and what the name service says."""
        lines = ["127.0.0.1 localhost"]
        lines += [f"{self.address(i)} "
                  f"{manifests.full_name(self.thing, self.template, i)} "
                  + (manifests.pod_name(self.thing, i) if i == index else "")
                  for i in sorted(known)]
        return "\n".join(lines) + "\n"

    def limits(self, name, container):
        """Cgroups with the container's limits, as far as this machine has them."""
        memory = manifests.bytes_of(container["resources"]["limits"]["memory"])
        base, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        if not os.path.isdir(base):
            base, file = "/sys/fs/cgroup", "memory.max"
        path = f"{base}/actorrun-test-{os.getpid()}-{name}"
        try:
            os.mkdir(path)
            self.cgroups.append(path)
            with open(f"{path}/{file}", "w", encoding="ascii") as out:
                out.write(str(memory))
        except OSError as error:
            print(f"without the limit of memory, which cannot be set here: {error}")
            return []
        return [path]

    def start(self, index):
        pod, container = self.template["spec"], self.template["spec"]["containers"][0]
        host = manifests.pod_name(self.thing, index)
        self.number += 1
        name = f"{host}-{self.number}"
        space = f"actorrun-{index}"
        run("ip", "netns", "add", space)
        # The kernel takes the namespace of the pod before it apart in its own time.
        wait_until(f"pod{index} is free", lambda: not self.has_link(f"pod{index}"))
        self.node("ip", "link", "add", f"pod{index}", "type", "veth", "peer", "name",
                  "eth0", "netns", space)
        self.node("ip", "link", "set", f"pod{index}", "master", "bridge", "up")
        # It has the address of the pod before it, and another link.
        self.node("ip", "neighbour", "flush", "to", self.address(index), "dev", "bridge")
        for words in (["address", "add", self.address(index) + "/24", "dev", "eth0"],
                      ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
            run("ip", "-n", space, *words)
        image = dict(manifests.dockerfile(self.arguments.folder + "/Dockerfile"))
        folder = f"{self.folder}/{name}"
        os.mkdir(folder)
        self.folders[index] = folder
        self.publish(index)
        spec = {
            "folder": folder, "image": self.arguments.image,
            "program": os.path.abspath(self.arguments.program), "pod": pod, "container": container,
            "config": self.config, "host": host,
            "work": image["WORKDIR"],
            "command": json.loads(image["ENTRYPOINT"]) + container["args"],
            "environment": {
                "PATH": ("" if self.arguments.image else "/programs:")
                        + "/usr/local/bin:/usr/bin:/bin",
                "HOME": "/tmp", "HOSTNAME": host,
                **manifests.environment(container)}}
        cgroups = self.limits(name, container)
        with open(folder + "/spec.json", "w", encoding="utf-8") as file:
            json.dump(spec, file)
        with open(folder + "/log", "wb") as log:
            self.pods[index] = subprocess.Popen(
                ["ip", "netns", "exec", space, "unshare", "--mount", "--pid", "--fork",
                 "--uts", "--ipc", "--cgroup", "--kill-child", "--mount-proc",
                 sys.executable, __file__, "--pod", folder + "/spec.json"],
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                preexec_fn=lambda: enter_cgroups(cgroups))
        self.pods[index].log = folder + "/log"
        self.pods[index].cgroups = cgroups

    def first_process(self, index):
        """Of the container, as this system numbers it."""
        of = f"/proc/{self.pods[index].pid}/task/{self.pods[index].pid}/children"
        with open(of, encoding="ascii") as file:
            return int(file.read().split()[0])

    def agent(self, index):
        """The child of the first process that is no warden."""
        first = self.first_process(index)
        with open(f"/proc/{first}/task/{first}/children", encoding="ascii") as file:
            for pid in file.read().split():
                with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                    if name.read().strip() == "actorrun":
                        return int(pid)
        fail("a pod has no agent")

    def log(self, index):
        with open(self.pods[index].log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def probe(self, index, kind):
        """The code that kubelet's probe gets; 0 for none. Keeps the whole answer."""
        container = self.template["spec"]["containers"][0]
        what = container[kind]
        port = next(x["containerPort"] for x in container["ports"]
                    if x["name"] == what["httpGet"]["port"])
        url = f"http://{self.address(index)}:{port}{what['httpGet']['path']}"
        script = ("import sys, urllib.request, urllib.error\n"
                  "try:\n"
                  " x = urllib.request.urlopen(sys.argv[1], timeout=float(sys.argv[2]))\n"
                  " print(x.status, x.read().decode())\n"
                  "except urllib.error.HTTPError as x: print(x.code, x.read().decode())\n"
                  "except OSError as x: print(0, x)\n")
        done = subprocess.run(
            ["ip", "netns", "exec", NODE, sys.executable, "-c", script, url,
             str(what["timeoutSeconds"])], capture_output=True, text=True, check=True)
        code, self.answers[index] = done.stdout.split(maxsplit=1)
        return int(code)

    def is_ready(self, index):
        if self.pods[index].poll() is not None:
            fail(f"pod {index} has ended")
        return self.probe(index, "readinessProbe") == 200

    def delete(self, index):
        """As `kubectl delete pod`: SIGTERM to its first process, and a limit."""
        limit = self.template["spec"]["terminationGracePeriodSeconds"]
        os.kill(self.first_process(index), signal.SIGTERM)
        try:
            code = self.pods[index].wait(limit)
        except subprocess.TimeoutExpired:
            fail(f"pod {index} outlives its grace period of {limit} s")
        del self.pods[index]
        run("ip", "netns", "delete", f"actorrun-{index}")
        return code


    def lose(self, index):
        """As when its machine burns: nothing of it says a word."""
        run("ip", "-n", NODE, "link", "set", f"pod{index}", "down")
        os.kill(self.first_process(index), signal.SIGKILL)
        self.pods.pop(index).wait()
        run("ip", "netns", "delete", f"actorrun-{index}")

    def leader(self):
        """Of the pod whose coordinator has formed the newest generation."""
        formed = {}
        for i in self.pods:
            numbers = re.findall(r"coordinator forms generation (\d+)", self.log(i))
            formed[i] = max(map(int, numbers), default=0)
        return max(formed, key=formed.get)


def check_rights(cluster, index):
    """What a worker of the pod can do, from what the kernel shows of it."""
    first = cluster.first_process(index)
    with open(f"/proc/{first}/status", encoding="ascii") as file:
        status = dict(x.rstrip("\n").split(":\t", 1) for x in file if ":\t" in x)
    user = cluster.template["spec"]["securityContext"]
    if set(status["Uid"].split()) != {str(user["runAsUser"])}:
        fail(f"the container runs as {status['Uid']}")
    if int(status["CapEff"], 16) or int(status["CapBnd"], 16):
        fail("the container has capabilities")
    if status["NoNewPrivs"] != "1":
        fail("the container may gain rights")
    for path in cluster.pods[index].cgroups:
        with open(path + "/cgroup.procs", encoding="ascii") as file:
            if str(first) not in file.read().split():
                fail("the container is not in its cgroup")


def lines_of(cluster, text):
    """How many of them all pods of the job have written, also those that are gone."""
    count = 0
    for path in glob.glob(cluster.folder + "/*/log"):
        with open(path, encoding="utf-8", errors="replace") as file:
            count += file.read().count(text)
    return count


def replace(cluster, index, end, world):
    """A pod goes, the others go on, and a new one takes its place."""
    was_leader = cluster.leader() == index
    before = {n: lines_of(cluster, f"rank 0 of {n} on ") for n in (world - 2, world)}

    def has_grown(n):
        return lines_of(cluster, f"rank 0 of {n} on ") > before[n]

    code = end(index)
    if end == cluster.delete and code != 128 + signal.SIGTERM:
        fail(f"a pod that is deleted ends with {code}")
    wait_until("the others go on", lambda: has_grown(world - 2))
    cluster.start(index)
    wait_until("the pod that comes back is ready", lambda: cluster.is_ready(index))
    wait_until("the job is whole again", lambda: has_grown(world))
    print(f"pod {index}{', which led,' if was_leader else ''} went "
          f"({end.__name__}), the others went on with {world - 2}; "
          "a new pod has its place", flush=True)


def story(cluster):
    count = manifests.pod_count(cluster.thing)
    for i in range(count):
        cluster.start(i)
    for i in range(count):
        wait_until(f"pod {i} is ready", lambda i=i: cluster.is_ready(i))
        if cluster.probe(i, "livenessProbe") != 200:
            fail(f"pod {i} is not alive")
        check_rights(cluster, i)
    world = 2 * count
    wait_until("all ranks run", lambda: all(
        any(f"rank {r} of {world} on " in cluster.log(i) for i in range(count))
        for r in range(world)))
    print(f"{count} pods are ready, {world} workers run")

    # One that does not lead, the one that does, and that of the next, without a word.
    replace(cluster, max(set(range(count)) - {cluster.leader()}), cluster.delete, world)
    replace(cluster, cluster.leader(), cluster.delete, world)
    replace(cluster, cluster.leader(), cluster.lose, world)

    if cluster.thing["kind"] == "StatefulSet":
        was_whole = lines_of(cluster, f"rank 0 of {world} on ")
        cluster.start(count)  # kubectl scale
        wait_until("the job has grown",
                   lambda: lines_of(cluster, f"rank 0 of {world + 2} on "))
        print(f"scaled to {count + 1} pods, {world + 2} workers run")
        cluster.delete(count)
        wait_until("the job has shrunk",
                   lambda: lines_of(cluster, f"rank 0 of {world} on ") > was_whole)
        print(f"scaled back to {count} pods")

    agent = cluster.agent(0)
    os.kill(agent, signal.SIGSTOP)
    if cluster.probe(0, "livenessProbe") == 200:
        fail("an agent that is stopped counts as alive")
    os.kill(agent, signal.SIGCONT)
    print("the probe notices an agent that stands still")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--program", default="")
    parser.add_argument("--image", default="")
    parser.add_argument("--manifests", nargs="+",
                        default=["job.yaml", "elastic.yaml", "jobset.yaml"])
    parser.add_argument("--pod")
    arguments = parser.parse_args()
    if arguments.pod:
        with open(arguments.pod, encoding="utf-8") as file:
            enter_pod(json.load(file))
    lacking = [x for x in ("ip", "unshare") if not shutil.which(x)]
    if manifests.yaml is None or lacking or os.geteuid() != 0:
        print("skipped: needs root, python3-yaml, and the programs ip and unshare")
        return 77
    if subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount", "--uts",
                       "true"], check=False).returncode:
        print("skipped: there are no namespaces to be had here")
        return 77
    for arguments.manifest in arguments.manifests:
        print(f"== {arguments.manifest}", flush=True)
        with tempfile.TemporaryDirectory(prefix="actorrun-pods-") as folder:
            os.chmod(folder, 0o755)
            cluster = Cluster(folder, arguments)
            try:
                story(cluster)
            except AssertionError as error:
                for i, x in sorted(cluster.pods.items()):
                    print(f"-- pod {i}: {x.poll()}, the last probe got: "
                          f"{cluster.answers.get(i)}\n{cluster.log(i)}")
                print(error)
                return 1
            finally:
                cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
