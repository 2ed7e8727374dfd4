#!/bin/bash
# Builds CAF's core and io from an archive of its source, and installs them.
#
#   messages/cmake/build_caf.sh [--static] ARCHIVE PREFIX [COMPILER FLAG]...
#
# ARCHIVE is what `tar` unpacks, PREFIX a folder that does not exist yet. With
# --static there are archives in it, without shared libraries. With
# -fsanitize=thread ThreadSanitizer sees what CAF synchronises (docs/testing.md).
set -euo pipefail

static=no shared=ON
if [[ ${1-} = --static ]]; then
  static=yes shared=OFF
  shift
fi
if [[ $# -lt 2 || ! -f $1 ]]; then
  echo "usage: $0 [--static] ARCHIVE PREFIX [COMPILER FLAG]..." >&2
  exit 2
fi
archive=$1
prefix=$(realpath -m -- "$2")
shift 2
if [[ -e $prefix ]]; then
  echo "$0: $prefix exists: remove it, or choose another prefix" >&2
  exit 2
fi

# Beside the prefix, which appears when it is complete.
mkdir -p "$(dirname "$prefix")"
work=$(mktemp -d "$prefix.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
tar -xf "$archive" -C "$work/source"
if [[ ! -f $work/source/CMakeLists.txt ]]; then # In a folder of its own.
  mv "$work/source" "$work/outer"
  mv "$work"/outer/* "$work/source"
fi

# 0.17 says no to parts, later ones say yes. 0.17 uses numeric_limits without
# including it, which newer compilers do not forgive. What is built does not depend
# on the name of this folder.
flags="-w -include limits -ffile-prefix-map=$work=caf $*"
cmake -S "$work/source" -B "$work/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1" \
  -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_CXX_FLAGS="$flags" \
  -DCAF_BUILD_STATIC_ONLY=$static -DBUILD_SHARED_LIBS=$shared \
  -DCAF_NO_UNIT_TESTS=yes -DCAF_NO_EXAMPLES=yes -DCAF_NO_TOOLS=yes \
  -DCAF_NO_PYTHON=yes -DCAF_NO_OPENCL=yes -DCAF_NO_OPENSSL=yes \
  -DCAF_ENABLE_TESTING=OFF -DCAF_ENABLE_EXAMPLES=OFF -DCAF_ENABLE_TOOLS=OFF \
  -DCAF_ENABLE_OPENSSL_MODULE=OFF -DCAF_ENABLE_NET_MODULE=OFF
cmake --build "$work/build" -j"${JOBS:-2}"
DESTDIR=$work/installed cmake --install "$work/build" >/dev/null
for file in "$work/installed$prefix"/lib/*_static.a; do # 0.17's names.
  [[ ! -e $file ]] || mv "$file" "${file%_static.a}.a"
done
mkdir "$work/installed$prefix/licences"
cp "$work"/source/LICENSE* "$work/installed$prefix/licences"
mv "$work/installed$prefix" "$prefix"
echo "CAF is in $prefix"
