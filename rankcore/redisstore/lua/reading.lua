-- What every read of one season of a shard starts with. Writes nothing. KEYS: meta, the season's main.
-- ARGV: layout, season. A read compares the one count that can make a rank wrong; the audit compares them all.
-- Answers begin with "ok", changed (or ""), members; or they are "not ready", why.

local meta = redis.call('HMGET', KEYS[1], 'position', 'layout', 's:' .. ARGV[2])
if not meta[1] then
  return { 'not ready', 'it has no position yet' }
end
if meta[2] ~= ARGV[1] then
  return { 'not ready', 'its layout is ' .. tostring(meta[2]) }
end
local members, changed = '0', ''
if meta[3] then
  members, changed = string.match(meta[3], '^(%d+) %d+ %d+ (%S+)$')
end
if redis.call('ZCARD', KEYS[2]) ~= tonumber(members) then
  return { 'not ready', 'its members differ from their count' }
end
