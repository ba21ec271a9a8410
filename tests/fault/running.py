"""A pipeline under `tickpath up --on-failure restart` in a folder of its own, for the scripts that provoke faults."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from ports.programs import HOST, free_port

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VICTIMS = ("mdh", "strategy", "oeg", "risk")
ALL = ("sim", *VICTIMS)
BUSY = {'cooldown = "500ms"': 'cooldown = "20ms"', 'throttle = "500ms"': 'throttle = "20ms"'}  # more orders on the way


def merged_text(bin_dir, path):
    """A configuration; of one that extends another, every key of both."""
    text = path.read_text()
    if "\nextends = " not in text:
        return text
    program = re.match("[a-z]+", path.name).group()
    return subprocess.run([bin_dir / program, path, "--print-config"], check=True, capture_output=True, text=True).stdout


def generate(bin_dir, recording, messages_a_second, seconds):
    """A market of 60 symbols for so long."""
    subprocess.run([bin_dir / "tickpath", "generate", recording, "--symbols", "60", "--messages",
                    str(messages_a_second * seconds), "--duration", str(seconds)], check=True, capture_output=True)


def broken_lines(lines):
    """Of the conservation check: what does not hold, each a text of all its lines."""
    found, within = [], False
    for line in lines:
        continued = line.startswith(" " * 10)
        if within and continued:
            found[-1] += " " + line.strip()
        elif not continued:
            within = line.startswith(("  BROKEN", "  MISSING"))
            if within:
                found.append(line.strip())
    return found


class Run:
    """One pipeline, started. Its folder, `inside` another. With TICKPATH_PARK in the environment, as ctest has it, its programs sleep
    while they have nothing to do: polling, they take both processors of a small machine from whoever else is there."""

    def __init__(self, bin_dir, recording, config=SOURCE / "config/demo", inside=None, settings=()):
        self.bin = bin_dir
        self.prepare(config, inside)
        self.output = self.folder / "up.out"
        with open(self.output, "wb") as output:
            self.up = subprocess.Popen(
                [bin_dir / "tickpath", "up", self.folder / "config", "--run-dir", self.run_dir, "--on-failure",
                 "restart", "--set", f"sim:replay.file={recording}", "--set", "trace.capacity=65536",
                 *(part for setting in settings for part in ("--set", setting))],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def prepare(self, config, inside):
        """Its folder, with the configuration on addresses of its own."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickpath_test_", dir=inside))
        self.run_dir = self.folder / "run"
        shutil.copytree(config, self.folder / "config")
        number = os.getpid()
        port = free_port(socket.SOCK_DGRAM)
        replaced = {"239.255.7.1:7701": f"239.255.{number // 250 % 250 + 1}.{number % 250 + 1}:{port}"}
        for path in (self.folder / "config").iterdir():
            text = merged_text(self.bin, config / path.name)
            for address in set(re.findall(r"127\.0\.0\.1:\d+", text)):
                replaced.setdefault(address, f"{HOST}:{free_port()}")
            replaced |= BUSY
            if os.environ.get("TICKPATH_PARK"):
                replaced['wait = "auto"'] = 'wait = "park"'
            for old, new in replaced.items():
                text = text.replace(old, new)
            path.write_text(text)

    def ask(self, program, command, patience_s=2):
        """The answer of its admin socket; {} where it does not answer."""
        try:
            with socket.socket(socket.AF_UNIX) as admin:
                admin.settimeout(patience_s)
                admin.connect(str(self.run_dir / f"{program}.admin"))
                admin.sendall(json.dumps({"command": command}).encode() + b"\n")
                answer = b""
                while not answer.endswith(b"\n"):
                    part = admin.recv(1 << 16)
                    if not part:
                        return {}
                    answer += part
            return json.loads(answer)
        except (OSError, ValueError):
            return {}

    def sim(self):
        """What of ours it has taken and traded."""
        orders = self.ask("sim", "counters").get("counters", {}).get("orders", {})
        return orders.get("accepted", 0), orders.get("fills", 0)

    def is_ready(self):
        return all(self.ask(program, "status").get("state") == "ready" for program in ALL)

    def wait(self, condition, seconds):
        """How long it took; None: in vain."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            if self.up.poll() is not None:
                return None
            if condition():
                return time.monotonic() - begin
            time.sleep(0.02)
        return None

    def trades(self, seconds):
        """Until all are ready and, from then on, orders are accepted and filled."""
        begin = time.monotonic()
        if self.wait(self.is_ready, seconds) is None:
            return None
        before = self.sim()
        left = seconds - (time.monotonic() - begin)
        if self.wait(lambda: all(now > then for now, then in zip(self.sim(), before)), left) is None:
            return None
        return time.monotonic() - begin

    def process(self, program):
        """Its id while it runs."""
        children = pathlib.Path(f"/proc/{self.up.pid}/task/{self.up.pid}/children").read_text().split()
        for child in children:
            try:
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == program:
                    return int(child)
            except OSError:
                pass  # it has just ended
        return None

    def end(self):
        """Exit status and the conservation check's lines."""
        if self.up.poll() is None:
            self.up.send_signal(signal.SIGINT)
        try:
            status = self.up.wait(120)
        except subprocess.TimeoutExpired:
            self.up.kill()
            status = self.up.wait()
        return status, self.output.read_text(errors="replace").splitlines()

    def end_accounted(self):
        """Ends it; what is not accounted for, a text each."""
        status, lines = self.end()
        problems = broken_lines(lines)
        if "  everything is accounted for" not in lines:
            problems.append("not everything is accounted for")
        if status != 0:
            problems.append(f"up ended with {status}")
        return problems

    def remove(self):
        if self.up.poll() is None:
            self.up.kill()
            self.up.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
