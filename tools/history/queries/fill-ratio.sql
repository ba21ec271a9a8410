-- Shares filled of those ordered, by where the order stood at the decision: shares displayed ahead of it at the best price.
SELECT place, count() AS orders, sum(ordered) AS shares_ordered, sum(least(filled_shares, ordered)) AS shares_filled,
       round(shares_filled / shares_ordered, 4) AS fill_ratio
FROM
(
    SELECT o.ordered_shares AS ordered, o.filled AS filled_shares, o.side = 'buy' AS buys,
           if(buys, q.bid, q.ask) AS own_best, if(buys, q.ask, q.bid) AS other_best,
           if(buys, q.bid_shares, q.ask_shares) AS displayed,
           if(buys, toInt64(o.limit_price) - own_best, toInt64(own_best) - o.limit_price) AS better,
           multiIf(o.limit_price = 0, '1 market',
                   other_best != 0 AND if(buys, o.limit_price >= other_best, o.limit_price <= other_best), '2 takes',
                   own_best = 0 OR better > 0, '3 improves the best price',
                   better < 0, '8 behind the best price: ahead not known',
                   displayed <= 100, '4 joins the best price, up to 100 shares ahead',
                   displayed <= 500, '5 joins the best price, up to 500 shares ahead',
                   displayed <= 2000, '6 joins the best price, up to 2000 shares ahead',
                   '7 joins the best price, more ahead') AS place
    FROM (SELECT * FROM orders WHERE run = {run} AND tick != 0 AND state != 'rejected'
          AND ({symbol} = '' OR symbol = {symbol})) AS o
    ASOF INNER JOIN (SELECT symbol, tick, bid, bid_shares, ask, ask_shares FROM quotes WHERE run = {run}) AS q
    ON o.symbol = q.symbol AND o.tick >= q.tick
)
GROUP BY place
ORDER BY place
