#!/usr/bin/env bash
# Installs what is missing, builds, and runs tests.
#   tests/run.sh              what a user runs: units, conformance on shm, a pipeline of each kind, and a smoke of
#                             every other stage (a sanitizer, fuzzers, a guest with verbs)
#   tests/run.sh all          everything, as continuous integration does
#   tests/run.sh STAGE ...    release | soft_roce | asan | fuzz | tsan | headers | container, whole: see
#                             docs/CONTRIBUTING.md
# TICKPATH_FUZZ_SECONDS (default 8, smoke 2) is the time each fuzzer gets, TICKPATH_FUZZ_SEED (default
# 1, so that a run can be repeated; 0: another one each time) what it begins with.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
case ${1:-} in
  -h | --help) sed -nE '2,9s/^# ?//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  "") stages=(quick_release quick_sanitizers quick_guest) bound_minutes=15 ;; # 12 after the demo
  all) [ $# -eq 1 ] || { echo "run.sh: 'all' stands alone" >&2; exit 2; }
    limit_minutes=${TICKPATH_LIMIT_MINUTES:-60}
    stages=(all_release asan fuzz tsan headers) bound_minutes=45 ;;
  *) stages=("$@") bound_minutes=0 ;;
esac
for stage in "${stages[@]}"; do
  case $stage in
    quick_release | quick_sanitizers | quick_guest | all_release) ;;
    release | soft_roce | asan | fuzz | tsan | headers | container) ;;
    *) echo "run.sh: unknown stage '$stage'; see tests/run.sh --help" >&2; exit 2 ;;
  esac
done
logs=build/logs
mkdir -p "$logs"
stage_log=$logs/stages.tsv
printf 'command\t%s\n' "tests/run.sh${1:+ $*}" >"$stage_log"
passed=0 failed=0 skipped=0
failures=()
shares=()
part_started=$SECONDS

say() { printf '\n== %s (%s)\n' "$1" "$(date +%T)"; }

# Of all processors since boot, in ticks: busy and idle (proc(5), /proc/stat).
processor_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $5 + $6 }' /proc/stat; }
read -r busy_then idle_then < <(processor_ticks)

# share NAME: what was done since the last call took that long, and kept the processors so busy.
share() {
  local took=$((SECONDS - part_started)) busy idle
  read -r busy idle < <(processor_ticks)
  local all=$((busy - busy_then + idle - idle_then))
  shares+=("$(printf '%-34s %3d min %02d s %4d %% busy' "$1" $((took / 60)) $((took % 60)) \
    $((100 * (busy - busy_then) / (all > 0 ? all : 1))))")
  busy_then=$busy idle_then=$idle
  printf 'stage\t%s\t%d\n' "$1" "$took" >>"$stage_log"
  part_started=$SECONDS
}

# compile PRESET TARGET ...
compile() {
  local preset=$1
  shift
  cmake --preset "$preset" -DTICKPATH_TESTS=ON >"$logs/configure-$preset.log" 2>&1 ||
    { tail -n 30 "$logs/configure-$preset.log"; echo "configuring $preset failed"; return 1; }
  cmake --build --preset "$preset" --target "$@" >"$logs/build-$preset.log" 2>&1 ||
    { grep -E 'error|FAILED' -A5 "$logs/build-$preset.log" | head -n 60; echo "building $preset failed"; return 1; }
}

# build_ahead PRESET:TARGET,TARGET ... : one after the other, beside guests, on what these leave of the processors: they sleep
# two fifths of their time. Idle scheduling, so that a program which wakes up does not wait. Linux divides processors by
# sessions first (sched(7), autogroup), so this is one of its own, of the least weight.
ahead= ahead_presets=
build_ahead() {
  ahead_presets=" $* "
  rm -f "$logs"/ahead-*.status
  export logs
  export -f compile
  setsid bash -c '
    { echo 19 >/proc/self/autogroup; } 2>/dev/null || true
    chrt --idle --pid 0 $$ >/dev/null || renice -n 19 $$ >/dev/null
    for each in "$@"; do
      IFS=, read -ra targets <<<"${each#*:}"
      status=0
      compile "${each%%:*}" "${targets[@]}" >"$logs/ahead-${each%%:*}.log" 2>&1 || status=$?
      echo "$status" >"$logs/ahead-${each%%:*}.status"
    done' build_ahead "$@" &
  ahead=$!
}

