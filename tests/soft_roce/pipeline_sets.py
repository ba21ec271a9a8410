"""The five programs over verbs: in one guest, and on two joined by a cable, also one that loses packets."""
import json
import re
import subprocess

from machine import TREE
from report import Failed, expect, losing, running

# Emulation is some hundred times slower than hardware: few messages, slowly; little memory to clear at start; and
# nobody counts as dead too early, neither by its heart nor on the wire.
MESSAGES, SECONDS, SYMBOLS = 3000, 10, 10
# Usually 50 and more; strategies throttle themselves by the clock, so a machine that crawls sends fewer.
ORDERS_LEAST = 5
PATIENT = ["--ready-timeout", "300", "--stop-timeout", "60"]
BEATS = ["datapath.hang_after=20s", "fabric.peer_timeout=500ms"]
LIVELY = [*BEATS, "heartbeat.dead_after=20s"]
# A packet of the feed that is lost (a full queue under netem, a guest that stood still) is asked for: otherwise every
# book is stale from there on, and nobody trades.
ASKED_AT, SNAPSHOTS_AT = "127.0.0.1:7790", "127.0.0.1:7791"
SMALL = {"sim": ["trace.capacity=65536", f"feed.retransmission.listen={ASKED_AT}", f"feed.snapshot.listen={SNAPSHOTS_AT}"],
         "mdh": [*BEATS, f"feed.retransmission.server={ASKED_AT}", f"feed.snapshot.server={SNAPSHOTS_AT}",
                 "instruments_max=256", "book.orders_max=65536", "book.levels_max=16384", "trace.capacity=65536"],
         "strategy": [*LIVELY, "instruments_max=256", "feed.ring_slots=8192", "trace.capacity=65536"],
         "oeg": [*LIVELY, "risk.absent_after=20s", "trace.capacity=65536"],
         "risk": [*LIVELY, "instruments_max=256", "feed.ring_slots=8192"]}
MARKET_HOST, ORDER_HOST = ["sim", "mdh", "strategy"], ["oeg", "risk"]
PLACES = {"mdh": "10.77.0.1:18501", "oeg": "10.77.0.1:18502"}


# Programs of these sets sleep while they have nothing to do, those of all others poll: both ways meet real verbs.
PARKED = ("multicast", "two_hosts", "pipeline_siw")

# Shared values are changed by atomics, which an iWARP device has not.
WITHOUT_ATOMICS = {"mdh": ["values.keys=0"]}


def small(programs):
    return [f"{program}:{setting}" for program in programs for setting in SMALL[program]]


def on_fabric(programs, provider, device):
    return [f"{program}:fabric.{key}={value}" for program in programs if program != "sim"
            for key, value in (("provider", provider), ("device", device)) if value]


def settings(run, programs, more=()):
    each = small(programs) + on_fabric(programs, *run.fabric)
    if run.set in PARKED:
        each += [f"{program}:datapath.wait=park" for program in programs]
    if run.device == "siw":
        each += [f"{program}:{setting}" for program in programs for setting in WITHOUT_ATOMICS.get(program, [])]
    return [word for setting in [*each, *more] for word in ("--set", setting)]


def recording(run, messages=MESSAGES, seconds=SECONDS):
    """A generated market, made on this machine: the guests read it."""
    path = run.folder("recordings") / f"{messages}-{seconds}.itch50"
    if not path.exists():
        subprocess.run([run.bin / "tickpath", "generate", path, "--messages", str(messages), "--symbols", str(SYMBOLS),
                        "--seed", "1", "--duration", str(seconds)], check=True, stdout=subprocess.DEVNULL)
    return path


def show_conservation(text):
    """The verdict, and how many orders it was about."""
    for line in re.findall(r"^ .*(?:orders: sent by strategies|ticks: published|accounted for).*$", text, re.M):
        print("       " + line, flush=True)


def orders_sent(text):
    # Said also where a strategy connected more than once, as it does when a guest stands still for long.
    found = re.search(r"orders: received by oeg = refused \+ sent on:\s+(\d+)", text)
    return int(found[1]) if found else 0


