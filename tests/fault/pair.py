#!/usr/bin/env python3
"""A pair of oegs under order flow: the one that leads is killed, the other one takes over, the killed one joins again.

    tests/fault/pair.py --bin build/release/bin --runs 10

Each run kills twice, at moments from the seed, so that leadership comes back to where it began. At its end no order, fill,
position or cent may differ between sim, the oeg that leads, risk and strategy. A table, a line a run; exit status 1
where a run did not hold.
"""
import argparse
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from running import SOURCE, Run, broken_lines, generate

PATIENCE_S = 30
MESSAGES_A_SECOND = 3000
REPLAY_S = 14


class Pair(Run):
    """The programs of config/hot, each started by hand: `tickpath up` would end with the first that dies."""

    def __init__(self, bin_dir, recording, seed):
        self.dice = random.Random(seed)
        self.bin = bin_dir
        self.processes = {}
        self.prepare(SOURCE / "config/hot", None)
        self.common = {
            "sim": ["sim", f"replay.file={recording}", "replay.pace=recorded"],
            "risk": ["risk"],
            "mdh": ["mdh"],
            "strategy": ["strategy", "trace.enabled=false"],
            "oeg-1": ["oeg"],
            "oeg-2": ["oeg"],
        }
        for name in ("sim", "risk", "mdh", "oeg-1", "oeg-2", "strategy"):
            self.start(name)

    def start(self, name):
        program, *settings = self.common[name]
        with open(self.folder / f"{name}.out", "ab") as output:
            self.processes[name] = subprocess.Popen(
                [self.bin / program, self.folder / f"config/{name}.toml", "--run-dir", self.run_dir,
                 *(part for setting in (f"name={name}", *settings) for part in ("--set", setting))],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def wait(self, condition, seconds):
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            if condition():
                return time.monotonic() - begin
            time.sleep(0.01)
        return None

    def role(self, name):
        return self.ask(name, "status").get("pair", {}).get("role")

    def paired(self):
        status = {name: self.ask(name, "status") for name in ("oeg-1", "oeg-2", "risk", "mdh", "strategy", "sim")}
        return (all(status[name].get("state") == "ready" for name in status)
                and status["risk"].get("witness", {}).get("state") == "paired")

    def leader(self):
        return next((name for name in ("oeg-1", "oeg-2") if self.role(name) == "leader"), None)

    def fail_over(self):
        """Kills who leads; seconds until the other one has an order accepted. None: it never did."""
        old = self.leader()
        if old is None:
            return None
        before = self.sim()[0]
        self.processes[old].kill()
        self.processes[old].wait()
        new = "oeg-2" if old == "oeg-1" else "oeg-1"
        took = self.wait(lambda: self.role(new) == "leader" and self.sim()[0] > before, PATIENCE_S)
        self.start(old)
        return took

    def finish(self):
        """Ends all in order; what does not hold."""
        problems = []
        # The standby first: the end of a leader is what it waits for.
        leader = self.leader()
        for name in ("oeg-2" if leader == "oeg-1" else "oeg-1", "strategy", leader, "risk", "mdh", "sim"):
            if name is None or name not in self.processes:
                problems.append("nobody leads")
                continue
            self.processes[name].send_signal(signal.SIGTERM)
            try:
                if self.processes[name].wait(PATIENCE_S) != 0:
                    problems.append(f"{name} ended with {self.processes[name].returncode}")
            except subprocess.TimeoutExpired:
                problems.append(f"{name} did not end")
        books = subprocess.run([self.bin / "tickpath", "books", self.run_dir], capture_output=True, text=True)
        return problems + broken_lines(books.stdout.splitlines()) + ([] if books.returncode == 0 else ["books"])

    def remove(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def one_run(options, recording, seed):
    run = Pair(options.bin, recording, seed)
    try:
        if run.wait(run.paired, PATIENCE_S) is None:
            return [], ["the pair never stood"]
        run.ask("sim", "start")
        times, problems = [], []
        for _ in range(2):
            time.sleep(run.dice.uniform(2.0, 3.0))
            times.append(run.fail_over())
            if times[-1] is None or run.wait(run.paired, PATIENCE_S) is None:
                problems.append("no takeover" if times[-1] is None else "the killed one did not join")
                break
        over = lambda: run.ask("sim", "status").get("replay", {}).get("state") == "ended"
        if run.wait(over, REPLAY_S + PATIENCE_S) is None:
            problems.append("the replay did not end")
        return times, problems + run.finish()
    finally:
        if options.keep:
            print(f"kept: {run.folder}")
        else:
            run.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    parser.add_argument("--keep", action="store_true", help="leave the folders of the runs")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tickpath_test_") as folder:
        recording = pathlib.Path(folder) / "market.itch50"
        generate(options.bin, recording, MESSAGES_A_SECOND, REPLAY_S)
        for seed in range(options.seed, options.seed + options.runs):
            times, problems = one_run(options, recording, seed)
            shown = " ".join("-" if took is None else f"{took * 1000:.0f} ms" for took in times)
            print(f"seed {seed:4}  kill to first order accepted: {shown:20} {'; '.join(problems) or 'holds'}", flush=True)
            failed += bool(problems)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
