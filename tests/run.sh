#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: release, real verbs in guests
# (tests/soft_roce), AddressSanitizer with UndefinedBehaviorSanitizer, ThreadSanitizer, fuzzers.
#   tests/run.sh            release, soft_roce, asan, tsan, fuzz
#   tests/run.sh release    one stage: release | soft_roce | asan | tsan | fuzz
# TICKPATH_FUZZ_SECONDS (default 8) is the time each fuzzer gets.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(release soft_roce asan tsan fuzz)
fuzz_seconds=${TICKPATH_FUZZ_SECONDS:-8}
logs=build/logs
mkdir -p "$logs"
passed=0 failed=0 skipped=0
failures=()

say() { printf '\n== %s (%s)\n' "$1" "$(date +%T)"; }

# build PRESET [TARGET ...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" >"$logs/configure-$preset.log" 2>&1 ||
    { tail -n 30 "$logs/configure-$preset.log"; echo "configuring $preset failed"; exit 1; }
  cmake --build --preset "$preset" ${@:+--target "$@"} >"$logs/build-$preset.log" 2>&1 ||
    { grep -E 'error|FAILED' -A5 "$logs/build-$preset.log" | head -n 60; echo "building $preset failed"; exit 1; }
}

# suite PRESET [CTEST ARGUMENT ...]: runs it and adds its counts to the total.
suite() {
  local preset=$1 log="$logs/test-$1.log"
  shift
  ctest --preset "$preset" --no-tests=error "$@" 2>&1 | tee "$log" | grep -vE '^ +Start ' || true
  local bad all
  all=$(sed -nE 's/^.*tests passed, [0-9]+ tests failed out of ([0-9]+)$/\1/p' "$log")
  bad=$(sed -nE 's/^.*tests passed, ([0-9]+) tests failed out of [0-9]+$/\1/p' "$log")
  [ -n "$all" ] || { echo "the $preset suite did not finish"; exit 1; }
  passed=$((passed + all - bad))
  failed=$((failed + bad))
  skipped=$((skipped + $(grep -c '\[  SKIPPED \]' build/"$preset"/Testing/Temporary/LastTest.log || true)))
  [ "$bad" -eq 0 ] || failures+=("$preset: $bad tests, see $log")
  local each
  while read -r each; do failures+=("$preset: $each"); done < <(tests/support/failed_tests.py "$log")
}

fuzz() {
  say "fuzzers, $fuzz_seconds s each"
  build fuzz fuzzers
  local fuzzer name work
  for fuzzer in build/fuzz/fuzz/*; do
    [ -x "$fuzzer" ] || continue
    name=$(basename "$fuzzer")
    work=build/fuzz/corpus/$name
    mkdir -p "$work" # new inputs go here; the corpus in the tree is only read
    if "$fuzzer" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
      -artifact_prefix="$work/crash-" "$work" "tests/fuzz/corpus/$name" >"$logs/fuzz-$name.log" 2>&1; then
      echo "fuzz $name: $(sed -nE 's/^stat::number_of_executed_units: +//p' "$logs/fuzz-$name.log") inputs, no finding"
      passed=$((passed + 1))
    else
      tail -n 30 "$logs/fuzz-$name.log"
      failed=$((failed + 1))
      failures+=("fuzzer $name, see $logs/fuzz-$name.log")
    fi
  done
}

# Real verbs: a machine that can have no guest skips with the reason.
soft_roce() {
  local log="$logs/soft_roce.log" status=0
  say "release build"
  build release
  say "real verbs, on Soft-RoCE in guests"
  tests/soft_roce/run.sh --limit 1200 all 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
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

say "packages"
tests/support/install.sh
for stage in "${stages[@]}"; do
  case $stage in
    release)
      say "release build"
      build release
      build release all_verify_interface_header_sets
      say "release tests"
      suite release
      ;;
    soft_roce) soft_roce ;;
    asan | tsan)
      say "$stage build"
      build "$stage"
      say "$stage tests"
      left_out='bench|release_only'
      [ "$stage" = asan ] || left_out+='|one_thread'
      suite "$stage" -LE "$left_out"
      ;;
    fuzz) fuzz ;;
    *)
      echo "unknown stage $stage: release, soft_roce, asan, tsan or fuzz" >&2
      exit 2
      ;;
  esac
done

echo
for each in "${failures[@]+"${failures[@]}"}"; do echo "FAILED $each"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
