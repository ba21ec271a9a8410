-- Open, high, low, close, volume and volume-weighted price of --symbol, a line an interval with trades (`history bars`).
SELECT toStartOfInterval(time, toIntervalSecond(toUInt32({seconds}))) AS start,
       toDecimal64(argMin(price, tick), 4) / 10000 AS open, toDecimal64(max(price), 4) / 10000 AS high,
       toDecimal64(min(price), 4) / 10000 AS low, toDecimal64(argMax(price, tick), 4) / 10000 AS close,
       sum(shares) AS volume, count() AS trades,
       round(sum(toFloat64(price) * shares) / sum(shares) / 10000, 6) AS vwap
FROM trades
WHERE run = {run} AND symbol = {symbol} AND printable = 1 AND price > 0 AND shares > 0
GROUP BY start
ORDER BY start
