"""A FIX peer that says what no peer should, and what keeps its session alive all the while."""
import select
import socket
import struct
import time

from ports.programs import HOST

LET_IN_S = 1.0  # what the programs promise
SOH = "\x01"

STRANGE = ["", "0", "-1", "1", "abc", "1.5", "+30", "3e1", "N", "Y", "00000000000000000001", "99999999999999999999",
           "2147483648", "4294967296", "-9223372036854775808", "18446744073709551615", "1e308", "nan", ".", "-", "0.",
           "123.4567", "0.00001", "ZAAA", "20261399-99:99:99", "20261122-10:11:12", " ", "\x80\xff\xfe", "%n%s", "=",
           "A" * 40, "B" * 300, "C" * 3000, "8=FIX.4.2", "\x00", "|", "'", '"', "{", "\n"]
REQUESTS = {
    "D": [(11, None), (21, "1"), (55, "ZAAA"), (54, "1"), (60, "20261122-10:11:12"), (38, "100"), (40, "2"),
          (44, "10.00"), (59, "3")],
    "G": [(41, None), (11, None), (21, "1"), (55, "ZAAA"), (54, "1"), (60, "20261122-10:11:12"), (38, "200"),
          (40, "2"), (44, "11.00")],
    "F": [(41, None), (11, None), (55, "ZAAA"), (54, "1"), (60, "20261122-10:11:12"), (38, "100")],
    "H": [(37, "1"), (11, None), (55, "ZAAA"), (54, "1")],
    "q": [(11, None), (530, "7"), (60, "20261122-10:11:12")],
    "AF": [(584, "1"), (585, "7")],
    "0": [], "1": [(112, "T")], "3": [(45, "1"), (58, "no")], "j": [(45, "1"), (372, "8"), (380, "3")],
    "E": [(66, "1"), (394, "1"), (68, "1"), (73, "1"), (11, "1")], "6": [(23, "1")], "n": [(212, "3"), (213, "<x")],
}
REPORTS = {
    "8": [(37, "V"), (20, "0"), (17, None), (150, "2"), (39, "2"), (11, None), (55, "ZAAA"), (54, "1"), (38, "100"),
          (151, "0"), (14, "100"), (6, "10"), (32, "100"), (31, "10")],
    "9": [(37, "V"), (11, None), (41, None), (39, "8"), (434, "1"), (102, "1")],
    "0": [], "1": [(112, "T")], "3": [(45, "1"), (58, "no")], "j": [(45, "1"), (372, "D"), (380, "3")],
    "h": [(336, "1"), (340, "2")], "B": [(148, "x"), (33, "1"), (58, "y")], "Q": [(37, "V"), (17, "1")],
}


def encode(version, fields, damage=None):
    body = SOH.join(f"{tag}={value}" for tag, value in fields) + SOH
    length = len(body) + (damage or 0)
    text = f"8=FIX.{version}{SOH}9={length}{SOH}{body}".encode("latin-1")
    return text + b"10=%03d\x01" % (sum(text) % 256)


def now():
    return time.strftime("%Y%m%d-%H:%M:%S", time.gmtime())


