#!/usr/bin/env bash
# Unpacks the archive of a portable build on a system with only its smallest base, and
# runs the programs there as a user without rights, from a file system that may only be
# read: jobs of one and of two agents, with a worker and an agent killed; and once more
# without /tmp and without names of users. Prints the time of each step.
# usage: fresh_archive.sh SUITE|FOLDER ARCHIVE
#   SUITE         a release of Debian: bookworm, trixie, sid, ...
#   FOLDER        the root of another system, which stays as it is; it has bash
#   ARCHIVE       what `cmake --workflow --preset portable` makes
# Variables, all optional:
#   MIRROR        the Debian mirror; default: the one this machine's apt uses
#   FRESH_BASES   a folder that keeps bare systems, for a quicker start
#   TMPDIR        where the system is made; default: /var/tmp; takes 1 GB
set -euo pipefail

fail() { # Until the other is there.
  echo "fresh_archive.sh: $*" >&2
  exit 2
}

usage="usage: fresh_archive.sh SUITE|FOLDER ARCHIVE"
system=${1:-} archive=${2:-}
[ $# = 2 ] || fail "$usage"
[ -d "$system" ] || [[ $system =~ ^[a-z]+$ ]] \
  || fail "'$system' is neither a suite of Debian nor a folder; $usage"
[ -f "$archive" ] || fail "there is no $archive; $usage"
suite=$(basename "$system")
# shellcheck disable=SC2034 # bare_system.bash reads them.
bare_packages='' bare_name=-small
# shellcheck source=tests/fresh/bare_system.bash disable=SC2154,SC2034
source "$(dirname "$0")/bare_system.bash"

# What is run inside. Whoever waits there does so for an event, with a limit.
# shellcheck disable=SC2016,SC2089
trial='
set -euo pipefail
bin=$1
limited() { # SECONDS COMMAND... until it succeeds
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $until ] || { echo "not within its time: $*"; exit 1; }
    sleep 0.05
  done
}
"$bin/actorrun" --version
[ "$("$bin/actorrun" --standalone --nproc-per-node=2 --no-python \
  /bin/sh -c "echo rank \$RANK" 2>/dev/null | sort | tr "\n" " ")" = "rank 0 rank 1 " ]
"$bin/actorrun" --standalone --nproc-per-node=2 --no-python /bin/sh -c "exit \$RANK" \
  2>/dev/null && exit 1
[ "$2" = all ] || exit 0

"$bin/actorctl" status && exit 1 # There is none.
agent() {
  exec "$bin/actorrun" --nnodes=1:2 --nproc-per-node=2 --max-restarts=3 \
    --rdzv-endpoint=127.0.0.1:29400 --rdzv-id=trial --no-python \
    /bin/sh -c "until [ -e /tmp/stop ]; do sleep 0.05; done"
}
said() { "$bin/actorctl" status | tee /tmp/said | grep -q "$1"; }
agent & first=$!
limited 30 said "running, generation .*, world size 2"
agent & second=$!
limited 30 said "running, generation .*, world size 4"
cat /tmp/said
generation=$(grep -o "generation [0-9]*" /tmp/said)
worker=$(sed -n "3s/.* \([0-9]*\)[^ ]*$/\1/p" /tmp/said)
kill -KILL $worker
restarted() { said "world size 4" && ! grep -q "$generation," /tmp/said; }
limited 30 restarted
cat /tmp/said
kill -KILL $second
limited 30 said "running, generation .*, world size 2"
: >/tmp/stop
wait $first
rm /tmp/stop'

enter() { # ROOT COMMAND
  set -e
  enter_root "$1"
  mount -o remount,bind,ro /
  mount -t tmpfs -o mode=1777 tmpfs /tmp
  mount -t tmpfs tmpfs /mnt
  local place="/mnt/a folder"
  mkdir "$place"
  tar -xzf /dev/fd/3 -C "$place"
  mount -o remount,ro /mnt
  local bin
  bin=$(echo "$place"/*/bin)
  step "as a user without rights, in a file system that may only be read" as_other_user "$bin" all
  step "as root" env -i /bin/bash -c "$trial" trial "$bin" all
  mount -t tmpfs -o ro tmpfs /tmp
  mount --bind /dev/null /etc/passwd
  step "without /tmp and names of users" as_other_user "$bin" some
  mount -t tmpfs -o ro tmpfs /dev/shm
  step "without /dev/shm, too" as_other_user "$bin" some
}
as_other_user() {
  env -i setpriv --reuid=65534 --regid=65534 --clear-groups /bin/bash -c "$trial" \
    trial "$@"
}
export -f enter as_other_user
# shellcheck disable=SC2090
export trial

if [ -d "$system" ]; then
  root=$(realpath "$system")
else
  step "bare system" bare_system || fail "there is no bare system to try it on"
fi
# Ports are those of this trial alone.
# shellcheck disable=SC2016
apart unshare --net bash -c 'ip link set lo up; exec 3<"$2"; enter "$1"' bash \
  "$root" "$archive"
echo "fresh_archive: $archive runs on $suite"
