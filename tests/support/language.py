#!/usr/bin/env python3
"""Measures what CONTRIBUTING asks of language and of classes; tidy.py runs it. By itself it prints the figures.

    tests/support/language.py            # sentences a page, classes beyond the bounds
    tests/support/language.py --write    # classes that got smaller: their new sizes into large_classes.txt

Pages: half of the sentences have at most SENTENCE_MEDIAN words, nine of ten at most SENTENCE_P90. Words that the field does not
use are not in code, logs or pages. A class has at most FUNCTIONS_MAX member functions and DATA_MAX data members; those that had
more when this began are in large_classes.txt, and may only get smaller. Members are counted by universal-ctags."""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGE = pathlib.Path(__file__).with_name("large_classes.txt")
SENTENCE_MEDIAN = 13
SENTENCE_P90 = 24
FUNCTIONS_MAX = 40
DATA_MAX = 20
# What the field says instead.
WORDS = {"lap" "ped": "overrun", "lap" "ping": "overrunning"}
WORD = re.compile("(?<![A-Za-z])(?:" + "|".join(WORDS) + ")(?![a-z])|(?:" + "|".join(map(str.capitalize, WORDS)) + ")(?![a-z])")


def tracked(*patterns):
    names = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in names.decode().split("\0") if name and (ROOT / name).is_file()]


def sentence_lengths(text):
    """Words of each sentence of a page's prose: no code, tables, headings or comments."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    lengths = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        block = re.sub(r"^(?:[-*]|\d+\.) ", "", block.strip())
        if not block or block.startswith(("#", "|", "![")):
            continue
        block = re.sub(r"`[^`]*`", "X", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", block))
        for sentence in re.split(r"(?<=[.!?:;])\s+", " ".join(block.split())):
            words = len(re.findall(r"[A-Za-z0-9][\w'-]*", sentence))
            if words > 1:
                lengths.append(words)
    return sorted(lengths)


def check_sentences(findings, show=False):
    everything = []
    for page in tracked("*.md"):
        lengths = sentence_lengths(page.read_text(encoding="utf-8"))
        everything += lengths
        if show and lengths:
            print(f"{lengths[len(lengths) // 2]:4} {lengths[len(lengths) * 9 // 10]:4}  {page.relative_to(ROOT)}")
    everything.sort()
    median, p90 = everything[len(everything) // 2], everything[len(everything) * 9 // 10]
    if show:
        print(f"{median:4} {p90:4}  all {len(everything)} sentences: words of the median and the 90th percentile")
    if median > SENTENCE_MEDIAN or p90 > SENTENCE_P90:
        findings.append(f"pages have sentences of {median} words at the median and {p90} at the 90th percentile; at most "
                        f"{SENTENCE_MEDIAN} and {SENTENCE_P90}")


def check_words(findings):
    for path in tracked("*.md", "*.hpp", "*.cpp", "*.h", "*.py", "*.sh", "*.toml", "*.js"):
        if path == pathlib.Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            found = WORD.search(line)
            if found:
                word = found[0].lower()
                findings.append(f"{path.relative_to(ROOT)}:{number}: \"{word}\": the field says \"{WORDS[word]}\"")


def class_sizes():
    """{class: (member functions, data members, file)} of the product's headers."""
    headers = [str(path.relative_to(ROOT)) for path in tracked("*.hpp", "*.h") if path.relative_to(ROOT).parts[0] != "tests"]
    tags = subprocess.run(["ctags", "--output-format=json", "--fields=+nsKl", "--c++-kinds=+p", "-f", "-", "-L", "-"], cwd=ROOT,
                          input="\n".join(headers), capture_output=True, text=True, check=True).stdout
    functions, data, files = collections.Counter(), collections.Counter(), {}
    for line in tags.splitlines():
        tag = json.loads(line)
        if tag.get("scopeKind") not in ("class", "struct"):
            continue
        name = tag["scope"]
        functions[name] += tag["kind"] in ("prototype", "function")
        data[name] += tag["kind"] == "member"
        files.setdefault(name, tag["path"])
    # A struct without functions is a layout or a set of options: its members are what it is for.
    return {name: (functions[name], data[name], file) for name, file in files.items()
            if functions[name] > FUNCTIONS_MAX or (data[name] > DATA_MAX and functions[name] > 0)}


def known_large():
    rows = (line.split() for line in LARGE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return {name: (int(functions), int(data)) for name, functions, data in rows}


def check_classes(findings):
    if shutil.which("ctags") is None:
        findings.append("members of classes cannot be counted: install universal-ctags")
        return
    known = known_large()
    sizes = class_sizes()
    for name, (functions, data, file) in sorted(sizes.items()):
        was = known.get(name, (FUNCTIONS_MAX, DATA_MAX))
        bound = (max(was[0], FUNCTIONS_MAX), max(was[1], DATA_MAX))
        if functions > bound[0] or data > bound[1]:
            findings.append(f"{file}: {name} has {functions} member functions and {data} data members, at most {bound[0]} and "
                            f"{bound[1]}: split its state")
    for name, was in sorted(known.items()):
        functions, data = sizes.get(name, (0, 0))[:2]
        if (functions, data) != was and functions <= was[0] and data <= was[1]:
            findings.append(f"{LARGE.relative_to(ROOT)}: {name} is smaller now: tests/support/language.py --write")


def write_classes():
    rows = [f"{name} {functions} {data}" for name, (functions, data, _) in sorted(class_sizes().items())]
    LARGE.write_text("# Classes beyond the bounds of language.py: member functions, data members. They may only get smaller.\n" +
                     "\n".join(rows) + "\n", encoding="utf-8")


def check(findings):
    check_sentences(findings)
    check_words(findings)
    check_classes(findings)


def main():
    if sys.argv[1:] == ["--write"]:
        write_classes()
        return 0
    findings = []
    check_sentences(findings, show=True)
    for name, (functions, data, _) in sorted(class_sizes().items(), key=lambda each: -each[1][0]):
        print(f"{functions:4} {data:4}  {name}")
    check_words(findings)
    check_classes(findings)
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