def on_network(places=None):
    """What takes config/demo from Unix sockets to addresses. `places`: where mdh and oeg listen."""
    places = places or PLACES
    lines = [f"{program}:security.mode=none" for program in ("mdh", "strategy", "oeg", "risk")]
    lines += [f"{program}:fabric.endpoint={place}" for program, place in places.items()]
    lines += [f"{program}:feed.endpoint={places['mdh']}" for program in ("strategy", "risk")]
    lines += [f"{program}:gateway.endpoint={places['oeg']}" for program in ("strategy", "risk")]
    return [*lines, f"oeg:mdh.endpoint={places['mdh']}"]


def keep(guest, run_dir, folder):
    """Brings logs, summaries and traces of a run directory back; not what the programs recover from, it is large."""
    guest.start(f"mkdir -p {folder} && find {run_dir} -type f ! -name '*.fixstore' ! -name '*.journal*' "
                f"-exec cp -t {folder} {{}} +").wait(120)
    for program in ("oeg", "sim"):  # as a proxy says it of a program whose journal and FIX stores stay where it ran
        for summary in folder.glob(f"{program}*.summary.json"):
            summary.with_name(summary.name.removesuffix(".summary.json") + ".host").write_text(guest.name + "\n")


def trade_in_one_guest(run, folder, run_dir, more=(), environment=None):
    """config/demo to the end of a recording in one guest, which must conserve everything. more: settings."""
    file, guest = recording(run), run.guest()
    command = [run.bin / "tickpath", "up", TREE / "config/demo", "--run-dir", run_dir, "--until-end", *PATIENT,
               *settings(run, SMALL, [f"sim:replay.file={file}", *more, *on_network()])]
    job = guest.start(command, env={**run.environment(), **(environment or {})})
    try:
        status = job.wait(400)
    finally:
        (folder / "up.log").write_text(job.output)
        keep(guest, run_dir, folder / "run")
    expect(status == 0, f"tickpath up ended with {status}:\n{job.output[-3000:]}")
    expect(orders_sent(job.output) >= ORDERS_LEAST, f"too few orders to tell:\n{job.output[-3000:]}")
    show_conservation(job.output)


def pipeline(run):
    """the demo pipeline (config/demo) on verbs in one guest, with conservation intact"""
    folder = run.folder("pipeline")
    with run.step("five programs trade a recording over verbs in one guest and conserve everything"):
        trade_in_one_guest(run, folder, "/tmp/pipeline")
        told = run.guest().run([run.bin / "tickpath", "trace", "/tmp/pipeline"], env=run.environment())
        (folder / "trace.log").write_text(told)
        expect(f"provider {run.fabric[0]}" in told, f"the trace does not say {run.fabric[0]}:\n" + told[:500])


