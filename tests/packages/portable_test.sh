#!/bin/bash
# Looks into the archive and the wheel of a portable build: what their programs need of the system on
# which they run, and whether they run without anything else.
# usage: portable_test.sh BUILD NAME WORK CMAKE VERSION
set -euo pipefail
export LC_ALL=C
build=$1 name=$2 work=$3 cmake=$4 version=$5

for tool in readelf tar; do
  command -v $tool >/dev/null || {
    echo "skipped: there is no $tool here"
    exit 77
  }
done
archive=$build/$name.tar.gz
[ -f "$archive" ] || {
  echo "there is no $archive: cmake --build --preset portable makes it"
  exit 1
}

problems=0
wrong() {
  echo "WRONG: $*"
  problems=$((problems + 1))
}

# Removed with a folder in it that may only be read.
mkdir -p "$work"
chmod -R u+w "$work"
rm -rf "$work"
mkdir -p "$work"
tar -xzf "$archive" -C "$work"
root=$work/$name

# -- what the programs need ------------------------------------------------------

# Each library that is needed, or version of one, that other systems may lack.
surplus() { # FILE
  readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' \
    | grep -vxE 'lib(c|m|dl|rt|pthread)\.so\.[0-9]+|ld-linux-x86-64\.so\.2' || true
  readelf --dynamic --wide "$1" | grep -E '\((RPATH|RUNPATH|TEXTREL)\)' || true
  readelf --version-info --wide "$1" | sed -n 's/.* Name: \([^ ]*\) .*/\1/p' \
    | sort -u | awk -F'[_.]' '
      /^libactorrun/ { next }
      $1 != "GLIBC" || $2 + 0 != 2 || $3 + 0 > 34 { print }'
  # What a processor must have beyond the first ones of x86-64.
  readelf --notes --wide "$1" | grep -oE 'x86 ISA needed: .*v[2-9].*' || true
}

# A check that finds nothing anywhere finds nothing here, too.
[[ $(surplus "$cmake") == *libstdc++* ]] || wrong "nothing is found in $cmake"

checked=0
while IFS= read -r file; do
  [ "$(head -c 4 "$file" | od -An -tx1)" = " 7f 45 4c 46" ] || continue
  checked=$((checked + 1))
  found=$(surplus "$file")
  [ -z "$found" ] || wrong "${file#"$work"/} needs ${found//$'\n'/, }"
  readelf --sections --wide "$file" | grep -qE '\.(debug_info|symtab)' \
    && wrong "${file#"$work"/} is not stripped"
  grep -qF "$build" "$file" && wrong "${file#"$work"/} names the build folder"
done < <(find "$root" -type f)
# The two programs and the library for worker programs.
[ $checked = 3 ] || wrong "there are $checked programs and libraries, not 3"

# -- what is in it -----------------------------------------------------------------

tar --list --verbose --numeric-owner --file="$archive" >"$work/list"
awk '$2 != "0/0"' "$work/list" | grep . && wrong "something belongs to another user"
awk '{ print $4, $5 }' "$work/list" | sort -u | grep -c . | grep -qx 1 \
  || wrong "it has more than one time"
grep -E '^[^l]....w|^[^l].......w' "$work/list" && wrong "others may write something"
for path in bin/actorrun bin/actorctl lib/actorrun/bin/torchrun \
  share/man/man1/actorrun.1 share/man/man1/actorctl.1 \
  share/bash-completion/completions/actorrun \
  share/zsh/site-functions/_actorrun share/fish/vendor_completions.d/actorrun.fish \
  share/actorrun/python/actorrun/__init__.py lib/libactorrun_worker.so.0 \
  lib/libactorrun_worker.a include/actorrun/runtime/worker/record.hpp \
  share/doc/actorrun/LICENSE share/doc/actorrun/docs/operations.md \
  share/doc/actorrun/licences/caf/LICENSE \
  share/doc/actorrun/licences/{libcli11-dev,libfmt-dev,libjemalloc-dev} \
  share/doc/actorrun/licences/{libprotobuf-dev,libspdlog-dev,libssl-dev} \
  share/doc/actorrun/licences/nlohmann-json3-dev; do
  [ -e "$root/$path" ] || wrong "it lacks $path"
done
ls "$root"/share/doc/actorrun/licences/libstdc++-*-dev >/dev/null \
  || wrong "it lacks the licence of libstdc++"

# The same bytes once more.
cp "$archive" "$work/first.tar.gz"
"$cmake" --build "$build" --target archive >"$work/again.log" 2>&1 \
  || { cat "$work/again.log"; wrong "it cannot be made again"; }
cmp "$archive" "$work/first.tar.gz" || wrong "two archives of one build differ"

# -- the wheel ---------------------------------------------------------------------

wheel=("$build"/actorrun-"$version"-*.whl)
if [ -f "${wheel[0]}" ] && mkdir "$work/wheel" \
  && /usr/bin/python3 -m zipfile -e "${wheel[0]}" "$work/wheel"; then
  for x in actorrun actorctl; do
    cmp "$work/wheel/actorrun/programs/bin/$x" "$root/bin/$x" \
      || wrong "the wheel has another $x"
  done
  others=$(diff -r "$root/share/doc/actorrun/licences" \
    "$work/wheel/actorrun-$version.dist-info/licenses" | grep -v ': LICENSE$' || true)
  [ -z "$others" ] || wrong "the wheel has other licences: $others"
else
  wrong "there is no wheel"
fi

# -- it runs -----------------------------------------------------------------------

# From a folder with a blank in its name that may only be read, and without a variable.
# (Root may write to it; tests/fresh/fresh_archive.sh has a file system for that.)
mv "$root" "$work/a folder"
root="$work/a folder"
chmod -R a-w "$root"
for x in actorrun actorctl; do
  env -i "$root/bin/$x" --version | grep -qxE "$x $version( \\(commit [0-9a-f]+(-dirty)?\\))?" \
    || wrong "$x --version says something else"
done
# shellcheck disable=SC2016 # The workers expand it.
said=$(cd / && env -i "$root/bin/actorrun" --standalone --nproc-per-node=2 \
  --no-python /bin/sh -c 'echo "rank $RANK of $WORLD_SIZE"' 2>&1) \
  || wrong "a job of two workers ends with $?"
for rank in 0 1; do
  [[ $said == *"rank $rank of 2"* ]] || wrong "rank $rank says nothing: $said"
done
env -i "$root/lib/actorrun/bin/torchrun" --standalone --no-python /bin/true \
  || wrong "the link torchrun does not run"
chmod -R u+w "$root"

echo "portable: $problems problems"
[ $problems = 0 ]
