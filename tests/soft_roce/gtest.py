"""Runs a GoogleTest binary here or in a guest and reads what it did."""
import json
import os
import signal
import subprocess

from machine import TREE, RigError
from report import Failed


def environment(run, provider):
    return {**run.environment(), "TICKPATH_PROVIDER": provider}


def command(run, binary, filter_text, output):
    return [str(run.tests / binary), f"--gtest_filter={filter_text}", f"--gtest_output=json:{output}",
            "--gtest_color=no"]


def on_host(run, binary, filter_text, provider, limit):
    """{test name: "passed" | "failed" | "skipped"} of a run on this machine."""
    folder = run.folder(binary)
    output, log = folder / f"{provider}.host.json", folder / f"{provider}.host.log"
    with open(log, "w") as out:
        process = subprocess.Popen(command(run, binary, filter_text, output), stdout=out, stderr=subprocess.STDOUT,
                                   env={**os.environ, **environment(run, provider)}, cwd=TREE, start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failed(f"{running_at_end(log.read_text(errors='replace'))} did not end: {limit} s were over") from error
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return results(output, log.read_text(errors="replace"))


def in_guest(run, guest, binary, filter_text, provider, limit, label, env=None):
    """The same in a guest whose results folder is run.folder(binary)."""
    folder = run.folder(binary)
    output, log = folder / f"{provider}.{label}.json", folder / f"{provider}.{label}.log"
    with open(log, "w") as out:
        def keep(text):
            out.write(text)
            out.flush()
        job = guest.start(command(run, binary, filter_text, output), env={**environment(run, provider), **(env or {})},
                          sink=keep)
        try:
            job.wait(limit)
        except RigError as error:
            raise RigError(f"{error} (in {running_at_end(job.output)})") from error
    return results(output, job.output)


class Failure(str):
    """The state "failed", with the test's first failure."""

    def __new__(cls, text):
        state = super().__new__(cls, "failed")
        state.text = " ".join(line.strip() for line in text.splitlines() if line.strip())
        return state


def results(output, log):
    try:
        with open(output) as file:
            suites = json.load(file)["testsuites"]
    except (OSError, ValueError) as error:
        raise Failed(f"no results of {running_at_end(log)} ({error}); the end of its output:\n{log[-3000:]}") from error
    found = {}
    for suite in suites:
        for test in suite["testsuite"]:
            state = "skipped" if test["result"] == "SKIPPED" else "passed"
            if failures := test.get("failures"):
                state = Failure(failures[0].get("failure", ""))
            if test["status"] == "RUN":
                found[f"{suite['name']}.{test['name']}"] = state
    return found


def running_at_end(log):
    """Of a binary that crashed or was ended: the test that it was in."""
    started = [line.split("]", 1)[1].strip() for line in log.splitlines() if line.startswith("[ RUN      ]")]
    return started[-1] if started else "any test"


def left_out(log_file):
    """Of a conformance run: {test: what its device lacks}, as the run itself lists them."""
    told = {}
    for line in log_file.read_text(errors="replace").splitlines():
        if " left out" in line and "the device lacks: " in line:
            test, lack = line.strip().split(": ", 1)
            told.setdefault("Fabric." + test.rsplit("/", 1)[0], []).append(lack)
    return told


def count(found, state):
    return sum(1 for each in found.values() if each == state)


def all_passed(found, log_text):
    bad = [name for name, state in found.items() if state == "failed"]
    if bad:
        told = "\n".join(f"{name}: {getattr(found[name], 'text', '')}" for name in bad)
        raise Failed(f"{len(bad)} of {len(found)} failed:\n{told}\n{log_text}")
    if not count(found, "passed"):
        raise Failed("nothing ran")


def print_equal(shm, verbs, shm_only=()):
    """Prints the tests run per provider, and fails where they differ. shm_only: verbs need not pass them."""
    names = sorted(set(shm) | set(verbs))
    differ = [f"{name}: shm {shm[name]}" for name in names if name in shm_only and shm[name] != "passed"]
    for name in names:
        if name in shm_only:
            print(f"        shm {shm[name]:<8} alone           {name}")
            continue
        left, right = shm.get(name, "not run"), verbs.get(name, "not run")
        print(f"        shm {left:<8} verbs {right:<8} {name}")
        if left != right:
            differ.append(f"{name}: shm {left}, verbs {right}")
    print(f"        {count(shm, 'passed')} tests passed on shm, {count(verbs, 'passed')} on verbs", flush=True)
    if differ:
        raise Failed("the providers did not pass the same tests:\n  " + "\n  ".join(differ))
