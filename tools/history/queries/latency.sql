-- Latency by hop and symbol, nanoseconds: of all ticks, and of orders; of all symbols, or of --symbol.
SELECT of, symbol, from_hop, to_hop, count() AS count, quantileExact(0.5)(duration_ns) AS p50_ns,
       quantileExact(0.99)(duration_ns) AS p99_ns, max(duration_ns) AS max_ns
FROM
(
    SELECT i.of AS of, t.symbol AS symbol, i.from_hop AS from_hop, i.to_hop AS to_hop, i.place AS place,
           i.duration_ns AS duration_ns
    FROM (SELECT * FROM intervals WHERE run = {run} AND of = 'tick') AS i
    INNER JOIN (SELECT tick, symbol FROM ticks WHERE run = {run}) AS t ON i.tick = t.tick
    UNION ALL
    SELECT i.of AS of, o.symbol AS symbol, i.from_hop AS from_hop, i.to_hop AS to_hop, i.place AS place,
           i.duration_ns AS duration_ns
    FROM (SELECT * FROM intervals WHERE run = {run} AND of = 'order') AS i
    INNER JOIN (SELECT DISTINCT order_id, symbol FROM order_events WHERE run = {run} AND event = 'requested') AS o
    ON i.order_id = o.order_id
)
WHERE {symbol} = '' OR symbol = {symbol}
GROUP BY of, symbol, from_hop, to_hop
ORDER BY of DESC, symbol, any(place), from_hop, to_hop
