#!/usr/bin/env python3
"""A pair of oegs under order flow, its witness and its clients, with one fault or two a run.

    tests/fault/pair.py --bin build/release/bin --runs 500        # the table: what was done, what it took, whether it held
    tests/fault/pair.py --bin build/release/bin --runs 9 --faults kill,stop
    tests/fault/pair.py --bin build/release/bin --mutants         # rules broken on purpose: each must be found

Seeds choose the faults and their moments. At the end of a run no order, fill, position or cent may differ between sim, the
oeg that leads, risk and strategy, nor between the exchange's own messages and what strategies know (exchange.py), and the
pair must stand again. Exit status 1 where a run did not hold.

The oegs are build/.../tests/oeg_steps, which is oeg but that it can be stopped or ended between two of its steps (oeg/steps.hpp).
"""
import mmap
import random
import signal
import struct
import subprocess
import time

import cut
import exchange
from by_hand import PATIENCE_S, ByHand, Tally, one_run, parser_of, run_all, show_run, some_of
from running import SOURCE, broken_lines

STORE_MESSAGES = 131072
RATE = 500  # orders a second
# An exception as its list has it, of a symbol that is traded.
HELD = ('{"id":1,"kind":"shares","strategy":1,"seq":7,"realtime_ns":1,"order_id":0,"symbol":"ZAAA","message":"8=FIX.4.2|"}\n')
# Beside the strategies of config/hot, whose own pauses would be in every time: orders at a rate, whatever becomes of them.
FLOOD = """
[[plugin]]
id = {id}
name = "flood"
file = "{file}"

[plugin.parameters]
rate = {rate}
window = "{window}"
"""
# Tables of a size for these runs: a program starts, and is taken apart, in less time.
SMALL = {
    "sim": ["matching.recorded_orders_max=131072", "matching.recorded_levels_max=65536", "matching.live_orders_max=16384",
            "matching.order_ids_max=262144", "feed.retransmission.messages=524288", "orders.reports_pending_max=32768"],
    "mdh": ["instruments_max=1024", "book.orders_max=131072", "book.levels_max=65536", "publish.ring_slots_max=262144"],
    "oeg": ["mdh.instruments_max=1024", "orders.max=8192", "orders.executions_max=65536", "journal.records=65536"],
    "risk": ["instruments_max=1024"],
    "strategy": ["instruments_max=1024"],
}
# oeg/steps.hpp
LEADER_STEPS = {"recorded": 1, "posted": 2, "confirmed": 3, "sent": 4, "reported": 5}
STANDBY_STEPS = {"asked": 7, "fenced": 8, "decided": 9, "recovered": 10}
PLACES = {"oeg-1": 1, "oeg-2": 2}  # of config/hot
RULES = {"fence": 1, "confirm": 2, "witness": 4, "epoch": 8}
# When what happened in a takeover, in this order; ns of CLOCK_MONOTONIC, as this program's are.
STAMPS = ("suspected_ns", "fenced_ns", "decided_ns", "recovered_ns", "connected_ns", "logged_on_ns", "first_order_ns")


