"""The five programs on two guests, as the fault sets need them: watched, interrupted, and judged at the end."""
import json
import time

from machine import TREE
from pipeline_sets import PATIENT, keep, keys, recording, settings
from report import eventually, expect

# About ten times the defaults (35 ms and 33 ms): guests share two cores, and a thread of theirs may not run for longer
# than that. 260 ms are timeout 13, 33.6 ms a try: eight times the default's. The bound is dead_after with a beat and
# the looks, in proportion (50 ms by default).
DEAD_AFTER_MS, PEER_TIMEOUT_MS = 350, 260
RECORDING = 60_000, 600  # messages, seconds: what two guests can follow, for longer than all faults take
BOUND_MS = DEAD_AFTER_MS * 50 / 35
COMES_BACK_S = 90  # no bound of ours: restarts and connections in emulation
STOP_ORDER = ("strategy", "oeg", "risk", "mdh", "sim")
# The counters in which a program tells that it lost another: <group>.<peer>_losses, _lost_at_ns.
GROUPS = {("strategy", "mdh"): "feed", ("strategy", "oeg"): "gateway", ("risk", "mdh"): "feed",
          ("risk", "oeg"): "orders", ("oeg", "mdh"): "market", ("oeg", "strategy"): "strategies",
          ("oeg", "risk"): "risk"}
WATCHERS = ("strategy", "oeg", "risk")

TICKER = """
import time
while True:
    print(time.monotonic_ns(), flush=True)
    time.sleep(0.05)
"""
HALT = """
import socket, sys
admin = socket.socket(socket.AF_UNIX)
admin.connect(sys.argv[1])
admin.sendall(b'{"command": "halt"}\\n')
print(admin.recv(4096))
"""
STACKS = """
for thread in $(pgrep -f %s | sed 's,.*,/proc/&/task/*,'); do
  echo "$thread $(cat $thread/comm)"; cat $thread/stack
done
dmesg | tail -50
""" % (TREE / "build/release/bin")


class GuestClock:
    """CLOCK_MONOTONIC of a guest by this machine's: from lines that the guest says, so that a time in it seems later by
    the quickest delivery, a few milliseconds."""

    def __init__(self, guest):
        self.ahead_ns, self.rest = None, ""
        self.job = guest.start(["python3", "-S", "-c", TICKER], name="ticker", sink=self._take)
        eventually(lambda: self.ahead_ns is not None, 30, f"{guest.name} does not tell its time", every=0.1)
        time.sleep(1)  # twenty more of them: the quickest counts

    def _take(self, text):
        now = time.monotonic_ns()
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            ahead = now - int(line)
            self.ahead_ns = ahead if self.ahead_ns is None else min(ahead, self.ahead_ns)

    def here(self, guest_ns):
        return guest_ns + self.ahead_ns


