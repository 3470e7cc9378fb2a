-- One step of a unit of somebody's daily quota. Safe to run again: a request's id holds one unit at most.
-- KEYS: the request, confirmed not long ago; then for each of three days: units spent, units held (a sorted set:
-- request id by when it lapses, in ms).
-- ARGV: reserve | confirm | release, the request's id, units a day, how long a unit is held and a confirmed request
-- known (ms), the four moments where the days begin (s), the answer to keep with a confirmed request.
-- Answers 1 or 0 for granted, units used, this server's now (ms), the day (0 to 2), and the kept answer, if any.
-- A request is kept as "<where its day begins>:<answer>".

local step, id, limit, hold, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local answer = ARGV[10]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function begins(day) return tonumber(ARGV[6 + day]) end
local function spent(day) return KEYS[2 + 2 * day] end
local function held(day) return KEYS[3 + 2 * day] end

-- A day's keys are needed for a while after its end, by what was reserved before.
local function expire(key, day) redis.call('EXPIREAT', key, begins(day + 1) + 3600) end

local function used(day)
  redis.call('ZREMRANGEBYSCORE', held(day), '-inf', now)
  return tonumber(redis.call('GET', spent(day)) or '0') + redis.call('ZCARD', held(day))
end

local today
for day = 0, 2 do
  if now >= begins(day) * 1000 and now < begins(day + 1) * 1000 then
    today = day
  end
end
if not today then
  return { 0, 0, now, -1 }
end

local function told(granted, day, kept)
  return { granted, used(day), now, day, kept }
end

local paid, kept -- where the day begins that paid for this request, and its answer
local memory = redis.call('GET', KEYS[1])
if memory then
  paid, kept = string.match(memory, '^(-?%d+):(.*)$')
end

if step == 'reserve' then
  if memory then
    return told(1, today, kept)
  end
  if used(today) >= limit and not redis.call('ZSCORE', held(today), id) then
    return told(0, today)
  end
  redis.call('ZADD', held(today), now + hold, id)
  expire(held(today), today)
  return told(1, today)
end

if step == 'confirm' then
  if memory then
    return told(1, today, kept)
  end
  for day = today, 0, -1 do
    used(day)
    if redis.call('ZREM', held(day), id) == 1 then
      redis.call('INCR', spent(day))
      expire(spent(day), day)
      redis.call('SET', KEYS[1], ARGV[6 + day] .. ':' .. answer, 'PX', keep)
      return told(1, day)
    end
  end
  return told(0, today)
end

for day = 0, 2 do
  redis.call('ZREM', held(day), id)
  if paid == ARGV[6 + day] then
    redis.call('DEL', KEYS[1])
    redis.call('DECR', spent(day))
  end
end
return told(1, today)
