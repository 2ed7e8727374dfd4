#!/usr/bin/env bash
# Installs the wheel with pip, as a user without rights, on a system that has only its
# smallest base and Python, from no index; and runs a job of two workers in each way
# that the wheel has: the command, `python -m`, a call from Python. Prints the time of
# each step.
# usage: fresh_wheel.sh SUITE WHEEL
#   SUITE         a release of Debian: bookworm, trixie, sid, ...
#   WHEEL         what `cmake --workflow --preset portable` makes
# Variables, all optional: MIRROR, FRESH_BASES and TMPDIR, as of fresh_archive.sh
set -euo pipefail

fail() { # Until the other is there.
  echo "fresh_wheel.sh: $*" >&2
  exit 2
}

usage="usage: fresh_wheel.sh SUITE WHEEL"
suite=${1:-} wheel=${2:-}
[ $# = 2 ] || fail "$usage"
[[ $suite =~ ^[a-z]+$ ]] || fail "'$suite' is not a suite of Debian; $usage"
[ -f "$wheel" ] || fail "there is no $wheel; $usage"
# shellcheck disable=SC2034 # bare_system.bash reads them.
bare_packages=python3,python3-venv bare_name=-python
# shellcheck source=tests/fresh/bare_system.bash disable=SC2154,SC2034
source "$(dirname "$0")/bare_system.bash"

enter() { # ROOT COMMAND
  set -e
  enter_root "$1"
  exec setpriv --reuid=1000 --regid=1000 --clear-groups env -i HOME=/home/user PATH="$fresh_path" TMPDIR=/home/user \
    bash -c "$(declare -f step); cd; $2"
}
export -f enter
inside() { # COMMAND
  apart bash -c 'enter "$@"' bash "$root" "$1"
}

step "bare system" bare_system || fail "there is no bare system to try it on"
mkdir -p "$root/home/user"
cp "$wheel" "$root/home/user"
chown -R 1000:1000 "$root/home/user"
cat >"$root/home/user/call.py" <<'PYTHON'
import actorrun.launcher as launcher


def work(x):
    import os
    return x + int(os.environ["RANK"])


if __name__ == "__main__":
    config = launcher.LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2,
                                   rdzv_backend="c10d", rdzv_endpoint="localhost:0")
    print(sorted(launcher.elastic_launch(config, work)(40).values()))
PYTHON
ranks="sort | tr '\n' ' ' | grep -x 'rank 0 rank 1 '"
worker="--standalone --nproc-per-node=2 --no-python sh -c 'echo rank \$RANK'"

step "pip install" inside "python3 -m venv e && e/bin/pip -q install --no-index ./*.whl"
step "the command" inside "e/bin/actorrun $worker | $ranks"
step "python -m actorrun" inside "e/bin/python -m actorrun $worker | $ranks"
step "actorctl" inside "e/bin/actorctl --version"
step "a call" inside "e/bin/python call.py | grep -x '\[40, 41\]'"
