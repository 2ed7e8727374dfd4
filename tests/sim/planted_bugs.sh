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
flags="-std=c++20 -O2 -I$build_dir/include"
jobs=2

# <actorrun/…> is the unchanged tree; planted bugs change no header.
mkdir -p "$build_dir/include/actorrun" "$build_dir/clean"
for layer in messages actors; do
  ln -sfn "$source_dir/$layer" "$build_dir/include/actorrun/$layer"
done

compile() { # OBJECT SOURCE
  $cxx $flags -c "$2" -o "$1"
}
export -f compile
export cxx flags

echo "building core and simulator"
for file in "$source_dir"/actors/core/*.cpp "$source_dir"/messages/errc.cpp \
            "$source_dir"/tests/sim/*.cpp; do
  case $file in *_test.cpp) continue ;; esac
  echo "$build_dir/clean/$(basename "$file" .cpp).o $file"
done | xargs -P $jobs -L 1 bash -c 'compile "$0" "$1"'

# Prints one line: what was found. Fails if nothing was.
try_bug() { # PATCH
  local name copy objects status=0 out
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
  for object in "$build_dir"/clean/*.o; do
    local file=actors/core/$(basename "$object" .o).cpp
    if [ -f "$copy/$file" ] && ! cmp -s "$copy/$file" "$source_dir/$file"; then
      compile "$copy/$(basename "$object")" "$copy/$file"
      object=$copy/$(basename "$object")
    fi
    objects+=("$object")
  done
  $cxx "${objects[@]}" -o "$copy/find_bug"
  out=$(timeout $seconds_max "$copy/find_bug" "$seed_max" 2>&1) || status=$?
  if [ $status = 0 ] || [ $status = 124 ]; then
    echo "FAILED $name: not found"
    return 1
  fi
  echo "found  $name: $(grep ACTORRUN_SIM_SEED <<<"$out" | tail -n 1)"
}
export -f try_bug
export source_dir build_dir seed_max seconds_max

status=0
$cxx "$build_dir"/clean/*.o -o "$build_dir/find_bug"
"$build_dir/find_bug" 1000 || { echo "FAILED without any bug"; exit 1; }
printf '%s\n' "$source_dir"/tests/sim/planted_bugs/*.patch \
  | xargs -P $jobs -I {} bash -c 'try_bug {}' || status=1
exit $status
