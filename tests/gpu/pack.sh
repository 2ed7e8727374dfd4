#!/usr/bin/env bash
# Makes a folder that shows on a machine with a GPU what cannot be shown here: our
# programs with the libraries that they need, tests, the Python package, scripts. It is
# carried there as it is, and tests/gpu/on_device.sh in it is run.
# usage: pack.sh [BUILD_DIR] [OUT_DIR]
#   BUILD_DIR   a build of this tree; default: build/release
#   OUT_DIR     the folder to make, which is replaced; default: gpu_kit in BUILD_DIR
# The folder takes at most 60 MB. What is loaded on demand stays out: NVML, CUDA,
# libcurl, munge. hwloc is in it, since binding workers to CPUs is tried there.
set -euo pipefail

size_max=60 # MB

refuse() {
  echo "pack.sh: $*" >&2
  exit 2
}

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ $# -le 2 ] || refuse "too many words: [BUILD_DIR] [OUT_DIR] are all"
build=$(cd "${1:-$source/build/release}" 2> /dev/null && pwd) \
  || refuse "there is no build in ${1:-$source/build/release}; cmake --workflow --preset test makes one"
kit=${2:-$build/gpu_kit}
for tool in patchelf strip objdump ldd; do
  command -v $tool > /dev/null || refuse "there is no $tool; install-dependencies.sh installs it"
done
# What is replaced is a kit, or nothing.
if [ -e "$kit" ]; then
  [ -f "$kit/needs/glibc" ] || [ -z "$(ls -A "$kit")" ] \
    || refuse "$kit is there and is no kit; name another folder, or remove it"
  rm -rf "$kit"
fi
mkdir -p "$kit"/{bin,lib,glibc,tools,needs,docs}

programs="actorrun actorctl gpu_tests torch_tests stamping_worker actorrun_bench
  spawn_loop respawn_loop stamp line_writer copy_loop store_load timer_worker"
for name in $programs; do
  [ -x "$build/bin/$name" ] || refuse "$build/bin has no $name; build it:" \
    "cmake --build $build --target ${programs//$'\n' /} gpu_standin"
  strip --strip-all -o "$kit/bin/$name" "$build/bin/$name"
done
[ -f "$build/tests/libgpu_standin.so" ] || refuse "$build/tests has no libgpu_standin.so;" \
  "build it: cmake --build $build --target gpu_standin"
strip --strip-unneeded -o "$kit/lib/libgpu_standin.so" "$build/tests/libgpu_standin.so"
cp "$(command -v patchelf)" "$kit/tools/patchelf"

# LIBRARIES: those of the C library apart, for machines where it is older.
of_glibc='^(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil|libanl|libmvec|libnss_.*)\.so'
needed_by() { # FILE... : paths of the libraries that they need
  ldd "$@" | awk '/not found/ {print "missing:" $1} $2 == "=>" && $3 ~ /^\// {print $3}' | sort -u
}
installed() { # NAME : its path, or nothing
  ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ {path = $NF} END {print path}'
}
# dlopen takes it from the same folder.
hwloc=$(installed libhwloc.so.15)
for path in $(needed_by "$kit"/bin/* "$kit"/lib/* "$kit/tools/patchelf" ${hwloc:+"$hwloc"}) $hwloc; do
  [[ $path != missing:* ]] || refuse "a program needs ${path#missing:}, which is not here"
  name=$(basename "$path")
  if grep -qE "$of_glibc" <<< "$name"; then
    cp -L "$path" "$kit/glibc/$name"
  else
    strip --strip-unneeded -o "$kit/lib/$name" "$(realpath "$path")"
  fi
done
cp -L "$(ldd "$kit/bin/actorrun" | awk '/ld-linux/ {print $1}')" "$kit/glibc/ld-linux-x86-64.so.2"
# Of the library of names: what getaddrinfo loads, where it still is a file.
for name in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2; do
  path=$(installed "$name")
  [ -z "$path" ] || cp -L "$path" "$kit/glibc/$name"
done
chmod u+w "$kit"/bin/* "$kit"/lib/* "$kit"/glibc/*
# The older kind of rpath: it holds for the libraries of libraries, too.
for file in "$kit"/bin/*; do
  # shellcheck disable=SC2016 # The loader expands it.
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$file"
done
for file in "$kit"/lib/*; do
  # shellcheck disable=SC2016
  patchelf --force-rpath --set-rpath '$ORIGIN' "$file"
done

# WHAT IT NEEDS, and that nothing else is needed.
objdump -T "$kit"/bin/* "$kit"/lib/* | grep -oE '\bGLIBC_[0-9.]+' | sort -uV > "$kit/needs/symbols"
echo "glibc $(tail -1 "$kit/needs/symbols" | cut -d_ -f2)" > "$kit/needs/glibc"
for name in $(objdump -p "$kit"/bin/* "$kit"/lib/* | awk '/NEEDED/ {print $2}' | sort -u); do
  [ -f "$kit/lib/$name" ] || [ -f "$kit/glibc/$name" ] || refuse "a program needs $name, which is not in the kit"
  echo "$name"
done > "$kit/needs/libraries"

# SOURCES AND SCRIPTS, where they lie in the tree.
for path in runtime/worker/python examples/cuda_allreduce examples/pytorch_ddp \
  tests/gpu tests/torch; do
  mkdir -p "$kit/$path"
  (cd "$source/$path" && find . -type f \( -name '*.py' -o -name '*.sh' -o -name '*.cu' \
    -o -path '*cuda_allreduce*' -o -name '*.?pp' \) -not -path '*/__pycache__/*') \
    | while read -r file; do
      [[ $path != tests/torch || $file = *.py ]] || continue
      mkdir -p "$(dirname "$kit/$path/$file")"
      cp "$source/$path/$file" "$kit/$path/$file"
    done
done
cp "$source/docs/gpu.md" "$kit/docs/"
commit=$(git -C "$source" rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
[ -z "$(git -C "$source" status --porcelain --untracked-files=no 2> /dev/null)" ] || commit+=" with changes"
echo "$commit" > "$kit/commit"

size=$(du -s --apparent-size --block-size=1000000 "$kit" | cut -f1)
[ "$size" -le $size_max ] || refuse "$kit takes $size MB, more than $size_max: the largest are" \
  "$(du -a --apparent-size --block-size=1000000 "$kit" | sort -rn | sed -n '3,7s/\t/ MB /p' | tr '\n' ';')"
echo "pack.sh: $kit takes $size MB; needs $(cat "$kit/needs/glibc") or brings its own"
