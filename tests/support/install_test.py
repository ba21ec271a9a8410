#!/usr/bin/env python3
"""install_test.py BUILD: whether what `cmake --install` puts under a prefix runs from there: programs, configurations,
strategies, a plugin that is built against it from outside, the project of `tickpath new-strategy` with its test, completion,
and manual pages. Exit 1 with what failed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PLUGIN = """
#include "strategy/plugin.hpp"
class Idle final : public tickpath::Strategy {
  void start() override { subscribe_all(); }
};
TICKPATH_STRATEGY(Idle, "idle", "1.0")
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(idle LANGUAGES CXX)
find_package(tickpath 0.1 REQUIRED)
tickpath_plugin(idle idle.cpp)
"""
COMPLETION = """
source "$1"
COMP_WORDS=("$2" {words}) COMP_CWORD={at}
_tickpath
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# compsys' own functions need a terminal: these show what they are given.
ZSH_COMPLETION = """
_describe() {{ print -l -- ${{(P)3}} }}
_files() {{ print FILES }}
_call_program() {{ shift; eval "$@" }}
compdef() {{ :; }}
source "$1"
words=("$2" {words}) CURRENT={at} PREFIX=$words[-1]
_tickpath
"""


def run(*arguments, folder=None):
    done = subprocess.run([str(each) for each in arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def completed(prefix, *words):
    script = prefix / "share/bash-completion/completions/tickpath"
    text = COMPLETION.format(words=" ".join(words), at=len(words))
    return run("bash", "-c", text, "bash", script, prefix / "bin/tickpath").split()


def check_completion(prefix):
    for expected, words in (("status", ["st"]), ("replay", ["''"]), ("--help", ["--h"]), ("--run-dir", ["up", "--run"]),
                            ("--deterministic", ["replay", "--det"])):
        if expected not in completed(prefix, *words):
            sys.exit(f"bash completes {words} by {completed(prefix, *words)}, not by {expected}")


def zsh_completed(prefix, *words):
    text = ZSH_COMPLETION.format(words=" ".join(words), at=len(words) + 1)
    told = run("zsh", "-f", "-c", text, "zsh", prefix / "share/zsh/site-functions/_tickpath", prefix / "bin/tickpath")
    return [line.split(":")[0] for line in told.splitlines()]


def check_zsh_completion(prefix):
    if shutil.which("zsh") is None:
        print("zsh is not installed: its completion is not tried")
        return
    for expected, words in (("status", ["st"]), ("replay", ["''"]), ("--help", ["--h"]), ("--run-dir", ["up", "--run"]),
                            ("--deterministic", ["replay", "--det"]), ("FILES", ["up", "conf"])):
        if expected not in zsh_completed(prefix, *words):
            sys.exit(f"zsh completes {words} by {zsh_completed(prefix, *words)}, not by {expected}")


def check_manual(prefix):
    """Every command of --help, in full or by the page that has it, and every option of that one's --help."""
    pages = {path.stem: path.read_text().replace("\\-", "-") for path in (prefix / "share/man/man1").glob("*.1")}
    tickpath = prefix / "bin/tickpath"
    commands = re.findall(r"^  ([a-z-]+) ", run(tickpath, "--help").split("Subcommands:")[1], re.M)
    for command in commands:
        if not any(f"\n.SS {command}\n" in page for page in pages.values()):
            sys.exit(f"{command} is in no manual page of {sorted(pages)}")
    for options in (run(tickpath, command, "--help") for command in commands):
        for option in re.findall(r"^  (?:-\w,)?(--[a-z-]+)", options, re.M):
            if option != "--help" and not any(f"\\fB{option}" in page or f",{option}" in page for page in pages.values()):
                sys.exit(f"{option} is in no manual page")
    if shutil.which("groff"):
        for name in pages:
            warned = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", prefix / f"share/man/man1/{name}.1"],
                                    capture_output=True, text=True)
            if warned.returncode != 0 or warned.stderr:
                sys.exit(f"{name}.1: {warned.stderr}")


def check_pipeline(prefix, folder):
    """The shipped configuration, strategies and all, in a folder without the tree."""
    tickpath = prefix / "bin/tickpath"
    run(tickpath, "generate", folder / "made.itch50", "--messages", 2000, "--symbols", 3, "--duration", 2, folder=folder)
    told = run(tickpath, "replay", "--deterministic", prefix / "share/tickpath/config/demo", "--run-dir", folder / "run",
               "--set", f"sim:replay.file={folder / 'made.itch50'}", folder=folder)
    if "everything is accounted for" not in told:
        sys.exit(told)


def check_plugin(prefix, folder):
    (folder / "idle.cpp").write_text(PLUGIN)
    (folder / "CMakeLists.txt").write_text(PROJECT)
    run("cmake", "-B", folder / "build", "-S", folder, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    config = (prefix / "share/tickpath/config/demo/strategy.toml").read_text()
    text = config[: config.index("[[plugin]]")] + '[[plugin]]\nid = 1\nfile = "idle.so"\n'
    (folder / "strategy.toml").write_text(text)
    run(prefix / "bin/strategy", folder / "strategy.toml", "--check", "--set", f"plugin_dir={folder / 'build'}", folder=folder)


def check_new_strategy(prefix, folder):
    """What its README says, from an empty folder to a replay, with nothing but the installed tree."""
    tickpath = prefix / "bin/tickpath"
    run(tickpath, "new-strategy", "my_strategy", "--dir", folder)
    project = folder / "my_strategy"
    again = subprocess.run([tickpath, "new-strategy", "my_strategy", "--dir", folder], capture_output=True, text=True)
    if again.returncode != 1 or "is there already" not in again.stderr:
        sys.exit(f"new-strategy in a folder that is there: exit {again.returncode}, {again.stderr}")
    blocks = re.findall(r"```sh\n(.*?)```", (project / "README.md").read_text(), re.S)
    for command in "".join(blocks[:2]).splitlines():
        told = run("sh", "-c", command, folder=project)
        if command.startswith("ctest") and "tests failed out of 1" not in told:
            sys.exit(told)
        if "--deterministic" in command and "everything is accounted for" not in told:
            sys.exit(told)
    if told.count("\n") < 2:
        sys.exit(f"the new strategy holds nothing behind the replay: {told}")
    run(prefix / "bin/strategy", project / "config/strategy.toml", "--check", folder=project)
    # Who tests a strategy needs no package of the fabric.
    needed = run("readelf", "-d", next(prefix.glob("lib*/**/libtickpath_test_bench.so")))
    if re.search(r"NEEDED.*(ibverbs|rdmacm|ssl|spdlog)", needed):
        sys.exit(f"the test bench needs more than it should:\n{needed}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    os.environ.pop("TICKPATH_BIN", None)
    with tempfile.TemporaryDirectory(prefix="tickpath_install_") as temporary:
        prefix, folder = pathlib.Path(temporary) / "prefix", pathlib.Path(temporary) / "work"
        folder.mkdir()
        run("cmake", "--install", build, "--prefix", prefix)
        check_completion(prefix)
        check_zsh_completion(prefix)
        check_manual(prefix)
        check_pipeline(prefix, folder)
        check_plugin(prefix, folder)
        check_new_strategy(prefix, folder)
    print("what is installed runs")


if __name__ == "__main__":
    main()
