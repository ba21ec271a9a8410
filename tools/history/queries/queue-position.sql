-- Shares filled of those that rested, by the shares of the feed ahead of the order when the exchange took it.
-- A replacement has a place of its own. When it was taken, and what was on the feed by then, say the stamps of sim.
WITH
    rested AS
    (
        SELECT order_id, anyIf(e.symbol, event = 'requested') AS symbol, anyIf(e.side, event = 'requested') AS side,
               anyIf(e.price, event = 'requested') AS price,
               minIf(e.time, report IN ('accepted', 'replaced')) AS accepted,
               argMinIf(e.leaves_shares, e.sequence, report IN ('accepted', 'replaced')) AS resting,
               sumIf(e.shares, report = 'fill') AS filled, minIf(e.time, report = 'fill') AS first_fill
        FROM order_events AS e
        WHERE run = {run} AND ({symbol} = '' OR e.symbol = {symbol})
              AND (event = 'reported' OR request IN ('new', 'replace'))
        GROUP BY order_id
        HAVING countIf(report IN ('accepted', 'replaced')) > 0 AND anyIf(order_type, event = 'requested') = 'limit'
               AND anyIf(time_in_force, event = 'requested') IN ('day', 'gtc')
    ),
    matched AS
    (
        SELECT r.*, m.at AS at, m.clock AS clock
        FROM rested AS r
        LEFT JOIN (SELECT order_id, min(time_ns) AS at, any(stamps.clock) AS clock FROM stamps
                   WHERE run = {run} AND hop = 'sim.matched' GROUP BY order_id) AS m
        ON r.order_id = m.order_id
    ),
    -- How far the feed was: the last message sent before. 0: no stamps of it are there.
    placed AS
    (
        SELECT r.*, s.tick AS tick
        FROM matched AS r
        ASOF LEFT JOIN (SELECT clock, time_ns, max(stamps.tick) AS tick FROM stamps  -- of one packet all have one time
                        WHERE run = {run} AND hop = 'sim.sent' GROUP BY clock, time_ns) AS s
        ON r.clock = s.clock AND r.at >= s.time_ns
    ),
    -- Orders of the feed at these prices; what was taken of each, and when it left.
    came AS
    (
        SELECT symbol, side, price, if(type = 'U', new_reference, order_reference) AS reference, tick, shares
        FROM ticks
        WHERE run = {run} AND type IN ('A', 'F', 'U') AND (symbol, side, price) IN (SELECT symbol, side, price FROM placed)
    ),
    went AS
    (
        SELECT symbol, order_reference AS reference, groupArrayIf((tick, shares), type IN ('E', 'C', 'X')) AS taken,
               groupArrayIf(tick, type IN ('D', 'U')) AS left
        FROM ticks
        WHERE run = {run} AND type IN ('E', 'C', 'X', 'D', 'U')
              AND (symbol, order_reference) IN (SELECT symbol, reference FROM came)
        GROUP BY symbol, order_reference
    ),
    queued AS
    (
        SELECT p.order_id AS order_id,
               sum(if(arrayExists(t -> t > c.tick AND t <= p.tick, w.left), 0,
                      c.shares - arraySum(arrayMap(t -> t.2, arrayFilter(t -> t.1 > c.tick AND t.1 <= p.tick, w.taken)))))
               AS ahead
        FROM placed AS p
        INNER JOIN came AS c ON p.symbol = c.symbol AND p.side = c.side AND p.price = c.price
        LEFT JOIN went AS w ON c.symbol = w.symbol AND c.reference = w.reference
        WHERE c.tick <= p.tick
        GROUP BY p.order_id
    )
SELECT place, count() AS orders, sum(resting) AS shares_resting, sum(least(filled, resting)) AS shares_filled,
       round(shares_filled / shares_resting, 4) AS fill_ratio,
       round(quantileExactInclusiveIf(0.5)(dateDiff('microsecond', accepted, first_fill) / 1000, filled > 0), 3)
       AS first_fill_ms_median
FROM
(
    SELECT p.resting AS resting, p.filled AS filled, p.accepted AS accepted, p.first_fill AS first_fill, q.ahead AS ahead,
           if(p.side = 'buy', b.ask, b.bid) AS other_best,
           multiIf(p.tick = 0, '7 not known: no stamps of sim',
                   other_best != 0 AND if(p.side = 'buy', p.price >= other_best, p.price <= other_best),
                   '0 takes on arrival',
                   ahead = 0, '1 nothing ahead', ahead <= 100, '2 up to 100 shares ahead',
                   ahead <= 500, '3 up to 500 shares ahead', ahead <= 2000, '4 up to 2000 shares ahead',
                   '5 more ahead') AS place
    FROM placed AS p
    LEFT JOIN queued AS q ON p.order_id = q.order_id
    ASOF LEFT JOIN (SELECT symbol, tick, bid, ask FROM quotes WHERE run = {run}) AS b
    ON p.symbol = b.symbol AND p.tick >= b.tick
)
GROUP BY place
ORDER BY place
