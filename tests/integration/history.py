#!/usr/bin/env python3
"""A run into a column store and back: chDB embedded, and a real server where Debian has one.

  tests/integration/history.py --bin build/release/bin [--keep]

What must hold: after three kills of the loader every tick, quote, trade, order and stamp is there once; a load of a
run that goes on, and one after its end, come to the same; quotes at trades, bars, orders, fills and intervals are
what the recording and tickpath's own tools say; what is wrong is said. chDB is fetched into the cache, once; the
server of Debian 12 (ClickHouse 18.16, which knows the tables alone) likewise. Exit 77: chDB cannot be had.
"""
import argparse
import csv
import http.server
import io
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import history_reference as reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import debian  # noqa: E402, beside the other helpers of tests
SECONDS_MAX = 120  # of one command, on a machine that has other things to do
SOURCES = {"ticks": "tick, time, day, symbol, type, side, order_reference, new_reference, shares, price",
           "quotes": "*", "trades": "*", "order_events": "*",
           "stamps": "run, program, started, row, clock, hop, place, tick, order_id"}


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


class History:
    """The commands, in a folder with a run."""

    def __init__(self, binaries, folder):
        self.tickpath, self.folder = binaries / "tickpath", folder

    def command(self, *arguments, status=0, **more):
        done = subprocess.run([self.tickpath, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=SECONDS_MAX, **more)
        expect(done.returncode == status,
               f"tickpath {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def sql(self, statement, *store):
        text = self.command("history", "sql", statement, *store, "--format", "TabSeparated")
        return [line.split("\t") for line in text.splitlines()]

    def load(self, *store):
        return self.command("history", "load", "run", "--run", "test", *store)

    def killed_load(self, *store, lines):
        """Ends the loader by SIGKILL at some moment after it has stored so many blocks. False: it was done before."""
        child = subprocess.Popen([self.tickpath, "history", "load", "run", "--run", "test", "--block-rows", "1000",
                                  "--verbose", *store], cwd=self.folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        for _ in range(lines):
            expect(child.stderr.readline().startswith("stored "), "the loader stores blocks")
        time.sleep(random.uniform(0, 0.05))
        running = child.poll() is None
        child.kill()
        child.wait()
        child.stderr.close()
        return running


def trade(history, binaries):
    """A run; loaded once while it goes on. Its recording is recorded.itch50."""
    history.command("generate", "recorded.itch50", "--messages", "20000", "--symbols", "10", "--duration", "4",
                    "--seed", "7")
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$0" "$@"']  # ports of config/demo
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        alone = []
    up = subprocess.Popen([*alone, binaries / "tickpath", "up", ROOT / "config/demo", "--run-dir", "run", "--until-end",
                           "--set", "sim:replay.file=recorded.itch50"], cwd=history.folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        limit = time.monotonic() + SECONDS_MAX
        while time.monotonic() < limit and up.poll() is None:
            asked = subprocess.run([binaries / "tickpath", "status", "--run-dir", "run", "--json"], cwd=history.folder,
                                   capture_output=True, text=True, timeout=SECONDS_MAX)
            if asked.returncode == 0 and sent(asked.stdout) > 2000:
                break
            time.sleep(0.1)
        expect(up.poll() is None, "the run goes on")
        history.command("replay", "pause", "--run-dir", "run")  # or it might end while it is loaded
        text = history.load("--store", "live")
        expect("the run goes on" in text, text)
        rows = int(history.sql("SELECT count() FROM ticks", "--store", "live")[0][0])
        expect(2000 < rows < 20000, f"{rows} ticks were on the feed")
        history.command("replay", "continue", "--run-dir", "run")
        output, _ = up.communicate(timeout=SECONDS_MAX)
    finally:
        up.kill()
    expect(up.returncode == 0, output)


def sent(status):
    """Messages that sim has sent by now."""
    return max((each.get("replay", {}).get("messages_sent", 0) for each in json.loads(status)), default=0)


# ---------------------------------------------------------------------------------------------- checks


def check_exactly_once(history):
    """Three kills, and the store has what one load has; in the files as well, not only as read with FINAL."""
    killed = ("--store", "killed")
    kills = [history.killed_load(*killed, lines=lines) for lines in (3, 12, 20)]
    expect(all(kills), f"the loader was at work when it was killed: {kills}")
    rows = int(history.sql("SELECT count() FROM ticks", *killed)[0][0])
    expect(0 < rows <= 20000, f"the third kill left {rows} of 20000 ticks")
    history.load(*killed)
    again = history.load(*killed)
    expect(again.count("of these new 0\n") == again.count(" rows, "), f"nothing is new in a second load\n{again}")
    history.load("--store", "live")
    sums = " UNION ALL ".join(f"SELECT '{table}' AS source, count(), sum(cityHash64({columns})) FROM {table}"
                              for table, columns in SOURCES.items())
    counts = " UNION ALL ".join(f"SELECT '{table}' AS source, count() FROM {table}" for table in SOURCES)
    once = sorted(history.sql(sums, *killed))
    expect(once == sorted(history.sql(sums, "--store", "live")), "killed as not killed")
    in_files = sorted(history.sql(counts + " SETTINGS final = 0", *killed))
    expect([row[:2] for row in once] == in_files and all(int(row[1]) > 0 for row in once),
           f"rows: {once}, in the files {in_files}")


def check_several_files(history):
    """A recording in two files has the ticks of one."""
    data, at = (history.folder / "recorded.itch50").read_bytes(), 0
    for _ in range(9000):
        at += 2 + int.from_bytes(data[at:at + 2], "big")
    (history.folder / "first.itch50").write_bytes(data[:at])
    (history.folder / "second.itch50").write_bytes(data[at:])
    history.command("history", "load", "run", "--run", "test", "--store", "parts", "--recording", "first.itch50,second.itch50")
    sums = [history.sql("SELECT count(), sum(cityHash64(tick, time, symbol, type, price)) FROM ticks", "--store", store)
            for store in ("parts", "killed")]
    expect(sums[0] == sums[1], f"of two files and of one: {sums}")


# What is compared row by row: table or view, and its columns.
COMPARED = {
    "ticks": ("ticks", "tick, toUnixTimestamp64Nano(time), symbol, type"),
    "quotes": ("quotes", "tick, toUnixTimestamp64Nano(time), symbol, bid, bid_shares, ask, ask_shares"),
    "trades": ("trades", "tick, toUnixTimestamp64Nano(time), symbol, type, side, price, shares, match_number, printable"),
    "orders": ("orders", "order_id, symbol, side, filled, state, reason, tick"),
    "fills": ("fills", "execution_id, order_id, shares, kind"),
    "intervals": ("(SELECT of, from_hop, to_hop, count() AS n, min(duration_ns) AS low, max(duration_ns) AS high, "
                  "avg(duration_ns) AS mean FROM intervals GROUP BY of, from_hop, to_hop)",
                  "of, from_hop, to_hop, n, low, high, mean"),
    "headline": ("tick_to_order", "count(), min(duration_ns), max(duration_ns), avg(duration_ns)"),
    "placed": ("orders WHERE tick != 0 AND state != 'rejected'", "sum(ordered_shares), sum(filled)"),
}


def stored(history):
    """{name: its rows, each a tuple of texts}, in one statement: to load chDB takes longer than to ask it."""
    parts = []
    for name, (table, columns) in COMPARED.items():
        texts = ", ".join(f"toString({column})" for column in columns.split(", "))
        parts.append(f"SELECT '{name}' AS name, arrayStringConcat([{texts}], '|') AS line FROM {table}")
    found = {name: [] for name in COMPARED}
    for name, line in history.sql(" UNION ALL ".join(parts), "--store", "killed"):
        found[name].append(tuple(line.split("|")))
    return {name: sorted(rows) for name, rows in found.items()}


def texts(rows):
    return sorted(tuple(map(str, row)) for row in rows)


def ready(history, *arguments):
    text = history.command("history", *arguments, "--store", "killed", "--format", "CSVWithNames")
    return list(csv.DictReader(io.StringIO(text)))


def check_market(history, found, market):
    """Ticks, quotes, trades, the ASOF join and bars, against books of their own."""
    expect(found["ticks"] == texts(market.ticks), "ticks are those of the recording")
    expect(found["quotes"] == texts(market.quotes), "quotes are those of its books")
    expect(found["trades"] == texts(row[:-1] for row in market.trades), "trades are those of the recording")
    names = ("tick", "quote_tick", "bid", "bid_shares", "ask", "ask_shares")
    joined = [tuple(int(row[name]) for name in names) for row in ready(history, "query", "quotes-at-trades")]
    expect(len(joined) > 100 and joined == [(row[0], *row[-1]) for row in market.trades],
           "the ASOF join finds the quote before each trade")
    symbol = market.trades[-1][2]
    bars = [tuple(round(float(row[name]) * 10000) for name in ("open", "high", "low", "close")) +
            (int(row["volume"]), int(row["trades"])) for row in ready(history, "bars", symbol, "--every", "1s")]
    expect(bars == list(reference.bars(market, symbol, 1).values()) and len(bars) > 2, f"bars of {symbol}: {bars}")


def tickpath_rows(history, command):
    return list(csv.DictReader(io.StringIO(history.command(command, "--run-dir", "run"))))


def check_orders(history, found):
    """Orders and fills as `tickpath orders` and `tickpath fills` have them, by code of their own."""
    names = ("order_id", "symbol", "side", "filled", "state", "reason", "tick")
    theirs = texts([row[name] for name in names] for row in tickpath_rows(history, "orders"))
    expect(len(theirs) > 20 and theirs == found["orders"], "orders are those of the journal")
    names = ("execution_id", "order_id", "shares", "kind")
    theirs = texts([row[name] for name in names] for row in tickpath_rows(history, "fills"))
    expect(len(theirs) > 20 and theirs == found["fills"], "fills are those of the journal")


def check_intervals(history, found):
    """Intervals as `tickpath trace` has them, to the nanosecond that a time on a line is rounded to."""
    analysis = json.loads(history.command("trace", "run", "--json"))
    mine = {(of, f"{first} -> {second}"): tuple(map(float, rest)) for of, first, second, *rest in found["intervals"]}
    mine["order", "tick-to-order"] = tuple(map(float, found["headline"][0]))
    rows = [("tick" if row["population"] == "all ticks" else "order", row) for row in analysis["hops"]]
    expect(len(rows) > 10, "hops")
    for of, row in [*rows, ("order", analysis["headline"][0])]:
        ours = mine.get((of, row["name"]), (0, 0, 0, 0))
        theirs = (row["count"], row["min_ns"], row["max_ns"], row["mean_ns"])
        expect(ours[0] == theirs[0] and all(abs(a - b) <= 2 for a, b in zip(ours, theirs)),
               f"{row['name']}: {ours} in the store, {theirs} by tickpath trace")


def check_worst(history):
    """The slowest orders, as the store has them; of equal ones either may be first."""
    worst = json.loads(history.command("trace", "run", "--worst", "10", "--json"))
    rows = history.sql("SELECT order_id, duration_ns FROM tick_to_order ORDER BY duration_ns DESC LIMIT 20", "--store",
                       "killed")
    durations = {int(order): float(ns) for order, ns in rows}
    expect(len(worst) == 10 and all(abs(durations.get(row["order_id"], 0) - row["ns"]) <= 2 for row in worst),
           f"the worst: {worst}, {rows}")
    for row in worst:
        expect(sum(hop["took_ns"] for hop in row["hops"]) == row["hops"][-1]["at_ns"], f"parts and whole: {row}")


def check_export(history):
    """Parquet files have the rows of the store, as chDB reads them back."""
    history.command("history", "export", "files", "--run", "test", "--store", "killed")
    for name, of in (("ticks", "ticks"), ("orders", "orders"), ("hops", "intervals")):
        path = history.folder / "files" / f"{name}.parquet"
        bytes_of = path.read_bytes()
        expect(bytes_of[:4] == b"PAR1" and bytes_of[-4:] == b"PAR1", f"{path}: not Parquet")
        there = history.sql(f"SELECT count() FROM file('{path}', 'Parquet')", "--store", "killed")
        here = history.sql(f"SELECT count() FROM {of} WHERE run = 'test'", "--store", "killed")
        expect(there == here and there != [["0"]], f"{path}: {there} rows, the store has {here}")
    sums = [history.sql(f"SELECT count(), sum({column}) FROM {source}", "--store", "killed") for column, source in (
        ("tick_to_order_ns", f"file('{history.folder}/files/orders.parquet', 'Parquet') WHERE tick_to_order_ns IS NOT NULL"),
        ("duration_ns", "tick_to_order WHERE order_id IN (SELECT order_id FROM orders)"))]
    expect(sums[0] == sums[1], f"tick to order in the file and in the store: {sums}")
    expect("no run is called 'none'" in history.command("history", "export", "files", "--run", "none", "--store", "killed",
                                                       status=1), "an unknown run")


def check_ready_queries(history, found, market):
    rows = ready(history, "query", "fill-ratio")
    sums = tuple(str(sum(int(row[name]) for row in rows)) for name in ("shares_ordered", "shares_filled"))
    expect([sums] == found["placed"], f"places have every order once: {sums}, {found['placed']}")
    count = sum(int(row["count"]) for row in ready(history, "query", "latency")
                if (row["of"], row["from_hop"]) == ("tick", "mdh.rx"))
    expect(count == 20000, f"every tick is counted by symbol: {count}")
    runs = {row["source"]: int(row["rows"]) for row in ready(history, "query", "runs")}
    expect(runs["ticks"] == 20000 and runs["trades"] == len(market.trades), f"{runs}")
    # Slippage, from the books and tickpath's own lists.
    caused = {row["order_id"]: int(row["tick"]) for row in tickpath_rows(history, "orders")}
    quotes, costs = {}, {}
    for tick, _, symbol, *quote in market.quotes:
        quotes.setdefault(symbol, []).append((tick, *quote))
    for row in tickpath_rows(history, "fills"):
        before = [quote for quote in quotes[row["symbol"]] if quote[0] <= caused[row["order_id"]]]
        if row["kind"] != "fill" or caused[row["order_id"]] == 0 or not before or not (before[-1][1] and before[-1][3]):
            continue
        middle = (before[-1][1] + before[-1][3]) / 2
        worse = (float(row["price"]) * 10000 - middle) * (1 if row["side"] == "buy" else -1)
        cost, shares = costs.get((row["strategy"], row["symbol"]), (0, 0))
        costs[row["strategy"], row["symbol"]] = cost + worse * int(row["shares"]), shares + int(row["shares"])
    expected = {key: round(cost / shares / 10000, 5) for key, (cost, shares) in costs.items()}
    slippage = {(row["strategy"], row["symbol"]): float(row["slippage_per_share"])
                for row in ready(history, "query", "slippage")}
    expect(len(expected) > 3 and slippage.keys() == expected.keys() and
           all(abs(slippage[key] - expected[key]) < 2e-5 for key in expected), f"slippage: {slippage}, {expected}")


# (tick, type, reference, new reference, side, shares, price): a feed of one symbol, tick n sent at n us.
UNIT_FEED = [(1, "A", 1, 0, "buy", 100, 1000), (2, "A", 2, 0, "buy", 50, 1000), (3, "A", 3, 0, "sell", 70, 1100),
             (4, "F", 4, 0, "buy", 300, 900), (5, "E", 1, 0, "buy", 40, 1000), (6, "U", 2, 5, "buy", 60, 900),
             (7, "X", 4, 0, "buy", 100, 900), (8, "D", 1, 0, "buy", 60, 1000), (9, "A", 6, 0, "buy", 600, 900)]
# (id, side, shares, price, time in force, matched in us, or none, shares filled, ms to the fill, the order it replaces).
UNIT_ORDERS = [(1, "buy", 10, 1000, "day", 2.5, 10, 2, 0),   # behind 100 + 50
               (2, "buy", 20, 1000, "day", 5.5, 0, 0, 0),    # 60 + 50: 40 were executed
               (3, "buy", 30, 1000, "day", 8.5, 15, 6, 0),   # nothing: replaced away and deleted
               (4, "buy", 40, 900, "gtc", 7.5, 40, 4, 0),    # 200 + 60: 100 were canceled, 60 came by replacement
               (5, "buy", 50, 900, "day", 9.5, 0, 0, 0),     # and 600 more
               (6, "sell", 60, 1100, "day", 3.5, 60, 1, 0),  # 70
               (7, "buy", 5, 1100, "day", 3.6, 5, 1, 0),     # takes what is asked for 1100
               (8, "buy", 5, 1000, "day", None, 0, 0, 0),    # no stamp of sim
               (9, "buy", 20, 900, "day", 9.6, 0, 0, 2),     # replaces 2: a place of its own
               (10, "buy", 99, 900, "ioc", 9.7, 0, 0, 0)]    # does not rest
UNIT_PLACES = [("0 takes on arrival", 1, 5, 5, 1.0, 1.0), ("1 nothing ahead", 1, 30, 15, 0.5, 6.0),
               ("2 up to 100 shares ahead", 1, 60, 60, 1.0, 1.0), ("3 up to 500 shares ahead", 3, 70, 50, 0.7143, 3.0),
               ("4 up to 2000 shares ahead", 2, 70, 0, 0.0, None), ("7 not known: no stamps of sim", 1, 5, 0, 0.0, None)]


def insert(history, table, columns, rows, run="unit"):
    values = ", ".join("(" + ", ".join(f"'{each}'" if isinstance(each, str) else str(each) for each in (run, *row)) +
                       ")" for row in rows)
    history.command("history", "sql", f"INSERT INTO {table} (run, {columns}) VALUES {values}", "--store", "live")


def insert_unit_run(history):
    insert(history, "runs", "started, version", [(1, 1)])
    insert(history, "ticks", "symbol, tick, type, order_reference, new_reference, side, shares, price",
           [("UNIT", *row) for row in UNIT_FEED])
    insert(history, "quotes", "symbol, tick, bid, bid_shares, ask, ask_shares",
           [("UNIT", 1, 1000, 100, 0, 0), ("UNIT", 3, 1000, 150, 1100, 70)])
    stamps = [("sim", 1, row, 0, time_ns, hop, tick, order) for row, (time_ns, hop, tick, order) in enumerate(
        [(tick[0] * 1000, "sim.sent", tick[0], 0) for tick in UNIT_FEED] +
        [(int(order[5] * 1000), "sim.matched", 0, order[0]) for order in UNIT_ORDERS if order[5]], 1)]
    insert(history, "stamps", "program, started, row, clock, time_ns, hop, tick, order_id", stamps)
    events = []
    for order, side, shares, price, force, _, filled, filled_ms, replaces in UNIT_ORDERS:
        first = (order, "UNIT", side, "limit", force)
        events += [(*first, "requested", "replace" if replaces else "new", "", price, shares, 0, 0.0),
                   (*first, "reported", "", "replaced" if replaces else "accepted", 0, 0, shares, 0.0)]
        if filled:
            events.append((*first, "reported", "", "fill", price, filled, shares - filled, filled_ms / 1000))
    insert(history, "order_events", "sequence, order_id, symbol, side, order_type, time_in_force, event, request, "
           "report, price, shares, leaves_shares, time", [(number, *event) for number, event in enumerate(events, 1)])


# Two mdhs and two strategy programs heard tick 5; an hour later it was another session's. (program, hop, place, time).
HOUR = 3600 * 10**9
JOINED_TICKS = [("mdh-1", "mdh.kernel_rx", 2, 900), ("mdh-1", "mdh.rx", 3, 1000), ("mdh-1", "mdh.book", 4, 9000),
                ("mdh-1", "mdh.posted", 5, 9100), ("mdh-2", "mdh.kernel_rx", 2, 1900), ("mdh-2", "mdh.rx", 3, 2000),
                ("mdh-2", "mdh.book", 4, 2300), ("mdh-2", "mdh.posted", 5, 2400), ("strategy-1", "strategy.seen", 6, 2500),
                ("strategy-2", "strategy.seen", 6, 10000), ("mdh-1", "mdh.kernel_rx", 2, HOUR + 900),
                ("mdh-1", "mdh.rx", 3, HOUR + 1000), ("mdh-1", "mdh.book", 4, HOUR + 1200),
                ("mdh-1", "mdh.posted", 5, HOUR + 1500), ("strategy-1", "strategy.seen", 6, HOUR + 1600)]
JOINED_ORDERS = [("strategy-2", 77, 10100, 12000), ("strategy-1", 78, HOUR + 1700, HOUR + 2000)]  # decided, sent
# What `tickpath trace` makes of the like (trace_test: AnOrderGoesWithWhatItsOwnStrategySaw and those behind it).
JOINED_TICK = [("mdh.kernel_rx", "mdh.rx", (100, 100)), ("mdh.rx", "mdh.book", (200, 8000)),
               ("mdh.book", "mdh.posted", (100, 300)), ("mdh.posted", "strategy.seen", (-6600, 100))]
JOINED_ORDER = {77: [100, 300, 100, 7600, 100, 1900], 78: [100, 200, 300, 100, 100, 300]}


def check_joins(history):
    """Intervals of ticks in two sessions, and of orders, where several programs have stamped them."""
    rows = [(program, place, 0, time_ns, hop, place, 5, 0) for program, hop, place, time_ns in JOINED_TICKS]
    for program, order, decided, sent_ns in JOINED_ORDERS:
        rows += [(program, 0, 0, 0, "order.link", 0, 5, order), (program, 7, 0, decided, "strategy.decided", 7, 0, order),
                 ("oeg", 13, 0, sent_ns, "oeg.sent", 13, 0, order)]
    insert(history, "stamps", "program, row, started, clock, time_ns, hop, place, tick, order_id",
           [(program, number, 1, *rest) for number, (program, _, *rest) in enumerate(rows)], run="joined")
    found = {}
    for of, order, first, second, ns in history.sql(
            "SELECT of, order_id, from_hop, to_hop, duration_ns FROM intervals WHERE run = 'joined' "
            "ORDER BY order_id, place, duration_ns", "--store", "live"):
        found.setdefault((of, int(order)), []).append((first, second, int(ns)))
    expected = [(first, second, ns) for first, second, both in JOINED_TICK for ns in both]
    expect(found["tick", 0] == expected, f"of ticks: {found['tick', 0]}")
    for order, durations in JOINED_ORDER.items():
        expect([row[2] for row in found["order", order]] == durations, f"of order {order}: {found['order', order]}")
    headline = history.sql("SELECT order_id, duration_ns FROM tick_to_order WHERE run = 'joined' ORDER BY order_id",
                           "--store", "live")
    expect(headline == [["77", "10100"], ["78", "1100"]], f"tick to order: {headline}")


def places(rows):
    return [(row["place"], *(int(row[name]) for name in ("orders", "shares_resting", "shares_filled")),
             float(row["fill_ratio"]), None if row["first_fill_ms_median"] in ("nan", "") else
             float(row["first_fill_ms_median"])) for row in rows]


def same_places(a, b):
    """The query rounds its median to a microsecond."""
    return [row[:-1] for row in a] == [row[:-1] for row in b] and all(
        x is y or (x is not None and y is not None and abs(x - y) < 0.002) for (*_, x), (*_, y) in zip(a, b))


def check_queue_positions(history, market):
    """Shares ahead: of ten orders whose places are known, and of the run, from books and clocks of our own."""
    insert_unit_run(history)
    asked = history.command("history", "query", "queue-position", "--run", "unit", "--store", "live", "--format",
                            "CSVWithNames")
    found = places(csv.DictReader(io.StringIO(asked)))
    expect(same_places(found, UNIT_PLACES), f"places of the ten orders: {found}")
    run = places(ready(history, "query", "queue-position"))
    expected = reference.places(market, history.sql(
        "SELECT order_id, symbol, side, event, request, report, price, shares, leaves_shares, time_in_force, "
        "toUnixTimestamp64Nano(time) FROM order_events ORDER BY sequence", "--store", "killed"), history.sql(
        "SELECT hop, tick, order_id, time_ns FROM stamps WHERE hop IN ('sim.sent', 'sim.matched') ORDER BY time_ns",
        "--store", "killed"))
    expect(len(expected) > 3 and same_places(run, expected), f"places: {run}, {expected}")


class Stranger(http.server.BaseHTTPRequestHandler):
    """A server that is none of ours."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b"<html>hello</html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + (1000 if self.server.breaks_off else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def check_errors(history):
    def says(text, *arguments, **more):
        said = history.command("history", *arguments, status=1, **more)
        expect(text in said, f"{arguments}: '{text}' is not in: {said}")

    says("Unknown expression", "sql", "SELECT nonsense", "--store", "killed")
    says("there is no store none", "sql", "SELECT 1", "--store", "none")
    says("no run is called 'other'", "query", "slippage", "--run", "other", "--store", "killed")
    says("there is no run directory nowhere", "load", "nowhere", "--store", "new")
    says("is not what was loaded as run test: it has", "load", "run", "--run", "test", "--store", "killed", "--recording", "short.itch50")
    piped = subprocess.Popen([history.tickpath, "history", "sql", "SELECT * FROM ticks", "--store", "killed", "--format", "CSV"],
                             cwd=history.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    piped.stdout.readline()
    piped.stdout.close()
    said = piped.stderr.read()
    expect(piped.wait() == -signal.SIGPIPE, f"`| head` ends it as any other command: {piped.returncode} {said}")
    library = {**os.environ, "TICKPATH_CHDB": "/nonexistent/libchdb.so"}
    says("/nonexistent/libchdb.so", "sql", "SELECT 1", "--store", "killed", env=library)
    other = subprocess.Popen([history.tickpath, "history", "sql", "SELECT sleep(3)", "--store", "killed"],
                             cwd=history.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    says(f"in use by process {other.pid}", "sql", "SELECT 1", "--store", "killed")
    other.kill()
    other.wait()
    server = http.server.HTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    for server.breaks_off, text in ((False, "is no ClickHouse"), (True, "broke off")):
        says(text, "sql", "SELECT 1", "--server", url)
    check_tls(history, says)
    server.shutdown()
    server.server_close()
    says("cannot connect", "sql", "SELECT 1", "--server", url)


def check_tls(history, says):
    """A server is believed with a certificate that --ca vouches for, and not without."""
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "tls.key", "-out",
                           "tls.crt", "-subj", "/CN=history", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"],
                          cwd=history.folder, capture_output=True, text=True)
    expect(made.returncode == 0, made.stderr)
    server = http.server.HTTPServer(("127.0.0.1", 0), Stranger)
    server.breaks_off = False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(history.folder / "tls.crt", history.folder / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{server.server_address[1]}"
    says("is no ClickHouse", "sql", "SELECT 1", "--server", f"https://{place}", "--ca", "tls.crt")
    says("certificate verify failed", "sql", "SELECT 1", "--server", f"https://{place}")
    says("certificate verify failed", "sql", "SELECT 1", "--server", f"https://localhost:{place.split(':')[1]}", "--ca",
         "tls.crt")
    server.shutdown()
    server.server_close()


# ---------------------------------------------------------------------------------------------- a real server


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """ClickHouse with a user who has a password, in a cluster `two` of two."""

    def __init__(self, root, folder, name, ports, peers):
        self.folder, self.url = folder / name, f"http://127.0.0.1:{ports[0]}"
        (self.folder / "tmp").mkdir(parents=True)
        shards = "".join(f"<shard><replica><host>127.0.0.1</host><port>{port}</port><user>loader</user>"
                         "<password>secret</password></replica></shard>" for port in peers)
        (self.folder / "config.xml").write_text(
            f"<yandex><logger><level>error</level><console>1</console></logger><http_port>{ports[0]}</http_port>"
            f"<tcp_port>{ports[1]}</tcp_port><listen_host>127.0.0.1</listen_host><path>{self.folder}/</path>"
            f"<tmp_path>{self.folder}/tmp/</tmp_path><users_config>users.xml</users_config>"
            "<default_profile>default</default_profile><default_database>default</default_database>"
            f"<mark_cache_size>100000000</mark_cache_size><interserver_http_port>{ports[2]}</interserver_http_port>"
            f"<remote_servers><two>{shards}</two></remote_servers></yandex>")
        (self.folder / "users.xml").write_text(
            "<yandex><profiles><default></default></profiles><users><loader><password>secret</password><networks>"
            "<ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></loader>"
            "<default><password>other</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>"
            "<quota>default</quota></default></users><quotas><default></default></quotas></yandex>")
        self.program = root / "usr/sbin/clickhouse-server"
        libraries = root / "usr/lib/x86_64-linux-gnu"
        self.environment = {**os.environ, "LD_LIBRARY_PATH": f"{libraries}"} if root != pathlib.Path("/") else os.environ
        self.start()

    def start(self):
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen([self.program, "--config-file=config.xml"], cwd=self.folder,
                                            stdout=log, stderr=log, env=self.environment)
        limit = time.monotonic() + SECONDS_MAX
        while time.monotonic() < limit and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", int(self.url.rsplit(":", 1)[1])), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"the server does not start:\n{(self.folder / 'log').read_text()[-2000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()


def check_server(history, root):
    """Inserts, a server killed in between, its restart, plain queries; then two hosts as one."""
    password = history.folder / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    ports = [free_port() for _ in range(6)]
    servers = []
    try:
        for name, part in (("server1", ports[:3]), ("server2", ports[3:])):
            servers.append(Server(root, history.folder, name, part, (ports[1], ports[4])))
        access = ("--user", "loader", "--password-file", "password")
        first, second = (("--server", each.url, *access) for each in servers)
        said = history.command("history", "sql", "SELECT 1", "--server", servers[0].url, "--user", "loader",
                               "--password-file", "env:NO_SUCH", status=1)
        expect("NO_SUCH" in said, said)
        said = history.command("history", "sql", "SELECT 1", "--server", servers[0].url, "--user", "loader",
                               "--password-file", "env:WRONG", status=1, env={**os.environ, "WRONG": "guess"})
        expect("Wrong password" in said and "guess" not in said, said)
        # The server is killed under the loader.
        loader = subprocess.Popen([history.tickpath, "history", "load", "run", "--run", "test", "--block-rows", "1000",
                                   "--verbose", *first], cwd=history.folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        for _ in range(9):
            loader.stderr.readline()
        servers[0].kill()
        _, said = loader.communicate(timeout=SECONDS_MAX)
        expect(loader.returncode == 1 and servers[0].url in said, f"exit {loader.returncode}: {said}")
        servers[0].start()
        expect(history.killed_load(*first, lines=9), "the loader was at work")
        text = history.load(*first)
        expect("too old for views" in text and "every row is there once" in text, text)
        same_sums(history, first)
        # Two hosts as one: rows are on both, and each once.
        schema = history.command("history", "schema", "--cluster", "two", "--unreplicated", *second)
        for each in servers:
            post(each.url, "DROP DATABASE IF EXISTS tickpath")
        for statement in schema.split(";\n"):
            if statement.strip() and not statement.strip().startswith("USE"):
                post(servers[1].url, statement)
        cluster = ("--cluster", "two", "--unreplicated")
        expect(history.killed_load(*first, *cluster, lines=9), "the loader was at work")
        history.load(*first, *cluster)
        same_sums(history, first)
        parts = [int(history.sql("SELECT count() FROM ticks_local", *each)[0][0]) for each in (first, second)]
        expect(sum(parts) == 20000 and min(parts) > 1000, f"ticks on the two hosts: {parts}")
    finally:
        for each in servers:
            each.kill()


def post(url, statement):
    """As an administrator would, by hand."""
    where = f"{url}/" if " DATABASE " in statement else f"{url}/?database=tickpath"
    request = urllib.request.Request(where, data=statement.encode(),
                                     headers={"X-ClickHouse-User": "loader", "X-ClickHouse-Key": "secret"})
    urllib.request.urlopen(request, timeout=SECONDS_MAX).read()


def same_sums(history, server, known={}):  # noqa: what the folder has is asked once
    """The server has what the folder has."""
    parts = []
    for table, columns in (("ticks", ("tick", "price", "shares")), ("quotes", ("bid", "ask", "tick")),
                           ("trades", ("price", "shares", "match_number")), ("stamps", ("row", "tick", "order_id")),
                           ("order_events", ("sequence", "order_id", "root_order_id"))):
        sums = ", ".join(f"toUInt64(sum({column}))" for column in columns)
        parts.append(f"SELECT '{table}' AS source, count(), {sums} FROM {table}")
    there = [history.sql(part, *server)[0] for part in parts]
    here = known["sums"] = known.get("sums") or history.sql(" UNION ALL ".join(parts), "--store", "killed")
    expect(sorted(there) == sorted(here), f"{there} on the server, {here} in the folder")


# ---------------------------------------------------------------------------------------------- all


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="the programs")
    parser.add_argument("--keep", action="store_true", help="the folder, to look at")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tickpath_history_"))
    history = History(arguments.bin.resolve(), folder)
    start = time.monotonic()
    try:
        # An empty folder is a store without anything: whether chDB can be had shows here.
        probe = subprocess.run([history.tickpath, "history", "load", folder, "--run", "none", "--no-ticks", "--store",
                                "probe"], cwd=folder, capture_output=True, text=True, timeout=900)
        if probe.returncode != 0 and ("npm" in probe.stderr or "cannot load chDB" in probe.stderr):
            print(f"[  SKIPPED ] history: {probe.stderr.strip()}")
            return 77
        expect(probe.returncode == 0, probe.stderr)
        made = {}

        def read_both():
            made["found"] = stored(history)
            made["market"] = reference.market_of(folder / "recorded.itch50", 20000)

        steps = [("a run, loaded while it goes on", lambda: trade(history, arguments.bin.resolve())),
                 ("three kills of the loader", lambda: check_exactly_once(history)),
                 ("a recording in two files", lambda: check_several_files(history)),
                 ("the store and the recording read", read_both),
                 ("ticks, quotes, trades, ASOF, bars", lambda: check_market(history, **made)),
                 ("orders and fills", lambda: check_orders(history, made["found"])),
                 ("intervals", lambda: check_intervals(history, made["found"])),
                 ("the worst orders", lambda: check_worst(history)),
                 ("Parquet files", lambda: check_export(history)),
                 ("stamps of several programs and sessions", lambda: check_joins(history)),
                 ("ready queries", lambda: check_ready_queries(history, **made)),
                 ("places in the queue", lambda: check_queue_positions(history, made["market"]))]
        history.command("generate", "short.itch50", "--messages", "5000", "--symbols", "3", "--duration", "1")
        steps.append(("errors", lambda: check_errors(history)))
        root, reason = debian.unpacked("clickhouse-server", "usr/sbin/clickhouse-server", "clickhouse-18.16.1")
        if root:
            steps.append(("a real server, and two as one", lambda: check_server(history, root)))
        else:
            print(f"[  SKIPPED ] history on a server: {reason}")
        for name, step in steps:
            step()
            print(f"ok: {name} ({time.monotonic() - start:.1f} s)", flush=True)
    except AssertionError as wrong:
        print(f"FAILED: {wrong}", file=sys.stderr)
        return 1
    finally:
        if arguments.keep:
            print(folder)
        else:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