class Steps:
    """What one oeg_steps is to do where; the file of tests/fault/oeg_steps.cpp."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(4096))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 4096)

    def arm(self, step, number, passes=1):
        struct.pack_into("<IQ", self.memory, 4, number, passes)
        struct.pack_into("<I", self.memory, 20, 0)
        struct.pack_into("<I", self.memory, 0, step)

    def disarm(self):
        struct.pack_into("<I", self.memory, 0, 0)

    def break_rule(self, rule):
        struct.pack_into("<I", self.memory, 16, RULES[rule] if rule else 0)

    def reached(self):
        return struct.unpack_from("<I", self.memory, 20)[0] != 0


class Pair(ByHand):
    """The programs of config/hot."""

    CONFIG, RISKS = "config/hot", ("risk",)
    FAULTS = ("kill", "stop", "blink", "standby", "slow", "catch_up", "rejoin", "found", "held", "switch", "kill_in_switch",
              "witness", "both", "restart", "step", "step", "step", "zombie", "sent", "cut_pair", "cut_venue", "cut_witness", "cut_strategy")
    FAULTS_MAX, PAUSE_S = 2, (0.5, 1.5)

    @classmethod
    def programs(cls):
        """In the order in which they start."""
        return ("sim", *cls.RISKS, "mdh-1", "mdh-2", "oeg-1", "oeg-2", "strategy")

    def __init__(self, bin_dir, recording, seed, broken=None, parked=(), small=False, rate=RATE):
        self.dice = random.Random(seed)
        self.bin = bin_dir
        self.processes, self.takeovers = {}, []
        self.joins = []  # (from, to), seconds of the day's clock
        self.began_ns = 0  # the last fault
        self.prepare(SOURCE / self.CONFIG, None)
        with open(self.folder / "config/strategy.toml", "a") as file:
            for number, (orders, window) in self.floods(rate).items():
                file.write(FLOOD.format(id=number, file=bin_dir.parent / "tests/plugins/flood.so", rate=orders, window=window))
        self.steps = {name: Steps(self.folder / f"{name}.steps") for name in ("oeg-1", "oeg-2")}
        for steps in self.steps.values():
            steps.break_rule(broken)
        messages = STORE_MESSAGES << (rate // 1500).bit_length()  # a power of two
        self.common = {
            # The judge needs every message that the exchange has sent.
            "sim": ["sim", f"replay.file={recording}", "replay.pace=recorded", f"orders.session.0.store_messages={messages}"],
            **{name: ["risk"] for name in self.RISKS},
            "mdh-1": ["mdh"],
            "mdh-2": ["mdh"],
            "strategy": ["strategy", "trace.enabled=false"],
            "oeg-1": ["oeg"],
            "oeg-2": ["oeg"],
        }
        if small:
            for settings in self.common.values():
                settings += SMALL[settings[0]]
        for name, settings in self.settings().items():
            self.common[name] += settings
        for name in parked:
            self.common[name].append("datapath.wait=park")
        for name in self.programs():
            self.start(name)

    def floods(self, rate):
        """By strategy: orders a second, for how long."""
        return {3: (rate, "600s")}

    def settings(self):
        """More of them by program, before any is started."""
        return {}

    def start(self, name):
        program, *settings = self.common[name]
        if name not in self.steps:
            return self.launch(name, self.bin / program, settings)
        self.launch(name, self.bin.parent / "tests/oeg_steps", settings, {"TICKPATH_STEPS": str(self.steps[name].path)})

    def role(self, name):
        # One that is stopped, or starts anew, does not answer: the other one is asked meanwhile.
        return self.ask(name, "status", 0.05).get("pair", {}).get("role")

    def paired(self):
        status = {name: self.ask(name, "status") for name in self.common}
        if any(status[name].get("state") != "ready" for name in status):
            return False
        # Of two witnesses the one that decides has the newest word.
        witness = max((status[name].get("witness", {}) for name in self.RISKS), key=lambda word: word.get("epoch", 0))
        words = [witness, status["oeg-1"]["pair"], status["oeg-2"]["pair"]]
        return ({pair["role"] for pair in words[1:]} == {"leader", "standby"}
                and all(pair["witness"] and not pair["alone"] for pair in words[1:])
                and words[0].get("state") == "paired" and len({word.get("epoch") for word in words}) == 1)

    def stand(self):
        """The pair is complete, by all three; what it tells its standby of a new witness takes a moment more."""
        stands = self.wait(self.paired, PATIENCE_S)
        time.sleep(0.05)
        return stands

    def is_alone(self, leader):
        """Once it has found out that it has no standby; False: it never did."""
        return self.wait(lambda: self.ask(leader, "status").get("pair", {}).get("alone"), PATIENCE_S) is not None

    def wrong(self, took):
        """What does not hold after a fault; `took`: seconds until orders were accepted again."""
        if took is None:
            return ["nothing is accepted any more"]
        return ["it does not stand again"] if self.stand() is None else []

    def victim(self):
        """Whom a fault is about."""
        return self.leader_in_the_end()

    def leader_in_the_end(self):
        """On a busy machine an answer may stay out for once."""
        found = []
        self.wait(lambda: found.append(self.leader()) or found[-1], PATIENCE_S)
        return found[-1]

    def leader(self):
        return next((name for name in ("oeg-1", "oeg-2") if self.role(name) == "leader"), None)

    def other(self, name):
        return "oeg-2" if name == "oeg-1" else "oeg-1"

    def begin(self):
        """The moment of a fault."""
        self.began_ns = time.monotonic_ns()

    def kill(self, name):
        self.began_ns = time.monotonic_ns()
        self.processes[name].kill()
        self.processes[name].wait()

    def note_takeover(self, fault, name):
        """The parts of the takeover that `fault` has caused, by the new leader's own stamps."""
        def stamps():
            found = self.ask(name, "status").get("pair", {}).get("takeover", {})
            return found if found.get("decided_ns", 0) > self.began_ns and found.get("first_order_ns", 0) else None
        if self.wait(lambda: stamps() is not None, 2) is None:
            return
        found = stamps()
        times = [self.began_ns] + [found[stamp] for stamp in STAMPS]
        parts = {"detection": times[1] - times[0], "fence, decision": times[3] - times[1], "recovery": times[4] - times[3],
                 "logon": times[6] - times[4], "first order": times[7] - times[6]}
        if times[1] < times[0]:  # handed over by the old one: nothing was suspected
            parts = {"decision": times[3] - times[0]} | dict(list(parts.items())[2:])
        parts["decided"] = times[3] - times[0]
        parts["old's last entry to first order"] = times[7] - found["last_entry_ns"]
        parts["all"] = times[7] - times[0]
        self.takeovers.append((fault, parts))

    def trades(self, name=None):
        """Seconds from the fault until `name`, or either, leads and orders are accepted; None: never."""
        return self.accepted_once((lambda: self.role(name) == "leader") if name else self.leader)

    def accepted_once(self, condition):
        """Seconds from the fault until that holds and, from then on, orders are accepted; None: never."""
        if self.wait(condition, PATIENCE_S) is None:
            return None
        before = self.sim()[0]
        if self.wait(lambda: self.sim()[0] > before, PATIENCE_S) is None:
            return None
        return (time.monotonic_ns() - self.began_ns) / 1e9

    def hang(self, name, ended):
        """It hangs until ended() returns, and somewhat longer; what that returns."""
        self.begin()
        self.processes[name].send_signal(signal.SIGSTOP)
        took = ended()
        time.sleep(self.dice.uniform(0, 0.5))
        self.processes[name].send_signal(signal.SIGCONT)
        return took

    def blink(self, name, longest_s):
        self.begin()
        self.processes[name].send_signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.01, longest_s))
        self.processes[name].send_signal(signal.SIGCONT)

    def restart_all(self, names):
        """They die, and come again in any order."""
        names = list(names)
        for name in names:
            self.kill(name)
        self.dice.shuffle(names)
        for name in names:
            self.start(name)
            time.sleep(self.dice.uniform(0, 0.3))

    # ---- the faults; each gives seconds until orders are accepted again, None: they never were

    def led_alone(self, name):
        """By the witness's word: it needed nobody, and nobody can have its place."""
        words = [self.ask(risk, "status").get("witness", {}) for risk in self.RISKS]
        word = max(words, key=lambda each: each.get("epoch", 0))
        return word.get("state") == "alone" and word.get("leader") == PLACES[name]

    def had_no_standby(self, leader):
        """It has died. On a busy machine it may have given its standby up just before; then nobody else may lead, and it is started."""
        self.wait(lambda: self.role(self.other(leader)) == "leader" or self.led_alone(leader), PATIENCE_S)
        if not self.led_alone(leader):
            return False
        print(f"    {leader} had given its standby up before it died", flush=True)
        self.start(leader)
        return True

    def succeeded(self, leader, fault=None):
        """It has died: seconds until its standby leads and orders are accepted. Then it is started again."""
        if self.had_no_standby(leader):
            return self.trades()
        took = self.trades(self.other(leader))
        if fault:
            self.note_takeover(fault, self.other(leader))
        self.start(leader)
        return took

    def fault_kill(self, leader):
        """The leader dies, and joins again."""
        self.begin()
        self.kill(leader)
        return self.succeeded(leader, "kill")

    def fault_stop(self, leader):
        """The leader hangs, and goes on when another one leads: the zombie."""
        def taken_over():
            took = self.trades(self.other(leader))
            self.note_takeover("stop", self.other(leader))
            return took
        return self.hang(leader, taken_over)

    def fault_blink(self, leader):
        """The leader hangs for about as long as its standby waits for it."""
        self.blink(leader, 0.08)
        return self.trades()

    def fault_standby(self, leader):
        """The standby dies, and joins again."""
        self.kill(self.other(leader))
        took = self.trades(leader)
        self.start(self.other(leader))
        return took

    def fault_slow(self, leader):
        """The standby stops and goes on, again and again."""
        self.begin()
        for _ in range(self.dice.randint(1, 4)):
            self.processes[self.other(leader)].send_signal(signal.SIGSTOP)
            time.sleep(self.dice.uniform(0.005, 0.06))
            self.processes[self.other(leader)].send_signal(signal.SIGCONT)
            time.sleep(self.dice.uniform(0, 0.02))
        return self.trades()

    def fault_catch_up(self, leader):
        """The standby dies again while it catches up, or the leader while it does."""
        standby = self.other(leader)
        self.kill(standby)
        self.start(standby)
        time.sleep(self.dice.uniform(0, 0.6))
        victim = self.dice.choice((standby, leader))
        self.kill(victim)
        self.start(victim)
        return self.trades()

    def fault_rejoin(self, leader):
        """The standby dies and joins again: under a rate (--rate) that fills the log of a joiner in less time than a join takes."""
        standby = self.other(leader)
        self.kill(standby)
        if not self.is_alone(leader):
            return None
        began = time.time()
        self.start(standby)
        took = self.stand()
        self.joins.append((began, time.time()))
        return took

    def tickpath(self, *arguments):
        """What it has said, and whether it did what it was asked for."""
        told = subprocess.run([self.bin / "tickpath", *arguments, "--run-dir", self.run_dir], capture_output=True, text=True)
        return told.stdout + told.stderr, told.returncode == 0

    def fault_found(self, leader):
        """Both die, the leader last and alone, and what they knew is lost: it leads again by a person's word, the other one does not."""
        standby = self.other(leader)
        self.kill(standby)
        if not self.is_alone(leader):
            return None
        self.kill(leader)
        for name in (leader, standby):
            (self.run_dir / f"{name}.pair").unlink()
        self.start(standby)
        if self.wait(lambda: "--over" in self.tickpath("pair", "found", standby)[0], PATIENCE_S) is None:
            return None
        self.processes[standby].kill()
        self.processes[standby].wait()
        self.start(leader)
        if self.wait(lambda: self.tickpath("pair", "found", leader)[1], PATIENCE_S) is None:
            return None
        took = self.trades(leader)
        self.start(standby)
        return took

    def held(self, name):
        """Orders that it has refused because an exception of their symbol is open."""
        return self.ask(name, "counters").get("counters", {}).get("refused", {}).get("exception", 0)

    def fault_held(self, leader):
        """The leader has an exception from before, and dies: the new one refuses the symbol, too, until a person clears it there."""
        standby = self.other(leader)
        for name in (standby, leader):
            self.kill(name)
        with open(self.run_dir / f"{leader}.exceptions", "a") as file:
            file.write(HELD)
        self.start(leader)
        self.start(standby)
        if self.stand() is None:
            return None
        self.kill(leader)
        took = self.trades(standby)
        before = self.held(standby)
        if took is None or self.wait(lambda: self.held(standby) > before, PATIENCE_S) is None:
            return None
        (cleared,) = self.ask(standby, "exceptions")["open"]
        self.tickpath("exceptions", "--oeg", standby, "--clear", str(cleared["id"]), "--by", "test")
        time.sleep(0.1)
        before = self.held(standby)
        time.sleep(1)
        if self.held(standby) != before:
            return None
        self.start(leader)
        return took

    def fault_switch(self, leader):
        """Leadership moves by hand."""
        self.begin()
        if not self.ask(leader, "switch").get("ok", False):
            return None
        took = self.trades(self.other(leader))
        self.note_takeover("switch", self.other(leader))
        return took

    def fault_restart(self, leader):
        """What a restart takes: without a standby the leader dies, and is started at once."""
        self.kill(self.other(leader))
        if not self.is_alone(leader):
            return None
        self.begin()
        self.kill(leader)
        self.start(leader)
        took = self.trades(leader)
        self.start(self.other(leader))
        return took

    def fault_step(self, leader):
        """Either is ended or stopped between two steps, of an order's way or of a takeover; one that is stopped goes on later."""
        self.begin()
        number = self.dice.choice((signal.SIGKILL, signal.SIGSTOP))
        if self.dice.random() < 0.6:
            victim = leader
            step = self.dice.choice(tuple(LEADER_STEPS))
            self.steps[victim].arm(LEADER_STEPS[step], number, self.dice.randint(1, 200 if step != "posted" else 2000))
        else:
            victim = self.other(leader)
            step = self.dice.choice(tuple(STANDBY_STEPS))
            self.steps[victim].arm(STANDBY_STEPS[step], number)
            self.processes[leader].send_signal(signal.SIGSTOP)
        self.done = f"step {step}{'' if number == signal.SIGKILL else ' (stop)'}"
        reached = self.wait(self.steps[victim].reached, 5)
        self.steps[victim].disarm()
        if victim != leader:
            time.sleep(self.dice.uniform(0, 0.1))
            self.processes[leader].send_signal(signal.SIGCONT)
        if reached is not None and number == signal.SIGKILL:
            self.processes[victim].wait()
            time.sleep(self.dice.uniform(0, 0.1))
            self.start(victim)
        elif reached is not None:
            time.sleep(self.dice.uniform(0, 0.3))
            self.processes[victim].send_signal(signal.SIGCONT)
        return self.trades()

    def fault_zombie(self, leader):
        """The leader hangs until its standby has decided, and goes on before that one is at the exchange."""
        standby = self.other(leader)
        self.begin()
        self.steps[standby].arm(STANDBY_STEPS["decided"], signal.SIGSTOP)
        self.processes[leader].send_signal(signal.SIGSTOP)
        reached = self.wait(self.steps[standby].reached, 5)
        self.steps[standby].disarm()
        self.processes[leader].send_signal(signal.SIGCONT)
        time.sleep(self.dice.uniform(0.02, 0.1))
        self.processes[standby].send_signal(signal.SIGCONT)
        if reached is None:
            return None
        return self.trades()

    def fault_sent(self, leader):
        """The leader dies with an order handed to the kernel, before anything else."""
        return self.dies_at(leader, "sent")

    def dies_at(self, leader, step):
        """It joins again."""
        self.begin()
        self.steps[leader].arm(LEADER_STEPS[step], signal.SIGKILL, self.dice.randint(1, 50))
        if self.wait(self.steps[leader].reached, 5) is None:
            return None
        self.processes[leader].wait()
        return self.succeeded(leader)

    def fault_kill_in_switch(self, leader):
        """One of the two dies while leadership moves."""
        self.ask(leader, "switch")
        time.sleep(self.dice.uniform(0, 0.02))
        victim = self.dice.choice(("oeg-1", "oeg-2"))
        self.kill(victim)
        self.start(victim)
        return self.trades()

    def fault_witness(self, leader):
        """The witness dies, and comes again with nothing in its memory."""
        self.kill("risk")
        time.sleep(self.dice.uniform(0, 0.3))
        self.start("risk")
        return self.trades(leader)

    def cut(self, one, other, ends=cut.unix_ends):
        """The connections of two programs; raises where there was none."""
        self.begin()
        if cut.cut(self.processes[one].pid, self.processes[other].pid, ends) == 0:
            raise RuntimeError(f"nothing connects {one} with {other}")

    def fault_cut_pair(self, leader):
        """The pair loses its connection: each thinks that the other one is gone, and the witness decides."""
        self.cut(leader, self.other(leader))
        return self.trades()

    def fault_cut_venue(self, leader):
        """The leader loses the exchange."""
        self.cut(leader, "sim", cut.tcp_ends)
        return self.trades(leader)

    def fault_cut_witness(self, leader):
        """Either of the two loses the witness, or risk its drop copy: they are the same two processes."""
        self.cut(self.dice.choice(("oeg-1", "oeg-2")), "risk")
        return self.trades(leader)

    def fault_cut_strategy(self, leader):
        """Strategies lose the leader."""
        self.cut("strategy", leader)
        return self.trades(leader)

    def fault_both(self, leader):
        """Both die, and come again in either order."""
        self.restart_all(("oeg-1", "oeg-2"))
        return self.trades()

    def finish(self):
        """Ends all in order; what does not hold."""
        # The standby first: the end of a leader is what it waits for.
        leader = self.leader_in_the_end()
        problems = [] if leader else ["nobody leads"]
        order = ("oeg-2" if leader == "oeg-1" else "oeg-1", "strategy", leader, *self.RISKS, "mdh-1", "mdh-2", "sim")
        problems += self.end_in_order(name for name in order if name in self.processes)
        books = subprocess.run([self.bin / "tickpath", "books", self.run_dir], capture_output=True, text=True)
        problems += self.told_by_exchange()
        return problems + broken_lines(books.stdout.splitlines()) + ([] if books.returncode == 0 else ["books"])

    def told_by_exchange(self):
        """What does not hold by the exchange's own messages."""
        try:
            told, self.accepted, self.fills = exchange.problems(self.run_dir)
            for began, ended in self.joins:
                orders, pause_ms = exchange.longest_pause(self.run_dir, began, ended)
                print(f"joined in {ended - began:.1f} s; {orders} orders accepted meanwhile, at most {pause_ms:.0f} ms apart", flush=True)
            return told[:5]
        except (OSError, ValueError, KeyError) as error:
            return [f"the exchange's own messages were not looked at: {error!r}"]


