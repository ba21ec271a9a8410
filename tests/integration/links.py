#!/usr/bin/env python3
"""A link to a program of another host is cut at each message that goes over it, half of the message passed on.

  tests/integration/links.py --bin build/release/bin --stand-in build/release/tests/stand_in [--keep]

In place of ssh stands this script itself. It starts the agent of `tickpath` on this host, passes both sides' messages on
(tools/cli/remote_messages.hpp), and ends like ssh whose network is gone.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hosts  # noqa: E402

SSH_FAILED = 255  # ssh(1)
STEPS_MAX = 60
KINDS = ("agent", "do", "beat", "signal", "running", "output", "file", "ended", "failed")  # by the key of their heads


# ------------------------------------------------------------------------------ in place of ssh


class Link:
    def __init__(self, arguments):
        self.folder = pathlib.Path(os.environ["LINKS_FOLDER"])
        self.programs = "-L" in arguments  # else it asks for a configuration, or what is wrong with a host
        if self.programs:
            here, there = arguments[arguments.index("-L") + 1].split(":")
            pathlib.Path(here).unlink(missing_ok=True)
            pathlib.Path(here).symlink_to(there)
            (self.folder / "link.pid").write_text(str(os.getpid()))
        self.agent = subprocess.Popen(shlex.split(arguments[-1]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock, self.passed = threading.Lock(), 0

    def cut(self, *_):
        self.agent.stdin.close()
        os._exit(SSH_FAILED)

    def is_next(self, message):
        """Where the next message is to be cut: its number is in the file, which goes with it."""
        with self.lock:
            number, self.passed = self.passed, self.passed + 1
            armed = self.folder / "cut_at"
            if not self.programs or not armed.exists() or int(armed.read_text()) != number:
                return False
            armed.unlink()
            head = json.loads(message.split(b"\n", 1)[0])
            (self.folder / "was_cut").write_text(next(kind for kind in KINDS if kind in head))
            return True

    def carry(self, source, sink):
        while head := source.readline():
            message = head + source.read(json.loads(head).get("bytes", 0))
            if self.is_next(message):
                sink.write(message[: len(message) // 2])
                sink.flush()
                self.cut()
            sink.write(message)
            sink.flush()

    def run(self):
        signal.signal(signal.SIGUSR1, self.cut)
        down = threading.Thread(target=self.carry, args=(sys.stdin.buffer, self.agent.stdin), daemon=True)
        up = threading.Thread(target=self.carry, args=(self.agent.stdout, sys.stdout.buffer), daemon=True)
        down.start()
        up.start()
        while up.is_alive():  # signals come in between
            up.join(0.05)
            if not down.is_alive() and not self.agent.stdin.closed:
                self.agent.stdin.close()
        return self.agent.wait()


# ------------------------------------------------------------------------------ the checks


class Hosts(hosts.Hosts):
    def __init__(self, tickpath, stand_in, folder):
        (folder / "path").mkdir()
        ssh = folder / "path/ssh"
        ssh.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -B {shlex.quote(__file__)} --link \"$@\"\n")
        ssh.chmod(0o755)
        os.environ["PATH"] = f"{folder / 'path'}:{os.environ['PATH']}"
        os.environ["LINKS_FOLDER"] = str(folder)
        super().__init__(tickpath, stand_in, folder, server=False)

    def cut_at(self, number):
        (self.folder / "was_cut").unlink(missing_ok=True)
        (self.folder / "cut_at").write_text(str(number))

    def cut(self):
        """The kind of the message that was cut; empty: none was."""
        cut = self.folder / "was_cut"
        return cut.read_text() if cut.exists() else ""


def run_once(there):
    """True: it ran to its end, and is accounted for. False: it was not started."""
    up = hosts.Up(there, "--no-replay")
    hosts.await_(lambda: "strategy   ready" in up.output() or up.process.poll() is not None, "ready, or refused")
    if up.process.poll() is None:
        up.process.send_signal(signal.SIGINT)
        up.end(0, "everything is accounted for")
        hosts.expect((there.folder / "run/oeg.summary.json").exists(), f"no summary is here\n{up.output()}")
    started = up.process.wait() == 0
    hosts.await_(lambda: there.runs_there("oeg") == 0, "the end of oeg")
    hosts.expect(not (there.folder / "run/oeg.remote").exists(), f"it is still said to run\n{up.output()}")
    return started, up.output()


def check_each_message(there):
    there.write(("order", ["oeg"]), options=[], patience="20s")
    for number in range(STEPS_MAX):
        there.cut_at(number)
        started, output = run_once(there)
        cut = there.cut()
        if not cut:
            hosts.expect(number > 5 and started, f"only {number} messages\n{output}")
            print(f"    {number} messages, each of them was cut once")
            return
        print(f"    message {number}, '{cut}': {'went on' if started else 'was not started'}", flush=True)
        # Before the agent has the whole request nothing has begun that could go on.
        hosts.expect(started == (cut not in ("agent", "do")), f"cut at '{cut}'\n{output}")
    raise AssertionError(f"more than {STEPS_MAX} messages")


def check_stop_over_a_dead_link(there):
    """The end of the link and the request to stop come in one turn of whoever holds the link."""
    there.write(("order", ["oeg"]), options=[], patience="20s")
    there.command("up", "config", "--bin-dir", "bin", "--no-replay", "--detach")
    proxy = int((there.folder / "run/oeg.pid").read_text().split()[0])
    os.kill(proxy, signal.SIGSTOP)
    os.kill(int((there.folder / "link.pid").read_text()), signal.SIGUSR1)
    time.sleep(0.3)
    os.kill(proxy, signal.SIGTERM)
    os.kill(proxy, signal.SIGCONT)
    hosts.await_(lambda: there.runs_there("oeg") == 0, "the end of oeg, which was asked to stop")
    hosts.await_(lambda: not pathlib.Path(f"/proc/{proxy}").exists() or not (there.folder / "run/oeg.remote").exists(),
                 "its end here")
    hosts.expect((there.folder / "run/oeg.summary.json").exists(), "its summary is not here")
    there.command("down")


def main():
    if sys.argv[1:2] == ["--link"]:
        return Link(sys.argv[2:]).run()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--stand-in", type=pathlib.Path, required=True)
    parser.add_argument("--keep", action="store_true", help="leave the folder, and print where it is")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="links-"))
    there = Hosts((arguments.bin / "tickpath").resolve(), arguments.stand_in.resolve(), folder)
    start = time.monotonic()
    try:
        for name, step in (("a link that is cut at each message", check_each_message),
                           ("a stop over a dead link", check_stop_over_a_dead_link)):
            step(there)
            print(f"ok: {name} ({time.monotonic() - start:.1f} s)", flush=True)
    except AssertionError as wrong:
        print(f"FAILED: {wrong}", file=sys.stderr)
        return 1
    finally:
        subprocess.run([there.tickpath, "down", "--kill", "--timeout", "5"], cwd=folder, capture_output=True)
        if arguments.keep:
            print(folder)
        else:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
