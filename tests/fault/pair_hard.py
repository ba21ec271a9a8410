#!/usr/bin/env python3
"""A pair of oegs whose log, disk or memory is not as it should be: followers that take nothing while orders fill the log, full disks,
run directories that are lost, older than the pair, or copied and started beside it, and a day that ends. A person kills all strategies
meanwhile. The exchange corrects fills, and cancels fills that it never reported, all the time.

    tests/fault/pair_hard.py --bin build/release/bin --runs 300 --small   # the table: what was done, what it took, whether it held
    tests/fault/pair_hard.py --bin build/release/bin --runs 5 --faults disk,old --kill

Seeds choose the faults and their moments, the rate of orders, and whether a person kills meanwhile. After a fault one oeg leads and
orders are accepted within BOUND_S. `tickpath kill` ends within KILL_S: nothing is open at the exchange any more, or it names what is.
There are never two that lead alone, and no exception is forgotten. In the end the books are compared as by pair.py. Exit status 1
where a run did not hold.
"""
import contextlib
import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import disks
import exchange
from by_hand import PATIENCE_S, parser_of, run_all
from pair import Pair

BOUND_S = 10.0  # with the start of programs where both are gone
KILL_S = 2.0
KILL_TIMEOUT_S = 1.5  # of the command, which then names what is still open
RATES = (500, 1500, 3000)  # orders a second
BUSY_S = 20  # so long at that rate; then at pair.py's
DISK_KB = 1 << 16
FELT_S = 8  # until a full disk is felt: two segments of the journal are there before it is
DAY_S = 25  # from the start of the programs to the end of the exchange's day
FILES = ("{}.pair", "{}.journal*", "{}.*fix*", "{}.exceptions*", "{}.kills*")


