#!/bin/bash
# Plants each bug of planted_bugs/ in a copy of actors/core and checks that the
# simulator finds it:
#   planted_bugs.sh SOURCE_DIR BUILD_DIR [OBJECT_OR_LIBRARY...]
# With PLANTED_SAMPLE=n only n of them, other ones each time. With nothing to link it
# checks no more than that each can still be planted.
# What is linked is the program find_bug without the bug. CXX is the compiler,
# CXXFLAGS what it gets besides.
set -euo pipefail
source_dir=$(realpath "$1")
mkdir -p "$2"
build_dir=$(realpath "$2")
shift 2
clean="$*"
seed_max=100000
seconds_max=300
cxx="${CXX:-c++} -std=c++20 -O1 ${CXXFLAGS:-}"
command -v patch >/dev/null || { echo "there is no program patch"; exit 1; }

# Tries one bug and prints the result in one line. Fails if it was not found.
try_bug() { # PATCH
  local name copy file out status=0
  local -a objects=() world=()
  name=$(basename "$1" .patch)
  copy=$build_dir/bugs/$name
  rm -rf "$copy"
  mkdir -p "$copy/actors"
  cp -r "$source_dir/actors/core" "$copy/actors/core"
  if ! patch -s -p1 -d "$copy" <"$1" >"$copy/build.log" 2>&1; then
    echo "FAILED $name: the patch does not apply: $copy/build.log"
    return 1
  fi
  # Planted bugs change no header. An object hides the library's member.
  for file in $(cd "$copy" && find actors/core -name '*.cpp'); do
    cmp -s "$copy/$file" "$source_dir/$file" && continue
    objects+=("$copy/$file.o")
    if ! $cxx "-I$source_dir" -c "$copy/$file" -o "$copy/$file.o" \
      >>"$copy/build.log" 2>&1; then
      echo "FAILED $name: $file does not compile: $copy/build.log"
      return 1
    fi
  done
  if ! $cxx "${objects[@]}" $clean -o "$copy/find_bug" \
    >>"$copy/build.log" 2>&1; then
    echo "FAILED $name: it does not link: $copy/build.log"
    return 1
  fi
  # Who elects among agents is found in the world of elections alone, and what
  # becomes of whole jobs then in theirs. So is who begins a job at several seeds.
  case $name in
    election_*) world=(1 elections) ;;
    voters_*) world=(1 voters) ;;
    founding_*) world=(1 foundings) ;;
  esac
  out=$(timeout "$seconds_max" "$copy/find_bug" "$seed_max" "${world[@]}" 2>&1) \
    || status=$?
  # A violation, or a failed assertion of the core. Whatever ends in another way
  # found nothing.
  if { [ $status != 1 ] && [ $status != 134 ]; } \
    || ! grep -q ACTORRUN_SIM_SEED <<<"$out"; then
    echo "FAILED $name: not found (exit code $status)"
    return 1
  fi
  echo "found  $name: $(grep ACTORRUN_SIM_SEED <<<"$out" | tail -n 1)"
}
export -f try_bug
export cxx source_dir build_dir clean seed_max seconds_max

# All of them, whatever is tried: each change of the core may spoil one.
for bug in "$source_dir"/tests/sim/planted_bugs/*.patch; do
  patch -s -p1 --dry-run -d "$source_dir" <"$bug" >"$build_dir/patch.log" 2>&1 \
    || { echo "FAILED $(basename "$bug" .patch): the patch does not apply"; exit 1; }
done

[ -n "$clean" ] || exit 0
$cxx $clean -o "$build_dir/find_bug"
"$build_dir/find_bug" 1000 || { echo "FAILED without any bug"; exit 1; }
printf '%s\n' "$source_dir"/tests/sim/planted_bugs/*.patch \
  | shuf -n "${PLANTED_SAMPLE:-1000}" \
  | xargs -P 2 -I {} bash -c 'try_bug "{}"'
