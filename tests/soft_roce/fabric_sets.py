"""The conformance suite and the link patterns: the same binaries, the provider as their parameter."""
import gtest
from machine import TREE
from report import running

BINARY = "conformance_fabric"
TESTS = "Providers/Fabric.*/{}"
RUNNER_PORT = 7700
# Two processes at one address: on two machines there is no such thing.
ONE_MACHINE_ONLY = ("RefusesAnAddressThatSomebodyListensOn", "ListensAgainAfterAListenerDiedWithoutCleaningUp")


def without_provider(found):
    """Providers/Fabric.Name/verbs -> Fabric.Name: the same test under another parameter."""
    return {name.replace("Providers/", "").rsplit("/", 1)[0]: state for name, state in found.items()}


def conformance(run):
    """the fabric's promises (tests/conformance) on verbs, in one guest"""
    binary, of = BINARY, TESTS
    shm, one = {}, {}
    with run.step("conformance on shm, on this machine"):
        shm = without_provider(gtest.on_host(run, binary, of.format("shm"), "shm", 120))
        gtest.all_passed(shm, "")
    with run.step("conformance on verbs, in one guest"):
        one = without_provider(gtest.in_guest(run, run.guest(), binary, of.format("verbs"), "verbs", 400, "one"))
        gtest.all_passed(one, "")
    with run.step("conformance runs the same tests on shm and on verbs"):
        gtest.print_equal(shm, one)


def conformance_two(run):
    """the same with the peer on another guest"""
    binary = BINARY
    filter_text = TESTS.format("verbs") + "-" + ":".join(f"*.{name}/*" for name in ONE_MACHINE_ONLY)
    with run.step("conformance on verbs, the peer on another guest"):
        near, far = run.pair()
        server = ["python3", str(TREE / "tests/soft_roce/guest/peer_runner.py"), str(RUNNER_PORT),
                  str(run.tests / "conformance_peer")]
        with running(far, server, says="listening", env=run.environment()):
            env = {"TICKPATH_PEER_ADDRESS": far.address, "TICKPATH_PEER_RUNNER": f"{far.address}:{RUNNER_PORT}"}
            two = without_provider(gtest.in_guest(run, near, binary, filter_text, "verbs", 500, "two", env))
        gtest.all_passed(two, "")
        print(f"        {gtest.count(two, 'passed')} tests passed between two guests", flush=True)


def link(run):
    """the patterns on the fabric (tests/unit/link) on verbs, in one guest"""
    binary = "unit_link"
    shm, verbs = {}, {}
    with run.step("link patterns on shm, on this machine"):
        shm = gtest.on_host(run, binary, "*", "shm", 120)
        gtest.all_passed(shm, "")
    with run.step("link patterns on verbs, in one guest"):
        verbs = gtest.in_guest(run, run.guest(), binary, "*", "verbs", 400, "one")
        gtest.all_passed(verbs, "")
    with run.step("link patterns run the same tests on shm and on verbs"):
        gtest.print_equal(shm, verbs)
