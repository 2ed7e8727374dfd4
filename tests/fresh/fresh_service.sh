#!/usr/bin/env bash
# Runs the service of our package under systemd as the first process of a machine: a
# bare Debian with systemd, booted by systemd-nspawn. Its worker is killed, its agent is
# killed and stands still, its job fails, and the machine is switched off. Prints what
# was tried; removes the system at the end, also after Ctrl-C.
# usage: fresh_service.sh SUITE FOLDER
#   SUITE         the release of Debian that the packages were made on: bookworm, ...
#   FOLDER        with the packages that cpack has made
# Variables, all optional: MIRROR, FRESH_BASES and TMPDIR, as of fresh_packages.sh
set -euo pipefail

fail() { # Until the other is there.
  echo "fresh_service.sh: $*" >&2
  exit 2
}

usage="usage: fresh_service.sh SUITE FOLDER"
suite=${1:-} folder=${2:-}
[ $# = 2 ] || fail "$usage"
[[ $suite =~ ^[a-z]+$ ]] || fail "'$suite' is not a suite of Debian; $usage"
packages=("$folder"/actorrun_*.deb "$folder"/actorrun-worker_*.deb)
for file in "${packages[@]}"; do
  [ -f "$file" ] || fail "there is no $file"
done
command -v systemd-nspawn >/dev/null \
  || fail "there is no systemd-nspawn here; install systemd-container"
# shellcheck disable=SC2034 # bare_system.bash reads them.
bare_packages=systemd,systemd-sysv,dbus bare_name=-systemd
# shellcheck source=tests/fresh/bare_system.bash disable=SC2154,SC2034
source "$(dirname "$0")/bare_system.bash"

install_packages() { # ROOT
  enter_root "$1"
  env -i PATH="$fresh_path" DEBIAN_FRONTEND=noninteractive bash -c \
    'apt-get -qq update && apt-get -qq install -y --no-install-recommends \
       /root/*.deb >/dev/null && systemctl -q enable actorrun@job1'
}
export -f install_packages

first= # Its first process, seen from here.
inside() { # COMMAND
  nsenter -t "$first" -m -u -i -n -p -C -- bash -c "$1"
}

await() { # WHAT COMMAND: until it succeeds
  for _ in $(seq 600); do
    inside "$2" >/dev/null 2>&1 && { echo "== $1"; return; }
    sleep 0.1
  done
  inside 'systemctl status --no-pager actorrun@job1; journalctl -b --no-pager -n 30' >&2
  fail "not within a minute: $1"
}

off() {
  [ -z "$first" ] || kill -KILL "$first" 2>/dev/null || true
  cleanup
}

step "bare system" bare_system || fail "there is no bare system to try it on"
settings
cp "${packages[@]}" "$root/root"
mkdir -p "$root/etc/actorrun" "$root/srv"
cat >"$root/srv/work.sh" <<'WORK'
#!/bin/sh
echo "rank $RANK runs"
exec sleep 6000
WORK
chmod 755 "$root/srv/work.sh"
printf '%s\n' PET_STANDALONE=1 PET_NPROC_PER_NODE=2 PET_MAX_RESTARTS=3 \
  PET_NO_PYTHON=1 ACTORRUN_COMMAND=/srv/work.sh >"$root/etc/actorrun/job1.conf"
step "installed" apart bash -c 'set -e; install_packages "$@"' bash "$root"

trap off EXIT
systemd-nspawn --register=no --keep-unit -q --boot -D "$root" </dev/null \
  >"$work/console" 2>&1 &
nspawn=$!
for _ in $(seq 100); do
  first=$(pgrep -P "$nspawn" || true)
  [ -z "$first" ] || break
  sleep 0.1
done
[ -n "$first" ] || fail "it does not boot: $(tail -n 3 "$work/console")"

says() { # TEXT
  echo "systemctl show -P StatusText actorrun@job1 | grep -qx '$1'"
}
# shellcheck disable=SC2016 # The machine expands it.
main='$(systemctl show -P MainPID actorrun@job1)'
restarts() { # NUMBER
  echo "[ \$(systemctl show -P NRestarts actorrun@job1) = $1 ]"
}
# shellcheck disable=SC2016 # Likewise.
workers='$(find /sys/fs/cgroup -path "*actorrun@job1*/actorrun-*" -name cgroup.procs \
  -exec cat {} + | sort -u)'

await "the machine starts it" "$(says 'generation 1: ranks 0-1 of 2')"
await "workers are in a cgroup of their own" "[ \$(echo $workers | wc -w) = 2 ]"
inside "for x in $workers; do kill -KILL \$x; break; done"
await "a worker that is killed is replaced by actorrun" \
  "$(says 'generation 2: ranks 0-1 of 2') && $(restarts 0)"
inside "kill -KILL $main"
await "an agent that is killed is replaced by systemd" \
  "$(says 'generation 1: ranks 0-1 of 2') && $(restarts 1)"
inside "kill -STOP $main"
await "one that stands still is found by WatchdogSec" "$(restarts 2)"
await "and replaced" "$(says 'generation 1: ranks 0-1 of 2')"
inside "systemctl stop actorrun@job1"
await "a stop is a success, and leaves no worker" \
  "[ \$(systemctl is-active actorrun@job1) = inactive ] && [ -z \"$workers\" ]"
inside "sed -i 's|/srv/work.sh|/bin/false|' /etc/actorrun/job1.conf
  systemctl start actorrun@job1"
await "a job that has failed does not begin again" \
  "[ \$(systemctl is-active actorrun@job1) = failed ] \
     && [ \$(systemctl show -P ExecMainStatus actorrun@job1) = 1 ] && $(restarts 0)"
inside "sed -i 's|/bin/false|/srv/work.sh|' /etc/actorrun/job1.conf
  systemctl reset-failed && systemctl start actorrun@job1"
await "it runs again" "$(says 'generation 1: ranks 0-1 of 2')"
inside "systemctl --no-block poweroff" || true
wait "$nspawn" || true
first=
journalctl -D "$root/var/log/journal" -u actorrun@job1 --no-pager -o cat 2>/dev/null \
  | tail -n 4 | grep 'job stopped: the job was asked to end by signal 15' \
  || fail "the last words of the job were not written when the machine was switched off"
echo "== the machine is switched off, and the job ends in order"
