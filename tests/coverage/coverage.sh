#!/bin/bash
# Checks that the simulator and the unit tests execute every line of the protocol, and of
# the elections among agents:
#   coverage.sh SOURCE_DIR BUILD_DIR
# SIMULATOR and TESTS are what find_bug and core_tests are linked of. CXX is the
# compiler, CXXFLAGS what it gets besides. Only GCC: exit code 77 for others.
set -euo pipefail
source_dir=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
cd "$2"
seed_max=1500
cxx="${CXX:-c++}"
"$cxx" --version | grep -q "Free Software Foundation" || {
  echo "coverage is measured with GCC only"
  exit 77
}
gcov=$("$cxx" -print-prog-name=gcov)
flags="-std=c++20 -O0 -g --coverage ${CXXFLAGS:-}"

compile() { # SOURCE
  # shellcheck disable=SC2086 # Lists of words, here and below.
  $cxx $flags "-I$source_dir" -c "$1" -o "$(basename "$1" .cpp).o"
}
export -f compile
export cxx flags source_dir
printf '%s\n' "$source_dir"/actors/core/{protocol,succession}/*.cpp \
  | xargs -P 2 -I {} bash -c 'compile "{}"'
# An object hides the library's member.
# shellcheck disable=SC2086
$cxx --coverage ./*.o $SIMULATOR ${CXXFLAGS:-} -o find_bug
# shellcheck disable=SC2086
$cxx --coverage ./*.o $TESTS ${CXXFLAGS:-} -o core_tests
./find_bug "$seed_max"
./core_tests '~timer*' '~store*' '~*as many agents as allowed*' >core_tests.log \
  || { cat core_tests.log; exit 1; }
"$gcov" -r -s "$source_dir" ./*.gcda >gcov.log 2>&1

count=0
for file in ./*.cpp.gcov; do
  name=actors/core/protocol/$(basename "$file" .gcov)
  [ -f "$source_dir/$name" ] || name=${name/protocol/succession}
  [ -f "$source_dir/$name" ] || continue
  count=$((count + 1))
  sed -n "s|^ *#####: *\([0-9]*\):|$name:\1 is not executed:|p" "$file"
done >unexecuted
[ "$count" -gt 10 ] || { echo "FAILED: gcov says nothing: $2/gcov.log"; exit 1; }
if [ -s unexecuted ]; then
  cat unexecuted
  exit 1
fi
echo "every line of $count sources is executed"
