#!/usr/bin/env python3
"""A pair of oegs under order flow, its witness and its clients, with one fault or two a run.

    tests/fault/pair.py --bin build/release/bin --runs 500        # the table: what was done, what it took, whether it held
    tests/fault/pair.py --bin build/release/bin --runs 9 --faults kill,stop

Seeds choose the faults and their moments. At the end of a run no order, fill, position or cent may differ between sim, the
oeg that leads, risk and strategy, and the pair must stand again. Exit status 1 where a run did not hold.
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
REPLAY_S = 120  # longer than a run: it is halted


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
            "mdh-1": ["mdh"],
            "mdh-2": ["mdh"],
            "strategy": ["strategy", "trace.enabled=false"],
            "oeg-1": ["oeg"],
            "oeg-2": ["oeg"],
        }
        for name in ("sim", "risk", "mdh-1", "mdh-2", "oeg-1", "oeg-2", "strategy"):
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
        status = {name: self.ask(name, "status") for name in self.common}
        if any(status[name].get("state") != "ready" for name in status):
            return False
        words = [status["risk"].get("witness", {}), status["oeg-1"]["pair"], status["oeg-2"]["pair"]]
        return ({pair["role"] for pair in words[1:]} == {"leader", "standby"}
                and all(pair["witness"] and not pair["alone"] for pair in words[1:])
                and words[0].get("state") == "paired" and len({word.get("epoch") for word in words}) == 1)

    def stand(self):
        """The pair is complete, by all three; what it tells its standby of a new witness takes a moment more."""
        stands = self.wait(self.paired, PATIENCE_S)
        time.sleep(0.05)
        return stands

    def leader(self):
        return next((name for name in ("oeg-1", "oeg-2") if self.role(name) == "leader"), None)

    def other(self, name):
        return "oeg-2" if name == "oeg-1" else "oeg-1"

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def leads_and_trades(self, name, before):
        return self.wait(lambda: self.role(name) == "leader" and self.sim()[0] > before, PATIENCE_S)

    # ---- the faults; each gives seconds until orders are accepted again, None: they never were

    def fault_kill(self, leader):
        """The leader dies, and joins again."""
        before = self.sim()[0]
        self.kill(leader)
        took = self.leads_and_trades(self.other(leader), before)
        self.start(leader)
        return took

    def fault_stop(self, leader):
        """The leader hangs, and goes on when another one leads: the zombie."""
        before = self.sim()[0]
        self.processes[leader].send_signal(signal.SIGSTOP)
        took = self.leads_and_trades(self.other(leader), before)
        time.sleep(self.dice.uniform(0, 0.5))
        self.processes[leader].send_signal(signal.SIGCONT)
        return took

    def fault_blink(self, leader):
        """The leader hangs for about as long as its standby waits for it."""
        before = self.sim()[0]
        self.processes[leader].send_signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.01, 0.08))
        self.processes[leader].send_signal(signal.SIGCONT)
        return self.wait(lambda: self.leader() and self.sim()[0] > before, PATIENCE_S)

    def fault_standby(self, leader):
        """The standby dies, and joins again."""
        self.kill(self.other(leader))
        before = self.sim()[0]
        took = self.leads_and_trades(leader, before)
        self.start(self.other(leader))
        return took

    def fault_slow(self, leader):
        """The standby stops and goes on, again and again."""
        before = self.sim()[0]
        for _ in range(self.dice.randint(1, 4)):
            self.processes[self.other(leader)].send_signal(signal.SIGSTOP)
            time.sleep(self.dice.uniform(0.005, 0.06))
            self.processes[self.other(leader)].send_signal(signal.SIGCONT)
            time.sleep(self.dice.uniform(0, 0.02))
        return self.wait(lambda: self.leader() and self.sim()[0] > before, PATIENCE_S)

    def fault_catch_up(self, leader):
        """The standby dies again while it catches up, or the leader while it does."""
        standby = self.other(leader)
        self.kill(standby)
        self.start(standby)
        time.sleep(self.dice.uniform(0, 0.6))
        victim = self.dice.choice((standby, leader))
        before = self.sim()[0]
        self.kill(victim)
        self.start(victim)
        return self.wait(lambda: self.leader() and self.sim()[0] > before, PATIENCE_S)

    def fault_switch(self, leader):
        """Leadership moves by hand."""
        before = self.sim()[0]
        if not self.ask(leader, "switch").get("ok", False):
            return None
        return self.leads_and_trades(self.other(leader), before)

    def fault_kill_in_switch(self, leader):
        """One of the two dies while leadership moves."""
        before = self.sim()[0]
        self.ask(leader, "switch")
        time.sleep(self.dice.uniform(0, 0.02))
        victim = self.dice.choice(("oeg-1", "oeg-2"))
        self.kill(victim)
        self.start(victim)
        return self.wait(lambda: self.leader() and self.sim()[0] > before, PATIENCE_S)

    def fault_witness(self, leader):
        """The witness dies, and comes again with nothing in its memory."""
        self.kill("risk")
        time.sleep(self.dice.uniform(0, 0.3))
        before = self.sim()[0]
        self.start("risk")
        return self.leads_and_trades(leader, before)

    def fault_both(self, leader):
        """Both die, and come again in either order."""
        for name in ("oeg-1", "oeg-2"):
            self.kill(name)
        before = self.sim()[0]
        names = ["oeg-1", "oeg-2"]
        self.dice.shuffle(names)
        for name in names:
            self.start(name)
            time.sleep(self.dice.uniform(0, 0.3))
        return self.wait(lambda: self.leader() and self.sim()[0] > before, PATIENCE_S)

    def finish(self):
        """Ends all in order; what does not hold."""
        problems = []
        # The standby first: the end of a leader is what it waits for.
        leader = self.leader()
        for name in ("oeg-2" if leader == "oeg-1" else "oeg-1", "strategy", leader, "risk", "mdh-1", "mdh-2", "sim"):
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


FAULTS = ("kill", "stop", "blink", "standby", "slow", "catch_up", "switch", "kill_in_switch", "witness", "both")


def one_run(options, recording, seed):
    run = Pair(options.bin, recording, seed)
    steps, problems = [], []
    try:
        if run.stand() is None:
            problems.append("the pair never stood")
            return steps, problems
        run.ask("sim", "start")
        faults = options.faults or [run.dice.choice(FAULTS) for _ in range(run.dice.randint(1, 2))]
        for fault in faults:
            time.sleep(run.dice.uniform(0.5, 1.5))
            leader = run.leader()
            if leader is None:
                problems.append("nobody leads")
                break
            took = getattr(run, f"fault_{fault}")(leader)
            steps.append((fault, took))
            if took is None:
                problems.append(f"{fault}: nothing is accepted any more")
                break
            if run.stand() is None:
                problems.append(f"{fault}: the pair does not stand again")
                break
        run.ask("sim", "halt")
        problems += run.finish()
        return steps, problems
    finally:
        if options.keep and (problems or options.keep == "all"):
            print(f"kept: {run.folder}")
            for process in run.processes.values():
                process.kill()
        else:
            run.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    parser.add_argument("--faults", type=lambda text: text.split(","), help=f"these in each run: of {', '.join(FAULTS)}")
    parser.add_argument("--keep", choices=("failed", "all"), help="leave the folders of these runs")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    failed, taken = 0, {}
    with tempfile.TemporaryDirectory(prefix="tickpath_test_") as folder:
        recording = pathlib.Path(folder) / "market.itch50"
        generate(options.bin, recording, MESSAGES_A_SECOND, REPLAY_S)
        for seed in range(options.seed, options.seed + options.runs):
            steps, problems = one_run(options, recording, seed)
            shown = ", ".join(f"{fault} " + ("-" if took is None else f"{took * 1000:.0f} ms") for fault, took in steps)
            print(f"seed {seed:4}  {shown:44} {'; '.join(problems) or 'holds'}", flush=True)
            failed += bool(problems)
            for fault, took in steps:
                taken.setdefault(fault, []).append(float("inf") if took is None else took)
    print(f"{options.runs} runs, {failed} did not hold; ms from the fault to the next order accepted, as polled each 10 ms:")
    for fault, times in sorted(taken.items()):
        times.sort()
        print(f"  {fault:16} {len(times):5} times  median {times[len(times) // 2] * 1000:6.0f}  max {times[-1] * 1000:6.0f}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
