#!/usr/bin/env bash
# Builds the kernel's Soft-iWARP module, which Debian's kernels leave out, for the guests' kernel.
#   tests/soft_roce/siw_module.sh KERNEL_FOLDER MODULE
# From the source package of that very kernel (the driver's folder of it) against its headers: both
# are fetched and unpacked, nothing of them is installed. Does nothing where MODULE is there. Exit
# status 77: not possible on this machine, the reason on standard output.
set -euo pipefail
root=$1 module=$2
release=$(basename "$(ls -d "$root"/lib/modules/*)")
[ ! -s "$module" ] || exit 0

work=$(mktemp -d "$module.XXXXXX")
trap 'rm -rf "$work"' EXIT
cannot() { echo "$*"; exit 77; }

# "6.1" or "6.12.48+deb13": the names of source and build tools have it, and the image its version.
version=$(grep -aoE 'Debian [0-9]+\.[^ ]+' "$root"/boot/vmlinuz-* | head -n 1 | cut -d ' ' -f 2)
[ -n "$version" ] || cannot "the kernel $release does not tell which version of Debian's it is"
series=$(cut -d . -f 1,2 <<<"$release")
mapfile -t headers < <(apt-cache depends "linux-headers-$release" 2>/dev/null |
  sed -nE 's/^ *Depends: (linux-(headers|kbuild)-.*)$/\1/p')
[ ${#headers[@]} -ge 2 ] || cannot "apt knows no linux-headers-$release (apt-get update?)"
for package in "linux-source-$series=$version" "linux-headers-$release" "${headers[@]}"; do
  (cd "$work" && apt-get download -q "$package") >"$work/log" 2>&1 ||
    cannot "$package cannot be fetched: $(grep -v '^W:' "$work/log" | tail -n 1)"
done

for each in "$work"/linux-{headers,kbuild}-*.deb; do dpkg-deb -x "$each" "$work/root"; done
driver=drivers/infiniband/sw/siw
dpkg-deb --fsys-tarfile "$work"/linux-source-*.deb | tar -xO "./usr/src/linux-source-$series.tar.xz" |
  tar -xJ -C "$work" --wildcards "*/$driver" || cannot "the source package has no $driver"
build=$work/root/usr/src/linux-headers-$release
sed -i "s|^include /usr/src|include $work/root/usr/src|" "$build/Makefile"
make -C "$build" M="$work/linux-source-$series/$driver" CONFIG_RDMA_SIW=m modules >"$work/log" 2>&1 ||
  cannot "it does not compile: $(grep -iE 'error|not found' "$work/log" | head -n 1)"
strip --strip-debug -o "$work/siw.ko" "$work/linux-source-$series/$driver/siw.ko"
mv "$work/siw.ko" "$module"
