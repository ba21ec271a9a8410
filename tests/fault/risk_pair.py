#!/usr/bin/env python3
"""Two risks beside a pair of oegs under order flow, with a few faults a run: of the active one, of the one that stands by, of both,
of an oeg beside them, and of a person's `tickpath kill` that is under way.

    tests/fault/risk_pair.py --bin build/release/bin --runs 50       # the table: what was done, what it took, whether it held
    tests/fault/risk_pair.py --bin build/release/bin --runs 5 --faults kill,zombie

Seeds choose the faults and their moments. After each fault orders must be accepted again, one risk must be active and the other
one ready beside it, and the leading oeg must act on the kills that a person was told of, and on no others. At the end no order,
fill, position or cent may differ (pair.py). Exit status 1 where a run did not hold.
"""
import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from pair import MESSAGES_A_SECOND, PATIENCE_S, REPLAY_S, Pair, Tally, show_run
from running import generate

STRATEGY = 1  # whom a person kills; the flood goes on beside it


class Risks(Pair):
    """The programs of config/hot-risk."""

    CONFIG, RISKS = "config/hot-risk", ("risk-1", "risk-2")
    RATE = 200  # so that the exchange's store has every message of a run of several faults

    def __init__(self, *arguments):
        self.killed = False  # STRATEGY, as a person was told
        super().__init__(*arguments)

    def risk_role(self, name):
        return self.ask(name, "status", 0.1).get("role")

    def active(self):
        return next((name for name in self.RISKS if self.risk_role(name) == "active"), None)

    def beside(self, name):
        return self.RISKS[1 - self.RISKS.index(name)]

    def paired(self):
        return super().paired() and {self.risk_role(name) for name in self.RISKS} == {"active", "standby"}

    def goes_on(self, name=None):
        """Seconds from the fault until `name`, or either, is active and orders are accepted; None: never."""
        wanted = (lambda: self.risk_role(name) == "active") if name else self.active
        if self.wait(wanted, PATIENCE_S) is None:
            return None
        before = self.sim()[0]
        if self.wait(lambda: self.sim()[0] > before, PATIENCE_S) is None:
            return None
        return (time.monotonic_ns() - self.began_ns) / 1e9

    def command(self, kill):
        return subprocess.Popen(
            [self.bin / "tickpath", "kill" if kill else "unkill", "--strategy", str(STRATEGY), "--run-dir", self.run_dir],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def tell(self, kill):
        """A person's command, to its end."""
        said, _ = (process := self.command(kill)).communicate()
        if process.returncode == 0:
            self.killed = kill
        else:
            print(f"    {said.strip()}", flush=True)
        return process.returncode == 0

    def kills_hold(self):
        """The oeg that leads acts on what a person was told of."""
        def holds():
            leader = self.leader()
            kills = self.ask(leader, "status").get("kill_switch", {}).get("kills") if leader else None
            return kills is not None and [each["strategy"] for each in kills] == ([STRATEGY] if self.killed else [])
        return self.wait(holds, 2) is not None

    # ---- the faults; each gives seconds until orders are accepted again, None: they never were, or a command failed

    def fault_kill(self, active):
        """The active one dies, and comes again."""
        self.kill(active)
        took = self.goes_on(self.beside(active))
        self.start(active)
        return took

    def fault_zombie(self, active):
        """The active one hangs, and goes on when another one is active."""
        self.begin()
        self.processes[active].send_signal(signal.SIGSTOP)
        took = self.goes_on(self.beside(active))
        time.sleep(self.dice.uniform(0, 0.5))
        self.processes[active].send_signal(signal.SIGCONT)
        return took

    def fault_blink(self, active):
        """The active one hangs for about as long as it takes to notice that."""
        self.begin()
        self.processes[active].send_signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.01, 0.12))
        self.processes[active].send_signal(signal.SIGCONT)
        return self.goes_on()

    def fault_standby(self, active):
        """The one that stands by dies, and comes again."""
        self.kill(self.beside(active))
        took = self.goes_on(active)
        self.start(self.beside(active))
        return took

    def fault_both(self, _active):
        """Both die, and come again in either order."""
        for name in self.RISKS:
            self.kill(name)
        names = list(self.RISKS)
        self.dice.shuffle(names)
        for name in names:
            self.start(name)
            time.sleep(self.dice.uniform(0, 0.3))
        return self.goes_on()

    def fault_command(self, active):
        """The active one dies, or hangs, while a person's command is under way; what the person is told holds."""
        kill = not self.killed
        process = self.command(kill)
        time.sleep(self.dice.uniform(0, 0.06))
        hangs = self.dice.random() < 0.5
        self.begin()
        self.processes[active].send_signal(signal.SIGSTOP if hangs else signal.SIGKILL)
        process.communicate()
        took = self.goes_on(self.beside(active))
        if hangs:
            self.processes[active].send_signal(signal.SIGCONT)
        else:
            self.processes[active].wait()
            self.start(active)
        if process.returncode == 0:
            self.killed = kill
        elif not self.tell(kill):  # it may have taken effect or not: the person asks again
            return None
        return took

    def fault_lifted(self, active):
        """A kill is lifted at the other risk while the first one is away, which comes back with it in its file."""
        other = self.beside(active)
        if not self.tell(True):
            return None
        self.kill(active)
        if self.goes_on(other) is None or not self.kills_hold() or not self.tell(False):
            return None
        self.start(active)
        if self.wait(lambda: self.risk_role(active) == "standby", PATIENCE_S) is None:
            return None
        self.kill(other)
        took = self.goes_on(active)
        self.start(other)
        return took

    def fault_gateway(self, active):
        """With a kill in effect the oeg that leads dies, and the active risk with it; both come again."""
        if not self.tell(True):
            return None
        leader = self.leader()
        for name in (leader, active):
            self.kill(name)
        names = [leader, active]
        self.dice.shuffle(names)
        for name in names:
            self.start(name)
        return self.goes_on()

    def fault_late(self, active):
        """A kill is made while one oeg is away; that one joins, and leads as soon as it can, with another risk."""
        leader = self.leader()
        joiner = self.other(leader)
        self.kill(joiner)
        if not self.tell(not self.killed):
            return None
        self.start(joiner)
        joined = lambda: self.ask(leader, "status").get("pair", {}).get("alone") is False
        if self.wait(joined, PATIENCE_S) is None:
            return None
        for name in (leader, active):
            self.kill(name)
        self.start(leader)
        self.start(active)
        return self.goes_on()


