"""The conformance suite and the link patterns: the same binaries, the provider as their parameter."""
import contextlib
import signal
import subprocess

import gtest
from machine import TREE
from report import Failed, eventually, expect, losing, running

BINARY = "conformance_fabric"
TESTS = "Providers/Fabric.*/{}"
RUNNER_PORT = 7700
RECORDS_PORT = 7710
# Two processes at one address: on two machines there is no such thing.
ONE_MACHINE_ONLY = ("RefusesAnAddressThatSomebodyListensOn", "ListensAgainAfterAListenerDiedWithoutCleaningUp")
# Set-ups that stop half-way: on verbs each goes on by itself, without being polled.
# What shows that the freedoms of shm (common/rdma/DESIGN.md) find a reader that relies on more.
# And a group that a test takes away, as no test can of a network.
SHM_ONLY = ("Pending.APeerThatNeverConfirmsHoldsUpNoOtherSubscriber", "Pending.TheOldestSetUpMakesRoomForOneMore",
            "SharedRecordsStress.ANaiveSequenceLockIsFoundOut", "Multicast.JoinsAGroupAgainThatWasLostAndKeepsTheConnection")
SECOND_DEVICE = ("ip link add d1 type dummy; ip link set d1 up; ip -6 addr add fd77::1/64 dev d1 nodad; "
                 "rdma link add rxe1 type rxe netdev d1")
WITHOUT_IT = "rdma link delete rxe1; ip link delete d1"
# One test of each kind of request, of rights, of waking and of a listener's address.
SAMPLE = ("AllowsExactlyWhatWasGranted", "CompareSwapChangesOnlyWhatMatches", "FetchAddReturnsTheOldValueAndWraps",
          "FailsWhatThePeerDidNotAllow", "AReadSeesTheWriteBeforeIt", "EchoesManyMessagesInOrder", "RevokesForOneConnectionOnly",
          "WakesAnArmedQueueWhenAMessageArrives", "RefusesAnAddressThatSomebodyListensOn")
# What asks the peer for an answer: a lost packet is sent again, in order.
ASKING = ("AReadSeesTheWriteBeforeIt", "LosesNoFetchAddOfSeveralProcesses", "EchoesManyMessagesInOrder")


def without_provider(found):
    """Providers/Fabric.Name/verbs -> Fabric.Name: the same test under another parameter."""
    return {name.replace("Providers/", "").rsplit("/", 1)[0]: state for name, state in found.items()}


def conformance(run):
    """the fabric's promises (tests/conformance) on verbs, in one guest"""
    binary, of = BINARY, TESTS
    shm, one = {}, {}
    with run.step("conformance on shm, on this machine"):
        shm = without_provider(gtest.on_host(run, binary, of.format("shm"), "shm", 300))
        gtest.all_passed(shm, "")
    with run.step("conformance on verbs, in one guest"):
        one = without_provider(gtest.in_guest(run, run.guest(), binary, of.format("verbs"), "verbs", 600, "one"))
        gtest.all_passed(one, "")
    with run.step("conformance runs the same tests on shm and on verbs"):
        gtest.print_equal(shm, one)
    with run.step("a sample of conformance over IPv6, on the second of two devices"):
        guest = run.guest()
        guest.run(["sh", "-ec", SECOND_DEVICE])
        try:
            sample_passes(run, guest, "second", {"TICKPATH_VERBS_ADDRESS": "fd77::1"})
        finally:
            guest.run(["sh", "-c", WITHOUT_IT])
    with run.step("a sample of conformance with relaxed ordering asked for (fabric.relaxed_ordering)"):
        sample_passes(run, run.guest(), "relaxed", {"TICKPATH_RELAXED_ORDERING": "1"})


def sample_passes(run, guest, label, more):
    """Each test of SAMPLE on verbs in the guest. `more`: its environment."""
    wanted = ":".join(TESTS.replace("*", name).format("verbs") for name in SAMPLE)
    found = gtest.in_guest(run, guest, BINARY, wanted, "verbs", 300, label, more)
    gtest.all_passed(found, "")
    expect(gtest.count(found, "passed") == len(SAMPLE), f"of {SAMPLE} there passed {found}")


def conformance_but_what_is_told(run, provider, label):
    """The suite on `provider` in one guest: the tests of shm, except what the device lacks, which the run has to tell
    and which is returned."""
    shm = without_provider(gtest.on_host(run, BINARY, TESTS.format("shm"), "shm", 300))
    found = without_provider(gtest.in_guest(run, run.guest(), BINARY, TESTS.format(provider), provider, 600, label))
    gtest.all_passed(found, "")
    told = gtest.left_out(run.folder(BINARY) / f"{provider}.{label}.log")
    for test, lacks in told.items():
        print(f"        {test}: {'; '.join(lacks)}", flush=True)
    silent = [name for name, state in found.items() if state == "skipped" and name not in told]
    if silent or set(shm) != set(found):
        raise Failed(f"skipped without a word: {silent}; on one of shm and {label} only: {set(shm) ^ set(found)}")
    print(f"        {gtest.count(found, 'passed')} of {len(found)} tests passed, "
          f"{gtest.count(found, 'skipped')} left out", flush=True)
    return told