# Of each rule: the fault that shows that it was broken.
MUTANTS = {"fence": "zombie", "confirm": "sent", "witness": "zombie", "epoch": "zombie"}
MUTANT_RUNS = 5  # at most, until it is found


def run_mutants(options, recording):
    """Each rule broken until a run does not hold. Names of those that were never found."""
    missed = []
    for rule, fault in MUTANTS.items():
        print(f"broken on purpose: {rule}", flush=True)
        for seed in range(options.seed, options.seed + MUTANT_RUNS):
            steps, problems = one_run(Pair(options.bin, recording, seed, rule), options, Tally(), [fault])
            show_run(seed, steps, problems[:2])
            if problems:
                break
        else:
            missed.append(rule)
    print(f"{len(MUTANTS) - len(missed)} of {len(MUTANTS)} broken rules were found" + "".join(f"; not: {each}" for each in missed))
    return missed


def main():
    parser = parser_of(__doc__, Pair.FAULTS)
    parser.add_argument("--mutants", action="store_true", help=f"rules broken on purpose: {', '.join(RULES)}; each must be found")
    parser.add_argument("--park", type=some_of(Pair.programs()), default=(), help="these programs sleep when they have nothing to do, of "
                        f"{', '.join(Pair.programs())}; as they are, all poll, and yield where there are fewer cores than they")
    parser.add_argument("--small", action="store_true", help="small tables, for many runs: not for what the faults take")
    parser.add_argument("--rate", type=int, default=RATE, help=f"orders a second; {RATE} without it")
    options = parser.parse_args()
    run_all(options, lambda recording, seed: Pair(options.bin, recording, seed, parked=options.park, small=options.small,
                                                  rate=options.rate),
            (lambda recording: run_mutants(options, recording)) if options.mutants else None)


if __name__ == "__main__":
    main()
