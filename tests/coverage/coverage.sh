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
seed_max=300
cxx="${CXX:-c++}"
"$cxx" --version | grep -q "Free Software Foundation" || {
  echo "coverage is measured with GCC only"
  exit 77
}
gcov=$("$cxx" -print-prog-name=gcov)
flags="-std=c++20 -O0 -g --coverage ${CXXFLAGS:-}"

# A room at a time, as the library is compiled: an object hides the library's member.
rooms=(protocol succession)
for room in "${rooms[@]}"; do
  printf '#include "%s"\n' "$source_dir/actors/core/$room"/*.cpp >"$room.cpp"
  # shellcheck disable=SC2086 # Lists of words, here and below.
  $cxx $flags "-I$source_dir" -c "$room.cpp" -o "$room.o" &
done
wait
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
  name=$(cd "$source_dir" && find actors/core/{protocol,succession} -name "$(basename "$file" .gcov)")
  [ -n "$name" ] || continue
  count=$((count + 1))
  sed -n "s|^ *#####: *\([0-9]*\):|$name:\1 is not executed:|p" "$file"
done >unexecuted
[ "$count" -gt 10 ] || { echo "FAILED: gcov says nothing: $2/gcov.log"; exit 1; }
if [ -s unexecuted ]; then
  cat unexecuted
  exit 1
fi
echo "every line of $count sources is executed"
