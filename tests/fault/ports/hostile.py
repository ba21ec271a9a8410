"""Hostile peers, one a port; each runs in a process of its own."""
import socket
import struct
import time

from ports.fix import LET_IN_S, REPORTS, REQUESTS, FixMaker, FixPeer
from ports.programs import HOST
from ports.words import connect, login, setup_hello, soup

IDLE_CONNECTIONS = 40
IDLE_AT_SETUP = 100  # more than a listener of the fabric remembers


def mutate_bytes(dice, seed_text):
    text = bytearray(seed_text)
    for _ in range(dice.choice((0, 1, 1, 2, 4))):
        what = dice.randrange(5)
        at = dice.randrange(len(text)) if text else 0
        if what == 0 and text:
            text[at] = dice.randrange(256)
        elif what == 1:
            del text[at:at + dice.randrange(1, 20)]
        elif what == 2:
            text[at:at] = dice.randbytes(dice.randrange(1, 40))
        elif what == 3:
            text[at:at + 4] = struct.pack(dice.choice("<>") + "I", dice.choice((0, 1, 2**31, 2**32 - 1, 65536)))
        else:
            text[at:at] = text[at:at + dice.randrange(1, 200)] * dice.randrange(1, 8)
    return bytes(text)


class Strangers:
    """Connections that say something and go, or that stay and say nothing."""

    def __init__(self, dice, address, kind=socket.SOCK_STREAM, linger_reset=True, idle_max=IDLE_CONNECTIONS):
        self.dice, self.address, self.kind, self.reset = dice, address, kind, linger_reset
        self.idle_max = idle_max
        self.idle = []

    def say(self, messages):
        made = connect(self.address() if callable(self.address) else self.address, self.kind)
        if made is None:
            return
        made.settimeout(0.05)  # whoever waits until we read its answers is left
        stays = self.dice.randrange(40) == 0
        try:
            for message in messages if not stays else [message[:self.dice.randrange(12)] for message in messages[:1]]:
                made.sendall(message)
            if self.dice.randrange(4) == 0:
                made.settimeout(0.02)
                made.recv(1 << 16)
        except OSError:
            pass
        if stays:
            self.idle.append(made)
            if len(self.idle) > self.idle_max:
                self.idle.pop(0).close()
            return
        if self.reset:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.close()


def stranger_loop(strangers, make, count):
    dice = strangers.dice
    sent = 0
    while sent < count.total:
        messages = [make() for _ in range(dice.randrange(0, 9))]
        strangers.say(messages)
        sent += len(messages)
        count.sent.value = sent


def fuzz_fix_strangers(ports, run_dir, dice, count):
    """Before the Logon: at the port of one who logs on meanwhile, and fuzzed Logons at another."""
    del run_dir
    others = FixMaker(dice, "4.2", "LEGIT", "SIM", REQUESTS)
    logon = FixMaker(dice, "4.4", "FUZZED_44", "SIM", {"A": [(98, "0"), (108, "30"), (141, "N"), (95, "3"), (96, "a=b")]})
    turn = [0]

    def address():
        turn[0] ^= 1
        return (HOST, ports["legit" if turn[0] else "fuzzed_44"])

    def make():
        if turn[0] == 0:  # the next connection goes to "legit"
            return dice.choice((others.message, lambda: mutate_bytes(dice, others.message())))()
        logon.seq = 1
        return logon.message()

    stranger_loop(Strangers(dice, address), make, count)


def fuzz_fix_session(ports, run_dir, dice, count, name, version):
    del run_dir
    maker = FixMaker(dice, version, name.upper(), "SIM", REQUESTS)
    peer = FixPeer(maker)
    sent = 0
    while sent < count.total:
        if peer.gone and peer.log_on(ports[name], 10) is None:
            maker.seq += 1
            continue
        batch = [maker.message() for _ in range(dice.randrange(1, 60))]
        peer.send(b"".join(batch))
        peer.read(0)
        sent += len(batch)
        count.sent.value = sent
    peer.close()


def fuzz_setup(ports, run_dir, dice, count, program):
    del ports

    def make():
        return mutate_bytes(dice, setup_hello(dice.randrange(8), dice.randrange(6))) or b"x"

    strangers = Strangers(dice, str(run_dir / f"{program}.fabric"), socket.SOCK_SEQPACKET, False, IDLE_AT_SETUP)
    # At once, and again and again: silence beyond what the listener remembers.
    for _ in range(IDLE_AT_SETUP):
        silent = connect(strangers.address, strangers.kind)
        if silent is not None:
            strangers.idle.append(silent)
    stranger_loop(strangers, make, count)


