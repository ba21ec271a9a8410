#!/usr/bin/env bash
# Prints the fault table: each program killed and stopped in a running pipeline, who notices, within
# what bound, in what time, and whether it all comes back.
#   tests/fault/table.sh [--provider shm|verbs]
# verbs needs an RDMA device with an address: TICKPATH_VERBS_ADDRESS, 10.77.0.1 if not set
# (tests/soft_roce/guest.py -- tests/fault/table.sh --provider verbs runs it in a guest).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
provider=shm
case ${1:-} in
  --provider) provider=${2:?--provider needs shm or verbs} ;;
  "") ;;
  *) sed -nE '2,6s/^# ?//p' "$0"; exit 2 ;;
esac
binary=$root/build/release/tests/fault_programs
[ -x "$binary" ] || { echo "not built: cmake --preset release && ninja -C build/release" >&2; exit 1; }
log=$(mktemp)
table=$(mktemp)
trap 'rm -f "$log" "$table"' EXIT
if TICKPATH_PROVIDER=$provider TICKPATH_BIN=$root/build/release/bin TICKPATH_SOURCE=$root \
  TICKPATH_FAULT_TABLE=$table "$binary" >"$log" 2>&1; then
  cat "$table"
else
  cat "$log"
  exit 1
fi