class Hosts:
    """`programs`: which run on which guest. Programs that fail are started again by `tickpath up`."""

    def __init__(self, run, label, one, two, programs, more=()):
        self.run, self.label, self.one, self.two, self.more = run, label, one, two, list(more)
        self.run_dir, self.folder = f"/tmp/{label}", run.folder(f"faults/{label}")
        self.tickpath, self.env = run.bin / "tickpath", run.environment()
        self.places = {name: guest for guest, names in zip((one, two), programs) for name in names}
        self.clocks, self.jobs = {}, {}

    def up(self, guest):
        programs = [name for name, place in self.places.items() if place is guest]
        more = [f"{name}:heartbeat.dead_after={DEAD_AFTER_MS}ms" for name in programs if name in WATCHERS]
        more += [f"{name}:fabric.peer_timeout={PEER_TIMEOUT_MS}ms" for name in programs if name != "sim"]
        more += [f"{name}:security.keys={keys(self.run)}" for name in programs if name != "sim"]
        if "oeg" in programs:
            more += ["oeg:risk.absent_after=5s"]
        if "sim" in programs:
            more += [f"sim:replay.file={recording(self.run, *RECORDING)}"]
        more += [each for each in self.more if each.split(":")[0] in programs]
        self.jobs[guest] = guest.start(
            [self.tickpath, "up", TREE / "config/hosts", "--here", "--run-dir", self.run_dir, "--no-replay",
             "--on-failure", "restart", "--only", *programs, *PATIENT, *settings(self.run, programs, more)], env=self.env, name="up")
        self.clocks[guest] = GuestClock(guest)

    def begin(self):
        for guest in (self.one, self.two):
            self.up(guest)
        for guest in (self.one, self.two):
            self.jobs[guest].wait_for("up; Ctrl-C", 200)
        self.places["sim"].run([self.tickpath, "replay", "--run-dir", self.run_dir, "--no-wait"], env=self.env)
        eventually(lambda: self.counter("oeg", "reports", "fills") > 4, 90, "nothing trades")

    def status(self, program):
        job = self.places[program].start([self.tickpath, "status", "--run-dir", self.run_dir, "--json"], env=self.env)
        job.wait(60)
        try:
            found = [each for each in json.loads(job.output) if each["name"] == program]
        except ValueError:  # nothing runs there
            found = []
        return found[0] if found else {}

    def group(self, program, name):
        return self.status(program).get("counters", {}).get(name, {})

    def counter(self, program, group, name):
        return self.group(program, group).get(name, 0)

    def losses(self, watcher, peer):
        """How often, and when last by this machine's clock."""
        group, clock = self.group(watcher, GROUPS[watcher, peer]), self.clocks[self.places[watcher]]
        return group.get(f"{peer}_losses", 0), clock.here(group.get(f"{peer}_lost_at_ns", 0))

    def counts(self, deeds):
        return [self.counter(*deed[1:]) for deed in deeds]

    def notice(self, watchers, fault, deeds):
        """Does it; {watcher: milliseconds} until each (watcher, peer) had noticed, at most BOUND_MS. `fault` returns when
        it was done. What was noticed before that is a false alarm, and does not count. `deeds`: see others_do()."""
        self.before = self.counts(deeds)
        done_ns = fault()
        took = {}
        for watcher, peer in watchers:
            late_ns = eventually(lambda: max(0, self.losses(watcher, peer)[1] - done_ns), 60,
                                 f"{watcher} did not notice that {peer} cannot be reached")
            took[watcher] = max(took.get(watcher, 0), late_ns / 1e6)
        expect(max(took.values()) <= BOUND_MS, f"noticed too late (bound {BOUND_MS:.0f} ms): {took}")
        return took

    def others_do(self, deeds):
        """What the others have done since the last fault, by their counters (what, program, group, counter), once the
        first one of them stands still: the orders that may not go on."""
        def stands():
            now = self.counts(deeds[:1])
            time.sleep(1)
            return self.counts(deeds[:1]) == now

        eventually(stands, 60, f"{deeds[0][0]} go on")
        done = (f"{now - then} {deed[0]}" for deed, then, now in zip(deeds, self.before, self.counts(deeds)))
        return f"{', '.join(done)}, then no order"

    def trades(self):
        """Waits until oeg has more orders accepted than now."""
        before = self.counter("oeg", "orders", "accepted")
        eventually(lambda: self.counter("oeg", "orders", "accepted") > before, COMES_BACK_S, "trades no more")

    def back(self, what="trades again"):
        began = time.monotonic()
        for program in ("oeg", "risk", "strategy"):
            eventually(lambda: self.status(program).get("state") == "ready", COMES_BACK_S,
                       f"{program} is not ready again")
        for program in ("strategy", "risk"):
            eventually(lambda: self.counter(program, "feed", "mdh_alive") == 1, COMES_BACK_S,
                       f"{program} does not read the feed again")
        self.trades()
        return f"{what} after {time.monotonic() - began:.1f} s"

    def end(self):
        """Halts the replay and stops all in order."""
        self.places["sim"].run(["python3", "-S", "-c", HALT, f"{self.run_dir}/sim.admin"])
        before, now = None, self.packets()
        while before != now:  # the last ones may still lie in mdh's socket
            time.sleep(0.5)
            before, now = now, self.packets()
        for program in STOP_ORDER:
            down = [self.tickpath, "down", "--run-dir", self.run_dir, "--only", program, "--timeout", "60"]
            self.places[program].run(down, limit=90, env=self.env)

    def packets(self):
        feed = self.group("mdh", "feed")
        return feed.get("packets", 0) - feed.get("heartbeats", 0)

    def save(self):
        for guest, job in self.jobs.items():
            (self.folder / f"{guest.name}.up.log").write_text(job.output)
            if not guest.lost:
                keep(guest, self.run_dir, self.folder / guest.name)

    def keep_stacks(self):
        """Where the programs' threads are in the kernel, and its last words: for programs that do not end."""
        for guest in self.jobs:
            if not guest.lost:
                (self.folder / f"{guest.name}.stacks").write_text(guest.run(STACKS))

    def summary(self, program):
        return json.loads((self.folder / self.places[program].name / f"{program}.summary.json").read_text())

    def broken_books(self):
        """What does not fit, as tests/fault/fault_run.cpp has it for programs that died: empty when all is well."""
        oeg, sim, strategy = (self.summary(program) for program in ("oeg", "sim", "strategy"))
        broken = []

        def equal(what, left, right):
            if left != right:
                broken.append(f"{what}: {left} is not {right}")

        for flow in ("orders", "changes"):
            gate, own, venue = oeg[flow], strategy[flow], sim[flow]
            equal(f"{flow} received by oeg = refused + sent", gate["received"], gate["refused"] + gate["sent"])
            equal(f"{flow} unanswered at oeg", gate["unanswered"], 0)
            equal(f"{flow} sent by strategy = accepted + rejected + lost", own["sent"],
                  own["accepted"] + own["rejected"] + own["lost"])
            equal(f"{flow} unanswered at strategy", own["unanswered"], 0)
            equal(f"{flow} sent by oeg = received by sim", gate["sent"] + gate["own"], venue["received"])
            equal(f"{flow} received by sim = accepted + rejected", venue["received"],
                  venue["accepted"] + venue["rejected"])
        equal("open orders at the end", oeg["open_orders"], 0)
        for program in ("strategy", "risk", "sim"):
            equal(f"positions and cash of {program} and oeg", self.positions(program), self.positions("oeg"))
        expect(oeg["orders"]["sent"] >= 20, f"too few orders to tell: {oeg['orders']['sent']}")
        return "\n".join(broken)

    def positions(self, program):
        held = {(row["strategy_id"], row["symbol"]): (row["shares"], row["cash"])
                for row in self.summary(program)["positions"]}
        return {what: position for what, position in held.items() if position != (0, 0)}
