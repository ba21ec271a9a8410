#!/usr/bin/env python3
"""Hostile peers at every port of running programs, from a seed.

    tests/fault/fuzz_ports.py --bin build/release/bin                 a million messages a port
    tests/fault/fuzz_ports.py --bin build/release/bin --messages 5000 --port fix_42_logged_on

While a child process sends fuzzed messages to one port, this one watches: no program ends, memory and logs
stay below the bounds that are printed, and whoever has a right to is let in within a second all the while.
"""
import argparse
import multiprocessing
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


def attack(programs, name, options, bounds):
    """Problems; prints what it measured."""
    fuzz, let_in = PORTS[name]
    count = Count(options.messages)
    dice = random.Random(f"{options.seed} {name}")
    child = multiprocessing.Process(target=fuzz, args=(programs.ports, programs.run_dir, dice, count), daemon=True)
    legit = Legit(programs)
    begin = time.monotonic()
    child.start()
    problems, waits, sizes = [], [], programs.memory_mib()
    while child.is_alive() and not problems:
        problems += programs.ended()
        if problems:
            break
        if let_in is not None:
            waits.append(let_in(legit))
            if waits[-1] is None:
                problems.append(f"a legitimate peer was not let in within {LET_IN_S} s")
        sizes = programs.memory_mib()
        problems += [f"{each} has {size:.0f} MiB, bound {bounds[each]:.0f}"
                     for each, size in sizes.items() if size > bounds[each]]
        problems += [f"the log of {each} has {size:.0f} MiB, bound {LOG_MIB}"
                     for each, size in programs.log_mib().items() if size > LOG_MIB]
        time.sleep(0.05)
    sent, seconds = count.sent.value, time.monotonic() - begin
    child.terminate()
    child.join()
    problems += [each for each in programs.ended() if each not in problems]
    if not problems and child.exitcode not in (0, -signal.SIGTERM):
        problems.append(f"the hostile peer failed with {child.exitcode}")
    if let_in is None:
        waits = [count.slowest.value] * count.tries.value
        if count.slowest.value > LET_IN_S or not waits:
            problems.append(f"oeg was back after {count.slowest.value:.2f} s at worst, {LET_IN_S} s promised")
    good = [wait for wait in waits if wait is not None]
    memory = ", ".join(f"{each} {size:.0f} of {bounds[each]:.0f}" for each, size in sizes.items())
    if not problems and name in LOOKED_AT:
        print(f"{name}: {programs.counter(*LOOKED_AT[name])} so far of {'/'.join(LOOKED_AT[name])}")
    print(f"{name}: {sent} messages in {seconds:.0f} s; let in {len(good)} times, median "
          f"{statistics.median(good or [0]) * 1e3:.0f} ms, slowest {max(good or [0]) * 1e3:.0f} ms; MiB: {memory}",
          flush=True)
    return [f"{name}: {problem}" for problem in problems]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--messages", type=int, default=1_000_000, help="a port")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", choices=PORTS, action="append", help="only this one; may be repeated")
    parser.add_argument("--keep", action="store_true", help="leave the folder of the programs")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.messages} messages a port", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    programs = Programs(options.bin)
    problems = []
    try:
        programs.start()
        bounds = {name: size + GROWTH_MIB for name, size in programs.memory_mib().items()}
        for name in options.port or PORTS:
            problems += attack(programs, name, options, bounds)
            if programs.ended():
                break
        problems += programs.end()
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
