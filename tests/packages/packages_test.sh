#!/bin/bash
# Makes the packages for Debian and the source archive, and checks what is in them.
# usage: packages_test.sh SOURCE BUILD WORK CPACK CMAKE VERSION
set -euo pipefail
export LC_ALL=C
source=$1 build=$2 work=$3 cpack=$4 cmake=$5 version=$6

for tool in dpkg-deb dpkg-shlibdeps objcopy gzip git; do
  command -v $tool >/dev/null || {
    echo "skipped: there is no $tool here"
    exit 77
  }
done

problems=0
wrong() {
  echo "WRONG: $*"
  problems=$((problems + 1))
}

rm -rf "$work"
mkdir -p "$work"
arch=$(dpkg --print-architecture)

# -- the packages -------------------------------------------------------------

(cd "$work" && SOURCE_DATE_EPOCH=1767225600 "$cpack" \
  --config "$build/CPackConfig.cmake" -B "$work/packages") >"$work/cpack.log" 2>&1 \
  || { cat "$work/cpack.log"; exit 1; }
grep -i warning "$work/cpack.log" && wrong "cpack warns"
cd "$work/packages"

file_of() { echo "$1_$version-1_$arch.deb"; }
for name in actorrun actorrun-worker libactorrun-dev actorrun-dbgsym; do
  [ -f "$(file_of $name)" ] || wrong "there is no $(file_of $name)"
  mkdir "$work/$name"
  dpkg-deb -x "$(file_of $name)" "$work/$name"
  dpkg-deb -c "$(file_of $name)" | awk '$1 !~ /^d/ { print substr($6, 3) }' | sort \
    >"$work/$name.list"
  dpkg-deb -c "$(file_of $name)" | awk '{ print $2 }' | sort -u \
    | grep -qx root/root || wrong "$name: files of another user than root"
done
[ "$(dpkg-deb -c "$(file_of actorrun-dbgsym)" \
  | grep -c 'usr/lib/debug/.build-id/../[0-9a-f]*\.debug$')" = 3 ] \
  || wrong "the debug info is in another place"

has() { # PACKAGE PATH...
  local name=$1 path
  shift
  for path in "$@"; do
    grep -qxF "$path" "$work/$name.list" || wrong "$name lacks $path"
  done
}
has actorrun usr/bin/actorrun usr/bin/actorctl usr/lib/actorrun/bin/torchrun \
  usr/share/man/man1/actorrun.1.gz usr/share/man/man1/actorctl.1.gz \
  usr/share/bash-completion/completions/actorrun \
  usr/share/zsh/vendor-completions/_actorrun \
  usr/share/fish/vendor_completions.d/actorrun.fish \
  usr/lib/systemd/system/actorrun@.service usr/lib/sysusers.d/actorrun.conf \
  usr/share/doc/actorrun/docs/operations.md \
  usr/share/doc/actorrun/examples/job.conf \
  usr/share/doc/actorrun/examples/kubernetes/Dockerfile
has actorrun-worker usr/lib/libactorrun_worker.so.0 usr/lib/libactorrun_worker.a \
  usr/include/actorrun/runtime/worker/record.hpp \
  usr/include/actorrun/runtime/worker/live.h \
  usr/lib/python3/dist-packages/actorrun/__init__.py \
  usr/lib/python3/dist-packages/actorrun/py.typed \
  "usr/lib/python3/dist-packages/actorrun-$version.dist-info/METADATA" \
  usr/lib/cmake/actorrun/actorrunConfig.cmake usr/lib/pkgconfig/actorrun-worker.pc
has libactorrun-dev usr/lib/libactorrun_runtime.a \
  usr/include/actorrun/runtime/launcher.hpp \
  usr/lib/cmake/actorrun/actorrunTargets.cmake usr/lib/pkgconfig/actorrun.pc
for name in actorrun actorrun-worker libactorrun-dev actorrun-dbgsym; do
  has $name usr/share/doc/$name/{copyright,changelog.gz,changelog.Debian.gz}
done
# The link for tools; the name in /usr/bin is torch's own.
for surplus in usr/bin/torchrun usr/bin/.debug; do
  grep -q "^$surplus" "$work"/actorrun.list && wrong "actorrun has $surplus"
done
[ "$(cat "$work"/*.list | sort | uniq -d)" = "" ] \
  || wrong "two packages have the same file"

depends() { dpkg-deb -f "$(file_of "$1")" Depends; }
for library in libc6 libcaf libstdc++6; do
  [[ $(depends actorrun) == *$library* ]] || wrong "actorrun does not need $library"
done
[[ $(depends actorrun-worker) == *libc6* ]] || wrong "actorrun-worker needs no libc6"
[[ $(depends actorrun-worker) != *caf* ]] || wrong "actorrun-worker needs CAF"
[[ $(depends libactorrun-dev) == "actorrun-worker (= $version-1), libcaf-dev"* ]] \
  || wrong "libactorrun-dev needs $(depends libactorrun-dev)"

