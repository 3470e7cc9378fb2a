-- A season's first rows. Writes nothing. KEYS: meta, main. ARGV: the season's field of meta, the last row's index.
-- Every reading answers: layout, what meta says of the season, members there are; the caller compares them.
-- Then: {user, key, ...}.

local meta = redis.call('HMGET', KEYS[1], 'layout', ARGV[1])
return { meta[1], meta[2], redis.call('ZCARD', KEYS[2]), redis.call('ZRANGE', KEYS[2], '0', ARGV[2], 'WITHSCORES') }
