#!/usr/bin/env python3
"""The ten slowest steps of a build, from ninja's log, and what is over the budget of docs/CONTRIBUTING.md.

  tests/support/build_times.py [FOLDER]      default: build/release; after a cold build without ccache

Exit status 1: a step is over the budget of SECONDS_MAX.
"""
import pathlib
import sys

SECONDS_MAX = 90  # one file, on one of two slow cores
SHOWN = 10


def steps(log):
    """Output -> seconds of its last build."""
    times = {}
    for line in log.read_text().splitlines():
        if line.startswith("#"):
            continue
        start, end, _, output, _ = line.split("\t")
        times[output] = (int(end) - int(start)) / 1000
    return times


def slowest(log):
    """(output, seconds), slowest first."""
    return sorted(steps(log).items(), key=lambda each: -each[1])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    log = folder / ".ninja_log"
    if not log.is_file():
        print(f"{log}: no such file; build first, or name the build's folder", file=sys.stderr)
        return 2
    times = steps(log)
    for output, seconds in slowest(log)[:SHOWN]:
        print(f"{seconds:6.1f} s  {output}")
    print(f"{sum(times.values()):6.0f} s  all {len(times)} steps, one after the other")
    over = [output for output, seconds in times.items() if seconds > SECONDS_MAX]
    for output in over:
        print(f"over the budget of {SECONDS_MAX} s: {output}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
