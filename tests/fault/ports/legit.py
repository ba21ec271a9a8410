"""Those who have a right to be let in, and how long it takes."""
import socket
import struct
import time

from ports.fix import LET_IN_S, fix_client
from ports.programs import HOST
from ports.words import SETUP_VERSION, connect, login, setup_hello


class LegitFix:
    def __init__(self, programs):
        self.port = programs.ports["legit"]
        self.peer = fix_client("legit")

    def let_in(self):
        seconds = self.peer.log_on(self.port)
        if seconds is not None:
            self.peer.say("5", [])
            self.peer.read(0.1)
        self.peer.close()
        return seconds


def ask(address, request, enough, kind=socket.SOCK_STREAM):
    """Seconds until an answer for which enough(answer); asked again on a new connection until it comes."""
    begin = time.monotonic()
    while time.monotonic() - begin < LET_IN_S:
        made = connect(address, kind)
        if made is None:
            continue
        answer = b""
        try:
            made.sendall(request)
            made.settimeout(0.2 if kind == socket.SOCK_DGRAM else LET_IN_S)
            while not enough(answer):
                more = made.recv(1 << 16)
                if not more:
                    break
                answer += more
        except OSError:
            pass
        made.close()
        if enough(answer):
            return time.monotonic() - begin
        time.sleep(0.002)
    return None


class Legit:
    def __init__(self, programs):
        self.ports, self.run_dir = programs.ports, programs.run_dir
        self.fix = LegitFix(programs)

    def order_entry(self):
        return self.fix.let_in()

    def setup(self, program):
        accepted = struct.pack("<IHB", 0x48535054, SETUP_VERSION, 2)
        return ask(str(self.run_dir / f"{program}.fabric"), setup_hello(6, 4), lambda a: a.startswith(accepted),
                   socket.SOCK_SEQPACKET)

    def admin(self, program):
        return ask(str(self.run_dir / f"{program}.admin"), b'{"command": "counters"}\n',
                   lambda a: a.startswith(b"{") and b'"ok":true' in a and a.endswith(b"\n"))

    def snapshot(self):
        return ask((HOST, self.ports["snapshot"]), login(), lambda a: a[2:3] == b"A" and len(a) > 1000)

    def retransmission(self):
        return ask((HOST, self.ports["retransmission"]), struct.pack(">10sQH", b"FUZZED0001", 1, 1),
                   lambda a: a.startswith(b"FUZZED0001"), socket.SOCK_DGRAM)


# port: who is hostile, who is let in meanwhile (None: the hostile one is, at times)
