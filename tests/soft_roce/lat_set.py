"""`tickpath lat` and `bw` over verbs, the server on one guest and the client on the other."""
import re

from pipeline_sets import keys
from report import expect, running

PORT = 18515
LAT_SIZES, LAT_ITERATIONS = (2, 64, 4096, 65536), 200
BW_SIZES, BW_ITERATIONS = (64, 65536), 500
ATOMICS = ("COMPARE_SWAP", "FETCH_ADD")
LAT_OPERATIONS = ("WRITE", "WRITE_WITH_IMM", "SEND", "READ", *ATOMICS)
BW_OPERATIONS = ("WRITE", "SEND", "READ")


def table(text, tool):
    """{operation: {bytes: [the row's figures behind them]}} of perftest's columns."""
    found, rows = {}, {}
    for line in text.splitlines():
        if title := re.match(rf"\s*RDMA (\w+) {tool}\s*$", line):
            rows = found.setdefault(title[1], {})
        elif re.match(r"\s*\d+(\s+[-+.\w]+)+\s*$", line):
            size, *figures = line.split()
            rows[int(size)] = [float(each) for each in figures if each != "-"]
    return found


def expect_cases(found, operations, sizes, iterations):
    """Every operation with every size, and as many messages as asked for."""
    expect(list(found) == list(operations), f"operations asked for: {operations}, in the table: {list(found)}")
    for operation, rows in found.items():
        wanted = [8] if operation in ATOMICS else list(sizes)
        expect(list(rows) == wanted, f"{operation}: sizes asked for: {wanted}, in the table: {list(rows)}")
        for size, figures in rows.items():
            expect(figures[0] == iterations, f"{operation} of {size} bytes: {figures[0]:.0f} of {iterations} messages")


def expect_latencies(found):
    for operation, rows in found.items():
        for size, (_, least, most, typical, average, deviation, p99, p999, p9999) in rows.items():
            what = f"{operation} of {size} bytes: {rows[size]}"
            # Emulated: an exchange between two guests takes longer than a microsecond, and ends.
            expect(1 < least <= typical <= most and least <= average <= most, what)
            expect(typical <= p99 <= p999 <= p9999 <= most and deviation >= 0, what)


def expect_bandwidths(found):
    for operation, rows in found.items():
        for size, (_, peak, average, rate, *_) in rows.items():
            what = f"{operation} of {size} bytes: {rows[size]}"
            expect(0 <= average <= peak and rate > 0, what)  # a slow machine's megabytes may round to nothing
            # Figures of one row agree: megabytes are messages times bytes, as far as they are printed.
            expect(abs(rate * 1e6 * size / 2**20 - average) <= 0.05 + average * 0.05, what)


def measure(run, one, two, tool, sizes, iterations):
    command = [run.bin / "tickpath", tool, "--provider", "verbs", "--endpoint", f"{two.address}:{PORT}",
               "--security", "tls", "--keys", keys(run)]
    with running(two, [*command, "--server"], says="listening") as server:
        text = one.run([*command, "--size", ",".join(map(str, sizes)), "--iterations", str(iterations)], limit=400)
        expect(server.wait(60) == 0, f"the server ended with {server.status}: {server.output}")
    (run.folder("lat") / f"{tool}.log").write_text(text)
    expect("provider verbs (rxe0)" in text, "the table does not say what it was measured on:\n" + text)
    print("\n".join("        " + line for line in text.splitlines() if re.match(r"\s*(RDMA|#?\d|#bytes)", line)),
          flush=True)
    return text


def lat(run):
    """tickpath lat over verbs, server and client on two guests: every operation and size asked for"""
    with run.step("tickpath lat --provider verbs measures every operation and size between two guests"):
        found = table(measure(run, *run.pair(), "lat", LAT_SIZES, LAT_ITERATIONS), "latency")
        expect_cases(found, LAT_OPERATIONS, LAT_SIZES, LAT_ITERATIONS)
        expect_latencies(found)


def bw(run):
    """tickpath bw likewise"""
    with run.step("tickpath bw --provider verbs does likewise"):
        found = table(measure(run, *run.pair(), "bw", BW_SIZES, BW_ITERATIONS), "bandwidth")
        expect_cases(found, BW_OPERATIONS, BW_SIZES, BW_ITERATIONS)
        expect_bandwidths(found)
