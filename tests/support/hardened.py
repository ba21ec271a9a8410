#!/usr/bin/env python3
"""hardened.py BIN: whether the programs there are built as docs/THREATS.md says; prints what is missing, exit 1."""
import pathlib
import re
import subprocess
import sys

PROGRAMS = ("sim", "mdh", "oeg", "risk", "strategy", "tickpath")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def missing(path):
    checks = {
        "position-independent": re.search(r"Type:\s+DYN", readelf("-h", path)),
        "RELRO": "GNU_RELRO" in readelf("-l", path),
        "bound at start (-z now)": re.search(r"FLAGS_1?\).*\bNOW\b|BIND_NOW", readelf("-d", path)),
    }
    return [name for name, there in checks.items() if not there]


def main():
    findings = [f"{name}: not {what}" for name in PROGRAMS
                for what in missing(pathlib.Path(sys.argv[1]) / name)]
    print("\n".join(findings) or "all programs are hardened")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
