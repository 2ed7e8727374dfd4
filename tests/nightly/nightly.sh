#!/bin/bash
# All that is too long for the gate, one step after the other, and one page of what came
# of it. Takes a night on two cores. Needs all that `install-dependencies.sh` installs.
# usage: nightly.sh [-o FOLDER] [STEP…]
#   FOLDER   for the page and the logs (build/nightly)
#   STEP     these only, in this order; without any, all of them
set -uo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

# Each step is a function; its first line of comment is on the page.
steps=(release seeds planted mutation chaos corpus sanitize tsan portable)

# the gate: a build with warnings as errors, and all tests
release() {
  cmake --preset release -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
    && cmake --workflow --preset test
}

# a million histories of either kind in the simulator
seeds() {
  cmake --build build/release --target find_bug \
    && build/release/bin/find_bug 1000000 1
}

# every planted bug is found, and none without one
planted() {
  cmake --build build/release --target planted_bugs
}

# every mutant is noticed; what the simulator alone notices
mutation() {
  cmake --build build/release --target mutation
}

# an hour of faults in network namespaces, with and without etcd
chaos() {
  local due=$((SECONDS + 3600))
  while ((SECONDS < due)); do
    ctest --test-dir build/release -L chaos --output-on-failure || return
  done
}

# every kind of death five times: what `actorctl why` says of it
corpus() {
  for _ in 1 2 3 4 5; do
    ctest --test-dir build/release -L corpus --output-on-failure || return
  done
}

# all tests with AddressSanitizer and UndefinedBehaviorSanitizer
sanitize() {
  cmake --workflow --preset sanitize
}

# core, simulator and actors with ThreadSanitizer
tsan() {
  cmake --workflow --preset tsan
}

# the archive and the wheel, and whether they run anywhere
portable() {
  cmake --workflow --preset portable
}

about() { # STEP
  grep -B1 "^$1() {" "$0" | sed -n '1s/^# //p'
}

to=build/nightly
if [ "${1:-}" = -o ]; then
  to=${2:?a folder}
  shift 2
fi
[ $# = 0 ] || steps=("$@")
for step in "${steps[@]}"; do
  [ -n "$(about "$step")" ] || {
    echo "nightly.sh: there is no step $step; there are: $(
      sed -n 's/^steps=(\(.*\))/\1/p' "$0")" >&2
    exit 2
  }
done

mkdir -p "$to"
page=$to/page.md
{
  echo "# Nightly of $(git log -1 --format='%h, %cs')"
  echo
  echo "Begun $(date -u '+%F %H:%M') UTC on $(nproc) processors."
  echo
  echo "| step | what | result | minutes |"
  echo "|---|---|---|---|"
} >"$page"
bad=0
for step in "${steps[@]}"; do
  begun=$SECONDS
  result=good
  "$step" >"$to/$step.log" 2>&1 || result="**failed** ($step.log)"
  [ "$result" = good ] || bad=$((bad + 1))
  echo "| $step | $(about "$step") | $result | $(((SECONDS - begun + 30) / 60)) |" \
    | tee -a "$page"
done
for step in seeds planted mutation; do
  [ -f "$to/$step.log" ] && printf '\n    %s\n' "$(tail -1 "$to/$step.log")" >>"$page"
done
echo "$page"
[ $bad = 0 ]
