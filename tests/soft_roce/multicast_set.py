"""Market data by multicast (common/link/multicast.hpp) on verbs: its tests, what it costs its publisher, the pipeline."""
import contextlib

import gtest
from fabric_sets import SHM_ONLY
from pipeline_sets import trade, trade_in_one_guest
from report import expect, losing

TESTS = "*Multicast*"


def multicast(run):
    """market data by multicast on verbs: tests at 5 % loss, its publisher's cost, in one guest"""
    shm, verbs = {}, {}
    with run.step("multicast of the link patterns on shm, on this machine"):
        shm = gtest.on_host(run, "unit_link", TESTS, "shm", 300)
        gtest.all_passed(shm, "")
    with run.step("multicast of the link patterns on verbs, in one guest"):
        verbs = gtest.in_guest(run, run.guest(), "unit_link", TESTS, "verbs", 900, "multicast")
        gtest.all_passed(verbs, "")
    with run.step("multicast runs the same tests on shm and on verbs"):
        gtest.print_equal(shm, verbs, SHM_ONLY)
    with run.step("what an update costs its publisher, by WRITE and by multicast"):
        bench = run.tests.parent / "bench" / "link_multicast"
        text = run.guest().run([bench, "--groups", "150", "--rounds", "1", "--updates", "0"],
                               env=gtest.environment(run, "verbs"), limit=900)
        print("".join(f"        {line}\n" for line in text.splitlines()), end="", flush=True)
        expect("by multicast, 16 together" in text, "the table has no line of multicast")
    with run.step("five programs trade by multicast over verbs, 5 % of the datagrams lost, and conserve everything"):
        folder = run.folder("multicast")
        trade_in_one_guest(run, folder, "/tmp/multicast", ["mdh:publish.mode=multicast"],
                           {"TICKPATH_MULTICAST_LOSS": "per_mille=50,seed=1"})
        expect_multicast(folder / "run")


def multicast_cost_two(run):
    """what an update costs its publisher on verbs, by WRITE and by multicast, its subscribers on another guest"""
    with run.step("what an update costs its publisher whose subscribers are on another host"):
        one, two = run.pair()
        bench, env = run.tests.parent / "bench" / "link_multicast", gtest.environment(run, "verbs")
        size = ["--groups", "300", "--rounds", "3"]
        readers = two.start([bench, *size, "--subscribe", "10.77.0.1:18700"],
                            env=env, name="subscribers")
        text = one.run([bench, *size, "--publish", "10.77.0.1:18700"], env=env, limit=900)
        print("".join(f"        {line}\n" for line in text.splitlines()), end="", flush=True)
        expect("by multicast, 16 together" in text, "the table has no line of multicast")
        expect(readers.wait(60) == 0, f"the subscribers:\n{readers.output[-1000:]}")


def expect_multicast(run_dir):
    log = (run_dir / "mdh.log").read_text()
    expect("publish: by multicast to 239.255.8.1" in log, "mdh did not publish by multicast")


def multicast_two(run):
    """config/hosts on two guests with market data by multicast, and again with 1 % of the packets lost both ways"""
    for per_cent in (0, 1):
        with run.step(f"by multicast two hosts trade and conserve everything, {per_cent} % of the packets lost"):
            guests, label = run.pair(), f"multicast_two.{per_cent}"
            with losing(guests, per_cent) if per_cent else contextlib.nullcontext():
                trade(run, *guests, label, 400, market=["mdh:publish.mode=multicast"])
            expect_multicast(run.folder(label) / "market")