readelf -SW "$work"/actorrun/usr/bin/actor{run,ctl} "$work"/actorrun-worker/usr/lib/*.so \
  | grep -qE '\.(debug_info|symtab)' && wrong "a program or library is not stripped"
if command -v gdb >/dev/null; then
  gdb -nx -batch -iex "set debug-file-directory $work/actorrun-dbgsym/usr/lib/debug" \
    -ex "info line main" "$work/actorrun/usr/bin/actorrun" 2>&1 \
    | grep -q "actorrun.cpp" || wrong "gdb finds no debug info"
fi

"$work/actorrun/usr/bin/actorrun" --version | grep -q "^actorrun $version" \
  || wrong "the program does not run"
"$work/actorrun/usr/lib/actorrun/bin/torchrun" --standalone --no-python true \
  || wrong "the link torchrun does not run"
if command -v python3 >/dev/null; then
  PYTHONPATH=$work/actorrun-worker/usr/lib/python3/dist-packages python3 -B -c \
    'import actorrun; assert [x.world_size for x in actorrun.generations()] == [1]' \
    || wrong "the Python package does not run"
  PYTHONPATH=$work/actorrun-worker/usr/lib/python3/dist-packages python3 -B -c \
    'from importlib.metadata import distribution
[entry] = distribution("actorrun").entry_points
assert entry.group == "torch.backends"
entry.load()()' || wrong "torch does not find the entry point"
fi
gzip -dc "$work/actorrun/usr/share/doc/actorrun/changelog.Debian.gz" \
  | grep -qx " -- .*  Thu, 01 Jan 2026 00:00:00 +0000" \
  || wrong "the changelog has another time than SOURCE_DATE_EPOCH"

# It takes a minute for the static libraries of libactorrun-dev: that one by hand.
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error \
    ./{actorrun,actorrun-worker,actorrun-dbgsym}_"$version"-1_"$arch".deb \
    >"$work/lintian.log" 2>&1 || { cat "$work/lintian.log"; wrong "lintian"; }
else
  echo "skipped: lintian, which is not here"
fi
if command -v systemd-analyze >/dev/null; then
  cp -r "$work/actorrun" "$work/root"
  # What every system has that runs services.
  for name in sysinit basic shutdown network-online multi-user; do
    printf '[Unit]\nDescription=%s\n' $name \
      >"$work/root/usr/lib/systemd/system/$name.target"
  done
  said=$(systemd-analyze verify --man=no --root="$work/root" \
    actorrun@job.service 2>&1) || wrong "systemd-analyze verify gives $?"
  [ -z "$said" ] || wrong "systemd-analyze verify: $said"
else
  echo "skipped: systemd-analyze, which is not here"
fi

# -- libraries are found --------------------------------------------------------

find_actorrun() { # FOLDER COMPONENT
  mkdir -p "$work/find"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(p LANGUAGES CXX)' \
    "find_package(actorrun REQUIRED $2)" >"$work/find/CMakeLists.txt"
  rm -rf "$work/find/build"
  "$cmake" -S "$work/find" -B "$work/find/build" -DCMAKE_PREFIX_PATH="$1/usr" \
    -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=ON 2>&1
}
find_actorrun "$work/actorrun-worker" "COMPONENTS worker" >"$work/find.log" \
  || { cat "$work/find.log"; wrong "actorrun-worker alone is not found"; }
find_actorrun "$work/actorrun-worker" "" >"$work/find.log" \
  && wrong "actorrun-worker alone passes for the whole"
grep -q "libactorrun-dev" <(tr -s '\n ' ' ' <"$work/find.log") \
  || wrong "what is missing is not named: $(cat "$work/find.log")"
cp -r "$work/libactorrun-dev/." "$work/actorrun-worker"
find_actorrun "$work/actorrun-worker" "" >"$work/find.log" \
  || { cat "$work/find.log"; wrong "both together are not found"; }

# -- the name torchrun, on request -----------------------------------------------

"$cmake" --install "$build" --prefix "$work/plain" --component programs >/dev/null
[ ! -e "$work/plain/bin/torchrun" ] || wrong "torchrun is installed without request"
"$cmake" --install "$build" --prefix "$work/plain" --component torchrun >/dev/null
"$work/plain/bin/torchrun" --standalone --nproc_per_node=2 --no-python true \
  || wrong "cmake --install --component torchrun makes no link that runs"

# -- the sources ------------------------------------------------------------------

if git -C "$source" rev-parse HEAD >/dev/null 2>&1; then
  for i in 1 2; do
    "$cmake" -DSOURCE="$source" -DGIT=git -DGZIP=gzip -DNAME="actorrun-$version" \
      -DTO="$work/source$i" -P "$source/runtime/cmake/packages/source_archive.cmake" \
      >/dev/null 2>&1
  done
  archive=actorrun-$version.tar.gz
  cmp "$work/source1/$archive" "$work/source2/$archive" \
    || wrong "two archives of one commit differ"
  tar -tzf "$work/source1/$archive" >"$work/source.list"
  grep -qx "actorrun-$version/CMakeLists.txt" "$work/source.list" \
    || wrong "the archive lacks CMakeLists.txt"
  [ "$(grep -vc '/$' "$work/source.list")" \
    = "$(git -C "$source" ls-tree -r --name-only HEAD | wc -l)" ] \
    || wrong "the archive has other files than the commit"
else
  echo "skipped: the archive, because this is no checkout"
fi

echo "packages: $problems problems"
[ $problems = 0 ]
