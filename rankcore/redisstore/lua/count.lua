-- How many stand before a key, and at it. ARGV from reading, then: the key.
-- Answers "ok", changed, members, before, at.

local key = ARGV[3]
return { 'ok', changed, members, redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. key), redis.call('ZCOUNT', KEYS[2], key, key) }
