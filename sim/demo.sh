#!/usr/bin/env bash
# Trades a recorded market through all five programs on this machine: installs what is missing,
# builds, starts the programs on config/demo, replays with a progress bar, checks that everything is
# accounted for, and ends with the tick-to-order table.
#   sim/demo.sh                      a generated recording, at its own pace
#   sim/demo.sh RECORDING            any recording that `tickpath inspect` knows, 20,000 messages/s
#   sim/demo.sh [RECORDING] -- ...   further arguments of `tickpath up`
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

recording=
if [ $# -gt 0 ] && [ "$1" != -- ]; then
  case $1 in
    -h | --help) sed -nE '2,7s/^# ?//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "demo: unknown option '$1'; arguments of \`tickpath up\` follow --, see sim/demo.sh --help" >&2; exit 2 ;;
  esac
  [ -f "$1" ] && [ -r "$1" ] || { echo "demo: cannot read the recording '$1'" >&2; exit 2; }
  recording=$(realpath "$1")
  shift
fi
[ "${1:-}" != -- ] || shift
[ $# -eq 0 ] || [[ $1 == --* ]] || { echo "demo: one recording at most; see sim/demo.sh --help" >&2; exit 2; }

cd "$root"
build=build/release
tickpath=$build/bin/tickpath
run_dir=run
mkdir -p build/logs

say() { printf '== %s\n' "$1"; }

# quietly LOG COMMAND ...: output to the log, its end to the screen on failure.
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; echo "demo: '$*' failed; all of it: $log" >&2; exit 1; }
}

say "packages"
tests/support/install.sh build

say "build"
quietly build/logs/demo-configure.log cmake --preset release
targets=(sim_program mdh_program oeg_program risk_program strategy_program tickpath_program)
if [ -t 1 ]; then
  cmake --build --preset release --target "${targets[@]}"
else
  quietly build/logs/demo-build.log cmake --build --preset release --target "${targets[@]}"
fi

up=(--run-dir "$run_dir" --until-end)
orders_min=0
if [ -z "$recording" ]; then
  # 25 seconds of a market of 100 symbols: long enough for a thousand orders, short enough to wait.
  messages=300000 symbols=100 seconds=25 seed=1
  recording=$root/build/demo-$messages-$symbols-$seconds-$seed.itch50
  orders_min=500
  if [ ! -s "$recording" ] || [ "$tickpath" -nt "$recording" ]; then
    say "generating a recording"
    quietly build/logs/demo-generate.log "$tickpath" generate "$recording.part" \
      --messages "$messages" --symbols "$symbols" --duration "$seconds" --seed "$seed"
    mv "$recording.part" "$recording"
  fi
  up+=(--set sim:replay.pace=recorded)
else
  # A recording of hours, or of days before the first trade, is not waited for.
  up+=(--set sim:replay.pace=max --set sim:replay.max_rate=20000)
fi

# A run that was killed with its exchange left orders in oeg's journal that no exchange knows any
# more: every run that ends in order, and each that failed, leaves sim's summary.
if [ -e "$run_dir/oeg.journal" ] && [ ! -e "$run_dir/sim.summary.json" ] &&
  ! pgrep -f "$tickpath up" >/dev/null; then
  say "the run before was cut off: its journal is put into $run_dir/cut-off"
  mkdir -p "$run_dir/cut-off"
  mv -f "$run_dir"/oeg.journal* "$run_dir"/*.fixstore "$run_dir/cut-off/"
fi

say "up: $recording"
# Ctrl-C ends the run in order (`up` sees it, too); what was traded until then is shown below.
trap 'orders_min=0' INT
failed=0
"$tickpath" up config/demo "${up[@]}" --set "sim:replay.file=$recording" "$@" || failed=$?
# Without a whole run the traces are of no run, or of one before.
[ "$failed" -eq 0 ] || { echo "demo: failed; logs are in $root/$run_dir" >&2; exit "$failed"; }

say "trace"
{ "$tickpath" trace "$run_dir" --orders-min "$orders_min" &&
  printf '\n' && "$tickpath" report "$run_dir" --out "$root/$run_dir/report.html"; } ||
  { failed=$?; echo "demo: failed; logs are in $root/$run_dir" >&2; exit "$failed"; }
