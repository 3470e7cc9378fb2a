-- A season's members by segment. Writes nothing. KEYS: meta, main, segment. ARGV: the season's field of meta.
-- Answers layout, what meta says of the season, members there are, {segment, members, ...}.

local meta = redis.call('HMGET', KEYS[1], 'layout', ARGV[1])
return { meta[1], meta[2], redis.call('ZCARD', KEYS[2]), redis.call('HGETALL', KEYS[3]) }