class FixMaker:
    """Fuzzed messages of one side. Most keep header and number, so that what follows is looked at."""

    def __init__(self, dice, version, sender, target, templates):
        self.dice, self.version, self.sender, self.target = dice, version, sender, target
        self.templates = list(templates.items())
        self.seq = 1
        self.ids = 0

    def header(self, kind):
        return [(35, kind), (49, self.sender), (56, self.target), (34, self.seq), (52, now())]

    def mutate(self, fields):
        dice = self.dice
        for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
            at = dice.randrange(len(fields)) if fields else 0
            what = dice.randrange(6)
            if what == 0 and fields:
                del fields[at]
            elif what == 1 and fields:
                fields.insert(at, fields[dice.randrange(len(fields))])
            elif what == 2:
                tag = dice.choice((dice.randrange(1, 1000), dice.randrange(1, 1000), 5000, 99999, 2**31, 2**64, -1, "x"))
                fields.insert(at, (tag, dice.choice(STRANGE)))
            elif fields:
                fields[at] = (fields[at][0], dice.choice(STRANGE))

    def message(self):
        dice = self.dice
        kind, template = dice.choice(self.templates)
        fields = []
        for tag, value in template:
            if value is None:
                self.ids += 1
                value = dice.choice((f"F-{self.ids}", self.ids, f"F-{dice.randrange(self.ids)}"))
            fields.append((tag, value))
        self.mutate(fields)
        header = self.header(kind)
        if dice.randrange(20) == 0:
            header[5:] = [(dice.choice((43, 97, 122, 115, 116, 128, 129, 144, 145, 50, 57, 347)), dice.choice(STRANGE))]
        odd = dice.randrange(400)
        if odd == 0:
            self.mutate(header)
        elif odd == 1:  # damaged on its way: not counted by the other side
            damaged = bytearray(encode(self.version, header + fields))
            for _ in range(dice.randrange(1, 6)):
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
            return bytes(damaged)
        elif odd == 2:
            return encode(self.version, header + fields, dice.choice((-5, 3, 4000)))
        elif odd == 3:
            header[0] = (35, dice.choice(["A", "2", "4", "5"] + STRANGE[:20]))
        self.seq += 1
        return encode(self.version, header + fields)


class FixPeer:
    """What a session needs to live: answers Logons, ResendRequests and numbers that are too low."""

    def __init__(self, maker):
        self.maker = maker
        self.socket = None
        self.heard = b""
        self.gone = True

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.gone = True

    def say(self, kind, fields, seq=None):
        maker = self.maker
        header = maker.header(kind)
        if seq is not None:
            header[3] = (34, seq)
        else:
            maker.seq += 1
        self.send(encode(maker.version, header + fields))

    def read(self, timeout):
        """The messages that are there, each as {tag: value}."""
        messages = []
        try:
            if select.select([self.socket], [], [], timeout)[0]:
                data = self.socket.recv(1 << 16)
                self.gone |= not data
                self.heard += data
        except OSError:
            self.gone = True
        while (end := self.heard.find(b"\x0110=")) >= 0 and len(self.heard) >= end + 8:
            text, self.heard = self.heard[:end].decode("latin-1"), self.heard[end + 8:]
            message = dict(field.partition("=")[::2] for field in text.split(SOH))
            messages.append(message)
            self.obey(message)
        return messages

    def obey(self, message):
        kind = message.get("35")
        if kind == "2" and message.get("7", "").isdigit():
            begin = int(message["7"])
            self.say("4", [(43, "Y"), (122, now()), (123, "Y"), (36, max(self.maker.seq, begin + 1))], begin)
        elif kind == "5" and "expecting " in message.get("58", ""):
            digits = message["58"].split("expecting ")[1].split(" ")[0]
            if digits.isdigit():
                self.maker.seq = int(digits)

    def close(self):
        if self.socket is not None:
            # A reset leaves no port waiting.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()
        self.socket, self.heard, self.gone = None, b"", True

    def log_on(self, port, timeout=LET_IN_S):
        """Seconds until the other side's Logon, over as many connections as it takes; None: not in time."""
        begin = time.monotonic()
        while time.monotonic() - begin < timeout:
            self.close()
            self.gone = False
            try:
                self.socket = socket.create_connection((HOST, port), timeout=timeout)
            except OSError:
                time.sleep(0.005)
                continue
            self.say("A", [(98, "0"), (108, "30")])
            while not self.gone and time.monotonic() - begin < timeout:
                if any(message.get("35") == "A" for message in self.read(0.05)):
                    return time.monotonic() - begin
            time.sleep(0.005)
        return None


def fix_client(name, version="4.2"):
    return FixPeer(FixMaker(None, version, name.upper(), "SIM", {}))
