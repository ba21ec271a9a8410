"""Pipelines whose programs are started one by one, and runs of them with faults from a seed."""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from running import Run, generate

PATIENCE_S = 30
MESSAGES_A_SECOND = 3000
REPLAY_S = 120  # longer than a run: it is halted
LOOK_S = 0.004  # between two looks
LAST_WORDS = 12  # lines of each program's log that are shown of a run that did not hold


class ByHand(Run):
    """Each program is started by itself: `tickpath up` would end with the first that dies. `processes` is the caller's, by name."""

    def launch(self, name, binary, settings, environment=None, run_dir=None):
        with open(self.folder / f"{name}.out", "ab") as output:
            self.processes[name] = subprocess.Popen(
                [binary, self.folder / f"config/{name}.toml", "--run-dir", run_dir or self.run_dir,
                 *(part for setting in (f"name={name}", *settings) for part in ("--set", setting))],
                cwd=self.folder, env=dict(os.environ) | (environment or {}), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT)

    def wait(self, condition, seconds):
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            if condition():
                return time.monotonic() - begin
            time.sleep(LOOK_S)
        return None

    def end_in_order(self, names):
        """What does not hold."""
        problems = []
        for name in names:
            self.processes[name].send_signal(signal.SIGTERM)
            try:
                if self.processes[name].wait(PATIENCE_S) != 0:
                    problems.append(f"{name} ended with {self.processes[name].returncode}")
            except subprocess.TimeoutExpired:
                problems.append(f"{name} did not end")
        return problems

    def last_words(self):
        """Of the log of each program."""
        for path in sorted(self.folder.glob("*.out")):
            for line in path.read_text(errors="replace").splitlines()[-LAST_WORDS:]:
                print(f"    {path.stem}: {line}", flush=True)

    def leave(self, keep):
        """Whatever still runs ends; the folder goes, or stays for who looks."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        if keep:
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


class Tally:
    """Of all runs: what was done, what it took."""

    def __init__(self):
        self.runs, self.failed, self.accepted, self.fills = 0, 0, 0, 0
        self.taken, self.parts = {}, {}

    def add(self, run, steps, problems):
        self.runs += 1
        self.failed += bool(problems)
        self.accepted += getattr(run, "accepted", 0)
        self.fills += getattr(run, "fills", 0)
        for fault, took in steps:
            self.taken.setdefault(fault, []).append(float("inf") if took is None else took * 1000)
        for name, took in getattr(run, "measured", ()):
            self.taken.setdefault(name, []).append(took * 1000)
        for fault, parts in run.takeovers:
            for part, ns in parts.items():
                self.parts.setdefault(fault, {}).setdefault(part, []).append(ns / 1e6)

    @staticmethod
    def line(name, times):
        times.sort()
        p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
        return f"  {name:32} {len(times):5}  {times[(len(times) - 1) // 2]:9.3f}  {p99:9.3f}  {times[-1]:9.3f}"

    def show(self):
        print(f"{self.runs} runs, {self.failed} did not hold; {self.accepted} orders accepted, {self.fills} fills, by the exchange's "
              f"own messages\nms from the fault to the next order accepted, as looked at from outside each {LOOK_S * 1000:.0f} ms and more:")
        print(f"  {'':32} {'times':>5}  {'p50':>9}  {'p99':>9}  {'max':>9}")
        for fault, times in sorted(self.taken.items()):
            print(self.line(fault, times))
        for fault, parts in sorted(self.parts.items()):
            print(f"ms of a takeover's parts, by the new leader's stamps: {fault}")
            for part, times in parts.items():
                print(self.line(part, times))


def one_run(run, options, tally, faults=None):
    """One run of a pipeline that knows its faults (FAULTS, fault_...); what was done, and what does not hold."""
    steps, problems = [], []
    try:
        if run.stand() is None:
            problems.append("it never stood")
            return steps, problems
        run.ask("sim", "start")
        for fault in faults or [run.dice.choice(run.FAULTS) for _ in range(run.dice.randint(1, run.FAULTS_MAX))]:
            time.sleep(run.dice.uniform(*run.PAUSE_S))
            victim = run.victim()
            if victim is None:
                problems.append("nobody leads")
                break
            run.done = fault
            took = getattr(run, f"fault_{fault}")(victim)
            steps.append((run.done, took))
            problems += [f"{fault}: {problem}" for problem in run.wrong(took)]
            if problems:
                break
        run.ask("sim", "halt")
        problems += run.finish()
        return steps, problems
    finally:
        tally.add(run, steps, problems)
        if problems and not getattr(options, "mutants", False):  # of these that is expected
            run.last_words()
        run.leave(options.keep == "all" or (options.keep and problems))


def show_run(seed, steps, problems):
    shown = ", ".join(f"{fault} " + ("-" if took is None else f"{took * 1000:.0f} ms") for fault, took in steps)
    print(f"seed {seed:4}  {shown:44} {'; '.join(problems) or 'holds'}", flush=True)


def some_of(names):
    """Reads "one,another", each of them one of the names."""
    def parse(text):
        found = text.split(",")
        unknown = [name for name in found if name not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(dict.fromkeys(names))}")
        return found
    return parse


def parser_of(text, faults):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    parser.add_argument("--faults", type=some_of(faults), help=f"these in each run: of {', '.join(dict.fromkeys(faults))}")
    parser.add_argument("--keep", nargs="?", const="failed", choices=("failed", "all"), help="leave the folders of these runs")
    return parser


def run_all(options, make, instead=None):
    """make(recording, seed) for each seed, and the table; or instead(recording). Exits: 1 where something did not hold."""
    options.bin = options.bin.resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with the programs of the run that goes on
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="tickpath_test_") as folder:
        recording = pathlib.Path(folder) / "market.itch50"
        generate(options.bin, recording, MESSAGES_A_SECOND, REPLAY_S)
        if instead is not None:
            sys.exit(1 if instead(recording) else 0)
        try:
            for seed in range(options.seed, options.seed + options.runs):
                show_run(seed, *one_run(make(recording, seed), options, tally, options.faults))
        finally:  # also of runs that are ended early
            tally.show()
    sys.exit(1 if tally.failed else 0)
