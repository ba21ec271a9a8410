"""The same tests over iWARP: the kernel's Soft-iWARP (siw), which siw_module.sh builds for the guests."""
import gtest
from check_set import rping
from fabric_sets import SHM_ONLY, conformance_but_what_is_told
from pipeline_sets import loss, pipeline, two_hosts
from report import expect


def conformance_siw(run):
    """the fabric's promises on verbs over iWARP (siw), in one guest; what its device lacks is listed"""
    run.on_siw(promises)


def promises(run):
    with run.step("rping, rdma-core's own, exchanges data over iWARP within one guest"):
        guest = run.guest()
        rping(guest, guest, guest.address)
    with run.step("conformance on verbs over iWARP, in one guest: the tests of shm, but what is listed"):
        told = conformance_but_what_is_told(run, "verbs", "siw")
        expect(told, "an iWARP device without atomics left nothing out")


# What needs datagrams or atomics, of the patterns' tests: refused with a text, or published by WRITE.
WITHOUT = ("Multicast", "ForgedMulticast", "MulticastProcesses", "SharedRecordsTest", "SharedRecordsStress",
           "Modes/ThreadsStress.SubscribersOfMulticast")


def link_siw(run):
    """the patterns on the fabric (tests/unit/link) on verbs over iWARP, in one guest; what its device lacks is listed"""
    run.on_siw(patterns)


def patterns(run):
    with run.step("link patterns on verbs over iWARP, in one guest: all but what is listed"):
        found = gtest.in_guest(run, run.guest(), "unit_link", "*", "verbs", 600, "siw")
        gtest.all_passed(found, "")
        skipped = [name for name, state in found.items() if state == "skipped" and name not in SHM_ONLY]
        for name in skipped:
            print(f"        left out: {name}", flush=True)
        print(f"        {gtest.count(found, 'passed')} of {len(found)} tests passed, {len(skipped)} left out", flush=True)
        unknown = [name for name in skipped if not name.startswith(WITHOUT)]
        expect(not unknown, f"skipped, though the device has what they need: {unknown}")


def pipeline_siw(run):
    """the demo pipeline on verbs over iWARP in one guest, with conservation intact"""
    run.on_siw(pipeline)


def two_hosts_siw(run):
    """the pipeline of config/hosts on two guests over iWARP"""
    run.on_siw(two_hosts)


def loss_siw(run):
    """the same with 1 % of the packets lost in both directions"""
    run.on_siw(loss)
