#!/usr/bin/env python3
"""Hostile peers at every port of running programs, from a seed.

    tests/fault/fuzz_ports.py --bin build/release/bin                 a million messages at every port
    tests/fault/fuzz_ports.py --bin build/release/bin --messages 5000 --port fix_42_logged_on

While a child process sends fuzzed messages to one port, this one watches: no program ends, memory and logs
stay below the bounds that are printed, and whoever has a right to is let in within a second all the while.
All ports are those of the same programs, started once. It says every ten seconds how far it is, and ends with
a table; exit status 1: the last lines say what went wrong, and with which seed.
"""
import argparse
import dataclasses
import hashlib
import multiprocessing
import pathlib
import random
import signal
import statistics
import sys
import time
from functools import partial

from ports import hostile
from ports.fix import LET_IN_S
from ports.legit import Legit
from ports.programs import Programs

GROWTH_MIB = 96  # tables that are touched, a queue that is full; more is a leak
LOG_MIB = 32  # the demo's configuration in effect, and so many lines in ten seconds
STALL_S = 60  # a hostile peer that gets nothing sent for so long is stuck, or the program is

PORTS = {
    "fix_before_logon": (hostile.fuzz_fix_strangers, Legit.order_entry),
    "fix_42_logged_on": (partial(hostile.fuzz_fix_session, name="fuzzed_42", version="4.2"), Legit.order_entry),
    "fix_44_logged_on": (partial(hostile.fuzz_fix_session, name="fuzzed_44", version="4.4"), Legit.order_entry),
    "oeg_venue": (hostile.fuzz_venue, None),
    "setup_mdh": (partial(hostile.fuzz_setup, program="mdh"), lambda legit: legit.setup("mdh")),
    "setup_oeg": (partial(hostile.fuzz_setup, program="oeg"), lambda legit: legit.setup("oeg")),
    "admin_sim": (partial(hostile.fuzz_admin, program="sim"), lambda legit: legit.admin("sim")),
    "admin_oeg": (partial(hostile.fuzz_admin, program="oeg"), lambda legit: legit.admin("oeg")),
    "snapshot": (hostile.fuzz_snapshot, Legit.snapshot),
    "retransmission": (hostile.fuzz_retransmission, Legit.retransmission),
}

# Where the programs count what was not thrown away unread.
LOOKED_AT = {
    "fix_before_logon": ("sim", "session.FUZZED_44", "received"),
    "fix_42_logged_on": ("sim", "session.FUZZED_42", "received"),
    "fix_44_logged_on": ("sim", "session.FUZZED_44", "received"),
    "oeg_venue": ("oeg", "fix", "received"),
    "snapshot": ("sim", "snapshot", "malformed"),
    "retransmission": ("sim", "retransmission", "requests"),
}


class Count:
    def __init__(self, total):
        self.total = total
        self.sent = multiprocessing.Value("q", 0)
        self.tries = multiprocessing.Value("q", 0)
        self.slowest = multiprocessing.Value("d", 0.0)


@dataclasses.dataclass
class Row:
    """What was measured at one port."""

    port: str
    sent: int = 0
    seconds: float = 0
    waits: list = dataclasses.field(default_factory=list)  # until a legitimate peer was in, seconds
    peaks: dict = dataclasses.field(default_factory=dict)  # MiB by program
    taken: str = ""  # by the program's own counter

    def text(self, bounds):
        memory = ", ".join(f"{each} {size:.0f}/{bounds[each]:.0f}" for each, size in self.peaks.items())
        median = statistics.median(self.waits or [0]) * 1e3
        return (f"{self.port:<17}{self.sent:>10}{self.seconds:>7.0f}{self.taken:>10}{len(self.waits):>8}"
                f"{median:>8.0f}{max(self.waits or [0]) * 1e3:>8.0f}  {memory}")


HEAD = f"{'port':<17}{'messages':>10}{'s':>7}{'read':>10}{'let in':>8}{'median':>8}{'slowest':>8}  MiB at most/bound"