class Hard(Pair):
    """The programs of config/hot, with a small log, small segments of the journal, and a disk for the journal of each oeg."""

    FAULTS = ("joiner", "joiner", "follower", "follower", "disk", "disk", "old", "lost", "copied", "step", "reported", "kill", "both")
    ALL_FAULTS = (*FAULTS, "day")
    PAUSE_S = (0.5, 1.0)
    MOUNTS = False  # whether a disk can be made

    def __init__(self, bin_dir, recording, seed, small, ends_day, kill):
        self.measured, self.pauses, self.killed, self.problems = [], [], [], []
        self.disks, self.exceptions, self.always_kill = {}, 0, kill
        self.day_ends = time.time() + DAY_S if ends_day else None
        if ends_day:
            self.FAULTS = ("day", *self.FAULTS)
        try:
            super().__init__(bin_dir, recording, seed, small=small, rate=RATES[seed % len(RATES)])
        except BaseException:
            self.leave(False)
            raise

    def floods(self, rate):
        return {3: (rate, f"{BUSY_S}s"), 4: (500, "600s")}

    def settings(self):
        times = {}
        if self.day_ends:  # and begins anew at once
            end = datetime.datetime.fromtimestamp(self.day_ends, datetime.timezone.utc)
            times = {key: f"{end:%H:%M:%S}" for key in ("start_time", "end_time")}
        odd = {"correct_every": 5, "misreport_every": 200, **times}
        found = {"sim": [f"orders.session.0.{key}={value}" for key, value in odd.items()]}
        for name in ("oeg-1", "oeg-2"):
            found[name] = ["pair.log_bytes=262144", "journal.records=16384", *(f"venue.{key}={value}" for key, value in times.items())]
            if self.MOUNTS:
                self.disks[name] = disks.Disk(self.folder / f"disk-{name}", DISK_KB)
                found[name].append(f"journal.file={self.disks[name].path}/{name}.journal")
        return found

    def leave(self, keep):
        for process in self.processes.values():
            process.kill()
            process.wait()
        for disk in self.disks.values():
            disk.remove()
        super().leave(keep)

    @staticmethod
    def says(text):
        print(f"    {text}", flush=True)

    # ---- what holds after a fault

    def status(self, name):
        return self.ask(name, "status", 0.2)

    def leads_alone(self, name):
        pair = self.status(name).get("pair", {})
        return pair.get("epoch") if pair.get("role") == "leader" and pair.get("alone") and not pair.get("blocked") else None

    def two_lead(self, one="oeg-1", other="oeg-2"):
        """Both at one moment: the first one before the second one is asked, and still after it."""
        before = self.leads_alone(one)
        return before and self.leads_alone(other) and self.leads_alone(one) == before

    def look_for_two(self, seconds, *names):
        if self.wait(lambda: self.two_lead(*names), seconds) is not None:
            self.problems.append("two lead alone")

    def exceptions_at(self, name):
        return self.status(name).get("exceptions_open", 0)

    def victim(self):
        self.problems = []
        self.exceptions = max(self.exceptions, self.exceptions_at("oeg-1"), self.exceptions_at("oeg-2"))
        return super().victim()

    def wrong(self, took):
        problems = super().wrong(took)
        if took is not None and took > BOUND_S:
            problems.append(f"orders were accepted again after {took:.1f} s")
        self.look_for_two(0.01)
        leader = self.leader_in_the_end()
        if leader and self.wait(lambda: self.exceptions_at(leader) >= self.exceptions, 2) is None:
            problems.append(f"of {self.exceptions} exceptions {leader} lists {self.exceptions_at(leader)}")
        return problems + self.problems

    def finish(self):
        self.last_leader = self.leader_in_the_end()
        problems = super().finish()
        # The exchange cancels fills that were none, and nobody clears these exceptions: the books must say so.
        about = [each for each in problems if "reports of the venue that nobody has looked at" in each]
        if self.exceptions and not about:
            problems.append(f"the books say nothing of {self.exceptions} exceptions")
        if about == [each for each in problems if each.startswith(("BROKEN", "MISSING"))] and about:
            problems.remove("books")
        return [each for each in problems if each not in about]

    def told_by_exchange(self):
        if self.day_ends:  # its messages of the first day are gone: the books are left
            return []
        problems = super().told_by_exchange()
        (store,) = self.run_dir.glob("sim.*.fixstore")
        told = exchange.reports(store)[0]
        for name, began, ended in self.pauses:
            self.measured.append((name, exchange.longest_pause(self.run_dir, began, ended)[1] / 1000))
        for kill in self.killed:
            problems += self.open_after(told, *kill)
        odd = sum(each[b"20"] == b"1" for each in told)
        named = len({line for line in (self.run_dir / f"{self.last_leader}.exceptions").read_text().splitlines()
                     if '"unknown_execution"' in line})
        return problems + ([] if odd == named else [f"the exchange canceled {odd} fills that were none, {named} are exceptions"])

    def open_after(self, told, fault, began, ended):
        """What the exchange has open of ours although a kill said that nothing is."""
        open_orders, last = set(), began
        for each in told:
            if each[b"20"] == b"0" and exchange.sent_at(each) <= ended:
                over = each[b"39"] in (b"2", b"4", b"8", b"C")
                (open_orders.discard if over else open_orders.add)(each[b"37"])
                last = max(last, exchange.sent_at(each)) if each[b"150"] == b"4" else last
        self.measured.append((f"kill during {fault}: last cancel", last - began))
        return [f"{len(open_orders)} orders were open after a kill during {fault}"] if open_orders else []

    # ---- a person kills meanwhile

    def person(self, fault, delay_s=0.0):
        """Kills all strategies, and lets them trade again."""
        time.sleep(delay_s)
        began, clock = time.monotonic(), time.time()
        told, killed = self.tickpath("kill", "--timeout", str(KILL_TIMEOUT_S))
        took = time.monotonic() - began
        self.measured.append((f"kill during {fault}" + ("" if killed else ": named"), took))
        if killed:
            self.killed.append((fault, clock, clock + took))
        else:
            self.says(f"kill: {told.strip()}")
        if took > KILL_S:
            self.problems.append(f"kill took {took:.2f} s: {told.strip()}")
        told, lifted = self.tickpath("unkill", "--timeout", str(PATIENCE_S))
        if not lifted:
            self.problems.append(f"unkill: {told.strip()}")

    def person_kills(self):
        return self.always_kill or self.dice.random() < 0.5

    def maybe_person(self, fault):
        if self.person_kills():
            self.person(fault, self.dice.uniform(0, 0.3))

    # ---- the faults; each gives seconds until orders are accepted again, None: they never were

    def beside(self, fault, leader):
        """One of pair.py's, and a person at any moment of it."""
        person = threading.Thread(target=self.person, args=(fault, self.dice.uniform(0, 0.4)))
        kills = self.person_kills()
        if kills:
            person.start()
        try:
            return getattr(super(), f"fault_{fault}")(leader)
        finally:
            if kills:
                person.join()

    def fault_step(self, leader):
        return self.beside("step", leader)

    def fault_kill(self, leader):
        return self.beside("kill", leader)

    def fault_both(self, leader):
        return self.beside("both", leader)

    def fault_reported(self, leader):
        """The leader dies with a report sent to its strategy, perhaps of a correction, before anything else."""
        return self.dies_at(leader, "reported")

    def stopped(self, name, fault, pause_s):
        """It takes nothing for so long, and longer where a person kills."""
        self.begin()
        began = time.time()
        self.processes[name].send_signal(signal.SIGSTOP)
        time.sleep(pause_s)
        self.pauses.append((f"{fault}: longest pause", began, time.time()))
        self.maybe_person(fault)
        took = self.trades(self.other(name))
        self.processes[name].send_signal(signal.SIGCONT)
        return took

    def fault_joiner(self, leader):
        """A joiner stops at any moment of its join for longer than the log has room, and goes on."""
        joiner = self.other(leader)
        self.kill(joiner)
        if not self.is_alone(leader):
            return None
        before = self.pair_counter(leader, "standbys_joined")
        self.start(joiner)
        if self.wait(lambda: self.pair_counter(leader, "standbys_joined") > before, PATIENCE_S) is None:
            return None
        time.sleep(self.dice.uniform(0, 0.2))
        return self.stopped(joiner, "joiner", self.dice.uniform(0.2, 1))

    def fault_follower(self, leader):
        """The standby stops for longer than it may."""
        return self.stopped(self.other(leader), "follower", self.dice.uniform(0.2, 1))

    def pair_counter(self, name, counter):
        return self.ask(name, "counters", 0.2).get("counters", {}).get("pair", {}).get(counter, 0)

    def feels_full_disk(self, leader, victim):
        """Until the leader takes no order for want of room in its journal, or has given the standby up."""
        if victim == leader:
            full = lambda: self.ask(leader, "counters", 0.2).get("counters", {}).get("refused", {}).get("journal_full", 0)
        else:
            full = lambda: self.pair_counter(leader, "standbys_lost")
        before = full()
        felt = self.wait(lambda: full() > before, FELT_S)
        self.says(f"the disk of {victim}, {'leader' if victim == leader else 'standby'}, is full: "
                  + ("not felt" if felt is None else f"felt after {felt:.1f} s"))

    def fault_disk(self, leader):
        """The disk of either is full until that was felt, and somewhat longer; where it is the standby's the leader may die meanwhile."""
        victim = self.dice.choice((leader, self.other(leader), self.other(leader)))
        self.begin()
        self.disks[victim].fill()
        self.feels_full_disk(leader, victim)
        self.maybe_person("disk")
        if victim != leader and self.dice.random() < 0.5:
            self.kill(leader)
            self.start(leader)
        time.sleep(self.dice.uniform(0, 1))
        self.begin()  # nobody has to take orders before
        self.disks[victim].clear()
        return self.trades()

    def files_of(self, name):
        for folder in (self.run_dir, *(disk.path for disk in self.disks.values())):
            for pattern in FILES:
                yield from folder.glob(pattern.format(name))

    def copy_of(self, name, folder):
        """Its files as they are while it runs; what is where, path to copy."""
        folder.mkdir()
        kept = {}
        for path in list(self.files_of(name)):
            with contextlib.suppress(FileNotFoundError):  # it has another name since
                kept[path] = (shutil.copytree if path.is_dir() else shutil.copy2)(path, folder / path.name)
        return kept

    def remove_files(self, name):
        for path in list(self.files_of(name)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def fault_old(self, leader):
        """What a leader had once, alone or paired, is put back after the other one has led since."""
        other = self.other(leader)
        alone = self.dice.random() < 0.5
        if alone:
            self.kill(other)
            if not self.is_alone(leader):
                return None
        kept = self.copy_of(leader, self.folder / f"old-{time.monotonic_ns()}")
        if alone:
            self.start(other)
            if self.stand() is None:
                return None
        self.kill(leader)
        if self.had_no_standby(leader):
            return self.trades()
        took = self.trades(other)
        self.remove_files(leader)
        for path, copy in kept.items():
            shutil.move(copy, path)
        self.start(leader)
        self.maybe_person("old")
        self.look_for_two(1)
        return took

    def fault_lost(self, leader):
        """Either dies, and comes again without anything that it had."""
        victim = self.dice.choice((leader, self.other(leader)))
        self.kill(victim)
        self.remove_files(victim)
        self.start(victim)
        self.maybe_person("lost")
        return self.trades()

    def fault_copied(self, leader):
        """A copy of either's run directory is started beside it, as on another host."""
        victim = self.dice.choice((leader, self.other(leader)))
        folder = self.folder / f"copy-{time.monotonic_ns()}"
        self.copy_of(victim, folder)
        config = (self.folder / f"config/{victim}.toml").read_text()  # it finds the others where they are
        (self.folder / "config/copy.toml").write_text(re.sub(r"\{run_dir\}(/(?!\{name\})\S+\.fabric)", rf"{self.run_dir}\1", config))
        settings = [each for each in self.common[victim][1:] if not each.startswith("journal.file=")]
        self.begin()
        self.launch("copy", self.bin / "oeg", [*settings, f"name={victim}"], run_dir=folder)
        copy = os.path.relpath(folder / victim, self.run_dir)
        if self.wait(lambda: self.status(copy), PATIENCE_S) is None:
            self.problems.append("the copy does not run")
        self.maybe_person("copied")
        for original in (self.other(victim), victim):
            self.look_for_two(self.dice.uniform(0.3, 0.8), copy, original)
        self.kill("copy")
        return self.trades()

    def fault_day(self, leader):
        """The exchange's day ends, and the leader dies about then."""
        left = self.day_ends + self.dice.uniform(-0.5, 1.0) - time.time()
        if left > 0:
            time.sleep(left)
        self.kill(leader)
        self.start(leader)
        self.maybe_person("day")
        return self.trades()


def main():
    parser = parser_of(__doc__, Hard.ALL_FAULTS)
    parser.add_argument("--small", action="store_true", help="small tables, for many runs")
    parser.add_argument("--kill", action="store_true", help="a person kills during each fault; without it the seed says when")
    options = parser.parse_args()
    Hard.MOUNTS = disks.of_our_own()
    if not Hard.MOUNTS:
        print("no file system may be mounted here: without the faults of full disks", flush=True)
        Hard.FAULTS = tuple(fault for fault in Hard.FAULTS if fault != "disk")
        if options.faults == ["disk"]:
            sys.exit(77)
        options.faults = [fault for fault in options.faults or () if fault != "disk"]

    def make(recording, seed):
        ends_day = "day" in options.faults if options.faults else seed % 10 == 0
        return Hard(options.bin, recording, seed, options.small, ends_day, options.kill)
    run_all(options, make)


if __name__ == "__main__":
    main()
