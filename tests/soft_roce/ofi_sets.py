"""The same tests on libfabric (provider ofi): over an RDMA device, and over sockets."""
from fabric_sets import conformance_but_what_is_told
from pipeline_sets import pipeline, two_hosts


def conformance_ofi(run):
    """the fabric's promises on ofi over libfabric's verbs, in one guest; what its devices lack is listed"""
    with run.step("conformance on ofi over verbs, in one guest: the tests of shm, but what is listed"):
        conformance_but_what_is_told(run, "ofi_verbs", "one")


def pipeline_ofi(run):
    """the demo pipeline on ofi over libfabric's verbs in one guest, with conservation intact"""
    run.on_ofi("verbs", pipeline)


def two_hosts_ofi(run):
    """the pipeline of config/hosts on two guests, ofi over sockets and over libfabric's verbs"""
    for core in ("tcp", "verbs"):
        run.on_ofi(core, two_hosts)
