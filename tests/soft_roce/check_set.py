"""The rig by itself, with rdma-core's own tools: devices, the cable, its faults, a guest that dies."""
import re

from report import boot_again, eventually, expect, losing, running

PING_COUNT = 3


def rping(server, client, address):
    """rdma-core's ping over a reliable connection made by rdma_cm; raises unless every ping came back."""
    with running(server, ["rping", "-s", "-a", address, "-C", str(PING_COUNT)]) as job:
        eventually(lambda: address in listeners(server) or job.status is not None, 60, "rping -s does not listen",
                   every=0.2)
        client.run(["rping", "-c", "-a", address, "-v", "-C", str(PING_COUNT)], limit=240)


def listeners(guest):
    """The rdma_cm listeners and connections, as the kernel lists them."""
    return guest.run(["rdma", "resource", "show", "cm_id"], limit=60)


def lost_percent(guest, address, count):
    out = guest.start(["busybox", "ping", "-A", "-q", "-c", str(count), "-W", "1", address])
    out.wait(120)
    found = re.search(r"(\d+)% packet loss", out.output)
    expect(found, "no figure from ping: " + out.output)
    return int(found[1])


def dropped(guest):
    """Packets that netem lost."""
    return int(re.search(r"dropped (\d+)", guest.run("tc -s qdisc show dev eth0"))[1])


def check(run):
    """the rig itself, by rdma-core's own tools: one guest, its device, its files"""
    with run.step("one guest boots to an active RoCE v2 device"):
        guest = run.guest()
        text = guest.run(["ibv_devinfo", "-v"])
        expect("PORT_ACTIVE" in text and "::ffff:10.77.0.1, RoCE v2" in text, text)
    with run.step("rping, rdma-core's own, connects and exchanges data within one guest"):
        guest = run.guest()
        rping(guest, guest, guest.address)
    with run.step("the exit status of a command is brought back"):
        job = run.guest().start("exit 7")
        expect(job.wait(60) == 7, f"7 became {job.status}")
    with run.step("the host's files cannot be written, the results folder can"):
        guest = run.guest()
        expect(guest.start(["touch", "/rig-was-here"]).wait(60) != 0, "wrote to the host's root")
        guest.run("echo brought back > $TICKPATH_RIG_RESULTS/file")
        expect((guest.results / "file").read_text() == "brought back\n", "the file did not come back")


def check_two(run):
    """two guests: the cable, its faults, a guest that dies"""
    with run.step("rping connects and exchanges data between two guests"):
        one, two = run.pair()
        rping(two, one, two.address)
    with run.step("a pulled cable carries nothing, a plugged one carries again"):
        one, two = run.pair()
        # Not at the first try: an answer that a busy machine gives after a second counts as lost.
        eventually(lambda: lost_percent(one, two.address, 3) == 0, 60, "packets are lost on a good cable")
        two.set_link(False)
        eventually(lambda: lost_percent(one, two.address, 3) == 100, 30, "packets cross a pulled cable")
        two.set_link(True)
        eventually(lambda: lost_percent(one, two.address, 1) == 0, 60, "the cable did not come back")
    with run.step("netem loses packets while it is set, and rping survives it"):
        one, two = run.pair()
        with losing((one, two), 10):
            for guest in (one, two):
                eventually(lambda: lost_percent(one, two.address, 10) > 0 and dropped(guest) > 0, 120,
                           f"10 % loss on {guest.name} loses nothing")
            rping(two, one, two.address)
    with run.step("a guest killed outright leaves the other alive, and comes back to it"):
        one, two = run.pair()
        two.kill()
        expect(one.start("exit 0").wait(60) == 0, "the other guest died, too")
        expect(lost_percent(one, two.address, 2) == 100, "a dead guest answers")
        boot_again(two)
        rping(two, one, two.address)
