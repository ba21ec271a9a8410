"""A pair of oegs over verbs, one on each of two guests: the leader's host dies or is cut off, or its process dies."""
import contextlib
import json
import random
import shutil
import signal
import subprocess
import time

from machine import TREE, RigError
from pipeline_sets import ORDERS_LEAST, PATIENT, SMALL, keep, orders_sent, recording
from report import Failed, boot_again, eventually, expect

FAULTS = ("guest_killed", "link_down", "oeg_killed")
HERE, THERE = ("sim", "mdh-1", "strategy", "risk", "oeg-2"), ("oeg-1",)
RECORDING = 60_000, 1200  # messages, seconds: longer than a run, which halts it
COMES_BACK_S = 240  # no bound of ours: boots, restarts and connections in emulation
STEPS = ("suspected_ns", "decided_ns", "recovered_ns", "logged_on_ns", "first_order_ns")
HEAD = ("| seed | fault | noticed | decided | recovered | logged on | first order | from outside | stands again "
        "| books |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")

# Memory is what a start of these programs takes its time for in emulation. And they park: six that poll leave two
# emulated cores nothing for the kernel's RDMA.
ROOM = {"sim": ["matching.recorded_orders_max=65536", "matching.recorded_levels_max=16384"],
        "oeg": ["mdh.instruments_max=256", "strategies.max=4", "orders.max=4096", "orders.executions_max=16384",
                "journal.records=16384", "pair.log_bytes=1048576"],
        "risk": ["rows_max=4096", "orders_max=4096", "gateway.ring_slots=4096"]}
PLACES = {"mdh-1": "10.77.0.1:18501", "oeg-1": "10.77.0.2:18502", "oeg-2": "10.77.0.1:18503", "risk": "10.77.0.1:18504"}
VENUE = "10.77.0.1:9878"

# Answers of the programs of a run directory, a line each time, with the guest's clock at its end: of the named ones ten
# times a second, of all once.
WATCH = """
import glob, json, os, socket, sys, time
def ask(path, command):
    try:
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(1)
            admin.connect(path)
            admin.sendall(json.dumps({"command": command}).encode() + b"\\n")
            answer = b""
            while not answer.endswith(b"\\n"):
                part = admin.recv(1 << 16)
                if not part:
                    return {}
                answer += part
        return json.loads(answer)
    except (OSError, ValueError):
        return {}
told, turn = {}, 0
while True:
    paths = glob.glob(sys.argv[1] + "/*.admin")
    names = [os.path.basename(path)[:-len(".admin")] for path in paths]
    told = {name: said for name, said in told.items() if name in names}
    for name, path in zip(names, paths):
        if turn % 10 and name not in sys.argv[2:]:
            continue
        status = ask(path, "status")
        told[name] = {key: status.get(key) for key in ("state", "not_ready_reason", "pid", "pair", "venue", "witness")}
        if name in ("sim", "mdh-1"):
            counters = ask(path, "counters").get("counters", {})
            told[name].update({key: counters.get(key, {}) for key in ("orders", "feed")})
    print(json.dumps(told | {"now": time.monotonic_ns()}), flush=True)
    turn += 1
    time.sleep(0.1)
"""
ASK = """
import socket, sys
admin = socket.socket(socket.AF_UNIX)
admin.connect(sys.argv[1])
admin.sendall(b'{"command": "' + sys.argv[2].encode() + b'"}\\n')
print(admin.recv(4096).decode())
"""
KILL = """
import os, sys, time
print(time.monotonic_ns(), flush=True)
os.kill(int(sys.argv[1]), 9)
"""


class Times:
    """All in proportion to how long a program may be silent, as in the defaults (35 ms): a READ costs emulation a
    hundred times what it costs an adapter, and guests share two cores with all that runs beside them."""

    def __init__(self, dead_after_ms):
        self.dead_after_ms = dead_after_ms
        self.noticed_ms = dead_after_ms * 50 / 35  # as in FAULTS.md
        # After that the witness's word, the recovery, the Logon, the first order: a strategy's own pauses are in it.
        self.takeover_ms = self.noticed_ms + 10 * dead_after_ms
        self.beats = [f"heartbeat.period={dead_after_ms // 7}ms", f"fabric.peer_timeout={dead_after_ms * 26 // 35}ms"]
        self.looks = [f"heartbeat.interval={dead_after_ms // 35}ms", f"heartbeat.dead_after={dead_after_ms}ms",
                      f"heartbeat.suspect_after={dead_after_ms * 20 // 35}ms"]


