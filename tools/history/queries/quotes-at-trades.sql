-- Every trade with the best prices just before it (ASOF join by tick); of all symbols, or of --symbol.
SELECT t.tick AS tick, t.time AS time, t.symbol AS symbol, t.type AS type, t.side AS side,
       t.price AS price, t.shares AS shares, q.tick AS quote_tick, q.bid AS bid, q.bid_shares AS bid_shares,
       q.ask AS ask, q.ask_shares AS ask_shares
FROM (SELECT * FROM trades WHERE run = {run} AND ({symbol} = '' OR symbol = {symbol})) AS t
ASOF LEFT JOIN (SELECT * FROM quotes WHERE run = {run}) AS q
ON t.day = q.day AND t.symbol = q.symbol AND t.tick > q.tick
ORDER BY tick
