#!/usr/bin/env python3
"""hardened.py BIN: whether the programs there, and the plugins beside it, are built as docs/THREATS.md says
(common/cmake/Hardening.cmake); prints what is missing, exit 1."""
import pathlib
import re
import subprocess
import sys

PROGRAMS = ("sim", "mdh", "oeg", "risk", "strategy", "tickpath", "tickpath-data", "tickpath-history", "tickpath-measure",
            "tickpath-watch")
PLUGINS = ("momentum", "quoter")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def linked(path):
    return {
        "position-independent": re.search(r"Type:\s+DYN", readelf("-h", path)),
        "RELRO": "GNU_RELRO" in readelf("-l", path),
        "bound at start (-z now)": re.search(r"FLAGS_1?\).*\bNOW\b|BIND_NOW", readelf("-d", path)),
    }


def compiled(path):
    """Both leave calls into the C library: the guard's failure, and functions that know the size of what they fill."""
    called = re.findall(r"\bUND (__\w+_chk|__stack_chk_fail)\b", readelf("--dyn-syms", path))
    return {
        "built with a stack protector": "__stack_chk_fail" in called,
        "built with _FORTIFY_SOURCE": any(name.endswith("_chk") for name in called),
    }


def main():
    binaries = pathlib.Path(sys.argv[1])
    checks = {name: {**linked(binaries / name), **compiled(binaries / name)} for name in PROGRAMS}
    # A plugin may have nothing to guard: no buffer of its own, no call that fills one.
    checks.update({f"{name}.so": linked(binaries.parent / "plugins" / f"{name}.so") for name in PLUGINS})
    findings = [f"{name}: not {what}" for name, done in checks.items() for what, there in done.items() if not there]
    print("\n".join(findings) or "all programs and plugins are hardened")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
