-- A user's key in its own shard, and how many stand before it and at it there, all of one moment.
-- ARGV from reading, then: the user. It is answered too, so that a shifted reply cannot pass for another user's.
-- Answers "ok", changed, members, before, at, user, key; without the last three when the user is not ranked.

local user = ARGV[3]
local key = redis.call('ZSCORE', KEYS[2], user)
if not key then
  return { 'ok', changed, members, 0 }
end
return {
  'ok', changed, members, redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. key), redis.call('ZCOUNT', KEYS[2], key, key), user, key,
}