def with_far_peer(run, near, far, filter_text, label, more=None):
    """The conformance suite on `near`, its peers on `far`. `more`: environment of both."""
    more = more or {}
    server = ["python3", str(TREE / "tests/soft_roce/guest/peer_runner.py"), str(RUNNER_PORT),
              str(run.tests / "conformance_peer")]
    with running(far, server, says="listening", env={**run.environment(), **more}):
        env = {**more, "TICKPATH_PEER_ADDRESS": far.address, "TICKPATH_PEER_RUNNER": f"{far.address}:{RUNNER_PORT}"}
        found = without_provider(gtest.in_guest(run, near, BINARY, filter_text, "verbs", 600, label, env))
    gtest.all_passed(found, "")
    return found


def conformance_two(run):
    """the same with the peer on another guest"""
    with run.step("conformance on verbs, the peer on another guest"):
        without = "-" + ":".join(f"*.{name}/*" for name in ONE_MACHINE_ONLY)
        found = with_far_peer(run, *run.pair(), TESTS.format("verbs") + without, "two")
        print(f"        {gtest.count(found, 'passed')} tests passed between two guests; of one machine only: "
              f"{', '.join(ONE_MACHINE_ONLY)}", flush=True)
    with run.step("messages, READs and atomics come back in order when 3 % of the packets are lost both ways"):
        guests = run.pair()
        with losing(guests, 3):
            wanted = ":".join(TESTS.replace("*", name).format("verbs") for name in ASKING)
            # rdma_cm repeats a lost message of its own after up to 6.1 s: connecting may take a while.
            found = with_far_peer(run, *guests, wanted, "losing", {"TICKPATH_TIME_SCALE": "15"})
        expect(len(found) == len(ASKING), f"of {ASKING} there ran {list(found)}")


def shared_two(run):
    """shared records written and read by processes of two guests: linearisable, while a writer is killed"""
    one, two = run.pair()
    peer, endpoint = run.tests / "shared_records_peer", f"{two.address}:{RECORDS_PORT}"
    # Writers on both guests, and a reader each; the first writer has no end of its own.
    clients = ((one, "write", 10**8), (one, "write", 100), (two, "write", 100), (one, "read", 150), (two, "read", 150))
    for lines in (1, 5, 20):
        with run.step(f"shared records of {lines} lines on two guests are linearisable while a writer is killed"):
            logs = [run.folder("shared") / f"{lines}.{number}" for number, _ in enumerate(clients, 1)]
            with contextlib.ExitStack() as ends:
                ends.enter_context(running(two, [peer, "owner", endpoint], says="listening"))
                jobs = [ends.enter_context(running(guest, [peer, what, endpoint, number, lines, operations, log], "connected"))
                        for number, ((guest, what, operations), log) in enumerate(zip(clients, logs), 1)]
                eventually(lambda: logs[0].stat().st_size > 1000, 60, "the first writer does not write", every=0.1)
                jobs[0].signal(signal.SIGKILL)
                for job in jobs[1:]:
                    expect(job.wait(200) == 0, f"a client ended with {job.status}: {job.output}")
            judged = subprocess.run([peer, "check", *logs], capture_output=True, text=True, check=False)
            expect(judged.returncode == 0, judged.stdout + judged.stderr)
            print(f"        {judged.stdout.splitlines()[0]}", flush=True)


def link(run):
    """the patterns on the fabric (tests/unit/link) on verbs, in one guest"""
    binary = "unit_link"
    shm, verbs = {}, {}
    with run.step("link patterns on shm, on this machine"):
        shm = gtest.on_host(run, binary, "*", "shm", 300)
        gtest.all_passed(shm, "")
    with run.step("link patterns on verbs, in one guest"):
        verbs = gtest.in_guest(run, run.guest(), binary, "*", "verbs", 600, "one")
        gtest.all_passed(verbs, "")
    with run.step("link patterns run the same tests on shm and on verbs"):
        missing = [name for name in SHM_ONLY if name not in shm]
        expect(not missing, f"these did not run on shm: {missing}")
        gtest.print_equal(shm, verbs, SHM_ONLY)
    for what, tests in (("a price store", "unit_prices"), ("a book home", "unit_home"), ("shared values", "unit_values")):
        with run.step(f"{what} on verbs, in one guest"):
            gtest.all_passed(gtest.in_guest(run, run.guest(), tests, "*", "verbs", 300, tests), "")
