"""What a recording's trades and quotes are, found without any of tickpath's code: ITCH 5.0 in BinaryFILE framing."""
import bisect
import collections
import statistics
import struct

SIDES = {b"B": "buy", b"S": "sell"}


def messages(path):
    """Each message of the file."""
    data = path.read_bytes()
    at = 0
    while at + 2 <= len(data):
        length = int.from_bytes(data[at:at + 2], "big")
        if length == 0:
            return
        yield data[at + 2:at + 2 + length]
        at += 2 + length


class Market:
    """The books of every symbol, and what they made of each message."""

    def __init__(self):
        self.orders = {}  # reference: [locate, side, shares, price]
        self.levels = collections.defaultdict(collections.Counter)  # (locate, side): price: shares
        self.symbols = collections.defaultdict(str)
        self.shown = {}  # locate: its last quote
        self.ticks, self.quotes, self.trades = [], [], []
        self.changes = collections.defaultdict(list)  # (locate, side, price): (tick, shares from then on)

    def best(self, locate):
        found = []
        for side, choose in (("buy", max), ("sell", min)):
            prices = [price for price, shares in self.levels[locate, side].items() if shares > 0]
            price = choose(prices, default=0)
            found += [price, self.levels[locate, side][price] if prices else 0]
        return tuple(found)

    def change(self, locate, side, price, shares):
        self.levels[locate, side][price] += shares
        self.changes[locate, side, price].append((self.tick, self.levels[locate, side][price]))

    def at(self, locate, side, price, tick):
        """Shares at a price behind a message."""
        changes = self.changes[locate, side, price]
        found = bisect.bisect(changes, (tick, float("inf")))
        return changes[found - 1][1] if found else 0

    def add(self, reference, locate, side, shares, price):
        self.orders[reference] = [locate, side, shares, price]
        self.change(locate, side, price, shares)

    def take(self, reference, shares):
        """(side, price) of the order."""
        order = self.orders[reference]
        shares = min(shares, order[2])
        order[2] -= shares
        self.change(order[0], order[1], order[3], -shares)
        if order[2] == 0:
            del self.orders[reference]
        return order[1], order[3]

    def apply(self, tick, message):
        self.tick = tick
        kind, locate = message[:1], int.from_bytes(message[1:3], "big")
        time_ns = int.from_bytes(message[5:11], "big")
        trade = None
        if kind in b"AFPR":
            place = 11 if kind == b"R" else 24
            self.symbols[locate] = self.symbols[locate] or message[place:place + 8].decode().rstrip()
        if kind in b"AF":
            reference, side, shares = struct.unpack(">QcI", message[11:24])
            self.add(reference, locate, SIDES[side], shares, int.from_bytes(message[32:36], "big"))
        elif kind in b"EC":
            reference, shares, match = struct.unpack(">QIQ", message[11:31])
            side, price = self.take(reference, shares)
            printable = 1
            if kind == b"C":
                printable = int(message[31:32] != b"N")
                price = int.from_bytes(message[32:36], "big")
            trade = (kind.decode(), side, price, shares, match, printable)
        elif kind == b"X":
            self.take(*struct.unpack(">QI", message[11:23]))
        elif kind == b"D":
            reference = int.from_bytes(message[11:19], "big")
            self.take(reference, self.orders[reference][2])
        elif kind == b"U":
            old, new, shares, price = struct.unpack(">QQII", message[11:35])
            side = self.orders[old][1]
            self.take(old, self.orders[old][2])
            self.add(new, locate, side, shares, price)
        elif kind == b"P":
            side, shares = struct.unpack(">cI", message[19:24])
            price, match = struct.unpack(">IQ", message[32:44])
            trade = ("P", SIDES[side], price, shares, match, 1)
        elif kind == b"Q":
            shares, = struct.unpack(">Q", message[11:19])
            price, match = struct.unpack(">IQ", message[27:39])
            self.symbols[locate] = self.symbols[locate] or message[19:27].decode().rstrip()
            trade = ("Q", "", price, shares, match, 1) if shares else None
        symbol = self.symbols[locate]
        self.ticks.append((tick, time_ns, symbol, kind.decode()))
        if trade:
            before = self.shown.get(locate, (0, 0, 0, 0, 0))
            self.trades.append((tick, time_ns, symbol, *trade, before))
        now = self.best(locate)
        if now != self.shown.get(locate, (0, 0, 0, 0, 0))[1:]:
            self.shown[locate] = (tick, *now)
            self.quotes.append((tick, time_ns, symbol, *now))


def market_of(path, limit):
    market = Market()
    for tick, message in enumerate(messages(path), 1):
        if tick > limit:
            break
        market.apply(tick, message)
    return market


def bars(market, symbol, seconds):
    """{start in seconds: (open, high, low, close, volume, trades)}"""
    found = collections.OrderedDict()
    for _, time_ns, name, _, _, price, shares, _, printable, _ in market.trades:
        if name != symbol or not printable or not price:
            continue
        start = time_ns // (seconds * 10**9) * seconds
        first, high, low, _, volume, count = found.get(start, (price, price, price, price, 0, 0))
        found[start] = (first, max(high, price), min(low, price), price, volume + shares, count + 1)
    return found


EDGES = ((0, "1 nothing ahead"), (100, "2 up to 100 shares ahead"), (500, "3 up to 500 shares ahead"),
         (2000, "4 up to 2000 shares ahead"), (float("inf"), "5 more ahead"))


def place_of(market, locate, side, price, tick):
    """Where an order stands that comes behind this message."""
    other = "sell" if side == "buy" else "buy"
    crosses = any(shown > 0 and (level <= price if side == "buy" else level >= price) for level, shown in
                  ((level, market.at(locate, other, level, tick)) for level in list(market.levels[locate, other])))
    if crosses:
        return "0 takes on arrival"
    return next(name for edge, name in EDGES if market.at(locate, side, price, tick) <= edge)


def places(market, events, stamps):
    """Rows of `history query queue-position`: events of orders by sequence, stamps of sim by time, as texts."""
    locates = {symbol: locate for locate, symbol in market.symbols.items()}
    sent, matched = [], {}
    for hop, tick, order, time_ns in stamps:
        if hop == "sim.sent":
            sent.append((int(time_ns), int(tick)))
        else:
            matched.setdefault(order, int(time_ns))
    sent.sort()  # the messages of one packet have one time
    asked, rested = {}, {}
    for order, symbol, side, event, request, report, price, shares, leaves, force, time_ns in events:
        if event == "requested" and request in ("new", "replace") and force in ("day", "gtc") and price != "0":
            asked[order] = (locates[symbol], side, int(price))
        elif report in ("accepted", "replaced") and order in asked and order not in rested:
            rested[order] = [int(leaves), 0, int(time_ns), None]
        elif report == "fill" and order in rested:
            rested[order][1] += int(shares)
            rested[order][3] = rested[order][3] or int(time_ns)
    rows = collections.defaultdict(list)
    for order, row in rested.items():
        tick = sent[bisect.bisect(sent, (matched[order], float("inf"))) - 1][1]
        rows[place_of(market, *asked[order], tick)].append(row)
    found = []
    for place, orders in sorted(rows.items()):
        resting = sum(row[0] for row in orders)
        filled = sum(min(row[0], row[1]) for row in orders)
        waits = [(row[3] // 1000 - row[2] // 1000) / 1000 for row in orders if row[3]]
        found.append((place, len(orders), resting, filled, round(filled / resting, 4),
                      statistics.median(waits) if waits else None))
    return found
