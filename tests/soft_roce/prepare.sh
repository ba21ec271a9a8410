#!/usr/bin/env bash
# Prepares what a guest boots from, once, and prints the folder that holds it: vmlinuz, initrd and, where
# the guests can have no iWARP device (siw), siw.missing, which says why.
#   tests/soft_roce/prepare.sh
# Installs the packages of packages.txt; takes Debian's kernel package (nothing of it is installed),
# builds the module that it lacks (siw_module.sh) and keeps both in ${XDG_CACHE_HOME:-~/.cache}/tickpath/soft_roce,
# so that later runs need no network.
# Exit status 77: not possible on this machine, the reason on standard error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tickpath/soft_roce
# crc32_generic comes first: without it rxe refuses its device ("failed to add") and says no more.
modules=(crc32_generic virtio_pci virtio_console 9p 9pnet_virtio dummy veth virtio_net sch_netem sch_prio cls_u32
  rdma_rxe ib_uverbs rdma_ucm libcrc32c crc32c_generic)

cannot() { echo "soft_roce: $*" >&2; exit 77; }

mapfile -t packages < <(grep -Ev '^[[:space:]]*(#|$)' "$here/packages.txt")
"$here/../support/install.sh" "${packages[@]}" >&2 || cannot "its packages cannot be installed: ${packages[*]}"
[ "$(uname -m)" = x86_64 ] || cannot "the guests are x86-64"

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # two runs that start together fetch once

# The kernel package, unpacked. linux-image-amd64 names the real one; the cloud kernels have no rxe.
fetch_kernel() {
  local package work=$cache/fetch.$$
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -nE 's/^ *Depends: (linux-image-[0-9].*)$/\1/p' | head -n 1)
  [ -n "$package" ] || cannot "no kernel cached in $cache, and apt knows no linux-image-amd64 (apt-get update?)"
  rm -rf "$work"
  mkdir -p "$work"
  (cd "$work" && apt-get download -q "$package") >"$cache/fetch.log" 2>&1 ||
    { rm -rf "$work"; cannot "no kernel cached in $cache, and $package cannot be fetched: $(tail -n 1 "$cache/fetch.log")"; }
  dpkg-deb -x "$work"/*.deb "$work/root"
  # From Debian 13 on modules are below /usr/lib, and kmod looks below /lib.
  [ -d "$work/root/lib/modules" ] || ln -s usr/lib "$work/root/lib"
  mv "$work/root" "$cache/$package"
  rm -rf "$work"
  ln -sfn "$package" "$cache/kernel"
}

[ -d "$cache/kernel/boot" ] || fetch_kernel
root=$cache/kernel
release=$(basename "$(ls -d "$root"/lib/modules/*)")
siw=$cache/siw-$release.ko
without_siw=$("$here/siw_module.sh" "$root" "$siw" 2>&1) || echo "soft_roce: no siw: $without_siw" >&2

# The initramfs: busybox, the modules in the order of their dependencies, and guest/init.
make_initrd() {
  local work each
  work=$(mktemp -d "$cache/initrd.XXXXXX")
  mkdir -p "$work"/{bin,modules,proc,sys,dev,host,results,keep}
  cp "$(command -v busybox)" "$work/bin/busybox"
  [ -e "$root/lib/modules/$release/modules.dep" ] || depmod -b "$root" "$release"
  for each in "${modules[@]}"; do
    modprobe -d "$root" -S "$release" --show-depends "$each"
  done | sed -nE 's/^insmod ([^ ]+).*/\1/p' | awk '!seen[$0]++' >"$work/list"
  while read -r each; do
    # busybox loads plain modules only; those of Debian 13 are compressed.
    case $each in
      *.xz) xz -dc "$each" >"$work/modules/$(basename "$each" .xz)" ;;
      *) cp "$each" "$work/modules/" ;;
    esac
    basename "$each" .xz >>"$work/modules/order"
  done <"$work/list"
  rm "$work/list"
  # Not in the order: guest/init loads it where it is asked for.
  [ ! -s "$siw" ] || cp "$siw" "$work/modules/siw.ko"
  install -m 755 "$here/guest/init" "$work/init"
  (cd "$work" && find . -print0 | cpio --null -o -H newc --quiet | gzip -1) >"$cache/$1.new"
  mv "$cache/$1.new" "$cache/$1"
  rm -rf "$work"
}

parts=("$here/guest/init" "$(command -v busybox)")
[ ! -s "$siw" ] || parts+=("$siw")
mark=$(printf '%s\n' "${modules[@]}" "$release" | cat - "${parts[@]}" | sha256sum | cut -c1-16)
[ -s "$cache/initrd.$mark" ] || make_initrd "initrd.$mark"
mkdir -p "$cache/ready.$mark"
ln -sfn "$(readlink -f "$root"/boot/vmlinuz-*)" "$cache/ready.$mark/vmlinuz"
ln -sfn "../initrd.$mark" "$cache/ready.$mark/initrd"
rm -f "$cache/ready.$mark/siw.missing"
[ -s "$siw" ] || echo "$without_siw" >"$cache/ready.$mark/siw.missing"
echo "$cache/ready.$mark"
