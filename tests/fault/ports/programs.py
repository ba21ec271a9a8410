"""sim, mdh and oeg under attack: started, watched, ended."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HOST = "127.0.0.1"


def free_port(kind=socket.SOCK_STREAM):
    """Free now, and below those that the kernel gives to whoever connects: it goes to no client of another test meanwhile."""
    while True:
        port = random.randrange(16384, 32768)
        with socket.socket(socket.AF_INET, kind) as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port


class Programs:
    """sim, mdh and oeg in a folder of their own; oeg's venue is ours."""

    def __init__(self, bin_dir):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickpath_test_"))
        self.run_dir = self.folder / "run"
        self.ports = {name: free_port() for name in ("legit", "fuzzed_42", "fuzzed_44", "snapshot", "venue")}
        self.ports["retransmission"] = free_port(socket.SOCK_DGRAM)
        self.bin_dir = pathlib.Path(bin_dir).resolve()
        recording = self.folder / "day.itch50"
        subprocess.run([self.bin_dir / "tickpath", "generate", recording, "--messages", "400000", "--symbols", "20",
                        "--duration", "14400"], check=True, capture_output=True)
        group = f"239.255.{os.getpid() // 250 % 250 + 1}.{os.getpid() % 250 + 1}:{free_port(socket.SOCK_DGRAM)}"
        self.write("sim", f"""
            [replay]
            file = "{recording}"
            start = "immediate"
            max_idle = "1s"
            [feed]
            group = "{group}"
            interface = "{HOST}"
            session = "FUZZED0001"
            retransmission.listen = "{HOST}:{self.ports['retransmission']}"
            snapshot.listen = "{HOST}:{self.ports['snapshot']}"
            [matching]
            order_ids_max = 4194304
            tick_size = "any"
            [trace]
            enabled = false
            """ + "".join(f"""
            [[orders.session]]
            listen = "{HOST}:{self.ports[name]}"
            sender = "SIM"
            target = "{name.upper()}"
            version = "{version}"
            store_messages = 1024
            """ for name, version in (("legit", "4.2"), ("fuzzed_42", "4.2"), ("fuzzed_44", "4.4"))))
        self.write("mdh", f"""
            [feed]
            group = "{group}"
            interface = "{HOST}"
            [trace]
            enabled = false
            """)
        self.write("oeg", f"""
            [venue]
            address = "{HOST}:{self.ports['venue']}"
            sender = "TICKPATH"
            target = "SIM"
            reconnect = "10ms"
            store_messages = 1024
            [mdh]
            endpoint = "{{run_dir}}/mdh.fabric"
            [trace]
            enabled = false
            """)
        self.processes = {}

    def start(self):
        for name in ("sim", "mdh", "oeg"):
            log = open(self.folder / f"{name}.out", "wb")
            self.processes[name] = subprocess.Popen(
                [self.bin_dir / name, self.folder / f"{name}.toml", "--run-dir", self.run_dir], cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            self.wait_for(self.run_dir / f"{name}.admin")
        self.settle()

    def settle(self):
        """Until tables are made and the recording is played: what grows later has a hostile cause."""
        before, since = {}, time.monotonic()
        while time.monotonic() - since < 1.0:
            sizes = {name: round(size) for name, size in self.memory_mib().items()}
            if sizes != before:
                before, since = sizes, time.monotonic()
            time.sleep(0.1)

    def write(self, name, text):
        (self.folder / f"{name}.toml").write_text("\n".join(line.strip() for line in text.split("\n")))

    def wait_for(self, path):
        end = time.monotonic() + 60
        while not path.exists():
            if time.monotonic() > end or self.ended():
                raise SystemExit(f"{path} does not come up: {self.ended()}\n{self.logs()}")
            time.sleep(0.02)

    def ended(self):
        return [f"{name} ended with {each.returncode}" for name, each in self.processes.items()
                if each.poll() is not None]

    def memory_mib(self):
        sizes = {}
        for name, each in self.processes.items():
            with open(f"/proc/{each.pid}/status", encoding="ascii") as status:
                lines = [line for line in status if line.startswith("VmRSS")]  # none of one that has ended
                sizes[name] = sum(int(line.split()[1]) for line in lines) / 1024
        return sizes

    def counter(self, program, group, name):
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(str(self.run_dir / f"{program}.admin"))
            admin.sendall(b'{"command": "counters"}\n')
            answer = b""
            while not answer.endswith(b"\n"):
                answer += admin.recv(1 << 16)
        return json.loads(answer)["counters"][group][name]

    def log_mib(self):
        return {name: (self.run_dir / f"{name}.log").stat().st_size / 2**20 for name in self.processes}

    def logs(self):
        text = ""
        for name in self.processes:
            for path in (self.folder / f"{name}.out", self.run_dir / f"{name}.log"):
                if path.exists():
                    text += f"--- {path.name}\n{path.read_bytes()[-2000:].decode(errors='replace')}\n"
        return text

    def end(self):
        problems = self.ended()
        for name in ("oeg", "mdh", "sim"):
            each = self.processes[name]
            if each.poll() is None:
                each.send_signal(signal.SIGTERM)
                try:
                    each.wait(30)
                except subprocess.TimeoutExpired:
                    each.kill()
                    each.wait()
                if each.returncode != 0:
                    problems.append(f"{name} ended with {each.returncode} after SIGTERM")
        return problems

    def remove(self):
        for each in self.processes.values():
            if each.poll() is None:
                each.kill()
                each.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
