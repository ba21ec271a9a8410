"""The verbs part of the fault table: programs that die in one guest; link, loss, device and guest between two."""
import contextlib
import json
import re
import time

from fault_hosts import BOUND_MS, GROUPS, Hosts
from machine import TREE, RigError
from report import Failed, boot_again, eventually, expect

HEAD = ("| fault | noticed by | bound | measured | what the others do | came back | books |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n")
PROGRAMS = (("sim", "mdh", "strategy"), ("oeg", "risk"))  # as config/hosts says
# A host of strategies that may die: all that must outlive it is on the other.
STRATEGIES_APART = (("sim", "mdh", "oeg"), ("strategy", "risk"))
OEG_ON_ONE = ["oeg:fabric.endpoint=10.77.0.1:18502", "strategy:gateway.endpoint=10.77.0.1:18502",
              "risk:gateway.endpoint=10.77.0.1:18502"]

# What the others do, by their counters: (what, program, group, counter); the first ones are orders.
OF_OEG = [("orders sent", "oeg", "orders", "sent"), ("refused", "oeg", "orders", "refused"),
          ("orders orphaned", "oeg", "strategies", "orphaned_orders"), ("cancels by oeg", "oeg", "changes", "own")]
OF_STRATEGY = [("orders by strategies", "strategy", "engine", "orders"), ("reports", "strategy", "engine", "reports")]

# By netlink, as `rdma link delete` does it (rdma_netlink.h: RDMA_NLDEV_CMD_DELLINK, 4, of RDMA_NL_NLDEV, 5, with
# RDMA_NLDEV_ATTR_DEV_INDEX, 1): what counts is the time of the removal, not that of a tool's start in emulation.
REMOVE = """
import socket, struct, sys, time
index = int(sys.argv[1])
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)  # NETLINK_RDMA
request = struct.pack("=IHHII", 24, 5 << 10 | 4, 1 | 4, 1, 0) + struct.pack("=HHI", 8, 1, index)
print(time.monotonic_ns(), flush=True)
netlink.send(request)
print("answer", struct.unpack_from("=i", netlink.recv(4096), 16)[0], time.monotonic_ns(), flush=True)
"""


def show(run, rows):
    """On the screen, and into faults/table.md of the results."""
    for row in rows:
        print("        " + row, flush=True)
    path = run.folder("faults") / "table.md"
    with open(path, "a") as table:
        if table.tell() == 0:
            table.write(HEAD)
        table.write("".join(row + "\n" for row in rows))


def row(fault, noticed_by, bound, measured, others_do, came_back):
    """Without the verdict on the books, which comes when all is over."""
    return f"| {fault} | {noticed_by} | {bound} | {measured} | {others_do} | {came_back} |"


def times(took):
    return ", ".join(f"{watcher} {ms:.0f} ms" for watcher, ms in took.items())


@contextlib.contextmanager
def trading(run, hosts):
    """The programs trade while the block adds rows; at its end everything stops and the books are looked at."""
    rows = []
    try:
        hosts.begin()
        yield rows
        hosts.end()
    except BaseException:
        show(run, [f"{each} not looked at |" for each in rows])
        with contextlib.suppress(RigError):
            hosts.keep_stacks()
        raise
    finally:
        with contextlib.suppress(RigError):
            hosts.save()
    broken = hosts.broken_books()
    show(run, [f"{each} {'BROKEN' if broken else 'hold'} |" for each in rows])
    if broken:
        raise Failed(broken)


def faults(run):
    """the fault table's programs that are stopped and killed, in one guest"""
    with run.step("every program that stops or dies is noticed, and comes back, in one guest"):
        env = {**run.environment(), "TICKPATH_TIME_SCALE": "5"}  # dead_after of 175 ms
        job = run.guest().start(["bash", TREE / "tests/fault/table.sh", "--provider", "verbs"], env=env)
        try:
            status = job.wait(540)
        finally:
            (run.folder("faults") / "programs.log").write_text(job.output)
        show(run, re.findall(r"^\| .*\|$", job.output, re.M))
        expect(status == 0, job.output[-3000:])


