"""Datagrams and multicast (common/rdma/datagram.hpp): the same tests on shm and on verbs."""
import gtest
from fabric_sets import BINARY, with_far_peer, without_provider
from report import expect

TESTS = "Providers/Datagrams.*/{}"


def datagrams(run):
    """datagrams and multicast on verbs (UD queue pairs, rdma_join_multicast), in one guest"""
    shm, one = {}, {}
    with run.step("datagrams on shm, on this machine"):
        shm = without_provider(gtest.on_host(run, BINARY, TESTS.format("shm"), "shm", 300))
        gtest.all_passed(shm, "")
    with run.step("datagrams on verbs, in one guest"):
        one = without_provider(gtest.in_guest(run, run.guest(), BINARY, TESTS.format("verbs"), "verbs", 600, "datagrams"))
        gtest.all_passed(one, "")
    with run.step("datagrams run the same tests on shm and on verbs"):
        gtest.print_equal(shm, one)


def datagrams_two(run):
    """the same with the peers on another guest"""
    with run.step("datagrams on verbs, the peers on another guest"):
        found = with_far_peer(run, *run.pair(), TESTS.format("verbs"), "datagrams_two")
        expect(len(found) > 20, f"of the tests there ran {len(found)}")
        print(f"        {gtest.count(found, 'passed')} tests passed between two guests", flush=True)
