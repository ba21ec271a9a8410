#!/usr/bin/env python3
"""Two risks beside a pair of oegs under order flow, with a few faults a run: of the active one, of the one that stands by, of both,
of an oeg beside them, and of a person's `tickpath kill` that is under way.

    tests/fault/risk_pair.py --bin build/release/bin --runs 50       # the table: what was done, what it took, whether it held
    tests/fault/risk_pair.py --bin build/release/bin --runs 5 --faults kill,zombie

Seeds choose the faults and their moments. After each fault orders must be accepted again, one risk must be active and the other
one ready beside it, and the leading oeg must act on the kills that a person was told of, and on no others. At the end no order,
fill, position or cent may differ (pair.py). Exit status 1 where a run did not hold.
"""
import signal
import subprocess
import time

from by_hand import PATIENCE_S, parser_of, run_all
from pair import Pair

STRATEGY = 1  # whom a person kills; the flood goes on beside it


class Risks(Pair):
    """The programs of config/hot-risk."""

    CONFIG, RISKS = "config/hot-risk", ("risk-1", "risk-2")
    FAULTS = ("kill", "zombie", "blink", "standby", "both", "command", "command", "lifted", "gateway", "late")
    FAULTS_MAX, PAUSE_S = 3, (0.2, 0.8)

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
        return self.accepted_once((lambda: self.risk_role(name) == "active") if name else self.active)

    def victim(self):
        return self.active()

    def wrong(self, took):
        if took is None:
            return ["nothing is accepted any more, or a command failed"]
        if not self.kills_hold():
            return [f"the kill of strategy {STRATEGY} " + ("is lost" if self.killed else "came back")]
        return super().wrong(took) or ([] if self.kills_hold() else ["the kill switch changed afterwards"])

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
        return self.hang(active, lambda: self.goes_on(self.beside(active)))

    def fault_blink(self, active):
        """The active one hangs for about as long as it takes to notice that."""
        self.blink(active, 0.12)
        return self.goes_on()

    def fault_standby(self, active):
        """The one that stands by dies, and comes again."""
        self.kill(self.beside(active))
        took = self.goes_on(active)
        self.start(self.beside(active))
        return took

    def fault_both(self, _active):
        """Both die, and come again in either order."""
        self.restart_all(self.RISKS)
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


if __name__ == "__main__":
    options = parser_of(__doc__, Risks.FAULTS).parse_args()
    run_all(options, lambda recording, seed: Risks(options.bin, recording, seed))
