#!/usr/bin/env bash
# Runs the pipeline under full CPU load and counts false alarms of the heartbeats.
#   tests/fault/soak.sh [SECONDS]     default 600
# TICKPATH_SOAK_NICE=19 lowers the busy processes.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
binary=$root/build/release/tests/fault_soak
[ -x "$binary" ] || { echo "not built: cmake --preset release && ninja -C build/release" >&2; exit 1; }
TICKPATH_BIN=$root/build/release/bin TICKPATH_SOURCE=$root "$binary" "${1:-600}"
