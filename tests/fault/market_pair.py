#!/usr/bin/env python3
"""A pair of mdh's under a replay, one of which is killed, stopped or starved every second or two.

    tests/fault/market_pair.py --bin build/release/bin --runs 20

What a strategy was shown, every change and trade in order, must be what it is shown by one mdh that nothing happens to: the
same digest. Nothing may have been stale, shown from images, or out of order. Exit status 1 where a run did not hold.
"""
import argparse
import json
import pathlib
import random
import signal
import sys
import tempfile
import time

from by_hand import PATIENCE_S, ByHand
from running import SOURCE, generate

MESSAGES_A_SECOND = 4000
# Behind a connection the images of all instruments are read once; what changes meanwhile is shown from them.
IMAGES_S = 0.5
PLUGIN = """
[[plugin]]
id = 9
name = "follower"
file = "{plugin}"

[plugin.parameters]
file = "{file}"
"""


class Market(ByHand):
    """sim, one mdh or two, and a strategy that follows; started by hand."""

    def __init__(self, bin_dir, recording, pair):
        self.bin, self.processes = bin_dir, {}
        self.prepare(SOURCE / "config/hot", None)
        config = self.folder / "config/strategy.toml"
        text = config.read_text()
        plugin = bin_dir.parent / "tests/plugins/follower.so"
        config.write_text(text[:text.index("[[plugin]]")] + PLUGIN.format(plugin=plugin, file=self.folder / "seen.json"))
        self.mdhs = ("mdh-1", "mdh-2") if pair else ("mdh-1",)
        # A silence that is cut would show all before it as late by what was cut.
        self.settings = {"sim": [f"replay.file={recording}", "replay.pace=recorded", "replay.max_idle=0s"],
                         "strategy": ["trace.enabled=false"] + ([] if pair else ["feed.endpoint_b="])}
        for name in ("sim", *self.mdhs, "strategy"):
            self.start(name)

    def start(self, name):
        self.launch(name, self.bin / name.split("-")[0], self.settings.get(name, []))

    def until(self, condition, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.02)
        return False

    def counters(self, name):
        return self.ask(name, "counters").get("counters", {})

    def joined(self):
        """Both are followed: each has subscribers, and its feed is as far as the strategy's."""
        seen = self.counters("strategy")
        groups = ["feed", "feed_b"][:len(self.mdhs)]
        return all(seen.get(group, {}).get("mdh_alive") == 1 for group in groups)

    def caught_up(self):
        """Each has its books right, and the strategy was shown nothing that either does not have by now."""
        sent = self.ask("sim", "status").get("replay", {}).get("messages_sent", 0)
        return all(self.ask(name, "status").get("feed", {}).get("state") == "good" and
                   self.counters(name).get("feed", {}).get("next_sequence", 0) >= sent for name in self.mdhs)

    def ended(self):
        return self.ask("sim", "status").get("replay", {}).get("state") == "ended"

    def finish(self):
        problems = self.end_in_order(("strategy", *self.mdhs, "sim"))
        try:
            return json.loads((self.folder / "seen.json").read_text()), problems
        except (OSError, ValueError) as error:
            return {}, problems + [f"the strategy left nothing: {error}"]


def kill(run, name, dice):
    run.processes[name].kill()
    run.processes[name].wait()
    time.sleep(dice.uniform(0, 0.3))
    run.start(name)


def stop(run, name, dice):
    run.processes[name].send_signal(signal.SIGSTOP)
    time.sleep(dice.uniform(0.02, 0.6))
    run.processes[name].send_signal(signal.SIGCONT)


def starve(run, name, dice):
    """Falls behind: it runs now and then."""
    for _ in range(20):
        run.processes[name].send_signal(signal.SIGSTOP)
        time.sleep(dice.uniform(0, 0.02))
        run.processes[name].send_signal(signal.SIGCONT)
        time.sleep(dice.uniform(0, 0.01))


FAULTS = {"kill": kill, "stop": stop, "starve": starve}


def one_run(options, recording, seed, pair=True):
    """What the strategy saw, what was done, and what does not hold."""
    dice = random.Random(seed)
    run = Market(options.bin, recording, pair)
    done, problems = [], []
    try:
        if not run.until(run.joined):
            return {}, done, ["the strategy never had its mdh's"]
        time.sleep(IMAGES_S)
        run.ask("sim", "start")
        while pair and not run.ended():
            time.sleep(dice.uniform(0.3, 1.2))
            # Only one may be gone: the other is whole again before.
            if not run.until(lambda: run.joined() and run.caught_up() or run.ended()):
                problems.append("an mdh did not catch up")
                break
            if run.ended():
                break
            fault, name = dice.choice(sorted(FAULTS)), dice.choice(run.mdhs)
            FAULTS[fault](run, name, dice)
            done.append(f"{fault} {name[-1]}")
        if not run.until(run.ended, 120):
            problems.append("the replay did not end")
        time.sleep(0.3)
        merged = run.counters("strategy").get("feed_pair", {})
        seen, at_end = run.finish()
        return seen | {"merged": merged}, done, problems + at_end
    finally:
        run.leave(options.keep and problems)


def late(seen):
    """Behind the exchange's clock, milliseconds: at the median, p99, p99.9 and the most."""
    return "/".join(f"{value / 1e6:.1f}" for value in seen.get("late_ns", [])) + " ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    parser.add_argument("--seconds", type=int, default=15, help="of each replay")
    parser.add_argument("--keep", action="store_true", help="leave the folders of runs that did not hold")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    failed = faults = 0
    with tempfile.TemporaryDirectory(prefix="tickpath_test_") as folder:
        recording = pathlib.Path(folder) / "market.itch50"
        generate(options.bin, recording, MESSAGES_A_SECOND, options.seconds)
        whole, _, problems = one_run(options, recording, 0, pair=False)
        if problems or not whole.get("changes") or whole["resynced"]:
            sys.exit(f"one mdh alone: {problems or whole}")
        print(f"one mdh, undisturbed: {whole['changes']} changes, {whole['trades']} trades, digest {whole['digest']}; late by "
              f"{late(whole)}", flush=True)
        for seed in range(options.seed, options.seed + options.runs):
            seen, done, problems = one_run(options, recording, seed)
            for key in ("digest", "changes", "trades"):
                if seen.get(key) != whole[key]:
                    problems.append(f"{key} {seen.get(key)} is not {whole[key]}")
            problems += [f"{key} {seen[key]}" for key in ("backwards", "resynced", "stale") if seen.get(key)]
            if not done:
                problems.append("nothing was done to it")
            merged = seen.get("merged", {})
            print(f"seed {seed:4}  {', '.join(done)}: taken {merged.get('taken_a')} + {merged.get('taken_b')}, late by {late(seen)}; "
                  f"{'; '.join(problems) or 'holds'}", flush=True)
            failed += bool(problems)
            faults += len(done)
    print(f"{options.runs} runs, {faults} faults, {failed} runs did not hold")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
