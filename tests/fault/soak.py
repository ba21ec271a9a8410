#!/usr/bin/env python3
"""A pipeline that trades while every fault that can be provoked from outside is, again and again.

    tests/fault/soak.py --bin build/release/bin                    ten minutes
    tests/fault/soak.py --bin build/release/bin --seconds 0        each fault once

The faults come in random order, from a seed, each at least once. After each the pipeline must trade again; at the end
everything must be accounted for, and no datapath thread may have taken a page fault after its program was ready. The
run directory is on a tmpfs: on a disk, the kernel's write-back costs journal and FIX stores a fault each 30 s. Root has
a file system of its own to fill (but in a chroot), and another user to be; without these rights two faults are left out, and the table
says so. Not from outside: a mark_down() beside a step, an arrival beside arming (unit_link, unit_control); failed
completions of verbs (tests/soft_roce).
"""
import argparse
import collections
import glob
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import disks
from running import ALL, VICTIMS, Run, generate

GIVEN_UP_S = 60.0
MESSAGES_A_SECOND = 2000
NOBODY = 65534
DISK = "400m"
class LeftOut(Exception):
    """It cannot be provoked here: why."""


class Failed(Exception):
    """What should have been seen was not."""


def expect(holds, what):
    if not holds:
        raise Failed(what)


