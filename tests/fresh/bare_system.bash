# Sourced by the scripts beside it: makes a Debian with only its smallest base
# system, and runs commands in it as a container does (pivot_root, own mounts and
# processes). Removes it when the script ends, also after Ctrl-C.
#
# The script has set $suite, and says what the variables are that it reads: MIRROR,
# FRESH_BASES, CCACHE_DIR, TMPDIR. $bare_packages are more packages for the system,
# with commas, and $bare_name tells bases with other ones apart.

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

[ "$(id -u)" = 0 ] || fail "only root can make a system and enter it; use sudo"
for tool in apt-get debootstrap git unshare; do
  command -v $tool >/dev/null || fail "there is no $tool here; install it"
done
[ -f /usr/share/keyrings/debian-archive-keyring.gpg ] \
  || fail "Debian's keys are not here; install debian-archive-keyring"

mirror_of() { # LABEL
  local uris
  # shellcheck disable=SC2016 # apt-get expands it.
  uris=$(apt-get indextargets --format '$(REPO_URI)' "Label: $1")
  echo "${uris%%$'\n'*}"
}
mirror=${MIRROR:-$(mirror_of Debian)}
[ -n "$mirror" ] || fail "apt knows no mirror of Debian; run apt-get update," \
  "or name a mirror: MIRROR=http://HOST/debian"

for folder in "${CCACHE_DIR:-/}" "${FRESH_BASES:-/}" "${TMPDIR:-/var/tmp}"; do
  [[ $folder = /* && -d $folder ]] \
    || fail "'$folder' is not the absolute path of a folder"
done
work=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-$suite.XXXXXX")
root=$work/root

# All processes of the system die with its first one, and its mounts go with
# them; files may stay open for a moment.
apart_pid=
cleanup() {
  trap '' INT TERM HUP
  if [ -n "$apart_pid" ]; then
    disown "$apart_pid" # Bash would report its death.
    kill -KILL "$apart_pid" 2>/dev/null || true
  fi
  for _ in 1 2 3 4 5; do
    rm -rf --one-file-system "$work" 2>/dev/null && return
    sleep 1
  done
  echo "$(basename "$0"): cannot remove $work" >&2
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# In the background, so that a signal is not kept waiting for its end.
apart() { # COMMAND...
  env --default-signal=INT,QUIT \
    unshare --mount --pid --fork --kill-child "$@" </dev/null &
  apart_pid=$!
  local status=0
  wait $apart_pid || status=$?
  apart_pid=
  return $status
}

step() { # NAME COMMAND...
  local start=$SECONDS status=0
  "${@:2}" || status=$?
  echo "== $1: $((SECONDS - start)) s, exit code $status"
  return $status
}

bare_system() {
  local packages=$bare_packages kept=${FRESH_BASES:+$FRESH_BASES/$suite$bare_name.tar}
  mkdir "$root"
  if [ -n "$kept" ] && [ -f "$kept" ]; then
    tar -C "$root" -xpf "$kept"
    return
  fi
  [[ $mirror != https:* ]] || packages+=${packages:+,}ca-certificates
  apart debootstrap --variant=minbase ${packages:+--include=$packages} \
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    "$suite" "$root" "$mirror" >"$work/log" 2>&1 \
    || { tail -n 5 "$work/log" >&2; return 1; }
  [ -z "$kept" ] || tar -C "$root" -cf "$kept" .
}

# Sets up what an installer would: names, package sources, a proxy.
settings() {
  local security
  security=$(mirror_of Debian-Security)
  cp /etc/hosts /etc/resolv.conf "$root/etc/"
  apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90host"
  echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
  case $suite in sid | unstable) return ;; esac
  echo "deb $mirror $suite-updates main" >>"$root/etc/apt/sources.list"
  [ -z "$security" ] \
    || echo "deb $security $suite-security main" >>"$root/etc/apt/sources.list"
}

# Becomes the first process of the system.
enter_root() { # ROOT
  mount --bind "$1" "$1"
  cd "$1"
  mount -t proc proc proc
  mount --rbind /sys sys
  mount --rbind /dev dev
  mount -t tmpfs tmpfs dev/shm
  if [ -n "${CCACHE_DIR:-}" ]; then
    mkdir -p root/.cache/ccache
    mount --bind "$CCACHE_DIR" root/.cache/ccache
  fi
  pivot_root . mnt
  cd /
  umount --lazy mnt
}

fresh_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export fresh_path
export -f step enter_root
