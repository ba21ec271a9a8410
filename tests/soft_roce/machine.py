"""One guest: a small virtual machine with a kernel RDMA device that runs commands on the host's files: RoCE v2 (rxe) or
iWARP (siw).

    with Guest("guest1", results, joined=path) as guest:
        guest.boot(60)
        job = guest.start(["ibv_devices"])
        status = job.wait(30)

Software emulation, never KVM: /dev/kvm may exist and hang the guest at boot. qemu dies with this process,
however that ends (PR_SET_PDEATHSIG), and with `close`.
"""
import ctypes
import functools
import json
import mmap
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
PR_SET_PDEATHSIG = 1
NOT_POSSIBLE = 77  # exit status: no guest on this machine, the reason is printed


class RigError(Exception):
    """The rig itself failed: no boot, a lost guest, a time limit."""


class NotPossible(RigError):
    """This machine can have no guest."""


class DidNotBoot(RigError):
    """A guest's kernel hung: on a busy machine emulated interrupts may come too late for it."""


class TimeLimit(RigError):
    """All the time there was is over."""


def prepare():
    """The folder with vmlinuz and initrd; fetches and builds them the first time."""
    done = subprocess.run([HERE / "prepare.sh"], stdout=subprocess.PIPE, text=True)
    if done.returncode == NOT_POSSIBLE:
        raise NotPossible("no guest can be had here (see above)")
    if done.returncode != 0:
        raise RigError(f"prepare.sh failed with status {done.returncode}")
    return pathlib.Path(done.stdout.strip())


def without_siw(image):
    """Why no guest of this image can have an iWARP device; empty where it can."""
    missing = image / "siw.missing"
    return missing.read_text().strip() if missing.exists() else ""


@functools.cache
def host_tsc_khz():
    """The rate of this machine's time stamp counter, which is the guests' own: qemu's emulation reads it for them
    (cpu_get_host_ticks). On a busy machine their kernel would find it wrong by half and more at boot, and every time
    limit in the guest with it."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))  # rdtsc; shl rdx, 32; or rax, rdx; ret
    place = ctypes.addressof(ctypes.c_char.from_buffer(code))
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(place)

    def both():
        """Counter and nanoseconds, read as close to each other as can be had in a few tries."""
        tries = [(time.monotonic_ns(), read(), time.monotonic_ns()) for _ in range(50)]
        before, ticks, after = min(tries, key=lambda each: each[2] - each[0])
        return ticks, (before + after) // 2

    first_ticks, first_ns = both()
    time.sleep(0.3)
    ticks, ns = both()
    return round((ticks - first_ticks) * 1e6 / (ns - first_ns))


def cpio_entry(name, data, mode):
    """One file in cpio's newc format (cpio(5)): header of 8-digit hex fields, name, data, each padded to 4."""
    def pad(block):
        return block + b"\0" * (-len(block) % 4)
    path = name.encode() + b"\0"
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0]
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return pad(header + path) + pad(data)


