#!/usr/bin/env bash
# Installs the Debian packages that are missing, as root or through sudo. Does nothing, quickly, when
# they are all there.
#   tests/support/install.sh build                   what building and running the programs needs
#   tests/support/install.sh build tests             what the tests need, too
#   tests/support/install.sh browser                 what the tests of pages need besides: 100 MB to fetch
#   tests/support/install.sh build [tests] [browser] PACKAGE ...   further packages
# TICKPATH_INSTALL=no: installs nothing; for systems on which everything was installed by hand.
# TICKPATH_OS_RELEASE: another file than /etc/os-release, for tests of this script.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

names() { grep -Ev '^[[:space:]]*(#|$)' "$here/packages_$1.txt"; }

# What a system without these packages must bring, in the words of the libraries' own projects.
other_system() {
  cat >&2 <<TEXT
tickpath is built and tested on Debian 12 and 13 on x86-64; this is $1.

It needs, here in Debian's names (Debian 12 has gcc 12, CMake 3.25, Boost 1.74):
  to build and run:  $(names build | tr '\n' ' ')
  for the tests:     $(names tests | tr '\n' ' ')
that is a C++20 compiler, CMake 3.25 or newer, Ninja, rdma-core (libibverbs, librdmacm), libfabric 1.17, Boost (Asio),
OpenSSL 3, QuickFIX 1.15, spdlog with fmt, toml++, CLI11, nlohmann-json, libpcap, zlib and zstd.

Either install these and run the command again with TICKPATH_INSTALL=no, or use a container:
  podman build -t tickpath -f tests/support/Containerfile . && podman run --rm tickpath
TEXT
  exit 1
}

[ "${TICKPATH_INSTALL:-yes}" != no ] || exit 0
[ "$(uname -m)" = x86_64 ] || other_system "$(uname -s) on $(uname -m)"
system=$(. "${TICKPATH_OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo ${ID:-} ${VERSION_ID:-}) || system=
case $system in
  "debian 12" | "debian 13") ;;
  *) other_system "${system:-an unknown system}" ;;
esac

wanted=()
for each in "$@"; do
  case $each in
    build | tests | browser) mapfile -t -O "${#wanted[@]}" wanted < <(names "$each") ;;
    *) wanted+=("$each") ;;
  esac
done
missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
    missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "not root and no sudo: run as root: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update &&
       "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "installing packages failed" >&2
  exit 1
fi
