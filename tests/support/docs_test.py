#!/usr/bin/env python3
"""Pastes every block of commands of README.md and docs/*.md into a shell and fails where a command does.

The blocks of one section (a heading "## ...") are pasted one after another into one shell, in a copy of the
tree as git has it, with the programs built beside it: what one section needs, it brings. Sections run beside
each other, each in a network and a PID namespace of its own, because they use the ports of config/demo, and kill
programs by name.

A comment on the line above a block says what is done with it:
  <!-- not run: REASON -->         listed at the end with its reason
  <!-- file: PATH -->              it is the content of this file
  <!-- appended to: PATH -->       it is added to this file; the program of that name reads it (--print-config: --check wants its plugins built)
  <!-- may exit with 1: REASON --> so may each of its commands, beside 0
Every block marked sh needs no comment; a block of another language needs one.

Recordings that the text names and that are not part of the project come from TICKPATH_DATA; a section that
names one that is not there is skipped, and the reason is listed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("TICKPATH_DATA", ROOT / "../shared/data"))
RECORDINGS = {  # as the text names them: where TICKPATH_DATA has them
    "AAPL_2012-06-21_message_50.csv.gz": "lobster/AAPL_2012-06-21_message_50.csv.gz",
    "DEEP.pcap.zst": "iex/20260713_DEEP10.pcap.zst",
}
CODE = ("common/", "mdh/", "oeg/", "risk/", "tests/", "tools/")
SECONDS_MAX = 600  # of one section, on a machine that has other things to do
MARKER = re.compile(r"<!-- (not run|file|appended to|may exit with 1): (.*) -->")


class Block:
    def __init__(self, place, language, marker, text):
        self.place, self.language, self.text = place, language, text
        self.what, self.detail = marker or ("run", "")


def sections(path):
    """(heading, blocks) of one page, in order."""
    found, language, marker, text, start = [("top", [])], None, None, [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if language is not None:
            if line.strip() == "```":
                found[-1][1].append(Block(f"{path.name}:{start}", language, marker, "\n".join(text) + "\n"))
                language, marker, text = None, None, []
            else:
                text.append(line)
        elif line.startswith("```"):
            language, start = line[3:].strip(), number
        elif line.startswith("## "):
            found.append((line[3:], []))
        elif match := MARKER.fullmatch(line.strip()):
            marker = match.groups()
        elif line.strip():
            marker = None
    return [(heading, blocks) for heading, blocks in found if any(block.language for block in blocks)]


def is_linked(path, to):
    """False: they are on two file systems."""
    try:
        os.link(path, to)
    except OSError:
        return False
    return True


def scratch_copy(folder, binaries):
    """The files of the tree that git knows, and the programs as if they had been built here. Code, which no page changes,
    is linked: thousands of new files would be a quarter of what this test takes."""
    known = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, known):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if name.startswith(CODE) and is_linked(ROOT / name, folder / name):
                continue
            shutil.copy2(ROOT / name, folder / name)
    # Polling, the programs of one section would take both processors of a small machine from those of the others.
    for config in folder.glob("config/*/*.toml"):
        config.write_text(config.read_text().replace('wait = "auto"', 'wait = "park"'))
    (folder / "build/release").mkdir(parents=True)
    for built in ("bin", "lib"):
        (folder / "build/release" / built).symlink_to(binaries.parent / built)


def environment(folder):
    """Nothing is installed or compiled: both were done when the test began. `tickpath` alone, as after an
    installation, is found."""
    tools = folder / "build/tools"
    tools.mkdir()
    (tools / "cmake").write_text("#!/bin/sh\nexit 0\n")
    (tools / "cmake").chmod(0o755)
    (tools / "tickpath").symlink_to(folder / "build/release/bin/tickpath")
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TICKPATH_INSTALL": "no"}


def demo_recording(folder):
    """The recording that sim/demo.sh makes at its first run, a shorter one, so that the text's runs are short."""
    subprocess.run([folder / "build/release/bin/tickpath", "generate", folder / "build/demo-300000-100-25-1.itch50",
                    "--messages", "120000", "--symbols", "100", "--duration", "6"], check=True, capture_output=True)


