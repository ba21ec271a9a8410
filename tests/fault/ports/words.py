"""What hostile and legitimate peers say alike."""
import os
import pathlib
import re
import socket
import struct

ROOT = pathlib.Path(__file__).resolve().parents[3]
WIRE_VERSION = int(re.search(r"kWireVersion = (\d+)", (ROOT / "common/wire/constants.hpp").read_text()).group(1))
SETUP_VERSION = int(re.search(r"kVersion = (\d+)", (ROOT / "common/rdma/shm/setup.hpp").read_text()).group(1))


def connect(address, kind=socket.SOCK_STREAM):
    made = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET, kind)
    made.settimeout(5)
    try:
        made.connect(address)
    except OSError:
        made.close()
        return None
    return made


def setup_hello(role, service):
    """What a program says first: the provider's frame, the program's hello, link's part."""
    hello = struct.pack("<IIBBBBI16s4Q", 0x68746b74, WIRE_VERSION, role, service, 0, 0, os.getpid(), b"fuzzed", 0, 0, 0, 0)
    hello += struct.pack("<IHHHH6I7I", 0x6b6e6c74, 1, 1, 1, 0, *([0] * 13))
    return struct.pack("<IHBBIIIIII", 0x48535054, SETUP_VERSION, 1, 0, 0, len(hello), 64, 4096, 0, 0) + hello


def soup(kind, payload):
    return struct.pack(">H", len(payload) + 1) + kind + payload


def login(user=b"", seq=b"1"):
    return soup(b"L", user.ljust(6) + b" " * 10 + b"FUZZED0001" + seq.rjust(20))
