#!/usr/bin/env bash
# Prints the fault table: each program killed and stopped in a running pipeline, who notices, within
# what bound, in what time, and whether it all comes back.
#   tests/fault/table.sh [--provider shm|verbs]
#   tests/fault/table.sh --verbs     the whole table: shm here, then verbs (rxe) in one guest and between
#                                    two, where links, loss, devices and whole hosts fail too; 6 to 15 minutes
# --provider verbs needs an RDMA device with an address: TICKPATH_VERBS_ADDRESS, 10.77.0.1 if not set
# (tests/soft_roce/guest.py -- tests/fault/table.sh --provider verbs runs it in a guest).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
provider=shm guests=no
case ${1:-} in
  --provider) provider=${2:?--provider needs shm or verbs} ;;
  --verbs) guests=yes ;;
  "") ;;
  *) sed -nE '2,9s/^# ?//p' "$0"; exit 2 ;;
esac
binary=$root/build/release/tests/fault_programs
[ -x "$binary" ] || { echo "not built: cmake --preset release && ninja -C build/release" >&2; exit 1; }
log=$(mktemp)
table=$(mktemp)
trap 'rm -f "$log" "$table"' EXIT

# Programs of this machine, on one provider.
here() {
  if TICKPATH_PROVIDER=$provider TICKPATH_BIN=$root/build/release/bin TICKPATH_SOURCE=$root \
    TICKPATH_FAULT_TABLE=$table "$binary" --gtest_filter=-ProgramDeath.*:OegRestart.* >"$log" 2>&1; then
    cat "$table"
  else
    cat "$log"
    return 1
  fi
}

# rxe in guests; their rows are in the results also when a later fault was not survived.
in_guests() {
  local results=$root/build/release/fault_table status=0
  rm -rf "$results"
  "$root/tests/soft_roce/run.sh" --results "$results" faults faults_two >"$log" 2>&1 || status=$?
  [ ! -e "$results/faults/table.md" ] || cat "$results/faults/table.md"
  [ "$status" -eq 0 ] || grep -E '^(FAILED|soft_roce)' "$log" >&2
  return "$status"
}

[ "$guests" = no ] || printf 'shm, this machine:\n\n'
status=0
here || status=$?
if [ "$guests" = yes ]; then
  printf '\nverbs (rxe), in emulated machines; bounds are scaled with heartbeat.dead_after, see docs/FAULTS.md:\n\n'
  in_guests || status=$?
fi
exit "$status"