class PageFaults(threading.Thread):
    """The page faults of each process since it was ready, as it told last."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_, self.of, self.over = run, {}, threading.Event()

    def run(self):
        while not self.over.wait(0.25):
            for program in ALL:
                told = self.run_.ask(program, "status")
                datapath = told.get("counters", {}).get("datapath", {})
                if told.get("state") == "ready":
                    self.of[program, told["pid"]] = (datapath["page_faults_minor"], datapath["page_faults_major"])

    def sums(self):
        """{program: (processes, faults)}"""
        sums = {program: [0, 0] for program in ALL}
        for (program, _), faults in self.of.items():
            sums[program][0] += 1
            sums[program][1] += sum(faults)
        return sums


class Soak(Run):
    """Each fault is a method: provokes it, looks at what it does, and returns that as text."""

    def __init__(self, options, recording, inside):
        super().__init__(options.bin, recording, inside=inside)
        self.folder.chmod(0o755)  # what is refused to others, the run directory refuses
        self.dice = random.Random(options.seed)
        self.disk = inside if options.mounts else None
        self.harmless = None
        self.over = None  # when a fault was, where its method goes on after it

    def faults(self):
        each = [(f"kill {name}", lambda name=name: self.kill(name)) for name in VICTIMS]
        each += [(f"stop {name}", lambda name=name: self.stop(name)) for name in ALL]
        return each + [
            ("peer stopped in set-up", self.peer_stopped_in_set_up), ("silent connections", self.silent_connections),
            ("no descriptors left", self.no_descriptors), ("full disk", self.full_disk),
            ("plugin hangs in a callback", lambda: self.rascal("hang")), ("plugin crashes", lambda: self.rascal("crash")),
            ("plugin hangs in create", self.rascal_in_create), ("park_timeout beyond hang_after", self.park_timeout),
            ("another user", self.other_user)]

    # ---- programs that die or stop

    def await_process(self, program, other_than=None):
        found = []
        self.wait(lambda: found.append(self.process(program)) or found[-1] not in (None, other_than), GIVEN_UP_S)
        expect(found and found[-1] not in (None, other_than), f"{program} is not started again")
        return found[-1]

    def kill(self, program):
        process = self.await_process(program)
        os.kill(process, signal.SIGKILL)
        self.over = time.monotonic()
        self.await_process(program, process)
        return "started again"

    def stop(self, program):
        process = self.await_process(program)
        os.kill(process, signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.1, 1.5))
        os.kill(process, signal.SIGCONT)
        return "goes on"

    # ---- set-up

    def slowest_answer(self, programs, seconds):
        """Milliseconds that an admin command took at most."""
        slowest, end = 0.0, time.monotonic() + seconds
        while time.monotonic() < end:
            for program in programs:
                begin = time.monotonic()
                expect(self.ask(program, "counters", GIVEN_UP_S), f"{program} does not answer")
                slowest = max(slowest, time.monotonic() - begin)
            time.sleep(0.01)
        return f"admin commands took {slowest * 1e3:.0f} ms at most"

    def peer_stopped_in_set_up(self):
        before = self.await_process("strategy")
        os.kill(before, signal.SIGKILL)
        process = self.await_process("strategy", before)
        time.sleep(self.dice.uniform(0.0, 0.3))
        os.kill(process, signal.SIGSTOP)
        try:
            return self.slowest_answer(("mdh", "oeg", "risk"), 1.0)
        finally:
            os.kill(process, signal.SIGCONT)

    def silent_connections(self):
        held = []
        for path in list(self.run_dir.glob("*.fabric")) * 10:
            held.append(socket.socket(socket.AF_UNIX))
            held[-1].settimeout(1)
            try:
                held[-1].connect(str(path))
            except OSError:
                pass  # enough of them: refused
        for port in self.listening(self.await_process("sim")) * 3:
            try:
                held.append(socket.create_connection(("127.0.0.1", port), 1))
            except OSError:
                pass
        try:
            return self.slowest_answer(ALL, 1.0)
        finally:
            for connection in held:
                connection.close()

    @staticmethod
    def listening(process):
        """The TCP ports of a process."""
        inodes = set()
        for descriptor in os.listdir(f"/proc/{process}/fd"):
            try:
                inodes.add(os.readlink(f"/proc/{process}/fd/{descriptor}")[8:-1])
            except OSError:
                pass  # closed meanwhile
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]

    # ---- what runs out

    def no_descriptors(self):
        process = self.await_process("oeg")
        limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
        failures = lambda: self.ask("oeg", "counters").get("counters", {}).get("admin", {}).get("accept_failures", 0)
        before, held = failures(), [socket.socket(socket.AF_UNIX) for _ in range(5)]
        resource.prlimit(process, resource.RLIMIT_NOFILE, (1, limits[1]))
        try:
            for connection in held:
                connection.connect(str(self.run_dir / "oeg.admin"))
            spent = self.control_seconds(process)
            time.sleep(0.5)
            spent = self.control_seconds(process) - spent
        finally:
            resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
            for connection in held:
                connection.close()
        expect(self.wait(lambda: failures() > before, GIVEN_UP_S) is not None, "no accept failed")
        return f"acceptor paused, control thread {spent * 200:.0f} % busy"

    @staticmethod
    def control_seconds(process):
        fields = pathlib.Path(f"/proc/{process}/task/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def full_disk(self):
        if self.disk is None:
            raise LeftOut("needs the right to mount a file system")
        filler = self.disk / "filler"
        before = self.sim()
        try:
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1 << 20))
                except OSError:
                    pass
            with tempfile.TemporaryDirectory(prefix="tickpath_test_") as elsewhere:
                another = self.program("mdh", "--run-dir", elsewhere, "--set", f"trace.file={self.disk}/full.trace")
                said = another.communicate(timeout=GIVEN_UP_S)[0]
            expect(another.returncode == 1 and "cannot reserve" in said, f"a program on a full disk: {said}")
            grows = lambda: all(now > then for now, then in zip(self.sim(), before))
            expect(self.wait(grows, GIVEN_UP_S) is not None, "no trading on a full disk")
        finally:
            filler.unlink()
        return "trades on; a program that starts there says so and ends"

    # ---- plugins and settings

    def program(self, name, *arguments, config=None, **more):
        return subprocess.Popen([self.bin / name, config or self.folder / f"config/{name}.toml", *arguments],
                                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **more)

    def start_rascal(self, how, **more):
        if self.harmless:
            self.harmless.terminate()
            self.harmless.communicate(timeout=GIVEN_UP_S)
            self.harmless = None
        plugin = self.bin.parent / "tests/plugins/misbehaving.so"
        if not plugin.exists():
            raise LeftOut(f"{plugin} is not built (ninja test_plugins)")
        text = (self.folder / "config/strategy.toml").read_text().split("[[plugin]]")[0]
        config = self.folder / "rascal.toml"
        config.write_text(f'name = "rascal"\n{text}\n[[plugin]]\nid = 9\nname = "rascal"\nfile = "{plugin}"\n'
                          f'[plugin.parameters]\nhow = "{how}"\nwhere = "gateway_state"\n')
        return self.program("strategy", "--run-dir", self.run_dir, config=config, **more)

    def rascal(self, how):
        where = "plugin rascal (strategy 9) in gateway_state"
        rascal = self.start_rascal(how)
        try:
            if how == "crash":
                said = rascal.communicate(timeout=GIVEN_UP_S)[0]
                expect(rascal.returncode == -signal.SIGSEGV and where in said, f"a crash without its name: {said}")
                return "ends with plugin, callback and stack"
            self.told(rascal, where)
            return "status names plugin and callback"
        finally:
            rascal.kill()
            rascal.communicate()
            self.be_harmless()

    # In the place of one that went without a summary, for which the conservation check asks. It stays until `up` stops.
    def be_harmless(self):
        self.harmless = self.start_rascal("")
        ready = lambda: self.ask("rascal", "status").get("state") == "ready"
        expect(self.wait(ready, GIVEN_UP_S) is not None, "a plugin in the place of one that crashed does not run")

    def rascal_in_create(self):
        rascal = self.start_rascal("hang", env={**os.environ, "TICKPATH_TEST_HANG_IN_CREATE": "1"})
        try:
            self.told(rascal, "plugin rascal (strategy 9) in create")
            return "status names plugin and callback"
        finally:
            rascal.kill()
            rascal.communicate()
            self.be_harmless()

    def told(self, rascal, where):
        reason = lambda: self.ask("rascal", "status").get("not_ready_reason", "")
        expect(self.wait(lambda: where in reason() or rascal.poll() is not None, GIVEN_UP_S) is not None
               and where in reason(), f"status does not name {where}: {reason()}")

    def park_timeout(self):
        refused = self.program("oeg", "--check", "--set", "datapath.wait=park", "--set", "datapath.park_timeout=1s")
        said = refused.communicate(timeout=GIVEN_UP_S)[0]
        expect(refused.returncode != 0 and "hang_after" in said, f"it is not refused: {said}")
        return "refused at start"

    def other_user(self):
        if os.geteuid() != 0:
            raise LeftOut("needs root, to be another user")
        paths = [*map(str, self.run_dir.iterdir()), *glob.glob("/dev/shm/tickpath-pollers-2.*")]
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(min(sum(map(self.can_use, paths)), 255))
        opened = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        expect(opened == 0, f"another user can use {opened} of {len(paths)} files and sockets")
        return f"can use none of {len(paths)} files and sockets"

    @staticmethod
    def can_use(path):
        for attempt in (lambda: os.open(path, os.O_RDWR), lambda: socket.socket(socket.AF_UNIX).connect(path)):
            try:
                attempt()
                return True
            except OSError:
                pass
        return False


def provoke(run, faults, seconds):
    """{name: [(effect, ms until it traded again)]}, problems"""
    done, problems, todo, begin = collections.defaultdict(list), [], [], time.monotonic()
    while len(done) < len(faults) or time.monotonic() - begin < seconds:
        todo = todo or run.dice.sample(faults, len(faults))
        name, fault = todo.pop()
        run.over = None
        try:
            effect = fault()
        except LeftOut as why:
            done[name].append((f"left out: {why}", None))
            continue
        except (Failed, OSError, subprocess.SubprocessError) as problem:
            effect = f"FAILED: {problem}"
            problems.append(f"{name}: {problem}")
        over = run.over or time.monotonic()
        if run.trades(GIVEN_UP_S) is None:
            problems.append(f"{name}: it never traded again")
            break
        done[name].append((effect, (time.monotonic() - over) * 1e3))
        print(f"\r{time.monotonic() - begin:5.0f} s of {seconds:.0f}  {sum(map(len, done.values()))} faults, last: {name}"
              f"{'':30}", end="", flush=True)
    print()
    return done, problems


def show(order, done):
    print(f"{'fault':32} {'times':>5}  {'trading again, ms':>17}  effect\n{'':32} {'':5}  {'median':>8} {'most':>8}")
    for name, _ in order:
        again = [ms for _, ms in done[name] if ms is not None]
        figures = f"{statistics.median(again):8.0f} {max(again):8.0f}" if again else f"{'-':>8} {'-':>8}"
        print(f"{name:32} {len(again):5}  {figures}  {done[name][-1][0] if done[name] else 'not provoked'}")


def soak(options, folder):
    recording = folder / "day.itch50"
    generate(options.bin, recording, MESSAGES_A_SECOND, int(options.seconds) + 300)
    disk = folder / "disk"
    disk.mkdir(mode=0o755)
    folder.chmod(0o755)
    if options.mounts:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "none", disk], check=True)
    run = Soak(options, recording, disk if options.mounts else "/dev/shm")
    problems = ["it never traded"]
    try:
        if run.trades(GIVEN_UP_S) is not None:
            page_faults = PageFaults(run)
            page_faults.start()
            done, problems = provoke(run, run.faults(), options.seconds)
            time.sleep(1)  # what is counted once a second
            page_faults.over.set()
            page_faults.join()
            show(run.faults(), done)
            for program, (processes, faults) in page_faults.sums().items():
                print(f"page faults of {program}'s datapath after ready: {faults} ({processes} processes)")
                if faults:
                    problems.append(f"page faults of {program}: {faults}")
        problems += run.end_accounted()
        print("\n".join(problems) if problems else "everything is accounted for")
        if problems and options.keep_failed:
            kept = tempfile.mkdtemp(prefix="tickpath_test_")
            shutil.copytree(run.folder, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.admin", "*.fabric"))
            print(f"kept: {kept}")
        return 1 if problems else 0
    finally:
        if run.harmless:
            run.harmless.kill()
        run.remove()
        if options.mounts:
            subprocess.run(["umount", disk], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="where the programs are")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1, help="of the order of the faults")
    parser.add_argument("--keep-failed", action="store_true", help="leave the folder of a run that did not hold")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.mounts = disks.of_our_own()
    with tempfile.TemporaryDirectory(prefix="tickpath_test_") as folder:
        return soak(options, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