class Progress:
    """Says now and then how far it is; notices when nothing goes on."""

    def __init__(self, name, count):
        self.name, self.count = name, count
        self.sent, self.since = -1, 0.0
        self.begin = self.told = time.monotonic()

    def step(self, let_in):
        """Problems."""
        now, sent = time.monotonic(), self.count.sent.value
        if sent != self.sent:
            self.sent, self.since = sent, now
        if now - self.told >= 10:
            self.told = now
            rate = max(sent / (now - self.begin), 1)
            print(f"{self.name}: {sent} of {self.count.total} messages, {rate:.0f} a second, "
                  f"{max(self.count.total - sent, 0) / rate:.0f} s to go; let in {let_in} times", flush=True)
        return [f"nothing was sent for {STALL_S} s"] if now - self.since > STALL_S else []


def attack(programs, name, options, bounds):
    """Row and problems."""
    fuzz, let_in = PORTS[name]
    count = Count(options.messages)
    dice = random.Random(f"{options.seed} {name}")
    child = multiprocessing.Process(target=fuzz, args=(programs.ports, programs.run_dir, dice, count), daemon=True)
    legit = Legit(programs)
    row = Row(name, peaks=programs.memory_mib())
    progress = Progress(name, count)
    read_before = read_at(programs, name)
    child.start()
    problems, waits = [], []
    while child.is_alive() and not problems:
        problems += programs.ended()
        if problems:
            break
        if let_in is not None:
            waits.append(let_in(legit))
            if waits[-1] is None:
                problems.append(f"a legitimate peer was not let in within {LET_IN_S} s")
        sizes = programs.memory_mib()
        row.peaks = {each: max(size, row.peaks[each]) for each, size in sizes.items()}
        problems += [f"{each} has {size:.0f} MiB, bound {bounds[each]:.0f}"
                     for each, size in sizes.items() if size > bounds[each]]
        problems += [f"the log of {each} has {size:.0f} MiB, bound {LOG_MIB}"
                     for each, size in programs.log_mib().items() if size > LOG_MIB]
        problems += progress.step(len(waits) if let_in is not None else count.tries.value)
        time.sleep(0.05)
    row.sent, row.seconds = count.sent.value, time.monotonic() - progress.begin
    child.terminate()
    child.join()
    problems += [each for each in programs.ended() if each not in problems]
    if not problems and child.exitcode not in (0, -signal.SIGTERM):
        problems.append(f"the hostile peer failed with {child.exitcode}")
    if not problems and row.sent < options.messages:
        problems.append(f"only {row.sent} of {options.messages} messages were sent")
    if let_in is None:
        waits = [count.slowest.value] * count.tries.value
        if count.slowest.value > LET_IN_S or not waits:
            problems.append(f"oeg was back after {count.slowest.value:.2f} s at worst, {LET_IN_S} s promised")
    row.waits = [wait for wait in waits if wait is not None]
    if not problems and read_before is not None:
        row.taken = str(read_at(programs, name) - read_before)
    print(f"{HEAD}\n{row.text(bounds)}", flush=True)
    return row, [f"{name}: {problem}" for problem in problems]


def read_at(programs, name):
    """Messages of that port that were not thrown away unread, so far; None: no counter says so."""
    return programs.counter(*LOOKED_AT[name]) if name in LOOKED_AT else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--messages", type=int, default=1_000_000, help="a port")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", choices=PORTS, action="append", help="only this one; may be repeated")
    parser.add_argument("--keep", action="store_true", help="leave the folder of the programs")
    options = parser.parse_args()
    build = hashlib.sha256(b"".join(pathlib.Path(options.bin, each).read_bytes() for each in ("sim", "mdh", "oeg")))
    print(f"build {build.hexdigest()[:12]}, seed {options.seed}, {options.messages} messages a port", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    programs = Programs(options.bin)
    rows, problems = [], []
    try:
        programs.start()
        bounds = {name: size + GROWTH_MIB for name, size in programs.memory_mib().items()}
        print(f"bounds: memory {', '.join(f'{name} {size:.0f} MiB' for name, size in bounds.items())}; logs {LOG_MIB} "
              f"MiB; a legitimate peer is in after {LET_IN_S} s", flush=True)
        for name in options.port or PORTS:
            row, found = attack(programs, name, options, bounds)
            rows.append(row)
            problems += found
            if programs.ended():
                break
        problems += programs.end()
        print("\n".join([f"\n{HEAD}"] + [row.text(bounds) for row in rows]), flush=True)
        if problems:
            print("\n".join(problems) + f"\nagain: --seed {options.seed}\n{programs.logs()}")
    finally:
        if options.keep:
            print(programs.folder)
        else:
            programs.remove()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
