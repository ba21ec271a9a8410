-- Executed prices against the mid at the decision, by strategy and symbol; above 0: worse than the mid.
SELECT strategy, symbol, count() AS fills, sum(filled) AS shares,
       round(sum(cost) / sum(filled) / 10000, 6) AS slippage_per_share,
       round(sum(cost) / sum(mid * filled) * 10000, 3) AS basis_points
FROM
(
    SELECT d.strategy AS strategy, d.symbol AS symbol, d.filled AS filled, (q.bid + q.ask) / 2 AS mid,
           if(d.side = 'buy', 1, -1) * (d.executed_at - mid) * d.filled AS cost
    FROM
    (
        SELECT f.strategy AS strategy, f.symbol AS symbol, f.side AS side, f.shares AS filled,
               f.price + f.price_hundredths / 100 AS executed_at, o.tick AS tick
        FROM (SELECT * FROM fills WHERE run = {run} AND kind = 'fill' AND ({symbol} = '' OR symbol = {symbol})) AS f
        INNER JOIN (SELECT * FROM orders WHERE run = {run} AND tick != 0) AS o ON f.order_id = o.order_id
    ) AS d
    ASOF INNER JOIN (SELECT symbol, tick, bid, ask FROM quotes WHERE run = {run}) AS q
    ON d.symbol = q.symbol AND d.tick >= q.tick
    WHERE q.bid > 0 AND q.ask > 0
)
GROUP BY strategy, symbol
ORDER BY strategy, symbol
