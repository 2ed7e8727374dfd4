#!/bin/bash
# Plants each bug of planted_bugs/ in a copy of actors/core and checks that the
# simulator finds it: planted_bugs.sh SOURCE_DIR BUILD_DIR [SEEDS]
set -euo pipefail
source_dir=$(realpath "$1")
mkdir -p "$2"
build_dir=$(realpath "$2")
seed_max=${3:-20000}
seconds_max=60
cxx=${CXX:-c++}
jobs=2
command -v patch >/dev/null || { echo "there is no program patch"; exit 1; }

compile() { # OBJECT SOURCE
  mkdir -p "$(dirname "$1")"
  # Planted bugs change no header.
  "$cxx" -std=c++20 -O2 "-I$source_dir" -c "$2" -o "$1"
}
export -f compile
export cxx source_dir build_dir

echo "building core and simulator"
cd "$source_dir"
find actors/core messages/errc.cpp tests/sim -name '*.cpp' ! -name '*_test.cpp' \
  | xargs -P $jobs -I {} bash -c 'compile "$build_dir/clean/{}.o" {}'

# Tries one bug and prints the result in one line. Fails if it was not found.
try_bug() { # PATCH
  local name copy file objects status=0 out
  name=$(basename "$1" .patch)
  copy=$build_dir/bugs/$name
  rm -rf "$copy"
  mkdir -p "$copy/actors"
  cp -r "$source_dir/actors/core" "$copy/actors/core"
  if ! patch -s -p1 -d "$copy" <"$1" >"$copy/patch.log" 2>&1; then
    echo "FAILED $name: the patch does not apply"
    return 1
  fi
  objects=()
  for file in $(cd "$build_dir/clean" && find . -name '*.o'); do
    file=${file%.o}
    if [ -f "$copy/$file" ] && ! cmp -s "$copy/$file" "$source_dir/$file"; then
      compile "$copy/$file.o" "$copy/$file"
      objects+=("$copy/$file.o")
    else
      objects+=("$build_dir/clean/$file.o")
    fi
  done
  "$cxx" "${objects[@]}" -o "$copy/find_bug"
  out=$(timeout $seconds_max "$copy/find_bug" "$seed_max" 2>&1) || status=$?
  if [ $status = 0 ] || [ $status = 124 ]; then
    echo "FAILED $name: not found"
    return 1
  fi
  echo "found  $name: $(grep ACTORRUN_SIM_SEED <<<"$out" | tail -n 1)"
}
export -f try_bug
export seed_max seconds_max

status=0
find "$build_dir/clean" -name '*.o' -print0 | xargs -0 "$cxx" -o "$build_dir/find_bug"
"$build_dir/find_bug" 1000 || { echo "FAILED without any bug"; exit 1; }
printf '%s\n' "$source_dir"/tests/sim/planted_bugs/*.patch \
  | xargs -P $jobs -I {} bash -c 'try_bug "{}"' || status=1
exit $status
