"""What the sets share: where binaries and results are, and the record of what passed."""
import contextlib
import os
import pathlib
import signal
import time

from machine import DidNotBoot, Guest, Pair, RigError, TREE, TimeLimit, without_siw


# Seconds for a boot, which takes about ten, and a minute beside a full build; a kernel that hangs is booted again.
BOOT_PATIENCE = (90, 120, 240)


def again_while_it_hangs(boot):
    """What `boot(patience)` returns; a kernel that hung while it booted is given another chance."""
    for patience in BOOT_PATIENCE:
        try:
            return boot(patience)
        except DidNotBoot as error:
            if patience == BOOT_PATIENCE[-1]:
                raise
            print(f"        {str(error).splitlines()[0]}: once more", flush=True)


def make_room(guest):
    """For datagrams, in the sockets of programs that may not run for a second: what overflows is lost."""
    guest.run("echo 33554432 > /proc/sys/net/core/rmem_max; echo 8388608 > /proc/sys/net/core/rmem_default")


def boot_again(guest):
    """A guest that was killed."""
    again_while_it_hangs(guest.boot)
    make_room(guest)


class Failed(Exception):
    """A test did not pass; its text says what was wrong."""


class Run:
    """One run of the rig. `results`: logs and what the guests brought back."""

    def __init__(self, results, build, image):
        self.results, self.build, self.image = pathlib.Path(results), pathlib.Path(build), image
        self.bin = self.build / "bin"
        self.tests = self.build / "tests"
        self.passed, self.failures, self.skipped = 0, [], []
        self.set = ""  # which one runs now
        self.device = "rxe"  # of the guests that it gets
        self.fabric = ("verbs", "")  # fabric.provider and fabric.device of the programs
        self.seeds, self.dead_after_ms = range(1, 2), 350  # of pair_two
        self.guests, self.opened, self.doubtful = [], contextlib.ExitStack(), False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.opened.close()

    def guest(self):
        """One guest alone, booted. It serves set after set; after a test that failed the next one gets a fresh one."""
        return self._machines(1)[0]

    def pair(self):
        """Two guests joined by a cable, likewise."""
        return self._machines(2)

    def _machines(self, count):
        if self.doubtful or len(self.guests) != count or any(guest.lost or guest.device != self.device
                                                             for guest in self.guests):
            self.opened.close()
            self.guests, self.doubtful = [], False
            began = time.monotonic()
            self.guests = again_while_it_hangs(lambda patience: self._boot(count, patience))
            for guest in self.guests:
                make_room(guest)
            print(f"        booted {count} in {time.monotonic() - began:.0f} s", flush=True)
        return self.guests

    def _boot(self, count, patience):
        folder = self.folder(f"guests.{count}")
        if count == 2:
            return self.opened.enter_context(Pair(folder, self.image, patience, self.results, self.device))
        guest = self.opened.enter_context(Guest(folder, image=self.image, memory_mb=3072, share=self.results,
                                              device=self.device))
        guest.boot(patience)
        return [guest]

    def on_siw(self, function):
        """A set in guests with an iWARP device; where there can be none, it is skipped, and why is said."""
        if missing := without_siw(self.image):
            self.skip(self.set, f"the guests can have no iWARP device: {missing}")
            return
        self.device = "siw"
        try:
            function(self)
        finally:
            self.device = "rxe"

    def on_ofi(self, core, function):
        """A set whose programs use libfabric's core provider `core`."""
        self.fabric = ("ofi", core)
        try:
            function(self)
        finally:
            self.fabric = ("verbs", "")

    def folder(self, name):
        kind = f"ofi_{self.fabric[1]}" if self.fabric[0] == "ofi" else self.device
        own = kind != "rxe" and name != "recordings"
        path = self.results / (f"{name}.{kind}" if own else name)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def environment(self):
        """What ctest gives a test."""
        env = {"TICKPATH_BIN": str(self.bin), "TICKPATH_SOURCE": str(TREE)}
        if data := os.environ.get("TICKPATH_DATA"):
            env["TICKPATH_DATA"] = data
        return env

    @contextlib.contextmanager
    def step(self, name):
        """One test: counted, timed, its failure kept; the next one goes on."""
        began = time.monotonic()
        try:
            yield
        except TimeLimit:
            raise
        except Exception as error:  # of whatever kind: the other tests are run, and this one is counted
            if not isinstance(error, (Failed, RigError)):
                error = f"{type(error).__name__}: {error}"
            self.doubtful = True
            self.failures.append(f"{self.set}: {name}: {first_line(error)}")
            text = str(error).replace("\n", "\n        ")
            print(f"FAILED  {name} ({time.monotonic() - began:.0f} s)\n        {text}", flush=True)
        else:
            self.passed += 1
            print(f"ok      {name} ({time.monotonic() - began:.0f} s)", flush=True)

    def skip(self, name, reason):
        self.skipped.append(name)
        print(f"skipped {name}: {reason}", flush=True)

    def broken_off(self, error):
        """The rig itself failed, or time was over: the sets that did not run count as one failure."""
        self.failures.append(f"{self.set or 'rig'}: broken off: {first_line(error)}")

    def finish(self):
        """The last lines: one for each failure, with its set, its name and what was wrong first."""
        for failure in self.failures:
            print(f"FAILED {failure}")
        print(f"soft_roce: {self.passed} passed, {len(self.failures)} failed, {len(self.skipped)} skipped; "
              f"logs in {self.results}", flush=True)
        return 1 if self.failures else 0


def first_line(error):
    """Of a failure's text, cut to what fits a summary."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[:2]) if lines and lines[0].endswith(":") else (lines or ["no text"])[0]
    return text if len(text) <= 300 else text[:297] + "..."


def expect(condition, text):
    if not condition:
        raise Failed(text)


def eventually(done, limit, text, every=0.5):
    """Asks `done` until it is true; Failed with `text` after `limit` seconds."""
    end = time.monotonic() + limit
    while not (answer := done()):
        if time.monotonic() > end:
            raise Failed(f"{text} (waited {limit} s)")
        time.sleep(every)
    return answer


@contextlib.contextmanager
def running(guest, command, says=None, limit=60, **more):
    """A command in the background for as long as the block runs; begins when it has said `says`."""
    job = guest.start(command, **more)
    try:
        if says:
            job.wait_for(says, limit)
        yield job
    finally:
        if job.status is None and not guest.lost:
            job.signal(signal.SIGKILL)


@contextlib.contextmanager
def losing(guests, percent):
    """The cable loses so many of the packets of each guest for as long as the block runs."""
    for guest in guests:
        guest.run(f"tc qdisc add dev eth0 root netem loss {percent}%")
    try:
        yield
    finally:
        for guest in guests:
            if not guest.lost:
                guest.start("tc qdisc del dev eth0 root").wait(20)
