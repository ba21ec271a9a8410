"""We speak standard verbs: the provider's client against rdma-core's own rping."""
import gtest
from machine import Guest, Pair
from report import expect, running

BINARY = "interop_verbs"


def interop(run):
    """the provider against rdma-core's own rping: in one guest, then across two"""
    with Guest(run.folder(BINARY), image=run.image) as guest:
        with run.step("the verbs provider exchanges data with rping in one guest"):
            guest.boot()
            gtest.all_passed(gtest.in_guest(run, guest, BINARY, "*", "verbs", 90, "one"), "")
    with Pair(run.folder(BINARY), run.image) as (one, two):
        with run.step("the verbs provider exchanges data with rping on another host"):
            with running(two, ["stdbuf", "-oL", "rping", "-s", "-a", two.address, "-v", "-C", "5"]) as server:
                env = {"TICKPATH_RPING_ADDRESS": two.address}
                found = gtest.in_guest(run, one, BINARY, "*", "verbs", 90, "two", env)
                gtest.all_passed(found, f"rping said: {server.output}")
                server.wait(20)
                expect("tickpath-ping-4" in server.output, "rping saw other bytes:\n" + server.output)
