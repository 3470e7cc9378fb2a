-- A user's key in its own shard, and how many stand before it and at it there, all of one moment. Writes nothing.
-- KEYS: meta, main, and reached where ties go by arrival. ARGV: the season's field of meta, the user.
-- Answers layout, position, what meta says of the season, members there are; and if the user is ranked: members with
-- a smaller key, members at its key, user, key, its name in main, members before it. The user is in the answer so that
-- a shifted reply cannot pass for another user's.

local meta, main, user = redis.call('HMGET', KEYS[1], 'layout', 'position', ARGV[1]), KEYS[2], ARGV[2]
local members, member = redis.call('ZCARD', main), user
if KEYS[3] then
  local reached = redis.call('HGET', KEYS[3], user)
  member = reached and string.sub(reached, 1, 8) .. user
end
local key = member and redis.call('ZSCORE', main, member)
if not key then
  return { meta[1], meta[2], meta[3], members }
end
local better, before = redis.call('ZCOUNT', main, '-inf', '(' .. key), 0
if KEYS[3] then
  before = redis.call('ZRANK', main, member)
end
return { meta[1], meta[2], meta[3], members, better, redis.call('ZCOUNT', main, key, key), user, key, member, before }
