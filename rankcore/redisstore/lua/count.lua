-- How many of a season's members stand before a key, and at it. Writes nothing. KEYS: meta, main.
-- ARGV: the season's field of meta, the key, "(" and the key.
-- Answers layout, what meta says of the season, members there are, members before, members at.

local meta, key = redis.call('HMGET', KEYS[1], 'layout', ARGV[1]), ARGV[2]
return {
  meta[1], meta[2], redis.call('ZCARD', KEYS[2]),
  redis.call('ZCOUNT', KEYS[2], '-inf', ARGV[3]), redis.call('ZCOUNT', KEYS[2], key, key),
}
