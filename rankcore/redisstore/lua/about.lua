-- The rows of one shard about a place, of one moment, wherever in a tie the place is. Writes nothing.
-- KEYS: meta, main, and reached where ties go by arrival: there members are named by their arrivals and users.
-- ARGV: the season's field of meta; the place's key, or '' for that of a user, who must then be a member; the place's
-- member, or the user; how many rows before and behind the place; '' or a key below which members are to be counted.
-- Answers layout, position, what meta says of the season, members there are; and unless a user is not ranked: members with
-- a smaller key than the place's, members before the place, the rows before it (the nearest first), the rows behind
-- it, members below the key asked for, ARGV's member or user, the key, the place's member.

local meta = redis.call('HMGET', KEYS[1], 'layout', 'position', ARGV[1])
local main, key, member, back, forth = KEYS[2], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local members = redis.call('ZCARD', main)

if key == '' then
  if KEYS[3] then
    local reached = redis.call('HGET', KEYS[3], member)
    member = reached and string.sub(reached, 1, 8) .. member
  end
  key = member and redis.call('ZSCORE', main, member)
  if not key then
    return { meta[1], meta[2], meta[3], members }
  end
end

-- Lua would compare by the server's locale. Most ids begin alike, so bytes are taken by four.
local function before(a, b)
  local i, n = 1, math.min(#a, #b)
  while i + 3 <= n do
    local x, y = struct.unpack('>I4', a, i), struct.unpack('>I4', b, i)
    if x ~= y then
      return x < y
    end
    i = i + 4
  end
  for j = i, n do
    local x, y = string.byte(a, j), string.byte(b, j)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- Inside a tie members stand by their bytes, so the place is found by halving.
local better = redis.call('ZCOUNT', main, '-inf', '(' .. key)
local low, high = better, better + redis.call('ZCOUNT', main, key, key)
while low < high do
  local middle = math.floor((low + high) / 2)
  if before(redis.call('ZRANGE', main, middle, middle)[1], member) then
    low = middle + 1
  else
    high = middle
  end
end

local rows = { {}, {} }
if back > 0 and low > 0 then
  rows[1] = redis.call('ZRANGE', main, members - low, members - low + back - 1, 'REV', 'WITHSCORES')
end
if forth > 0 then
  rows[2] = redis.call('ZRANGE', main, low, low + forth - 1, 'WITHSCORES')
end
local below = 0
if ARGV[6] ~= '' then
  below = redis.call('ZCOUNT', main, '-inf', '(' .. ARGV[6])
end
return { meta[1], meta[2], meta[3], members, better, low, rows[1], rows[2], below, ARGV[3], key, member }
