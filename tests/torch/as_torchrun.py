"""Is the program actorrun for torch_tests, started through torch's own launcher.

    as_torchrun.py OPTIONS... SCRIPT ARGUMENTS...

Run with the Python whose torch it is, which has the package installed. With a torch that
loads no back ends (before 2.5) it is actorrun.torchrun.
"""
import importlib.util
import os
import sys

# What torch's parser does not know goes round it.
OURS = ("--no-agent-store",)


def main(words):
    out, ours = [], os.environ.get("ACTORRUN_OPTIONS", "").split()
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in OURS:
            ours.append(word)
            continue
        name, equals, value = word.partition("=")
        out.append(name.replace("-", "_").replace("__", "--", 1) + equals + value)
    meets = any(x.startswith("--rdzv_endpoint") for x in out)
    if meets and not any(x.startswith("--rdzv_backend") for x in out):
        out.insert(0, "--rdzv_backend=c10d")  # torchrun's is static.
    # Not by an import, which takes seconds: a node that joins would come too late.
    with open(importlib.util.find_spec("torch").origin) as file:
        loads = "def _import_device_backends" in file.read()
    os.environ["ACTORRUN_OPTIONS"] = " ".join(ours)
    os.environ["ACTORRUN_TAKEOVER"] = "1" if loads else ""
    module = "torch.distributed.run" if loads else "actorrun.torchrun"
    os.execv(sys.executable, [sys.executable, "-m", module, *out, *words])


if __name__ == "__main__":
    main(sys.argv[1:])
