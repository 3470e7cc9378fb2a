-- A user's key in its own shard, and how many stand before it and at it there, all of one moment. Writes nothing.
-- KEYS: meta, main. ARGV: the season's field of meta, the user.
-- Answers layout, position, what meta says of the season, members there are; and if the user is ranked: members before,
-- members at, user, key. The user is in the answer so that a shifted reply cannot pass for another user's.

local meta, user = redis.call('HMGET', KEYS[1], 'layout', 'position', ARGV[1]), ARGV[2]
local members, key = redis.call('ZCARD', KEYS[2]), redis.call('ZSCORE', KEYS[2], user)
if not key then
  return { meta[1], meta[2], meta[3], members }
end
return {
  meta[1], meta[2], meta[3], members,
  redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. key), redis.call('ZCOUNT', KEYS[2], key, key), user, key,
}