def paste(blocks):
    """The script that a shell gets: every command's status counts, `wait` and traps as in a terminal."""
    script = ["exec 2>&1", "failed=0",
              "trap 'status=$?; echo \"EXIT $status: $BASH_COMMAND\"; [ $status -le $allowed ] || failed=1' ERR"]
    for block in blocks:
        script.append(f"allowed={1 if block.what == 'may exit with 1' else 0}; echo '--- {block.place}'")
        script.append(block.text)
    script.append("trap - ERR; kill $(jobs -p) 2>/dev/null; wait; exit $failed")
    return "\n".join(script)


def put(folder, block):
    """A block that is a file, or a part of one."""
    with (folder / block.detail).open("w" if block.what == "file" else "a") as file:
        file.write("\n" + block.text)


def check(folder, block):
    """What the program says against the file that the block is a part of; empty: nothing."""
    target = folder / block.detail
    done = subprocess.run([folder / "build/release/bin" / target.stem, target, "--print-config", "--run-dir", folder / "run"],
                          cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"--- {block.place}\n{done.stderr}"


def isolated():
    """The command in front of one that shall see no other's ports and processes; empty where that is not to be had."""
    alone = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    for front in (["unshare", *alone], ["unshare", "--map-root-user", *alone]):
        command = [*front, "sh", "-c", "ip link set lo up"]
        if shutil.which("unshare") and subprocess.run(command, capture_output=True).returncode == 0:
            return front
    return []


def run_section(heading, blocks, binaries, front):
    """("passed" | "failed" | "skipped", text)"""
    text = "".join(block.text for block in blocks)
    needed = {name: DATA / place for name, place in RECORDINGS.items() if name in text}
    for name, place in needed.items():
        if not place.is_file():
            return "skipped", f"{blocks[0].place} ({heading}): {place} is not there"
    with tempfile.TemporaryDirectory(prefix="tickpath_docs_") as name:
        folder = pathlib.Path(name)
        scratch_copy(folder, binaries)
        for recording, place in needed.items():
            (folder / recording).symlink_to(place.resolve())
        variables = environment(folder)
        if "sim/demo.sh" in text:
            demo_recording(folder)
        for block in blocks:
            if block.what in ("file", "appended to"):
                put(folder, block)
        wrong = "".join(check(folder, block) for block in blocks if block.what == "appended to")
        if wrong:
            return "failed", wrong
        commands = [block for block in blocks if block.what in ("run", "may exit with 1")]
        if not commands:
            return "passed", ""
        # Process 1 is another than the shell: it takes no signal that it does not handle.
        shell = [*front, "sh", "-c", 'ip link set lo up; bash -c "$0"; exit $?'] if front else ["bash", "-c"]
        shell.append(paste(commands))
        try:
            done = subprocess.run(shell, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS_MAX,
                                  start_new_session=True)
        except subprocess.TimeoutExpired as late:
            return "failed", f"{(late.stdout or b'').decode(errors='replace')}\nnot done after {SECONDS_MAX} s"
        return ("passed" if done.returncode == 0 else "failed"), done.stdout


def unmarked(blocks):
    return [f"{block.place}: a block of {block.language or 'nothing'} needs a comment above it that says what it is"
            for block in blocks if block.language != "sh" and block.what == "run" and block.language != ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="the programs")
    parser.add_argument("--section", help="only those whose heading holds this")
    parser.add_argument("--verbose", action="store_true", help="output of sections that pass, too")
    arguments = parser.parse_args()
    failed, skipped, jobs = [], [], []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for heading, blocks in sections(page):
            failed += unmarked(blocks)
            skipped += [f"{block.place} ({heading}): {block.detail}" for block in blocks if block.what == "not run"]
            runnable = [block for block in blocks if block.what != "not run" and block.language]
            if runnable and (not arguments.section or arguments.section in heading):
                jobs.append((heading, runnable))
    front = isolated()
    with concurrent.futures.ThreadPoolExecutor(max_workers=3 if front else 1) as pool:
        running = {pool.submit(run_section, heading, blocks, arguments.bin.resolve(), front): (heading, blocks)
                   for heading, blocks in jobs}
        for each in concurrent.futures.as_completed(running):
            heading, blocks = running[each]
            result, text = each.result()
            print(f"{result}: {heading}, {len(blocks)} blocks", flush=True)
            if result == "skipped":
                skipped.append(text)
            elif result == "failed":
                failed.append(f"{heading}\n{text}")
            elif arguments.verbose:
                print(text)
    for each in skipped:
        print(f"not run: {each}")
    for each in failed:
        print(f"FAILED {each}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