class Watch:
    """What the programs of one guest say of themselves, the newest of it, and its clock by this machine's (as
    fault_hosts.GuestClock has it: the quickest delivery counts)."""

    def __init__(self, guest, run_dir):
        self.ahead_ns, self.rest, self.told, self.lines = None, "", {}, []
        self.job = guest.start(["python3", "-S", "-c", WATCH, run_dir, "sim", "oeg-2"], name="watch", sink=self._take)

    def _take(self, text):
        arrived = time.monotonic_ns()
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            told = json.loads(line)
            ahead = arrived - told["now"]
            self.ahead_ns = ahead if self.ahead_ns is None else min(ahead, self.ahead_ns)
            self.told = told
            self.lines.append(told)
        self.job.output = ""  # it is in `lines` already

    def here(self, guest_ns):
        return guest_ns + self.ahead_ns

    def of(self, program):
        return self.told.get(program, {})

    def pair(self, program):
        return self.of(program).get("pair") or {}

    def end(self):
        with contextlib.suppress(RigError):
            self.job.signal(signal.SIGKILL)


class Pair:
    """The programs of config/hot with one mdh: oeg-1 alone on the second guest, all the others on the first."""

    def __init__(self, run, seed):
        self.run, self.seed, self.dice = run, seed, random.Random(seed)
        self.one, self.two = run.pair()
        self.times = Times(run.dead_after_ms)
        self.run_dir, self.folder = f"/tmp/pair-{seed}", run.folder(f"pair_two/seed-{seed}")
        self.tickpath, self.env = run.bin / "tickpath", run.environment()
        self.jobs, self.logs, self.watches = {}, [], {}

    def settings(self, names):
        """What turns config/hot into verbs on two guests."""
        oeg = [f"venue.address={VENUE}", f"mdh.endpoint={PLACES['mdh-1']}", "mdh.endpoint_b=", "risk.absent_after=20s",
               f"pair.witness={PLACES['risk']}", f"pair.confirm_max={self.times.dead_after_ms}ms"]
        reader = [f"feed.endpoint={PLACES['mdh-1']}", "feed.endpoint_b=", f"gateway.endpoint={PLACES['oeg-1']}",
                  f"gateway.standby_endpoint={PLACES['oeg-2']}"]
        # Behind the opening auction, in which no book changes: whoever quotes is heard of again at once.
        own = {"sim": [f"replay.file={recording(self.run, *RECORDING)}", "replay.from=09:30:30",
                       f"orders.session.0.listen={VENUE}",
                       'orders.session.0.peers=["10.77.0.1", "10.77.0.2"]'],
               "mdh-1": [],
               "strategy": [*reader, "plugin.0.parameters.cooldown=100ms", "plugin.1.parameters.throttle=100ms",
                            "plugin.1.parameters.reject_pause=500ms"],
               "risk": reader,
               "oeg-1": [*oeg, f"pair.peer={PLACES['oeg-2']}"],
               "oeg-2": [*oeg, f"pair.peer={PLACES['oeg-1']}"]}
        lines = []
        for name in names:
            program = name.split("-")[0]
            each = [*SMALL[program], *ROOM.get(program, []), *own[name], "datapath.wait=park"]
            if name in PLACES:
                each.append(f"fabric.endpoint={PLACES[name]}")
            if name != "sim":
                each += ["fabric.provider=verbs", "security.mode=none", *self.times.beats]
            if name not in ("sim", "mdh-1"):
                each += self.times.looks
            lines += [word for setting in each for word in ("--set", f"{name}:{setting}")]
        return lines

    def up(self, guest):
        names = HERE if guest is self.one else THERE
        self.jobs[guest] = guest.start(
            [self.tickpath, "up", TREE / "config/hot", "--run-dir", self.run_dir, "--no-replay", "--on-failure",
             "restart", "--only", *names, *PATIENT, *self.settings(names)], env=self.env, name="up")
        self.logs.append((guest.name, self.jobs[guest]))
        self.watches[guest] = Watch(guest, self.run_dir)

    def begin(self):
        for guest in (self.one, self.two):
            self.up(guest)
        for guest in (self.one, self.two):
            try:
                self.jobs[guest].wait_for("up; Ctrl-C", COMES_BACK_S)
            except RigError as error:
                raise Failed(f"{error}\n{json.dumps(self.watches[guest].told)}") from error
        eventually(self.paired, COMES_BACK_S, "the pair never stood", every=0.1)
        self.ask(self.one, "sim", "start")
        self.trades()

    def ask(self, guest, program, command):
        return guest.run(["python3", "-S", "-c", ASK, f"{self.run_dir}/{program}.admin", command])

    def oeg(self, name):
        return self.watches[self.two if name == "oeg-1" else self.one].pair(name)

    def leads(self, name):
        return self.oeg(name).get("role") == "leader" and not self.oeg(name).get("blocked")

    def paired(self):
        """Complete, as all three say: as tests/fault/pair.py has it."""
        watches = [self.watches[guest] for guest in (self.one, self.two)]
        if any(watch.of(name).get("state") != "ready"
               for watch, names in zip(watches, (HERE, THERE)) for name in names):
            return False
        oegs, witness = [self.oeg("oeg-1"), self.oeg("oeg-2")], watches[0].of("risk").get("witness") or {}
        return ({each.get("role") for each in oegs} == {"leader", "standby"}
                and all(each["witness"] and not each["alone"] for each in oegs)
                and witness.get("state") == "paired"
                and len({each.get("epoch") for each in (*oegs, witness)}) == 1)

    def accepted(self, told=None):
        """Orders, by the exchange."""
        return ((told or self.watches[self.one].told).get("sim", {}).get("orders") or {}).get("accepted", 0)

    def trades(self):
        before = self.accepted()
        eventually(lambda: self.accepted() > before + 3, COMES_BACK_S, "nothing trades", every=0.1)

    def lead_there(self):
        """oeg-1 leads, by hand if it has to be; it begins as the leader, and not after a fault."""
        if self.leads("oeg-1") and self.paired():
            return
        eventually(self.paired, COMES_BACK_S, "the pair does not stand", every=0.1)
        if self.leads("oeg-1"):
            return
        answer = self.ask(self.one, "oeg-2", "switch")
        expect('"ok":true' in answer.replace(" ", ""), f"oeg-2 does not hand over: {answer}")
        eventually(lambda: self.leads("oeg-1") and self.paired(), COMES_BACK_S, "oeg-1 does not lead after a switch",
                   every=0.1)
        self.trades()

    # ---- the faults; each returns this machine's time at which it was done

    def guest_killed(self):
        done_ns = time.monotonic_ns()
        self.two.kill()
        return done_ns

    def link_down(self):
        done_ns = time.monotonic_ns()
        self.two.set_link(False)
        return done_ns

    def oeg_killed(self):
        job = self.two.start(["python3", "-S", "-c", KILL, str(self.watches[self.two].of("oeg-1")["pid"])])
        job.wait_for("\n", 30)
        return self.watches[self.two].here(int(job.output.split()[0]))

    def undo(self, fault):
        if fault == "guest_killed":
            boot_again(self.two)
            self.up(self.two)
        elif fault == "link_down":
            # Longer than both sides take to notice: what comes back is a leader that has lost its place.
            time.sleep(self.dice.uniform(0, 3))
            self.two.set_link(True)

    def takes_over(self, fault):
        """Does it; the times in ms: the steps of oeg-2's takeover, and what was seen from outside."""
        watch = self.watches[self.one]
        first = len(watch.lines)
        done_ns = getattr(self, fault)()

        def led():
            lines = watch.lines[first:]
            return [told for told in lines if ((told.get("oeg-2") or {}).get("pair") or {}).get("role") == "leader"]

        eventually(led, 60, "oeg-2 does not lead", every=0.02)
        # The old leader's last orders may come in until the new one leads.
        old = [told for told in watch.lines[:watch.lines.index(led()[0])] if self.accepted(told)]
        before = self.accepted(old[-1])

        def traded():
            return [told for told in led() if self.accepted(told) > before and
                    told["oeg-2"]["pair"]["takeover"]["first_order_ns"] != 0]

        eventually(traded, 60, "oeg-2 leads, and no order is accepted", every=0.02)
        pair = traded()[0]["oeg-2"]["pair"]
        expect(pair["fence"] == "revoked", f"{fault}: the device has not taken back the former leader's right: {pair['fence']}")
        stamps = pair["takeover"]
        at = [done_ns, *(watch.here(stamps[step]) for step in STEPS)]
        steps = [(then - since) / 1e6 for since, then in zip(at, at[1:])]
        return steps, (watch.here(traded()[0]["now"]) - done_ns) / 1e6

    def fault(self, fault):
        """The row of the table, without the verdict on the books."""
        self.lead_there()
        time.sleep(self.dice.uniform(0.5, 2.5))
        self.lead_there()  # on a busy machine a takeover may come without a fault, too
        row = [str(self.seed), fault.replace("_", " ")]
        try:
            steps, outside = self.takes_over(fault)
            row += [f"{each:.0f}" for each in (*steps, outside)]
            began = time.monotonic()
            self.undo(fault)
            eventually(lambda: self.leads("oeg-2") and self.paired(), COMES_BACK_S,
                       f"{fault}: oeg-1 does not stand by again", every=0.1)
            row.append(f"{time.monotonic() - began:.1f} s")
            self.trades()
            for what, took, bound in (("noticed", steps[0], self.times.noticed_ms),
                                      ("an order", outside, self.times.takeover_ms)):
                expect(took <= bound, f"{fault}: {what} after {took:.0f} ms, the bound is {bound:.0f} ms")
        finally:
            row += ["-"] * (9 - len(row))
            self.rows.append("| " + " | ".join(row) + " |")

    def trade(self):
        self.begin()
        for fault in [self.dice.choice(FAULTS) for _ in range(self.dice.randint(1, 2))]:
            self.fault(fault)
        self.end()

    def end(self):
        """Halts the replay and stops all in order: the standby first, the end of a leader is what it waits for."""
        self.ask(self.one, "sim", "halt")
        for guest in (self.two, self.one):
            guest.run([self.tickpath, "down", "--run-dir", self.run_dir, "--timeout", "60"], limit=300, env=self.env)
        for guest, job in self.jobs.items():
            status = job.wait(60)
            expect(status == 0, f"up of {guest.name} ended with {status}:\n{job.output[-2500:]}")

    def save(self):
        for watch in self.watches.values():
            watch.end()
        for number, (name, job) in enumerate(self.logs):
            (self.folder / f"{name}.up-{number}.log").write_text(job.output)
        for guest in (self.one, self.two):
            if not guest.lost:
                keep(guest, self.run_dir, self.folder / guest.name)

    def told_books(self):
        done = subprocess.run([self.tickpath, "books", *(self.folder / guest.name for guest in (self.one, self.two))],
                              capture_output=True, text=True)
        text = done.stdout + done.stderr
        (self.folder / "books.log").write_text(text)
        return done.returncode == 0, text


