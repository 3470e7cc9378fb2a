-- Count part of a season's segments from its members, and compare with what the shard recorded. All of one moment:
-- nothing is found to differ only because a step came between. Each part stands for itself, so that a season with
-- many segments is counted in parts while it changes, and none of them keeps Redis for long.
--
-- KEYS: meta, index. ARGV: season, bound at which the part begins as ZRANGE takes it, segments at most,
-- sign (-1: keys are negated scores), put right what differs ("1").
-- Answers "counted", bound of the next part or "", segments, members in them, segments that differ, members recorded
-- in those, members there are in those, the first of those | "damaged", why | "retired".

local call, format = redis.call, string.format

local MAX = 9007199254740991 -- 2^53-1
local id, start, limit, sign, repair = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'

local shard = read_meta()
if not shard then
  return { 'damaged', 'meta is garbled' }
end
local season = shard.seasons[id]
if not season then
  return { 'retired' }
end
-- In one command: while a cluster moves the slot, Redis then refuses instead of calling a key absent.
call('EXISTS', KEYS[1], season.main, season.segment)
if call('ZCARD', season.main) ~= season.members then
  return { 'damaged', 'season ' .. id .. ' differs from meta' }
end

local function integer(n)
  return format('%.0f', n + 0) -- never "-0"
end

-- edges are the smallest and the largest key of a segment of keys.
local function edges(g)
  if g < 0 then
    local lo, hi = edges(-g)
    return -hi, -lo
  end
  if g < 64 then
    return g, g
  end
  local shift = math.floor(g / 64) - 1
  local lo = (g - shift * 64) * 2 ^ shift
  return lo, math.min(lo + 2 ^ shift - 1, MAX)
end

local recorded, flat = {}, call('HGETALL', season.segment)
for i = 1, #flat, 2 do
  recorded[flat[i]] = flat[i + 1]
end

local segments, members, wrong, had, has, first = 0, 0, 0, 0, 0, ''
local set, del = {}, {}
local function differs(name, count)
  wrong, had, has = wrong + 1, had + (tonumber(recorded[name]) or 0), has + count
  if first == '' then
    first = name
  end
  if count > 0 then
    set[#set + 1] = name
    set[#set + 1] = integer(count)
  else
    del[#del + 1] = name
  end
end

-- From segment to segment: the first member at or behind the bound tells the next one there is.
local bound, reached, ended = start, -math.huge, false
while segments < limit do
  local row = call('ZRANGE', season.main, bound, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  local key = tonumber(row[2])
  if not key then
    ended = true
    break
  end
  if key > MAX or key < -MAX or key % 1 ~= 0 then
    return { 'damaged', 'season ' .. id .. ' has a score that is none' }
  end
  local lo, hi = edges(segment(key, 1))
  local count, name = call('ZCOUNT', season.main, integer(lo), integer(hi)), integer(segment(key, sign))
  segments, members = segments + 1, members + count
  if tonumber(recorded[name]) ~= count then
    differs(name, count)
  end
  recorded[name] = nil
  bound, reached = '(' .. integer(hi), hi
end

-- What is recorded between the bounds and was not met has no members. A name that is no segment stands behind all.
local begun = start == '-inf' and -math.huge or tonumber(string.sub(start, 2))
for name in pairs(recorded) do
  local g = tonumber(name)
  local key = g and integer(g) == name and edges(sign * g) or math.huge
  if key > begun and (ended or key <= reached) then
    differs(name, 0)
  end
end

if repair then
  for i = 1, #set, 1000 do
    call('HSET', season.segment, unpack(set, i, math.min(i + 999, #set)))
  end
  for i = 1, #del, 1000 do
    call('HDEL', season.segment, unpack(del, i, math.min(i + 999, #del)))
  end
end
return { 'counted', ended and '' or bound, segments, members, wrong, had, has, first }
