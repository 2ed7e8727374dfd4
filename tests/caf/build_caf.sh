#!/bin/bash
# Builds CAF's core and io from an archive of its source, and installs them.
#
#   tests/caf/build_caf.sh ARCHIVE PREFIX [COMPILER FLAG]...
#
# ARCHIVE is what `tar` unpacks, PREFIX a folder that does not exist yet. With
# -fsanitize=thread ThreadSanitizer sees what CAF synchronises (docs/testing.md).
set -euo pipefail

if [[ $# -lt 2 || ! -f $1 ]]; then
  echo "usage: $0 ARCHIVE PREFIX [COMPILER FLAG]..." >&2
  exit 2
fi
archive=$1
prefix=$(realpath -m -- "$2")
shift 2
if [[ -e $prefix ]]; then
  echo "$0: $prefix exists: remove it, or choose another prefix" >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
tar -xf "$archive" -C "$work/source"
if [[ ! -f $work/source/CMakeLists.txt ]]; then # In a folder of its own.
  mv "$work/source" "$work/outer"
  mv "$work"/outer/* "$work/source"
fi

# 0.17 says no to parts, later ones say yes. 0.17 uses numeric_limits without
# including it, which newer compilers do not forgive.
cmake -S "$work/source" -B "$work/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_CXX_FLAGS="-w -include limits $*" \
  -DCAF_NO_UNIT_TESTS=yes -DCAF_NO_EXAMPLES=yes -DCAF_NO_TOOLS=yes \
  -DCAF_NO_PYTHON=yes -DCAF_NO_OPENCL=yes -DCAF_NO_OPENSSL=yes \
  -DCAF_ENABLE_TESTING=OFF -DCAF_ENABLE_EXAMPLES=OFF -DCAF_ENABLE_TOOLS=OFF \
  -DCAF_ENABLE_OPENSSL_MODULE=OFF -DCAF_ENABLE_NET_MODULE=OFF
cmake --build "$work/build" -j"${JOBS:-2}"
cmake --install "$work/build"
echo "CAF is in $prefix"