# await PRESET: what was begun ahead has ended, well or not.
await() {
  [[ $ahead_presets == *" $1:"* ]] || return 0
  while [ ! -e "$logs/ahead-$1.status" ] && kill -0 "$ahead" 2>/dev/null; do sleep 1; done
  [ "$(cat "$logs/ahead-$1.status" 2>/dev/null)" = 0 ] || { cat "$logs/ahead-$1.log"; return 1; }
}

# build PRESET TARGET ...: waits for it where it was begun ahead.
build() {
  local preset=$1
  say "$preset build"
  await "$preset" || exit 1
  compile "$@" || exit 1
  share "$preset build"
}

# Far beyond its bound a run ends itself and says so, before whoever waits for it gives up without a word.
limit_minutes=${limit_minutes:-0} watcher=
end_at_the_limit() {
  sleep "${limit_minutes}m" || return 0 # ended by at_exit
  touch "$logs/over-the-limit"
  local child
  while :; do
    for child in $(cat "/proc/$$/task/$$/children"); do
      [ "$child" = "$BASHPID" ] || kill "$child" 2>/dev/null || true
    done
    sleep 1
  done
}
at_exit() {
  [ -z "$ahead" ] || kill -- "-$ahead" 2>/dev/null || true
  [ -z "$ahead" ] || kill -CONT -- "-$ahead" 2>/dev/null || true
  [ -z "$watcher" ] || kill $(cat "/proc/$watcher/task/$watcher/children") "$watcher" 2>/dev/null || true
  [ -e "$logs/over-the-limit" ] || return 0
  printf '%s\n' "${shares[@]+"${shares[@]}"}"
  echo "stopped: this run took $limit_minutes minutes, its bound is $bound_minutes. The stages above ended; the next one did not."
}
rm -f "$logs/over-the-limit"
trap at_exit EXIT

# suite PRESET [CTEST ARGUMENT ...]: runs it and adds its counts to the total. None minds company: four at
# a time, for many wait; sanitized ones three, which compute more.
suite() {
  local preset=$1 log="$logs/test-$1.log" at_a_time=4
  shift
  case $preset in asan | tsan) at_a_time=3 ;; esac
  say "$preset tests"
  # Disks and caches are shared whatever the priority, and tests of this machine's own programs feel that.
  [ -z "$ahead" ] || kill -STOP -- "-$ahead" 2>/dev/null || true
  ctest --preset "$preset" --parallel "$at_a_time" --no-tests=error "$@" 2>&1 | tee "$log" | grep --line-buffered -vE '^ +Start ' || true
  [ -z "$ahead" ] || kill -CONT -- "-$ahead" 2>/dev/null || true
  local bad all
  all=$(sed -nE 's/^.*tests passed, [0-9]+ tests failed out of ([0-9]+)$/\1/p' "$log")
  bad=$(sed -nE 's/^.*tests passed, ([0-9]+) tests failed out of [0-9]+$/\1/p' "$log")
  [ -n "$all" ] || { echo "the $preset suite did not finish"; exit 1; }
  local left
  left=$(grep -c '[*]Skipped ' "$log" || true)
  passed=$((passed + all - bad - left))
  failed=$((failed + bad))
  local folder=$preset
  [ "$preset" != ci ] || folder=release # the same build, warnings are errors
  local told
  told=$(grep -c '\[  SKIPPED \]' "build/$folder/Testing/Temporary/LastTest.log") || told=${told:-0}
  skipped=$((skipped + left + told))
  [ "$bad" -eq 0 ] || failures+=("$preset: $bad tests, see $log")
  local each
  while read -r each; do failures+=("$preset: $each"); done < <(tests/support/failed_tests.py "$log")
  share "$preset tests"
}

