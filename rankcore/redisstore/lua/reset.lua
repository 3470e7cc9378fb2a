-- Empty a shard that is not whole, and only such a one: it decides by itself, since the caller may be late.
-- ARGV: keys of the shard that were found by name; one that exists and is in no meta makes it not whole.
-- Answers "whole" | "emptied" | "emptied of what was known": with neither meta nor index there may be more.

local shard, wrong = open_shard(true)
local known = shard or read_meta() or { seasons = {}, buckets = {} }
local doomed = { KEYS[1], KEYS[2], hidden_key, moves_key }
local named = { [KEYS[1]] = true, [KEYS[2]] = true, [hidden_key] = true, [moves_key] = true }

local function doom(name)
  if not named[name] then
    named[name] = true
    doomed[#doomed + 1] = name
  end
end
local function doom_season(id)
  local main, segment, aside, reached = season_keys(id)
  doom(main)
  doom(segment)
  doom(aside)
  doom(reached)
end

for id in pairs(known.seasons) do
  doom_season(id)
end
for id in pairs(known.buckets) do
  doom(bucket_key(id))
end
local meta_there = redis.call('EXISTS', KEYS[1])
for _, name in ipairs(ARGV) do
  if not named[name] and redis.call('EXISTS', KEYS[1], name) > meta_there then
    wrong = 'a key nobody named'
  end
  doom(name)
end
if not wrong then
  return 'whole'
end
local parts = redis.call('SMEMBERS', KEYS[2])
for _, part in ipairs(parts) do
  local kind, id = string.sub(part, 1, 2), string.sub(part, 3)
  if kind == 's:' then
    doom_season(id)
  elseif kind == 'i:' then
    doom(bucket_key(id))
  end
end
for i = 1, #doomed, 1000 do
  redis.call('UNLINK', unpack(doomed, i, math.min(i + 999, #doomed)))
end
if known.exists or #parts > 0 then
  return 'emptied'
end
return 'emptied of what was known'