def fuzz_admin(ports, run_dir, dice, count, program):
    del ports
    commands = [b'{"command": "status"}', b'{"command": "ready", "timeout_ms": 1}', b'{"command": "counters"}',
                b'{"command": "commands"}', b'{"command": "exceptions"}', b'{"command": "clear_exception", "id": 1}',
                b'{"command": "halt_symbol", "symbol": "NONE"}', b'{"command": "pause"}', b'{"command": "continue"}',
                b'{"command": "seek", "to": "23:00"}', b'{"command": "kill", "strategy": 300}', b"[" * 3000, b"{" * 70000,
                b'{"command": 1}', b'{"command": "revoke", "role": "x"}', b'{"command": "ready", "timeout_ms": -1e300}']

    def make():
        line = mutate_bytes(dice, dice.choice(commands))
        return b"" if b'"stop"' in line else line + b"\n"

    strangers = Strangers(dice, str(run_dir / f"{program}.admin"), linger_reset=False)
    stranger_loop(strangers, make, count)


def fuzz_snapshot(ports, run_dir, dice, count):
    del run_dir
    packets = [login(), login(b"nobody", b"7"), soup(b"R", b""), soup(b"O", b""), soup(b"U", b"x" * 30),
               soup(b"+", b"debug"), soup(b"S", b""), b"\x00\x00", b"\xff\xff"]
    stranger_loop(Strangers(dice, (HOST, ports["snapshot"])), lambda: mutate_bytes(dice, dice.choice(packets)), count)


def fuzz_retransmission(ports, run_dir, dice, count):
    del run_dir
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect((HOST, ports["retransmission"]))
        while sent < count.total:
            request = struct.pack(">10sQH", b"FUZZED0001", dice.choice((0, 1, 5000, 2**63, 2**64 - 1)),
                                  dice.choice((0, 1, 100, 65535)))
            try:
                out.send(mutate_bytes(dice, request))
            except OSError:
                pass
            sent += 1
            count.sent.value = sent
            if sent % 64 == 0:
                time.sleep(0.001)


class HostileVenue:
    """An acceptor at oeg's venue address that is, every so often, a good one for a moment."""

    def __init__(self, ports, dice, count):
        self.dice, self.count = dice, count
        self.listener = socket.create_server((HOST, ports["venue"]))
        self.listener.settimeout(10)
        self.maker = FixMaker(dice, "4.2", "SIM", "TICKPATH", REPORTS)
        self.peer = FixPeer(self.maker)

    def meet(self):
        """Waits for oeg and answers its Logon."""
        self.peer.close()
        try:
            self.peer.socket, _ = self.listener.accept()
        except OSError:
            return False
        self.peer.gone = False
        end = time.monotonic() + 2
        while not self.peer.gone and time.monotonic() < end:
            if any(message.get("35") == "A" for message in self.peer.read(0.05)):
                self.peer.say("A", [(98, "0"), (108, "10")])
                return True
        return False

    def good_moment(self):
        """A Logon and an answered Test Request: how long from when oeg may come back?"""
        begin = time.monotonic()
        self.peer.close()
        while time.monotonic() - begin < 10 * LET_IN_S:
            if not self.meet():
                continue
            while not self.peer.gone and time.monotonic() - begin < 10 * LET_IN_S:
                self.peer.say("1", [(112, "WELL")])  # again: a gap fill may have gone over it
                if any(message.get("112") == "WELL" for message in self.peer.read(0.05)):
                    return time.monotonic() - begin
        return 10 * LET_IN_S

    def run(self):
        sent, next_good = 0, 0.0
        while sent < self.count.total:
            if time.monotonic() >= next_good:
                seconds = self.good_moment()
                self.count.slowest.value = max(self.count.slowest.value, seconds)
                self.count.tries.value += 1
                next_good = time.monotonic() + 0.5
            if self.peer.gone and not self.meet():
                continue
            batch = [self.maker.message() for _ in range(self.dice.randrange(1, 60))]
            self.peer.send(b"".join(batch))
            self.peer.read(0)
            sent += len(batch)
            self.count.sent.value = sent


def fuzz_venue(ports, run_dir, dice, count):
    del run_dir
    HostileVenue(ports, dice, count).run()