def show(run, rows):
    path = run.folder("pair_two") / "table.md"
    with open(path, "a") as table:
        if table.tell() == 0:
            table.write(HEAD)
            print("        " + HEAD.splitlines()[0], flush=True)
        for row in rows:
            print("        " + row, flush=True)
            table.write(row + "\n")


def one_run(run, seed):
    pair = Pair(run, seed)
    pair.rows, held = [], "not looked at"
    try:
        try:
            pair.trade()
        finally:
            with contextlib.suppress(RigError):
                pair.save()
        holds, text = pair.told_books()
        held = "hold" if holds else "BROKEN"
        expect(holds, text)
        expect(orders_sent(text) >= ORDERS_LEAST, f"too few orders to tell:\n{text}")
    except BaseException:
        print(f"        seed {seed}: its logs are in {pair.folder}", flush=True)
        raise
    finally:
        show(run, [f"{row} {held} |" for row in pair.rows])
    for guest in (pair.one, pair.two):
        guest.run(f"rm -rf {pair.run_dir}")
    shutil.rmtree(pair.folder)


def pair_two(run):
    """a pair of oegs on two guests: its leader's guest killed, cut off, its process killed (--seeds, --seed)"""
    times = Times(run.dead_after_ms)
    print(f"        dead_after {times.dead_after_ms} ms; times in ms; bounds: noticed {times.noticed_ms:.0f}, "
          f"an order accepted, from outside, {times.takeover_ms:.0f}", flush=True)
    for seed in run.seeds:
        with run.step(f"a pair on two hosts outlives its leader, seed {seed}"):
            one_run(run, seed)
