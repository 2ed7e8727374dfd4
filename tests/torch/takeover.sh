#!/usr/bin/env bash
# Tries the wheel with the torch of this system as a user would: in a virtual
# environment, through torch's own launcher and tools that use it. Prints a line for
# each thing that holds, and ends with 1 if one does not.
# usage: takeover.sh PROGRAMS [TORCH_TESTS]
#   PROGRAMS      a folder with bin/actorrun, bin/actorctl and, where they need any,
#                 their libraries in lib/: what make_wheel.py takes
#   TORCH_TESTS   the program of that name; without it the torch cases of CTest are
#                 not run through torch's launcher. stamping_worker lies beside it
# Variables: PYTHON, whose torch it is (/usr/bin/python3); TMPDIR
set -uo pipefail

usage="usage: takeover.sh PROGRAMS [TORCH_TESTS]"
programs=$(realpath -e "${1:?$usage}") || exit 2
cases=${2:+$(realpath -e "$2")} || exit 2
python=${PYTHON:-/usr/bin/python3}
tree=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/takeover.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
failed=0

try() { # WHAT COMMAND...
  local what=$1 begin=$SECONDS code=0
  shift
  "$@" >"$work/out" 2>&1 || code=$?
  if [ $code = 0 ]; then
    echo "holds: $what ($((SECONDS - begin)) s) $(grep -v '^\[' "$work/out" | tail -1 | cut -c1-100)"
  elif [ $code = 77 ]; then
    echo "skipped: $what: $(grep -m1 SKIPPED "$work/out" | cut -c1-100)"
  else
    echo "DOES NOT HOLD: $what ($((SECONDS - begin)) s)"
    tail -40 "$work/out" | sed 's/^/    /'
    failed=1
  fi
}

# -- the wheel -------------------------------------------------------------------

"$python" "$tree/runtime/worker/python/make_wheel.py" "$programs" "$work/wheel" || exit 2
"$python" -m venv --system-site-packages "$work/venv" >"$work/out" 2>&1 || {
  cat "$work/out"
  exit 2
}
venv=$work/venv/bin
(cd "$work/venv" && find . | sort) >"$work/before"
try "pip installs the wheel" "$venv/pip" install --no-index "$work"/wheel/*.whl
own=$("$venv/python" -c 'import actorrun._programs as x; print(x.FOLDER)')
echo "torch $("$venv/python" -c 'import torch; print(torch.__version__)')," \
  "$("$venv/python" -V), $("$own/actorrun" --version)"
export PATH=$venv:$PATH
# Debian's torch has no libuv from 2.4 on: then it can be no client of an agent's store.
if ! "$venv/python" -c 'import torch.distributed as x; x.TCPStore("127.0.0.1", 0, 1, True)' \
  2>/dev/null; then
  export ACTORRUN_OPTIONS=--no-agent-store USE_LIBUV=0
fi

# -- tests -----------------------------------------------------------------------

site=$(dirname "$(dirname "$(dirname "$own")")")
try "the console scripts run" sh -c \
  'actorrun --version && actorctl --version && python3 -m actorrun --version'
# Of the tree: with a wheel, the programs in it come before others in PATH.
package=$tree/runtime/worker/python
try "tests without torch" "$venv/python" -S -B \
  "$tree/tests/worker/python/launch_test.py" "$package" "$own"
try "tests with torch" "$venv/python" -B "$tree/tests/torch/launcher_test.py" "$package" "$own"

loads=$("$venv/python" -c 'import torch; print(hasattr(torch, "_import_device_backends"))')
module=torch.distributed.run
[ "$loads" = True ] || module=actorrun.torchrun
export ACTORRUN_TAKEOVER=1
launched() { # COMMAND... : whether its workers are actorrun's
  "$@" | grep -x "generation 1" # Reads to the end: its workers may write on.
}
cat >"$work/s.py" <<'S'
import os
print("generation", os.environ.get("ACTORRUN_GENERATION"))
S
try "python3 -m $module" launched "$venv/python" -m $module "$work/s.py"
try "a program written for orchestrators" "$venv/python" "$tree/tests/torch/as_task.py"
try "100 starts in turns" "$venv/python" "$tree/tests/torch/alternate.py" 100
if [ "$loads" = True ]; then
  try "TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns it off; actorrun.torchrun does not mind" \
    launched env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$venv/python" -m actorrun.torchrun "$work/s.py"
fi

# -- tools -----------------------------------------------------------------------

if [ "$loads" = True ] && "$venv/python" -c 'import accelerate' 2>/dev/null; then
  try "accelerate launch" launched "$venv/python" -m accelerate.commands.launch \
    --num_processes 2 --num_machines 1 --multi_gpu --mixed_precision no --dynamo_backend no \
    "$work/s.py"
  cat >"$work/notebook.py" <<'S'
from accelerate import notebook_launcher
def f(x):
    import os
    print("generation", os.environ.get("ACTORRUN_GENERATION"), flush=True)
notebook_launcher(f, (3,), num_processes=2, use_port="0")
S
  # As in a notebook: the program cannot be imported, so the function goes by value.
  "$venv/python" -c 'import cloudpickle' 2>/dev/null && try "accelerate's notebook_launcher" \
    launched "$venv/python" -c "exec(open('$work/notebook.py').read())"
fi

# -- what it costs where it is not asked for ---------------------------------------

unset ACTORRUN_TAKEOVER
cat >"$work/cost.py" <<'S'
# Does what torch does at the end of its import, when it has imported what torch has by
# then, and prints how long that takes. Without the folder of the package, if one is given.
import contextlib, sys, threading, time, typing
from importlib.metadata import entry_points
import torch
sys.path = [x for x in sys.path if x not in sys.argv[1:]]
begin = time.process_time()
for x in entry_points(group="torch.backends"):
    x.load()()
print((time.process_time() - begin) * 1000)
S
cheap() {
  for _ in 1 2 3 4 5; do
    "$venv/python" "$work/cost.py" >>"$work/with"
    "$venv/python" "$work/cost.py" "$site" >>"$work/without"
  done
  median() { sort -g "$1" | sed -n 3p; }
  awk -v a="$(median "$work/with")" -v b="$(median "$work/without")" 'BEGIN {
    printf "%.2f ms of CPU: %.2f with it, %.2f without\n", a - b, a, b; exit a - b > 1 }'
}
try "import torch costs at most 1 ms more" cheap

# -- the torch cases ---------------------------------------------------------------

if [ -n "$cases" ]; then
  kit=$work/kit
  mkdir -p "$kit/bin" "$kit/runtime/worker"
  ln -s "$tree"/{examples,tests} "$kit"
  ln -s "$site" "$kit/runtime/worker/python" # The package with its programs.
  ln -s "$own/actorctl" "$(dirname "$cases")/stamping_worker" "$kit/bin"
  printf '#!/bin/sh\nexec %s -B %s "$@"\n' "$venv/python" "$tree/tests/torch/as_torchrun.py" \
    >"$kit/bin/actorrun"
  chmod +x "$kit/bin/actorrun"
  for tag in one_node checkpoint exception usage torchrun timer two_nodes elastic live; do
    try "torch case $tag" env ACTORRUN_TEST_KIT="$kit" PYTHON_EXEC="$venv/python" "$cases" "[$tag]"
  done
fi

try "pip uninstalls it" "$venv/pip" uninstall -y actorrun
(cd "$work/venv" && find . | sort) >"$work/after"
try "nothing of it is left" diff "$work/before" "$work/after"
exit $failed