def keys(run):
    """Certificates for the roles, made here: the guests read them."""
    folder = run.folder("recordings") / "keys"
    if not folder.exists():
        subprocess.run([run.bin / "tickpath", "keys", "--dir", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def host(run, run_dir, programs, more=()):
    """`tickpath up` for the programs of one host, until somebody stops them."""
    more = [*more, *(f"{program}:security.keys={keys(run)}" for program in programs if program != "sim")]
    return [run.bin / "tickpath", "up", TREE / "config/hosts", "--here", "--run-dir", run_dir, "--no-replay",
            "--on-failure", "continue", "--only", *programs, *PATIENT, *settings(run, programs, more)]


# Joins the feed's group on the order host and counts what it hears: MoldUDP64, session (10), sequence (8), count (2).
HEAR_MULTICAST = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
s.bind(("239.255.7.1", 7701))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.255.7.1") + socket.inet_aton("10.77.0.2"))
print("listening", flush=True)
messages = 0
while True:
    count = struct.unpack_from(">H", s.recv(2048), 18)[0]
    if count not in (0, 0xffff):  # heartbeat, end of session
        messages += count
        print("heard", messages, flush=True)
"""


def heard(output):
    return max([0, *(int(count) for count in re.findall(r"heard (\d+)", output))])


def trade(run, one, two, label, limit, messages=MESSAGES, market=()):
    """market: more settings of the programs of that host. Both hosts up, a replay, everything stopped in order across the hosts; then the books must balance."""
    file = recording(run, messages, SECONDS * messages // MESSAGES)
    tickpath, env, run_dir, folder = run.bin / "tickpath", run.environment(), f"/tmp/{label}", run.folder(label)
    market = one.start(host(run, run_dir, MARKET_HOST, [f"sim:replay.file={file}", *market]), env=env, name="market")
    orders = two.start(host(run, run_dir, ORDER_HOST), env=env, name="orders")

    def down(guest, *only):
        guest.run([tickpath, "down", "--run-dir", run_dir, *only, "--timeout", "60"], limit=180, env=env)

    try:
        for job in (market, orders):
            job.wait_for("up; Ctrl-C", limit)
        with running(two, ["python3", "-c", HEAR_MULTICAST], says="listening", limit=90) as ear:
            one.run([tickpath, "replay", "--run-dir", run_dir], limit=limit, env=env)
            print(f"        {heard(ear.output)} of {messages} messages heard by multicast on the order host", flush=True)
            expect(heard(ear.output) > 0, "the multicast does not cross the cable: " + ear.output)
        down(one, "--only", "strategy")
        down(two)
        down(one)
        for job in (market, orders):
            status = job.wait(120)
            expect(status == 0, f"{job.name} ended with {status}:\n{job.output[-2500:]}")
    finally:
        for guest, job, name in ((one, market, "market"), (two, orders, "orders")):
            (folder / f"{name}.up.log").write_text(job.output)
            if not guest.lost:
                keep(guest, run_dir, folder / name)
    books = told(run, folder, "books")
    expect(orders_sent(books) >= ORDERS_LEAST, f"too few orders to tell:\n{books}")
    show_conservation(books)


def told(run, folder, command, *more):
    """What `tickpath books` or `trace` says of the two run directories."""
    done = subprocess.run([run.bin / "tickpath", command, folder / "market", folder / "orders", *more],
                          capture_output=True, text=True)
    (folder / f"{command}{''.join(more)}.log").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        raise Failed(done.stdout + done.stderr)
    return done.stdout


# From a stamp that is taken before the message leaves. "posted" and "sent" are stamped when the call returns, and a
# guest may be held up in between: their message may have arrived already.
CAUSAL = {"sim.matched -> oeg.report_rx": "market host to order host",
          "oeg.report_rx -> strategy.report_seen": "order host to market host"}


def show_crossing_hops(trace):
    """Fails unless the hops between the hosts are measured, there and back, and no effect is earlier than its cause by
    more than the clocks may be wrong."""
    crossing = {row["name"]: row for row in trace["hops"] if row["crossing_hosts"] > 0}
    for name, row in crossing.items():
        print(f"        {name}: {row['count']}, p50 {row['p50_ns'] / 1e6:.3f} ms +-"
              f" {row['clock_error_ns'] / 1e6:.3f} ms, least {row['min_ns'] / 1e6:.3f} ms", flush=True)
        expect(row["clock_error_ns"] > 0, f"no clock is perfect: {row}")
    for name, way in CAUSAL.items():
        row = crossing.get(name)
        expect(row, f"nothing measured from {way}: {list(crossing)}")
        expect(row["min_ns"] >= -row["clock_error_ns"], f"an effect before its cause: {row}")
    unmeasured = [row["name"] for row in trace["hops"] if row["unmeasured"] > 0]
    expect(not unmeasured, f"times of clocks that were not compared: {unmeasured}")


def two_hosts(run):
    """the pipeline of config/hosts on two guests: multicast, FIX and RDMA cross the cable"""
    with run.step("config/hosts trades a recording on two hosts and conserves everything"):
        one, two = run.pair()
        trade(run, one, two, "two_hosts", 400)
    with run.step("the trace has hops across the hosts, with how far their clocks may be wrong"):
        folder = run.folder("two_hosts")
        told(run, folder, "trace")
        show_crossing_hops(json.loads(told(run, folder, "trace", "--json")))



def loss(run):
    """the same with 1 % of the packets lost in both directions (tc netem)"""
    with run.step("with 1 % loss both ways the two hosts complete a replay and conserve everything"):
        guests = run.pair()
        with losing(guests, 1):
            trade(run, *guests, "loss", 400, 2 * MESSAGES)
            for guest in guests:
                stats = guest.run("tc -s qdisc show dev eth0")
                dropped = int(re.search(r"dropped (\d+)", stats)[1])
                print(f"        {guest.name} lost {dropped} packets", flush=True)
                expect(dropped > 0, "nothing was lost:\n" + stats)