# fuzz_one FUZZER SECONDS: its corpus first, then new inputs for so long. What it tries depends on the
# seed alone if addresses are the same each time and nothing is read again after a second.
fuzz_one() {
  local name=$(basename "$1") repeatable=()
  local work=build/asan/corpus/$name
  ! setarch -R true 2>/dev/null || repeatable=(setarch -R)
  rm -rf "$work"
  mkdir -p "$work" # new inputs go here; the corpus in the tree is only read
  "${repeatable[@]}" "$1" -max_total_time="$2" -seed="${TICKPATH_FUZZ_SEED:-1}" -reload=0 \
    -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$work-" "$work" \
    "tests/fuzz/corpus/$name" >"$logs/fuzz-$name.log" 2>&1
}

# finding FUZZER: where it stopped, in our code, and by what input.
finding() {
  local log=$logs/fuzz-$1.log
  grep -E '^(==[0-9]+==ERROR|SUMMARY)' "$log" | head -n 1
  grep -E '^ +#[0-9]+ .*(common|mdh|strategy|oeg|risk|sim|tools|tests)/.*:[0-9]+' "$log" | head -n 6
  sed -nE 's/^Base64: /  input, base64: /p' "$log"
}

# fuzz SECONDS: every fuzzer, two at a time.
fuzz() {
  local seconds=$1 name i
  local -a fuzzers pids
  say "fuzzers, $seconds s each"
  mapfile -t fuzzers < <(find build/asan/fuzz -maxdepth 1 -type f -executable | sort)
  [ ${#fuzzers[@]} -gt 0 ] || { echo "there are no fuzzers"; exit 1; }
  for ((i = 0; i < ${#fuzzers[@]}; ++i)); do
    fuzz_one "${fuzzers[i]}" "$seconds" &
    pids[i]=$!
    ((i < 1)) || wait "${pids[i - 1]}" || true
  done
  for ((i = 0; i < ${#fuzzers[@]}; ++i)); do
    name=$(basename "${fuzzers[i]}")
    if wait "${pids[i]}"; then
      echo "fuzz $name: $(sed -nE 's/^stat::number_of_executed_units: +//p' "$logs/fuzz-$name.log") inputs, no finding"
      passed=$((passed + 1))
    else
      tail -n 30 "$logs/fuzz-$name.log"
      failed=$((failed + 1))
      failures+=("fuzzer $name, see $logs/fuzz-$name.log: $(finding "$name")")
    fi
  done
  share "fuzzers"
}

# guests SET ...: real verbs. A machine that can have no guest skips with the reason.
guests() {
  local log="$logs/soft_roce.log" status=0
  say "real verbs, on Soft-RoCE in guests"
  tests/soft_roce/run.sh --limit 1500 "$@" 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
  share "guests"
  if [ "$status" -eq 77 ]; then
    echo "skipped: real verbs, for the reason above"
    skipped=$((skipped + 1))
    return
  fi
  local counts
  counts=$(sed -nE 's/^soft_roce: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped.*/\1 \2 \3/p' "$log")
  [ -n "$counts" ] || { failed=$((failed + 1)); failures+=("soft_roce did not finish, see $log"); return; }
  local good bad left
  read -r good bad left <<<"$counts"
  passed=$((passed + good))
  failed=$((failed + bad))
  skipped=$((skipped + left))
  [ "$bad" -eq 0 ] || failures+=("soft_roce: $bad tests, see $log")
  local each
  while read -r each; do failures+=("soft_roce: $each"); done < <(sed -nE 's/^FAILED ([a-z_]+: .*)/\1/p' "$log")
}

# What the user of another system does.
container() {
  local log="$logs/container.log" status=0
  say "a container"
  tests/support/container_test.sh 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
  share "container"
  case $status in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)); failures+=("container, see $log") ;;
  esac
}

say "packages"
wanted=(build tests)
# The tests that look at pages are not among those of a run without a stage.
[[ " ${stages[*]} " != *release* || " ${stages[*]} " == *quick_release* ]] || wanted+=(browser)
tests/support/install.sh "${wanted[@]}"
# What guests boot from is fetched while others compile; whoever needs it waits and says what is wrong.
fetching=
if [[ " ${stages[*]} " =~ (guest|soft_roce|all_release) ]]; then
  tests/soft_roce/prepare.sh >"$logs/prepare.log" 2>&1 &
  fetching=$!
fi
share "packages"

speed=$(tests/support/machine_speed.sh)
printf 'speed\t%s\n' "$speed" >>"$stage_log"
echo "this machine takes $speed times as long to compile as the one that the bounds are for"
if [ "$limit_minutes" != 0 ]; then
  limit_minutes=$(awk -v limit="$limit_minutes" -v speed="$speed" 'BEGIN { print limit * (speed > 1 ? speed : 1) }')
  end_at_the_limit &
  watcher=$!
fi

# The smoke of the sanitizers and the fuzzers.
quick_sanitized=(fuzz_fix fuzz_itch fuzz_moldudp64 unit_net_secure)
ended=0
for stage in "${stages[@]}"; do
  case $stage in
    quick_release)
      build release tickpath_quick_tests
      build_ahead "asan:$(IFS=,; echo "${quick_sanitized[*]}")"
      suite release -LE 'bench|fault|variant'
      ;;
    quick_sanitizers)
      build asan "${quick_sanitized[@]}"
      suite asan -R '^unit_net_secure$'
      fuzz "${TICKPATH_FUZZ_SECONDS:-2}"
      ;;
    quick_guest)
      [ -z "$fetching" ] || wait "$fetching" || true
      guests check interop
      ;;
    all_release) # what the stages behind it compile: on what guests leave
      build ci all
      build_ahead asan:tickpath_tests,fuzzers tsan:tickpath_tests ci:all_verify_interface_header_sets
      [ -z "$fetching" ] || wait "$fetching" || true
      guests all
      suite ci -LE quick_only
      ;;
    headers) build ci all_verify_interface_header_sets ;;
    release)
      build ci all all_verify_interface_header_sets
      suite ci -LE quick_only
      ;;
    asan)
      build asan tickpath_tests fuzzers
      suite asan -LE quick_only
      ;;
    fuzz)
      build asan fuzzers
      fuzz "${TICKPATH_FUZZ_SECONDS:-8}"
      ;;
    tsan)
      build tsan tickpath_tests
      suite tsan -LE quick_only
      ;;
    soft_roce)
      [ -z "$fetching" ] || wait "$fetching" || true
      build ci tickpath_tests
      guests all
      ;;
    container) container ;;
  esac
  ended=$((ended + 1))
done
# bash leaves a loop whose arithmetic fails, and goes on behind it.
[ "$ended" -eq ${#stages[@]} ] || { echo "run.sh: not every stage ran"; exit 1; }

printf '\n'
printf '%s\n' "${shares[@]}"
printf '%-34s %3d min %02d s' "all of it" $((SECONDS / 60)) $((SECONDS % 60))
if [ "$bound_minutes" -gt 0 ]; then
  bound_here=$(awk -v bound="$bound_minutes" -v speed="$speed" 'BEGIN { printf "%d", bound * 60 * speed }')
  printf ' (bound: %d min on a machine of speed 1.00, %d min here)' "$bound_minutes" $((bound_here / 60))
  [ "$SECONDS" -le "$bound_here" ] ||
    printf '\nbeyond its bound: what became slow? tests/support/build_times.py lists the files'
fi
printf '\n'
tests/support/stage_times.py compare || echo "the stages could not be compared with tests/bench/RESULTS.md"
printf '\n'
for each in "${failures[@]+"${failures[@]}"}"; do echo "FAILED $each"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
