#!/usr/bin/env python3
"""One line for each test that failed in a ctest log (with --output-on-failure): its name and what failed first.

  tests/support/failed_tests.py LOG
"""
import pathlib
import re
import sys

RESULT = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(.*\*\*\*.*?)\s+[\d.]+ sec")
OTHER = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: |^\s+Start\s+\d+: |^\d+% tests passed")
RUNS = re.compile(r"^\[ RUN      \] (\S+)")
GTEST_FAILURE = re.compile(r"(: Failure|: error: |: Fatal failure)\s*$|^unknown file: Failure")
TELLING = re.compile(r"ERROR: \w*Sanitizer|WARNING: ThreadSanitizer|runtime error|terminate called|CHECK|FAILED|[Ee]rror|what\(\)")
WIDTH = 300


def first_failure(lines):
    """What a person would look for first in a test's output."""
    test = ""
    for index, line in enumerate(lines):
        if run := RUNS.match(line):
            test = run[1] + ": "
        if GTEST_FAILURE.search(line):
            told = " ".join(each.strip() for each in lines[index:index + 5] if not each.startswith("["))
            return test + told
    for line in lines:
        if TELLING.search(line):
            return test + line.strip()
    rest = [line.strip() for line in lines if line.strip()]
    return test + (rest[-1] if rest else "no output")


def failures(text):
    lines = text.splitlines()
    for index, line in enumerate(lines):
        result = RESULT.match(line)
        if not result or "Skipped" in result[2]:
            continue
        output = []
        for each in lines[index + 1:]:
            if OTHER.match(each):
                break
            output.append(each)
        told = f"{result[1]} ({' '.join(result[2].replace('*', ' ').split())}): {first_failure(output)}"
        yield told if len(told) <= WIDTH else told[:WIDTH - 3] + "..."


def main():
    for each in failures(pathlib.Path(sys.argv[1]).read_text(errors="replace")):
        print(each)


if __name__ == "__main__":
    main()