FAULTS = ("kill", "zombie", "blink", "standby", "both", "command", "command", "lifted", "gateway", "late")


def one_run(options, recording, seed, tally):
    run = Risks(options.bin, recording, seed)
    steps, problems = [], []
    try:
        if run.stand() is None:
            problems.append("the set never stood")
            return steps, problems
        run.ask("sim", "start")
        for fault in options.faults or [run.dice.choice(FAULTS) for _ in range(run.dice.randint(1, 3))]:
            time.sleep(run.dice.uniform(0.2, 0.8))
            took = getattr(run, f"fault_{fault}")(run.active())
            steps.append((fault, took))
            if took is None:
                problems.append(f"{fault}: nothing is accepted any more, or a command failed")
            elif not run.kills_hold():
                problems.append(f"{fault}: the kill of strategy {STRATEGY} " + ("is lost" if run.killed else "came back"))
            elif run.stand() is None:
                problems.append(f"{fault}: the set does not stand again")
            elif not run.kills_hold():
                problems.append(f"{fault}: the kill switch changed afterwards")
            if problems:
                break
        run.ask("sim", "halt")
        problems += run.finish()
        return steps, problems
    finally:
        tally.add(run, steps, problems)
        if options.keep and problems:
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
    parser.add_argument("--faults", type=lambda text: text.split(","), help=f"these in each run: of {', '.join(dict.fromkeys(FAULTS))}")
    parser.add_argument("--keep", action="store_true", help="leave the folders of runs that do not hold")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="tickpath_test_") as folder:
        recording = pathlib.Path(folder) / "market.itch50"
        generate(options.bin, recording, MESSAGES_A_SECOND, REPLAY_S)
        for seed in range(options.seed, options.seed + options.runs):
            steps, problems = one_run(options, recording, seed, tally)
            show_run(seed, steps, problems)
    tally.show()
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
