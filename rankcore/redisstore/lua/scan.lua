-- How many members stand at each key of a season, in order from a bound on, a limited number of rows, of one moment.
-- A tie is never cut, and a long one is counted, not read. Writes nothing.
-- KEYS: meta, main. ARGV: layout, position the shard is expected at, the season's field of meta, '' to be told which
-- seasons there are, the bound as ZRANGE takes it.
-- Answers "at", position | "damaged", why | "seasons", a field of meta for each | "counts", members of the season,
-- the position that last changed it, 1 if there are no more, a key and a count for each, packed as doubles.

local call, tonumber = redis.call, tonumber

local ROWS, STRIDE = 1000, 100 -- rows that are read at most, and at once
local CHUNK = 1000

local main, field, bound = KEYS[2], ARGV[3], ARGV[4]
local meta = call('HMGET', KEYS[1], 'layout', 'position', field)
if meta[1] and meta[1] ~= ARGV[1] then
  return redis.error_reply('LAYOUT the shard was created as ' .. meta[1] .. ', the board is ' .. ARGV[1])
end
local position = meta[2] or 'none'
if position ~= ARGV[2] then
  return { 'at', position }
end

if field == '' then
  local answer = { 'seasons' }
  for _, name in ipairs(call('HKEYS', KEYS[1])) do
    if string.sub(name, 1, 2) == 's:' then
      answer[#answer + 1] = name
    end
  end
  return answer
end

local members = call('ZCARD', main)
if tonumber(string.match(meta[3] or '0', '^%d+')) ~= members then
  return { 'damaged', 'a season differs from meta' }
end

local flat, n, rows, last, ended = {}, 0, 0, nil, 0
while rows < ROWS do
  local part = call('ZRANGE', main, bound, '+inf', 'BYSCORE', 'LIMIT', 0, STRIDE, 'WITHSCORES')
  for i = 2, #part, 2 do
    local key = part[i]
    if key == last then
      flat[n] = flat[n] + 1
    else
      flat[n + 1], flat[n + 2], n, last = tonumber(key), 1, n + 2, key
    end
  end
  if #part < 2 * STRIDE then
    ended = 1
    break
  end
  flat[n] = call('ZCOUNT', main, last, last) -- the last tie may go on
  bound, rows = '(' .. last, rows + STRIDE
end

local packed, format = {}, '<' .. string.rep('d', CHUNK)
for i = 1, n, CHUNK do
  local upto = math.min(i + CHUNK - 1, n)
  if upto < i + CHUNK - 1 then
    format = '<' .. string.rep('d', upto - i + 1)
  end
  packed[#packed + 1] = struct.pack(format, unpack(flat, i, upto))
end
local changed = meta[3] and string.match(meta[3], '%S+$') or 'none'
return { 'counts', members, changed, ended, table.concat(packed) }
