#!/usr/bin/env python3
"""How long the stages of a run of tests/run.sh took, beside those that tests/bench/RESULTS.md keeps.

  tests/support/stage_times.py compare    says which stage takes a tenth longer than there, the machine's speed taken into account
  tests/support/stage_times.py keep       writes this run, and the ten slowest files of its builds, into RESULTS.md

Reads build/logs/stages.tsv, which a run leaves. To keep: a run without arguments or of `all`, with nothing cached.
"""
import datetime
import pathlib
import re
import subprocess
import sys

import build_times

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = ROOT / "build/logs/stages.tsv"
RESULTS = ROOT / "tests/bench/RESULTS.md"
GROWN = 1.1
SECONDS_MIN = 10  # what takes less is noise


class Run:
    def __init__(self, command, speed, seconds):
        self.command, self.speed, self.seconds = command, speed, seconds  # seconds: by stage


def read_run(text):
    """Lines "command<TAB>C", "speed<TAB>1.00", "stage<TAB>NAME<TAB>SECONDS"."""
    command, speed, seconds = "", 1.0, {}
    for line in text.splitlines():
        what, *fields = line.split("\t")
        if what == "command":
            command = fields[0]
        elif what == "speed":
            speed = float(fields[0])
        elif what == "stage":
            seconds[fields[0]] = seconds.get(fields[0], 0) + int(fields[1])
    return Run(command, speed, seconds)


def kept_run(results, command):
    """The newest of this command; None: there is none."""
    section = re.search(rf"^## [^\n]*: times of `{re.escape(command)}`\n(.*?)(?=^## |\Z)", results, re.S | re.M)
    if section is None:
        return None
    speed = float(re.search(r"speed ([\d.]+)", section[1])[1])
    rows = re.findall(r"^\| ([^|]+) \| (\d+):(\d\d) \|$", section[1], re.M)
    return Run(command, speed, {name: int(minutes) * 60 + int(seconds) for name, minutes, seconds in rows})


def grown(now, before):
    """A line for each stage that takes a tenth longer than before would on a machine of this speed."""
    lines = []
    for stage, seconds in now.seconds.items():
        expected = before.seconds.get(stage, 0) * now.speed / before.speed
        if expected >= SECONDS_MIN and seconds > GROWN * expected:
            lines.append(f"{stage} grew: {seconds} s, {expected:.0f} s by tests/bench/RESULTS.md at this machine's speed")
    return lines


def clock(seconds):
    return f"{seconds // 60}:{seconds % 60:02}"


def section_of(run, dearest):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    rows = [f"| {stage} | {clock(seconds)} |" for stage, seconds in run.seconds.items()]
    return "\n".join([
        f"## {datetime.date.today()}: times of `{run.command}`", "",
        f"Machine's speed {run.speed:.2f} (tests/support/machine_speed.sh), commit {commit}; kept by tests/support/stage_times.py.", "",
        "| stage | min:s |", "| --- | --- |", *rows, "",
        "The ten slowest files of the release build, seconds beside another job:", "",
        "| s | file |", "| --- | --- |", *(f"| {seconds:.0f} | `{output}` |" for output, seconds in dearest), "", ""])


def keep(run):
    log = ROOT / "build/release/.ninja_log"
    dearest = build_times.slowest(log)[:build_times.SHOWN] if log.is_file() else []
    text = RESULTS.read_text()
    at = text.index("\n## ") + 1
    RESULTS.write_text(text[:at] + section_of(run, dearest) + text[at:])


def main():
    if sys.argv[1:] not in (["compare"], ["keep"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not LOG.is_file():
        print(f"{LOG}: no such file; tests/run.sh leaves it", file=sys.stderr)
        return 2
    run = read_run(LOG.read_text())
    if sys.argv[1] == "keep":
        keep(run)
    elif before := kept_run(RESULTS.read_text(), run.command):
        print("\n".join(grown(run, before)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
