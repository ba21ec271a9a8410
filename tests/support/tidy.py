#!/usr/bin/env python3
"""Keeps the tree tidy: layout, layers, sizes, language, leftovers, formatting. Prints each finding, exits 1."""
import pathlib
import re
import subprocess
import sys

import language

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOP = {"CMakeLists.txt", "mdh", "strategy", "oeg", "risk", "common", "config", "tests", "sim", "tools", "docs", "README.md"}
PROGRAMS = {"mdh", "strategy", "oeg", "risk", "sim"}
# Which folders of the top level a file may include from: programs meet only through common, tools stand above all.
MAY_INCLUDE = {"common": {"common"}, **{name: {"common", name} for name in PROGRAMS},
               "tools": {"common", "tools", *PROGRAMS}}
INCLUDE = re.compile(r'^\s*#\s*include "([a-z_]+)/')
CODE = {".hpp", ".h", ".cpp", ".c"}
CLANG_FORMAT = 14  # Debian 12's; others differ in places
LINES_MAX = 600  # STYLE: a file that one person can hold in the head
# A comment is read by itself: what it begins with must not be in the line before or in the declaration alone.
DANGLING = re.compile(r"^\s*//+ (Of|Likewise|Those|Who|It)\b")
COMMENT = re.compile(r"^\s*//")
BANNED = re.compile(r"\b(FIX" + r"ME|TO" + r"DO)\b")


def tracked():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [ROOT / name for name in names.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def check_file(path, findings):
    name = path.relative_to(ROOT)
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    if path.suffix in CODE and len(lines) > LINES_MAX:
        findings.append(f"{name}: {len(lines)} lines, more than {LINES_MAX}")
    allowed = MAY_INCLUDE.get(name.parts[0])
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if allowed and include and include[1] in TOP - allowed:
            findings.append(f"{name}:{number}: {name.parts[0]} must not include from {include[1]}")
        if path.suffix in CODE and DANGLING.match(line) and not COMMENT.match(lines[number - 2]):
            findings.append(f"{name}:{number}: a comment that begins with {DANGLING.match(line)[1]} cannot be read by itself")
        if BANNED.search(line):
            findings.append(f"{name}:{number}: leftover {BANNED.search(line).group(0)}")
        if line != line.rstrip():
            findings.append(f"{name}:{number}: trailing white space")


def main():
    findings = []
    files = tracked()
    for path in files:
        top = path.relative_to(ROOT).parts[0]
        if top not in TOP and not top.startswith(".") and top != "CMakePresets.json":
            findings.append(f"{path.relative_to(ROOT)}: not part of the layout")
    readable = [p for p in files if "corpus" not in p.parts and p.suffix in CODE | {".txt", ".cmake", ".sh", ".py", ".md", ".toml"}]
    for path in readable:
        check_file(path, findings)
    language.check(findings)
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=True).stdout
    ours = f"version {CLANG_FORMAT}." in version
    if not ours:
        print(f"formatting is not checked: it is clang-format {CLANG_FORMAT}'s, this is {version.strip()}")
    code = [str(p) for p in readable if p.suffix in CODE] if ours else []
    formatted = subprocess.run(["clang-format", "--dry-run", "--Werror", *code], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL)
    findings += sorted({line.split(":")[0].replace(str(ROOT) + "/", "") + ": clang-format would change it"
                        for line in formatted.stderr.splitlines() if "error:" in line})
    print("\n".join(findings) if findings else f"{len(files)} files are tidy")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
