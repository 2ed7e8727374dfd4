# Reads command lines with Python's argparse, set up as in torchrun, and with
# actorrun. Prints those that one accepts and the other refuses.
# usage: argparse_comparison.py ACTORRUN
import argparse
import contextlib
import os
import subprocess
import sys

VALUES = """nnodes nproc-per-node rdzv-backend rdzv-endpoint rdzv-id rdzv-conf
max-restarts monitor-interval start-method event-log-handler role log-dir
local-ranks-filter log-line-prefix-template duplicate-stdout-filters
duplicate-stderr-filters node-rank master-addr master-port local-addr logs-specs
numa-binding signals-to-handle shutdown-timeout""".split()
FLAGS = "standalone no-python run-path virtual-local-rank".split()

# Words are separated by blanks, or by bars where a word contains a blank.
LINES = """--no-p true; --no_p true; --no true; --n true; --sta --no-python true
--st --no-python true; --max-r 1 --no-p true; --max 1 --no-p true
--max-r=1 --no-p true; --shut 3 --no-p true; --shutd=3 --no-p true
--sig TERM --no-p true; --signals-to TERM --no-p true
--signals-to-h TERM --no-p true; --rdzv-i x --no-p true; --rdzv x --no-p true
--mod x; --rol x --no-p true; --ro x --no-p true; --r x --no-p true
--re 0 --no-p true; --t 0 --no-p true; -t0 --no-p true; -t=0 --no-p true
-mt0 x; -mx y; -m3 y; -mr 0 x; --monitor 1 --no-p true; --mon 1 --no-p true
--local-a 127.0.0.1 --no-p true; --local 1 --no-p true; --log-l x --no-p true
--role -x --no-p true; --role=-x --no-p true; --role -1 --no-p true
--role|-a b|--no-p|true; --no-p|-a b|x; --no-p -- true; --no-p=1 true
--virtual --no-p true; --vir --no-p true; --mast-a x --no-p true
--master-a 127.0.0.1 --no-p true; --node 0 --no-p true; --node-r 0 --no-p true
--node_ 0 --no-p true; --start spawn --no-p true; --event null --no-p true
--event-l null --no-p true; --h; --he; --standalone=1 --no-p true
--nproc 1 --no-p true; --nproc-p 1 --no-p true; --nproc_p=1 --no-p true"""


def torchrun_parser():
    parser = argparse.ArgumentParser()
    for name in VALUES + FLAGS:
        forms = dict.fromkeys(["--" + name, "--" + name.replace("-", "_")])
        action = "store_true" if name in FLAGS else "store"
        parser.add_argument(*forms, action=action)
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("-r", "--redirects")
    parser.add_argument("-t", "--tee")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def argparse_takes(words):
    with open(os.devnull, "w") as null, contextlib.redirect_stderr(null), \
            contextlib.redirect_stdout(null):
        try:
            torchrun_parser().parse_args(words)
        except SystemExit as end:
            return end.code == 0
    return True


def actorrun_takes(program, words):
    done = subprocess.run([program, *words], capture_output=True)
    return done.returncode != 2


for line in LINES.replace("\n", "; ").split("; "):
    words = line.split("|") if "|" in line else line.split()
    there, here = argparse_takes(words), actorrun_takes(sys.argv[1], words)
    if there != here:
        print(f"{line}: argparse {there}, actorrun {here}")
