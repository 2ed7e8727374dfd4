#!/usr/bin/env python3
"""Makes the wheel: the package with the programs beside it.

    make_wheel.py PROGRAMS FOLDER [VERSION]

PROGRAMS   a folder with bin/actorrun and bin/actorctl, and, if they need any, with
           their shared libraries in lib/, found by an rpath of $ORIGIN/../lib; the
           licences of what is linked statically in share/doc/actorrun/licences
FOLDER     where actorrun-VERSION-py3-none-linux_MACHINE.whl is written
VERSION    is compared with that of the package

The same files make the same wheel, byte for byte, if SOURCE_DATE_EPOCH is the same.
"""
import base64
import hashlib
import os
import re
import struct
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("actorrun", "actorctl")
NAME = "actorrun"

# Parts of glibc, which every system has that can run the programs at all.
OF_GLIBC = re.compile(r"(ld-linux-\S+|lib(c|m|dl|pthread|rt|resolv|util|anl|mvec))\.so\.\d+")
MACHINES = {62: "x86_64", 183: "aarch64"}

PYTHON_MIN = "3.9"
TEXT = """\
actorrun starts the workers of a distributed job and restarts them within milliseconds
when a worker or a node is lost: a drop-in replacement for torchrun in C++.

    actorrun --standalone --nproc-per-node=4 train.py

`ACTORRUN_TAKEOVER=1` makes tools that call torch's launcher, such as `accelerate launch`
and `python -m torch.distributed.run`, start it, too.
"""


def refuse(text):
    sys.exit(f"make_wheel.py: {text}")


class Elf:
    """What a program or a shared library for 64 bits says about itself.

    Raises:
        ValueError: it is none.
    """

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("is no program for a little-endian machine of 64 bits")
        self.data = data
        self.machine = MACHINES.get(struct.unpack_from("<H", data, 18)[0], "")
        offset, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size)
                         for i in range(count)]

    def needed(self):
        """Returns the names of the libraries that it needs."""
        entries = []
        for kind, _, offset, _, _, size, _, _ in self.segments:
            if kind == 2:  # PT_DYNAMIC
                entries = [struct.unpack_from("<qQ", self.data, offset + i)
                           for i in range(0, size, 16)]
        strings = next((value for tag, value in entries if tag == 5), 0)  # DT_STRTAB
        begin = self._in_file(strings)
        names = [value for tag, value in entries if tag == 1]  # DT_NEEDED
        return [self.data[begin + x:self.data.index(b"\0", begin + x)].decode()
                for x in names]

    def _in_file(self, address):
        for kind, _, offset, begin, _, size, _, _ in self.segments:
            if kind == 1 and begin <= address < begin + size:  # PT_LOAD
                return address - begin + offset
        return 0


def read(path):
    with open(path, "rb") as file:
        return file.read()


def programs(folder):
    """Returns what the package has in its folder `programs`: (path, data), in order.

    Libraries are those that the programs need, directly or not, and no others.
    """
    out, machines, waiting = {}, set(), [f"bin/{name}" for name in PROGRAMS]
    while waiting:
        path = waiting.pop()
        try:
            out[path] = read(os.path.join(folder, path))
            elf = Elf(out[path])
        except (OSError, ValueError) as x:
            refuse(f"{folder}/{path}: {getattr(x, 'strerror', None) or x}")
        machines.add(elf.machine)
        for name in elf.needed():
            if f"lib/{name}" in out or f"lib/{name}" in waiting:
                continue
            if os.path.exists(os.path.join(folder, "lib", name)):
                waiting.append(f"lib/{name}")
            elif not OF_GLIBC.fullmatch(name):
                refuse(f"{folder}/{path} needs {name}, which not every system has, and"
                       f" {folder}/lib has it not")
    if len(machines) > 1 or "" in machines:
        refuse(f"{folder} has programs for other machines than {MACHINES.values()}")
    return sorted(out.items()), machines.pop()


def package():
    """Returns the files of the package: (path, data), in order."""
    out = []
    folder = os.path.join(HERE, NAME)
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(x for x in folders if x not in ("__pycache__", "programs"))
        for name in names:
            if name.endswith(".py") or name == "py.typed":
                path = os.path.join(where, name)
                out.append((os.path.relpath(path, HERE), read(path)))
    return sorted(out)


def version_of(files):
    text = dict(files)[f"{NAME}/__init__.py"].decode()
    return re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE).group(1)


def entry_points():
    scripts = "".join(f"{x} = {NAME}._programs:{x}\n" for x in sorted(PROGRAMS))
    return (f"[console_scripts]\n{scripts}\n"
            f"[torch.backends]\n{NAME} = {NAME}._takeover:autoload\n")


def metadata(version):
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\n"
            "Summary: An elastic launcher for distributed jobs; a drop-in for torchrun\n"
            f"Requires-Python: >={PYTHON_MIN}\nLicense: BSD-3-Clause\n"
            "Classifier: Operating System :: POSIX :: Linux\n"
            "License-File: LICENSE\n"
            f"Description-Content-Type: text/markdown\n\n{TEXT}")


def record(files):
    lines = []
    for path, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
        lines.append(f"{path},sha256={digest.decode()},{len(data)}\n")
    return "".join(lines)


def licence():
    for folder in (os.path.join(HERE, "..", "..", ".."), HERE):
        path = os.path.join(folder, "LICENSE")
        if os.path.exists(path):
            return read(path)
    return refuse(f"there is no LICENSE above {HERE}")


def licences(programs):
    """Returns ours and those of what the programs have in them: (name, data), in order."""
    out = [("LICENSE", licence())]
    begin = os.path.join(programs, "share", "doc", NAME, "licences")
    for where, folders, names in os.walk(begin):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            out.append((os.path.relpath(path, begin), read(path)))
    return out


def write(path, files):
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)  # From 1980 on.
    when = time.gmtime(seconds)[:6]
    draft = path + ".part"
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name, when)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix: the next are its permissions.
            is_program = "/programs/" in name
            info.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(info, data)
    os.replace(draft, path)


def main(words):
    if len(words) not in (2, 3):
        refuse("usage: make_wheel.py PROGRAMS FOLDER [VERSION]")
    files = package()
    version = version_of(files)
    if len(words) == 3 and words[2] != version:
        refuse(f"the package has version {version}, the programs {words[2]}")
    binaries, machine = programs(words[0])
    files += [(f"{NAME}/programs/{path}", data) for path, data in binaries]
    tag = f"py3-none-linux_{machine}"
    info = f"{NAME}-{version}.dist-info"
    wheel = (f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\n"
             f"Tag: {tag}\n")
    files += [(f"{info}/{name}", data) for name, data in (
        ("METADATA", metadata(version).encode()), ("WHEEL", wheel.encode()),
        ("entry_points.txt", entry_points().encode()))]
    files += [(f"{info}/licenses/{name}", data) for name, data in licences(words[0])]
    files.append((f"{info}/RECORD", (record(files) + f"{info}/RECORD,,\n").encode()))
    os.makedirs(words[1], exist_ok=True)
    path = os.path.join(words[1], f"{NAME}-{version}-{tag}.whl")
    write(path, files)
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