class Job:
    """A command in a guest. Its output is kept, and handed to `sink` as it comes."""

    def __init__(self, guest, name, sink):
        self.guest, self.name, self.sink = guest, name, sink
        self.output = ""
        self.status = None
        self.changed = guest.changed

    def wait(self, limit):
        """The exit status; RigError when it has not ended within `limit` seconds."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.status is not None or self.guest.lost, limit):
                raise RigError(f"{self.guest.name}: {self.name} did not end within {limit:.0f} s")
            if self.status is None:
                raise RigError(f"{self.guest.name} was lost while {self.name} ran")
            return self.status

    def wait_for(self, text, limit):
        """Waits until the output contains `text`."""
        with self.changed:
            self.changed.wait_for(lambda: text in self.output or self.status is not None or self.guest.lost, limit)
            if text not in self.output:
                raise RigError(f"{self.guest.name}: {self.name} did not say {text!r} within {limit:.0f} s; it said:\n"
                               f"{self.output[-2000:]}")

    def signal(self, number=signal.SIGTERM):
        """To every process of the command."""
        self.guest.send({"signal": self.name, "number": int(number)})


class Guest:
    """`index` (1 or 2) gives the address 10.77.0.<index>. `joined` is the path of the cable's socket, the
    same for both guests; guest 1 holds its end open, so guest 2 may die and come back. `share` is what the guest
    may write, `results` or a folder above it."""

    def __init__(self, results, index=1, joined=None, image=None, memory_mb=2048, cpus=2, share=None, device="rxe"):
        self.results = pathlib.Path(results).resolve()
        self.results.mkdir(parents=True, exist_ok=True)
        self.share = pathlib.Path(share).resolve() if share else self.results
        self.index, self.joined, self.memory_mb, self.cpus = index, joined, memory_mb, cpus
        self.name, self.address = f"guest{index}", f"10.77.0.{index}"
        self.image, self.device = image or prepare(), device
        if device == "siw" and (missing := without_siw(self.image)):
            raise RigError(f"no guest with an iWARP device: {missing}")
        self.changed = threading.Condition()
        self.send_lock = threading.Lock()
        self.ready = self.lost = False
        self.jobs = {}
        self.process = self.port = self.folder = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def boot(self, limit=180):
        """Returns when the guest has its RDMA device and takes commands."""
        self.power_on()
        self.wait_ready(limit)

    def power_on(self):
        self.ready = self.lost = False
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickpath-rig-"))
        self._write_initrd()
        console = open(self.results / f"{self.name}.console.log", "ab")
        self.process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, stdout=console,
                                        stderr=subprocess.STDOUT, preexec_fn=self._die_with_parent)
        console.close()
        self.port = self._connect("agent")
        threading.Thread(target=self._read, daemon=True).start()

    def wait_ready(self, limit):
        with self.changed:
            self.changed.wait_for(lambda: self.ready or self.lost, limit)
        if not self.ready:
            tail = (self.results / f"{self.name}.console.log").read_text(errors="replace")[-1500:]
            self.kill()
            raise DidNotBoot(f"{self.name} did not boot (limit {limit:.0f} s); the end of its console:\n{tail}")

    def start(self, command, env=None, cwd=None, name=None, sink=None):
        """Starts `command` (a list, or a string for bash). `env` is added to this process's environment."""
        if isinstance(command, str):
            command = ["bash", "-c", command]
        with self.changed:
            name = f"{name or pathlib.Path(command[0]).name}#{len(self.jobs) + 1}"
            job = self.jobs[name] = Job(self, name, sink)
        self.send({"start": name, "command": [str(part) for part in command], "env": self._environment(env),
                   "cwd": str(cwd or TREE)})
        return job

    def run(self, command, limit=60, **more):
        """Runs to the end; RigError unless its status is 0. Returns its output."""
        job = self.start(command, **more)
        status = job.wait(limit)
        if status != 0:
            raise RigError(f"{self.name}: {command} ended with {status}:\n{job.output[-4000:]}")
        return job.output

    def send(self, message):
        try:
            with self.send_lock:
                self.port.sendall((json.dumps(message) + "\n").encode())
        except OSError as error:
            raise RigError(f"{self.name} is gone: {error}") from error

    def set_link(self, up):
        """Plugs or pulls the cable, seen from this guest."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(10)
            monitor.connect(str(self.folder / "qmp"))
            lines = monitor.makefile("rw")
            lines.readline()  # the greeting
            for command in ({"execute": "qmp_capabilities"},
                            {"execute": "set_link", "arguments": {"name": "cable", "up": up}}):
                lines.write(json.dumps(command) + "\n")
                lines.flush()
                while "return" not in (answer := json.loads(lines.readline())):
                    if "error" in answer:
                        raise RigError(f"{self.name}: set_link: {answer['error']['desc']}")

    def kill(self):
        """The power is cut."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def close(self, limit=10):
        """Ends in order (file systems written back) if the guest can, and in any case."""
        if self.process is not None and self.ready and not self.lost:
            try:
                self.send({"end": True})
                self.process.wait(limit)
            except (RigError, subprocess.TimeoutExpired):
                pass
        self.kill()

    def _environment(self, more):
        env = dict(os.environ)
        env.pop("TMPDIR", None)
        env.setdefault("TICKPATH_PROVIDER", "verbs")
        env.setdefault("TICKPATH_VERBS_ADDRESS", self.address)
        env.setdefault("TICKPATH_TIME_SCALE", "10")  # tests wait so many times as long: emulation is slow
        env["TICKPATH_RIG_RESULTS"] = str(self.results)
        env.update(more or {})
        return env

    def _write_initrd(self):
        settings = {"RIG_TREE": TREE, "RIG_RESULTS": self.share, "RIG_NAME": self.name, "RIG_ADDRESS": self.address,
                    "RIG_NETWORK": "joined" if self.joined else "alone", "RIG_DEVICE": self.device}
        text = "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in settings.items()).encode()
        data = (self.image / "initrd").read_bytes()
        # The kernel unpacks archive after archive (Documentation/driver-api/early-userspace/buffer-format).
        data += b"\0" * (-len(data) % 4) + cpio_entry("rig.env", text, 0o100644) + cpio_entry("TRAILER!!!", b"", 0)
        (self.folder / "initrd").write_bytes(data)

    def _command(self):
        shares = "security_model=none,multidevs=remap"
        command = [
            # Without "rep movsb" for their kernel's memcpy: emulated it copies byte by byte, and rxe with it, so that half
            # a word is seen. A NIC places an aligned word of eight bytes at once (common/link/words.hpp).
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,-erms,-fsrm", "-smp", str(self.cpus),
            "-m", str(self.memory_mb), "-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio",
            "-kernel", str(self.image / "vmlinuz"), "-initrd", str(self.folder / "initrd"),
            # no_timer_check: on a busy machine the timer interrupt can come too late for the test of it.
            "-append", "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable clocksource=tsc no_timer_check"
            # tsc_early_khz: found out by itself, the counter's rate is wrong by half and more on a busy machine.
            f" tsc_early_khz={host_tsc_khz()}",
            "-fsdev", f"local,id=root,path=/,readonly=on,{shares}",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            "-fsdev", f"local,id=results,path={self.share},{shares}",
            "-device", "virtio-9p-pci,fsdev=results,mount_tag=results",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=agent,path={self.folder}/agent,server=on,wait=off",
            "-device", "virtserialport,chardev=agent",
            "-qmp", f"unix:{self.folder}/qmp,server=on,wait=off"]
        if self.joined:
            role = "on" if self.index == 1 else "off"
            command += [
                "-netdev", f"stream,id=cable,server={role},addr.type=unix,addr.path={self.joined}",
                "-device", f"virtio-net-pci,netdev=cable,mac=52:54:00:77:00:{self.index:02x}"]
        return command

    @staticmethod
    def _die_with_parent():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setpgid(0, 0)  # Ctrl-C is for the rig: it ends the guest in order

    def _connect(self, name):
        end = time.monotonic() + 20  # for qemu to start, not for the guest to boot
        while time.monotonic() < end and self.process.poll() is None:
            port = socket.socket(socket.AF_UNIX)
            try:
                port.connect(str(self.folder / name))
                return port
            except OSError:
                port.close()
                time.sleep(0.05)
        log = (self.results / f"{self.name}.console.log").read_text(errors="replace")[-1500:]
        self.kill()
        raise RigError(f"qemu did not start:\n{log}")

    def _read(self):
        port, rest = self.port, b""
        while True:
            try:
                data = port.recv(65536)
            except OSError:
                data = b""
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
        with self.changed:
            self.lost = True
            self.changed.notify_all()

    def _take(self, message):
        with self.changed:
            if "output" in message:
                job = self.jobs[message["output"]]
                job.output += message["text"]
                if job.sink:
                    job.sink(message["text"])
            elif "exit" in message:
                self.jobs[message["exit"]].status = message["status"]
            else:
                self.ready = True
            self.changed.notify_all()


class Pair:
    """Two guests joined by a cable, both booted. `with Pair(results) as (one, two):`"""

    def __init__(self, results, image=None, limit=180, share=None, device="rxe"):
        self.results, self.image, self.limit, self.share, self.device = results, image, limit, share, device

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="tickpath-cable-")
        cable = os.path.join(self.folder, "cable")
        self.guests = [Guest(self.results, index, cable, self.image, share=self.share, device=self.device)
                       for index in (1, 2)]
        try:
            for guest in self.guests:
                guest.power_on()
            for guest in self.guests:
                guest.wait_ready(self.limit)
        except BaseException:
            self.__exit__()
            raise
        return self.guests

    def __exit__(self, *_):
        for guest in self.guests:
            guest.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def end_on_signals(limit=None):
    """SIGTERM, SIGINT and the time limit become exceptions, so that `with` ends the guests."""
    def ended(number, _):
        if number == signal.SIGALRM:
            raise TimeLimit(f"the time limit of {limit} s is over")
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, ended)
    if limit:
        signal.alarm(limit)
