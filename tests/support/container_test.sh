#!/usr/bin/env bash
# Builds tests/support/Containerfile, as on a system that is no Debian, and runs the demo in it. The
# base image is made by debootstrap, of this system's own release and package source.
# Exit status: 0 passed, 77 cannot be done here (the reason is printed), else failed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

skip() { echo "skipped: the container is not tested: $1"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "making its base image needs root"
tests/support/install.sh buildah debootstrap git >/dev/null || skip "buildah and debootstrap could not be installed"

work=$(mktemp -d /tmp/tickpath_container.XXXXXX)
# Plain folders and no namespaces of its own: works within a container, too.
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
buildah=(buildah --root "$work/images" --runroot "$work/run")
clean_up() {
  "${buildah[@]}" rm --all >/dev/null 2>&1 || true
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT

. /etc/os-release
sources=/etc/apt/sources.list.d/debian.sources
[ -f "$sources" ] || sources=/etc/apt/sources.list
# Of a line "URIs: SOURCE" (deb822) or "deb [OPTIONS] SOURCE SUITE ...".
source=$(sed -nE 's/^(URIs:|deb( +\[[^]]*\])?) +([^ ]+).*/\3/p' "$sources" | head -n 1)
[ -n "$source" ] || skip "no package source in $sources"
echo "base image of $PRETTY_NAME"
debootstrap --variant=minbase --include=ca-certificates "$VERSION_CODENAME" "$work/base" "$source" \
  >"$work/debootstrap.log" 2>&1 || { tail -n 5 "$work/debootstrap.log"; skip "debootstrap failed"; }
rm -f "$work/base/etc/apt/sources.list"
cp "$sources" "$work/base/etc/apt/${sources#/etc/apt/}"
cp /etc/apt/apt.conf.d/99* "$work/base/etc/apt/apt.conf.d/" 2>/dev/null || true
container=$("${buildah[@]}" from scratch) || skip "buildah can make no container here"
tar -C "$work/base" -cf "$work/base.tar" .
rm -rf --one-file-system "$work/base"
"${buildah[@]}" add -q "$container" "$work/base.tar" / >/dev/null
"${buildah[@]}" commit -q "$container" localhost/tickpath_base >/dev/null
"${buildah[@]}" rm "$container" >/dev/null
rm "$work/base.tar"

git clone -q "file://$root" "$work/source" # what is committed, as a user has it
echo "building the image"
(cd "$work/source" &&
  "${buildah[@]}" build --network=host --build-arg BASE=localhost/tickpath_base -t tickpath \
    -f tests/support/Containerfile .) >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log"; echo "the image cannot be built"; exit 1; }
echo "running it"
container=$("${buildah[@]}" from tickpath)
"${buildah[@]}" run "$container" -- sim/demo.sh 2>&1 | tee "$work/demo.log"
grep -q "everything is accounted for" "$work/demo.log" || { echo "the demo did not say that everything is accounted for"; exit 1; }
echo "passed: the demo in a container"
