"""We speak standard verbs: the provider's client against rdma-core's own rping."""
import gtest
from report import expect, running

BINARY = "interop_verbs"


def interop(run):
    """the provider against rdma-core's own rping, in one guest"""
    with run.step("the verbs provider exchanges data with rping in one guest"):
        gtest.all_passed(gtest.in_guest(run, run.guest(), BINARY, "*", "verbs", 300, "one"), "")


def interop_two(run):
    """the provider against rdma-core's own rping on another guest"""
    with run.step("the verbs provider exchanges data with rping on another host"):
        one, two = run.pair()
        with running(two, ["stdbuf", "-oL", "rping", "-s", "-a", two.address, "-v", "-C", "5"]) as server:
            env = {"TICKPATH_RPING_ADDRESS": two.address}
            found = gtest.in_guest(run, one, BINARY, "Interop.*", "verbs", 300, "two", env)
            gtest.all_passed(found, f"rping said: {server.output}")
            server.wait(60)
            expect("tickpath-ping-4" in server.output, "rping saw other bytes:\n" + server.output)
