#!/usr/bin/env python3
"""A pipeline whose programs are killed and stopped at random moments, from a seed.

    tests/fault/restarts.py --bin build/release/bin                  fifty runs, some ten minutes
    tests/fault/restarts.py --bin build/release/bin --runs 1 --seed 17 --keep

Each run is `tickpath up --on-failure restart`. mdh, strategy, oeg and risk are killed (SIGKILL) and stopped (SIGSTOP,
later SIGCONT) several times. After the last fault it must trade again within the bound, and at its end everything must
be accounted for. A table, a line a run; exit status 1 where a run did not hold.
"""
import argparse
import os
import pathlib
import random
import signal
import statistics
import sys
import tempfile
import time

from running import ALL, SOURCE, VICTIMS, Run, generate

BOUND_S = 5.0  # from the end of the last fault until it trades again
GIVEN_UP_S = 60.0
FAULTS = (3, 6)
PAUSE_S = (0.05, 1.2)  # between two faults; a restart takes longer, so that faults overlap
STOPPED_S = (0.02, 1.5)
MESSAGES_A_SECOND = 5000
REPLAY_S = 90  # ended as soon as it is not needed


class Shaken(Run):
    """Its programs are killed and stopped as the dice fall."""

    def __init__(self, options, recording, seed):
        self.dice = random.Random(seed)
        super().__init__(options.bin, recording, options.config)

    def fault(self, program):
        """Text of the fault, and the process to wake (or None) with the time of that."""
        process = self.process(program)
        if process is None:
            return None
        if self.dice.random() < 0.5:
            os.kill(process, signal.SIGKILL)
            return f"kill {program}", None
        os.kill(process, signal.SIGSTOP)
        seconds = self.dice.uniform(*STOPPED_S)
        return f"stop {program} {seconds:.1f} s", (time.monotonic() + seconds, process)

    def faults(self):
        """All of them, until the last is over. Their texts."""
        texts, asleep = [], []

        def wake(until):
            for end, process in sorted(asleep):
                if end > until:
                    break
                time.sleep(max(0.0, end - time.monotonic()))
                try:
                    os.kill(process, signal.SIGCONT)
                except ProcessLookupError:
                    pass  # killed while it slept
                asleep.remove((end, process))
            time.sleep(max(0.0, until - time.monotonic()))

        for _ in range(self.dice.randint(*FAULTS)):
            wake(time.monotonic() + self.dice.uniform(*PAUSE_S))
            made = self.fault(self.dice.choice(VICTIMS))
            if made is None:
                continue  # it is being started again
            texts.append(made[0])
            if made[1]:
                asleep.append(made[1])
        if asleep:
            wake(max(asleep)[0])
        return texts


def one(options, recording, seed):
    """(line of the table, seconds until it traded again or None, problems)"""
    run = Shaken(options, recording, seed)
    problems, faults, again = [], [], None
    try:
        if run.trades(GIVEN_UP_S) is None:
            problems.append("never traded")
        else:
            faults = run.faults()
            again = run.trades(GIVEN_UP_S)
            if again is None:
                problems.append("never traded again: " + "; ".join(
                    f"{name} {run.ask(name, 'status').get('reason', '')}" for name in ALL
                    if run.ask(name, "status").get("state") != "ready"))
            elif again > options.bound:
                problems.append(f"traded again after {again:.1f} s")
        accepted, fills = run.sim()
        problems += run.end_accounted()
        row = (f"{seed:5}  {'-' if again is None else format(again, '.2f'):>7}  {accepted:6}  {fills:6}  "
               f"{'FAILED' if problems else 'holds':6}  {', '.join(faults)}")
        return row, again, problems
    finally:
        if options.keep or (problems and options.keep_failed):
            print(f"  kept: {run.folder}")
            run.up.poll() is None and run.end()
        else:
            run.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="where the programs are")
    parser.add_argument("--config", type=pathlib.Path, default=SOURCE / "config/demo")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the next has the next")
    parser.add_argument("--bound", type=float, default=BOUND_S, help="seconds until it trades again")
    parser.add_argument("--keep", action="store_true", help="leave the folders of the runs")
    parser.add_argument("--keep-failed", action="store_true", help="leave those of runs that did not hold")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    failed, times = 0, []
    with tempfile.TemporaryDirectory(prefix="tickpath_test_") as folder:
        recording = pathlib.Path(folder) / "day.itch50"
        generate(options.bin, recording, MESSAGES_A_SECOND, REPLAY_S)
        print(f"{'seed':>5}  {'again s':>7}  {'orders':>6}  {'fills':>6}  {'':6}  faults")
        for seed in range(options.seed, options.seed + options.runs):
            row, again, problems = one(options, recording, seed)
            failed += bool(problems)
            times += [] if again is None else [again]
            print("\n".join([row] + [f"       {problem}" for problem in problems]), flush=True)
    middle = f"median {statistics.median(times):.2f} s, longest {max(times):.2f} s" if times else "never"
    print(f"{options.runs - failed} of {options.runs} runs hold; traded again: {middle} (bound {options.bound:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