def loss_and_reordering(hosts):
    guests = (hosts.one, hosts.two)
    pairs = [each for each in GROUPS if hosts.places[each[0]] is not hosts.places[each[1]]]
    before = {each: hosts.losses(*each)[0] for each in pairs}
    netem = "loss 1% delay 2ms reorder 25% 50%"
    for guest in guests:
        guest.run(f"tc qdisc add dev eth0 root netem {netem}")
    for _ in range(3):
        hosts.trades()
    lost = sum(hosts.losses(*each)[0] - before[each] for each in pairs)
    dropped = [re.search(r"dropped (\d+)", guest.run("tc -s qdisc show dev eth0"))[1] for guest in guests]
    for guest in guests:
        guest.run("tc qdisc del dev eth0 root")
    expect(all(int(each) > 0 for each in dropped), f"nothing was lost: {dropped}")
    return row(f"netem {netem}, both ways", "the device (resends)", "-",
               f"{lost} connections lost, {' and '.join(dropped)} packets", "trade on, three times looked at",
               hosts.back())


def link_down_and_up(hosts):
    def pull():
        done_ns = time.monotonic_ns()
        hosts.two.set_link(False)
        return done_ns

    deeds = OF_OEG + OF_STRATEGY
    took = hosts.notice([("strategy", "oeg"), ("oeg", "strategy"), ("oeg", "mdh"), ("risk", "mdh")], pull, deeds)
    others_do = hosts.others_do(deeds)  # a second or more
    hosts.two.set_link(True)
    return row("cable pulled (set_link) for a second or more, plugged", times(took), f"{BOUND_MS:.0f} ms",
               f"{max(took.values()):.0f} ms", others_do, hosts.back())


def device_removed(hosts):
    def remove():
        (device,) = json.loads(hosts.two.run("rdma -j dev show"))
        job = hosts.two.start(["python3", "-S", "-c", REMOVE, str(device["ifindex"])])
        job.wait_for("\n", 30)
        jobs.append(job)
        return hosts.clocks[hosts.two].here(int(job.output.split()[0]))

    jobs, up = [], hosts.jobs[hosts.two]
    orders = hosts.counter("oeg", "orders", "sent")
    took = hosts.notice([("strategy", "oeg")], remove, OF_STRATEGY)
    others_do = hosts.others_do(OF_STRATEGY)
    # Noticed at once, but ended late where the device's driver waits for its own objects: rxe may for 50 s each.
    for program in ("oeg", "risk"):
        up.wait_for(f"{program} exited with 75", 180)
    jobs[0].wait_for("answer 0", 180)
    time.sleep(2)  # what is started again now finds no device, and is started again
    hosts.two.run("rdma link add rxe0 type rxe netdev eth0")
    expect("was removed" in up.output, "the programs do not say why they ended:\n" + up.output[-3000:])
    came_back = hosts.back()
    recovered = hosts.counter("oeg", "orders", "sent")
    expect(recovered > orders, f"oeg's journal has lost orders: {recovered} sent, {orders} before")
    return row("RDMA device of oeg and risk removed, added", times(took) + "; oeg and risk end (75)",
               f"{BOUND_MS:.0f} ms", f"{max(took.values()):.0f} ms", f"{others_do}; up --on-failure restart",
               f"{came_back}, counts on to {recovered} orders sent")


def guest_killed(hosts):
    def kill():
        done_ns = time.monotonic_ns()
        hosts.two.kill()
        return done_ns

    took = hosts.notice([("oeg", "strategy"), ("oeg", "risk")], kill, OF_OEG)
    others_do = hosts.others_do(OF_OEG)
    boot_again(hosts.two)
    began = time.monotonic()
    hosts.up(hosts.two)
    adopted = eventually(lambda: hosts.counter("strategy", "engine", "positions_adopted"), 150,
                         "no positions were adopted")
    came_back = hosts.back(f"{adopted} positions adopted from oeg, trades")
    return row("guest of strategy and risk killed, booted", times(took), f"{BOUND_MS:.0f} ms",
               f"{max(took.values()):.0f} ms", others_do,
               f"{came_back} (programs started {time.monotonic() - began:.0f} s before)")


def faults_two(run):
    """the fault table's loss, cable, device and guest, between two guests"""
    with run.step("two hosts live through loss and reordering, a pulled cable and a removed device"):
        hosts = Hosts(run, "cable", *run.pair(), PROGRAMS)
        with trading(run, hosts) as rows:
            for fault in (loss_and_reordering, link_down_and_up, device_removed):
                rows.append(fault(hosts))
    with run.step("a host that dies is noticed, its orders are cancelled, and it goes on from its positions"):
        hosts = Hosts(run, "host", *run.pair(), STRATEGIES_APART, OEG_ON_ONE)
        with trading(run, hosts) as rows:
            rows.append(guest_killed(hosts))
