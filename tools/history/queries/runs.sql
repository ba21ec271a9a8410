-- Runs of the store, newest first, with the rows of each source.
SELECT r.run AS run, r.started AS started, l.source AS source, l.rows AS rows, if(l.ended = 1, 'ended', 'going on') AS state
FROM runs AS r INNER JOIN loads AS l ON r.run = l.run
ORDER BY started DESC, run, source
