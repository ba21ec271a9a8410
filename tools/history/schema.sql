-- The history of runs, in ClickHouse's SQL: one schema for chDB (embedded) and for servers and clusters.
--
-- Units and types, in every table:
--   price             UInt32, 1/10,000 of the currency unit (ITCH's Price(4)); 0: none
--   shares            UInt64
--   time              DateTime64(9, 'UTC'), nanoseconds
--   day               Date of that time, UTC; a recording that does not say its day: 1970-01-01, or `--day`
--   run               name of a run (`--run`), or of one venue's part of it; every key begins with it
--   side              'buy', 'sell', '' where there is none
--   symbol            as listed; the long name where the recording has one
-- Market time (ticks, quotes, trades) is the recording's, order time (order_events, stamps) the wall clock's.
-- What joins them is the tick: the feed's sequence number, from 1, which an order that it caused carries.
--
-- Every row has a key that its source gives it (`ORDER BY`), so that what is inserted twice is one row:
-- at once in `tickpath history`, which reads with final = 1, and on disk when ClickHouse has merged.
-- "sharded by" is the sharding key of a cluster. Columns are inserted in this order (loader, RowBinary).

-- A line a run.
-- sharded by: cityHash64(run)
CREATE TABLE IF NOT EXISTS runs
(
    run String,
    started DateTime64(9, 'UTC'),      -- of the run, wall clock
    recording String,                  -- the file that ticks, quotes and trades come from; '': none
    version UInt64                     -- wall clock of the load, nanoseconds: the newest row counts
)
ENGINE = ReplacingMergeTree(version)
ORDER BY run;

-- What a run's recording is known by: a load of other messages, or of another day, is refused.
-- sharded by: cityHash64(run)
CREATE TABLE IF NOT EXISTS recordings
(
    run String,
    messages UInt64,                   -- of the feed, as far as the last load came
    digest UInt64,                     -- of these (common/feeds/recordings/message_digest.hpp)
    midnight_ns Int64,                 -- before the first one, nanoseconds since the Unix epoch
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY run;

-- What the loads of a run have come to, a line a source. The rows were counted in the store after the load.
-- sharded by: cityHash64(run)
CREATE TABLE IF NOT EXISTS loads
(
    run String,
    source String,                     -- 'ticks', 'quotes', 'trades', 'order_events', 'stamps of PROGRAM'
    rows UInt64,                       -- each exactly once
    ended UInt8,                       -- 1: the source had come to its end; 0: its run was going on
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (run, source);

-- Every message of the feed. What a message does not have is 0 or ''.
-- sharded by: cityHash64(symbol, day)
CREATE TABLE IF NOT EXISTS ticks
(
    run LowCardinality(String),
    tick UInt64 CODEC(DoubleDelta, ZSTD),             -- the feed's sequence number
    time DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD),
    day Date,
    symbol LowCardinality(String),                    -- '': of no instrument (system events)
    type LowCardinality(String),                      -- ITCH 5.0 message type: 'A', 'E', 'U', ...
    side LowCardinality(String),
    order_reference UInt64 CODEC(ZSTD),
    new_reference UInt64 CODEC(ZSTD),                 -- 'U': of the order that replaces it
    shares UInt64 CODEC(ZSTD),                        -- added, executed, canceled
    price UInt32 CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (run, symbol, tick);

-- The best prices of a symbol after each message that changed one of them, or the shares there.
-- sharded by: cityHash64(symbol, day)
CREATE TABLE IF NOT EXISTS quotes
(
    run LowCardinality(String),
    tick UInt64 CODEC(DoubleDelta, ZSTD),
    time DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD),
    day Date,
    symbol LowCardinality(String),
    bid UInt32 CODEC(Delta, ZSTD),                    -- 0: no buyer
    bid_shares UInt64 CODEC(ZSTD),
    ask UInt32 CODEC(Delta, ZSTD),                    -- 0: no seller
    ask_shares UInt64 CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (run, symbol, tick);

-- Every trade of the feed. Broken trades (type 'B' in ticks, by match number) are not taken out.
-- sharded by: cityHash64(symbol, day)
CREATE TABLE IF NOT EXISTS trades
(
    run LowCardinality(String),
    tick UInt64 CODEC(DoubleDelta, ZSTD),
    time DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD),
    day Date,
    symbol LowCardinality(String),
    type LowCardinality(String),                      -- 'E', 'C' of a displayed order; 'P' hidden; 'Q' cross
    side LowCardinality(String),                      -- of the resting order; '': cross
    price UInt32 CODEC(Delta, ZSTD),
    shares UInt64 CODEC(ZSTD),
    match_number UInt64 CODEC(ZSTD),
    printable UInt8                                   -- 0: part of a cross, not to be counted in volume
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (run, symbol, tick);

-- Every record of oeg's journal that is about an order, as it was written.
-- sharded by: cityHash64(symbol, day)
CREATE TABLE IF NOT EXISTS order_events
(
    run LowCardinality(String),
    sequence UInt64 CODEC(DoubleDelta, ZSTD),         -- of the journal
    time DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD),
    day Date,
    symbol LowCardinality(String),
    event LowCardinality(String),                     -- 'requested', 'refused', 'reported', 'exception'
    request LowCardinality(String),                   -- 'new', 'cancel', 'replace'; '': a report
    report LowCardinality(String),                    -- 'fill', 'canceled', ...; '': a request
    order_id UInt64 CODEC(ZSTD),                      -- of the request, or that the report names
    target_order_id UInt64 CODEC(ZSTD),               -- the order that a cancel or replace is about
    root_order_id UInt64 CODEC(ZSTD),                 -- the order as its strategy first sent it
    tick UInt64 CODEC(ZSTD),                          -- that caused it; 0: none
    strategy UInt8,
    side LowCardinality(String),
    order_type LowCardinality(String),
    time_in_force LowCardinality(String),
    price UInt32 CODEC(ZSTD),                         -- requested: limit, 0 market; fill: executed at
    price_hundredths UInt8,                           -- fill: fifth and sixth decimal of the price
    shares UInt64 CODEC(ZSTD),                        -- requested: the total asked for; fill: of this execution
    leaves_shares UInt64 CODEC(ZSTD),
    filled_shares UInt64 CODEC(ZSTD),                 -- of the order, with this event
    state LowCardinality(String),                     -- of the order after the event
    reason LowCardinality(String),                    -- of a reject; else ''
    execution_id UInt64 CODEC(ZSTD)                   -- the venue's; 0: none
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (run, sequence);

-- Every stamp of the trace files. Times are on one line for all hosts whose clocks can be compared.
-- sharded by: cityHash64(run)
CREATE TABLE IF NOT EXISTS stamps
(
    run LowCardinality(String),
    program LowCardinality(String),                   -- name of its trace file
    started Int64,                                    -- life of the program: its first clock reading, ns
    row UInt64 CODEC(DoubleDelta, ZSTD),              -- number of the stamp in its file
    clock UInt8,                                      -- stamps of different clocks are not subtracted
    time_ns Int64 CODEC(DoubleDelta, ZSTD),           -- nanoseconds since the Unix epoch
    hop LowCardinality(String),                       -- common/trace/hop.hpp; 'order.link': see tick
    place UInt8,                                      -- of the hop on the way of an order, from 1
    tick UInt64 CODEC(ZSTD),                          -- hops of ticks; order.link: that caused the order
    order_id UInt64 CODEC(ZSTD)                       -- hops of orders, and order.link; else 0
)
ENGINE = ReplacingMergeTree
ORDER BY (run, program, started, row);

-- How time stamp counters became times, for later loads of the same run: its figures stay comparable.
-- sharded by: cityHash64(run)
CREATE TABLE IF NOT EXISTS clocks
(
    run String,
    host UInt64,                                      -- of the counter that the others are put on
    base_ticks Float64,
    base_ns Int64,
    ticks_per_ns Float64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (run, host);

-- Orders as they ended, or as they are: from their events.
CREATE OR REPLACE VIEW orders AS
SELECT run, root_order_id AS order_id, min(time) AS sent, any(symbol) AS symbol,
       argMin(strategy, sequence) AS strategy, argMin(e.side, sequence) AS side,
       argMin(order_type, sequence) AS order_type, argMin(time_in_force, sequence) AS time_in_force,
       argMin(tick, sequence) AS tick, argMin(price, sequence) AS limit_price,
       argMin(shares, sequence) AS ordered_shares, max(filled_shares) AS filled,
       argMax(e.state, sequence) AS state, argMaxIf(e.reason, sequence, event = 'refused' OR report = 'rejected') AS reason
FROM order_events AS e
WHERE root_order_id != 0 AND (event IN ('refused', 'reported') OR (event = 'requested' AND request = 'new'))
GROUP BY run, root_order_id, if(event = 'refused', sequence, 0);

-- Every execution; those that the venue took back ('fill_canceled') or corrected are rows of their own.
CREATE OR REPLACE VIEW fills AS
SELECT run, sequence, time, day, symbol, root_order_id AS order_id, strategy, side, shares, price,
       price_hundredths, execution_id, report AS kind
FROM order_events
WHERE event = 'reported' AND report IN ('fill', 'fill_canceled', 'fill_corrected');

-- The stamps of ticks as `tickpath trace` joins them (common/trace/joined.cpp). Numbers begin again with each session
-- of a feed: a session begins where a tick's first hop is stamped again more than a second later. All of mdh's hops
-- are of one mdh, the first by name; of several strategy programs it is the one that saw the tick first.
CREATE OR REPLACE VIEW tick_hops AS
SELECT run, clock, tick, session, hop, any(place) AS place, min(time_ns) AS time_ns
FROM
(
    SELECT run, clock, tick, stamp.1 AS time_ns, stamp.2 AS place, stamp.3 AS hop, stamp.4 AS program,
           toUInt32(arrayCount(start -> start <= stamp.1 + 10000000, starts)) AS session,
           minIf(program, hop LIKE 'mdh.%') OVER (PARTITION BY run, clock, tick, session) AS mdh
    FROM
    (
        SELECT run, clock, tick, groupArray((time_ns, place, hop, program)) AS stamped,
               arrayMin(s -> s.2, stamped) AS first_place,
               arraySort(arrayMap(s -> s.1, arrayFilter(s -> s.2 = first_place, stamped))) AS firsts,
               arrayFilter((at, i) -> i = 1 OR at - firsts[i - 1] > 1000000000, firsts, arrayEnumerate(firsts)) AS starts
        FROM stamps WHERE order_id = 0 GROUP BY run, clock, tick
    )
    ARRAY JOIN stamped AS stamp
)
WHERE hop NOT LIKE 'mdh.%' OR program = mdh
GROUP BY run, clock, tick, session, hop;

-- Of each order, the stamps of the tick that caused it, as `tickpath trace` joins them: what its own strategy program
-- saw, and the hops of the mdh whose update was posted first. Each is the newest one before the order (or at most
-- 10 ms behind: programs may stamp a little late); where none was before, the first one. Sorted by what counts, the
-- last one of a kind is chosen.
CREATE OR REPLACE VIEW order_tick_hops AS
SELECT run, order_id, stamp.2 AS clock, stamp.3 AS place, stamp.4 AS hop, stamp.1 AS time_ns
FROM
(
    SELECT run, order_id,
           arraySort(s -> (s.5 = strategy, s.2 = own_clock AND s.1 <= own_ns,
                           if(s.2 = own_clock AND s.1 <= own_ns, s.1, -s.1)), stamped) AS by_own,
           arrayLast(s -> s.4 = 'strategy.seen', by_own) AS seen,
           if(seen.4 = '', own_clock, seen.2) AS seen_clock,
           if(seen.4 = '', own_ns, seen.1 + 10000000) AS seen_ns,
           arraySort(s -> (s.2 = seen_clock AND s.1 <= seen_ns,
                           if(s.2 = seen_clock AND s.1 <= seen_ns, s.1, -s.1)), stamped) AS by_seen,
           arrayFilter(s -> s.4 LIKE 'mdh.%', by_seen) AS of_mdhs,
           arrayMap(p -> if(arrayExists(s -> s.5 = p AND s.4 = 'mdh.posted', of_mdhs),
                            arrayLast(s -> s.5 = p AND s.4 = 'mdh.posted', of_mdhs), arrayLast(s -> s.5 = p, of_mdhs)),
                    arrayDistinct(arrayMap(s -> s.5, of_mdhs))) AS posted,
           arraySort(arrayFilter(s -> s.1 >= arrayMax(m -> m.1, posted) - 1000000000, posted))[1].5 AS mdh,
           arrayFilter(s -> s.4 = 'sim.sent' OR (s.4 LIKE 'mdh.%' AND s.5 = mdh), by_seen) AS sources,
           arrayMap(h -> arrayLast(s -> s.4 = h, sources), arrayDistinct(arrayMap(s -> s.4, sources))) AS taken,
           arrayConcat(taken, arrayFilter(s -> s.4 != '', [seen])) AS chosen
    FROM
    (
        SELECT t.run AS run, l.order_id AS order_id, any(l.strategy) AS strategy,
               if(any(o.stamped) = 0, any(l.clock), any(o.clock)) AS own_clock,
               if(any(o.stamped) = 0, toInt64(9000000000000000000), any(o.time_ns) + 10000000) AS own_ns,
               groupArray((t.time_ns, t.clock, t.place, t.hop, t.program)) AS stamped
        FROM (SELECT run, stamps.tick AS cause, clock, time_ns, place, hop, program FROM stamps WHERE order_id = 0) AS t
        INNER JOIN (SELECT run, order_id, any(stamps.tick) AS cause, any(program) AS strategy, any(stamps.clock) AS clock
                    FROM stamps WHERE hop = 'order.link' GROUP BY run, order_id) AS l
        ON t.run = l.run AND t.cause = l.cause
        LEFT JOIN (SELECT run, order_id, argMin(stamps.clock, stamps.time_ns) AS clock, min(stamps.time_ns) AS time_ns,
                          1 AS stamped
                   FROM stamps WHERE order_id != 0 AND hop != 'order.link' GROUP BY run, order_id) AS o
        ON l.run = o.run AND l.order_id = o.order_id
        GROUP BY run, order_id
    )
)
ARRAY JOIN chosen AS stamp;

-- Stamps by tick and by order, one of each hop. An order has those of its tick, too.
CREATE OR REPLACE VIEW hops AS
SELECT run, 'tick' AS of, tick, toUInt64(0) AS order_id, clock, session, hop, place, time_ns FROM tick_hops
UNION ALL
SELECT run, 'order' AS of, toUInt64(0) AS tick, order_id, clock, toUInt32(0) AS session, hop, any(place) AS place,
       min(time_ns) AS time_ns
FROM stamps WHERE order_id != 0 AND hop != 'order.link' GROUP BY run, order_id, clock, hop
UNION ALL
SELECT run, 'order' AS of, toUInt64(0) AS tick, order_id, clock, toUInt32(0) AS session, hop, place, time_ns
FROM order_tick_hops;

-- Trace intervals: from each stamp of a tick or an order to its next one. Below zero: the receiver was quicker.
CREATE OR REPLACE VIEW intervals AS
SELECT run, of, tick, order_id, step.1 AS from_hop, step.2 AS to_hop, step.3 AS start_ns, step.4 AS duration_ns,
       step.5 AS place
FROM
(
    SELECT run, of, tick, order_id, arraySort(groupArray((place, hop, time_ns))) AS way,
           arrayMap((a, b) -> (a.2, b.2, a.3, b.3 - a.3, a.1), arrayPopBack(way), arrayPopFront(way)) AS steps
    FROM hops GROUP BY run, of, tick, order_id, clock, session
)
ARRAY JOIN steps AS step;

-- The headline: from the kernel's receive time of the packet to the FIX message handed to the kernel.
CREATE OR REPLACE VIEW tick_to_order AS
SELECT run, order_id, maxIf(time_ns, hop = 'oeg.sent') - maxIf(time_ns, hop = 'mdh.kernel_rx') AS duration_ns
FROM hops WHERE of = 'order' AND hop IN ('oeg.sent', 'mdh.kernel_rx')
GROUP BY run, order_id, clock
HAVING uniqExact(hop) = 2;
